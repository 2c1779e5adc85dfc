/* How times, clients, events and changes are written. */
#include <stdio.h>

#include "../registry/journal.h"
#include "live.h"

/* ---- Times ---- */

/* Returns the date of a day, counted from 1970-01-01: the algorithm civil_from_days of Howard
 * Hinnant's "chrono-Compatible Low-Level Date Algorithms". */
static void write_date(int64_t day, char out[PD__TIME_SIZE]) {
  int64_t shifted = day + 719468;
  int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
  unsigned of_era = (unsigned)(shifted - era * 146097);
  unsigned year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  unsigned of_year = of_era - (365 * year + year / 4 - year / 100);
  unsigned month = (5 * of_year + 2) / 153;
  unsigned date = of_year - (153 * month + 2) / 5 + 1;
  month = month < 10 ? month + 3 : month - 9;
  snprintf(out, PD__TIME_SIZE, "%04d-%02u-%02u", (int)(year + era * 400 + (month <= 2)) % 10000,
           month, date);
}

const char *pd__time_text(int64_t at, char out[PD__TIME_SIZE]) {
  int64_t day = at / 86400000, rest = at % 86400000;
  if (rest < 0) day--, rest += 86400000;
  write_date(day, out);
  pd__append_format(out, PD__TIME_SIZE, "T%02d:%02d:%02d.%03dZ", (int)(rest / 3600000),
                    (int)(rest / 60000 % 60), (int)(rest / 1000 % 60), (int)(rest % 1000));
  return out;
}

void pd__json_add_time(pd__json *to, const char *key, int64_t at) {
  char text[PD__TIME_SIZE];
  pd__json_add_optional(to, key, at ? pd__time_text(at, text) : NULL);
}

/* ---- Clients ---- */

static void add_known(pd__json *to, const char *key, int64_t number) {
  if (number >= 0) {
    pd__json_add_number(to, key, number);
  } else {
    pd__json_add_optional(to, key, NULL);
  }
}

void pd__json_add_who(pd__json *to, const pd_live_who *who) {
  add_known(to, "uid", who->uid);
  add_known(to, "pid", who->pid);
  pd__json_add_optional(to, "command", who->command);
  pd__json_add_optional(to, "host", who->host);
  pd__json_add_optional(to, "label", who->label);
}

/* ---- Events ---- */

static void add_value(pd__json *to, const char *key, const pd__journal_state *seen) {
  char buffer[PD__NUMBER_SIZE];
  bool any = seen->defined && !seen->unset;
  const char *text = any ? pd__value_text((pd_type)seen->type, seen->value, buffer) : NULL;
  pd__json_add_nullable(to, key, text);
}

/* What a client said of its change. */
static void add_change(pd__json *to, const pd__kept *kept) {
  pd__json_add_number(to, "change", (int64_t)kept->number);
  pd__json_begin_member(to, "who");
  pd__json_open(to, "{");
  pd__json_add_who(to, &kept->who);
  pd__json_close(to, "}");
  pd__json_add_optional(to, "reason", kept->reason);
  pd__json_add_time(to, "until", kept->until);
}

void pd__event_write(pd__json *to, const pd__event *event) {
  static const char *const kinds[] = {"value", "defined", "removed", "frozen"};
  const pd__journal_state *after = &event->after;
  pd_origin origin = {(pd_source)after->source, after->line, after->place, after->column};
  const pd__kept *kept = event->mark ? pd__kept_find(event->mark) : NULL;
  pd__json_open(to, "{");
  pd__json_add_number(to, "revision", (int64_t)event->revision);
  pd__json_add_time(to, "at", event->at);
  pd__json_add_text(to, "name", pd__flag_name(event->flag));
  pd__json_add_text(to, "kind", kinds[event->kind]);
  if (!event->before.sensitive && !after->sensitive) {
    add_value(to, "old", &event->before);
    add_value(to, "new", after);
  }
  if (after->defined) {
    pd__json_add_text(to, "source", pd_source_name(origin.source));
    const char *place = pd__json_describe_place(to, &origin);
    if (*place) pd__json_add_text(to, "place", place);
  }
  if (kept) add_change(to, kept);
  pd__json_close(to, "}");
}

/* ---- Changes ---- */

void pd__step_write(pd__json *to, const pd__kept_flag *each, const char *old_text,
                    const char *new_text) {
  pd__json_begin_item(to);
  pd__json_open(to, "{");
  pd__json_add_text(to, "name", pd__flag_name(each->flag));
  if (!each->sensitive && !pd__flag_is_sensitive(each->flag)) {
    pd__json_add_nullable(to, "old", old_text);
    pd__json_add_nullable(to, "new", new_text);
  }
  pd__json_close(to, "}");
}

void pd__kept_write_head(pd__json *to, const pd__kept *kept, int64_t at) {
  static const char *const states[] = {"kept", "on", "ended", "undone"};
  pd__json_add_number(to, "change", (int64_t)kept->number);
  pd__json_add_time(to, "at", at);
  pd__json_add_text(to, "kind", kept->undoes ? "undo" : "set");
  pd__json_begin_member(to, "undoes");
  if (kept->undoes) {
    pd__out_add_format(to->out, "%llu", (unsigned long long)kept->undoes);
  } else {
    pd__out_add_text(to->out, "null");
  }
  pd__json_begin_member(to, "who");
  pd__json_open(to, "{");
  pd__json_add_who(to, &kept->who);
  pd__json_close(to, "}");
  pd__json_add_optional(to, "reason", kept->reason);
  pd__json_add_time(to, "until", kept->until);
  pd__json_add_text(to, "state", states[kept->state]);
}

void pd__kept_write(pd__json *to, const pd__kept *kept) {
  pd__kept_write_head(to, kept, kept->at);
  pd__json_begin_member(to, "flags");
  pd__json_open(to, "[");
  for (size_t i = 0; i < kept->count; i++) {
    const pd__kept_flag *each = &kept->flags[i];
    pd__step_write(to, each, each->old_text, each->new_text);
  }
  pd__json_close(to, "]");
}
