/* What must be true of a plugin while a thread holds it, and of one that may be gone. */
#include <dlfcn.h>

#include "modules.h"

void name_plugin_flag(const hold *held, size_t index, char name[TEXT_SIZE]) {
  pd_module_info info = {.size = sizeof info};
  MUST_BE(NULL, pd_module_get_info(held->module, &info, NULL), PD_OK);
  const char *dot = *info.name_space ? "." : "";
  snprintf(name, TEXT_SIZE, "%s%s%s", info.name_space, dot, held->plugin->flags[index]);
}

/* Its reference of the loader lasts for this call alone. */
int call_plugin(const actor *who, const plugin *of, const char *name) {
  int (*function)(void);
  void *handle = dlopen(of->path, RTLD_NOW | RTLD_NOLOAD);
  if (!handle) FAIL(who, "%s is held, and not in the process", of->file);
  void *found = dlsym(handle, name);
  if (!found) FAIL(who, "%s", dlerror());
  memcpy(&function, &found, sizeof function);
  int result = function();
  dlclose(handle);
  return result;
}

static void check_held_flag(const actor *who, const hold *held, size_t index) {
  char name[TEXT_SIZE], text[TEXT_SIZE];
  pd_flag *flag = NULL;
  pd_flag_info info = {.size = sizeof info};
  name_plugin_flag(held, index, name);
  if (pd_flag_find(name, &flag, NULL) != PD_OK) {
    FAIL(who, "%s is held, its flag %s is undefined", held->plugin->file, name);
  }
  MUST_BE(who, pd_flag_get_info(flag, &info, NULL), PD_OK);
  MUST_BE(who, pd_flag_get_text(flag, text, sizeof text, NULL, NULL), PD_OK);
  MUST(who, !strcmp(info.name, name) && info.owner && info.cells > 0);
  if (!held->plugin->named) {
    __atomic_store_n(&held->plugin->handles[index], flag, __ATOMIC_RELEASE);
  }
}

void check_hold(const actor *who, const hold *held) {
  pd_module_info info = {.size = sizeof info};
  size_t count = count_plugin_flags(held->plugin);
  MUST_BE(who, pd_module_get_info(held->module, &info, NULL), PD_OK);
  MUST_BE(who, info.status, PD_OK);
  bool whole = held->plugin->changes ? info.flags >= count : info.flags == count;
  if (!info.present || !whole) {
    FAIL(who, "%s is held: present %d, %zu flags", held->plugin->file, info.present, info.flags);
  }
  for (size_t i = 0; i < count; i++) check_held_flag(who, held, i);
  pd_error_list *errors = pd_error_list_new();
  MUST_BE(who, pd_module_get_errors(held->module, errors, NULL), PD_OK);
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    const pd_error *each = pd_error_list_at(errors, i);
    if (each->status != PD_ERR_REFUSED) FAIL(who, "%s: %s", held->plugin->file, each->message);
  }
  pd_error_list_free(errors);
}

/* ---- Using what is held ---- */

static void use_level(const actor *who, const hold *held) {
  int level = call_plugin(who, held->plugin, "level");
  MUST(who, level >= 0 && level < 999);
}

static void find_alias(const actor *who) {
  pd_flag *flag = NULL, *again = NULL;
  MUST_BE(who, pd_flag_find("whole_level", &flag, NULL), PD_OK);
  MUST_BE(who, pd_flag_find("whole-grade", &again, NULL), PD_OK);
  MUST(who, flag == again);
}

/* A flag that the plugin defines now: it is there when the call returns. */
static void define_late_flag(actor *who, const hold *held) {
  char name[TEXT_SIZE];
  pd_flag *flag = NULL;
  int number = call_plugin(who, held->plugin, "define_another");
  if (number < 0) return; /* all of them are defined */
  snprintf(name, sizeof name, "late_%d", number);
  MUST_BE(who, pd_flag_find(name, &flag, NULL), PD_OK);
}

/* The flag's value in this thread is that of its scope, whatever others do. */
static void scope_plugin_flag(actor *who) {
  int32_t value = 0, number = (int32_t)pick_number(who, 100);
  pd_flag *flag = NULL;
  pd_scope scope = 0;
  MUST_BE(who, pd_flag_find("plugin_scoped_level", &flag, NULL), PD_OK);
  pd_assignment item = {.flag = flag, .type = PD_TYPE_int32, .value = {.i64 = number}};
  MUST_BE(who, pd_scope_push(&item, 1, NULL, NULL, &scope, NULL), PD_OK);
  MUST_BE(who, pd_flag_get_int32(flag, &value, NULL), PD_OK);
  MUST(who, value == number);
  MUST_BE(who, pd_scope_pop(scope, NULL), PD_OK);
}

