/* Definitions at run time: the registry keeps copies of them, with all of their texts. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "definition.h"

enum { USED = 5 }; /* addresses in images that a definition may need */

/* A definition made by pd_flag_register, allocated in one block with its texts except name and
 * file. These are stored for good: the names of many flags lie close together, which makes searches
 * faster, and the flags of one file share its path. */
typedef struct registered {
  pd__cell cell;
  pd_flag_def def;
  pd_module *modules[USED]; /* those of its variable and its code; NULL for none */
  struct registered *next;  /* in the list of those that may leave */
} registered;

static registered *leaving; /* those that may leave, the newest first */

/* ---- Copying ---- */

#define TEXT_OFFSET(name, words, kind, about) offsetof(registered, def.name),

/* The last one is a text in definitions of strings only. */
static const size_t texts[] = {offsetof(registered, def.help), offsetof(registered, def.module),
                               PD_TEXT_MAP(TEXT_OFFSET)
                                   offsetof(registered, def.default_value.str)};

/* Returns NULL if memory is out. */
static registered *copy(const pd_flag_def *def) {
  registered one = {.def = *def};
  size_t whole, count = sizeof texts / sizeof *texts - (def->type != PD_TYPE_string);
  registered *made = pd__copy_whole(&one, sizeof one, texts, count, &whole);
  if (made) made->cell = (pd__cell){.def = &made->def, .registered = true};
  return made;
}

/* Stores name and file, which were the caller's until now. Called once the definition is accepted,
 * so that a refused one leaves nothing behind. */
static bool store_texts(registered *made, bool stays) {
  const char *name = made->def.name, *file = pd__intern(made->def.file);
  name = stays ? pd__forever_text(name) : pd__intern(name); /* interned: may come again */
  if (!name || (made->def.file && !file)) return false;
  made->def.name = name;
  made->def.file = file;
  return true;
}

/* ---- Registering ---- */

/* Returns an address in an image that the definition needs, for its variable and its functions; 0
 * if it has none. */
static uintptr_t address_of(const pd_flag_def *def, size_t i) {
  const uintptr_t used[] = {(uintptr_t)def->cell, (uintptr_t)def->validate, (uintptr_t)def->watch,
                            (uintptr_t)def->access, (uintptr_t)def->convert};
  return used[i];
}

static void let_go(pd__operation *operation, pd_module *const modules[USED]) {
  for (size_t i = 0; i < USED; i++) pd__module_unregister(operation, modules[i]);
}

/* Returns true if the flag already has a cell for the variable, or needs none. */
static bool follows(const pd_flag *flag, const void *address) {
  const pd__cell *cell = flag->cells;
  while (address && cell && cell->def->cell != address) cell = cell->next;
  return cell != NULL;
}

/* The caller holds the lock. Defines the flag, or finds the one that the same definition made
 * before. Sets *taken if the definition keeps the modules. */
static pd_status register_one(pd__operation *operation, const pd_flag_def *def,
                              pd_module *const modules[USED], pd_flag **out, bool *taken,
                              pd_error *err) {
  pd_flag *flag = pd__names_find(def->name, strlen(def->name));
  if (flag && flag->defined && pd__def_same(pd__flag_def(flag), def) && follows(flag, def->cell)) {
    *out = flag;
    return PD_OK;
  }
  registered *made = copy(def);
  if (!made) return pd__fail_memory(err);
  memcpy(made->modules, modules, sizeof made->modules);
  if (!made->def.module && modules[0]) made->def.module = modules[0]->path; /* stored for good */
  pd_module *code = modules[1] ? modules[1] : modules[2] ? modules[2] : modules[4];
  if (!code) code = modules[0];
  made->cell.module = code ? code->number : 0; /* keeps the code while it runs */
  pd__report refused = {.first = err}, waiting = {.first = err};
  bool accepted = pd__define_check(operation, &made->cell, 1, &refused);
  bool stays = true;
  for (size_t i = 0; i < USED; i++) stays &= !modules[i] || modules[i]->stays;
  if (accepted && !store_texts(made, stays)) {
    pd__define_refuse(&made->cell, 1);
    pd__report_memory(&refused);
    accepted = false;
  }
  if (!accepted) {
    free(made);
    return refused.status;
  }
  *taken = true;
  if (!stays) {
    made->next = leaving;
    leaving = made;
  }
  flag = pd__cell_flag(&made->cell);
  *out = flag; /* set now: the cell may go while validators run */
  pd__define_take(operation, &made->cell, 1, &waiting);
  return waiting.status;
}

pd_status pd__do_flag_register(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_flag_def read;
  pd_module *modules[USED];
  pd_flag *flag = NULL;
  bool taken = false;
  pd_status status = pd__def_convert(def, &read, err);
  if (status == PD_OK) status = pd__def_check(&read, true, err);
  if (status != PD_OK) return status;
  /* The loader mustn't be called with the lock held. */
  for (size_t i = 0; i < USED; i++) modules[i] = pd__module_register(address_of(&read, i));
  PD__LOCKED_OPERATION(operation);
  status = register_one(&operation, &read, modules, &flag, &taken, err);
  if (!taken) let_go(&operation, modules);
  if (out && flag) *out = flag;
  return pd__operation_return(&operation, status);
}

/* ---- Leaving ---- */

static bool uses(const registered *one, const pd_module *module) {
  size_t i = 0;
  while (i < USED && !pd__module_has(module, address_of(&one->def, i))) i++;
  return i < USED;
}

void pd__registered_leave(pd__operation *operation, const pd_module *module) {
  for (registered **at = &leaving; *at;) {
    registered *each = *at;
    if (!uses(each, module)) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    pd__undefine(operation, &each->cell, 1);
    let_go(operation, each->modules);
    free(each);
  }
}
