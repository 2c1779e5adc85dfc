/* Values for names that aren't defined yet. They wait, with their source and order, until the
 * names are, and beyond that where a validator can't be asked yet. Everything here needs the lock.
 */
#ifndef PD__PENDING_H
#define PD__PENDING_H

#include "../registry/registry.h"

/* With all of its text in one piece of memory. */
struct pd__pending {
  const char *name; /* as it was given */
  size_t length;    /* of the name */
  const char *text; /* NULL: none, as in --name and --noname */
  const char *next; /* the token behind it, where there is no text; or NULL */
  uint32_t literal; /* as in pd_config_add */
  bool excused;     /* nobody complains if it waits for ever */
  bool negated;     /* while it is applied: it was given as --noname */
  pd_origin origin;
  pd_flag *node;
  uint64_t order; /* of arrival */
  size_t size;    /* of it, with its text */
  pd__pending *following;
};

/* Make one like `given`, whose text is borrowed, with all the memory that it needs; `following` is
 * the caller's until it is kept or dropped. PD_ERR_NAME where no flag can have the name. */
pd_status pd__pending_prepare(const pd__pending *given, pd__pending **out, pd_error *err);

/* Let it wait from now on, or forget it. Neither can fail. */
void pd__pending_keep(pd__pending *pending);
void pd__pending_drop(pd__pending *pending);

/* Whether any value waits. */
bool pd__pending_any(void);

/* Give a flag that is being defined what waits for it under its name and its aliases, in the order
 * of arrival; errors go to `report`. */
void pd__pending_apply(pd__operation *operation, pd_flag *flag, pd__report *report);

/* Give one value to a flag that is being defined, or let it wait for a validator; `node` is the
 * flag or an alias of it. */
void pd__pending_settle(pd__operation *operation, pd_flag *node, const char *text,
                        const pd_origin *origin, pd__report *report);

/* Drop what waits of `source`, and what the flags of modules that are gone keep of it. */
void pd__pending_forget(pd_source source);

#endif /* PD__PENDING_H */
