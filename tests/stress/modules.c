/* Plugins that threads load, load again while they are there, and unload; and flags of the same
 * names that come and go, by which one kind of plugin is refused and tries again. */
#include <dlfcn.h>
#include <unistd.h>

#include "modules.h"

#define LASTING(n)                                                                                 \
  {                                                                                                \
    .file = "lasting_" #n,                                                                         \
    .flags = {"lasting_" #n "_first", "lasting_" #n "_second", "lasting_" #n "_third"},            \
    .can_conflict = true                                                                           \
  }

/* whole_a and whole_b are the same source, and so define the same flags together. Those of
 * lasting.c never leave the process, so each can be refused only until it was accepted. */
plugin plugins[] = {
    {.file = "whole_a",
     .flags = {"whole_level", "whole_mode", "whole_on", "whole_ratio"},
     .may_reject = true},
    {.file = "whole_b",
     .flags = {"whole_level", "whole_mode", "whole_on", "whole_ratio"},
     .may_reject = true},
    {.file = "chosen", .flags = {"chosen_level", "chosen_mode"}, .rank = 100},
    {.file = "swift", .flags = {"swift_level"}, .rank = 50},
    {.file = "clashing",
     .flags = {"clashing_first", "clashing_second", "clashing_third"},
     .can_conflict = true},
    {.file = "importer", .flags = {"importer_level"}},
    {.file = "late", .flags = {"late_level"}, .changes = true},
    {.file = "scoped", .flags = {"plugin_scoped_level", "plugin_scoped_mode"}},
    {.file = "named", .flags = {"named_level", "named_mode"}, .named = true},
    LASTING(0),
    LASTING(1),
    LASTING(2),
    LASTING(3),
    LASTING(4),
    LASTING(5),
};
const size_t plugin_count = sizeof plugins / sizeof *plugins;
static plugin *const whole_b = &plugins[1], *const swift = &plugins[3],
                     *const clashing = &plugins[4];

size_t count_plugin_flags(const plugin *of) {
  size_t count = 0;
  while (count < PLUGIN_FLAGS && of->flags[count]) count++;
  return count;
}

void find_plugins(const char *directory) {
  for (size_t i = 0; i < plugin_count; i++) {
    snprintf(plugins[i].path, sizeof plugins[i].path, "%s/lib%s.so", directory, plugins[i].file);
    if (access(plugins[i].path, R_OK) != 0) FAIL(NULL, "%s is missing", plugins[i].path);
  }
}

/* ---- Loading ---- */

/* Every error of a load is about the plugin that was loaded. */
static void check_errors(const actor *who, const plugin *of, const pd_error_list *errors) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    const char *message = pd_error_list_at(errors, i)->message;
    bool own = strstr(message, of->file) != NULL;
    for (size_t k = 0; k < count_plugin_flags(of); k++)
      own |= strstr(message, of->flags[k]) != NULL;
    if (!own) FAIL(who, "an error of loading %s: %s", of->file, message);
  }
}

/* No error is there twice. */
static void check_no_repetition(const actor *who, const pd_error_list *errors) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    for (size_t k = 0; k < i; k++) {
      const char *message = pd_error_list_at(errors, i)->message;
      if (!strcmp(message, pd_error_list_at(errors, k)->message)) FAIL(who, "twice: %s", message);
    }
  }
}

static unsigned read_conflicts(const plugin *of) {
  return __atomic_load_n(&of->conflicts, __ATOMIC_SEQ_CST);
}

/* Whether a load may fail with a conflict: there was one, at some time during the call. */
static bool may_be_refused(const plugin *of, unsigned before, unsigned after) {
  return of->named || (of->can_conflict && (before != after || before % 2));
}

static void keep_hold(actor *who, plugin *of, pd_module *module) {
  hold *held = &who->holds[who->hold_count++];
  *held = (hold){of, module};
  __atomic_fetch_add(&of->held, 1, __ATOMIC_SEQ_CST);
  check_hold(who, held);
}

static pd_status load_path(actor *who, const plugin *of, pd_error_list *errors, pd_module **module,
                           pd_error *err) {
  static const char *const spaces[] = {"red", "blue"};
  if (!of->named) return pd_module_load(of->path, errors, module, err);
  return pd_module_load_as(of->path, spaces[pick_number(who, 2)], errors, module, err);
}

void load_plugin(actor *who) {
  pd_error err = {.message = ""};
  plugin *of = &plugins[pick_number(who, (unsigned)plugin_count)];
  pd_module *module = NULL;
  if (who->hold_count == HOLDS) return;
  pd_error_list *errors = pd_error_list_new();
  unsigned before = read_conflicts(of);
  pd_status status = load_path(who, of, errors, &module, &err);
  bool refused = status == PD_ERR_CONFLICT && may_be_refused(of, before, read_conflicts(of));
  bool rejected = status == PD_ERR_REFUSED && of->may_reject;
  if (status != PD_OK && !refused && !rejected) FAIL(who, "loading %s: %s", of->file, err.message);
  if (!module != refused) FAIL(who, "%s: a module on an error: %s", of->file, err.message);
  MUST(who, (pd_error_list_count(errors) == 0) == (status == PD_OK));
  check_errors(who, of, errors);
  check_no_repetition(who, errors);
  pd_error_list_free(errors);
  if (module) keep_hold(who, of, module);
}

hold *pick_hold(actor *who) {
  return who->hold_count ? &who->holds[pick_number(who, (unsigned)who->hold_count)] : NULL;
}

void unload_plugin(actor *who) {
  hold *held = pick_hold(who);
  if (!held) return;
  check_hold(who, held);
  __atomic_fetch_sub(&held->plugin->held, 1, __ATOMIC_SEQ_CST);
  MUST_BE(who, pd_module_unload(held->module, NULL), PD_OK);
  *held = who->holds[--who->hold_count];
}

