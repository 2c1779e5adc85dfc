/* The validator of impl.<name>. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "op.h"

/* ---- Checking ---- */

#define EXPECTED "expected NAME, NAME! (only this), -NAME (never), ?NAME (if it is there) or *"

static bool reject_item(const pd__preference *item, const char *what, char *why, size_t size) {
  char escaped[PD__ESCAPED_SIZE];
  snprintf(why, size, "'%s' %s", pd__escape_part(escaped, item->name, item->length), what);
  return false;
}

static bool has_same_name(const pd__preference *a, const pd__preference *b) {
  return a->length == b->length && !memcmp(a->name, b->name, a->length);
}

static bool check_list_grammar(const char *list, char *why, size_t size) {
  const char *cursor = list;
  pd__preference item, earlier;
  while (pd__preference_next(&cursor, &item)) {
    if (item.kind != PD__REST && !pd__name_is_valid(item.name, item.length)) {
      return reject_item(&item, "is no implementation's name: " EXPECTED, why, size);
    }
    if (item.kind == PD__ONLY && cursor) {
      return reject_item(&item, "stands with !, expected nothing after it", why, size);
    }
    for (const char *before = list; pd__preference_next(&before, &earlier);) {
      if (earlier.name >= item.name) break;
      if (has_same_name(&earlier, &item)) {
        return reject_item(&item, "is listed twice, expected it once", why, size);
      }
    }
  }
  return true;
}

/* ---- Known names ---- */

static const char *find_nearest_impl(const pd__family *family, const pd__preference *item) {
  const char *best = NULL;
  unsigned least = PD__TOO_FAR;
  for (const pd__op *op = family->ops; op; op = op->next) {
    for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
      unsigned far = pd__edit_distance(item->name, item->length, each->name, strlen(each->name));
      if (far >= least) continue;
      least = far;
      best = each->name;
    }
  }
  return best;
}

static bool reject_unknown_impl(const pd__family *family, const pd__preference *item, char *why,
                                size_t size) {
  const char *near = find_nearest_impl(family, item);
  reject_item(item, "is no implementation of ", why, size);
  pd__append_format(why, size, "%s", family->name);
  if (near) pd__append_format(why, size, "; did you mean '%s'?", near);
  for (const pd__op *op = near ? NULL : family->ops; op; op = op->next) {
    if (!op->candidates) continue; /* all have left */
    pd__append_format(why, size, "; %s has", op->text);
    for (const pd__impl *each = op->candidates; each; each = each->next_candidate) {
      pd__append_format(why, size, "%s%s", each == op->candidates ? " " : ", ", each->name);
    }
  }
  return false;
}

void pd__preference_report_unmet(const pd__family *family, pd__report *report) {
  char why[PD__WHY_SIZE], source[PD__SOURCE_SIZE];
  pd__preference item;
  const pd_flag *flag = pd__cell_flag(&family->cell);
  const char *cursor = flag ? pd__flag_value(flag).str : NULL;
  const pd_origin origin = flag ? pd__flag_origin(flag) : pd__at_run_time;
  while (pd__preference_next(&cursor, &item)) {
    if (item.kind == PD__REST || item.kind == PD__IF_THERE ||
        pd__preference_has_candidate(family, &item))
      continue;
    reject_unknown_impl(family, &item, why, sizeof why);
    pd__report_fail(report, PD_ERR_UNDEFINED, "%s: %s",
                    pd__origin_write_message_subject(family->def.name, &origin, source), why);
  }
  if (!flag || !pd__preference_is_unusable(family, pd__flag_value(flag).str, why, sizeof why))
    return;
  pd__report_fail(report, PD_ERR_REFUSED, "%s: %s",
                  pd__origin_write_message_subject(family->def.name, &origin, source), why);
}

/* Values that are given before modules are loaded may name what comes later. */
static bool can_name_later_impl(const pd_origin *origin) {
  if (origin->source == PD_SOURCE_ARGV) return !pd__preference_strict;
  return origin->source == PD_SOURCE_FILE || origin->source == PD_SOURCE_ENVIRONMENT;
}

/* The caller holds the lock. */
static bool check_impls_known(const pd__family *family, const pd_flag_entry *entry, char *why,
                              size_t size) {
  pd__preference item;
  if (can_name_later_impl(&entry->origin)) return true;
  for (const char *cursor = entry->value.str; pd__preference_next(&cursor, &item);) {
    if (item.kind == PD__REST || item.kind == PD__IF_THERE ||
        pd__preference_has_candidate(family, &item))
      continue;
    return reject_unknown_impl(family, &item, why, size);
  }
  return true;
}

bool pd__preference_check_names_locked(const pd_flag_entry *const *entries, void *context,
                                       char *why, size_t size) {
  return check_list_grammar(entries[0]->value.str, why, size) &&
         check_impls_known(context, entries[0], why, size);
}

bool pd__preference_check(const pd_flag_entry *const *entries, void *context, char *why,
                          size_t size) {
  pd__family *family = context;
  const char *list = entries[0]->value.str;
  if (!check_list_grammar(list, why, size)) return false;
  PD__LOCKED_OPERATION(operation);
  bool runs = check_impls_known(family, entries[0], why, size) &&
              !pd__preference_ask_whether_unusable(&operation, family, list, why, size);
  bool again = family->missed_answer;
  pd__operation_end(&operation);
  if (again) family->def.watch(NULL, family); /* chooses */
  return runs;
}
