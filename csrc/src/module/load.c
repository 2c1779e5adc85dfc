/* Loading modules by path. */
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "../registry/deferred.h"
#include "../registry/loader.h"
#include "module.h"

/* ---- The end of a load ---- */

/* Undefines what a failed load brought, which may stay in the process: musl unloads nothing, and no
 * loader unloads a library linked with -z nodelete. A later load finds the module refused and lets
 * it try again. */
static void withdraw_module(pd__operation *operation, const pd__loading *load, pd_module *withdrawn,
                            pd_module *with) {
  pd__membership *member = withdrawn->membership;
  pd__report late = {.list = member->errors};
  pd__report_fail(&late, PD_ERR_LOAD, "%.400s: came with %.400s, which was refused",
                  withdrawn->path, load->path);
  member->status = late.status;
  member->withdrawn_with = with;
  if (with) with->membership->has_companions = true;
  pd__member_undefine(operation, withdrawn);
}

/* Returns true if `module` (NULL if none was opened) and all modules that joined during this load
 * were accepted. */
static bool is_accepted(const pd__loading *ended, const pd_module *module) {
  bool accepted = module && module->membership->status == PD_OK && !ended->lost;
  for (const pd__joined *each = ended->joined; each; each = each->next) {
    const pd__membership *member = each->module->membership;
    bool refused = member->status != PD_OK;
    if (refused && !member->record) each->module->present = false;
    accepted &= !refused;
  }
  return accepted;
}

/* Ends the load for the modules that joined in it. If it has failed, those that nobody else holds
 * are withdrawn. */
static void end_joined(pd__operation *operation, pd__loading *ended, pd_module *module,
                       bool accepted) {
  for (const pd__joined *each = ended->joined; each; each = each->next) {
    pd_module *joined = each->module;
    pd__membership *member = joined->membership;
    if (member->joined_in != ended) continue; /* since then it has joined as part of another load */
    member->joined_in = NULL;
    bool stays = accepted || joined->opened > 0 || member->status != PD_OK || !member->record;
    if (!stays) withdraw_module(operation, ended, joined, module);
  }
  ended->joined = NULL;
}

/* ---- Opening ---- */

/* The caller holds the lock. Counts the handle: nobody else's unload withdraws the module from now
 * on. */
static void hold_module(pd__loading *load, pd_module *module, void *handle) {
  module->handle = handle;
  module->opened++;
  load->held = module;
}

/* Holds the module at the address if it has joined in its constructor, and was accepted. */
static void hold_joined(pd__loading *load, const void *inside, void *handle) {
  pd__platform_lock();
  pd_module *module = pd__module_find_at(inside);
  const pd__membership *member = module ? module->membership : NULL;
  bool joined = member && member->record && member->announces && member->status == PD_OK;
  if (joined) hold_module(load, module, handle);
  pd__platform_unlock();
}

/* Holds the module at the address, and joins it, unless memory is out. A library without flags has
 * no record, so it gets its membership here. Others haven't joined in their constructors: one of
 * another ABI, which looks for its own host only, one that was refused before, one that another
 * thread's unload has withdrawn since, and a record without a constructor. */
static void hold_unjoined(pd__loading *load, const void *inside, void *handle) {
  pd__platform_image *image = pd__platform_find_image(PD__NO_RECORDS, inside);
  if (!image) return;
  pd__platform_lock();
  pd_module *module = pd__module_find_at(inside);
  if (!module || !module->membership) module = pd__member_add(image);
  if (module) hold_module(load, module, handle);
  pd__platform_unlock();
  free(image);
  if (module) pd__members_join_loaded(inside);
}

/* The modules that came with `module` when it was refused join again: the loader doesn't run their
 * constructors again. */
static void rejoin_withdrawn(pd__operation *operation, pd_module *module) {
  if (!module->membership->has_companions) return;
  module->membership->has_companions = false;
  for (pd_module *each = NULL; (each = pd__module_next(each));) {
    pd__membership *member = each->membership;
    if (!member || member->withdrawn_with != module || !member->record) continue;
    pd__member_join(operation, member->record, NULL, pd__loading_now);
  }
}

