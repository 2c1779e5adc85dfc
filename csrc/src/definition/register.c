/* Definitions at run time: copies of ours, with all of their text. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "definition.h"

/* A definition of pd_flag_register. Its text stands behind it, but for name and file. These are
 * stored for good: so the names of many flags lie close together, where a search reads them, and
 * those of one file share its path. */
typedef struct registered {
  pd__cell cell;
  pd_flag_def def;
  pd_module *modules[4];   /* that its variable and its code are in; NULL: in none */
  struct registered *next; /* of those that may leave */
} registered;

static registered *leaving; /* those that may leave, the newest first */

/* ---- Copying ---- */

#define TEXT_OFFSET(name, words, kind, about) offsetof(registered, def.name),

/* The last one is text of strings alone. */
static const size_t texts[] = {offsetof(registered, def.help), offsetof(registered, def.module),
                               PD_TEXT_MAP(TEXT_OFFSET)
                                   offsetof(registered, def.default_value.str)};

/* NULL when memory is out. */
static registered *copy(const pd_flag_def *def) {
  registered one = {.def = *def};
  size_t whole, count = sizeof texts / sizeof *texts - (def->type != PD_TYPE_string);
  registered *made = pd__copy_whole(&one, sizeof one, texts, count, &whole);
  if (made) made->cell = (pd__cell){.def = &made->def, .registered = true};
  return made;
}

/* Those of the caller until now: nothing of a definition that is refused stays. */
static bool store_texts(registered *made, bool stays) {
  const char *name = made->def.name, *file = pd__intern(made->def.file);
  name = stays ? pd__forever_text(name) : pd__intern(name); /* or it may come again */
  if (!name || (made->def.file && !file)) return false;
  made->def.name = name;
  made->def.file = file;
  return true;
}

/* ---- Registering ---- */

/* An address in each of the images that a definition needs: of its variable and its code; 0: it
 * has none. */
static uintptr_t address_of(const pd_flag_def *def, size_t i) {
  const uintptr_t used[] = {(uintptr_t)def->cell, (uintptr_t)def->validate, (uintptr_t)def->watch,
                            (uintptr_t)def->access};
  return used[i];
}

static void let_go(pd__operation *operation, pd_module *const modules[4]) {
  for (size_t i = 0; i < 4; i++) pd__module_unregister(operation, modules[i]);
}

/* Whether the flag has no need of a further cell. */
static bool follows(const pd_flag *flag, const void *address) {
  const pd__cell *cell = flag->cells;
  while (address && cell && cell->def->cell != address) cell = cell->next;
  return cell != NULL;
}

/* With the lock: define, or find the same definition made before. *taken: the modules are. */
static pd_status register_one(pd__operation *operation, const pd_flag_def *def,
                              pd_module *const modules[4], pd_flag **out, bool *taken,
                              pd_error *err) {
  pd_flag *flag = pd__names_find(def->name, strlen(def->name));
  if (flag && flag->defined && pd__def_same(pd__flag_def(flag), def) && follows(flag, def->cell)) {
    *out = flag;
    return PD_OK;
  }
  registered *made = copy(def);
  if (!made) return pd__fail_memory(err);
  memcpy(made->modules, modules, sizeof made->modules);
  if (!made->def.module && modules[0]) made->def.module = modules[0]->path; /* is stored for good */
  pd_module *code = modules[1] ? modules[1] : modules[2];
  if (!code) code = modules[0];
  made->cell.module = code ? code->number : 0; /* code must be kept while it is called */
  pd__report refused = {.first = err}, waiting = {.first = err};
  bool accepted = pd__define_check(operation, &made->cell, 1, &refused);
  bool stays = true;
  for (size_t i = 0; i < 4; i++) stays &= !modules[i] || modules[i]->stays;
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
  *out = flag; /* the cell may go while validators run */
  pd__define_take(operation, &made->cell, 1, &waiting);
  return waiting.status;
}

pd_status pd__do_flag_register(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_flag_def read;
  pd_module *modules[4];
  pd_flag *flag = NULL;
  bool taken = false;
  pd_status status = pd__def_convert(def, &read, err);
  if (status == PD_OK) status = pd__def_check(&read, true, err);
  if (status != PD_OK) return status;
  /* The loader is asked without the lock. */
  for (size_t i = 0; i < 4; i++) modules[i] = pd__module_register(address_of(&read, i));
  PD__LOCKED_OPERATION(operation);
  status = register_one(&operation, &read, modules, &flag, &taken, err);
  if (!taken) let_go(&operation, modules);
  if (out && flag) *out = flag;
  return pd__operation_return(&operation, status);
}

/* ---- Leaving ---- */

static bool uses(const registered *one, const pd_module *module) {
  size_t i = 0;
  while (i < 4 && !pd__module_has(module, address_of(&one->def, i))) i++;
  return i < 4;
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
