/* Definitions: checked one by one, then taken all together or not at all. */
#include <string.h>

#include "conflict.h"
#include "../input/environment.h"
#include "pending.h"
#include "../platform/platform.h"
#include "../registry/registry.h"
#include "../base/text.h"

static size_t asking; /* definitions that every command line is shown to */

bool pd__defs_ask(void) { return asking > 0; }

pd_flag *pd__cell_flag(const pd__cell *cell) {
  return cell->flag ? pd__names_at(cell->flag - 1) : NULL;
}

/* ---- One definition against the registry ---- */

/* Reserve `node` for the definition under way. */
static pd_status claim(const pd__cell *cell, pd_flag *node, bool free, const pd__batch *all,
                       pd_error *err) {
  if (!node) return pd__fail_memory(err);
  if (!free || node->claim == all->number) return pd__conflict(cell, node, all, err);
  node->claim = all->number & PD__CLAIM_MOST;
  return PD_OK;
}

/* The names are stored as they are spelled here: a node that somebody mentioned
 * before may be spelled otherwise. */
static pd_status check_aliases(const pd__cell *cell, const char *aliases, const pd_flag *node,
                               const pd__batch *all, pd_error *err) {
  pd_status status = PD_OK;
  for (const char *cursor = pd__list_begin(aliases); status == PD_OK && cursor;) {
    const char *alias = cursor;
    size_t length = pd__list_next(&cursor);
    pd_flag *other = pd__names_add(alias, length);
    const pd_flag *taken = other ? pd__flag_meant(other) : NULL;
    bool free = other && !other->defined && (taken == other || taken == node);
    status = claim(cell, other, free, all, err);
    if (status == PD_OK) status = pd__conflict_negation(cell, alias, length, all, err);
    if (status == PD_OK) status = pd__conflict_import(cell, other, err);
    bool room = other && pd__names_stored(alias, length) && pd__flag_make_extra(other);
    if (status == PD_OK && !room) status = pd__fail_memory(err);
  }
  return status;
}

/* Whether the definition can meet no other one but by its name: most are so. */
static bool stands_alone(const pd_flag_def *def, const pd_flag *node) {
  bool negates = def->name[0] == 'n' && def->name[1] == 'o';
  bool simple = def->type != PD_TYPE_bool && def->type != PD_TYPE_string;
  return simple && !negates && !def->aliases && !def->old_names && !node->more.cells;
}

static pd_status check_definition(pd__cell *cell, pd_flag *node, const pd__batch *all,
                                  pd_error *err) {
  const pd_flag_def *def = cell->def;
  if (!PD__LACKS_SHORTCUTS && stands_alone(def, node)) return claim(cell, node, true, all, err);
  size_t length = strlen(def->name);
  bool free = node->defined ? pd__def_same(pd__flag_def(node), def) : pd__flag_meant(node) == node;
  pd_status status = claim(cell, node, free, all, err);
  if (status == PD_OK) status = pd__conflict_negation(cell, def->name, length, all, err);
  if (status == PD_OK) status = pd__conflict_import(cell, node, err);
  if (status == PD_OK && def->aliases) status = check_aliases(cell, def->aliases, node, all, err);
  if (status == PD_OK && def->old_names) {
    status = check_aliases(cell, def->old_names, node, all, err);
  }
  bool text = def->type == PD_TYPE_string;
  bool room = !text || pd__intern(def->default_value.str);
  return status == PD_OK && !room ? pd__fail_memory(err) : status;
}

static pd_status check(pd__cell *cell, const pd__batch *all, pd_error *err) {
  const pd_flag_def *def = cell->def;
  bool import = def->kind == PD_KIND_IMPORT;
  pd_flag *node = pd__cell_flag(cell); /* a definition at run time was looked for */
  if (!node) {
    size_t length = strlen(def->name);
    node = import ? pd__names_add(def->name, length) : pd__names_borrow(def->name, length);
  }
  if (!node || !pd__entries_open(node)) return pd__fail_memory(err); /* it may cease to be plain */
  cell->flag = node->index + 1;
  if (import) return pd__conflict_of_import(cell, all, err);
  return check_definition(cell, node, all, err);
}

/* ---- Taking definitions ---- */

/* Behind the definition, which is the first. */
static void link_cell(pd_flag *flag, pd__cell *cell) {
  cell->flag = flag->index + 1;
  pd__cell **at = pd__flag_cells(flag), *first = *at;
  if (flag->defined && first) at = &first->next;
  cell->next = *at;
  *at = cell;
  if (cell->def->assignable && cell->def->cell) pd__flag_make_assignable(flag);
}

