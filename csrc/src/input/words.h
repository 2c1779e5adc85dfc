/* What the words of a command line and the lines of a flagfile have in common: those
 * that lead to other places (--flagfile, --fromenv, --tryfromenv, --undefok), those that
 * ask for help, and values. All functions need the lock. */
#ifndef PD__WORDS_H
#define PD__WORDS_H

#include "given.h"

/* What is read beyond the command line has an end, whatever it says. */
#define PD__DEPTH_MOST 16 /* places inside each other */
#define PD__FILES_MOST 1000
#define PD__BYTES_MOST 67108864u /* of all files */
#define PD__VALUES_MOST 1000000  /* of files and variables */

#define PD__HELP_KINDS 8

typedef struct pd__owned pd__owned;
typedef struct pd__file pd__file; /* flagfile.c */

typedef struct pd__words {
  pd__given given;
  pd_config *config;            /* keeps the values for later; NULL: they are given now */
  const char *program;              /* argv[0], for the sections of flagfiles; or NULL */
  const char *prefix;               /* of variables */
  const char *help[PD__HELP_KINDS]; /* the pattern, where help of that kind was asked for */
  const pd__file *file;             /* that is being read; or NULL */
  bool closed;                      /* a limit was met: nothing more is read */
  unsigned depth;
  unsigned files;
  size_t bytes;
  size_t values;
  pd__owned *owned;
} pd__words;

/* Whether a command line that says the item means something by it. */
bool pd__words_know(const pd__item *item);

/* Whether the item has no value, and takes one. */
bool pd__words_wants(const pd__item *item, const pd__meaning *meaning);

/* Take an item; `word` is it as it was written, for messages. */
void pd__words_take(pd__words *words, const pd__item *item, const char *word);

/* The same, where its meaning is known. */
void pd__words_take_as(pd__words *words, const pd__item *item, const pd__meaning *meaning,
                       const char *word);

/* Whether config have kept the item as --undefok=names; then pd__words_excuse takes
 * the names. */
bool pd__words_is_excuse(const pd__item *item);
void pd__words_excuse(pd__words *words, const pd__item *item);

/* Count one more value of a file or variable; false: it is too many. */
bool pd__words_count(pd__words *words, const pd__item *item);

/* Read no more, because of the item. */
void pd__words_close(pd__words *words, const pd__item *item, pd_status status, const char *why);

/* Memory of malloc (NULL: it is out) that lives as long as the words do. Gives it,
 * or NULL. */
void *pd__words_own(pd__words *words, void *memory);

/* Which help was asked for, with its pattern; false: none. */
bool pd__words_help(const pd__words *words, pd_help *help);

/* Free all but what is given. */
void pd__words_free(pd__words *words);

#endif /* PD__WORDS_H */
