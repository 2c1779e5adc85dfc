/* Turns text from outside into assignments: the tokens of a command line, flagfiles, the
 * environment and configuration values. This layer may use base, platform, value, registry and
 * definition.
 *
 * A pd__token is one value as it was written; a pd__reader turns tokens into changes; a pd__file is
 * a flagfile as it was read, and a pd_config holds the values of files until they are applied.
 * Files are read before the lock is taken. */
#ifndef PD__INPUT_H
#define PD__INPUT_H

#include <string.h>

#include "../definition/definition.h"
#include "../definition/pending.h"

/* ---- Tokens (token.c). Needs no lock. ---- */

/* All text is borrowed until the end of the operation. */
typedef struct pd__token {
  const char *dashes; /* before the name: "--", "-", "--fromenv=" and the like if that lists it, or
                         "" in a configuration file */
  const char *name;
  uint32_t length;  /* of the name */
  const char *text; /* the value; NULL if there is none, as in --name and --noname */
  const char *next; /* the token after it, if it has no value; or NULL */
  const char
      *suggestion; /* the end of the message if no flag has the name, a suggestion; or NULL */
  uint8_t literal; /* as in pd_config_add */
  uint8_t status;  /* PD_OK; otherwise the token is an error, and `text` its message */
  bool secret;     /* it may be part of a sensitive value: messages do not show it */
  pd_flag *about;  /* the flag that an error is about; or NULL */
  pd_origin origin;
} pd__token;

/* Tokens in an arena. Zero-initialize. */
typedef struct pd__tokens {
  pd__token *items;
  size_t count, capacity;
} pd__tokens;

/* Appends a token. Returns its address, valid until the next one is added; NULL if memory is
 * out. */
pd__token *pd__tokens_add(pd__arena *arena, pd__tokens *list, pd__token token);

/* Splits text such as --name=value into a token, without an origin. */
pd__token pd__token_split(const char *text);

/* Returns how many bytes of a token messages may show: all, unless it assigns a value to a flag
 * that is sensitive, or that is not defined and may be misspelled. */
size_t pd__token_get_nonsecret_length(const char *text);

/* Returns true if the token is like -p9, one dash and several characters, where p is a sensitive
 * flag. */
bool pd__token_has_attached_secret(const pd__token *token);

/* Writes the token's name with its place, for messages. Returns `out`. */
const char *pd__token_write_message_subject(const pd__token *token, char out[PD__SOURCE_SIZE]);

static inline bool pd__token_is_named(const pd__token *token, const char *name) {
  return token->length == strlen(name) && !memcmp(token->name, name, token->length);
}

/* ---- Names that may be undefined: --undefok=a,b (undefok.c) ---- */

/* Adds a name, written without dashes. Only name and length of these tokens are used. If the arena
 * is out of memory the name is lost. */
void pd__undefok_add(pd__arena *arena, pd__tokens *list, const char *name, size_t length);

/* Sorts the list; call it before the first pd__undefok_covers. */
void pd__undefok_sort(pd__tokens *list);

/* Returns true if the token's name was added, or is --no<name> of one that was. */
bool pd__undefok_covers(const pd__tokens *list, const pd__token *token);

/* ---- Flagfiles (flagfile.c) ---- */

/* The characters that are ignored around a line and separate patterns. */
#define PD__BLANKS " \t\r\v\f"

/* A flagfile, read once for all files that include it. Each line that is not empty or a comment is
 * a token; a token without dashes is a line of program names, which is its text. */
typedef struct pd__file {
  const char *path;
  const char *why; /* why it can't be read; or NULL */
  size_t size;     /* in bytes */
  pd__tokens lines;
  struct pd__file *following;
} pd__file;

/* The files that were read for an operation. Initialize the first two fields, zero the others. */
typedef struct pd__files {
  pd__arena *arena;                /* of the operation; owns the files */
  const pd__variable_rules *rules; /* of variables, as one of them may list flagfiles */
  pd__file *first;
  size_t count, bytes;
} pd__files;

/* Reads a file and the files that it includes, except those that were read already. The caller
 * doesn't hold the lock. */
void pd__files_read(pd__files *files, const char *path, size_t length);