/* Imports and waiting values of the alias go over to the flag. */
static void link_aliases(pd_flag *flag, const char *aliases, bool old) {
  for (const char *cursor = pd__list_begin(aliases); cursor;) {
    const char *alias = cursor;
    size_t length = pd__list_next(&cursor);
    pd_flag *node = pd__names_find(alias, length);
    pd__extra *extra = pd__flag_make_extra(node); /* made when it was checked */
    extra->alias_of = flag;
    node->name = pd__names_stored(alias, length);
    node->was_flag = true;
    node->old_name = old;
    while (extra->cells) {
      pd__cell *cell = extra->cells;
      extra->cells = cell->next;
      link_cell(flag, cell);
    }
  }
}

static void unlink_aliases(const pd_flag *flag, const char *aliases) {
  for (const char *cursor = pd__list_begin(aliases); cursor;) {
    const char *alias = cursor;
    pd_flag *node = pd__names_find(alias, pd__list_next(&cursor));
    if (node && pd__flag_meant(node) == flag) pd__flag_make_extra(node)->alias_of = NULL;
  }
}

static bool asks(const pd_flag_def *def) { return def->validate || def->required; }

/* After a change of its cells. */
static void look_again(pd_flag *flag) {
  const pd__cell *first = pd__flag_first_cell(flag);
  bool plain = flag->defined && !first->next && pd__def_plain(first->def);
  flag->not_plain = !plain;
  flag->variable = plain ? first->def->cell : NULL;
}

/* The first cell has the definition. */
static void set_defined(pd_flag *flag) {
  const pd_flag_def *def = pd__flag_first_cell(flag)->def;
  flag->defined = true;
  asking += asks(def);
  flag->name = def->name;
  flag->special = def->deprecated || def->retired || def->validate || def->watch;
  __atomic_store_n(&flag->type, def->type, __ATOMIC_RELAXED);
}

/* The flag's cells begin with the one that defines it from now on. */
static void begin(pd_flag *flag, pd__report *waiting) {
  const pd_flag_def *def = pd__flag_first_cell(flag)->def;
  pd_type was = flag->type;
  set_defined(flag);
  pd__names_list(flag);
  flag->was_flag = true;
  if (def->aliases) link_aliases(flag, def->aliases, false);
  if (def->old_names) link_aliases(flag, def->old_names, true);
  if (flag->given.entries) pd__flag_review(flag, was, waiting);
}

/* Whether the module gave its variable another value before the registry came. The value
 * is then put back, so that the next call about the flag takes it over. */
static bool is_assigned(const pd__cell *cell, pd_value *value) {
  const pd_flag_def *def = cell->def;
  if (!def->assignable || !def->cell || !cell->module) return false;
  *value = pd__variable_load(def);
  if (pd__value_equal((pd_type)def->type, *value, def->default_value)) return false;
  if (def->type == PD_TYPE_string) value->str = pd__intern(value->str);
  return def->type != PD_TYPE_string || value->str;
}

static void take(pd__cell *cell, pd__report *waiting) {
  pd_flag *flag = pd__flag_meant(pd__cell_flag(cell));
  pd_value assigned;
  bool early = is_assigned(cell, &assigned);
  link_cell(flag, cell);
  if (cell->def->kind == PD_KIND_DEFINE && !flag->defined) begin(flag, waiting);
  look_again(flag);
  if (flag->defined) pd__flag_publish(flag);
  if (early) pd__variable_store(cell->def, assigned);
}

/* What waited for a flag that this cell has defined. Validators may run, without
 * the lock: the flag may be gone then. */
static void apply_waiting(const pd__cell *cell, pd__report *waiting) {
  pd_flag *flag = pd__cell_flag(cell);
  if (pd__flag_def(flag) == cell->def) pd__environment_apply(flag, waiting);
  if (pd__flag_def(flag) == cell->def) pd__pending_apply(flag, waiting);
}

/* The name of a definition that was refused may go with its module. */
static void release(const pd__cell *cell) {
  pd_flag *node = pd__cell_flag(cell);
  if (node && !node->defined) pd__names_own(node, pd__intern(node->name));
}

/* Check those of a kind; *others counts the rest. */
static bool accept_kind(pd_kind kind, pd__cell *cells, size_t count, const pd__batch *all,
                        pd__report *report, size_t *others) {
  bool accepted = true;
  for (size_t i = 0; i < count; i++) {
    pd_error err;
    if (cells[i].def->kind != kind) {
      ++*others;
    } else if (check(&cells[i], all, &err) != PD_OK) {
      pd__report_add(report, &err);
      accepted = false;
    }
  }
  return accepted;
}

