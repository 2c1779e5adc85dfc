/* How modules join the registry and leave it. A join is a transaction: what a module brings is
 * staged where only this call sees it, and published under one hold of the lock, or not at all. */
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "../definition/stage.h"
#include "../registry/hook.h"
#include "../registry/loader.h"
#include "module.h"

static const pd_host *own_host;
static _Thread_local pd__loading *now;

void pd__members_set_host(const pd_host *host) { own_host = host; }

pd__loading *pd__loading_find_current(void) {
  return now && pd__is_frame_above(now->frame) ? now : NULL;
}

void pd__loading_begin(pd__loading *load) {
  load->frame = (uintptr_t)__builtin_frame_address(0);
  load->outer = now;
  now = load;
}

void pd__loading_end(const pd__loading *load) { now = load->outer; }

/* ---- Membership ---- */

/* Returns the module of an image that registered something before its record joined, or that was
 * loaded without a record. */
static pd_module *find_module_without_record(const pd__platform_image *image) {
  pd_module *module = pd__module_find_at((const void *)image->low);
  bool same = module && pd__module_has_same_range(module, image);
  const pd__membership *member = same ? pd__module_get_membership(module) : NULL;
  return same && !(member && member->record) ? module : NULL;
}

static void free_member_errors(pd__membership *member) {
  pd_error_list_free(member->errors);
  pd_error_list_free(member->refused);
  member->errors = member->refused = NULL;
}

pd_module *pd__member_add(const pd__platform_image *image) {
  pd_module *module = find_module_without_record(image);
  if (!module) module = pd__module_add(image);
  if (!module) return NULL;
  pd__membership *member = pd__module_get_membership(module);
  if (member) free_member_errors(member);
  if (!member) member = pd__alloc_forever(sizeof *member);
  if (!member) return NULL;
  *member = (pd__membership){
      .name_space = "", .joined_in = member->joined_in, .has_companions = member->has_companions};
  pd__module_set_membership(module, member);
  return module;
}

void pd__member_drop_definitions(pd__operation *operation, pd_module *module) {
  pd__membership *member = pd__module_get_membership(module);
  for (pd__defs *defs = member->defs; defs; defs = defs->more) {
    pd__undefine_cells(operation, defs->cells, defs->count);
    pd__impls_unlink(defs->impls, defs->impls_count);
  }
  pd__defs_free_list(&member->defs);
}

void pd__member_undo_registrations(pd__operation *operation, pd_module *module) {
  pd__flags_unregister_for_module(operation, module);
  pd__impls_unregister_for_module(operation, module);
  pd__hooks_remove_for_module(operation, module);
}

static pd_status check_abi(const pd_module_record *record, const char *path, pd_error *err) {
  if (record->abi != PD_ABI_VERSION) {
    return pd__fail(err, PD_ERR_ABI, "%.400s: built for ABI version %u, expected %d", path,
                    record->abi, PD_ABI_VERSION);
  }
  if (record->size >= PD__SMALLEST_RECORD) return PD_OK;
  return pd__fail(err, PD_ERR_ABI, "%.400s: its module record has %u bytes, expected %zu or more",
                  path, record->size, PD__SMALLEST_RECORD);
}

/* ---- One attempt ---- */

/* What one call stages. Nobody else sees it. */
typedef struct attempt {
  pd__operation *operation;
  pd_module *module;
  pd_module_record *record;
  bool joined_before; /* the record has joined: only definitions that were added later are staged */
  const char *name_space;
  pd__runtime_defs runtime_defs;
  pd__defs *defs;
  pd__stage stage;
  pd__report refused, waiting; /* both add to `errors` */
  pd_error_list *errors;
} attempt;

typedef enum outcome {
  JOINED,
  REFUSED,
  STALE /* another call has published or withdrawn some of it: look again */
} outcome;

static void drop_attempt(attempt *at) {
  pd__stage_free_plan(&at->stage);
  pd__defs_free_list(&at->defs);
  pd_error_list_free(at->errors);
}

