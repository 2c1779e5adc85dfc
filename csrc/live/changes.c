/* What clients have changed: for listing it, for undoing it, and until it ends. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "change.h"

enum {
  KEPT_BYTES_MAX = 2 << 20, /* of all changes in the list */
  TEMPORARY_MAX = 1000      /* changes that are on */
};

static pd__change_record *latest;
static uint64_t last_number;
static size_t temporary_count;

/* ---- One change ---- */

pd__change_record *pd__change_new(size_t count, const pd__requester *requester,
                                  const char *reason) {
  pd__change_record *made = calloc(1, sizeof *made + count * sizeof *made->flags);
  if (!made) return NULL;
  made->count = count;
  made->requester = *requester;
  made->at = pd__get_wall_ms();
  made->reason = reason ? strdup(reason) : NULL;
  if (made->reason || !reason) return made;
  free(made);
  return NULL;
}

static void free_change(pd__change_record *change) {
  if (!change) return;
  for (size_t i = 0; i < change->count; i++) {
    free(change->flags[i].name);
    free(change->flags[i].old_text);
    free(change->flags[i].new_text);
  }
  free(change->reason);
  free(change);
}

static size_t get_text_size(const char *text) { return text ? strlen(text) + 1 : 0; }

static size_t compute_change_memory(const pd__change_record *change) {
  size_t size = sizeof *change + get_text_size(change->reason);
  for (size_t i = 0; i < change->count; i++) {
    const pd__changed_flag *each = &change->flags[i];
    size += sizeof *each + get_text_size(each->name);
    size += get_text_size(each->old_text) + get_text_size(each->new_text);
  }
  return size;
}

/* ---- The list ---- */

/* Those that are on may take half of the room: more can't be forgotten, so they are refused. */
bool pd__change_can_be_added(const pd__change_record *change) {
  size_t bytes = 0;
  if (change->state != PD__CHANGE_ACTIVE) return true;
  for (const pd__change_record *at = latest; at; at = at->older)
    bytes += at->state == PD__CHANGE_ACTIVE ? at->bytes : 0;
  return temporary_count < TEMPORARY_MAX &&
         bytes + compute_change_memory(change) <= KEPT_BYTES_MAX / 2;
}

void pd__change_assign_number(pd__change_record *change) { change->number = ++last_number; }

/* Keeps the latest ones that fit, none that is older than those, and all that are on. */
static void drop_oldest_changes(void) {
  size_t bytes = 0;
  for (pd__change_record **at = &latest; *at;) {
    pd__change_record *each = *at;
    bytes += each->bytes;
    if (bytes <= KEPT_BYTES_MAX || each->state == PD__CHANGE_ACTIVE || each->holders > 0 ||
        each == latest) {
      at = &each->older;
      continue;
    }
    *at = each->older;
    free_change(each);
  }
}

void pd__change_discard(pd__change_record *change) {
  pthread_mutex_lock(&pd__lock);
  if (change && change->number > 0 && change->number == last_number) last_number--;
  pthread_mutex_unlock(&pd__lock);
  free_change(change);
}

void pd__change_add(pd__change_record *change) {
  pd__change_record **at = &latest;
  while (*at && (*at)->number > change->number) at = &(*at)->older; /* one came while it was made */
  change->bytes = compute_change_memory(change);
  change->older = *at;
  *at = change;
  temporary_count += change->state == PD__CHANGE_ACTIVE;
  if (change->state == PD__CHANGE_ACTIVE && change->audit) pd__audit_retain(change->audit);
  drop_oldest_changes();
}

pd__change_record *pd__change_get_latest(void) { return latest; }

pd__change_record *pd__change_find(uint64_t number) {
  pd__change_record *at = latest;
  while (at && at->number > number) at = at->older;
  return at && at->number == number ? at : NULL;
}

size_t pd__changes_count_temporary(void) { return temporary_count; }

size_t pd_live_count_temporary(void) {
  pthread_mutex_lock(&pd__lock);
  size_t count = temporary_count;
  pthread_mutex_unlock(&pd__lock);
  return count;
}

pd__change_record *pd__change_find_by_override(pd_override override) {
  pd__change_record *at = latest;
  while (at && (at->state != PD__CHANGE_ACTIVE || at->override != override)) at = at->older;
  return at;
}

void pd__change_set_final_state(pd__change_record *change, pd__change_state state) {
  if (change->state == PD__CHANGE_ACTIVE) {
    temporary_count--;
    if (change->audit) pd__audit_release(change->audit);
    change->audit = NULL;
  }
  change->state = state;
}

/* ---- JSON ---- */

void pd__changed_flag_write(pd__text *to, const pd__changed_flag *flag) {
  pd__json_put_text(to, "name", flag->name);
  if (flag->sensitive) return;
  pd__json_put_raw(to, "old", flag->old_text ? flag->old_text : "null");
  pd__json_put_raw(to, "new", flag->new_text ? flag->new_text : "null");
}

void pd__change_write(pd__text *to, const pd__change_record *change) {
  static const char *const states[] = {"kept", "on", "ended", "undone"};
  pd__json_put_number(to, "change", change->number);
  pd__json_put_time(to, "at", change->at);
  pd__json_put_text(to, "kind", change->from_fleet ? "fleet" : change->undoes ? "undo" : "set");
  if (change->undoes) pd__json_put_number(to, "undoes", change->undoes);
  if (!change->undoes) pd__json_put_text(to, "undoes", NULL);
  pd__requester_write_json(to, "who", &change->requester);
  pd__json_put_text(to, "reason", change->reason);
  pd__json_put_time(to, "until", change->until);
  pd__json_put_text(to, "state", states[change->state]);
  pd__json_begin(to, "flags", '[');
  for (size_t i = 0; i < change->count; i++) {
    pd__json_begin(to, NULL, '{');
    pd__changed_flag_write(to, &change->flags[i]);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "]");
}

