/* A change of one flag, in two steps: everything that can fail, then everything
 * that takes effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "registry.h"
#include "../base/text.h"

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

/* Store the texts of a value, which suits, and of where it came from for good. */
static pd_status keep_texts(const pd_flag *flag, pd_value *value, pd_origin *origin,
                            pd_error *err) {
  bool text = flag->type == PD_TYPE_string;
  if (text && !(value->str = pd__intern(value->str))) return pd__fail_memory(err);
  if (origin->place && !(origin->place = pd__intern(origin->place))) return pd__fail_memory(err);
  return PD_OK;
}

/* PD_OK, or why the flag takes nothing from there. */
static pd_status admit(pd_flag *flag, const pd_flag *node, const pd_origin *origin, bool early,
                       pd_error *err) {
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

static inline pd_status read_plain(const pd_flag *flag, const char *text, pd_value *value) {
  if (text) return pd__value_parse(flag->type, text, value);
  return is_of(flag->type, *value) ? PD_OK : PD_ERR_RANGE;
}

static pd_status read_value(const pd_flag *flag, const char *text, pd_value *value) {
  if (!flag->not_plain) return read_plain(flag, text, value);
  pd_status status = text ? pd__value_read(pd__flag_def(flag), text, value) : PD_OK;
  return status == PD_OK ? pd__value_check(pd__flag_def(flag), *value) : status;
}

/* Read what the flag is to be given, `text` or else *value, and store it for good, with
 * where it came from. */
static pd_status read_given(const pd_flag *flag, const pd_flag *node, const char *text,
                            pd_value *value, pd_origin *origin, pd_error *err) {
  if (flag->type == PD_TYPE_string && !text && !value->str) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: the value is NULL, expected text", flag->name);
  }
  pd_status status = read_value(flag, text, value);
  if (status == PD_OK) return keep_texts(flag, value, origin, err);
  char number[PD__NUMBER_SIZE];
  if (!text) text = pd__value_text(flag->type, *value, number);
  return fail_value(status, flag, node->name, text, origin, err);
}

/* An entry, and one for the value of now if that is brief, or may be by then. */
static pd_status hold_entry(pd__change *change, pd_value value, const pd_origin *origin, bool spare,
                            pd_error *err) {
  pd__entry *entry = pd__entry_new(value, origin);
  change->action = PD__GIVE;
  change->what.entry = entry;
  if (entry && spare) entry->next = pd__entry_new(value, origin);
  if (entry && (entry->next || !spare)) return PD_OK;
  pd__change_drop(change);
  return pd__fail_memory(err);
}

/* Whether a flag needs no entry for a value of this origin. */
static inline bool is_brief(const pd_flag *flag, uintptr_t brief) {
  return !PD__LACKS_SHORTCUTS && pd__flag_plain(flag) && !flag->changing &&
         (!flag->given.brief || flag->given.brief == brief);
}

static void hold_brief(pd__change *change, pd_flag *flag, pd_value value, uintptr_t brief) {
  change->flag = flag;
  change->what.value = value;
  change->number = (uint32_t)(brief >> 5);
  change->action = PD__GIVE_BRIEF;
  change->source = brief >> 1 & 15;
}

/* Keep the value, which suits, for the commit. */
static pd_status hold(pd__change *change, pd_value value, const pd_origin *origin, pd_error *err) {
  pd_flag *flag = change->flag;
  uintptr_t brief = pd__brief(origin->source, origin->line);
  if (!pd__brief_fits(origin) || !is_brief(flag, brief)) {
    bool spare = !PD__LACKS_SHORTCUTS && (flag->changing || pd__flag_brief(flag));
    return hold_entry(change, value, origin, spare, err);
  }
  hold_brief(change, flag, value, brief);
  return PD_OK;
}

pd_status pd__change_open(pd__change *change, pd_error *err) {
  if (PD__LACKS_SHORTCUTS || change->action != PD__GIVE_BRIEF) return PD_OK;
  pd_origin origin = {(pd_source)change->source, change->number, NULL, 0};
  return hold_entry(change, change->what.value, &origin, false, err);
}

