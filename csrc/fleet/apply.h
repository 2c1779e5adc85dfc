/* Values of the fleet in the registry: a record applies as a whole, or is refused with reasons.
 * As paddle_flags/fleet/_apply.py. */
#ifndef PD_FLEET_APPLY_H
#define PD_FLEET_APPLY_H

#include "state.h"

#define PD__APPLIED "applied"
#define PD__REJECTED "rejected"
#define PD__RESTART "needs a restart"
#define PD__HELD "held"
#define PD__PENDING "pending"
#define PD__ENDED "ended"
#define PD__WAITS "waits for its step"

typedef struct pd__applier {
  char *place;
  json_t *wanted; /* entries by name: what the log says */
  json_t *held;   /* what the registry has; former values stay where a record was refused */
  bool started;   /* atomic: the program runs, so that only flags with `runtime` change */
} pd__applier;

/* An answer is [state, why]. */
json_t *pd__answer(const char *state, const char *why);
bool pd__answer_is(const json_t *answer, const char *state);
const char *pd__answer_why(const json_t *answer);

typedef void (*pd__answered)(int64_t revision, json_t *names, json_t *answer, void *context);

/* Give all values at once; if some are refused, record by record. `tell` owns names and answer. */
void pd__applier_start(pd__applier *applier, json_t *wanted, pd__answered tell, void *context);
/* Give what is different from before. Returns those names, and the answer; you own both. */
json_t *pd__applier_change(pd__applier *applier, json_t *wanted, json_t **answer);
/* What pd__applier_change would answer; nothing changes. */
json_t *pd__applier_check(const pd__applier *applier, json_t *wanted);
/* The answer for names that were applied before: what held them may have gone. */
json_t *pd__applier_review(const pd__applier *applier, const json_t *names);
/* Give up the batches with values that flags, defined since, did not take, and say why: they would
 * stop all that come later. */
void pd__applier_sift(pd__applier *applier, pd__answered tell, void *context);
/* What the registry has of a fleet, to begin with. You own it. */
json_t *pd__applier_given(void);
/* Take all values back of flags that can change now. */
void pd__applier_drop(pd__applier *applier);

/* Tell the audits of the servers of this process what has changed (report.c). */
void pd__changes_report(const char *fleet, json_t *before, json_t *after);

#endif /* PD_FLEET_APPLY_H */
