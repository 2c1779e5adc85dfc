/* Giving a value to a flag, in two steps: everything that can fail, then
 * everything that takes effect. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "registry.h"
#include "text.h"

bool pd__startup_over;

const pd_origin pd__at_run_time = {PD_SOURCE_RUNTIME, 0, NULL, 0};

void *pd__flag_address(const pd_flag *flag) {
  pd_flag *node = (pd_flag *)flag;
  if (flag->type == PD_TYPE_string) return &node->text;
  return flag->type == PD_TYPE_bool ? (void *)&node->truth : &node->number;
}

pd_value pd__flag_value(const pd_flag *flag) {
  return pd__cell_load(flag->type, pd__flag_address(flag));
}

pd_status pd__flag_check_defined(const pd_flag *flag, pd_error *err) {
  if (flag->def) return PD_OK;
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

pd_status pd__flag_check_open(const pd_flag *flag, const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE];
  pd_status status = pd__flag_check_defined(flag, err);
  if (status != PD_OK) return status;
  if (flag->def->read_only) {
    return pd__fail(err, PD_ERR_READ_ONLY, "%s: is read-only",
                    pd__source_of(flag->name, origin, source));
  }
  if (flag->frozen) {
    return pd__fail(err, PD_ERR_FROZEN, "%s: is frozen", pd__source_of(flag->name, origin, source));
  }
  if (flag->def->startup_only && pd__startup_over) {
    return pd__fail(err, PD_ERR_FROZEN,
                    "%s: can be set at startup only, and the command line has been parsed",
                    pd__source_of(flag->name, origin, source));
  }
  return PD_OK;
}

pd_status pd__flag_check_type(const pd_flag *flag, pd_type type, pd_error *err) {
  pd_status status = pd__flag_check_defined(flag, err);
  if (status != PD_OK || flag->type == type) return status;
  return pd__fail(err, PD_ERR_TYPE, "%s: is %s, not %s", flag->name, pd_type_name(flag->type),
                  pd_type_name(type));
}

static pd_status fail_value(pd_status status, const pd_flag *flag, const char *text,
                            const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE], why[256];
  pd__source_of(flag->name, origin, source);
  pd__value_complaint(flag->def, text, why, sizeof why);
  return pd__fail(err, status, "%s=%s: %s", source, pd__quote(quoted, text), why);
}

/* An open flag takes `value` (or `text`): make the entry that will hold it. */
static pd_status prepare(pd__change *change, pd_flag *flag, const char *text, pd_value value,
                         const pd_origin *origin, pd_error *err) {
  pd_type type = flag->def->type;
  char number[PD__NUMBER_SIZE];
  if (type == PD_TYPE_string && !text && !value.str) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%s: the value is NULL, expected text", flag->name);
  }
  pd_status status = text ? pd__value_read(flag->def, text, &value) : PD_OK;
  if (status == PD_OK) status = pd__value_check(flag->def, value);
  if (status != PD_OK) {
    if (!text) text = pd__value_text(type, value, number);
    return fail_value(status, flag, text, origin, err);
  }
  if (type == PD_TYPE_string) value.str = pd__intern(value.str);
  pd_origin kept = {origin->source, origin->line, pd__intern(origin->place), origin->column};
  pd__entry *entry = malloc(sizeof *entry);
  if (!entry || (type == PD_TYPE_string && !value.str) || (origin->place && !kept.place)) {
    free(entry);
    return pd__fail_memory(err);
  }
  *entry = (pd__entry){.value = value, .origin = kept};
  *change = (pd__change){.flag = flag, .entry = entry};
  return PD_OK;
}

pd_status pd__change_prepare(pd__change *change, pd_flag *flag, const char *text, pd_value value,
                             const pd_origin *origin, pd_error *err) {
  pd_status status = pd__flag_check_open(flag, origin, err);
  return status == PD_OK ? prepare(change, flag, text, value, origin, err) : status;
}

