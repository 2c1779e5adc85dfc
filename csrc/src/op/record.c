/* The records of operations and implementations: their checks, and how they are linked. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "op.h"

static pd__family *families, **families_end = &families;
static uint64_t arrivals;

/* ---- One record by itself ---- */

const char *pd__impl_place(const pd_op_def *def, const pd_module *module,
                           char out[PD__RECORD_PLACE_SIZE]) {
  out[0] = '\0';
  if (def->file)
    pd__append(out, PD__RECORD_PLACE_SIZE, "%s:%u", pd__tail(def->file, 160), def->line);
  if (module)
    pd__append(out, PD__RECORD_PLACE_SIZE, "%sin %s", *out ? " " : "", pd__tail(module->path, 160));
  return out;
}

static pd_status refuse(const pd_op_def *def, pd_error *err, pd_status status, const char *why) {
  char place[PD__RECORD_PLACE_SIZE], quoted[PD__QUOTE_SIZE];
  const char *name = def->signature && def->signature->name ? def->signature->name : "";
  return pd__fail(err, status, "%s: operation '%s': %s", pd__impl_place(def, NULL, place),
                  pd__quote(quoted, name), why);
}

static bool has_good_types(const pd_op_signature *of) {
  size_t count = 0;
  while (count < sizeof of->types && of->types[count]) count++;
  return count > 0 && count < sizeof of->types;
}

static pd_status check_arrays(const pd_op_def *def, pd_error *err) {
  const char *wrong = pd__arrays_check(def->about.arrays);
  char why[200], quoted[PD__QUOTE_SIZE];
  if (!wrong) return PD_OK;
  snprintf(why, sizeof why, "the text of its arrays has %s, expected one such as f32[m,n]",
           pd__quote(quoted, wrong));
  return refuse(def, err, PD_ERR_ARGUMENT, why);
}

/* What is behind the choice needn't be there. Later versions only add fields. */
#define SMALLEST_OP PD__SIZE_UP_TO(pd_op_def, choice)

pd_status pd__impl_convert(const pd_op_def *from, pd_op_def *to, pd_error *err) {
  if (from->size < SMALLEST_OP) {
    return pd__fail(err, PD_ERR_ABI, "an operation's record has %u bytes, expected %zu or more",
                    from->size, SMALLEST_OP);
  }
  if (from->size % _Alignof(pd_op_def)) { /* it would end inside a pointer */
    return pd__fail(err, PD_ERR_ABI,
                    "an operation's record has %u bytes, expected a multiple of %zu", from->size,
                    _Alignof(pd_op_def));
  }
  size_t known = from->size < sizeof *to ? from->size : sizeof *to;
  memcpy(to, from, known);
  memset((char *)to + known, 0, sizeof *to - known);
  to->size = sizeof *to;
  return PD_OK;
}

pd_status pd__impl_check(const pd_op_def *def, pd_error *err) {
  const pd_op_signature *of = def->signature;
  if (def->kind < PD_KIND_OP || def->kind > PD_KIND_IMPL) {
    return refuse(def, err, PD_ERR_ABI, "its kind is unknown, expected a pd_kind");
  }
  if (!of || !of->name || !pd__name_valid(of->name, strlen(of->name)) ||
      strlen(of->name) > PD_NAME_MAX - strlen("impl.")) {
    return refuse(def, err, PD_ERR_NAME,
                  "expected a name of letters, digits, _ . - that begins with a letter or _");
  }
  if (!of->text || !has_good_types(of)) {
    return refuse(def, err, PD_ERR_ARGUMENT, "expected a signature of codes with a 0 at its end");
  }
  if (!def->name || !pd__name_valid(def->name, strlen(def->name))) {
    return refuse(def, err, PD_ERR_NAME,
                  "expected an implementation whose name is one of letters, digits, _ . -");
  }
  return def->about.arrays ? check_arrays(def, err) : PD_OK;
}

pd_status pd__impl_check_native(const pd_op_def *def, pd_error *err) {
  const pd_op_signature *of = def->signature;
  if (!def->choice.function) return refuse(def, err, PD_ERR_ARGUMENT, "the function is NULL");
  if (!def->slot && def->kind != PD_KIND_IMPL) {
    return refuse(def, err, PD_ERR_ARGUMENT, "the slot is NULL");
  }
  if (strchr((const char *)of->types, PD_CODE_OBJECT)) {
    return refuse(def, err, PD_ERR_ARGUMENT, "expected no objects of another language");
  }
  return PD_OK;
}

