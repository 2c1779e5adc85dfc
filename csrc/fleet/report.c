/* What the fleet has changed, for the audits of the servers of this process (pd_flags/live.h). */
#include <dlfcn.h>
#include <stdlib.h>

#include <pd_flags/live.h>

#include "apply.h"

typedef pd_status (*reporter)(const pd_live_change *change, pd_error *err);

static const char *text_of(const json_t *entry) { return entry ? pd__entry_value(entry) : NULL; }

static bool is_same_text(const char *one, const char *other) {
  return one && other ? strcmp(one, other) == 0 : one == other;
}

static int64_t end_of(const json_t *entry) {
  double time = json_number_value(json_array_get(entry, PD__TIME));
  const json_t *duration = json_array_get(entry, PD__DURATION);
  return json_is_number(duration) ? (int64_t)((time + json_number_value(duration)) * 1000) : 0;
}

/* Reports one flag, with who gave it its new value; who took a value back isn't known here. */
static void report_flag(reporter report, const char *fleet, const char *name, const json_t *before,
                        const json_t *after) {
  pd_live_changed flag = {name, text_of(before), text_of(after)};
  pd_live_change change = {.size = sizeof change, .fleet = fleet, .flags = &flag, .count = 1};
  if (is_same_text(flag.old_text, flag.new_text)) return;
  if (after) {
    change.by = json_string_value(json_array_get(after, PD__BY));
    change.reason = json_string_value(json_array_get(after, PD__REASON));
    change.until = end_of(after);
  }
  (void)report(&change, NULL);
}

void pd__changes_report(const char *fleet, json_t *before, json_t *after) {
  reporter report = (reporter)dlsym(RTLD_DEFAULT, "pd_live_report");
  const char *name;
  json_t *entry;
  if (!report) return; /* nobody serves here */
  json_object_foreach(after, name, entry) {
    report_flag(report, fleet, name, json_object_get(before, name), entry);
  }
  json_object_foreach(before, name, entry) {
    if (!json_object_get(after, name)) report_flag(report, fleet, name, entry, NULL);
  }
}
