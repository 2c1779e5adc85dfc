/* A member's part of the protocol: it follows the log, applies, answers and votes. As
 * paddle_flags/fleet/_member.py, _follow.py and _steps.py. */
#ifndef PD_FLEET_MEMBER_H
#define PD_FLEET_MEMBER_H

#include "apply.h"
#include "store.h"

enum { PD__ANSWERS_KEPT = 64 };

/* The answer to one record. */
typedef struct pd__note {
  int64_t revision;
  json_t *answer, *names;
} pd__note;

/* A time by the monotonic clock. */
typedef struct pd__due {
  int64_t revision;
  double at;
} pd__due;

typedef struct pd__dues {
  pd__due *list;
  size_t count;
} pd__dues;

/* What one process knows of its fleet. Its caller holds a lock; only `last` and `gate` need none.
 */
typedef struct pd__member {
  pd__store *store;
  pd__selected selected;
  pd__state state;
  pd__applier applier;
  pd__note notes[PD__ANSWERS_KEPT + 1]; /* by revision */
  size_t note_count;
  json_t *votes;      /* by revision, as text */
  pd__dues ends;      /* of temporary values */
  pd__dues deadlines; /* of proposals */
  bool live;          /* what is read has just been written */
  bool news;          /* there is something to say */
  int64_t last;       /* atomic: the step that the program has begun, or -1 */
  int64_t gate;       /* atomic: a tick of this step or a later one looks what is to be done */
} pd__member;

#define PD__NEVER INT64_MAX

bool pd__member_init(pd__member *member, pd__store *store, const char *name, const char *role,
                     const char *host);
void pd__member_free(pd__member *member);

/* Seconds of a clock that nobody changes, and since 1970. */
double pd__monotonic(void);
double pd__wall(void);

/* Apply all that the log says. */
pd_status pd__member_start(pd__member *member, pd_error *err);
/* Apply all at once, and renew the answers to the changes that hold. */
void pd__member_apply_all(pd__member *member);
/* Read what is new and act on it; sets `news`. Without `live`, what is new may be old. */
pd_status pd__member_follow(pd__member *member, bool live, pd_error *err);
/* End what is over, and begin what its step has reached. */
void pd__member_renew(pd__member *member);
/* The seconds until something is due: an end, or a deadline. */
double pd__member_left(pd__member *member);

/* ---- follow.c ---- */

typedef void (*pd__found)(pd__member *member, const pd__step *step);

/* Read all that is new; `found` is called with each record, and each proposal that was decided
 * since, while the state is the one just behind it. PD_ERR_VALUE: it isn't the log that it was. */
pd_status pd__follow(pd__member *member, pd__found found, pd_error *err);
/* PD_ERR_VALUE: the engine has another log than the one that was read. */
pd_status pd__follow_verify(pd__member *member, pd_error *err);

/* ---- votes.c ---- */

/* Vote on what is open, and abort what nobody has decided in time. */
void pd__member_vote(pd__member *member);
/* Let ticks pass until the next step at which something is to happen. */
void pd__member_set_gate(pd__member *member);
/* The revisions on which a tick of `step` must wait, as an array of integers. You own it. */
json_t *pd__member_undecided(pd__member *member, int64_t step);
/* Pass the gate without a decision on them. */
void pd__member_give_up(pd__member *member, const json_t *revisions);

/* ---- What they share ---- */

bool pd__is_reached(const pd__member *member, int64_t step);
/* For pd__values_of: whether an entry holds now. */
bool pd__entry_holds(const json_t *entry, void *member);
/* The time that is due for a revision, or NULL. */
pd__due *pd__due_of(pd__dues *dues, int64_t revision);
void pd__due_set(pd__dues *dues, int64_t revision, double at);
void pd__due_drop(pd__dues *dues, int64_t revision);

#endif /* PD_FLEET_MEMBER_H */
