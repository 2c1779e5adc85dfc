/* What clients have changed: for listing it, for undoing it, and until it ends. */
#include <stdlib.h>
#include <string.h>

#include "live.h"

static pd__change *latest;
static uint64_t last_number;
static size_t all_bytes, on_count;

void pd__who_write(pd__text *to, const char *name, const pd__who *who) {
  pd__json_name(to, name);
  pd__json_open(to, '{');
  pd__json_add_number(to, "uid", who->uid);
  if (who->pid > 0) pd__json_add_number(to, "pid", (uint64_t)who->pid);
  if (who->pid <= 0) pd__json_add_text(to, "pid", NULL);
  pd__json_add_text(to, "command", *who->command ? who->command : NULL);
  if (*who->label || *who->host) {
    pd__json_name(to, "on_behalf_of");
    pd__json_open(to, '{');
    pd__json_add_optional(to, "label", who->label);
    pd__json_add_optional(to, "host", who->host);
    pd__json_close(to, '}');
  }
  pd__json_close(to, '}');
}

bool pd__who_is_same(const pd__who *a, const pd__who *b) {
  return a->uid == b->uid && strcmp(a->label, b->label) == 0;
}

/* ---- One change ---- */

pd__change *pd__change_new(size_t count, const pd__who *who, const char *reason) {
  pd__change *made = calloc(1, sizeof *made + count * sizeof *made->flags);
  if (!made) return NULL;
  made->users = 1;
  made->count = count;
  made->who = *who;
  made->at = pd__time_now();
  made->reason = reason ? strdup(reason) : NULL;
  if (made->reason || !reason) return made;
  free(made);
  return NULL;
}

void pd__change_free(pd__change *change) {
  if (!change) return;
  for (size_t i = 0; i < change->count; i++) {
    free(change->flags[i].name);
    free(change->flags[i].old_text);
    free(change->flags[i].new_text);
  }
  free(change->reason);
  free(change);
}

static size_t size_of_text(const char *text) { return text ? strlen(text) + 1 : 0; }

static size_t size_of(const pd__change *change) {
  size_t size = sizeof *change + size_of_text(change->reason);
  for (size_t i = 0; i < change->count; i++) {
    const pd__changed_flag *each = &change->flags[i];
    size += sizeof *each + size_of_text(each->name);
    size += size_of_text(each->old_text) + size_of_text(each->new_text);
  }
  return size;
}

/* ---- The list ---- */

/* Those that are on may take half of the room: more can't be forgotten, so they are refused. */
bool pd__change_reserve(pd__change *change) {
  size_t bytes = 0;
  for (const pd__change *at = latest; at; at = at->older)
    bytes += at->state == PD__ON ? at->bytes : 0;
  change->number = ++last_number;
  if (change->state != PD__ON) return true;
  return on_count < PD__TEMPORARY_MAX && bytes + size_of(change) <= PD__CHANGES_MAX / 2;
}

/* Keeps the latest ones that fit, none that is older than those, and all that are on or used. */
static void drop_oldest(void) {
  size_t bytes = 0;
  for (pd__change **at = &latest; *at;) {
    pd__change *each = *at;
    bytes += each->bytes;
    if (bytes <= PD__CHANGES_MAX || each->state == PD__ON || each->users > 0 || each == latest) {
      at = &each->older;
      continue;
    }
    *at = each->older;
    all_bytes -= each->bytes;
    pd__change_free(each);
  }
}

void pd__change_drop(pd__change *change) {
  pthread_mutex_lock(&pd__lock);
  if (change && change->number > 0 && change->number == last_number) last_number--;
  pthread_mutex_unlock(&pd__lock);
  pd__change_free(change);
}

void pd__change_add(pd__change *change) {
  pd__change **at = &latest;
  while (*at && (*at)->number > change->number) at = &(*at)->older; /* one came while it was made */
  change->bytes = size_of(change);
  change->older = *at;
  *at = change;
  all_bytes += change->bytes;
  on_count += change->state == PD__ON;
  if (change->state == PD__ON && change->audit) pd__audit_hold(change->audit);
  if (all_bytes > PD__CHANGES_MAX) drop_oldest();
}

void pd__change_use(pd__change *change) { change->users++; }

void pd__change_leave(pd__change *change) {
  pthread_mutex_lock(&pd__lock);
  change->users--;
  pthread_mutex_unlock(&pd__lock);
}

pd__change *pd__change_latest(void) { return latest; }

pd__change *pd__change_find(uint64_t number) {
  pd__change *at = latest;
  while (at && at->number > number) at = at->older;
  return at && at->number == number ? at : NULL;
}

size_t pd__changes_on(void) { return on_count; }

pd__change *pd__change_of_override(pd_override override) {
  pd__change *at = latest;
  while (at && (at->state != PD__ON || at->override != override)) at = at->older;
  return at;
}

void pd__change_end(pd__change *change, pd__change_state state) {
  if (change->state == PD__ON) {
    on_count--;
    if (change->audit) pd__audit_release(change->audit);
    change->audit = NULL;
  }
  change->state = state;
}

/* ---- JSON ---- */

void pd__changed_flag_write(pd__text *to, const pd__changed_flag *flag) {
  pd__json_add_text(to, "name", flag->name);
  if (flag->sensitive) return;
  pd__json_name(to, "old");
  pd__json_raw(to, flag->old_text ? flag->old_text : "null");
  pd__json_name(to, "new");
  pd__json_raw(to, flag->new_text ? flag->new_text : "null");
}

void pd__change_write(pd__text *to, const pd__change *change) {
  static const char *const states[] = {"kept", "on", "ended", "undone"};
  pd__json_add_number(to, "change", change->number);
  pd__json_add_time(to, "at", change->at);
  pd__json_add_text(to, "kind", change->of_fleet ? "fleet" : change->undoes ? "undo" : "set");
  if (change->undoes) pd__json_add_number(to, "undoes", change->undoes);
  if (!change->undoes) pd__json_add_text(to, "undoes", NULL);
  pd__who_write(to, "who", &change->who);
  pd__json_add_text(to, "reason", change->reason);
  pd__json_add_time(to, "until", change->until);
  pd__json_add_text(to, "state", states[change->state]);
  pd__json_name(to, "flags");
  pd__json_open(to, '[');
  for (size_t i = 0; i < change->count; i++) {
    pd__json_open(to, '{');
    pd__changed_flag_write(to, &change->flags[i]);
    pd__json_close(to, '}');
  }
  pd__json_close(to, ']');
}

void pd__change_write_event(pd__text *to, const pd__change *change, const char *event) {
  pd__json_open(to, '{');
  pd__json_add_text(to, "event", event);
  pd__json_add_text(to, "result", "applied");
  pd__change_write(to, change);
  pd__json_close(to, '}');
}
