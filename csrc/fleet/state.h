/* The flags of a fleet: what a log says. As paddle_flags/fleet/_record.py and _state.py, against
 * which the tests compare it. */
#ifndef PD_FLEET_STATE_H
#define PD_FLEET_STATE_H

#include "json.h"

enum pd__verdict { PD__UNDECIDED, PD__COMMIT, PD__ABORT };

/* A record with its revision. */
typedef struct pd__step {
  int64_t revision;
  json_t *record; /* its fields, those that were left out too */
  enum pd__verdict verdict;
} pd__step;

typedef struct pd__state {
  int64_t revision;
  char *fleet;     /* the identity of the log; NULL at first */
  json_t *settled; /* entries by selector and name, without the records of `tail` */
  json_t *tables;  /* with them */
  pd__step *tail;  /* from the first proposal that nobody has decided on */
  size_t tail_count;
} pd__state;

/* The fields of an entry, which is an array: what one selector says of one flag. */
enum {
  PD__VALUE, /* null: nothing, which hides nothing */
  PD__REVISION,
  PD__TIME,
  PD__BY,
  PD__REASON,
  PD__DURATION, /* null: for good */
  PD__AT_STEP,  /* null: at once */
  PD__BELOW,    /* what holds before the step, and after the end; or null */
  PD__ENTRY_SIZE
};

/* A record of JSON. What isn't one is a batch of nothing, for every reader alike. You own it. NULL:
 * memory is out. */
json_t *pd__record_read(const char *data, size_t length);
bool pd__record_is_proposal(const json_t *record);
bool pd__selector_is_valid(const char *on);

void pd__state_init(pd__state *state);
void pd__state_free(pd__state *state);
/* Begin with a base. Returns false, and changes nothing, if the data isn't one. */
bool pd__state_read(pd__state *state, const char *data, size_t length);
/* Add the next record, which is owned then. */
pd_status pd__state_add(pd__state *state, json_t *record, enum pd__verdict verdict);
/* A second decision changes nothing. */
void pd__state_decide(pd__state *state, int64_t revision, enum pd__verdict verdict);
/* The tables if the proposal `revision` were committed. You own them. */
json_t *pd__state_if(const pd__state *state, int64_t revision);
/* Whether a record takes effect, or is a proposal that nobody has decided. */
bool pd__step_holds(const pd__step *step);
bool pd__step_is_open(const pd__step *step);

/* ---- For one member ---- */

/* What selectors look at. */
typedef struct pd__selected {
  char *selectors[4]; /* those that fit, the least specific first */
  size_t count;
} pd__selected;

bool pd__selected_init(pd__selected *selected, const char *name, const char *role,
                       const char *host);
void pd__selected_free(pd__selected *selected);

typedef bool (*pd__entry_test)(const json_t *entry, void *context);

/* The values of a member by name: of the most specific selector that has one now. You own them. */
json_t *pd__values_of(const json_t *tables, const pd__selected *selected, pd__entry_test holds,
                      void *context);
/* The names that a record may change in a member. You own the set. */
json_t *pd__concerned(const json_t *record, const pd__selected *selected);

int64_t pd__entry_revision(const json_t *entry);
const char *pd__entry_value(const json_t *entry); /* NULL: nothing */

#endif /* PD_FLEET_STATE_H */
