/* A change of one flag, in two steps: everything that can fail, then everything
 * that takes effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "registry.h"
#include "text.h"

bool pd__startup_over;

const pd_origin pd__at_run_time = {PD_SOURCE_RUNTIME, 0, NULL, 0};

void *pd__flag_address(const pd_flag *flag, pd_type type) {
  pd_flag *node = (pd_flag *)flag;
  if (type == PD_TYPE_string) return &node->text;
  return type == PD_TYPE_bool ? (void *)&node->truth : &node->number;
}

pd_value pd__flag_value(const pd_flag *flag) {
  return pd__cell_load(flag->type, pd__flag_address(flag, flag->type));
}

pd_status pd__flag_check_defined(const pd_flag *flag, pd_error *err) {
  if (flag->assignable) pd__flag_adopt((pd_flag *)flag);
  if (flag->defined) return PD_OK;
  return pd__fail(err, PD_ERR_UNDEFINED, "%s: the module that defined it is gone", flag->name);
}

/* Whether a variable tells which flag it is for: it has no `-` and no dot. */
static bool ends_with_name(const char *variable, const char *name) {
  size_t length = strlen(variable), tail = strlen(name);
  if (length < tail) return false;
  for (const char *at = variable + length - tail; *at; at++, name++) {
    if (*at != *name && !(*at == '_' && (*name == '-' || *name == '.'))) return false;
  }
  return true;
}

/* A variable has no lines; --fromenv on a command line names one too. */
static bool is_variable(const pd_origin *origin) {
  return origin->source == PD_SOURCE_ENVIRONMENT ||
         (origin->source == PD_SOURCE_ARGV && origin->place && !origin->line);
}

const char *pd__place_of(const pd_origin *origin, char out[PD__PLACE_SIZE]) {
  bool variable = is_variable(origin);
  bool file = !variable && origin->place && origin->source != PD_SOURCE_RUNTIME;
  char line[12] = "", column[12] = "";
  if (origin->line) snprintf(line, sizeof line, "%u:", origin->line);
  if (origin->line && origin->column) snprintf(column, sizeof column, "%u:", origin->column);
  if (file) {
    snprintf(out, PD__PLACE_SIZE, "%.255s:%s%s ", origin->place, line, column);
  } else {
    strcpy(out, variable ? "environment: " : "");
  }
  return out;
}

const char *pd__source_of(const char *name, const pd_origin *origin, char out[PD__SOURCE_SIZE]) {
  char place[PD__PLACE_SIZE];
  const char *variable = origin->place ? origin->place : "";
  pd__place_of(origin, place);
  if (is_variable(origin) && !ends_with_name(variable, name)) {
    snprintf(out, PD__SOURCE_SIZE, "%s%.512s%s(%s)", place, variable, *variable ? " " : "", name);
  } else if (is_variable(origin)) {
    snprintf(out, PD__SOURCE_SIZE, "%s%s", place, variable);
  } else {
    bool dashes = origin->source == PD_SOURCE_ARGV || origin->source == PD_SOURCE_FILE;
    snprintf(out, PD__SOURCE_SIZE, "%s%s%s", place, dashes ? "--" : "", name);
  }
  return out;
}

/* Why a flag that isn't open takes nothing; `name` is the one that it was given by. */
static pd_status refuse(const pd_flag *flag, const char *name, const pd_origin *origin,
                        pd_error *err) {
  char source[PD__SOURCE_SIZE];
  pd__source_of(name, origin, source);
  if (pd__flag_def(flag)->read_only)
    return pd__fail(err, PD_ERR_READ_ONLY, "%s: is read-only", source);
  if (flag->frozen) return pd__fail(err, PD_ERR_FROZEN, "%s: is frozen", source);
  if (pd__flag_def(flag)->retired && origin->source >= PD_SOURCE_RUNTIME) {
    return pd__fail(err, PD_ERR_READ_ONLY, "%s: is retired: %s", source,
                    pd__flag_def(flag)->retired);
  }
  return pd__fail(err, PD_ERR_FROZEN,
                  "%s: can be set at startup only, and the command line has been parsed", source);
}