pd_status pd__change_prepare_early(pd__change *change, pd_flag *flag, const char *text,
                                   const pd_origin *origin, pd_error *err) {
  char source[PD__SOURCE_SIZE];
  if (flag->def->read_only) {
    return pd__fail(err, PD_ERR_READ_ONLY, "%s: is read-only",
                    pd__source_of(flag->name, origin, source));
  }
  if (flag->frozen) {
    return pd__fail(err, PD_ERR_FROZEN, "%s: is frozen", pd__source_of(flag->name, origin, source));
  }
  return prepare(change, flag, text, (pd_value){0}, origin, err);
}

pd_value pd__def_default(const pd_flag_def *def) {
  pd_value value = def->default_value;
  if (def->type == PD_TYPE_string) value.str = pd__intern(value.str);
  return value;
}

static const pd__entry *entry_of(const pd_flag *flag, pd_source source) {
  const pd__entry *entry = flag->entries;
  while (entry && entry->origin.source != source) entry = entry->next;
  return entry;
}

bool pd__flag_has(const pd_flag *flag, pd_source source, const char *text) {
  const pd__entry *entry = entry_of(flag, source);
  pd_value value;
  return entry && pd__value_read(flag->def, text, &value) == PD_OK &&
         pd__value_equal(flag->type, entry->value, value);
}

void pd__flag_publish(pd_flag *flag) {
  pd_value value = flag->entries ? flag->entries->value : pd__def_default(flag->def);
  pd__cell_store(flag->type, pd__flag_address(flag), value);
  uint8_t state = (uint8_t)(flag->type | flag->def->list << 4);
  __atomic_store_n(&flag->state, state, __ATOMIC_RELEASE);
  for (pd__cell *cell = flag->cells; cell; cell = cell->next) {
    if (cell->def->cell && cell->def->type == flag->type) {
      pd__cell_store(flag->type, cell->def->cell, value);
    }
  }
}

/* Link `entry` below the entries of higher rank, in the place of the one with
 * its own source; layers stack up instead. */
static void link_entry(pd_flag *flag, pd__entry *entry) {
  pd__entry **at = &flag->entries;
  while (*at && (*at)->origin.source > entry->origin.source) at = &(*at)->next;
  pd__entry *old = *at;
  if (old && old->origin.source == entry->origin.source && !entry->layer) {
    entry->next = old->next;
    free(old);
  } else {
    entry->next = old;
  }
  *at = entry;
}

void pd__change_commit(pd__change *change, pd_layer layer) {
  pd_flag *flag = change->flag;
  if (!change->entry) {
    pd__flag_drop_source(flag, change->dropped);
    return;
  }
  pd__entry *entry = change->entry;
  pd__entry *top = flag->entries;
  if (!layer && entry->origin.source == PD_SOURCE_RUNTIME && top && top->layer) {
    top->value = entry->value;
    top->origin.place = entry->origin.place;
    top->origin.line = entry->origin.line;
    free(entry);
  } else {
    entry->layer = layer;
    if (layer) entry->origin.source = PD_SOURCE_LAYER;
    link_entry(flag, entry);
  }
  pd__flag_publish(flag);
}

static bool make_room(pd__changes *changes) {
  if (changes->count < changes->capacity) return true;
  size_t capacity = changes->capacity ? 2 * changes->capacity : 8;
  pd__change *items = realloc(changes->items, capacity * sizeof *items);
  if (!items) return false;
  changes->items = items;
  changes->capacity = capacity;
  return true;
}

void pd__changes_add(pd__changes *changes, pd_flag *flag, const char *text, pd_value value,
                     const pd_origin *origin, pd__report *report) {
  pd_error err;
  if (!make_room(changes)) {
    pd__fail_memory(&err);
    pd__report_add(report, &err);
    return;
  }
  pd__change *change = &changes->items[changes->count];
  if (pd__change_prepare(change, flag, text, value, origin, &err) == PD_OK) {
    changes->count++;
  } else {
    pd__report_add(report, &err);
  }
}

