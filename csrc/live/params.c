/* The params of all methods: their form, before any flag is looked up. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "job.h"

enum {
  NAMES_MAX = 1000, /* in one change */
  REASON_MAX = 1000 /* bytes */
};

/* ---- Kinds of values. Each reads to `out`, and returns false if it isn't as expected. ---- */

typedef bool param_parser(const pd__value *value, double limit, void *out);

static bool parse_text_param(const pd__value *value, double limit, void *out) {
  *(const char **)out = value->text;
  return value->kind == PD__STRING && strlen(value->text) <= (size_t)limit;
}

static bool parse_since_param(const pd__value *value, double limit, void *out) {
  (void)limit;
  pd__since *since = out;
  pd_journal_event event = {.size = sizeof event};
  pd_value number;
  const char *dash = value->kind == PD__STRING ? strchr(value->text, '-') : NULL;
  if (!dash || dash - value->text != 16) return false;
  if (pd_value_parse(PD_TYPE_uint64, NULL, dash + 1, &number, NULL) != PD_OK) return false;
  since->given = true;
  since->revision = number.u64;
  since->known = strncmp(value->text, pd_journal_get_epoch(), 16) == 0 &&
                 pd_journal_get(number.u64, &event, NULL) != PD_ERR_ARGUMENT;
  return true;
}

/* A whole number, from `least` on. */
static bool parse_number_param(const pd__value *value, double least, void *out) {
  pd_value number = {.u64 = 0};
  bool read = value->kind == PD__NUMBER &&
              pd_value_parse(PD_TYPE_uint64, NULL, value->text, &number, NULL) == PD_OK;
  *(uint64_t *)out = number.u64;
  return read && number.u64 >= (uint64_t)least;
}

static bool parse_seconds_param(const pd__value *value, double limit, void *out) {
  pd_value seconds = {.f64 = 0};
  bool read = (value->kind == PD__STRING || value->kind == PD__NUMBER) &&
              pd_value_parse(PD_TYPE_double, "seconds", value->text, &seconds, NULL) == PD_OK;
  *(double *)out = seconds.f64;
  return read && seconds.f64 >= 0.1 && seconds.f64 <= limit;
}

static bool parse_bool_param(const pd__value *value, double limit, void *out) {
  (void)limit;
  *(bool *)out = value->kind == PD__BOOL && strcmp(value->text, "true") == 0;
  return value->kind == PD__BOOL;
}

static bool parse_first_member_param(const pd__value *value, double limit, void *out) {
  (void)limit;
  *(const pd__value **)out = value->first;
  return value->kind == PD__OBJECT;
}

static bool parse_object_param(const pd__value *value, double limit, void *out) {
  (void)limit;
  *(const pd__value **)out = value;
  return value->kind == PD__OBJECT;
}

static bool parse_step_param(const pd__value *value, double limit, void *out) {
  pd_value number = {.i64 = 0};
  pd__step *step = out;
  (void)limit;
  step->given = value->kind == PD__NUMBER &&
                pd_value_parse(PD_TYPE_int64, NULL, value->text, &number, NULL) == PD_OK;
  step->number = number.i64;
  return step->given;
}

static bool parse_string_array_param(const pd__value *value, double limit, void *out) {
  (void)limit;
  *(const pd__value **)out = value->first;
  for (const pd__value *each = value->first; each; each = each->next) {
    if (each->kind != PD__STRING) return false;
  }
  return value->kind == PD__ARRAY;
}

static bool parse_requester_param(const pd__value *value, double limit, void *out) {
  pd__requester *requester = out;
  for (const pd__value *each = value->first; each; each = each->next) {
    char *to = each->name && strcmp(each->name, "label") == 0 ? requester->label : NULL;
    if (each->name && strcmp(each->name, "host") == 0) to = requester->host;
    if (!to || (each->kind != PD__STRING && each->kind != PD__NULL)) return false;
    if (each->text && strlen(each->text) > (size_t)limit) return false;
    strcpy(to, each->text ? each->text : "");
  }
  return value->kind == PD__OBJECT;
}

/* ---- The members ---- */

#define OFFSET_OF(field) offsetof(pd__job, field)

