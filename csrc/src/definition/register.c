/* Definitions at run time: the registry keeps copies of them, with all of their texts. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/hook.h"
#include "stage.h"

enum { USED = 5 }; /* addresses in images that a definition may need */

/* A definition made by pd_flag_register, allocated in one block with its texts except name and
 * file. These are stored for good: the names of many flags lie close together, which makes searches
 * faster, and the flags of one file share its path. */
typedef struct registered_flag {
  pd__cell cell; /* first: a cell of this kind leads to its definition */
  pd_flag_def def;
} registered_flag;

/* One that leaves with a module. Most don't: their code is in the program, or in what stays. */
typedef struct leaving_flag {
  registered_flag made;     /* first, as for the cell */
  pd_module *modules[USED]; /* those of its variable and its code; NULL for none */
  struct leaving_flag *next;
} leaving_flag;

static leaving_flag *leaving; /* the newest first */

/* ---- Copying ---- */

#define TEXT_OFFSET(name, words, kind, about) offsetof(registered_flag, def.name),

/* The last one is a text in definitions of strings only. */
static const size_t texts[] = {
    offsetof(registered_flag, def.help), offsetof(registered_flag, def.module),
    PD_TEXT_MAP(TEXT_OFFSET) offsetof(registered_flag, def.default_value.str)};

/* Stores name and file, which were the caller's until now. Called once the definition is accepted,
 * so that a refused one leaves nothing behind. */
static bool store_definition_texts(registered_flag *made, bool comes_once) {
  const char *name = made->def.name, *file = pd__intern_text(made->def.file);
  name = comes_once ? pd__copy_text_forever(name) : pd__intern_text(name);
  if (!name || (made->def.file && !file)) return false;
  made->def.name = name;
  made->def.file = file;
  return true;
}

/* ---- Registering ---- */

/* Returns an address in an image that the definition needs, for its variable and its functions; 0
 * if it has none. */
static uintptr_t get_used_address(const pd_flag_def *def, size_t i) {
  const uintptr_t used[] = {(uintptr_t)def->cell, (uintptr_t)def->validate, (uintptr_t)def->watch,
                            (uintptr_t)def->access, (uintptr_t)def->convert};
  return used[i];
}

static void remove_module_registrations(pd__operation *operation, pd_module *const modules[USED]) {
  for (size_t i = 0; i < USED; i++) pd__module_remove_registration(operation, modules[i]);
}

/* Returns true if the flag already has a cell for the variable, or needs none. */
static bool has_cell_at(const pd_flag *flag, const void *address) {
  const pd__cell *cell = pd__flag_get_first_cell(flag);
  while (address && cell && cell->def->cell != address) cell = cell->next;
  return cell != NULL;
}

/* A definition on its way into the registry. */
typedef struct registration {
  pd_flag_def def;
  pd_module *modules[USED];
  bool modules_stay;    /* all of its modules do */
  bool replaces;        /* a definition of the name makes way for it, and so do `hooks` */
  const pd_hook *hooks; /* borrowed */
  size_t count;
  bool owns_modules; /* the definition keeps the modules */
  pd_flag *flag;     /* set once it is defined */
} registration;

/* Returns the copy that the registry keeps; NULL if memory is out. */
static registered_flag *make_registered(const registration *at) {
  const pd_flag_def *def = &at->def;
  leaving_flag one = {.made.def = *def};
  size_t size = at->modules_stay ? sizeof one.made : sizeof one, whole;
  size_t count = sizeof texts / sizeof *texts - (def->type != PD_TYPE_string);
  memcpy(one.modules, at->modules, sizeof at->modules);
  registered_flag *made = pd__copy_with_texts(&one, size, texts, count, &whole);
  if (!made) return NULL;
  made->cell = (pd__cell){.def = &made->def, .registered = true};
  pd_module *const *modules = at->modules;
  if (!made->def.module && modules[0]) made->def.module = pd__module_path(modules[0]);
  pd_module *code = modules[1] ? modules[1] : modules[2] ? modules[2] : modules[4];
  if (!code) code = modules[0];
  pd__cell_set_module(&made->cell, code); /* keeps the code while it runs */
  return made;
}

