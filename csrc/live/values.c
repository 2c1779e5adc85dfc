/* What the methods have in common: finding flags, and values and events as JSON. */
#include <string.h>

#include "job.h"

pd_flag *pd__job_find_flag(pd__job *job, const char *name, pd_flag_info *info) {
  pd_flag *flag = NULL;
  pd_error err;
  *info = (pd_flag_info){.size = sizeof *info};
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK) status = pd_flag_get_info(flag, info, &err);
  if (status == PD_OK) return flag;
  pd__job_add_problem(job, "unknown", name, status, "%s", err.message);
  return NULL;
}

const char *pd__value_format(pd_type type, pd_value value, char number[PD__VALUE_TEXT_SIZE]) {
  if (!type) return NULL;
  if (type == PD_TYPE_string) return value.str;
  return pd_value_get_text(type, value, number, PD__VALUE_TEXT_SIZE, NULL, NULL) == PD_OK ? number
                                                                                          : "";
}

void pd__location_write(pd__text *to, const pd_origin *origin) {
  pd__text place = {.data = NULL};
  if (origin->place && *origin->place) {
    pd__text_add(&place, origin->place, strlen(origin->place));
    const char *joint = origin->source == PD_SOURCE_FLEET ? " revision " : ":";
    if (origin->line) pd__text_add_format(&place, "%s%u", joint, (unsigned)origin->line);
    if (origin->column) pd__text_add_format(&place, ":%u", (unsigned)origin->column);
  } else if (origin->source == PD_SOURCE_ARGV) {
    pd__text_add_format(&place, "argv[%u]", (unsigned)origin->line);
  }
  to->failed |= place.failed;
  pd__json_put_nonempty_text(to, "place", place.data);
  pd__text_free(&place);
}

void pd__revision_write(pd__text *to, uint64_t revision) {
  pd__json_put_text(to, "epoch", pd_journal_get_epoch());
  pd__json_put_number(to, "revision", revision);
}

bool pd__flag_find_live_value(pd_flag *flag, pd_value *value) {
  pd_flag_entry entry = {.size = sizeof entry};
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    if (entry.origin.source != PD_SOURCE_LIVE || entry.replaced) continue;
    *value = entry.value;
    return true;
  }
  return false;
}

/* ---- Events ---- */

/* Adds what a client said of its change. */
static void write_change_of_event(pd__text *to, uint64_t number) {
  pthread_mutex_lock(&pd__lock);
  const pd__change_record *change = pd__change_find(number);
  if (change) {
    pd__json_put_number(to, "change", number);
    pd__requester_write_json(to, "who", &change->requester);
    pd__json_put_text(to, "reason", change->reason);
    pd__json_put_time(to, "until", change->until);
  }
  pthread_mutex_unlock(&pd__lock);
}

void pd__event_write(pd__text *to, const pd_journal_event *event) {
  static const char *const kinds[] = {"value", "defined", "removed", "frozen"};
  char number[PD__VALUE_TEXT_SIZE];
  pd__json_begin(to, NULL, '{');
  pd__json_put_number(to, "revision", event->revision);
  pd__json_put_time(to, "at", event->at);
  pd__json_put_text(to, "name", pd_flag_get_name(event->flag));
  pd__json_put_text(to, "kind", kinds[event->kind & 3]);
  if (!event->sensitive) {
    pd__json_put_text_or_digest(to, "old",
                                pd__value_format(event->old_type, event->old_value, number));
    pd__json_put_text_or_digest(to, "new",
                                pd__value_format(event->new_type, event->new_value, number));
  }
  if (event->defined) {
    pd__json_put_text(to, "source", pd_source_name(event->origin.source));
    pd__location_write(to, &event->origin);
  }
  if (event->mark) write_change_of_event(to, event->mark);
  pd__json_end(to, "}");
}
