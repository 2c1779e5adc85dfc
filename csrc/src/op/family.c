/* The names of operations, and their signatures: how they are found, and which are due. */
#include <stdio.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/numbered.h"
#include "../base/table.h"
#include "../base/text.h"
#include "op.h"

/* Nothing is ever removed from these, so row and number correspond. */
static pd__numbered families, ops;
static pd__table by_name;  /* families */
static pd__table by_flag;  /* families with members, by the name of the flag */
static pd__table by_types; /* operations; of those that differ only in the text, the first */
static pd__table by_text;  /* operations */
static pd__family *first_due, *last_due;

static pd__family *get_family(uint32_t item) { return families.rows[item - 1].item; }
static pd__op *get_op(uint32_t item) { return ops.rows[item - 1].item; }

/* ---- Families by name ---- */

/* A name that needn't end with a NUL. */
typedef struct name_key {
  const char *name;
  size_t length;
  const pd__family *except;
} name_key;

static bool has_family_name(uint32_t item, const void *key) {
  const name_key *wanted = key;
  const char *name = get_family(item)->name;
  return !strncmp(name, wanted->name, wanted->length) && !name[wanted->length];
}

pd__family *pd__family_next(const pd__family *previous) {
  uint32_t next = previous ? previous->number + 1 : 1;
  return next <= families.count ? get_family(next) : NULL;
}

pd__family *pd__family_find(const char *name, size_t length) {
  name_key wanted = {name, length, NULL};
  uint32_t item = pd__table_find(&by_name, pd__hash_text(name, length), has_family_name, &wanted);
  return item ? get_family(item) : NULL;
}

static pd__family *make_family(const char *name) {
  char flag[PD_NAME_MAX + 1], help[PD_NAME_MAX + 100];
  pd__family *family = pd__alloc_forever(sizeof *family);
  if (!family) return NULL;
  snprintf(flag, sizeof flag, "impl.%s", name);
  snprintf(help, sizeof help, "which implementation of %s runs, in order of preference", name);
  *family = (pd__family){.name = pd__intern_text(name),
                         .def = {.size = sizeof family->def,
                                 .type = PD_TYPE_string,
                                 .list = PD_TYPE_string,
                                 .name = pd__intern_text(flag),
                                 .help = pd__intern_text(help),
                                 .category = "implementations",
                                 .default_value = {.str = "*"},
                                 .context = family}};
  return family->name && family->def.name && family->def.help ? family : NULL;
}

pd__family *pd__family_find_or_add(const char *name) {
  size_t length = strlen(name);
  pd__family *family = pd__family_find(name, length);
  if (family) return family;
  family = pd__table_reserve(&by_name, 1) ? make_family(name) : NULL;
  if (family) family->number = (uint32_t)pd__numbered_add(&families, family);
  if (!family || !family->number) return NULL;
  pd__table_add(&by_name, pd__hash_text(name, length), family->number);
  return family;
}

/* ---- Families by the name of their flag ---- */

static uint32_t hash_flag_name(const char *name, size_t length) {
  char folded[PD_NAME_MAX + 1];
  for (size_t i = 0; i < length; i++) folded[i] = pd__normalize_dash(name[i]);
  return pd__hash_text(folded, length);
}

static bool has_flag_name(uint32_t item, const void *key) {
  const name_key *wanted = key;
  const char *own = get_family(item)->def.name;
  if (get_family(item) == wanted->except) return false;
  for (size_t i = 0; i < wanted->length; i++) {
    if (pd__normalize_dash(own[i]) != pd__normalize_dash(wanted->name[i])) return false;
  }
  return !own[wanted->length];
}

const pd__family *pd__family_find_by_flag_name(const char *name, size_t length,
                                               const pd__family *except) {
  name_key wanted = {name, length, except};
  if (length > PD_NAME_MAX) return NULL;
  uint32_t item = pd__table_find(&by_flag, hash_flag_name(name, length), has_flag_name, &wanted);
  return item ? get_family(item) : NULL;
}

bool pd__family_reserve_member(void) { return pd__table_reserve(&by_flag, 1); }

void pd__family_adjust_member_count(pd__family *family, int change) {
  uint32_t hash = hash_flag_name(family->def.name, strlen(family->def.name));
  bool had = family->members > 0;
  family->members += (size_t)change;
  bool has = family->members > 0;
  if (has && !had) pd__table_add(&by_flag, hash, family->number);
  if (had && !has) pd__table_remove(&by_flag, hash, family->number);
}

/* ---- Operations by their signature ---- */

typedef struct op_key {
  const pd__family *family;
  const uint8_t *types;
  const pd_op_signature *signature;
} op_key;

static bool has_op_types(uint32_t item, const void *key) {
  const op_key *wanted = key;
  const pd__op *op = get_op(item);
  return op->family == wanted->family &&
         !strcmp((const char *)op->types, (const char *)wanted->types);
}

static bool op_matches_signature(uint32_t item, const void *key) {
  const op_key *wanted = key;
  const pd__op *op = get_op(item);
  return op->family == wanted->family && pd__signature_is_same(op, wanted->signature);
}

pd__op *pd__op_find_by_types(const pd__family *family, const uint8_t *types) {
  op_key wanted = {family, types, NULL};
  uint32_t hash = pd__signature_hash_types(family->number, types);
  uint32_t item = pd__table_find(&by_types, hash, has_op_types, &wanted);
  return item ? get_op(item) : NULL;
}

static pd__op *make_op(pd__family *family, const pd_op_signature *of) {
  pd__op *op = pd__alloc_forever(sizeof *op);
  if (!op) return NULL;
  *op = (pd__op){.family = family, .text = pd__intern_text(of->text)};
  memcpy(op->types, of->types, sizeof op->types);
  return op->text ? op : NULL;
}

pd__op *pd__op_find_or_add(pd__family *family, const pd_op_signature *of) {
  op_key wanted = {family, NULL, of};
  uint32_t hash = pd__signature_hash(family->number, of);
  uint32_t item = pd__table_find(&by_text, hash, op_matches_signature, &wanted);
  if (item) return get_op(item);
  bool room = pd__table_reserve(&by_text, 1) && pd__table_reserve(&by_types, 1);
  pd__op *op = room ? make_op(family, of) : NULL;
  if (op) item = (uint32_t)pd__numbered_add(&ops, op);
  if (!item) return NULL;
  bool first = !pd__op_find_by_types(family, op->types);
  pd__table_add(&by_text, hash, item);
  if (first) pd__table_add(&by_types, pd__signature_hash_types(family->number, op->types), item);
  *(family->last_op ? &family->last_op->next : &family->ops) = op;
  return family->last_op = op;
}

/* ---- What is due ---- */

void pd__op_queue_as_changed(pd__op *op) {
  pd__family *family = op->family;
  if (!op->changed) {
    op->changed = true;
    op->next_changed = NULL;
    *(family->first_changed ? &family->last_changed->next_changed : &family->first_changed) = op;
    family->last_changed = op;
  }
  if (family->changed) return;
  family->changed = true;
  family->next_changed = NULL;
  *(first_due ? &last_due->next_changed : &first_due) = family;
  last_due = family;
}

pd__family *pd__family_pop_changed(void) {
  pd__family *family = first_due;
  if (!family) return NULL;
  first_due = family->next_changed;
  family->changed = false;
  return family;
}

pd__op *pd__op_pop_changed(pd__family *family) {
  pd__op *op = family->first_changed;
  if (!op) return NULL;
  family->first_changed = op->next_changed;
  op->changed = false;
  return op;
}