void use_hold(actor *who) {
  hold *held = pick_hold(who);
  if (!held) return;
  check_hold(who, held);
  use_level(who, held);
  if (held->plugin->rank) MUST(who, call_plugin(who, held->plugin, "call") >= 0);
  if (held->plugin->may_reject) find_alias(who);
  if (held->plugin->changes) define_late_flag(who, held);
  if (!strcmp(held->plugin->file, "scoped")) scope_plugin_flag(who);
}

/* ---- Flags that may be gone ---- */

static pd_flag *known_flag(const plugin *of, size_t index) {
  return __atomic_load_n(&of->handles[index], __ATOMIC_ACQUIRE);
}

/* Others change what a validator is asked about, again and again. */
static bool is_unlucky(pd_status status, const pd_error *err) {
  return status == PD_ERR_REFUSED && strstr(err->message, "kept changing");
}

void set_plugin_flags(actor *who) {
  const plugin *of = &plugins[pick_number(who, (unsigned)plugin_count)];
  pd_flag *flag = known_flag(of, 0);
  bool bad = of->may_reject && pick_number(who, 8) == 0;
  pd_error err;
  if (!flag) return;
  pd_status status = pd_flag_set_from_string(flag, bad ? "999" : "29", &err);
  if (status == PD_ERR_UNDEFINED || (bad && status == PD_ERR_REFUSED)) return;
  if (!is_unlucky(status, &err)) MUST_BE(who, status, PD_OK);
}

static void count_change(pd_flag *flag, void *counter) {
  (void)flag;
  __atomic_fetch_add((unsigned *)counter, 1, __ATOMIC_RELAXED);
  yield_sometimes();
}

void watch_plugin_flag(actor *who) {
  static unsigned changes;
  const plugin *of = &plugins[pick_number(who, (unsigned)plugin_count)];
  pd_flag *flag = known_flag(of, count_plugin_flags(of) - 1); /* nobody unregisters it */
  if (who->plugin_watcher) {
    MUST_BE(who, pd_hook_remove(who->plugin_watcher, NULL), PD_OK);
    who->plugin_watcher = 0;
  } else if (flag) {
    pd_status status =
        pd_watcher_add(flag, count_change, &changes, NULL, &who->plugin_watcher, NULL);
    if (status != PD_ERR_UNDEFINED) MUST_BE(who, status, PD_OK);
  }
}

static const char *text_for(const char *name) {
  if (strstr(name, "_mode")) return "best";
  if (strstr(name, "_on")) return "true";
  return strstr(name, "_ratio") ? "0.5" : "5";
}

/* All flags of a plugin are defined, or none is. A batch asks for all of them at one moment, and
 * has an error for each that is undefined. Others may define the first flag where that conflicts.
 */
static void look_at_flags(const actor *who, const plugin *of) {
  pd_assignment items[PLUGIN_FLAGS];
  size_t first = of->can_conflict, count = 0;
  for (size_t i = first; i < count_plugin_flags(of); i++) {
    items[count] = (pd_assignment){.flag = known_flag(of, i), .text = text_for(of->flags[i])};
    if (!items[count++].flag) return;
  }
  pd_error err;
  pd_error_list *errors = pd_error_list_new();
  pd_status status = pd_batch_set(items, count, NULL, errors, &err);
  size_t undefined = pd_error_list_count(errors);
  pd_error_list_free(errors);
  if (status == PD_OK || is_unlucky(status, &err)) return;
  MUST_BE(who, status, PD_ERR_UNDEFINED);
  if (undefined == count) return;
  FAIL(who, "%s: %zu of %zu flags are undefined: %s", of->file, undefined, count, err.message);
}

/* What the registry lists as a module of the plugin has all flags, or none. */
static void look_at_module(const actor *who, const plugin *of, const pd_module_info *info) {
  size_t count = count_plugin_flags(of), length = strlen(info->path);
  size_t own = strlen(strrchr(of->path, '/'));
  if (length < own || strcmp(info->path + length - own, strrchr(of->path, '/')) != 0) return;
  if (of->changes || info->flags == 0 || info->flags == count) return;
  FAIL(who, "%s: %zu of %zu flags are defined", of->file, info->flags, count);
}

void look_at_plugin(actor *who) {
  const plugin *of = &plugins[pick_number(who, (unsigned)plugin_count)];
  pd_module_info info = {.size = sizeof info};
  for (pd_module *each = NULL; (each = pd_module_next(each));) {
    MUST_BE(who, pd_module_get_info(each, &info, NULL), PD_OK);
    look_at_module(who, of, &info);
  }
  look_at_flags(who, of);
}
