/* The public functions about one flag. Most take the lock, and
 * leave the work to the registry. */
#include <stdio.h>
#include <string.h>

#include "../platform/platform.h"
#include "registry.h"
#include "../base/sized.h"
#include "../base/text.h"

/* ---- Finding ---- */

static pd_status fail_undefined(const char *name, pd_error *err) {
  char quoted[PD__QUOTE_SIZE], hint[PD__HINT_SIZE];
  if (!err) return PD_ERR_UNDEFINED;
  pd__names_hint(name, strlen(name), NULL, hint);
  return pd__fail(err, PD_ERR_UNDEFINED, "no flag is named '%s'%s", pd__quote(quoted, name), hint);
}

pd_status pd__do_flag_find(const char *name, pd_flag **out, pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!out) return pd__fail_null(err, "out");
  pd__platform_lock();
  pd_flag *node = pd__names_resolve(name, strlen(name));
  pd_flag *flag = node ? pd__flag_meant(node) : NULL;
  pd_status status = node ? PD_OK : fail_undefined(name, err);
  pd__platform_unlock();
  pd__tell();
  if (flag) *out = flag;
  return status;
}

pd_flag *pd__do_flag_next(const pd_flag *previous) {
  pd__platform_lock();
  pd_flag *flag = pd__names_listed(previous);
  while (flag && !flag->defined) flag = pd__names_listed(flag);
  pd__platform_unlock();
  return flag;
}

/* Text for a result: stored for good, since the module may leave. Clears *stored
 * when memory is out. */
static const char *lasting(const char *text, bool *stored) {
  const char *kept = pd__intern(text ? text : "");
  if (!kept) *stored = false;
  return kept;
}

bool pd__flag_info(const pd_flag *flag, pd_flag_info *info) {
  if (flag->assignable) pd__flag_adopt((pd_flag *)flag);
  const pd_flag_def *def = pd__flag_def(flag);
  bool stored = true;
  info->type = def->type;
  const pd__entry *entry = pd__flag_entries(flag);
  info->source = entry ? (pd_source)entry->source : PD_SOURCE_DEFAULT;
  if (pd__flag_brief(flag)) info->source = pd__brief_origin(flag->given.brief).source;
  info->line = def->line;
  info->hidden = def->hidden;
  info->read_only = def->read_only;
  info->startup_only = def->startup_only;
  info->frozen = flag->frozen || (def->startup_only && pd__startup_over);
  info->name = lasting(def->name, &stored);
  info->help = lasting(def->help, &stored);
  info->file = lasting(def->file, &stored);
  info->category = lasting(def->category, &stored);
  info->aliases = lasting(def->aliases, &stored);
  info->choices = lasting(def->choices, &stored);
  info->owner = pd__flag_owner(flag);
  info->module = lasting(def->module, &stored);
  if (info->owner && !def->module) info->module = pd__module_path(info->owner);
  info->default_value = pd__flag_default(flag);
  info->min = def->min;
  info->max = def->max;
  info->cells = 0;
  for (const pd__cell *cell = pd__flag_first_cell(flag); cell; cell = cell->next) {
    info->cells += cell->def->cell && cell->def->type == def->type;
  }
  info->sensitive = def->sensitive;
  info->experimental = def->experimental;
  info->required = def->required;
  info->list = def->list;
  info->unit = lasting(def->unit, &stored);
  info->deprecated = lasting(def->deprecated, &stored);
  info->retired = lasting(def->retired, &stored);
  info->old_names = lasting(def->old_names, &stored);
  return stored;
}

pd_status pd__do_flag_get_info(const pd_flag *flag, pd_flag_info *info, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd_flag_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_flag_info, cells), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  status = pd__flag_check_defined(flag, err);
  if (status == PD_OK && !pd__flag_info(flag, &found)) status = pd__fail_memory(err);
  pd__platform_unlock();
  pd__tell();
  if (status == PD_OK) pd__sized_give(info, &found, sizeof found);
  return status;
}

