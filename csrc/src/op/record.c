/* The records of operations and implementations: their checks, and how they are linked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/numbered.h"
#include "../base/sized.h"
#include "../base/text.h"
#include "op.h"

static pd__numbered candidates;

/* ---- One record by itself ---- */

const char *pd__impl_write_location(const pd_op_def *def, const pd_module *module,
                                    char out[PD__RECORD_LOCATION_SIZE]) {
  out[0] = '\0';
  if (def->file)
    pd__append_format(out, PD__RECORD_LOCATION_SIZE, "%s:%u", pd__path_tail(def->file, 160),
                      def->line);
  if (module)
    pd__append_format(out, PD__RECORD_LOCATION_SIZE, "%sin %s", *out ? " " : "",
                      pd__path_tail(pd__module_path(module), 160));
  return out;
}

static pd_status fail_record(const pd_op_def *def, pd_error *err, pd_status status,
                             const char *why) {
  char place[PD__RECORD_LOCATION_SIZE], quoted[PD__ESCAPED_SIZE];
  const char *name = def->signature && def->signature->name ? def->signature->name : "";
  return pd__fail(err, status, "%s: operation '%s': %s", pd__impl_write_location(def, NULL, place),
                  pd__escape_text(quoted, name), why);
}

static bool has_terminated_types(const pd_op_signature *of) {
  size_t count = 0;
  while (count < sizeof of->types && of->types[count]) count++;
  return count > 0 && count < sizeof of->types;
}

static pd_status check_arrays_syntax(const pd_op_def *def, pd_error *err) {
  const char *wrong = pd__arrays_find_error(def->about.arrays);
  char why[200], quoted[PD__ESCAPED_SIZE];
  if (!wrong) return PD_OK;
  snprintf(why, sizeof why, "the text of its arrays has %s, expected one such as f32[m,n]",
           pd__escape_text(quoted, wrong));
  return fail_record(def, err, PD_ERR_ARGUMENT, why);
}

/* What is behind the choice needn't be there. Later versions only add fields. */
#define SMALLEST_OP PD__SIZE_UP_TO(pd_op_def, choice)

pd_status pd__impl_convert(const pd_op_def *from, pd_op_def *to, pd_error *err) {
  return pd__record_check_and_copy(from, SMALLEST_OP, to, sizeof *to, "an operation's record", err);
}

pd_status pd__impl_check_record(const pd_op_def *def, pd_error *err) {
  const pd_op_signature *of = def->signature;
  if (def->kind < PD_KIND_OP || def->kind > PD_KIND_IMPL) {
    return fail_record(def, err, PD_ERR_ABI, "its kind is unknown, expected a pd_kind");
  }
  if (!of || !of->name || !pd__name_is_valid(of->name, strlen(of->name)) ||
      strlen(of->name) > PD_NAME_MAX - strlen("impl.")) {
    return fail_record(def, err, PD_ERR_NAME,
                       "expected a name of letters, digits, _ . - that begins with a letter or _");
  }
  if (!of->text || !has_terminated_types(of)) {
    return fail_record(def, err, PD_ERR_ARGUMENT,
                       "expected a signature of codes with a 0 at its end");
  }
  if (!def->name || !pd__name_is_valid(def->name, strlen(def->name))) {
    return fail_record(def, err, PD_ERR_NAME,
                       "expected an implementation whose name is one of letters, digits, _ . -");
  }
  return def->about.arrays ? check_arrays_syntax(def, err) : PD_OK;
}

pd_status pd__impl_check_native_record(const pd_op_def *def, pd_error *err) {
  const pd_op_signature *of = def->signature;
  if (!def->choice.function) return fail_record(def, err, PD_ERR_ARGUMENT, "the function is NULL");
  if (!def->slot && def->kind != PD_KIND_IMPL) {
    return fail_record(def, err, PD_ERR_ARGUMENT, "the slot is NULL");
  }
  if (strchr((const char *)of->types, PD_CODE_OBJECT)) {
    return fail_record(def, err, PD_ERR_ARGUMENT, "expected no objects of another language");
  }
  return PD_OK;
}

/* ---- Candidates by name ---- */

/* A hash table of all candidates, which finds one by its operation and its interned name. One line
 * that is compiled into many modules gives many of them: a bucket is a doubly linked list. */
static pd__impl **buckets;
static size_t bucket_count, bucket_used; /* the count is a power of 2 */