static pd_flag *find_node(const pd_flag_def *def) {
  return pd__names_find(def->name, strlen(def->name));
}

/* Returns true if the same definition has made the flag of the name, `node`, before. */
static bool is_same_registration(const registration *at, const pd_flag *node) {
  const pd_flag_def *old = node ? pd__flag_def(node) : NULL;
  return old && !at->replaces && pd__def_is_same(old, &at->def) && has_cell_at(node, at->def.cell);
}

/* Makes the plan, and asks for what it needs. Returns whether the definition is accepted and its
 * texts are stored. */
static bool prepare_registration(pd__stage *stage, registration *at, registered_flag *made,
                                 pd_flag *node, pd__report *refused) {
  for (;; node = find_node(&at->def)) {
    if (is_same_registration(at, node))
      at->flag = node; /* without an error: another thread has made it */
    if (at->flag) return false;
    bool comes_once = at->modules_stay && !pd__name_has_been_defined(node);
    stage->replaces = at->replaces && node && pd__flag_def(node);
    stage->replaced = NULL;
    if (stage->replaces && pd__flag_check_can_unregister(node, refused->first) != PD_OK) {
      refused->status = PD_ERR_CONFLICT;
      return false;
    }
    if (!pd__stage_reserve_names(stage, refused)) return false;
    if (!pd__stage_try_complete_plan(stage)) {
      if (!pd__stage_ask_hooks(stage, refused)) return false;
      continue;
    }
    if (store_definition_texts(made, comes_once)) return true;
    pd__stage_release_names(stage);
    pd__report_fail_memory(refused);
    return false;
  }
}

/* ---- Freeing ---- */

static void free_registered(pd__operation *operation, registered_flag *gone) {
  leaving_flag **at = &leaving;
  while (*at && &(*at)->made != gone) at = &(*at)->next;
  const leaving_flag *left = *at;
  if (left) {
    *at = left->next;
    remove_module_registrations(operation, left->modules);
  }
  free(gone);
}

/* Returns the first definition of the flag, which pd_flag_register has made. */
static registered_flag *first_registered_definition(const pd_flag *flag) {
  return pd__flag_def(flag) ? (registered_flag *)pd__flag_get_first_cell(flag) : NULL;
}

/* ---- Publishing ---- */

static void free_unpublished(registered_flag **made) { free(*made); }

static void publish_registration(pd__stage *stage, registration *at, registered_flag *made,
                                 pd__report *waiting) {
  pd__operation *operation = stage->operation;
  at->owns_modules = true;
  at->flag = pd__cell_flag(stage->cells);
  for (size_t i = 0; i < at->count; i++) {
    pd__hook *hook = pd__hook_find(at->hooks[i]);
    if (hook) pd__hook_remove(hook);
  }
  if (stage->replaced) {
    pd__cell *gone = pd__flag_detach_replaced_definition(stage->replaced, stage->cells->def);
    while (gone) {
      registered_flag *one = (registered_flag *)gone;
      gone = gone->next;
      free_registered(operation, one);
    }
  }
  if (!at->modules_stay) {
    leaving_flag *left = (leaving_flag *)made;
    left->next = leaving;
    leaving = left;
  }
  pd__stage_publish(stage, waiting);
}

/* The caller holds the lock. Defines the flag, or finds the one that the same definition made
 * before. */
static pd_status register_flag(pd__operation *operation, registration *at, pd_error *err) {
  pd_flag *node = find_node(&at->def);
  if (is_same_registration(at, node)) at->flag = node;
  if (at->flag) return PD_OK;
  registered_flag *made __attribute__((cleanup(free_unpublished))) = make_registered(at);
  if (!made) return pd__fail_memory(err);
  pd__report refused = {.first = err}, waiting = {.first = err};
  PD__STAGE(stage);
  pd__stage_begin(&stage, operation, &made->cell, 1);
  stage.hooks = at->hooks;
  stage.hooks_count = at->count;
  if (!prepare_registration(&stage, at, made, node, &refused)) return refused.status;
  publish_registration(&stage, at, made, &waiting);
  made = NULL;
  return waiting.status;
}