pd_status pd__flag_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry, pd_error *err) {
  size_t left = index;
  pd__entry room;
  const pd__entry *found = pd__entries_at(flag, &left, &room);
  if (left > 0) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: has no entry %zu", pd__flag_def(flag)->name, index);
  }
  pd__entry_show(flag, found, entry);
  bool lost = !found && pd__flag_def(flag)->file && !entry->origin.place;
  return lost ? pd__fail_memory(err) : PD_OK;
}

pd_status pd__do_flag_get_entry(const pd_flag *flag, size_t index, pd_flag_entry *entry,
                                pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd_flag_entry found = {.size = sizeof found};
  pd_status status = pd__sized_check(entry, PD__SIZE_UP_TO(pd_flag_entry, origin), "entry", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  status = pd__flag_check_defined(flag, err);
  if (status == PD_OK) status = pd__flag_entry(flag, index, &found, err);
  pd__platform_unlock();
  pd__tell();
  if (status == PD_OK) pd__sized_give(entry, &found, sizeof found);
  return status;
}

static void fill_cell(const pd_flag *flag, const pd__cell *cell, pd_cell_info *info) {
  const pd_flag_def *def = cell->def;
  info->kind = (pd_kind)def->kind;
  info->type = (pd_type)def->type;
  info->module = pd__cell_module(cell);
  info->address = def->cell;
  info->in_step =
      !def->cell || (def->type == flag->type &&
                     pd__value_equal(flag->type, pd__variable_load(def), pd__flag_value(flag)));
}

pd_status pd__do_flag_get_cell(const pd_flag *flag, size_t index, pd_cell_info *info,
                               pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd_cell_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_cell_info, in_step), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  status = pd__flag_check_defined(flag, err);
  const pd__cell *cell = pd__flag_first_cell(flag);
  for (size_t left = index; cell && left > 0; left--) cell = cell->next;
  if (status == PD_OK && cell) {
    fill_cell(flag, cell, &found);
  } else if (status == PD_OK) {
    status = pd__fail(err, PD_ERR_ARGUMENT, "%s: has no cell %zu", pd__flag_def(flag)->name, index);
  }
  pd__platform_unlock();
  pd__tell();
  if (status == PD_OK) pd__sized_give(info, &found, sizeof found);
  return status;
}

/* ---- Reading, without the lock: a signal handler may have interrupted its holder ---- */

/* A message needs the lock, and so does what a module may have assigned. */
static pd_status get_locked(const pd_flag *flag, pd_type type, pd_value *value, pd_error *err) {
  pd__platform_lock();
  pd_status status = pd__flag_check_type(flag, type, err);
  if (status == PD_OK) *value = pd__flag_value(flag);
  pd__platform_unlock();
  pd__tell();
  return status;
}

/* The flag may leave, and come back with another type, between the look at its type and
 * that at its value; two looks at the type wouldn't see it come and go. */
static pd_status get(const pd_flag *flag, pd_type type, const void *out, pd_value *value,
                     pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  if (!out) return pd__fail_null(err, "out");
  for (;;) {
    uint32_t before = __atomic_load_n(&pd__departures, __ATOMIC_ACQUIRE);
    uint8_t state = pd__flag_state(flag);
    if ((state & PD__STATE_PLAIN) != type) {
      bool plain = !(state & PD__STATE_ASSIGNABLE);
      if (plain && !err) return state ? PD_ERR_TYPE : PD_ERR_UNDEFINED;
      return get_locked(flag, type, value, err);
    }
    *value = pd__cell_load(type, pd__flag_address(flag, type));
    if (__atomic_load_n(&pd__departures, __ATOMIC_RELAXED) == before) return PD_OK;
  }
}

#define DEFINE_GET(name, number, ctype, member)                                                    \
  pd_status pd__do_flag_get_##name(const pd_flag *flag, ctype *out, pd_error *err) {               \
    pd_value value = {.u64 = 0};                                                                   \
    pd_status status = get(flag, PD_TYPE_##name, out, &value, err);                                \
    if (status == PD_OK) *out = (ctype)value.member;                                               \
    return status;                                                                                 \
  }
PD_TYPE_MAP(DEFINE_GET) /* NOLINT: pd__fail gives no PD_OK */