/* Opens the library and returns its module, which is held; NULL on an error. */
static pd_module *open_module(pd__loading *load, void **handle) {
  const void *inside;
  pd_error err;
  PD__IN_LOADER(load);
  pd_status status = pd__platform_open_library(load->path, handle, &inside, &err);
  if (status == PD_OK) hold_joined(load, inside, *handle);
  if (status == PD_OK && !load->held) hold_unjoined(load, inside, *handle);
  if (status == PD_OK && !load->held) pd__fail_memory(&err);
  if (!load->held) pd__report_add(load->report, &err);
  return load->held;
}

/* A module that was already loaded keeps the names that it got then. */
static bool check_namespace(const pd__loading *load, const pd_module *module, pd__report *report) {
  if (!module->membership->record || !strcmp(module->name_space, load->name_space)) return true;
  const char *in = *module->name_space ? "in namespace " : "without a namespace";
  pd__report_fail(report, PD_ERR_CONFLICT, "%.400s: is already loaded, %s%s", module->path, in,
                  module->name_space);
  return false;
}

/* Gives back what hold_module counted. Returns true if the caller is to close the handle, without
 * the lock; otherwise whoever pins the module does. A module with a record reports by itself when
 * it leaves. */
static bool release_module(pd_module *module) {
  if (!module->membership->record) module->present = false;
  module->opened--;
  bool closes = module->pinned == 0;
  ++*(closes ? &module->closers : &module->closing);
  return closes;
}

/* Withdraws a module that nobody holds any more, but that stays in the process since others call
 * its code. Whoever keeps it for that decides so before this, or looks whether it is still held. */
static void withdraw_kept(pd_module *module) {
  PD__LOCKED_OPERATION(operation);
  const pd__membership *member = module->membership;
  module->closers--;
  bool kept = module->opened == 0 && module->kept && member && member->record;
  if (kept) pd__member_withdraw(&operation, module);
  pd__operation_end(&operation);
}

void pd__loads_begin(void) { pd__module_closed = withdraw_kept; }

static void close_module(pd_module *module, void *handle) {
  pd__loader_close(handle);
  withdraw_kept(module);
}

/* The caller holds the lock. Nothing remains of a load that isn't accepted. Returns whether the
 * caller is to close the handle. */
static bool finish_load(pd__operation *operation, pd__loading *ended, bool accepted) {
  pd_module *module = ended->held;
  ended->held = NULL;
  bool closes = module && !accepted && release_module(module);
  end_joined(operation, ended, module, accepted);
  return closes;
}

/* Takes the lock; runs however the load ends, also when a hook throws. What is still deferred goes
 * to the enclosing load. */
static void end_loading(pd__loading **ended) {
  pd__loading *load = *ended;
  void *handle = load->held ? load->held->handle : NULL;
  pd__loading_now = load->outer;
  PD__LOCKED_OPERATION(operation);
  pd_module *module = load->held;
  bool closes = finish_load(&operation, load, false);
  pd__deferred_hand_over(&operation, load, pd__loader_now.owner);
  pd__operation_unlock(&operation);
  pd__arena_free(&load->arena);
  if (closes) close_module(module, handle);
  if (operation.deferred) pd__deferred_announce(&operation);
}

static pd_status load_module(pd__loading *load, pd_module **out) {
  void *handle = NULL;
  pd__report *report = load->report;
  pd__loading *now __attribute__((cleanup(end_loading))) = load;
  load->outer = pd__loading_now;
  pd__loading_now = now;
  pd_module *module = open_module(load, &handle);
  PD__LOCKED_OPERATION(operation);
  if (module) rejoin_withdrawn(&operation, module);
  bool sound = module && check_namespace(load, module, report);
  bool accepted = is_accepted(load, module) && sound;
  if (!accepted && report->status == PD_OK) pd__report_fail_memory(report); /* for the message */
  bool closes = finish_load(&operation, load, accepted);
  pd__impls_update_families(&operation, report);
  if (accepted && out) *out = module; /* before watchers are notified below: one may throw */
  pd__operation_end(&operation);
  if (closes) close_module(module, handle);
  if (!module && handle) pd__loader_close(handle);
  if (!pd__loader_now.within) pd__deferred_run(load, report);
  return report->status;
}

