/* Drafts: flags as they will be once a stage is published. For plan.c, draft.c and
 * draft_validate.c. */
#ifndef PD__DRAFT_H
#define PD__DRAFT_H

#include "../registry/question.h"
#include "pending.h"
#include "stage.h"

typedef struct pd__draft pd__draft;
typedef struct pd__known pd__known;

/* Which values the flags of a stage get. */
struct pd__plan {
  int rounds;                               /* how often it was made */
  pd__known **known;                        /* one for each cell; NULL where nothing is known */
  pd__draft *drafts, **drafts_end;          /* of the flags that may get values, in this round */
  pd__changes changes;                      /* the values that they get */
  pd__report rejected;                      /* the values that they don't get */
  pd__refusals refused;                     /* revisions of the fleet, in all rounds */
  pd_error first;                           /* of these */
  pd__question *questions, **questions_end; /* to ask */
  pd__conversion *conversions, **conversions_end;
};

/* What is known of a flag in a round. In the arena of the operation. */
struct pd__draft {
  pd_flag *flag; /* of pd__draft_new */
  pd_flag *node; /* becomes the flag */
  pd__cell cell; /* a copy of the one in the stage */
  pd__known *known;
  pd_flag_entry current_entry; /* the value in effect so far, below temporary overrides */
  pd_flag_entry former_entry;  /* the one that a former definition has left, if `has_former` */
  bool has_former;
  size_t dropped; /* topmost former values, which validators have rejected */
  bool blocked;   /* an answer is missing */
  bool deferred;  /* its validators can't be called within the loader: its values wait */
  const pd__waiting *waiting; /* pending values, in their order; its pending ones go in the end */
  pd__environment_value environment; /* from the environment, if its node isn't NULL */
  bool environment_accepted;
  bool warns; /* it has got a value: the first one's origin is in warned_origin */
  pd_origin warned_origin;
  pd__draft *next; /* of the stage */
};

/* What has been asked about a definition. Kept from one round to the next. */
struct pd__known {
  pd__question *questions; /* linked by `following` */
  pd__conversion *conversions;
  pd__draft *draft; /* in this round; NULL: none yet */
};

/* Returns the draft of a cell in this round, and makes it if needed; NULL if memory runs out. */
pd__draft *pd__draft_ensure_for_cell(pd__stage *stage, const pd__cell *cell);

/* Returns the draft of a flag that the stage defines; NULL if it doesn't, or if memory runs out. */
pd__draft *pd__draft_find_for_flag(pd__stage *stage, const pd_flag *node);

/* Returns the node that the cell defines; NULL if its flag is defined already, or if the cell is an
 * import. */
pd_flag *pd__stage_find_node_to_define(const pd__stage *stage, const pd__cell *cell);

typedef enum pd__verdict { PD__ACCEPTED, PD__REJECTED, PD__UNANSWERED } pd__verdict;

/* Returns whether the validators accept that the flag gets the value, by the answers so far. Adds
 * missing questions to those of the stage, and reports rejections (draft_validate.c). */
pd__verdict pd__draft_validate(pd__stage *stage, pd__draft *draft, const pd_flag_entry *proposed);

/* Reports why a flag doesn't get a value, unless that is of the fleet: then its revision is
 * refused. */
void pd__plan_add_rejection(pd__stage *stage, const pd_origin *origin, const pd_error *err);

/* Replaces the text of the last change of the plan by its canonical form, likewise. */
pd__verdict pd__draft_convert_last_change(pd__stage *stage, pd__draft *draft);

#endif /* PD__DRAFT_H */
