/* The journal for hosts. */
#include "../base/sized.h"
#include "journal.h"

pd_status pd_journal_start(pd_error *err) {
  PD__LOCKED_OPERATION(operation);
  bool started = pd__journal_start();
  return pd__operation_return(&operation, started ? PD_OK : pd__fail_memory(err));
}

uint64_t pd_journal_get_revision(void) {
  if (!__atomic_load_n(&pd__journal_on, __ATOMIC_ACQUIRE)) return 0;
  bool assignable = __atomic_load_n(&pd__assignables, __ATOMIC_RELAXED) > 0;
  if (assignable || pd__journal_is_stale()) {
    PD__LOCKED_OPERATION(operation);
    pd__flags_adopt_assigned_values(&operation);
    pd__journal_record_missed_changes();
    pd__operation_end(&operation);
  }
  return pd__journal_get_last_revision();
}

uint64_t pd_flag_get_revision(const pd_flag *flag) {
  if (!flag) return 0;
  PD__LOCKED_OPERATION(operation);
  uint64_t found = pd__journal_get_flag_revision(flag);
  pd__operation_end(&operation);
  return found;
}

const char *pd_journal_get_epoch(void) { return pd__journal_get_epoch(); }

static pd_type get_type_if_set(const pd__journal_state *state) {
  return state->defined && !state->unset ? (pd_type)state->type : (pd_type)0;
}

static void fill_public_event(const pd__event *from, pd_journal_event *out) {
  const pd__journal_state *after = &from->after;
  out->revision = from->revision;
  out->at = from->at;
  out->mark = from->mark;
  out->flag = from->flag;
  out->kind = (pd_event)from->kind;
  out->old_type = get_type_if_set(&from->before);
  out->new_type = get_type_if_set(after);
  out->old_value = from->before.value;
  out->new_value = after->value;
  out->origin = (pd_origin){(pd_source)after->source, after->line, after->place, after->column};
  out->defined = after->defined;
  out->sensitive = from->before.sensitive || after->sensitive;
}

pd_status pd_journal_get(uint64_t since, pd_journal_event *event, pd_error *err) {
  pd_journal_event found = {.size = sizeof found};
  pd_status status =
      pd__sized_check(event, PD__SIZE_UP_TO(pd_journal_event, sensitive), "event", err);
  if (status != PD_OK) return status;
  PD__LOCKED_OPERATION(operation);
  if (since > pd__journal_get_last_revision() || since < pd__journal_get_oldest_revision()) {
    status =
        pd__fail(err, PD_ERR_ARGUMENT, "since: %llu: expected a revision from %llu to %llu",
                 (unsigned long long)since, (unsigned long long)pd__journal_get_oldest_revision(),
                 (unsigned long long)pd__journal_get_last_revision());
  } else if (since == pd__journal_get_last_revision()) {
    status = pd__fail(err, PD_ERR_UNDEFINED, "nothing has changed since revision %llu",
                      (unsigned long long)since);
  } else {
    fill_public_event(pd__journal_find_first_after(since), &found);
    pd__sized_copy_out(event, &found, event->size);
  }
  return pd__operation_return(&operation, status);
}