void pd__change_write_event(pd__text *to, const pd__change_record *change, const char *event) {
  pd__json_begin(to, NULL, '{');
  pd__json_put_text(to, "event", event);
  pd__json_put_text(to, "result", "applied");
  pd__change_write(to, change);
  pd__json_end(to, "}");
}

/* ---- The end of temporary changes, on the clients' thread. No validator is asked, and watchers
 * are notified by others, so nothing keeps it waiting. ---- */

/* Returns the change that is due first; NULL: none is on. The caller holds pd__lock. */
static pd__change_record *find_next_expiring_change(void) {
  pd__change_record *first = NULL;
  for (pd__change_record *at = latest; at; at = at->older) {
    if (at->state == PD__CHANGE_ACTIVE && (!first || at->deadline < first->deadline)) first = at;
  }
  return first;
}

static pd_status drop_change_overrides(const pd__change_record *change) {
  pd_batch_options options = {.size = sizeof options, .mark = change->number};
  pd_batch_change *items = calloc(change->count, sizeof *items);
  size_t count = 0;
  if (!items) return PD_ERR_MEMORY;
  pthread_mutex_lock(&pd__lock);
  for (size_t i = 0; i < change->count; i++) {
    if (change->flags[i].ended) continue;
    items[count++] = (pd_batch_change){.flag = change->flags[i].flag, .override = change->override};
  }
  pthread_mutex_unlock(&pd__lock);
  pd_status status = pd_batch_apply(items, count, &options, NULL);
  free(items);
  return status;
}

/* Returns false if memory is out: then it stays on, and is tried again soon. Another thread may
 * undo it meanwhile, but doesn't free it while it is held. */
static bool end_expired_change(pd__change_record *change) {
  pd__text event = {.data = NULL};
  pd__audit *audit = NULL;
  pthread_mutex_lock(&pd__lock);
  change->holders++;
  pthread_mutex_unlock(&pd__lock);
  bool ended = drop_change_overrides(change) != PD_ERR_MEMORY;
  pthread_mutex_lock(&pd__lock);
  change->holders--;
  if (ended && change->state == PD__CHANGE_ACTIVE) {
    audit = change->audit;
    if (audit) pd__audit_retain(audit);
    pd__change_set_final_state(change, PD__CHANGE_ENDED);
    pd__change_write_event(&event, change, "ended");
  }
  pthread_mutex_unlock(&pd__lock);
  pd__audit_write_and_free(audit, &event);
  pthread_mutex_lock(&pd__lock);
  if (audit) pd__audit_release(audit);
  pthread_mutex_unlock(&pd__lock);
  return ended;
}

int64_t pd__changes_end_expired(void) {
  for (;;) {
    pthread_mutex_lock(&pd__lock);
    pd__change_record *next = find_next_expiring_change();
    int64_t deadline = next ? next->deadline : INT64_MAX;
    pthread_mutex_unlock(&pd__lock);
    int64_t now = pd__get_steady_ms();
    if (!next || deadline > now) return deadline;
    if (!end_expired_change(next)) return now + 100;
  }
}

/* ---- Changes from outside that came through no server ---- */

static bool copy_changed_flag(pd__changed_flag *to, const pd_live_changed *from) {
  to->name = strdup(from->name);
  to->old_text = pd__text_to_json_or_digest(from->old_text);
  to->new_text = pd__text_to_json_or_digest(from->new_text);
  return to->name && (to->old_text || !from->old_text) && (to->new_text || !from->new_text);
}

/* Cuts a text that is too long between characters. */
static void copy_label(char to[PD__LABEL_MAX + 1], const char *from) {
  size_t length = from ? strlen(from) : 0;
  if (length > PD__LABEL_MAX) length = PD__LABEL_MAX;
  while (length == PD__LABEL_MAX && ((unsigned char)from[length] & 0xc0) == 0x80) length--;
  memcpy(to, from ? from : "", length);
  to[length] = '\0';
}

static pd_status check_reported_change(const pd_live_change *change, pd_error *err) {
  if (!change || change->size != sizeof *change) {
    return pd__live_fail(err, PD_ERR_ARGUMENT, "change: expected a pd_live_change with its size");
  }
  for (size_t i = 0; i < change->count; i++) {
    if (change->flags[i].name) continue;
    return pd__live_fail(err, PD_ERR_ARGUMENT, "change->flags[%zu].name is NULL", i);
  }
  return PD_OK;
}

pd_status pd_live_report(const pd_live_change *change, pd_error *err) {
  pd_status status = check_reported_change(change, err);
  if (status != PD_OK) return status;
  pd__requester requester = {.uid = geteuid()};
  copy_label(requester.label, change->by);
  copy_label(requester.host, change->fleet);
  pd__change_record *made = pd__change_new(change->count, &requester, change->reason);
  bool copied = made != NULL;
  for (size_t i = 0; copied && i < change->count; i++) {
    copied = copy_changed_flag(&made->flags[i], &change->flags[i]);
  }
  if (!copied) {
    free_change(made);
    return pd__live_fail_memory(err);
  }
  made->from_fleet = true;
  made->until = change->until;
  pd__text event = {.data = NULL};
  pthread_mutex_lock(&pd__lock);
  pd__change_assign_number(made);
  pd__change_add(made);
  pd__change_write_event(&event, made, "fleet");
  pthread_mutex_unlock(&pd__lock);
  pd__audits_write_and_free(&event);
  return PD_OK;
}
