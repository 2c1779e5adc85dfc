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
static void withdraw_after_failed_load(pd__operation *operation, const pd__loading *load,
                                       pd_module *withdrawn, pd_module *with) {
  pd__membership *member = pd__module_get_membership(withdrawn);
  pd__report late = {.list = member->errors};
  pd__report_fail(&late, PD_ERR_LOAD, "%.400s: came with %.400s, which was refused",
                  pd__module_path(withdrawn), load->path);
  member->status = late.status;
  member->withdrawn_with = with;
  if (with) pd__module_get_membership(with)->has_companions = true;
  pd__member_drop_definitions(operation, withdrawn);
}

/* Returns true if `module` (NULL if none was opened) and all modules that joined during this load
 * were accepted. */
static bool try_accept_load(const pd__loading *ended, const pd_module *module) {
  bool accepted = module && pd__module_get_membership(module)->status == PD_OK && !ended->lost;
  for (const pd__joined *each = ended->joined; each; each = each->next) {
    const pd__membership *member = pd__module_get_membership(each->module);
    bool refused = each->refused || member->status != PD_OK;
    if (refused && !member->record) pd__module_set_present(each->module, false);
    accepted &= !refused;
  }
  return accepted;
}

/* Ends the load for the modules that joined in it. If it has failed, those that nobody else holds
 * are withdrawn. */
static void end_load_of_joined_modules(pd__operation *operation, pd__loading *ended,
                                       pd_module *module, bool accepted) {
  for (const pd__joined *each = ended->joined; each; each = each->next) {
    pd_module *joined = each->module;
    pd__membership *member = pd__module_get_membership(joined);
    if (member->joined_in != ended) continue; /* since then it has joined as part of another load */
    member->joined_in = NULL;
    bool stays =
        accepted || pd__module_is_retained(joined) || member->status != PD_OK || !member->record;
    if (!stays) withdraw_after_failed_load(operation, ended, joined, module);
  }
  ended->joined = NULL;
}

/* ---- Opening ---- */

/* The caller holds the lock. */
static void begin_module_load(pd__loading *load, pd_module *module, void *handle) {
  pd__module_begin_load(module, handle);
  load->module = module;
}

/* Holds the module at the address if it has joined in its constructor, and was accepted. */
static void retain_joined_module(pd__loading *load, const void *inside, void *handle) {
  pd__platform_lock();
  pd_module *module = pd__module_find_at(inside);
  const pd__membership *member = module ? pd__module_get_membership(module) : NULL;
  bool joined = member && member->record && member->announces && member->status == PD_OK;
  if (joined) begin_module_load(load, module, handle);
  pd__platform_unlock();
}

/* Holds the module at the address, and joins it, unless memory is out. A library without flags has
 * no record, so it gets its membership here. Others haven't joined in their constructors: one of
 * another ABI, which looks for its own host only, one that was refused before, one that another
 * thread's unload has withdrawn since, and a record without a constructor. */
static void retain_and_join_module(pd__loading *load, const void *inside, void *handle) {
  pd__platform_image *image = pd__platform_find_image(PD__NO_RECORDS, inside);
  if (!image) return;
  pd__platform_lock();
  pd_module *module = pd__module_find_at(inside);
  if (!module || !pd__module_get_membership(module)) module = pd__member_add(image);
  if (module) begin_module_load(load, module, handle);
  pd__platform_unlock();
  free(image);
  if (module) pd__members_join_loaded(inside);
}

/* The modules that came with `module` when it was refused join again: the loader doesn't run their
 * constructors again. */
static void rejoin_withdrawn(pd__operation *operation, pd__loading *load, pd_module *module) {
  pd__membership *refused = pd__module_get_membership(module);
  if (!refused->has_companions) return;
  refused->has_companions = false;
  for (pd_module *each = NULL; (each = pd__module_next(each));) {
    pd__membership *member = pd__module_get_membership(each);
    if (!member || member->withdrawn_with != module || !member->record) continue;
    pd__member_join(operation, member->record, NULL, load);
  }
}