/* ---- Conflicts ---- */

/* The plugin joins on its own, perhaps is refused, and stays in the process, where pd_module_load
 * lets it try again. */
void open_by_loader(actor *who) {
  plugin *of = pick_number(who, 2) ? clashing : whole_b;
  if (who->opened) {
    __atomic_fetch_sub(&who->opened_plugin->opened, 1, __ATOMIC_SEQ_CST);
    MUST(who, dlclose(who->opened) == 0);
    who->opened = NULL;
  } else {
    who->opened = dlopen(of->path, RTLD_NOW | RTLD_LOCAL);
    if (!who->opened) FAIL(who, "%s", dlerror());
    __atomic_fetch_add(&of->opened, 1, __ATOMIC_SEQ_CST);
    who->opened_plugin = of;
  }
}

static void define_conflict(const actor *who, plugin *of) {
  pd_flag_def def;
  pd_flag *flag = NULL;
  unsigned before = read_conflicts(of);
  if (before % 2 || !__atomic_compare_exchange_n(&of->conflicts, &before, before + 1, false,
                                                 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    return; /* another thread has defined it, or is about to */
  }
  pd_flag_def_init(&def, sizeof def, PD_TYPE_string);
  def.name = of->flags[0];
  pd_status status = pd_flag_register(&def, &flag, NULL);
  if (status == PD_OK) {
    sched_yield();
    MUST_BE(who, pd_flag_unregister(flag, NULL), PD_OK);
  } else {
    MUST_BE(who, status, PD_ERR_CONFLICT);
  }
  __atomic_fetch_add(&of->conflicts, 1, __ATOMIC_SEQ_CST);
}

/* A flag of the name of one of the plugin's, of another type, comes and goes. */
void change_conflict(actor *who) {
  plugin *of = clashing;
  if (pick_number(who, 2)) of = &plugins[pick_number(who, (unsigned)plugin_count)];
  if (of->can_conflict) define_conflict(who, of);
}

/* A value that the plugin gets when it joins, or now. Its validator refuses some; no two of these
 * are equal, so that no two errors are. */
void set_plugin_pending(actor *who) {
  static unsigned last;
  char text[TEXT_SIZE];
  bool bad = pick_number(who, 8) == 0;
  unsigned number = bad ? 1000 + __atomic_fetch_add(&last, 1, __ATOMIC_RELAXED) : 31;
  snprintf(text, sizeof text, "%u", number);
  pd_status status = pd_pending_set("whole_level", text, NULL, NULL);
  if (!bad || status != PD_ERR_REFUSED) MUST_BE(who, status, PD_OK);
}

/* Only plugins that joined on their own, and were refused, are there. */
void check_modules(actor *who) {
  pd_error_list *errors = pd_error_list_new();
  pd_status status = pd_modules_check(errors, NULL);
  if (status != PD_OK) MUST_BE(who, status, PD_ERR_CONFLICT);
  check_errors(who, clashing, errors);
  pd_error_list_free(errors);
}

/* ---- Between two rounds ---- */

/* How many of the plugins that define the flag are there. */
static unsigned count_holders(const char *flag) {
  unsigned count = 0;
  for (size_t i = 0; i < plugin_count; i++) {
    for (size_t k = 0; k < count_plugin_flags(&plugins[i]); k++) {
      bool there = plugins[i].held || (plugins[i].opened && &plugins[i] != clashing);
      count += there && !strcmp(plugins[i].flags[k], flag);
    }
  }
  return count;
}

static void check_flag_of(const plugin *of, size_t index, bool may_stay) {
  pd_cell_info cell = {.size = sizeof cell};
  pd_flag *flag = NULL;
  unsigned cells = 0, holders = count_holders(of->flags[index]);
  pd_status status = pd_flag_find(of->flags[index], &flag, NULL);
  while (status == PD_OK && pd_flag_get_cell(flag, cells, &cell, NULL) == PD_OK) {
    if (!cell.in_step) FAIL(NULL, "%s: cell %u has another value", of->flags[index], cells);
    cells++;
  }
  bool imported = !strcmp(of->flags[index], "whole_level") && count_holders("importer_level");
  unsigned expected = holders + (holders && imported);
  if (cells != expected && !(may_stay && cells == 1)) {
    FAIL(NULL, "%s: %u cells, %u plugins that define it", of->flags[index], cells, holders);
  }
  if ((status == PD_OK) != (cells > 0))
    FAIL(NULL, "%s: %s", of->flags[index], pd_status_name(status));
}

void check_plugins(const actor *actors) {
  for (int i = 0; i < THREADS; i++) {
    for (size_t k = 0; k < actors[i].hold_count; k++) check_hold(&actors[i], &actors[i].holds[k]);
  }
  for (size_t i = 0; i < plugin_count; i++) {
    const plugin *of = &plugins[i];
    bool lasting = of->can_conflict && of != clashing;
    bool may_stay = !of->held && (lasting || (of == clashing && of->opened));
    if (of->named) continue;
    for (size_t k = 0; k < count_plugin_flags(of); k++) check_flag_of(of, k, may_stay);
  }
}

/* ---- In the child of a fork; no other thread was in the loader ---- */

void check_child_modules(actor *who) {
  pd_module *module = NULL;
  for (size_t i = 0; i < who->hold_count; i++) check_hold(who, &who->holds[i]);
  MUST_BE(who, pd_module_load(swift->path, NULL, &module, NULL), PD_OK);
  const hold held = {swift, module};
  check_hold(who, &held);
  MUST_BE(who, pd_module_unload(module, NULL), PD_OK);
}