/* Whether all of them may be defined. */
static bool accept(pd__cell *cells, size_t count, pd__report *report) {
  static uint32_t transactions;
  pd__batch all = {cells, ++transactions & PD__CLAIM_MOST};
  /* Imports last: they must suit the definitions that come with them. */
  size_t imports = 0, rest = 0;
  bool accepted = accept_kind(PD_KIND_DEFINE, cells, count, &all, report, &imports);
  if (imports) accepted &= accept_kind(PD_KIND_IMPORT, cells, count, &all, report, &rest);
  for (size_t i = 0; !accepted && i < count; i++) release(&cells[i]);
  return accepted;
}

static void take_all(pd__cell *cells, size_t count, pd__report *waiting) {
  for (size_t i = 0; i < count; i++) take(&cells[i], waiting);
  bool awaited = pd__environment_used() || pd__pending_any();
  for (size_t i = 0; awaited && i < count; i++) apply_waiting(&cells[i], waiting);
}

bool pd__define(pd__cell *cells, size_t count, pd__report *report, pd__report *waiting) {
  bool accepted = accept(cells, count, report);
  if (accepted) take_all(cells, count, waiting);
  return accepted;
}

/* ---- Giving them up ---- */

static void unlink_cell(pd__cell *cell) {
  pd__cell **at = pd__flag_cells(pd__cell_flag(cell));
  while (*at != cell) at = &(*at)->next;
  *at = cell->next;
}

uint32_t pd__departures;

/* The imports that remain read their own value again, and wait for the name that
 * they have, which may have been an alias. The values, and whether they are
 * frozen, stay for the next definition. */
static void undefine(pd_flag *flag, const pd_flag_def *def, const pd__platform_image *program) {
  uintptr_t address = (uintptr_t)def->name;
  bool stays = program && address >= program->low && address < program->high;
  if (def->aliases) unlink_aliases(flag, def->aliases);
  if (def->old_names) unlink_aliases(flag, def->old_names);
  pd__names_own(flag, stays ? def->name : pd__intern(def->name));
  flag->defined = flag->assignable = false;
  flag->not_plain = true;
  if (flag->given.entries) pd__flag_drop_source(flag, PD_SOURCE_DEFAULT);
  __atomic_store_n(&flag->state, 0, __ATOMIC_RELEASE);
  __atomic_fetch_add(&pd__departures, 1, __ATOMIC_RELEASE);
  pd__cell *cell = *pd__flag_cells(flag);
  *pd__flag_cells(flag) = NULL;
  while (cell) {
    pd__cell *next = cell->next;
    if (cell->def->cell) pd__variable_store(cell->def, cell->def->default_value);
    pd_flag *node = pd__names_find(cell->def->name, strlen(cell->def->name));
    link_cell(node ? node : flag, cell); /* a node that is lost keeps it */
    cell = next;
  }
}

/* The definition of a flag goes: another module's takes its place, if there is one. */
static void replace(pd_flag *flag, const pd_flag_def *def, const pd__platform_image *program) {
  pd__cell **first = pd__flag_cells(flag), **at = first;
  asking -= asks(def);
  while (*at && (*at)->def->kind != PD_KIND_DEFINE) at = &(*at)->next;
  pd__cell *heir = *at;
  if (!heir) {
    undefine(flag, def, program);
    return;
  }
  *at = heir->next;
  heir->next = *first;
  *first = heir;
  set_defined(flag);
}

void pd__undefine(pd__cell *cells, size_t count, const pd__platform_image *program) {
  for (size_t i = 0; i < count; i++) {
    pd__cell *cell = &cells[i];
    pd_flag *flag = pd__cell_flag(cell);
    if (!flag) continue;
    if (flag->assignable) pd__flag_adopt(flag);
    bool defines = flag->defined && pd__flag_first_cell(flag) == cell;
    unlink_cell(cell);
    if (defines) replace(flag, cell->def, program);
    if (flag->defined) look_again(flag);
  }
}

/* ---- Definitions at run time ---- */

static size_t runtime_cells;

void pd__forget_between(uintptr_t low, uintptr_t high) {
  pd_flag *flag;
  for (uint32_t i = 0; runtime_cells && (flag = pd__names_at(i)); i++) {
    for (pd__cell *cell = pd__flag_first_cell(flag); cell; cell = cell->next) {
      uintptr_t address = (uintptr_t)cell->def->cell;
      if (cell->module > 0 || address < low || address >= high) continue;
      ((pd_flag_def *)cell->def)->cell = NULL; /* our own copy, made by keep() */
      look_again(flag);
      runtime_cells--;
    }
  }
}

/* `text` stored for good. What is said of one definition is often said of the next:
 * `last` is that. */
static bool keep_text(const char **text, const char **last) {
  if (!*last || strcmp(*text, *last) != 0) *last = pd__intern(*text);
  *text = *last;
  return *text != NULL;
}