#define ATTEMPT(name) attempt name __attribute__((cleanup(drop_attempt))) = {.operation = NULL}

static void begin_attempt(attempt *at, pd__operation *operation, pd_module *module,
                          pd_module_record *record) {
  at->operation = operation;
  at->module = module;
  at->record = record;
  at->errors = pd_error_list_new();
  at->refused = (pd__report){.list = at->errors};
  at->waiting = (pd__report){.list = at->errors};
}

/* Reads everything that the attempt stages, and checks each definition by itself. */
static void stage_attempt_definitions(attempt *at) {
  at->runtime_defs = pd__runtime_defs_get_range(at->record, pd__module_get_end_address(at->module),
                                                !at->joined_before);
  at->defs = pd__defs_read(at->joined_before ? NULL : at->record, at->runtime_defs, at->module,
                           at->name_space, &at->refused);
  if (at->defs) pd__stage_begin(&at->stage, at->operation, at->defs->cells, at->defs->count);
}

/* Late definitions are processed from the oldest on. */
static bool is_attempt_stale(const attempt *at) {
  const pd__membership *member = pd__module_get_membership(at->module);
  bool joined = at->record->state == at->module && member->record == at->record;
  if (!at->joined_before) return joined && member->status == PD_OK;
  const pd_late_def *oldest = at->runtime_defs.first;
  while (oldest->next != at->runtime_defs.end) oldest = oldest->next;
  return !joined || oldest->seen;
}

/* Checks the definitions against the registry, all together: links the implementations, and
 * reserves the names. unlink_and_release_names gives both back before the lock is released, or they
 * are published. */
static bool link_and_reserve_names(attempt *at) {
  pd__defs *defs = at->defs;
  pd__report *refused = &at->refused;
  if (!pd__impls_link(defs->impls, defs->impls_count, refused)) return false;
  bool both = defs->impls_count > 0;
  bool checked = !both || pd__impls_check_flag_collisions(defs->cells, defs->count, refused);
  if (checked && pd__stage_reserve_names(&at->stage, refused)) return true;
  pd__impls_unlink(defs->impls, defs->impls_count);
  return false;
}

/* Undoes link_and_reserve_names. */
static void unlink_and_release_names(attempt *at) {
  pd__impls_unlink(at->defs->impls, at->defs->impls_count);
  pd__stage_release_names(&at->stage);
}

/* Stores the host before late definitions are read again: one that is added afterwards sees the
 * host and joins by itself. */
static void mark_record_joined(const attempt *at) {
  pd_module *module = at->module;
  pd_module_record *record = at->record;
  __atomic_store_n(&record->host, own_host, __ATOMIC_SEQ_CST);
  __atomic_store_n(&record->state, module, __ATOMIC_RELEASE);
  pd__membership *member = pd__module_get_membership(module);
  member->record = record;
  member->name_space = at->name_space;
  pd__module_mark_has_record(module);
}

static void publish_attempt(attempt *at) {
  pd__membership *member = pd__module_get_membership(at->module);
  pd__defs *defs = at->defs, **end = &member->defs;
  if (!at->joined_before) mark_record_joined(at);
  while (*end) end = &(*end)->more;
  *end = defs;
  at->defs = NULL;
  pd__stage_publish(&at->stage, &at->waiting);
  pd__runtime_defs_store_result(at->runtime_defs, defs, NULL);
  pd__families_update_changed(at->operation, &at->waiting);
}

/* A refused record has joined, too: it isn't read again until it is loaded again. */
static outcome refuse_attempt(attempt *at) {
  static const pd_error no_memory = {.status = PD_ERR_MEMORY, .message = "out of memory"};
  const pd_error *why = pd_error_list_at(at->errors, 0);
  if (!at->joined_before) mark_record_joined(at);
  pd__runtime_defs_store_result(at->runtime_defs, NULL, why ? why : &no_memory);
  return REFUSED;
}