pd_status pd__do_flag_get_text(const pd_flag *flag, char *buffer, size_t size, size_t *length,
                               pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  if (!buffer && size > 0) return pd__fail_null(err, "buffer");
  pd__platform_lock();
  pd_status status = pd__flag_check_defined(flag, err);
  if (status == PD_OK) {
    size_t whole = pd__value_format(flag->type, pd__flag_value(flag), buffer, size);
    if (length) *length = whole;
  }
  pd__platform_unlock();
  pd__tell();
  return status;
}

const void *pd__do_flag_get_address(const pd_flag *flag) {
  if (!flag) return NULL;
  return pd__flag_address(flag, (pd_type)__atomic_load_n(&flag->type, __ATOMIC_RELAXED));
}

const uint8_t *pd__do_flag_get_state(const pd_flag *flag) { return flag ? &flag->state : NULL; }

/* ---- Setting ---- */

static pd_status set_one(const pd_assignment *item, pd_error *err) {
  pd__platform_lock();
  pd_status status = pd__assignment_check(item, err);
  if (status == PD_OK) {
    status = pd__give(item->flag, item->text, item->value, &pd__at_run_time, err);
  }
  pd__platform_unlock();
  pd__tell();
  return status;
}

#define DEFINE_SET(name, number, ctype, member_)                                                   \
  pd_status pd__do_flag_set_##name(pd_flag *flag, ctype value, pd_error *err) {                    \
    pd_assignment item = {.flag = flag, .type = PD_TYPE_##name, .value = {.member_ = value}};      \
    return set_one(&item, err);                                                                    \
  }
PD_TYPE_MAP(DEFINE_SET)

pd_status pd__do_flag_set_from_string(pd_flag *flag, const char *text, pd_error *err) {
  if (!text) return pd__fail_null(err, "text");
  pd_assignment item = {.flag = flag, .text = text};
  return set_one(&item, err);
}

pd_status pd__do_flag_set_by_name(const char *name, const char *text, pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  size_t length = strlen(name);
  pd__platform_lock();
  pd_flag *node = pd__names_resolve(name, length);
  pd_status status =
      node ? pd__give(node, text, (pd_value){0}, &pd__at_run_time, err) : fail_undefined(name, err);
  pd__platform_unlock();
  pd__tell();
  return status;
}

pd_status pd__do_flag_reset(pd_flag *flag, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd__report report = {.first = err};
  pd__changes changes = {.report = &report};
  pd__platform_lock();
  pd__changes_reset(&changes, flag);
  pd_status status = pd__changes_finish(&changes);
  pd__platform_unlock();
  pd__tell();
  return status;
}

pd_status pd__do_flag_set_default(pd_flag *flag, const char *text, pd_error *err) {
  static const pd_origin origin = {PD_SOURCE_DEFAULT, 0, NULL, 0};
  if (!flag) return pd__fail_null(err, "flag");
  if (!text) return pd__fail_null(err, "text");
  pd__platform_lock();
  pd_status status = pd__give(flag, text, (pd_value){0}, &origin, err);
  pd__platform_unlock();
  pd__tell();
  return status;
}

pd_status pd__do_flag_drop(pd_flag *flag, pd_source source, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd_origin origin = {source, 0, NULL, 0};
  pd_status status = pd__origin_check(&origin, err);
  if (status != PD_OK) return status;
  pd__report report = {.first = err};
  pd__changes changes = {.report = &report};
  pd__platform_lock();
  pd__changes_drop(&changes, flag, source);
  status = pd__changes_finish(&changes);
  pd__platform_unlock();
  pd__tell();
  return status;
}

static pd_status set_frozen(pd_flag *flag, bool frozen, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  pd__platform_lock();
  pd_status status = pd__flag_check_defined(flag, err);
  if (status == PD_OK) flag->frozen = frozen;
  pd__platform_unlock();
  return status;
}

pd_status pd__do_flag_freeze(pd_flag *flag, pd_error *err) { return set_frozen(flag, true, err); }
pd_status pd__do_flag_unfreeze(pd_flag *flag, pd_error *err) {
  return set_frozen(flag, false, err);
}