/* Name and help are seldom said twice. */
static bool keep_once(const char **text) {
  return !*text || (*text = pd__forever_text(*text, strlen(*text) + 1));
}

/* Texts that many definitions share. */
static const uint8_t shared[] = {
    offsetof(pd_flag_def, file),       offsetof(pd_flag_def, category),
    offsetof(pd_flag_def, aliases),    offsetof(pd_flag_def, choices),
    offsetof(pd_flag_def, module),     offsetof(pd_flag_def, unit),
    offsetof(pd_flag_def, deprecated), offsetof(pd_flag_def, retired),
    offsetof(pd_flag_def, old_names),
};

static const char **text_at(pd_flag_def *def, size_t offset) {
  return (const char **)(void *)((char *)def + offset);
}

/* A copy of `def` that lives forever; NULL when memory is out. */
static pd_flag_def *keep(const pd_flag_def *def) {
  static pd_flag_def last;
  pd_flag_def *kept = pd__forever(sizeof *kept);
  if (!kept) return NULL;
  *kept = *def;
  bool whole = keep_once(&kept->name) && keep_once(&kept->help);
  for (size_t i = 0; whole && i < sizeof shared; i++) {
    const char **text = text_at(kept, shared[i]);
    if (*text) whole = keep_text(text, text_at(&last, shared[i]));
  }
  const char **text = &kept->default_value.str;
  if (kept->type == PD_TYPE_string) whole &= keep_text(text, &last.default_value.str);
  return whole ? kept : NULL;
}

/* Whether the flag has no need of a further cell. */
static bool follows(const pd_flag *flag, const void *address) {
  const pd__cell *cell = pd__flag_first_cell(flag);
  while (address && cell && cell->def->cell != address) cell = cell->next;
  return cell != NULL;
}

/* With the lock: define, or find the same definition made before. */
static pd_status register_one(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  pd_flag *flag = pd__names_borrow(def->name, strlen(def->name));
  if (flag && flag->defined && pd__def_same(pd__flag_def(flag), def) && follows(flag, def->cell)) {
    *out = flag;
    return PD_OK;
  }
  if (!flag) return pd__fail_memory(err);
  pd__report refused = {.first = err}, waiting = {.first = err};
  pd__cell wanted = {.def = def, .flag = flag->index + 1};
  if (!accept(&wanted, 1, &refused)) return refused.status;
  pd_flag_def *kept = keep(def); /* what is refused takes no memory */
  pd__cell *cell = kept ? pd__forever(sizeof *cell) : NULL;
  if (!cell) {
    release(&wanted);
    return pd__fail_memory(err);
  }
  *cell = wanted;
  cell->def = kept;
  take_all(cell, 1, &waiting);
  runtime_cells += def->cell != NULL;
  *out = pd__cell_flag(cell);
  return waiting.status;
}

/* The program, once a cell was found to be in it. */
static pd__platform_image program;

static void keep_image(const pd__platform_image *image, void *path) {
  pd__platform_lock();
  *(const char **)path = pd__intern(image->path);
  if (image->stays && *(const char **)path) {
    program = *image;
    program.path = *(const char **)path;
  }
  pd__platform_unlock();
}

/* With the lock. Who owns the cell, where that is known without a walk over all images. */
static const char *known_owner(const void *cell) {
  uintptr_t address = (uintptr_t)cell;
  if (address >= program.low && address < program.high) return program.path;
  return pd__module_path_at(cell);
}

static pd_status check_run_time_def(const pd_flag_def *def, pd_error *err) {
  pd_status status = pd__def_check(def, err);
  if (status != PD_OK || def->kind == PD_KIND_DEFINE) return status;
  return pd__def_refuse(def, PD_ERR_ARGUMENT, "its kind isn't PD_KIND_DEFINE", err);
}

pd_status pd__do_flag_register(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_flag_def read;
  pd_flag *flag = NULL;
  pd_status status = pd__def_convert(def, &read, err);
  if (status == PD_OK) status = check_run_time_def(&read, err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  if (!read.module && read.cell && !(read.module = known_owner(read.cell))) {
    pd__platform_unlock();
    pd__platform_with_image(read.cell, keep_image, &read.module);
    pd__platform_lock();
  }
  status = register_one(&read, &flag, err);
  pd__platform_unlock();
  pd__tell();
  if (out && flag) *out = flag;
  return status;
}

void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type) {
  if (!def) return;
  pd_flag_def fresh = {.size = (uint32_t)size, .type = (uint8_t)type};
  fresh.min = pd__type_min(type);
  fresh.max = pd__type_max(type);
  if (type == PD_TYPE_string) fresh.default_value.str = "";
  memset(def, 0, size);
  memcpy(def, &fresh, size < sizeof fresh ? size : sizeof fresh);
}