/* Returns true if no answer is missing. Otherwise gives everything back and asks, without the
 * lock; the attempt is refused if it can't ask. */
static bool plan_or_ask_hooks(attempt *at) {
  const pd__defs *defs = at->defs;
  const pd__unready_winner *winners =
      pd__impls_find_unready_winners(at->operation, defs->impls, defs->impls_count);
  bool planned = pd__stage_try_complete_plan(&at->stage);
  if (planned && !winners) return true;
  unlink_and_release_names(at);
  if (winners) {
    pd__winners_make_ready(at->operation, winners);
  } else {
    pd__stage_ask_hooks(&at->stage, &at->refused);
  }
  return false;
}

/* Defines the flags that choose between implementations, which is the last thing that can fail. */
static bool define_operation_flags(attempt *at) {
  const pd__defs *defs = at->defs;
  if (at->operation->arena.failed) pd__report_fail_memory(&at->refused);
  return at->refused.status == PD_OK &&
         pd__impls_define_flags(at->operation, defs->impls, defs->impls_count, &at->refused,
                                &at->waiting);
}

/* Stages, asks, and stages again, until no answer is missing: then it publishes before anybody else
 * gets the lock. */
static outcome run_attempt(attempt *at) {
  stage_attempt_definitions(at);
  do {
    if (is_attempt_stale(at)) return STALE;
    if (at->refused.status != PD_OK) return refuse_attempt(at);
    /* Another call may have withdrawn it while this one asked. */
    pd__module_set_present(at->module, true);
    if (!link_and_reserve_names(at)) return refuse_attempt(at);
  } while (!plan_or_ask_hooks(at));
  if (!define_operation_flags(at)) {
    unlink_and_release_names(at);
    return refuse_attempt(at);
  }
  publish_attempt(at);
  return JOINED;
}

/* ---- The result ---- */

/* Keeps the errors for pd_modules_check, as nobody else returns them, and warns of the first
 * refusal in a module. */
static void retain_errors_and_warn(const pd_module *module, const pd_error_list *errors) {
  pd__membership *member = pd__module_get_membership(module);
  const pd_error *why = pd_error_list_at(errors, 0);
  bool again = member->refused != NULL;
  if (!again) member->refused = pd_error_list_new();
  pd__report kept = {.list = member->refused};
  pd__report_add_error_list(&kept, errors);
  if (again || !why) return;
  pd__fail(pd__warning_add(PD_WARNING_REFUSED), PD_OK,
           "%s: %s refused, and its own code sees only %s: %s",
           pd__path_tail(pd__module_path(module), 160),
           member->status == PD_OK ? "a flag was" : "was",
           member->status == PD_OK ? "the default" : "defaults", why->message);
}

/* The module has joined, or was refused, as part of the load. */
static void add_module_to_load(pd__loading *load, pd_module *module) {
  pd__membership *member = pd__module_get_membership(module);
  bool refused = member->status != PD_OK;
  bool is_new = load && (refused || member->joined_in != load);
  member->joined_in = load;
  if (!is_new) return;
  pd__joined *made = pd__arena_alloc(&load->arena, sizeof *made);
  load->lost |= !made;
  if (!made) return;
  *made = (pd__joined){module, refused, load->joined};
  load->joined = made;
}

static bool is_refused_in_load(const pd__loading *load, const pd_module *module) {
  const pd__joined *each = load->joined;
  while (each && !(each->refused && each->module == module)) each = each->next;
  return each != NULL;
}

static void move_errors_to_member(attempt *at, pd__loading *load) {
  pd__membership *member = pd__module_get_membership(at->module);
  bool lacks = at->waiting.status != PD_OK && pd_error_list_count(at->errors) == 0;
  if (load) pd__report_add_error_list(&load->report, at->errors);
  if (load && lacks) pd__report_fail_memory(&load->report); /* it was out for the list */
  if (at->joined_before) {
    pd__report all = {.list = member->errors};
    pd__report_add_error_list(&all, at->errors);
    return;
  }
  free_member_errors(member);
  member->errors = at->errors;
  at->errors = NULL;
}