static bool is_open(const pd_flag *flag, const pd_origin *origin, bool early) {
  const pd_flag_def *def = pd__flag_def(flag);
  return !def->read_only && !flag->frozen && (!def->startup_only || !pd__startup_over || early) &&
         (!flag->special || !def->retired || origin->source < PD_SOURCE_RUNTIME);
}

pd_status pd__flag_check_open(const pd_flag *flag, const pd_origin *origin, pd_error *err) {
  pd_status status = pd__flag_check_defined(flag, err);
  if (status != PD_OK || is_open(flag, origin, false)) return status;
  return refuse(flag, pd__flag_def(flag)->name, origin, err);
}

pd_status pd__flag_check_type(const pd_flag *flag, pd_type type, pd_error *err) {
  pd_status status = pd__flag_check_defined(flag, err);
  if (status != PD_OK || flag->type == type) return status;
  return pd__fail(err, PD_ERR_TYPE, "%s: is %s, not %s", pd__flag_def(flag)->name,
                  pd_type_name(flag->type), pd_type_name(type));
}

/* What a message shows of a value. */
static const char *shown(const pd_flag *flag, const char *text, char quoted[PD__QUOTE_SIZE]) {
  return pd__flag_def(flag)->sensitive ? PD__REDACTED : pd__quote(quoted, text);
}

static pd_status fail_value(pd_status status, const pd_flag *flag, const char *name,
                            const char *text, const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE], why[256];
  pd__source_of(name, origin, source);
  pd__value_complaint(pd__flag_def(flag), text, why, sizeof why);
  return pd__fail(err, status, "%s=%s: %s", source, shown(flag, text, quoted), why);
}

pd_status pd__literal_check(pd_flag *node, const char *text, uint32_t literal,
                            const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  const pd_flag *flag = pd__flag_meant(node);
  const char *why = pd__literal_complaint(pd__flag_def(flag), literal);
  if (!why) return PD_OK;
  return pd__fail(err, PD_ERR_TYPE, "%s=%s: %s", pd__source_of(node->name, origin, source),
                  shown(flag, text, quoted), why);
}

/* Make the entry that will hold the value, which suits. */
static pd_status make_entry(pd__change *change, pd_value value, const pd_origin *origin,
                            pd_error *err) {
  bool text = change->flag->type == PD_TYPE_string;
  const char *place = origin->place;
  if (text && !(value.str = pd__intern(value.str))) return pd__fail_memory(err);
  if (place && !(place = pd__intern(place))) return pd__fail_memory(err);
  pd__entry *entry = pd__entry_new();
  if (!entry) return pd__fail_memory(err);
  *entry = (pd__entry){.value = value,
                       .place = place,
                       .line = origin->line,
                       .column = origin->column,
                       .source = origin->source};
  change->what.entry = entry;
  return PD_OK;
}

/* PD_OK, or why the flag takes nothing from there. */
static pd_status admit(const pd__change *change, const pd_flag *node, const pd_origin *origin,
                       bool early, pd_error *err) {
  pd_flag *flag = change->flag;
  pd_status status = pd__flag_check_defined(flag, err);
  if (status != PD_OK) return status;
  if (!is_open(flag, origin, early)) return refuse(flag, node->name, origin, err);
  if (flag->special && (pd__flag_def(flag)->retired || pd__flag_def(flag)->deprecated))
    pd__warn_of_flag(flag, origin);
  return PD_OK;
}

/* What an API of another type may say. */
static bool is_of(pd_type type, pd_value value) {
  if (type == PD_TYPE_int32) return value.i64 >= INT32_MIN && value.i64 <= INT32_MAX;
  return type != PD_TYPE_uint32 || value.u64 <= UINT32_MAX;
}

static pd_status read_value(const pd_flag *flag, const char *text, pd_value *value) {
  if (!flag->plain) {
    pd_status status = text ? pd__value_read(pd__flag_def(flag), text, value) : PD_OK;
    return status == PD_OK ? pd__value_check(pd__flag_def(flag), *value) : status;
  }
  if (text) return pd__value_parse(flag->type, text, value);
  return is_of(flag->type, *value) ? PD_OK : PD_ERR_RANGE;
}