/* Reads each file that a token may name. The token may later turn out to be no option. The caller
 * doesn't hold the lock. */
void pd__files_read_named(pd__files *files, const pd__token *token);

/* Turns a line into an error. The message shows `why` and only `length` bytes of `text`: the rest
 * may be a secret. */
void pd__line_reject(pd__arena *arena, pd__token *line, const char *text, size_t length,
                     const char *why);

/* Returns NULL if the file was not read, because memory runs out or there are too many files. */
const pd__file *pd__files_find(const pd__files *files, const char *path, size_t length);

/* ---- The environment (environment.c) ---- */

/* What follows the name of a flag in a variable that names a file. */
#define PD__FILE_SUFFIX "_FILE"

/* A variable and its value; `text` is NULL if it isn't set. */
#define PD__VARIABLE_SIZE (2 * (size_t)PD_NAME_MAX + sizeof PD__FILE_SUFFIX + 1)
typedef struct pd__variable {
  char name[PD__VARIABLE_SIZE];
  const char *text;
  bool is_path; /* `text` is the path of a file that holds the value */
} pd__variable;

/* Writes the variable of a name. */
void pd__variable_write_name(const char *prefix, const char *name, size_t length, bool upper,
                             char out[PD__VARIABLE_SIZE]);

/* Returns true if a variable, whose name is passed without the prefix, is that of the name in
 * either spelling. */
bool pd__variable_is_of_name(const char *name, const char *variable, size_t length);

/* Returns true if the name has a variable: it is that of a flag, or an old one, and no alias. */
bool pd__name_can_have_variable(const pd_flag *node);

/* Copies the value of a variable that is set, or reads the file that it names. The texts are in the
 * arena. */
pd_status pd__variable_read_text(pd__arena *arena, const pd__variable *variable, const char **place,
                                 const char **text, pd_error *err);

/* Returns the value of a variable, borrowed until the program changes it; NULL if it isn't set. */
const char *pd__environment_get(const char *variable);

/* Called with each variable, as NAME=VALUE, borrowed during the call. */
typedef void pd__variable_visitor(const char *variable, void *context);
void pd__environment_visit(pd__variable_visitor *visit, void *context);

/* Finds the variable of a name: <prefix><name>, or the same with the name in upper case if there is
 * a prefix; or the one followed by _FILE, if the rules have such files. The caller has checked the
 * prefix. PD_ERR_CONFLICT if both are set, to different values; *out is the first one then. */
pd_status pd__environment_find_variable(const pd__variable_rules *rules, const char *name,
                                        size_t length, pd__variable *out, pd_error *err);

/* Checks the prefix that a host passes. Needs no lock. */
pd_status pd__environment_check_prefix(const char *prefix, pd_error *err);

/* Prepares the changes that the environment makes to the flags that are defined. */
void pd__environment_stage_values(const pd__variable_rules *rules, pd__changes *changes);

/* PD_ERR_CONFLICT if the variable of `named`, a flag or a name of one, is that of another flag too,
 * in either spelling: it is ambiguous. */
pd_status pd__environment_check_unique(const char *prefix, const pd_flag *named,
                                       const pd__variable *variable, pd_error *err);

/* Enables the environment for later definitions; NULL disables it. The rules are copied. */
void pd__environment_use_for_new_flags(const pd__variable_rules *rules);

/* ---- Variables that name no flag (unknown.c) ---- */

/* Warns about variables with the prefix that name no flag: about `all` of them, or only about those
 * that are one edit away from the variable of a flag. `known`, unless it is NULL, is a variable
 * that has another meaning. */
void pd__environment_warn_of_unknown(const pd__variable_rules *rules, bool all, const char *known);

/* Returns true if the flag already has this value from `source`. A frozen flag must not fail for a
 * value that it already has. */
bool pd__flag_has_same_value_from(pd_source source, const pd_flag *flag, const char *text);

/* ---- Values of files or of the fleet, kept for later (config.c) ---- */

struct pd_config {
  pd_source source;
  pd__variable_rules rules; /* of variables that flagfiles name */
  pd__tokens values;
  pd__arena arena; /* owns the values and their texts */
};

