/* Asking validators, and what their rejections say. */
#include "question.h"
#include "flag.h"

#include <stdio.h>
#include <string.h>

/* ---- Asking ---- */

pd__question *pd__question_new(pd__operation *operation, pd__hook *hook, pd__handler call,
                               size_t count) {
  size_t size = sizeof(pd__question) + count * (sizeof(pd__subject) + sizeof(pd_flag_entry *));
  pd__question *made = pd__arena_alloc(&operation->arena, size);
  if (!made) return NULL;
  made->hook = hook;
  made->call = call;
  made->count = count;
  made->entries = (const pd_flag_entry **)&made->subjects[count];
  for (size_t i = 0; i < count; i++) {
    made->subjects[i].entry.size = sizeof made->subjects[i].entry;
    made->entries[i] = &made->subjects[i].entry;
  }
  if (hook) pd__hook_retain(operation, hook, &made->hook_reference);
  return made;
}

pd__question *pd__question_new_for_hook(pd__operation *operation, pd__hook *hook) {
  pd__question *made = pd__question_new(operation, hook, hook->call, hook->count);
  for (size_t i = 0; made && i < hook->count; i++) {
    pd_flag *flag = hook->targets[i].flag;
    made->subjects[i].flag = flag;
    made->subjects[i].generation = flag->generation;
  }
  return made;
}

bool pd__questions_pin_modules(pd__operation *operation, pd__question *list) {
  bool pinned = true;
  for (; list; list = list->next) {
    pd__pinning how = pd__pin_module(operation, list->call.module);
    if (how == PD__LEAVING) list->call.function = NULL; /* not called */
    pinned &= how != PD__UNPINNED;
  }
  if (!pinned) pd__pins_acquire(operation);
  return pinned;
}

void pd__questions_call_validators(pd__operation *operation, pd__question *list) {
  pd__hooks_prepare_call(operation);
  pd__operation_unlock(operation);
  for (; list; list = list->next) {
    if (list->answered) continue;
    PD__IN_HOOK(operation);
    pd_validator accepts = (pd_validator)list->call.function;
    list->accepted =
        accepts && accepts(list->entries, list->call.context, list->why, sizeof list->why);
    list->why[sizeof list->why - 1] = '\0';
    list->answered = true;
  }
  pd__operation_lock(operation);
}

/* ---- Rejections ---- */

#define ITEM_SIZE (PD__ESCAPED_SIZE * 3 + 8)
#define VALUES_SIZE 400 /* leaves room for the reason */
#define SUBJECT_SIZE (PD__SOURCE_SIZE + PD__ESCAPED_SIZE)

static const char *escape_value(const pd__subject *seen, char escaped[PD__ESCAPED_SIZE]) {
  char number[PD__NUMBER_SIZE];
  if (seen->flag->sensitive) return PD__REDACTED;
  return pd__escape_text(escaped, pd__value_get_text(seen->flag->type, seen->entry.value, number));
}

/* Writes the values that were checked, as "--low=9 (argv[1]), --high=3 (default)". `only_given`
 * leaves out the defaults. */
static void write_values(const pd__question *one, bool only_given, char out[VALUES_SIZE]) {
  bool fits = true;
  out[0] = '\0';
  for (size_t i = 0; fits && i < one->count; i++) {
    char item[ITEM_SIZE], name[PD__ESCAPED_SIZE], value[PD__ESCAPED_SIZE], place[PD__ESCAPED_SIZE];
    const pd__subject *seen = &one->subjects[i];
    if (only_given && seen->entry.origin.source == PD_SOURCE_DEFAULT) continue;
    snprintf(item, sizeof item, "--%s=%s (%s)", pd__escape_text(name, seen->flag->name),
             escape_value(seen, value), pd__origin_write_description(&seen->entry.origin, place));
    fits = pd__append_item(out, VALUES_SIZE, item);
  }
}

/* Writes what was checked: "--level=9", with its source, or the values of several flags. */
static void write_subject(const pd__question *one, char out[SUBJECT_SIZE]) {
  char source[PD__SOURCE_SIZE], escaped[PD__ESCAPED_SIZE];
  if (one->count > 1) {
    write_values(one, false, out);
  } else {
    snprintf(out, SUBJECT_SIZE, "%s=%s",
             pd__origin_write_message_subject(one->subjects->flag->name,
                                              &one->subjects->entry.origin, source),
             escape_value(one->subjects, escaped));
  }
  pd__shorten_text(out, 600);
}

/* Returns whether the validator's reason contains the value of a sensitive flag. */
static bool has_secret_in_reason(const pd__question *one) {
  char number[PD__NUMBER_SIZE];
  for (size_t i = 0; i < one->count; i++) {
    const pd__subject *seen = &one->subjects[i];
    if (!seen->flag->sensitive) continue;
    const char *text = pd__value_get_text(seen->flag->type, seen->entry.value, number);
    if (*text && strstr(one->why, text)) return true;
  }
  return false;
}

/* If the validator gave no reason, name the module that it is in, if that is known. */
static void report_unexplained_rejection(const pd__question *one, const char *subject,
                                         pd__report *report) {
  char escaped[PD__ESCAPED_SIZE];
  const char *name = one->call.module ? pd__base_name(pd__module_path(one->call.module)) : "";
  pd__report_fail(report, PD_ERR_REFUSED, "%s: rejected by %s validator%s%s", subject,
                  one->hook ? "a" : "its", *name ? " in " : "", pd__escape_text(escaped, name));
}

/* The reason of a group already names its flags. */
static void report_group_rejection(const pd__question *one, pd__report *report) {
  char given[VALUES_SIZE];
  write_values(one, true, given);
  pd__report_fail(report, PD_ERR_REFUSED, "%s%s%s", one->why, *given ? "; given: " : "", given);
}

/* The generations are unchanged, so names and values are still valid. */
static void report_rejection(const pd__question *one, pd__report *report) {
  char subject[SUBJECT_SIZE];
  write_subject(one, subject);
  report->flag = one->count == 1 ? one->subjects[0].flag : NULL;
  if ((pd_validator)one->call.function == pd__group_check) {
    report_group_rejection(one, report);
  } else if (!*one->why || has_secret_in_reason(one)) {
    report_unexplained_rejection(one, subject, report);
  } else {
    pd__report_fail(report, PD_ERR_REFUSED, "%s: %s", subject, one->why);
  }
  report->flag = NULL;
}

void pd__questions_report_rejections(const pd__question *each, pd__report *report) {
  for (; each; each = each->next) {
    if (!each->accepted) report_rejection(each, report);
  }
}

bool pd__questions_collect_fleet_refusals(const pd__question *each, pd__refusals *to,
                                          pd__arena *arena) {
  size_t before = to->count;
  for (; each; each = each->next) {
    for (size_t i = 0; !each->accepted && i < each->count; i++) {
      const pd__subject *seen = &each->subjects[i];
      pd_error why;
      pd__report report = {.first = &why};
      if (seen->entry.origin.source != PD_SOURCE_FLEET || pd__refusals_is_flag_exempt(seen->flag))
        continue;
      report_rejection(each, &report);
      pd__refusals_add(to, arena, &seen->entry.origin, &why);
    }
  }
  return to->count > before;
}