/* Opens the library and returns its module, which is held; NULL on an error. */
static pd_module *open_module(pd__loading *load, void **handle) {
  const void *inside;
  pd_error err;
  PD__IN_LOADER(load);
  pd_status status = pd__platform_open_library(load->path, handle, &inside, &err);
  if (status == PD_OK) retain_joined_module(load, inside, *handle);
  if (status == PD_OK && !load->module) retain_and_join_module(load, inside, *handle);
  if (status == PD_OK && !load->module) pd__fail_memory(&err);
  if (!load->module) pd__report_add(&load->report, &err);
  return load->module;
}

/* A module that was already loaded keeps the names that it got then. */
static bool check_same_namespace(const pd__loading *load, const pd_module *module,
                                 pd__report *report) {
  const pd__membership *member = pd__module_get_membership(module);
  if (!member->record || !strcmp(member->name_space, load->name_space)) return true;
  const char *in = *member->name_space ? "in namespace " : "without a namespace";
  pd__report_fail(report, PD_ERR_CONFLICT, "%.400s: is already loaded, %s%s",
                  pd__module_path(module), in, member->name_space);
  return false;
}

/* Gives back what begin_module_load counted, and returns the handle if the caller is to close it. A
 * module with a record reports by itself when it leaves. */
static void *abort_module_load(pd_module *module) {
  if (!pd__module_get_membership(module)->record) pd__module_set_present(module, false);
  return pd__module_cancel_load(module);
}

/* Withdraws a module that nobody holds any more, but that stays in the process since others call
 * its code. Whoever keeps it for that decides so before this, or looks whether it is still held. */
static void withdraw_if_kept_loaded(pd_module *module) {
  PD__LOCKED_OPERATION(operation);
  const pd__membership *member = pd__module_get_membership(module);
  bool kept = pd__module_end_closing(module) && member && member->record;
  if (kept) pd__member_withdraw(&operation, module);
  pd__operation_end(&operation);
}

void pd__loads_set_close_handler(void) { pd__module_closed = withdraw_if_kept_loaded; }

static void close_library_and_withdraw(pd_module *module, void *handle) {
  pd__loader_close_library(handle);
  withdraw_if_kept_loaded(module);
}

/* The caller holds the lock. Nothing remains of a load that isn't accepted. Returns the handle if
 * the caller is to close it. */
static void *commit_or_abort_load(pd__operation *operation, pd__loading *ended, bool accepted) {
  pd_module *module = ended->module;
  ended->module = NULL;
  void *closing = module && !accepted ? abort_module_load(module) : NULL;
  if (module && accepted) pd__module_turn_load_into_opening(module);
  end_load_of_joined_modules(operation, ended, module, accepted);
  return closing;
}

static void free_loading(pd__loading *load) {
  pd__arena_free(&load->arena);
  pd_error_list_free(load->report.list);
  free(load);
}

/* Takes the lock; runs however the load ends, also when a hook throws. What is still deferred goes
 * to the enclosing load. */
static void end_and_free_load(pd__loading **ended) {
  pd__loading *load = *ended;
  pd__loading_end(load);
  PD__LOCKED_OPERATION(operation);
  pd_module *module = load->module;
  void *closing = commit_or_abort_load(&operation, load, false);
  pd__deferred_hand_over(&operation, load, pd__loader_get_deferred_owner());
  pd__operation_unlock(&operation);
  free_loading(load);
  if (closing) close_library_and_withdraw(module, closing);
  if (operation.deferred) pd__deferred_notify_handler(&operation);
}

/* Returns the load of a path; NULL if memory is out. */
static pd__loading *make_loading(const char *path, const char *name_space) {
  pd__loading *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->path = pd__arena_copy_text(&made->arena, path, strlen(path));
  pd__platform_lock();
  made->name_space = pd__intern_text(name_space);
  pd__platform_unlock();
  made->report = (pd__report){.list = pd_error_list_new(), .first = &made->first};
  if (made->path && made->name_space) return made;
  free_loading(made);
  return NULL;
}

/* Adds the errors to those of the caller. */
static void report_load_errors(const pd__loading *load, pd__report *caller) {
  pd__report_add_error_list(caller, load->report.list);
  if (caller->status == PD_OK && load->report.status != PD_OK) pd__report_add(caller, &load->first);
}

