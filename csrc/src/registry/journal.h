/* The journal: every change of a flag in order, for readers outside of the process. It is off, and
 * costs a set one test of a variable, until pd__journal_start. Each change has a number, the
 * revision; the latest PD_JOURNAL_KEPT changes are kept.
 *
 * Values and sources are noted where they are stored. What changes rarely (definitions, and whether
 * flags are frozen) is found by scanning all flags, which pd__journal_mark_stale requests.
 *
 * The caller holds the lock unless a function says otherwise. */
#ifndef PD__JOURNAL_H
#define PD__JOURNAL_H

#include "registry.h"

/* What the journal knows of a flag. */
typedef struct pd__journal_state {
  uint64_t revision; /* of the last change */
  pd_value value;    /* text is stored permanently; of a sensitive flag it may be wiped */
  const char *place; /* with source, line and column: the origin */
  uint32_t line, column;
  uint32_t generation; /* of the definition */
  uint8_t type;
  uint8_t source;
  bool defined, frozen, unset, sensitive;
} pd__journal_state;

typedef struct pd__event {
  uint64_t revision;
  int64_t at;    /* milliseconds since 1970 */
  uint64_t mark; /* pd__journal_mark when it happened */
  pd_flag *flag;
  pd__journal_state before, after;
  uint8_t kind; /* pd_event */
} pd__event;

extern bool pd__journal_on;

/* Of the batch that is being committed; 0: another change. */
extern uint64_t pd__journal_mark;

/* Starts the journal, if it is off. Returns false if memory runs out. */
bool pd__journal_start(void);

/* Records the flag's current value, if it is a different one. */
void pd__journal_record_if_changed(pd_flag *flag);
static inline void pd__journal_record(pd_flag *flag) {
  if (__builtin_expect(pd__journal_on, false)) pd__journal_record_if_changed(flag);
}

/* Something else about flags has changed. */
void pd__journal_mark_stale(void);

/* Scans all flags if a change may have been missed. */
void pd__journal_record_missed_changes(void);

/* Returns whether there may be changes that aren't recorded yet. Needs no lock. */
bool pd__journal_is_stale(void);

/* The revision. Needs no lock. */
uint64_t pd__journal_get_last_revision(void);

/* All changes after this revision are kept. */
uint64_t pd__journal_get_oldest_revision(void);

/* Returns the first event after the revision; NULL if there is none. */
const pd__event *pd__journal_find_first_after(uint64_t revision);

/* Returns the revision of the flag's last change. */
uint64_t pd__journal_get_flag_revision(const pd_flag *flag);

/* "6f1c2a9be04d7783": different in each process, and in forked children. Never freed, but changes
 * in a forked child. */
const char *pd__journal_get_epoch(void);
void pd__journal_renew_epoch(void);

#endif /* PD__JOURNAL_H */
