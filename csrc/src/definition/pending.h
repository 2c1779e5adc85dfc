/* Values that were given for names that nobody has defined yet. They wait, with
 * their source and order, until somebody does. All functions need the lock. */
#ifndef PD__PENDING_H
#define PD__PENDING_H

#include "../registry/registry.h"

struct pd__pending {
  pd_flag *node;
  const char *name; /* as it was given */
  const char *text; /* NULL: none, as in --name and --noname */
  uint32_t literal; /* as in pd_config_add */
  const char *next; /* the word behind it, where there is no text; or NULL */
  pd_origin origin;
  uint64_t order; /* of arrival */
  bool excused;   /* nobody complains if it waits for ever */
  bool negated;   /* while it is applied: it was given as --noname */
  pd__pending *following;
};

/* Make one, with all the memory that it needs; `following` is the caller's until
 * it is kept. PD_ERR_NAME where no flag can have the name. */
pd_status pd__pending_prepare(const char *name, size_t length, const char *text, const char *next,
                              const pd_origin *origin, pd__pending **out, pd_error *err);

/* Let it wait from now on. Can't fail. */
void pd__pending_keep(pd__pending *pending);

/* Whether any value waits. */
bool pd__pending_any(void);

/* Give a flag that is being defined what waits for it under its name and its
 * aliases, in the order of arrival; errors go to `report`. */
void pd__pending_apply(pd_flag *flag, pd__report *report);

/* Drop what waits of `source`, and what the flags of modules that are gone keep of it. */
void pd__pending_forget(pd_source source);

#endif /* PD__PENDING_H */
