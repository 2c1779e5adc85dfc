/* Values that are given together, by name: those of flags become changes, those of
 * other names wait or are errors, and all of it takes effect or nothing does. All
 * functions need the lock. */
#ifndef PD__GIVEN_H
#define PD__GIVEN_H

#include "../registry/registry.h"
#include "undefok.h"

/* One value as somebody wrote it. All text is borrowed until the end. */
typedef struct pd__item {
  const char *dashes; /* before the name: "--", "-", "--fromenv=" and the like where that
                         lists it, or "" in a file of settings */
  const char *name;
  size_t length;    /* of the name */
  const char *text; /* NULL: none, as in --name and --noname */
  const char *next; /* the word behind it, where there is no text; or NULL */
  uint32_t literal; /* as in pd_config_add */
  pd_status status; /* PD_OK; or the item is an error, and `text` its message */
  pd_origin origin;
} pd__item;

/* What an item is for. */
typedef struct pd__meaning {
  pd_flag *flag; /* NULL: undefined */
  pd_flag *node; /* the flag, or the alias that it was named by */
  bool negated;  /* it was named as --noname */
} pd__meaning;

/* An error, or a name that no flag has, in the order in which they were met. */
typedef struct pd__finding pd__finding;

/* Start with zeros and a report. */
typedef struct pd__given {
  pd__changes changes;
  pd__report report;
  bool allow_pending; /* values for unknown names wait */
  bool renews_files;  /* what waits of source file goes when it succeeds */
  bool out_of_memory;
  pd__undefok undefok; /* unknown names that are no errors */
  size_t errors;
  pd__finding *findings;
  size_t count;
  size_t capacity;
  pd__pending *pending; /* the newest first, while it ends */
} pd__given;

/* The item that a word such as --name=value is; its origin is left open. */
pd__item pd__item_split(const char *word);

/* As long as nothing is defined, and the lock is held. */
pd__meaning pd__item_resolve(const pd__item *item);

/* The item's name with its place, for messages. Gives `out`. */
const char *pd__item_shown(const pd__item *item, char out[PD__SOURCE_SIZE]);

/* Take an item that means that; what is wrong with it is found. */
void pd__given_take(pd__given *given, const pd__item *item, const pd__meaning *meaning);

/* Take text for a flag, which `node` is or is an alias of. */
void pd__given_text(pd__given *given, pd_flag *node, const char *text, const pd_origin *origin);

/* Find an error. */
PD__PRINTF(3, 4)
void pd__given_fail(pd__given *given, pd_status status, const char *format, ...);

/* Take away what `source` gave the flag, if it gave anything. */
void pd__given_drop_source(pd__given *given, pd_flag *flag, pd_source source);

/* Report what was found, then pd__changes_finish. What waits, waits from then on. */
pd_status pd__given_finish(pd__given *given);

/* Forget all of it. */
void pd__given_drop(pd__given *given);

#endif /* PD__GIVEN_H */