/* ---- Families and operations ---- */

pd__family *pd__family_next(const pd__family *previous) {
  return previous ? previous->next : families;
}

pd__family *pd__family_find(const char *name, size_t length) {
  pd__family *family = families;
  while (family && (strncmp(family->name, name, length) != 0 || family->name[length])) {
    family = family->next;
  }
  return family;
}

static pd__family *find_family(const char *name) {
  char flag[PD_NAME_MAX + 1], help[PD_NAME_MAX + 100];
  pd__family *family = pd__family_find(name, strlen(name));
  if (family) return family;
  family = pd__forever(sizeof *family);
  if (!family) return NULL;
  snprintf(flag, sizeof flag, "impl.%s", name);
  snprintf(help, sizeof help, "which implementation of %s runs, in order of preference", name);
  *family = (pd__family){.name = pd__intern(name),
                         .def = {.size = sizeof family->def,
                                 .type = PD_TYPE_string,
                                 .list = PD_TYPE_string,
                                 .name = pd__intern(flag),
                                 .help = pd__intern(help),
                                 .category = "implementations",
                                 .default_value = {.str = "*"},
                                 .context = family}};
  if (!family->name || !family->def.name || !family->def.help) return NULL;
  *families_end = family;
  families_end = &family->next;
  return family;
}

/* Reads the types in the text of a signature. */
typedef struct reader {
  const char *at;
  unsigned depth; /* of < */
  bool begun;     /* the name of a type */
  bool inside;    /* a word of it */
} reader;

