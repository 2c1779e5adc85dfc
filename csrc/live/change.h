/* What clients have changed: for listing it, for undoing it, and until it ends. The list
 * (changes.c) is guarded by pd__lock. */
#ifndef PD_LIVE_CHANGE_H
#define PD_LIVE_CHANGE_H

#include "server.h"

typedef enum pd__change_state {
  PD__CHANGE_PERMANENT,
  PD__CHANGE_ACTIVE,
  PD__CHANGE_ENDED,
  PD__CHANGE_UNDONE
} pd__change_state;

typedef struct pd__changed_flag {
  pd_flag *flag;
  char *name;
  uint32_t generation; /* of its definition */
  bool sensitive;
  bool drops_value;  /* it took back what clients had set */
  bool ended;        /* of a temporary change: the value was taken back */
  bool had_override; /* it ended temporary values */
  bool had_live;     /* clients had set a value before, */
  pd_type type;
  pd_value live_before;       /* this one: text is the registry's */
  pd_value set_value;         /* what the change gave; text is the registry's */
  bool hidden;                /* an override hides the new value */
  const char *requested_name; /* its name as the client wrote it; belongs to the job */
  const char *requested_text; /* what it gets; belongs to the job. NULL: what is there is dropped */
  uint32_t literal;           /* how the client wrote `text` */
  bool unconfirmed;           /* it is unsafe to change */
  char *old_text, *new_text;  /* JSON; NULL: no value, or sensitive */
} pd__changed_flag;

typedef struct pd__change_record {
  struct pd__change_record *older;
  uint64_t number;
  int64_t at;
  uint64_t undoes; /* 0: it sets */
  bool from_fleet; /* reported by pd_live_report */
  pd__requester requester;
  char *reason;     /* or NULL */
  int64_t until;    /* ms since 1970; 0: it stays */
  int64_t deadline; /* the same in steady time */
  pd_override override;
  pd__change_state state;
  pd__audit *audit; /* held while it is on; or NULL */
  size_t bytes;     /* of memory */
  size_t holders;   /* threads that end or undo it: it isn't freed */
  size_t count;
  pd__changed_flag flags[];
} pd__change_record;

/* Returns NULL without memory. */
pd__change_record *pd__change_new(size_t count, const pd__requester *requester, const char *reason);
/* Returns false if too many temporary changes are active for another one. */
bool pd__change_can_be_added(const pd__change_record *change);
void pd__change_assign_number(pd__change_record *change);
/* Frees a change that didn't happen; its number is used again. NULL: does nothing. */
void pd__change_discard(pd__change_record *change);
/* Lists it, and drops the oldest ones that are too many. */
void pd__change_add(pd__change_record *change);
pd__change_record *pd__change_find(uint64_t number);
pd__change_record *pd__change_get_latest(void);
size_t pd__changes_count_temporary(void);
/* The temporary change with that override; NULL: none. */
pd__change_record *pd__change_find_by_override(pd_override override);
/* Marks a temporary change as ended, and releases its references. */
void pd__change_set_final_state(pd__change_record *change, pd__change_state state);

/* Adds all members of a change. */
void pd__change_write(pd__text *to, const pd__change_record *change);
/* Adds the change as an event of the audit. */
void pd__change_write_event(pd__text *to, const pd__change_record *change, const char *event);
/* Adds "name", "old" and "new". */
void pd__changed_flag_write(pd__text *to, const pd__changed_flag *flag);

/* Ends what is due, on the clients' thread. Returns when the next one is, or INT64_MAX. */
int64_t pd__changes_end_expired(void);

#endif /* PD_LIVE_CHANGE_H */
