/* What a client asks to be changed, as its body says, and carrying it out: each stage collects all
 * errors, and the next one begins only if there were none. */
#ifndef PD__ORDER_H
#define PD__ORDER_H

#include "../registry/change.h"
#include "live.h"

/* A name with a value. */
typedef struct pd__wish {
  const char *name;
  const char *text;                /* NULL: null */
  uint32_t literal;                /* how JSON wrote it, as in pd_config_add */
  pd_flag *flag;                   /* once it is found */
  size_t index;                    /* of its change; SIZE_MAX: it has none */
  const char *old_text, *new_text; /* NULL: no value */
} pd__wish;

typedef struct pd__wishes {
  pd__wish *items;
  size_t count, capacity;
} pd__wishes;

typedef struct pd__order {
  pd__wishes set, expect, confirm;
  const char *reason; /* or NULL */
  int64_t duration;   /* in milliseconds; 0: for good */
  bool dry_run;
  uint64_t undo; /* of /v1/undo: the number of the change; 0: the last one */
} pd__order;

/* Reads the body. Returns false after it has ended the call. */
bool pd__order_read(pd__call *call, pd__order *order);
bool pd__order_read_undo(pd__call *call, pd__order *order);
bool pd__order_read_fleet(pd__call *call, pd__order *order);

/* One thing that is wrong. */
typedef struct pd__fault {
  const char *name; /* NULL: of no single flag */
  pd_error error;
} pd__fault;

/* A change being made. The caller holds the lock. */
typedef struct pd__deed {
  pd__call *call;
  pd__order *order;
  pd__operation *operation;
  pd__report report; /* of the validators */
  pd__changes changes;
  pd__problem problem; /* of the faults */
  pd__fault *faults;
  size_t fault_count, fault_room;
  pd__out event; /* for the audit */
} pd__deed;

PD__PRINTF(5, 6)
void pd__deed_fail(pd__deed *deed, pd__problem problem, const char *name, pd_status status,
                   const char *format, ...);

/* Finds the flags of the order, and checks that clients may change them and have confirmed the
 * unsafe ones. Returns false if there are faults. */
bool pd__deed_permit(pd__deed *deed);

/* Calls the validators; they and the commit report to the deed. Returns false if there are
 * faults. */
bool pd__deed_ask(pd__deed *deed);

/* Returns a kept change with the flags of deed->order->set; NULL if memory is out. */
pd__kept *pd__deed_keep(pd__deed *deed);

/* Commits the changes, keeps them as `kept`, and writes the answer and the event for the audit.
 * Returns false, with a fault, if memory is out: then nothing has changed, and `kept`, which may be
 * NULL, is freed. */
bool pd__deed_commit(pd__deed *deed, pd__kept *kept, const char *event);

/* Writes the answer; `kept` is NULL for a dry run. */
void pd__deed_write(pd__deed *deed, const pd__kept *kept);

/* Ends the call, with the answer or with the faults, and tells the audit. The caller doesn't hold
 * the lock. */
void pd__deed_finish(pd__deed *deed, bool done);

/* Returns the text of the value that a flag would have without the override of that number, or with
 * 0 without the temporary ones on top, and without what clients have set if it `drops`. */
const char *pd__deed_behind(pd__deed *deed, const pd_flag *flag, pd_override number, bool drops);

/* Copies a text to the arena of the call: names are in memory of modules, which leave, and changes
 * are freed, while the lock is free. NULL of NULL. */
const char *pd__deed_copy(pd__deed *deed, const char *text);

/* Returns the text of a value in the arena of the call; NULL for no value. */
const char *pd__deed_text(pd__deed *deed, const pd_flag *flag, pd_value value, bool unset);

#endif /* PD__ORDER_H */