static pd__impl **find_bucket(const pd__op *op, const char *name) {
  uint64_t mixed = ((uintptr_t)op ^ (uintptr_t)name * 31) * UINT64_C(0x9E3779B97F4A7C15);
  return &buckets[(size_t)(mixed >> 32) & (bucket_count - 1)];
}

static void insert_in_bucket(pd__impl *impl, const pd__op *op) {
  pd__impl **bucket = find_bucket(op, impl->name);
  impl->previous_alike = NULL;
  impl->next_alike = *bucket;
  if (*bucket) (*bucket)->previous_alike = impl;
  *bucket = impl;
}

/* Makes room for one more. Returns false if memory is out. */
static bool reserve_bucket_room(void) {
  if (bucket_used < bucket_count) return true;
  size_t count = bucket_count ? 2 * bucket_count : 64;
  pd__impl **fresh = calloc(count, sizeof(pd__impl *));
  if (!fresh) return false;
  free(buckets);
  buckets = fresh;
  bucket_count = count;
  for (pd__family *family = NULL; (family = pd__family_next(family));) {
    for (pd__op *op = family->ops; op; op = op->next) {
      for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
        insert_in_bucket(each, op);
      }
    }
  }
  return true;
}

static void remove_from_bucket(const pd__impl *impl) {
  pd__impl *before = impl->previous_alike, *after = impl->next_alike;
  *(before ? &before->next_alike : find_bucket(impl->op, impl->name)) = after;
  if (after) after->previous_alike = before;
  bucket_used--;
}

pd__impl *pd__impl_find(uint64_t number) { return pd__numbered_find(&candidates, number); }

/* ---- Linking ---- */

/* A copy may have been compiled in another directory. */
static bool is_same_source_line(const pd__impl *a, const pd__impl *b) {
  return a->def->kind == b->def->kind && a->def->line == b->def->line && a->def->file &&
         b->def->file && !strcmp(pd__base_name(a->def->file), pd__base_name(b->def->file)) &&
         a->def->choice.rank == b->def->choice.rank;
}

/* The same line, compiled into several modules, is one candidate; any other one needs its own name.
 * So it is enough to look at one of those that are there. */
static pd_status check_unique_candidate_name(const pd__impl *fresh, const pd__op *op,
                                             pd_error *err) {
  char mine[PD__RECORD_LOCATION_SIZE], theirs[PD__RECORD_LOCATION_SIZE];
  const pd__impl *old = *find_bucket(op, fresh->name);
  while (old && (old->op != op || old->name != fresh->name)) old = old->next_alike;
  if (!old || is_same_source_line(old, fresh)) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "operation '%s', %s: implementation '%s' is already there, %s; refused: %s",
                  op->family->name, op->text, fresh->name,
                  pd__impl_write_location(old->def, old->module, theirs),
                  pd__impl_write_location(fresh->def, fresh->module, mine));
}

/* An import without a function only looks on: it doesn't keep the flag, nor say what it is like. */
static bool is_import_without_fallback(const pd__impl *impl) {
  return impl->def->kind == PD_KIND_OP_IMPORT && !impl->def->choice.function;
}

static void adjust_family_counts(const pd__impl *impl, int change) {
  pd__op *op = impl->op;
  pd__family *family = op->family;
  size_t definitions = impl->def->kind == PD_KIND_OP ? (size_t)change : 0;
  op->definitions += definitions;
  family->definitions += definitions;
  pd__op_queue_as_changed(op);
  if (is_import_without_fallback(impl)) return;
  pd__family_adjust_member_count(family, change);
  if (impl->def->slot) *(impl->def->scoped ? &family->scoped : &family->plain) += (size_t)change;
}

static void link_slot(pd__impl *impl) {
  pd__op *op = impl->op;
  impl->previous_slot = NULL;
  impl->next_slot = op->slots;
  if (op->slots) op->slots->previous_slot = impl;
  op->slots = impl;
}

static pd_status link_candidate(pd__impl *impl, pd__op *op, pd_error *err) {
  pd_status status =
      reserve_bucket_room() ? check_unique_candidate_name(impl, op, err) : pd__fail_memory(err);
  if (status != PD_OK) return status;
  impl->number = pd__numbered_add(&candidates, impl);
  if (!impl->number) return pd__fail_memory(err);
  insert_in_bucket(impl, op);
  bucket_used++;
  impl->previous_candidate = op->last_candidate;
  *(op->last_candidate ? &op->last_candidate->next_candidate : &op->candidates) = impl;
  op->last_candidate = impl;
  return PD_OK;
}