/* Watchers that stay are notified if the value is another one afterwards. */
static pd_status replace_flag(pd__operation *operation, registration *at, pd_error *err) {
  pd_flag *flag = pd__names_find(at->def.name, strlen(at->def.name));
  if (!flag || !pd__flag_def(flag)) return register_flag(operation, at, err);
  pd__flag_adopt_assigned_value(operation, flag);
  pd__changes changes = {.operation = operation};
  pd__notice **from = pd__notices_get_end(operation);
  pd_status status = pd__notices_add(&changes, flag, err);
  if (status == PD_OK) status = register_flag(operation, at, err);
  if (at->owns_modules) {
    pd__notices_drop_unchanged(operation, from);
  } else {
    pd__notices_discard_from(operation, from);
  }
  return status;
}

static pd_status register_or_replace_flag(registration *at, const pd_flag_def *def, pd_flag **out,
                                          pd_error *err) {
  if (!def) return pd__fail_null(err, "def");
  pd_status status = pd__def_convert_version(def, &at->def, err);
  if (status == PD_OK) status = pd__def_check(&at->def, true, err);
  if (status != PD_OK) return status;
  at->modules_stay = true;
  for (size_t i = 0; i < USED; i++) { /* the loader mustn't be called with the lock held */
    at->modules[i] = pd__module_add_registration(get_used_address(&at->def, i));
    at->modules_stay &= !at->modules[i] || pd__module_is_never_unloaded(at->modules[i]);
  }
  PD__LOCKED_OPERATION(operation);
  status = at->replaces ? replace_flag(&operation, at, err) : register_flag(&operation, at, err);
  if (!at->owns_modules) remove_module_registrations(&operation, at->modules);
  if (out && at->flag) *out = at->flag;
  return pd__operation_return(&operation, status);
}

pd_status pd_flag_register(const pd_flag_def *def, pd_flag **out, pd_error *err) {
  registration at = {.replaces = false};
  return register_or_replace_flag(&at, def, out, err);
}

pd_status pd_flag_replace(const pd_flag_def *def, const pd_hook *hooks, size_t count, pd_flag **out,
                          pd_error *err) {
  registration at = {.replaces = true, .hooks = hooks, .count = count};
  if (count > 0 && !hooks) return pd__fail_null(err, "hooks");
  return register_or_replace_flag(&at, def, out, err);
}

/* ---- Leaving ---- */

pd_status pd_flag_unregister(pd_flag *flag, pd_error *err) {
  if (!flag) return pd__fail_null(err, "flag");
  PD__LOCKED_OPERATION(operation);
  pd_status status = pd__flag_adopt_and_check_defined(&operation, flag, err);
  if (status == PD_OK) status = pd__flag_check_can_unregister(flag, err);
  if (status != PD_OK) return pd__operation_return(&operation, status);
  pd__flag_withdraw_and_unhook(flag);
  for (registered_flag *gone; (gone = first_registered_definition(flag));) {
    pd__undefine_cells(&operation, &gone->cell, 1);
    free_registered(&operation, gone);
  }
  return pd__operation_return(&operation, PD_OK);
}

static bool is_using_module(const registered_flag *one, const pd_module *module) {
  size_t i = 0;
  while (i < USED && !pd__module_has_address(module, get_used_address(&one->def, i))) i++;
  return i < USED;
}

void pd__flags_unregister_for_module(pd__operation *operation, const pd_module *module) {
  for (leaving_flag **at = &leaving; *at;) {
    registered_flag *made = &(*at)->made;
    if (!is_using_module(made, module)) {
      at = &(*at)->next;
      continue;
    }
    pd__undefine_cells(operation, &made->cell, 1);
    free_registered(operation, made);
  }
}