static outcome join_whole_record(pd__operation *operation, pd_module *module,
                                 pd_module_record *record, pd__loading *load) {
  ATTEMPT(at);
  begin_attempt(&at, operation, module, record);
  bool asked_for = load && pd__platform_is_same_path(load->path, pd__module_path(module));
  at.name_space = asked_for ? load->name_space : "";
  outcome result = run_attempt(&at);
  if (result == STALE) return result;
  pd__membership *member = pd__module_get_membership(module);
  member->status = at.refused.status;
  member->withdrawn_with = NULL;
  add_module_to_load(load, module);
  bool unnoticed = !load && result == REFUSED;
  move_errors_to_member(&at, load);
  if (unnoticed) retain_errors_and_warn(module, member->errors);
  return result;
}

/* Defines what was added since the module joined. During the pd_module_load in which the module
 * joined, a refusal undefines the whole module; later, only the new definitions are refused. */
static outcome join_runtime_defs(pd__operation *operation, pd_module *module,
                                 pd_module_record *record, pd__loading *load) {
  pd__membership *member = pd__module_get_membership(module);
  bool belongs = load && member->joined_in == load;
  ATTEMPT(at);
  begin_attempt(&at, operation, module, record);
  at.joined_before = true;
  at.name_space = member->name_space;
  outcome result = run_attempt(&at);
  if (result == STALE) return result;
  move_errors_to_member(&at, belongs ? load : NULL);
  if (result == JOINED) return result;
  if (!belongs) {
    retain_errors_and_warn(module, at.errors);
    return result;
  }
  pd__member_drop_definitions(operation, module);
  member->status = at.refused.status;
  add_module_to_load(load, module);
  return result;
}

static void refuse_runtime_defs(pd_module *module, pd__runtime_defs runtime_defs) {
  pd_error err = {.status = pd__module_get_membership(module)->status,
                  .message = "its module was refused"};
  pd__runtime_defs_store_result(runtime_defs, NULL, &err);
}

static void join_all_runtime_defs(pd__operation *operation, pd_module_record *record,
                                  pd__loading *load) {
  for (;;) {
    pd_module *module = record->state;
    if (!module) return;
    pd__runtime_defs runtime_defs =
        pd__runtime_defs_get_range(record, pd__module_get_end_address(module), false);
    if (runtime_defs.first == runtime_defs.end) return;
    if (pd__module_get_membership(module)->status != PD_OK) {
      refuse_runtime_defs(module, runtime_defs);
      return;
    }
    join_runtime_defs(operation, module, record, load);
  }
}

static void record_abi_refusal(const pd__platform_image *image, const pd_error *why,
                               pd__loading *load) {
  pd_module *module = pd__member_add(image);
  pd__membership *member = module ? pd__module_get_membership(module) : NULL;
  if (!member) {
    if (load) load->lost = true;
    return;
  }
  member->errors = pd_error_list_new();
  pd__report refused = {.list = member->errors};
  pd__report_add(&refused, why);
  member->status = refused.status;
  add_module_to_load(load, module);
  if (load) pd__report_add(&load->report, why);
  if (!load) retain_errors_and_warn(module, member->errors);
}

/* Never writes to a record of another ABI. A module that was refused may try again, once in each
 * load: the reason may be gone. */