static const struct param {
  const char *name;
  param_parser *parse;
  size_t field;
  double limit; /* of bytes, of seconds; the least number */
  const char *expected;
} members[] = {
    {"name", parse_text_param, OFFSET_OF(name), PD__LINE_MAX, "text"},
    {"after", parse_text_param, OFFSET_OF(after), PD__LINE_MAX, "text"},
    {"since", parse_since_param, OFFSET_OF(since), 0, "EPOCH-REVISION"},
    {"before", parse_number_param, OFFSET_OF(before), 0, "the number of a change"},
    {"change", parse_number_param, OFFSET_OF(undo), 1, "the number of a change"},
    {"set", parse_first_member_param, OFFSET_OF(set), 0, "an object"},
    {"expect", parse_first_member_param, OFFSET_OF(expect), 0, "an object"},
    {"values", parse_object_param, OFFSET_OF(values), 0, "an object of values by name"},
    {"fleet", parse_text_param, OFFSET_OF(fleet), PD__LINE_MAX, "the address of the fleet"},
    {"by", parse_text_param, OFFSET_OF(by), PD__LABEL_MAX, "text of at most 200 bytes"},
    {"until", parse_number_param, OFFSET_OF(until), 0, "a time in ms since 1970"},
    {"step", parse_step_param, OFFSET_OF(step), 0, "a whole number"},
    {"unset", parse_string_array_param, OFFSET_OF(unset), 0, "an array of names of flags"},
    {"confirm", parse_string_array_param, OFFSET_OF(confirm), 0, "an array of names of flags"},
    {"reason", parse_text_param, OFFSET_OF(reason), REASON_MAX, "text of at most 1000 bytes"},
    {"for", parse_seconds_param, OFFSET_OF(duration), 30.0 * 24 * 3600,
     "seconds, or a quantity such as 90s, 10m or 1h30m, from 0.1 s to 30 d"},
    {"timeout", parse_seconds_param, OFFSET_OF(timeout), 3600, "seconds, from 0.1 to 3600"},
    {"dry_run", parse_bool_param, OFFSET_OF(dry_run), 0, "true or false"},
    {"on_behalf_of", parse_requester_param, OFFSET_OF(requester), PD__LABEL_MAX,
     "label and host, texts of at most 200 bytes"},
};

/* `known`: the names of the method's members, with blanks around. */
static const struct param *find_param(const char *known, const char *name) {
  char wanted[32];
  for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
    if (strcmp(members[i].name, name) != 0) continue;
    snprintf(wanted, sizeof wanted, " %s ", name);
    return strstr(known, wanted) ? &members[i] : NULL;
  }
  return NULL;
}

static void report_param_error(pd__job *job, const char *member, const char *expected) {
  pd__job_add_problem(job, "params", NULL, PD_ERR_ARGUMENT, "params: %.80s: expected %s", member,
                      expected);
}

void pd__params_parse(pd__job *job, const char *known, const pd__value *params) {
  for (const pd__value *each = params ? params->first : NULL; each; each = each->next) {
    const struct param *member = find_param(known, each->name);
    if (!member) {
      pd__job_add_problem(job, "params", NULL, PD_ERR_ARGUMENT,
                          "params: there is no member %.200s: expected %s%.*s", each->name,
                          known[1] ? "one of" : "none", (int)strlen(known) - 1, known);
    } else if (each->kind != PD__NULL) {
      bool right = member->parse(each, member->limit, (char *)job + member->field);
      if (!right) report_param_error(job, member->name, member->expected);
    }
  }
}

/* ---- flags.set ---- */

/* Returns the first of a list with that kind or one behind it; NULL: there is none. */
static const pd__value *find_value_of_kind(const pd__value *at, pd__kind least) {
  while (at && at->kind < least) at = at->next;
  return at;
}

static bool has_null_value(const pd__value *at) {
  while (at && at->kind != PD__NULL) at = at->next;
  return at != NULL;
}

void pd__check_flags_set_params(pd__job *job) {
  size_t changes = pd__values_count(job->set) + pd__values_count(job->unset);
  const pd__value *wrong = find_value_of_kind(job->set, PD__OBJECT);
  if (!wrong) wrong = find_value_of_kind(job->expect, PD__OBJECT);
  if (wrong) {
    report_param_error(job, wrong->name, "text, a number, true, false or null");
  } else if (changes == 0) {
    report_param_error(job, "set and unset", "a flag to change");
  } else if (changes > NAMES_MAX || pd__values_count(job->expect) > NAMES_MAX) {
    report_param_error(job, "set, unset and expect", "at most 1000 flags");
  } else if (job->duration > 0 && (job->unset || has_null_value(job->set))) {
    report_param_error(job, "for", "only new values: taking back a value has no end");
  }
}