static pd_status link_impl(pd__impl *impl, pd_error *err) {
  const pd_op_def *def = impl->def;
  pd__family *family = pd__family_find_or_add(def->signature->name);
  pd__op *op = family ? pd__op_find_or_add(family, def->signature) : NULL;
  impl->name = pd__intern_text(def->name);
  if (!op || !impl->name || !pd__family_reserve_member()) return pd__fail_memory(err);
  if (def->kind != PD_KIND_OP_IMPORT) {
    pd_status status = link_candidate(impl, op, err);
    if (status != PD_OK) return status;
  }
  impl->op = op;
  if (def->slot) link_slot(impl);
  adjust_family_counts(impl, 1);
  return PD_OK;
}

void pd__family_append_signatures(const pd__family *family, char *out, size_t size) {
  char place[PD__RECORD_LOCATION_SIZE];
  unsigned count = 0;
  for (const pd__op *op = family->ops; op; op = op->next) {
    const pd__impl *one = op->candidates;
    if (op->definitions == 0) continue;
    while (one->def->kind != PD_KIND_OP) one = one->next_candidate;
    pd__append_format(out, size, "%s*%u: %s at %s", count ? ", " : "", count, op->text,
                      pd__impl_write_location(one->def, one->module, place));
    count++;
  }
}

/* An import or implementation of a signature that isn't defined, although others are. */
static pd_status check_signature_defined(const pd__impl *impl, pd_error *err) {
  char place[PD__RECORD_LOCATION_SIZE], found[700] = "";
  const pd__op *op = impl->op;
  if (op->definitions > 0 || op->family->definitions == 0 || is_import_without_fallback(impl))
    return PD_OK;
  pd__family_append_signatures(op->family, found, sizeof found);
  return pd__fail(err, PD_ERR_TYPE, "operation '%s' has no signature %s, which %s needs; it has %s",
                  op->family->name, op->text,
                  pd__impl_write_location(impl->def, impl->module, place), found);
}

/* The choice of a thread is for all modules that call the operation, or for none. */
static pd_status check_same_scoping(const pd__impl *impl, pd_error *err) {
  char place[PD__RECORD_LOCATION_SIZE];
  const pd__family *family = impl->op->family;
  if (family->scoped == 0 || family->plain == 0) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT, "operation '%s': %s, %s", family->name,
                  pd__impl_write_location(impl->def, impl->module, place),
                  impl->def->scoped ? "PD_DEFINE_OP or PD_IMPORT_OP expected, as elsewhere"
                                    : "PD_DEFINE_SCOPED_OP or PD_IMPORT_SCOPED_OP expected: the "
                                      "operation is scoped elsewhere");
}

/* The name of the flag must be free: another definition would say what it means. */
static pd_status check_family_flag_available(const pd__impl *impl, pd_error *err) {
  const pd__family *family = impl->op->family;
  pd_flag *node = pd__names_find(family->def.name, strlen(family->def.name));
  bool free =
      !node || node == pd__cell_flag(&family->cell) || !pd__flag_def(pd__resolve_alias(node));
  if (!free) {
    return pd__fail(err, PD_ERR_CONFLICT,
                    "operation '%s' needs the flag '%s', which is already defined otherwise",
                    family->name, family->def.name);
  }
  const pd__cell *cell = node ? pd__flag_get_first_cell(node) : NULL;
  while (cell && cell->def->type == PD_TYPE_string) cell = cell->next;
  if (!cell) return PD_OK;
  return pd__fail(err, PD_ERR_TYPE,
                  "operation '%s' needs the flag '%s', a string, which is imported as %s",
                  family->name, family->def.name, pd_type_name((pd_type)cell->def->type));
}

static pd_status check_flag_name_unique(const pd__impl *impl, pd_error *err) {
  char mine[PD__RECORD_LOCATION_SIZE];
  const pd__family *family = impl->op->family;
  const char *flag = family->def.name;
  const pd__family *other = pd__family_find_by_flag_name(flag, strlen(flag), family);
  if (!other) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "operation '%s', %s: operation '%s' is already there, and both would have the "
                  "flag '%s'",
                  family->name, pd__impl_write_location(impl->def, impl->module, mine), other->name,
                  flag);
}