/* Keeps a copy of a token. Needs no lock. */
pd_status pd__config_append_token(pd_config *config, const pd__token *token, pd_error *err);

/* ---- Reading (reader.c, options.c, apply.c) ---- */

#define PD__HELP_KINDS 8

typedef struct pd__reader {
  pd__operation *operation;
  pd__changes changes;
  pd__report *report;
  bool allow_pending; /* values for undefined names become pending */
  pd_source renews;   /* pending values from it are dropped on success; default: of none */
  pd__tokens undefok; /* unknown names that are no errors */
  size_t errors;
  pd__tokens findings; /* errors and undefined names, in order */
  pd_flag *about;      /* the flag that the next errors are about; or NULL */

  /* What options lead to (options.c). */
  const pd__files *sources;         /* the flagfiles that were read */
  pd_config *config;                /* keeps the values for later; NULL if they are applied now */
  const char *program;              /* argv[0], for the sections of flagfiles; or NULL */
  const char *help[PD__HELP_KINDS]; /* the pattern, if help of that kind was requested; or NULL */
  const struct pd__open_file *file; /* the one being read; or NULL */
  bool closed;                      /* a limit was exceeded: nothing more is read */
  unsigned depth, files;
  size_t bytes, values;
} pd__reader;

void pd__reader_begin(pd__reader *reader, pd__operation *operation, pd__report *report);

/* Records an error. */
void pd__reader_add_error(pd__reader *reader, const pd_error *err);

/* Records an error. The message begins with the place and the name of the token, unless `token` is
 * NULL. */
PD__PRINTF(4, 5)
void pd__reader_add_token_error(pd__reader *reader, const pd__token *token, pd_status status,
                                const char *format, ...);

/* Handles a token with that meaning. Records errors. */
void pd__reader_stage_token(pd__reader *reader, const pd__token *token, const pd__meaning *meaning);

/* Assigns text to a flag; `node` is the flag or an alias of it. */
void pd__reader_stage_assignment(pd__reader *reader, pd_flag *node, const char *text,
                                 const pd_origin *origin, uint32_t literal);

/* Drops the value that `source` gave the flag, if there is one. */
void pd__reader_stage_drop(pd__reader *reader, pd_flag *flag, pd_source source);

/* Reports the recorded errors; if there are none, calls the validators. */
pd_status pd__reader_report_and_validate(pd__reader *reader);

/* Checks, and commits if there is no error. Pending values are added with the commit. */
pd_status pd__reader_commit(pd__reader *reader);

/* Resolves the token's name; "--nox" may mean the bool x. */
pd__meaning pd__token_resolve(const pd__token *token);

/* ---- Options: tokens that name other sources, or ask for help (options.c) ---- */

/* Limits of what files and variables may contain. */
#define PD__DEPTH_MOST 16 /* files and variables inside each other */
#define PD__FILES_MOST 1000
#define PD__BYTES_MOST 67108864u /* of all files */
#define PD__VALUES_MOST 1000000  /* of files and variables */

/* Returns true if the token is a flag or an option. */
bool pd__token_is_known(const pd__token *token);

/* Returns true if the token needs a value and has none. */
bool pd__token_is_missing_value(const pd__token *token, const pd__meaning *meaning);

/* Handles a token whose name was resolved. */
void pd__token_handle(pd__reader *reader, const pd__token *token, const pd__meaning *meaning);

/* Handles the lines of a flagfile; `by` is the token that names it, or NULL. */
void pd__reader_handle_flagfile(pd__reader *reader, const char *path, size_t length,
                                const pd__token *by);

/* Handles a token --undefok=names that a pd_config kept. Returns false for any other token. */
bool pd__option_handle_undefok(pd__reader *reader, const pd__token *token);

/* Fills `help` with the request; false if there is none. */
bool pd__option_find_requested_help(const pd__reader *reader, pd_help *help);

/* Handles the flags in a variable, if it is set (variable.c). */
void pd__reader_read_flags_variable(pd__reader *reader, const char *variable);

/* Makes the values of a configuration those of its source (apply.c). */
void pd__config_stage_values(const pd_config *config, pd__reader *reader);

#endif /* PD__INPUT_H */