static void load_module(pd__loading *load, pd__report *caller, pd_module **out) {
  void *handle = NULL;
  pd__report *report = &load->report;
  pd__loading *ended __attribute__((cleanup(end_and_free_load), unused)) = load;
  pd__loading_begin(load);
  pd_module *module = open_module(load, &handle);
  PD__LOCKED_OPERATION(operation);
  if (module) rejoin_withdrawn(&operation, load, module);
  bool sound = module && check_same_namespace(load, module, report);
  bool accepted = try_accept_load(load, module) && sound;
  if (!accepted && report->status == PD_OK) pd__report_fail_memory(report); /* for the message */
  void *closing = commit_or_abort_load(&operation, load, accepted);
  pd__families_update_changed(&operation, report);
  if (accepted && out) *out = module; /* before watchers are notified below: one may throw */
  pd__operation_end(&operation);
  if (closing) close_library_and_withdraw(module, closing);
  if (!module && handle) pd__loader_close_library(handle);
  if (!pd__loader_is_entered()) pd__deferred_run(load, report);
  report_load_errors(load, caller);
}

pd_status pd_module_load_as(const char *path, const char *name_space, pd_error_list *errors,
                            pd_module **out, pd_error *err) {
  if (!path) return pd__fail_null(err, "path");
  if (!name_space) name_space = "";
  pd__report report = {.list = errors, .first = err};
  pd_status status = *name_space ? pd__namespace_check(name_space, err) : PD_OK;
  if (status != PD_OK) return status;
  pd__loading *load = make_loading(path, name_space);
  if (!load) return pd__fail_memory(err);
  load_module(load, &report, out);
  return report.status;
}

pd_status pd_module_load(const char *path, pd_error_list *errors, pd_module **out, pd_error *err) {
  return pd_module_load_as(path, NULL, errors, out, err);
}

pd_status pd_module_unload(pd_module *module, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  PD__LOCKED_OPERATION(operation);
  if (!pd__module_has_opening(module)) {
    return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: is not loaded by pd_module_load",
                    pd__module_path(module));
  }
  pd__module_end_opening(&operation, module);
  bool announces = pd__module_get_membership(module)->record != NULL;
  if (!pd__module_is_retained(module) && !announces) {
    pd__member_undo_registrations(&operation, module);
    pd__module_set_present(module, false);
  }
  return pd__operation_return(&operation, PD_OK);
}

/* ---- Listing ---- */

pd_module *pd_module_next(const pd_module *previous) {
  pd__platform_lock();
  pd_module *module = pd__module_next(previous);
  while (module && !pd__module_get_membership(module)) module = pd__module_next(module);
  pd__platform_unlock();
  return module;
}

/* Returns the flag at `index`, or NULL with the number of flags in *count. */
static pd_flag *find_module_flag(const pd_module *module, size_t index, size_t *count) {
  pd_flag *found = NULL;
  *count = 0;
  for (const pd__defs *defs = pd__module_get_membership(module)->defs; defs && !found;
       defs = defs->more) {
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
    const pd__membership *member = pd__module_get_membership(each);
    if (member && pd__module_is_present(each)) pd__report_add_error_list(&report, member->refused);
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
  const pd__membership *member = pd__module_get_membership(module);
  found.path = pd__module_path(module);
  found.present = pd__module_is_present(module);
  find_module_flag(module, SIZE_MAX, &found.flags);
  found.status = member->status;
  found.name_space = member->name_space;
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
  if (!flag)
    return pd__fail(err, PD_ERR_ARGUMENT, "%.400s: has no flag %zu", pd__module_path(module),
                    index);
  *out = flag;
  return PD_OK;
}

pd_status pd_module_get_errors(const pd_module *module, pd_error_list *errors, pd_error *err) {
  if (!module) return pd__fail_null(err, "module");
  if (!errors) return pd__fail_null(err, "errors");
  pd__report report = {.list = errors};
  size_t before = pd_error_list_count(errors);
  pd__platform_lock();
  const pd_error_list *own = pd__module_get_membership(module)->errors;
  pd__report_add_error_list(&report, own);
  bool whole = pd_error_list_count(errors) - before == pd_error_list_count(own);
  pd__platform_unlock();
  return whole ? PD_OK : pd__fail_memory(err);
}
