/* What is listed of a flag, for hosts and reports. */
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "flag.h"
#include "hook.h"
#include "scope.h"

/* Interns a text for a result, since the module may leave. Clears *stored if memory is out. */
static const char *intern_for_result(const char *text, bool *stored) {
  const char *kept = pd__intern_text(text ? text : "");
  if (!kept) *stored = false;
  return kept;
}

#define COPY_MARK(name, words, about) info->name = def->name;
#define COPY_TEXT(name, words, kind, about) info->name = intern_for_result(def->name, &stored);

bool pd__flag_fill_info(const pd_flag *flag, pd_flag_info *info) {
  const pd_flag_def *def = pd__flag_def(flag);
  pd_module *module = pd__cell_module(flag->cells);
  bool stored = true;
  pd__entry given;
  info->name = intern_for_result(def->name, &stored);
  info->type = def->type;
  info->source = pd__flag_get_effective_source(flag);
  info->help = intern_for_result(def->help, &stored);
  info->file = intern_for_result(def->file, &stored);
  info->line = def->line;
  info->module =
      intern_for_result(def->module || !module ? def->module : pd__module_path(module), &stored);
  PD_TEXT_MAP(COPY_TEXT)
  PD_MARK_MAP(COPY_MARK)
  info->sensitive = flag->sensitive;
  info->optional = def->optional && !pd__history_find_source_entry(flag, PD_SOURCE_DEFAULT, &given);
  info->frozen = flag->frozen || (def->startup_only && pd__startup_over);
  info->owner = flag->cells->registered ? NULL : module;
  info->default_value = pd__flag_get_current_default(flag);
  info->min = def->min;
  info->max = def->max;
  info->cells = info->validators = 0;
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next) {
    info->cells += cell->def->cell && cell->def->type == def->type;
    info->validators += cell->def->validate != NULL;
  }
  for (pd__validator_walk walk = {0}; pd__validators_next(&walk, flag);) info->validators++;
  info->list = def->list;
  info->context = def->context;
  info->generation = flag->generation;
  return stored;
}

pd_status pd__flag_fill_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry,
                              pd_error *err) {
  const pd_flag_def *def = pd__flag_def(flag);
  if (!pd__history_describe_entry(flag, index, entry)) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: has no entry %zu", def->name, index);
  }
  bool is_default = entry->origin.source == PD_SOURCE_DEFAULT;
  bool lost = is_default && entry->origin.line && def->file && !entry->origin.place;
  return lost ? pd__fail_memory(err) : PD_OK;
}

/* ---- For hosts ---- */

/* What a filler fills in, in our version of the struct. */
typedef union view {
  size_t size;
  pd_flag_info info;
  pd_flag_entry entry;
  pd_cell_info cell;
} view;

typedef pd_status view_filler(const pd_flag *flag, size_t index, view *found, pd_error *err);

/* Calls `fill` and copies the fields that the caller knows; `least` as in pd__sized_check. */
static pd_status get_flag_view(const pd_flag *flag, size_t index, view_filler *fill, size_t size,
                               void *out, size_t least, const char *what, pd_error *err) {
  view found;
  memset(&found, 0, sizeof found);
  found.size = size;
  if (!flag) return pd__fail_null(err, "flag");
  pd_status status = pd__sized_check(out, least, what, err);
  if (status != PD_OK) return status;
  PD__LOCKED_OPERATION(operation);
  status = pd__flag_adopt_and_check_defined(&operation, (pd_flag *)flag, err);
  if (status == PD_OK) status = fill(flag, index, &found, err);
  if (status == PD_OK) pd__sized_copy_out(out, &found, size);
  return pd__operation_return(&operation, status);
}

static pd_status fill_info_view(const pd_flag *flag, size_t index, view *found, pd_error *err) {
  (void)index;
  if (!pd__flag_fill_info(flag, &found->info)) return pd__fail_memory(err);
  if (pd__scope_find_value(flag)) found->info.source = PD_SOURCE_SCOPE;
  return PD_OK;
}

pd_status pd_flag_get_info(const pd_flag *flag, pd_flag_info *info, pd_error *err) {
  return get_flag_view(flag, 0, fill_info_view, sizeof *info, info,
                       PD__SIZE_UP_TO(pd_flag_info, cells), "info", err);
}

const char *pd_flag_get_name(const pd_flag *flag) {
  bool stored = true;
  if (!flag) return "";
  PD__LOCKED_OPERATION(operation);
  const char *name = intern_for_result(pd__flag_name(flag), &stored);
  pd__operation_end(&operation);
  return stored ? name : "";
}

/* The values of this thread's scopes come first. */
static pd_status fill_entry_view(const pd_flag *flag, size_t index, view *found, pd_error *err) {
  pd_flag_entry *entry = &found->entry;
  const pd__scoped *scoped = pd__scope_find_value_at(flag, &index);
  if (!scoped) return pd__flag_fill_entry(flag, index, entry, err);
  pd_status status = pd__flag_fill_entry(flag, 0, entry, err); /* what is the same in all */
  entry->value = pd__scoped_get_value(scoped);
  entry->origin = scoped->origin;
  entry->unset = scoped->unset;
  entry->replaced = false;
  return status;
}

pd_status pd_flag_get_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry,
                            pd_error *err) {
  return get_flag_view(flag, index, fill_entry_view, sizeof *entry, entry,
                       PD__SIZE_UP_TO(pd_flag_entry, origin), "entry", err);
}

static pd_status fill_cell_view(const pd_flag *flag, size_t index, view *found, pd_error *err) {
  const pd__cell *cell = flag->cells;
  for (size_t left = index; cell && left > 0; left--) cell = cell->next;
  if (!cell) return pd__fail(err, PD_ERR_ARGUMENT, "%s: has no cell %zu", flag->name, index);
  const pd_flag_def *def = cell->def;
  pd_cell_info *info = &found->cell;
  info->kind = (pd_kind)def->kind;
  info->type = (pd_type)def->type;
  info->module = cell->registered ? NULL : pd__cell_module(cell);
  info->address = def->cell;
  pd_value value;
  info->in_step = !def->cell || (def->type == flag->type && pd__variable_load(def, &value) &&
                                 pd__value_is_equal(flag->type, value, pd__flag_value(flag)));
  return PD_OK;
}

pd_status pd_flag_get_cell(const pd_flag *flag, size_t index, pd_cell_info *info, pd_error *err) {
  return get_flag_view(flag, index, fill_cell_view, sizeof *info, info,
                       PD__SIZE_UP_TO(pd_cell_info, in_step), "info", err);
}