pd_status pd__change_prepare(pd__change *change, pd_flag *node, const char *text, pd_value value,
                             const pd_origin *origin, bool early, pd_error *err) {
  pd_flag *flag = node->defined ? node : pd__flag_meant(node);
  *change = (pd__change){.flag = flag};
  if (!pd__flag_plain(flag)) {
    pd_status status = admit(change, node, origin, early, err);
    if (status != PD_OK || pd__flag_def(flag)->retired) return status;
  }
  if (flag->type == PD_TYPE_string && !text && !value.str) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: the value is NULL, expected text", flag->name);
  }
  pd_status status = read_value(flag, text, &value);
  if (status == PD_OK) return make_entry(change, value, origin, err);
  char number[PD__NUMBER_SIZE];
  if (!text) text = pd__value_text(flag->type, value, number);
  return fail_value(status, flag, node->name, text, origin, err);
}

pd_value pd__def_default(const pd_flag_def *def) {
  pd_value value = def->default_value;
  if (def->type == PD_TYPE_string) value.str = pd__intern(value.str);
  return value;
}

pd_value pd__flag_default(const pd_flag *flag) {
  const pd__entry *given = pd__flag_entry_of(flag, PD_SOURCE_DEFAULT);
  return given ? given->value : pd__def_default(pd__flag_def(flag));
}

const pd__entry *pd__flag_entry_of(const pd_flag *flag, pd_source source) {
  const pd__entry *entry = flag->entries;
  while (entry && entry->source != source) entry = entry->next;
  return entry;
}

bool pd__flag_has(const pd_flag *flag, pd_source source, const char *text) {
  const pd__entry *entry = pd__flag_entry_of(flag, source);
  pd_value value;
  return entry && pd__value_read(pd__flag_def(flag), text, &value) == PD_OK &&
         pd__value_equal(flag->type, entry->value, value);
}

void pd__flag_publish(pd_flag *flag) {
  pd_value value = flag->entries ? flag->entries->value : pd__def_default(pd__flag_def(flag));
  pd__cell_store(flag->type, pd__flag_address(flag, flag->type), value);
  uint8_t state = (uint8_t)(flag->type | pd__flag_def(flag)->list << 4);
  state |= flag->assignable ? PD__STATE_ASSIGNABLE : 0;
  __atomic_store_n(&flag->state, state, __ATOMIC_RELEASE);
  for (pd__cell *cell = pd__flag_first_cell(flag); cell; cell = cell->next) {
    if (cell->def->cell && cell->def->type == flag->type) pd__variable_store(cell->def, value);
  }
}

/* The same of a plain flag that has an entry: its state is what it was. */
static void publish_plain(pd_flag *flag) {
  pd_value value = flag->entries->value;
  pd__cell_store(flag->type, pd__flag_address(flag, flag->type), value);
  if (flag->variable) pd__cell_store(flag->type, flag->variable, value);
}

/* ---- Committing ---- */

void pd__change_commit(pd__change *change) {
  if (change->action != PD__GIVE) {
    pd__entries_drop(change);
  } else if (change->what.entry) {
    pd__entries_give(change->flag, change->what.entry);
  }
  if (change->flag->plain && change->flag->entries) {
    publish_plain(change->flag);
  } else if (change->flag->defined) {
    pd__flag_publish(change->flag);
  }
}

/* ---- What modules assign ---- */

static uint32_t assignables; /* variables that there have been */

void pd__flag_make_assignable(pd_flag *flag) {
  flag->assignable = true;
  assignables++;
}

/* The variable that has another value than the flag; NULL: none. */
static const pd__cell *find_assigned(const pd_flag *flag, pd_value *value) {
  for (const pd__cell *cell = pd__flag_first_cell(flag); cell; cell = cell->next) {
    const pd_flag_def *def = cell->def;
    if (!def->assignable || !def->cell || def->type != flag->type) continue;
    *value = pd__variable_load(def);
    if (!pd__value_equal(flag->type, *value, pd__flag_value(flag))) return cell;
  }
  return NULL;
}