static pd_status check_not_op_flag_name(const pd__naming *of, pd_error *err) {
  const pd__family *family = pd__family_find_by_flag_name(of->name, of->length, NULL);
  if (!family || (of->def->kind == PD_KIND_IMPORT && of->def->type == PD_TYPE_string)) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "flag '%s', %s:%u: operation '%s' of the same module has a flag of that name",
                  of->def->name, of->def->file ? pd__path_tail(of->def->file, 160) : "",
                  of->def->line, family->name);
}

bool pd__impls_check_flag_collisions(const pd__cell *cells, size_t count, pd__report *report) {
  pd_error err;
  pd_status before = report->status;
  for (size_t i = 0; i < count; i++) {
    for (pd__naming at = {.def = cells[i].def}; pd__naming_next(&at);) {
      bool may = at.length > 5 && !memcmp(at.name, "impl.", 5);
      if (may && check_not_op_flag_name(&at, &err) != PD_OK) pd__report_add(report, &err);
    }
  }
  return report->status == before;
}

bool pd__impls_link(pd__impl *impls, size_t count, pd__report *report) {
  pd_error err;
  pd_status before = report->status;
  for (size_t i = 0; i < count; i++) {
    if (link_impl(&impls[i], &err) != PD_OK) pd__report_add(report, &err);
  }
  for (size_t i = 0; i < count; i++) {
    if (!impls[i].op) continue;
    pd_status status = check_signature_defined(&impls[i], &err);
    if (status == PD_OK) status = check_same_scoping(&impls[i], &err);
    if (status == PD_OK) status = check_family_flag_available(&impls[i], &err);
    if (status == PD_OK) status = check_flag_name_unique(&impls[i], &err);
    if (status != PD_OK) pd__report_add(report, &err);
  }
  if (report->status == before) return true;
  pd__impls_unlink(impls, count);
  return false;
}

bool pd__impls_check_flags_defined(const pd__impl *impls, size_t count, pd__report *report) {
  pd_error err;
  for (size_t i = 0; i < count; i++) {
    const pd__op *op = impls[i].op;
    if (!op || op->family->members == 0 || op->family->cell.flag) continue;
    if (check_family_flag_available(&impls[i], &err) == PD_OK) pd__fail_memory(&err);
    pd__report_add(report, &err);
    return false;
  }
  return true;
}

/* ---- Unlinking ---- */

/* The slot gets the module's own function back: its destructors may still call it. */
static void unlink_and_restore_slot(pd__impl *impl) {
  pd__impl *before = impl->previous_slot, *after = impl->next_slot;
  *(before ? &before->next_slot : &impl->op->slots) = after;
  if (after) after->previous_slot = before;
  __atomic_store_n(impl->def->slot, impl->def->choice.function, __ATOMIC_RELEASE);
  if (!impl->def->scoped) return;
  pd_scoped_slot *slot = (pd_scoped_slot *)(void *)impl->def->slot;
  __atomic_store_n(&slot->find, NULL, __ATOMIC_RELEASE);
}

static void unlink_candidate(pd__impl *impl) {
  pd__op *op = impl->op;
  pd__impl *before = impl->previous_candidate, *after = impl->next_candidate;
  bool named = false;
  remove_from_bucket(impl);
  pd__numbered_remove(&candidates, impl->number);
  *(before ? &before->next_candidate : &op->candidates) = after;
  *(after ? &after->previous_candidate : &op->last_candidate) = before;
  if (op->last_compared == impl) op->last_compared = before;
  if (impl == op->winner || impl == op->native) op->last_compared = NULL;
  if (op->winner != impl) return;
  op->winner = NULL;
  pd_flag *flag = pd__cell_flag(&op->family->cell);
  if (flag) pd__preference_find_rank(pd__flag_value(flag).str, impl->name, &named);
  if (!named) return;
  pd__fail(pd__warning_add(PD_WARNING_GENERAL), PD_OK,
           "%s: implementation '%s' of %s has left, and the next one runs", op->family->def.name,
           impl->name, op->text);
}

void pd__impls_unlink(pd__impl *impls, size_t count) {
  for (size_t i = 0; i < count; i++) {
    pd__impl *impl = &impls[i];
    if (!impl->op) continue;
    if (impl->def->slot) unlink_and_restore_slot(impl);
    if (impl->def->kind != PD_KIND_OP_IMPORT) unlink_candidate(impl);
    adjust_family_counts(impl, -1);
    impl->op = NULL;
  }
}