pd_module *pd__member_join(pd__operation *operation, pd_module_record *record,
                           const pd__platform_image *image, pd__loading *load) {
  pd_error err;
  pd_module *module = NULL;
  if (check_abi(record, image ? image->path : "", &err) != PD_OK) {
    record_abi_refusal(image, &err, load);
    return NULL;
  }
  for (outcome result = STALE; result == STALE;) {
    if (record->state) module = record->state;
    if (!record->state && image) module = pd__member_add(image);
    if (!module) {
      if (load) load->lost = true;
      return NULL;
    }
    const pd__membership *member = pd__module_get_membership(module);
    bool retries = load && member->status != PD_OK && !is_refused_in_load(load, module);
    if (record->state && !retries) break;
    result = join_whole_record(operation, module, record, load);
  }
  join_all_runtime_defs(operation, record, load);
  pd__report waiting = {.list = NULL};
  pd__families_update_changed(operation, load ? &load->report : &waiting);
  return record->state;
}

/* ---- The functions of pd_host ---- */

/* Returns false if `image` is NULL and the record isn't known. A known record joins only its late
 * definitions, and needs no image. */
static bool lock_and_join_record(pd_module_record *record, const pd__platform_image *image,
                                 bool announces) {
  PD__IN_LOADER(pd__loader_get_deferred_owner());
  PD__LOCKED_OPERATION(operation);
  bool known = image || record->state;
  const pd_module *module = NULL;
  if (known) module = pd__member_join(&operation, record, image, pd__loading_find_current());
  if (module) pd__module_get_membership(module)->announces |= announces;
  pd__operation_end(&operation);
  return known;
}

/* A module can't join because memory is out. The pd_module_load that is under way fails. */
static void fail_current_load(void) {
  pd__loading *load = pd__loading_find_current();
  if (load) load->lost = true;
}

static void append_image_copy(const pd__platform_image *image, void *context) {
  pd__platform_image ***end = context, *copy = pd__platform_copy_image(image);
  if (!copy) {
    fail_current_load();
    return;
  }
  **end = copy;
  *end = &copy->next;
}

void pd__module_join(pd_module_record *record) {
  pd_error err;
  if (check_abi(record, "", &err) == PD_OK && lock_and_join_record(record, NULL, true)) return;
  pd__platform_image *image = pd__platform_find_image(PD__NO_RECORDS, record);
  if (!image || !lock_and_join_record(record, image, true)) fail_current_load();
  free(image);
}

/* Collects the images first, because no lock may be taken during a walk. No image leaves between
 * the walk and the joining: this thread has a handle, or runs a constructor and has the loader's
 * lock. Don't hold a reference of the loader instead: at the start of a program, taking one would
 * run constructors. */
void pd__members_join_loaded(const void *inside) {
  pd__platform_image *first = NULL, **end = &first;
  pd__platform_visit_records(PD__RECORDS_OF_MODULES, inside, append_image_copy, &end);
  while (first) {
    pd__platform_image *each = first;
    first = each->next;
    lock_and_join_record(each->record, each, false);
    free(each);
  }
}

/* ---- Leaving ---- */

void pd__member_withdraw(pd__operation *operation, pd_module *module) {
  pd__membership *member = pd__module_get_membership(module);
  pd_module_record *record = member->record;
  pd__report waiting = {.list = NULL};
  pd__member_drop_definitions(operation, module);
  pd__member_undo_registrations(operation, module);
  member->record = NULL;
  pd__module_mark_gone(module);
  __atomic_store_n(&record->state, NULL, __ATOMIC_RELEASE);
  __atomic_store_n(&record->host, NULL, __ATOMIC_RELEASE);
  pd__families_update_changed(operation, &waiting);
}

/* Doesn't wait for calls into the module: none is running, as it would keep the module loaded. */
void pd__module_leave(pd_module_record *record) {
  PD__IN_LOADER(pd__loader_get_deferred_owner());
  PD__LOCKED_OPERATION(operation);
  const pd_module *module = record->state;
  if (module && pd__module_get_membership(module)->record == record) {
    pd__member_withdraw(&operation, record->state);
  } else {
    __atomic_store_n(&record->state, NULL, __ATOMIC_RELEASE);
    __atomic_store_n(&record->host, NULL, __ATOMIC_RELEASE);
  }
  pd__operation_end(&operation);
}