/* For want of memory nothing is done: the next call will do it. */
void pd__flag_adopt(pd_flag *flag) {
  pd_value value;
  const pd__cell *cell = pd__flag_def(flag) ? find_assigned(flag, &value) : NULL;
  if (!cell) return;
  const pd_module *module = pd__cell_module(cell);
  pd_origin origin = {PD_SOURCE_RUNTIME, 0, module ? pd__module_path(module) : NULL, 0};
  pd__change change = {.flag = flag};
  pd__report report = {.list = NULL};
  if (make_entry(&change, value, &origin, NULL) != PD_OK) return;
  pd__changes all = {.report = &report, .forced = true, .count = 1, .single = change};
  all.hooked = pd__hooks_concern(flag);
  pd__changes_finish(&all);
}

void pd__adopt_all(void) {
  pd_flag *flag;
  for (uint32_t i = 0; assignables && (flag = pd__names_at(i)); i++) {
    if (flag->assignable) pd__flag_adopt(flag);
  }
}

void pd__flag_drop_source(pd_flag *flag, pd_source source) {
  pd__change change = {.flag = flag, .action = PD__DROP_SOURCE, .source = (uint8_t)source};
  pd__change_commit(&change);
}

/* ---- Values that a former definition left ---- */

/* Bring an entry of type `was` to the flag's type, through text where they
 * differ. */
static pd_status convert(pd_flag *flag, pd_type was, pd__entry *entry) {
  if (was == flag->type) return pd__value_check(pd__flag_def(flag), entry->value);
  char number[PD__NUMBER_SIZE];
  const char *text = pd__value_text(was, entry->value, number);
  pd_value value;
  pd_status status = pd__value_read(pd__flag_def(flag), text, &value);
  if (status == PD_OK) status = pd__value_check(pd__flag_def(flag), value);
  if (status != PD_OK) return status;
  if (flag->type == PD_TYPE_string) value.str = pd__intern(value.str);
  if (flag->type == PD_TYPE_string && !value.str) return PD_ERR_MEMORY;
  entry->value = value;
  return PD_OK;
}

static void fail_review(pd_status status, const pd_flag *flag, pd_type was, const pd__entry *entry,
                        pd__report *report) {
  char number[PD__NUMBER_SIZE], source[PD__SOURCE_SIZE];
  pd_error err;
  pd_origin origin = pd__entry_origin(entry);
  if (status == PD_ERR_READ_ONLY) {
    pd__fail(&err, status, "%s: is read-only", pd__source_of(flag->name, &origin, source));
  } else if (status == PD_ERR_MEMORY) {
    pd__fail_memory(&err);
  } else {
    const char *text = pd__value_text(was, entry->value, number);
    fail_value(status, flag, flag->name, text, &origin, &err);
  }
  pd__report_add(report, &err);
}

/* The same for the values that an entry has replaced; nobody is told of them. */
static void review_past(pd_flag *flag, pd_type was, pd__entry *entry) {
  pd__entry *newest = entry->past, *old = newest ? newest->next : NULL;
  entry->past = NULL;
  entry->replaces = 0;
  while (old) {
    pd__entry *newer = old == newest ? NULL : old->next;
    if (convert(flag, was, old) == PD_OK) {
      pd__entry_add_past(entry, old);
    } else {
      pd__entry_free(old);
    }
    old = newer;
  }
}

void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report) {
  for (pd__entry **at = &flag->entries; *at;) {
    pd__entry *entry = *at;
    pd_status status = pd__flag_def(flag)->read_only ? PD_ERR_READ_ONLY : convert(flag, was, entry);
    if (status == PD_OK) {
      review_past(flag, was, entry);
      at = &entry->next;
    } else {
      fail_review(status, flag, was, entry, report);
      *at = entry->next;
      pd__entry_free(entry);
    }
  }
}