static bool is_word(char byte) {
  unsigned char lower = (unsigned char)byte | 0x20;
  return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Returns the length of what doesn't belong to the name, at the cursor. */
static size_t superfluous(const reader *in) {
  static const char *const words[] = {"const", "volatile",   "struct",       "class",
                                      "enum",  "__restrict", "__restrict__", "restrict"};
  static const char *const others[] = {"{anonymous}::", "(anonymous namespace)::"};
  for (size_t i = 0; i < sizeof words / sizeof *words && !in->inside; i++) {
    size_t length = strlen(words[i]);
    if (!strncmp(in->at, words[i], length) && !is_word(in->at[length])) return length;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (!strncmp(in->at, others[i], strlen(others[i]))) return strlen(others[i]);
  }
  if (!in->begun && !strncmp(in->at, "::", 2)) return 2;
  return *in->at == ' ' || *in->at == '*';
}

/* Returns the next byte of the name of a type; 0 at its end. */
static char next_byte(reader *in) {
  for (size_t length; (length = superfluous(in)) > 0; in->at += length) in->inside = false;
  char byte = *in->at;
  if (!byte || (in->depth == 0 && strchr("(,)", byte))) return '\0';
  in->depth += byte == '<';
  in->depth -= byte == '>' && in->depth > 0;
  in->inside = is_word(byte);
  in->begun = true;
  in->at++;
  return byte;
}

static void leave_type(reader *in) {
  while (next_byte(in)) continue;
  in->at += *in->at ? 1 : 0;
  in->begun = in->inside = false;
}

/* Structs have one code; the names in the texts tell them apart. */
static bool same_structs(const uint8_t *types, const char *a, const char *b) {
  reader one = {.at = a}, other = {.at = b};
  for (; *types; types++) {
    char byte = '1', other_byte = '1';
    while (*types % PD_CODE_POINTER == PD_CODE_STRUCT && byte && byte == other_byte) {
      byte = next_byte(&one);
      other_byte = next_byte(&other);
    }
    if (byte != other_byte) return false;
    leave_type(&one);
    leave_type(&other);
  }
  return true;
}

/* Objects of another language are told apart by the text. */
static bool is_signature(const pd__op *op, const pd_op_signature *of) {
  if (strcmp((const char *)op->types, (const char *)of->types) != 0) return false;
  if (strchr((const char *)of->types, PD_CODE_OBJECT)) return !strcmp(op->text, of->text);
  return same_structs(op->types, op->text, of->text);
}

static pd__op *find_op(pd__family *family, const pd_op_signature *of) {
  pd__op **at = &family->ops;
  while (*at && !is_signature(*at, of)) at = &(*at)->next;
  if (*at) return *at;
  pd__op *op = pd__forever(sizeof *op);
  if (!op) return NULL;
  *op = (pd__op){.family = family, .text = pd__intern(of->text)};
  memcpy(op->types, of->types, sizeof op->types);
  if (!op->text) return NULL;
  return *at = op;
}

/* ---- Candidates by name ---- */

/* A hash table of all candidates, which finds one by its operation and its interned name. */
static pd__impl **buckets;
static size_t bucket_count, bucket_used; /* the count is a power of 2 */

static pd__impl **bucket_of(const pd__op *op, const char *name) {
  uint64_t mixed = ((uintptr_t)op ^ (uintptr_t)name * 31) * UINT64_C(0x9E3779B97F4A7C15);
  return &buckets[(size_t)(mixed >> 32) & (bucket_count - 1)];
}

static void enter_bucket(pd__impl *impl, const pd__op *op) {
  pd__impl **at = bucket_of(op, impl->name);
  while (*at) at = &(*at)->next_alike; /* an earlier one comes first */
  impl->next_alike = NULL;
  *at = impl;
}

pd__impl *pd__impl_find(const pd__op *op, const char *name, uint64_t number) {
  pd__impl *each = bucket_count ? *bucket_of(op, name) : NULL;
  while (each && each->number != number) each = each->next_alike;
  return each;
}

/* Makes room for one more. Returns false if memory is out. */
static bool grow_buckets(void) {
  if (bucket_used < bucket_count) return true;
  size_t count = bucket_count ? 2 * bucket_count : 64;
  pd__impl **fresh = calloc(count, sizeof(pd__impl *));
  if (!fresh) return false;
  free(buckets);
  buckets = fresh;
  bucket_count = count;
  for (pd__family *family = families; family; family = family->next) {
    for (pd__op *op = family->ops; op; op = op->next) {
      for (pd__impl *each = op->candidates; each; each = each->next_candidate) {
        enter_bucket(each, op);
      }
    }
  }
  return true;
}

static void leave_bucket(const pd__impl *impl) {
  pd__impl **at = bucket_of(impl->op, impl->name);
  while (*at != impl) at = &(*at)->next_alike;
  *at = impl->next_alike;
  bucket_used--;
}

/* ---- Linking ---- */

/* A copy may have been compiled in another directory. */
static bool same_place(const pd__impl *a, const pd__impl *b) {
  return a->def->kind == b->def->kind && a->def->line == b->def->line && a->def->file &&
         b->def->file && !strcmp(pd__base_name(a->def->file), pd__base_name(b->def->file)) &&
         a->def->choice.rank == b->def->choice.rank;
}

/* The same line, compiled into two modules, is one candidate; any other one needs its own name. */
static pd_status check_candidate(const pd__impl *fresh, const pd__op *op, pd_error *err) {
  char mine[PD__RECORD_PLACE_SIZE], theirs[PD__RECORD_PLACE_SIZE];
  const pd__impl *old = *bucket_of(op, fresh->name);
  while (old && (old->op != op || old->name != fresh->name)) old = old->next_alike;
  if (!old || same_place(old, fresh)) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "operation '%s', %s: implementation '%s' is already there, %s; refused: %s",
                  op->family->name, op->text, fresh->name,
                  pd__impl_place(old->def, old->module, theirs),
                  pd__impl_place(fresh->def, fresh->module, mine));
}

/* An import without a function only looks on: it doesn't keep the flag, nor say what it is like. */
static bool looks_on(const pd__impl *impl) {
  return impl->def->kind == PD_KIND_OP_IMPORT && !impl->def->choice.function;
}

static void count_record(const pd__impl *impl, int change) {
  pd__op *op = impl->op;
  pd__family *family = op->family;
  op->definitions += impl->def->kind == PD_KIND_OP ? (size_t)change : 0;
  family->due = true;
  if (looks_on(impl)) return;
  family->members += (size_t)change;
  if (impl->def->slot) *(impl->def->scoped ? &family->scoped : &family->plain) += (size_t)change;
}

static void link_slot(pd__impl *impl) {
  impl->next_slot = impl->op->slots;
  impl->op->slots = impl;
}

static void link_candidate(pd__impl *impl, pd__op *op) {
  impl->previous_candidate = op->last_candidate;
  *(op->last_candidate ? &op->last_candidate->next_candidate : &op->candidates) = impl;
  op->last_candidate = impl;
}

