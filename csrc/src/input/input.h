/* Text from outside becomes assignments: the tokens of a command line, flagfiles, the environment
 * and file values. This layer may use base, platform, value, registry and definition.
 *
 * A pd__token is one value as somebody wrote it; a pd__reader turns tokens into changes; a pd__file
 * is a flagfile as it was read, and a pd_config is what files say, kept for later. Files are read
 * before the lock is taken. */
#ifndef PD__INPUT_H
#define PD__INPUT_H

#include <string.h>

#include "../definition/definition.h"
#include "../definition/pending.h"

/* ---- Tokens (token.c). No lock. ---- */

/* All text is borrowed until the end of the operation. */
typedef struct pd__token {
  const char *dashes; /* before the name: "--", "-", "--fromenv=" and the like where that lists
                         it, or "" in a configuration file */
  const char *name;
  uint32_t length;   /* of the name */
  const char *text;  /* the value; NULL: none, as in --name and --noname */
  const char *next;  /* the token behind it, where there is no value; or NULL */
  const char *meant; /* a suggestion, where no flag has the name; or NULL */
  uint8_t literal;   /* as in pd_config_add */
  uint8_t status;    /* PD_OK; or the token is an error, and `text` its message */
  pd_origin origin;
} pd__token;

/* Tokens in the memory of an arena. Start with zeros. */
typedef struct pd__tokens {
  pd__token *items;
  size_t count, capacity;
} pd__tokens;

/* Add one at the end. Gives where it is, until the next one is added; NULL: the arena fails. */
pd__token *pd__tokens_add(pd__arena *arena, pd__tokens *list, pd__token token);

/* The token that text such as --name=value is; its origin is left open. */
pd__token pd__token_split(const char *text);

/* The token's name with its place, for messages. Gives `out`. */
const char *pd__token_shown(const pd__token *token, char out[PD__SOURCE_SIZE]);

static inline bool pd__token_is_named(const pd__token *token, const char *name) {
  return token->length == strlen(name) && !memcmp(token->name, name, token->length);
}

/* ---- Names that need not be known: --undefok=a,b (undefok.c) ---- */

/* Of the tokens, name and length alone count. Dashes before the name are left out. It is lost where
 * the arena fails. */
void pd__undefok_add(pd__arena *arena, pd__tokens *list, const char *name, size_t length);

/* Sort it, before the first pd__undefok_has. */
void pd__undefok_close(pd__tokens *list);

/* Whether the name of the token was added, or it is --no<name> of one that was. */
bool pd__undefok_has(const pd__tokens *list, const pd__token *token);

/* ---- Flagfiles (flagfile.c). No lock. ---- */

/* Around a line, and between patterns. */
#define PD__BLANKS " \t\r\v\f"

/* A flagfile as it was read, once for all that include it. Its lines that say something are tokens:
 * one without dashes holds names of programs, as its text. */
typedef struct pd__file {
  const char *path;
  const char *why; /* it can't be read; or NULL */
  size_t size;     /* in bytes */
  pd__tokens lines;
  struct pd__file *following;
} pd__file;

/* Files that were read for an operation. Start with the first two alone. */
typedef struct pd__files {
  pd__arena *arena;   /* of the operation, in which they lie */
  const char *prefix; /* of variables: one of them may name files too */
  pd__file *first;
  size_t count, bytes;
} pd__files;

/* Read a file, and those that it includes, unless they are there. */
void pd__files_read(pd__files *files, const char *path, size_t length);

/* The same of each file that a token may lead to; in vain if it turns out to be no option. */
void pd__files_read_led(pd__files *files, const pd__token *token);

/* Make a line an error: `why`, at `length` bytes of `text`, for what is behind them may be a
 * secret. */
void pd__line_refuse(pd__arena *arena, pd__token *line, const char *text, size_t length,
                     const char *why);

/* NULL: it was not read, for want of memory or since there are too many. */
const pd__file *pd__files_find(const pd__files *files, const char *path, size_t length);

/* ---- The environment (environment.c) ---- */

/* A variable, and its text; NULL: it isn't set. */
#define PD__VARIABLE_SIZE (2 * PD_NAME_MAX + 2)
typedef struct pd__variable {
  char name[PD__VARIABLE_SIZE];
  const char *text;
} pd__variable;

/* Find the variable of a name, with a prefix that was checked: <prefix><name>, or the same with the
 * name in upper case, which needs a prefix. PD_ERR_CONFLICT: both are set, to different values;
 * *out is the first one then. */
pd_status pd__environment_find(const char *prefix, const char *name, size_t length,
                               pd__variable *out, pd_error *err);

