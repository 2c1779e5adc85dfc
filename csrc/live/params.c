/* The params of flags.set and changes.undo: their form, before any flag is looked up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

#define SHORTEST 0.1
#define LONGEST (30.0 * 24 * 3600)
#define TIMEOUT_MAX 3600.0

/* Where reading stops, and why. */
typedef struct reading {
  pd__job *job;
  char *wrong; /* 256 bytes; "" while all is well */
} reading;

static bool fail(reading *at, const char *member, const char *expected) {
  snprintf(at->wrong, 256, "params: %.80s: expected %s", member, expected);
  return false;
}

static const pd__value *find(const reading *at, const char *name) {
  const pd__value *found = pd__value_member(at->job->params, name);
  return found && found->kind != PD__NULL ? found : NULL;
}

/* ---- Flags with values ---- */

static size_t count_items(const pd__value *container) {
  size_t count = 0;
  for (const pd__value *each = container ? container->first : NULL; each; each = each->next)
    count++;
  return count;
}

static bool check_values(reading *at, const char *name) {
  const pd__value *found = find(at, name);
  if (found && found->kind != PD__OBJECT) return fail(at, name, "an object");
  for (const pd__value *each = found ? found->first : NULL; each; each = each->next) {
    if (each->kind != PD__OBJECT && each->kind != PD__ARRAY) continue;
    return fail(at, each->name, "text, a number, true, false or null");
  }
  return true;
}

static bool check_names(reading *at, const char *name) {
  const pd__value *found = find(at, name);
  if (found && found->kind != PD__ARRAY) return fail(at, name, "an array");
  for (const pd__value *each = found ? found->first : NULL; each; each = each->next) {
    if (each->kind != PD__STRING) return fail(at, name, "names of flags");
  }
  return true;
}

static bool has_null(const pd__value *object) {
  for (const pd__value *each = object ? object->first : NULL; each; each = each->next) {
    if (each->kind == PD__NULL) return true;
  }
  return false;
}

static bool check_flags(reading *at) {
  if (!check_values(at, "set") || !check_values(at, "expect")) return false;
  if (!check_names(at, "unset") || !check_names(at, "confirm")) return false;
  size_t changes = count_items(find(at, "set")) + count_items(find(at, "unset"));
  if (changes == 0) return fail(at, "set and unset", "a flag to change");
  size_t expected = count_items(find(at, "expect"));
  if (changes > PD__NAMES_MAX || expected > PD__NAMES_MAX) {
    return fail(at, "set, unset and expect", "at most 1000 flags");
  }
  bool unsets = count_items(find(at, "unset")) > 0 || has_null(find(at, "set"));
  if (at->job->duration && unsets) {
    return fail(at, "for", "only new values: taking back a value has no end");
  }
  return true;
}

/* ---- The other members ---- */

static bool read_seconds(reading *at, const char *name, double least, double most,
                         const char *expected, double *out) {
  pd_value value = {.f64 = 0};
  const pd__value *found = find(at, name);
  if (!found) return true;
  bool given = found->kind == PD__STRING || found->kind == PD__NUMBER;
  bool read =
      given && pd_value_parse(PD_TYPE_double, "seconds", found->text, &value, NULL) == PD_OK;
  if (!read || !(value.f64 >= least && value.f64 <= most)) return fail(at, name, expected);
  *out = value.f64;
  return true;
}

static bool read_times(reading *at) {
  double duration = 0;
  at->job->timeout = 10;
  bool read = read_seconds(at, "for", SHORTEST, LONGEST,
                           "seconds, or a quantity such as 90s, 10m or 1h30m, from 0.1 s to 30 d",
                           &duration) &&
              read_seconds(at, "timeout", SHORTEST, TIMEOUT_MAX, "seconds, from 0.1 to 3600",
                           &at->job->timeout);
  at->job->duration = (int64_t)(duration * 1000);
  return read;
}

static bool read_reason(reading *at) {
  const pd__value *found = find(at, "reason");
  bool right = !found || (found->kind == PD__STRING && strlen(found->text) <= PD__REASON_MAX);
  if (found && right) at->job->reason = found->text;
  return right || fail(at, "reason", "text of at most 1000 bytes");
}

static bool read_dry_run(reading *at) {
  const pd__value *found = find(at, "dry_run");
  if (found && found->kind != PD__BOOL) return fail(at, "dry_run", "true or false");
  at->job->dry_run = found && strcmp(found->text, "true") == 0;
  return true;
}

static bool read_undo(reading *at) {
  pd_value value = {.u64 = 0};
  const pd__value *found = find(at, "change");
  if (!found) return true;
  bool whole = found->kind == PD__NUMBER &&
               pd_value_parse(PD_TYPE_uint64, NULL, found->text, &value, NULL) == PD_OK &&
               value.u64 > 0;
  at->job->undo = value.u64;
  return whole || fail(at, "change", "the number of a change");
}

const char *pd__behalf_read(const pd__value *params, pd__who *who) {
  static const char expected[] =
      "params: on_behalf_of: expected label and host, texts of at most 200 bytes";
  const pd__value *found = pd__value_member(params, "on_behalf_of");
  if (!found || found->kind == PD__NULL) return NULL;
  if (found->kind != PD__OBJECT) return expected;
  for (const pd__value *each = found->first; each; each = each->next) {
    char *to = strcmp(each->name, "label") == 0 ? who->label : NULL;
    if (strcmp(each->name, "host") == 0) to = who->host;
    if (!to || (each->kind != PD__STRING && each->kind != PD__NULL)) return expected;
    if (each->text && strlen(each->text) > PD__LABEL_MAX) return expected;
    strcpy(to, each->text ? each->text : "");
  }
  return NULL;
}

const char *pd__job_read(pd__job *job, char buffer[256]) {
  reading at = {.job = job, .wrong = buffer};
  *buffer = '\0';
  const char *wrong = pd__behalf_read(job->params, &job->who);
  if (wrong) return wrong;
  bool read = read_times(&at) && read_reason(&at) && read_dry_run(&at);
  if (read) read = job->undoes ? read_undo(&at) : check_flags(&at);
  return read ? NULL : buffer;
}