static pd_status link_one(pd__impl *impl, pd_error *err) {
  const pd_op_def *def = impl->def;
  pd__family *family = find_family(def->signature->name);
  pd__op *op = family ? find_op(family, def->signature) : NULL;
  impl->name = pd__intern(def->name);
  if (!op || !impl->name) return pd__fail_memory(err);
  if (def->kind != PD_KIND_OP_IMPORT) {
    pd_status status = grow_buckets() ? check_candidate(impl, op, err) : pd__fail_memory(err);
    if (status != PD_OK) return status;
    enter_bucket(impl, op);
    bucket_used++;
    link_candidate(impl, op);
  }
  impl->op = op;
  if (def->slot) link_slot(impl);
  impl->number = ++arrivals;
  count_record(impl, 1);
  return PD_OK;
}

void pd__list_signatures(const pd__family *family, char *out, size_t size) {
  char place[PD__RECORD_PLACE_SIZE];
  unsigned count = 0;
  for (const pd__op *op = family->ops; op; op = op->next) {
    const pd__impl *one = op->candidates;
    if (op->definitions == 0) continue;
    while (one->def->kind != PD_KIND_OP) one = one->next_candidate;
    pd__append(out, size, "%s*%u: %s at %s", count ? ", " : "", count, op->text,
               pd__impl_place(one->def, one->module, place));
    count++;
  }
}

/* An import or implementation of a signature that isn't defined, although others are. */
static pd_status check_signature(const pd__impl *impl, pd_error *err) {
  char place[PD__RECORD_PLACE_SIZE], found[700] = "";
  const pd__op *op = impl->op;
  if (op->definitions > 0 || looks_on(impl)) return PD_OK;
  pd__list_signatures(op->family, found, sizeof found);
  if (!*found) return PD_OK;
  return pd__fail(err, PD_ERR_TYPE, "operation '%s' has no signature %s, which %s needs; it has %s",
                  op->family->name, op->text, pd__impl_place(impl->def, impl->module, place),
                  found);
}

/* The choice of a thread is for all modules that call the operation, or for none. */
static pd_status check_scoped(const pd__impl *impl, pd_error *err) {
  char place[PD__RECORD_PLACE_SIZE];
  const pd__family *family = impl->op->family;
  if (family->scoped == 0 || family->plain == 0) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT, "operation '%s': %s, %s", family->name,
                  pd__impl_place(impl->def, impl->module, place),
                  impl->def->scoped ? "PD_DEFINE_OP or PD_IMPORT_OP expected, as elsewhere"
                                    : "PD_DEFINE_SCOPED_OP or PD_IMPORT_SCOPED_OP expected: the "
                                      "operation is scoped elsewhere");
}

/* The name of the flag must be free: another definition would say what it means. */
static pd_status check_flag(const pd__impl *impl, pd_error *err) {
  const pd__family *family = impl->op->family;
  const pd_flag *node = pd__names_find(family->def.name, strlen(family->def.name));
  bool free =
      !node || node->index + 1 == family->cell.flag || !pd__flag_meant((pd_flag *)node)->defined;
  if (!free) {
    return pd__fail(err, PD_ERR_CONFLICT,
                    "operation '%s' needs the flag '%s', which is already defined otherwise",
                    family->name, family->def.name);
  }
  const pd__cell *cell = node ? node->cells : NULL;
  while (cell && cell->def->type == PD_TYPE_string) cell = cell->next;
  if (!cell) return PD_OK;
  return pd__fail(err, PD_ERR_TYPE,
                  "operation '%s' needs the flag '%s', a string, which is imported as %s",
                  family->name, family->def.name, pd__type_name((pd_type)cell->def->type));
}

/* In names of flags, - and _ are equal. */
static bool is_flag_of(const pd__family *family, const char *name, size_t length) {
  const char *own = family->def.name;
  for (size_t i = 0; i < length; i++) {
    if (own[i] != name[i] &&
        !((own[i] == '-' || own[i] == '_') && (name[i] == '-' || name[i] == '_')))
      return false;
  }
  return !own[length];
}

static pd_status check_alike(const pd__impl *impl, pd_error *err) {
  char mine[PD__RECORD_PLACE_SIZE];
  const pd__family *family = impl->op->family, *other = families;
  size_t length = strlen(family->def.name);
  while (other &&
         (other == family || other->members == 0 || !is_flag_of(other, family->def.name, length))) {
    other = other->next;
  }
  if (!other) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "operation '%s', %s: operation '%s' is already there, and both would have the "
                  "flag '%s'",
                  family->name, pd__impl_place(impl->def, impl->module, mine), other->name,
                  family->def.name);
}