/* Check a prefix that a host gives. No lock. */
pd_status pd__environment_check(const char *prefix, pd_error *err);

/* Prepare the values of all flags that are defined. */
void pd__environment_read(const char *prefix, pd__changes *changes);

/* PD_ERR_CONFLICT: the variable of `named`, a flag or a name of one, is that of another flag too,
 * in either spelling, so that neither is meant for sure. */
pd_status pd__environment_check_twin(const char *prefix, const pd_flag *named, const char *variable,
                                     pd_error *err);

/* For later definitions; NULL: none. `prefix` is copied. */
void pd__environment_use(const char *prefix);

/* Whether `source` gave the flag the value already that the text reads as: one that is closed by
 * now must not be refused what it has taken before. */
bool pd__has_given(pd_source source, const pd_flag *flag, const char *text);

/* ---- What files say, kept for later (config.c) ---- */

struct pd_config {
  pd__tokens values;
  pd__arena arena; /* of the values, with their texts */
};

/* Keep a copy of a token. No lock. */
pd_status pd__config_append(pd_config *config, const pd__token *token, pd_error *err);

/* ---- Reading (reader.c, options.c, apply.c) ---- */

#define PD__HELP_KINDS 8

typedef struct pd__reader {
  pd__operation *operation;
  pd__changes changes;
  pd__report *report;
  bool allow_pending; /* values for unknown names wait */
  bool renews_files;  /* what waits of source file goes when it succeeds */
  pd__tokens undefok; /* unknown names that are no errors */
  size_t errors;
  pd__tokens findings; /* errors, and names that no flag has, in the order that they were met in */

  /* What options lead to (options.c). */
  const pd__files *sources;         /* flagfiles that were read */
  pd_config *config;                /* keeps the values for later; NULL: they are given now */
  const char *program;              /* argv[0], for the sections of flagfiles; or NULL */
  const char *help[PD__HELP_KINDS]; /* the pattern, where help of that kind was asked for */
  const struct pd__open_file *file; /* that is being read; or NULL */
  bool closed;                      /* a limit was met: nothing more is read */
  unsigned depth, files;
  size_t bytes, values;
} pd__reader;

void pd__reader_begin(pd__reader *reader, pd__operation *operation, pd__report *report);

/* Find an error. */
void pd__reader_add(pd__reader *reader, const pd_error *err);

/* The same; its message begins with the token's place and name, unless that is NULL. */
PD__PRINTF(4, 5)
void pd__reader_fail(pd__reader *reader, const pd__token *token, pd_status status,
                     const char *format, ...);

/* Take a token that means that; what is wrong with it is found. */
void pd__reader_take(pd__reader *reader, const pd__token *token, const pd__meaning *meaning);

/* Take text for a flag, which `node` is or is an alias of. */
void pd__reader_assign(pd__reader *reader, pd_flag *node, const char *text, const pd_origin *origin,
                       uint32_t literal);

/* Take away what `source` gave the flag, if it gave anything. */
void pd__reader_drop(pd__reader *reader, pd_flag *flag, pd_source source);

/* Report what was found; then ask the validators, and commit. What waits, waits from then on. */
pd_status pd__reader_finish(pd__reader *reader);

/* What a token means: "--nox" may turn x off. */
pd__meaning pd__token_resolve(const pd__token *token);

/* ---- Options: tokens that lead to other places, or ask for help (options.c) ---- */

/* What is read beyond the command line has an end, whatever it says. */
#define PD__DEPTH_MOST 16 /* places inside each other */
#define PD__FILES_MOST 1000
#define PD__BYTES_MOST 67108864u /* of all files */
#define PD__VALUES_MOST 1000000  /* of files and variables */

/* Whether the token has no value, and takes one. */
bool pd__option_wants(const pd__token *token, const pd__meaning *meaning);

/* Take a token, whose meaning is known. */
void pd__option_take(pd__reader *reader, const pd__token *token, const pd__meaning *meaning);

/* Take a flagfile; `by` is the token that names it, or NULL. */
void pd__option_take_file(pd__reader *reader, const char *path, size_t length, const pd__token *by);

/* Take the names of a token that a pd_config has kept as --undefok=names; false: it is none. */
bool pd__option_excuse(pd__reader *reader, const pd__token *token);

/* Which help was asked for, with its pattern; false: none. */
bool pd__option_help(const pd__reader *reader, pd_help *help);

/* Give the flags what files say (apply.c). */
void pd__config_give(const pd_config *config, pd__reader *reader);

#endif /* PD__INPUT_H */