pd_status pd_module_load_as(const char *path, const char *name_space, pd_error_list *errors,
                            pd_module **out, pd_error *err) {
  if (!path) return pd__fail_null(err, "path");
  if (!name_space) name_space = "";
  pd__report report = {.list = errors, .first = err};
  pd_status status = *name_space ? pd__namespace_check(name_space, err) : PD_OK;
  if (status != PD_OK) return status;
  pd__platform_lock();
  const char *stored = pd__intern_text(name_space);
  pd__platform_unlock();
  if (!stored) return pd__fail_memory(err);
  pd__loading load = {.path = path, .name_space = stored, .report = &report};
  return load_module(&load, out);
}

pd_status pd_module_load(const char *path, pd_error_list *errors, pd_module **out, pd_error *err) {
  return pd_module_load_as(path, NULL, errors, out, err);
}

pd_status pd_module_unload(pd_module *module, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  PD__LOCKED_OPERATION(operation);
  if (module->opened == 0) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: is not loaded by pd_module_load", module->path);
  }
  pd__module_close(&operation, module);
  if (module->opened == 0 && !module->has_record) { /* a record reports by itself when it leaves */
    pd__member_remove_registered(&operation, module);
    module->present = false;
  }
  return pd__operation_return(&operation, PD_OK);
}

/* ---- Listing ---- */

pd_module *pd_module_next(const pd_module *previous) {
  pd__platform_lock();
  pd_module *module = pd__module_next(previous);
  while (module && !module->membership) module = pd__module_next(module);
  pd__platform_unlock();
  return module;
}

/* Returns the flag at `index`, or NULL with the number of flags in *count. */
static pd_flag *find_module_flag(const pd_module *module, size_t index, size_t *count) {
  pd_flag *found = NULL;
  *count = 0;
  for (const pd__defs *defs = module->membership->defs; defs && !found; defs = defs->more) {
    for (size_t i = 0; i < defs->count && !found; i++) {
      if (defs->cells[i].def->kind != PD_KIND_DEFINE) continue;
      if ((*count)++ == index) found = pd__cell_flag(&defs->cells[i]);
    }
  }
  return found;
}

pd_status pd_modules_check(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  pd__platform_lock();
  for (pd_module *each = NULL; (each = pd__module_next(each));) {
    if (each->present && each->membership) pd__report_add_all(&report, each->membership->refused);
  }
  pd__platform_unlock();
  return report.status;
}

pd_status pd_module_get_info(const pd_module *module, pd_module_info *info, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  pd_module_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_module_info, name_space), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  found.path = module->path;
  found.present = module->present;
  find_module_flag(module, SIZE_MAX, &found.flags);
  found.status = module->membership->status;
  found.name_space = module->name_space;
  pd__platform_unlock();
  pd__sized_copy_out(info, &found, sizeof found);
  return PD_OK;
}

pd_status pd_module_get_flag(const pd_module *module, size_t index, pd_flag **out, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  if (!out) return pd__fail_null(err, "out");
  size_t count;
  pd__platform_lock();
  pd_flag *flag = find_module_flag(module, index, &count);
  pd__platform_unlock();
  if (!flag) return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: has no flag %zu", module->path, index);
  *out = flag;
  return PD_OK;
}

pd_status pd_module_get_errors(const pd_module *module, pd_error_list *errors, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  if (!errors) return pd__fail_null(err, "errors");
  pd__report report = {.list = errors};
  size_t before = pd_error_list_count(errors);
  pd__platform_lock();
  const pd_error_list *own = module->membership->errors;
  pd__report_add_all(&report, own);
  bool whole = pd_error_list_count(errors) - before == pd_error_list_count(own);
  pd__platform_unlock();
  return whole ? PD_OK : pd__fail_memory(err);
}
