/* Questions to validators: what each is asked, whether it accepts that, and why not. Also the calls
 * of converters. A question is asked with the lock released; its modules are pinned meanwhile. The
 * caller holds the lock. */
#ifndef PD__QUESTION_H
#define PD__QUESTION_H

#include "change.h"
#include "hook.h"

/* What a validator sees of one flag. */
typedef struct pd__subject {
  pd_flag *flag;
  uint32_t generation; /* of its definition */
  pd_flag_entry entry;
} pd__subject;

/* A validator with its arguments and its answer; in the arena of its operation. */
typedef struct pd__question {
  pd__hook *hook; /* NULL: the validator of a definition */
  pd__hook_reference hook_reference;
  pd__handler call;
  bool answered, accepted;
  char why[PD__WHY_SIZE];
  struct pd__question *next, *following; /* of two lists */
  const pd_flag_entry **entries;         /* pointers into `subjects` */
  size_t count;
  pd__subject subjects[];
} pd__question;

/* Returns a question about `count` flags, which the caller fills in; NULL if memory runs out.
 * Retains the hook until the operation ends. */
pd__question *pd__question_new(pd__operation *operation, pd__hook *hook, pd__handler call,
                               size_t count);

/* Returns a question to a hook about its flags, whose entries the caller fills in. */
pd__question *pd__question_new_for_hook(pd__operation *operation, pd__hook *hook);

/* Pins the modules of the validators in a list. Returns false if the lock had to be released for
 * that: look everything up again then. A module that can't be pinned counts as a rejection. */
bool pd__questions_pin_modules(pd__operation *operation, pd__question *list);

/* Asks those of a list that aren't answered yet. Releases the lock meanwhile. */
void pd__questions_call_validators(pd__operation *operation, pd__question *list);

/* Reports the rejections of a list. The flags must be those that the validators were asked about.
 */
void pd__questions_report_rejections(const pd__question *list, pd__report *report);

/* Refuses the values of the fleet that take part in the rejections of a list. Returns whether that
 * refuses another revision: ask again without its values then. */
bool pd__questions_collect_fleet_refusals(const pd__question *list, pd__refusals *to,
                                          pd__arena *arena);

/* ---- Converters (convert.c) ---- */

/* A call of a converter with its answer; in the arena of its operation. */
typedef struct pd__conversion {
  pd__arena *arena;
  pd_converter call;
  void *context;
  pd_module *module; /* of the converter; NULL if unknown */
  const char *text;
  char *result; /* NULL: the text stays as it is */
  size_t length, room;
  bool answered, accepted;
  char why[PD__WHY_SIZE];
  struct pd__conversion *next, *following; /* of two lists */
} pd__conversion;

/* Returns a call of the converter of the flag's definition; NULL if memory runs out. */
pd__conversion *pd__conversion_new(pd__operation *operation, const pd_flag *flag, const char *text);

/* Pins the modules of the converters in a list, as pd__questions_pin_modules does. */
bool pd__conversions_pin(pd__operation *operation, pd__conversion *list);

/* Calls those of a list that aren't answered yet. Releases the lock meanwhile. */
void pd__conversions_run(pd__operation *operation, pd__conversion *list);

/* Gives the result of a conversion to the change that it was made for. */
pd_status pd__conversion_apply(pd__conversion *conversion, pd__change *change,
                               const pd__changes *changes, pd_error *err);

#endif /* PD__QUESTION_H */