void pd__changes_drop(pd__changes *changes, pd_flag *flag, pd_source source, pd__report *report) {
  const pd__entry *entry = entry_of(flag, source);
  pd_error err;
  if (!entry) return;
  pd_status status = pd__flag_check_open(flag, &entry->origin, &err);
  if (status == PD_OK && !make_room(changes)) status = pd__fail_memory(&err);
  if (status == PD_OK) {
    changes->items[changes->count++] = (pd__change){.flag = flag, .dropped = source};
  } else {
    pd__report_add(report, &err);
  }
}

pd_status pd__changes_finish(pd__changes *changes, pd_layer layer, pd__report *report) {
  for (size_t i = 0; i < changes->count; i++) {
    if (report->status == PD_OK) {
      pd__change_commit(&changes->items[i], layer);
    } else {
      free(changes->items[i].entry);
    }
  }
  free(changes->items);
  *changes = (pd__changes){NULL, 0, 0};
  return report->status;
}

void pd__changes_tell(pd__changes *changes) { (void)changes; }

void pd__flag_drop_values(pd_flag *flag) {
  if (flag->entries && flag->entries->layer) {
    flag->entries->value = pd__def_default(flag->def);
    flag->entries->origin.place = NULL;
    flag->entries->origin.line = 0;
  } else {
    while (flag->entries) {
      pd__entry *entry = flag->entries;
      flag->entries = entry->next;
      free(entry);
    }
  }
  pd__flag_publish(flag);
}

void pd__flag_drop_source(pd_flag *flag, pd_source source) {
  pd__entry **at = &flag->entries;
  while (*at && (*at)->origin.source != source) at = &(*at)->next;
  pd__entry *dropped = *at;
  if (!dropped) return;
  *at = dropped->next;
  free(dropped);
  if (flag->def) pd__flag_publish(flag);
}

void pd__flag_pop(pd_flag *flag, pd_layer layer) {
  for (pd__entry **at = &flag->entries; *at;) {
    pd__entry *entry = *at;
    if (entry->layer == layer) {
      *at = entry->next;
      free(entry);
    } else {
      at = &entry->next;
    }
  }
  if (flag->def) pd__flag_publish(flag);
}

/* Bring an entry of type `was` to the flag's type, through text where they
 * differ. */
static pd_status convert(pd_flag *flag, pd_type was, pd__entry *entry) {
  if (was == flag->type) return pd__value_check(flag->def, entry->value);
  char number[PD__NUMBER_SIZE];
  const char *text = pd__value_text(was, entry->value, number);
  pd_value value;
  pd_status status = pd__value_read(flag->def, text, &value);
  if (status == PD_OK) status = pd__value_check(flag->def, value);
  if (status != PD_OK) return status;
  if (flag->type == PD_TYPE_string) value.str = pd__intern(value.str);
  if (flag->type == PD_TYPE_string && !value.str) return PD_ERR_MEMORY;
  entry->value = value;
  return PD_OK;
}

void pd__flag_review(pd_flag *flag, pd_type was, pd__report *report) {
  for (pd__entry **at = &flag->entries; *at;) {
    pd__entry *entry = *at;
    pd_status status = flag->def->read_only ? PD_ERR_READ_ONLY : convert(flag, was, entry);
    if (status == PD_OK) {
      at = &entry->next;
      continue;
    }
    char number[PD__NUMBER_SIZE], source[PD__SOURCE_SIZE];
    const char *text = pd__value_text(was, entry->value, number);
    pd_error err;
    if (status == PD_ERR_READ_ONLY) {
      pd__fail(&err, status, "%s: is read-only", pd__source_of(flag->name, &entry->origin, source));
    } else if (status == PD_ERR_MEMORY) {
      pd__fail_memory(&err);
    } else {
      fail_value(status, flag, text, &entry->origin, &err);
    }
    pd__report_add(report, &err);
    *at = entry->next;
    free(entry);
  }
}