static pd_status check_name(const pd__naming *of, pd_error *err) {
  const pd__family *family = families;
  while (family && (family->members == 0 || !is_flag_of(family, of->name, of->length))) {
    family = family->next;
  }
  if (!family || (of->def->kind == PD_KIND_IMPORT && of->def->type == PD_TYPE_string)) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT,
                  "flag '%s', %s:%u: operation '%s' of the same module has a flag of that name",
                  of->def->name, of->def->file ? pd__tail(of->def->file, 160) : "", of->def->line,
                  family->name);
}

bool pd__impls_check_names(const pd__cell *cells, size_t count, pd__report *report) {
  pd_error err;
  pd_status before = report->status;
  for (size_t i = 0; i < count; i++) {
    for (pd__naming at = {.def = cells[i].def}; pd__naming_next(&at);) {
      bool may = at.length > 5 && !memcmp(at.name, "impl.", 5);
      if (may && check_name(&at, &err) != PD_OK) pd__report_add(report, &err);
    }
  }
  return report->status == before;
}

bool pd__impls_link(pd__impl *impls, size_t count, pd__report *report) {
  pd_error err;
  pd_status before = report->status;
  for (size_t i = 0; i < count; i++) {
    if (link_one(&impls[i], &err) != PD_OK) pd__report_add(report, &err);
  }
  for (size_t i = 0; i < count; i++) {
    if (!impls[i].op) continue;
    pd_status status = check_signature(&impls[i], &err);
    if (status == PD_OK) status = check_scoped(&impls[i], &err);
    if (status == PD_OK) status = check_flag(&impls[i], &err);
    if (status == PD_OK) status = check_alike(&impls[i], &err);
    if (status != PD_OK) pd__report_add(report, &err);
  }
  if (report->status == before) return true;
  pd__impls_unlink(impls, count);
  return false;
}

bool pd__impls_have_flags(const pd__impl *impls, size_t count, pd__report *report) {
  pd_error err;
  for (size_t i = 0; i < count; i++) {
    const pd__op *op = impls[i].op;
    if (!op || op->family->members == 0 || op->family->cell.flag) continue;
    if (check_flag(&impls[i], &err) == PD_OK) pd__fail_memory(&err);
    pd__report_add(report, &err);
    return false;
  }
  return true;
}

/* ---- Unlinking ---- */

/* The slot gets the module's own function back: its destructors may still call it. */
static void unlink_slot(pd__impl *impl) {
  pd__impl **at = &impl->op->slots;
  while (*at != impl) at = &(*at)->next_slot;
  *at = impl->next_slot;
  __atomic_store_n(impl->def->slot, impl->def->choice.function, __ATOMIC_RELEASE);
  if (!impl->def->scoped) return;
  pd_scoped_slot *slot = (pd_scoped_slot *)(void *)impl->def->slot;
  __atomic_store_n(&slot->find, NULL, __ATOMIC_RELEASE);
}

static void unlink_candidate(pd__impl *impl) {
  pd__op *op = impl->op;
  pd__impl *before = impl->previous_candidate, *after = impl->next_candidate;
  bool named = false;
  leave_bucket(impl);
  *(before ? &before->next_candidate : &op->candidates) = after;
  *(after ? &after->previous_candidate : &op->last_candidate) = before;
  if (op->seen == impl) op->seen = before;
  if (impl == op->winner || impl == op->native) op->seen = NULL;
  if (op->winner != impl) return;
  op->winner = NULL;
  pd_flag *flag = pd__cell_flag(&op->family->cell);
  if (flag) pd__preference_of(pd__flag_value(flag).str, impl->name, &named);
  if (!named) return;
  pd__fail(pd__warning_add(PD_WARNING_GENERAL), PD_OK,
           "%s: implementation '%s' of %s has left, and the next one runs", op->family->def.name,
           impl->name, op->text);
}

void pd__impls_unlink(pd__impl *impls, size_t count) {
  for (size_t i = 0; i < count; i++) {
    pd__impl *impl = &impls[i];
    if (!impl->op) continue;
    if (impl->def->slot) unlink_slot(impl);
    if (impl->def->kind != PD_KIND_OP_IMPORT) unlink_candidate(impl);
    count_record(impl, -1);
    impl->op = NULL;
  }
}