PD__ASIDE pd_status prepare(pd__change *change, pd_flag *node, const char *text, pd_value value,
                            const pd_origin *origin, bool early, pd_error *err) {
  pd_flag *flag = node->defined ? node : pd__flag_meant(node);
  pd_origin kept = *origin;
  *change = (pd__change){.flag = flag};
  if (!pd__flag_plain(flag)) {
    pd_status status = admit(flag, node, origin, early, err);
    if (status != PD_OK || pd__flag_def(flag)->retired) return status;
  }
  pd_status status = read_given(flag, node, text, &value, &kept, err);
  return status == PD_OK ? hold(change, value, &kept, err) : status;
}

/* Most changes are of plain flags, need no entry, and tell no error. */
pd_status pd__change_prepare(pd__change *change, pd_flag *node, const char *text, pd_value value,
                             const pd_origin *origin, bool early, pd_error *err) {
  uintptr_t brief = pd__brief(origin->source, origin->line);
  pd_value given = value;
  if (is_brief(node, brief) && node->type != PD_TYPE_string && pd__brief_fits(origin) &&
      read_plain(node, text, &given) == PD_OK) {
    hold_brief(change, node, given, brief);
    return PD_OK;
  }
  return prepare(change, node, text, value, origin, early, err);
}

pd_value pd__def_default(const pd_flag_def *def) {
  pd_value value = def->default_value;
  if (def->type == PD_TYPE_string) value.str = pd__intern(value.str);
  return value;
}

pd_value pd__flag_default(const pd_flag *flag) {
  const pd__entry *given = pd__flag_entry_of(flag, PD_SOURCE_DEFAULT, NULL); /* never brief */
  return given ? given->value : pd__def_default(pd__flag_def(flag));
}

bool pd__flag_has(const pd_flag *flag, pd_source source, const char *text) {
  pd__entry room;
  const pd__entry *entry = pd__flag_entry_of(flag, source, &room);
  pd_value value;
  return entry && pd__value_read(pd__flag_def(flag), text, &value) == PD_OK &&
         pd__value_equal(flag->type, entry->value, value);
}

void pd__flag_publish(pd_flag *flag) {
  const pd__entry *entry = pd__flag_entries(flag);
  pd_value value = entry ? entry->value : pd__def_default(pd__flag_def(flag));
  if (pd__flag_brief(flag)) value = pd__flag_value(flag);
  pd__cell_store(flag->type, pd__flag_address(flag, flag->type), value);
  uint8_t state = (uint8_t)(flag->type | pd__flag_def(flag)->list << 4);
  state |= flag->assignable ? PD__STATE_ASSIGNABLE : 0;
  __atomic_store_n(&flag->state, state, __ATOMIC_RELEASE);
  for (pd__cell *cell = pd__flag_first_cell(flag); cell; cell = cell->next) {
    if (cell->def->cell && cell->def->type == flag->type) pd__variable_store(cell->def, value);
  }
}

/* The same of a plain flag that has a value: its state is what it was. */
static void publish_plain(pd_flag *flag, pd_value value) {
  pd__cells_store(flag->type, pd__flag_address(flag, flag->type), flag->variable, value);
}

/* ---- Committing ---- */

void pd__change_drop(pd__change *change) {
  pd__entry *entry = pd__change_entry(change);
  if (!PD__LACKS_SHORTCUTS) change->flag->changing = false;
  if (!entry) return;
  pd__entry_free(entry->next);
  pd__entry_free(entry);
  change->what.entry = NULL;
}

static void commit_entries(const pd__change *change) {
  pd_flag *flag = change->flag;
  if (change->action != PD__GIVE) {
    pd__entries_drop(change);
  } else if (change->what.entry) {
    pd__entries_give(flag, change->what.entry);
  }
  const pd__entry *entry = pd__flag_entries(flag);
  if (!flag->not_plain && entry) {
    publish_plain(flag, entry->value);
  } else if (flag->defined) {
    pd__flag_publish(flag);
  }
}

void pd__change_commit(pd__change *change) {
  pd_flag *flag = change->flag;
  if (!PD__LACKS_SHORTCUTS) flag->changing = false;
  if (!PD__LACKS_SHORTCUTS && change->action == PD__GIVE_BRIEF) {
    flag->given.brief = pd__brief((pd_source)change->source, change->number);
    publish_plain(flag, change->what.value);
  } else {
    commit_entries(change);
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
  pd__report report = {.list = NULL};
  pd__change change = {.flag = flag};
  if (keep_texts(flag, &value, &origin, NULL) != PD_OK) return;
  if (hold_entry(&change, value, &origin, false, NULL) != PD_OK) return;
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
  for (pd__entry **at = &flag->given.entries; *at;) {
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
