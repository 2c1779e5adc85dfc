/* Checks the values that a former definition left against the new one. */

#include "../base/text.h"
#include "change.h"
#include "define.h"
#include "flag.h"

typedef struct review {
  pd_type former_type;
  pd__report *report;
} review;

/* Converts a value of a former definition for the flag's; through text if the types differ. */
static pd_status convert_former_value(const pd_flag *flag, pd_type was, pd_value *value) {
  const pd_flag_def *def = pd__flag_def(flag);
  if (def->read_only) return PD_ERR_READ_ONLY;
  if (was == flag->type) return pd__value_check(def, *value);
  char number[PD__NUMBER_SIZE];
  const char *text = pd__value_get_text(was, *value, number);
  pd_value fresh;
  pd_status status = pd__value_parse_with_unit(def, text, &fresh);
  if (status == PD_OK) status = pd__value_check(def, fresh);
  if (status != PD_OK) return status;
  if (flag->type == PD_TYPE_string && !(fresh.str = pd__intern_text(fresh.str)))
    return PD_ERR_MEMORY;
  *value = fresh;
  return PD_OK;
}

static pd_status fail_former_value(pd_status status, const pd_flag *flag, pd_type was,
                                   const pd__entry *entry, pd_error *err) {
  char number[PD__NUMBER_SIZE], source[PD__SOURCE_SIZE];
  if (status == PD_ERR_MEMORY) return pd__fail_memory(err);
  if (status == PD_ERR_READ_ONLY) {
    return pd__fail(err, status, "%s: is read-only",
                    pd__origin_write_message_subject(flag->name, &entry->origin, source));
  }
  const char *text = pd__value_get_text(was, entry->value, number);
  return pd__fail_value(status, flag, flag->name, text, &entry->origin, err);
}

/* Values that had been replaced go without a report. */
static bool convert_or_report_entry(pd_flag *flag, pd__entry *entry, bool current, void *context) {
  const review *under = context;
  pd_error err;
  pd_status status = convert_former_value(flag, under->former_type, &entry->value);
  if (status == PD_OK || !current) return status == PD_OK;
  fail_former_value(status, flag, under->former_type, entry, &err);
  pd__report_add(under->report, &err);
  return false;
}

/* The node and the overrides still hold the values as the old type. */
void pd__flag_convert_former_values(pd_flag *flag, pd_type was, pd__report *report) {
  review under = {was, report};
  bool override_entry = pd__flag_override(flag) != NULL;
  pd_value base =
      override_entry ? flag->extra->base : pd__cell_load(was, pd__flag_address(flag, was));
  pd__history_filter_with_current(flag, base, convert_or_report_entry, &under);
  for (pd__override_entry *at = pd__flag_override(flag); at;) {
    pd__override_entry *below = at->below;
    pd__entries_filter(&at->values, flag, convert_or_report_entry, &under);
    if (!at->values) pd__override_entry_drop(at);
    at = below;
  }
}

/* ---- What the review of a draft's node will leave ---- */

typedef struct preview {
  const pd_flag *draft;
  const pd__refusals *refused;
  pd_type former_type;
  size_t dropped;   /* layers that are still to be passed over */
  uint32_t sources; /* bits of those whose values were passed over */
  pd_flag_entry *first, *lasting;
  bool has_first, has_lasting;
} preview;

/* Returns whether the new definition accepts the value: then it hides earlier ones of its layer. */
static bool preview_former_value(preview *run, const pd__entry *entry, bool temporary) {
  pd_value value = entry->value;
  pd_flag_entry found;
  if (run->has_first && (temporary || run->has_lasting)) return true;
  if (convert_former_value(run->draft, run->former_type, &value) != PD_OK) return false;
  if (run->dropped > 0) {
    run->dropped--;
    run->sources |= PD__SOURCE_BIT(entry->origin.source);
    return true;
  }
  pd__entry_describe(run->draft, value, &entry->origin, &found);
  if (!run->has_first) *run->first = found;
  run->has_first = true;
  if (temporary) return true;
  *run->lasting = found;
  run->has_lasting = true;
  return true;
}

static void preview_base_value(preview *run, const pd__entry *entry) {
  bool passed = run->sources & PD__SOURCE_BIT(entry->origin.source) ||
                pd__refusals_is_hidden(run->refused, run->draft, &entry->origin);
  if (!passed) preview_former_value(run, entry, false);
}

bool pd__flag_preview_former_values(const pd_flag *draft, const pd_flag *node, size_t dropped,
                                    const pd__refusals *refused, pd_flag_entry *first,
                                    pd_flag_entry *lasting) {
  preview run = {draft, refused, (pd_type)node->type, dropped, 0, first, lasting, false, false};
  for (const pd__override_entry *at = pd__flag_override(node); at; at = at->below) {
    const pd__entry *entry = at->values;
    while (entry && !preview_former_value(&run, entry, at->temporary)) entry = entry->next;
  }
  if (!node->assigned) return run.has_first;
  pd__entry current = {.value = pd__flag_value_without_overrides(node),
                       .origin = pd__flag_origin(node)};
  preview_base_value(&run, &current);
  for (const pd__entry *entry = node->history; entry; entry = entry->next) {
    preview_base_value(&run, entry);
  }
  return run.has_first;
}

pd_status pd__draft_check_former_entry(const pd_flag *draft, const pd_flag *node,
                                       const pd__entry *given, pd_error *err) {
  pd_type was = (pd_type)node->type;
  pd_value value = given->value;
  pd_status status = convert_former_value(draft, was, &value);
  return status == PD_OK ? status : fail_former_value(status, draft, was, given, err);
}

/* ---- Dropping what a former definition left ---- */

void pd__flag_drop_top_values(pd_flag *flag, size_t count) {
  for (; count > 0; count--) {
    if (pd__flag_override(flag)) {
      pd__override_entry_drop(flag->extra->overrides);
    } else {
      pd__history_drop_sources(flag, PD__SOURCE_BIT(flag->source));
    }
  }
  pd__flag_publish(flag);
}
