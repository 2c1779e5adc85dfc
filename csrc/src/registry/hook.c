/* Validators and watchers that were added at run time. */
#include "hook.h"

#include <stdlib.h>

#include "../base/numbered.h"
#include "flag.h"
#include "loader.h"

#define DEEPEST 32

static pd__numbered hooks;
pd__targets pd__general_watchers;
static size_t asking; /* definitions that are required, or have or may get a validator */

/* Removed hooks, to be released when no call of them is running. */
static pd__hook *removed;

uint64_t pd__validators_added;

pd__hook *pd__hook_find(pd_hook number) { return pd__numbered_find(&hooks, number); }

pd__hook *pd__hooks_next(const pd__hook *previous) {
  return pd__numbered_find_after(&hooks, previous ? previous->number : 0);
}

bool pd__hooks_can_have_validators(void) { return asking > 0 || hooks.count > hooks.removed; }

void pd__hooks_adjust_definition_count(const pd_flag_def *def, int change) {
  if (def->validate || def->required || def->assignable) asking += (size_t)change;
}

/* ---- Adding ---- */

static pd_status check_and_extend_flags(pd_flag *const *flags, size_t count, pd_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!flags[i]) return pd__fail(err, PD_ERR_ARGUMENT, "flags[%zu] is NULL", i);
    if (!flags[i]->defined) return pd__fail_flag_gone(flags[i], err);
    if (!pd__flag_ensure_extra(flags[i])) return pd__fail_memory(err);
  }
  return PD_OK;
}

static pd__targets *get_target_list(const pd__target *target) {
  return target->flag ? &target->flag->extra->hooks : &pd__general_watchers;
}

static void append_target(pd__target *target) {
  pd__targets *list = get_target_list(target);
  target->previous = list->last;
  *(list->last ? &list->last->next : &list->first) = target;
  list->last = target;
}

static void unlink_target(pd__target *target) {
  pd__targets *list = get_target_list(target);
  *(target->previous ? &target->previous->next : &list->first) = target->next;
  *(target->next ? &target->next->previous : &list->last) = target->previous;
}

pd_status pd__hook_add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err) {
  pd_status status = check_and_extend_flags(flags, count, err);
  if (status != PD_OK) return status;
  size_t targets = count > 0 ? count : 1;
  pd__hook *made = calloc(1, sizeof *made + targets * sizeof *made->targets);
  pd_hook number = made ? pd__numbered_add(&hooks, made) : 0;
  if (!number) {
    free(made);
    return pd__fail_memory(err);
  }
  *made = *like;
  made->number = number;
  made->count = targets;
  pd__validators_added += !made->watches;
  for (size_t i = 0; i < targets; i++) {
    pd_flag *flag = count > 0 ? flags[i] : NULL;
    made->targets[i] = (pd__target){.hook = made, .flag = flag, .type = flag ? flag->type : 0};
    append_target(&made->targets[i]);
  }
  if (out) *out = number;
  return PD_OK;
}

/* ---- Finding ---- */

bool pd__validators_next(pd__validator_walk *walk, const pd_flag *flag) {
  walk->at = walk->at ? walk->at->next : pd__hooks_first(flag);
  while (walk->at && walk->at->hook->watches) walk->at = walk->at->next;
  if (walk->at) walk->hook = walk->at->hook;
  return walk->at != NULL;
}

pd_flag *pd__hook_get_flag(const pd__hook *hook, size_t index, pd_type *type) {
  if (index >= hook->count) return NULL;
  *type = (pd_type)hook->targets[index].type;
  return hook->targets[index].flag;
}

/* ---- Removing ---- */

void pd__hook_remove(pd__hook *hook) {
  pd__numbered_remove(&hooks, hook->number);
  for (size_t i = 0; i < hook->count; i++) unlink_target(&hook->targets[i]);
  hook->removed = true;
  hook->next_removed = removed;
  removed = hook;
  if (hook->calls == 0) pd__set_pending_work(PD__WORK_RELEASES, true);
}

void pd__hooks_remove_for_flag(const pd_flag *flag) {
  for (const pd__target *at; (at = pd__hooks_first(flag));) pd__hook_remove(at->hook);
}

void pd__hook_retain(pd__operation *operation, pd__hook *hook, pd__hook_reference *reference) {
  *reference = (pd__hook_reference){hook, operation->retained_hooks};
  operation->retained_hooks = reference;
  pd__operation_mark_active(operation);
  hook->calls++;
}

void pd__hooks_release_retained(pd__operation *operation) {
  if (pd__operation_is_lost(operation)) operation->retained_hooks = NULL;
  for (; operation->retained_hooks; operation->retained_hooks = operation->retained_hooks->next) {
    pd__hook *hook = operation->retained_hooks->hook;
    bool last = hook->calls > 0 && --hook->calls == 0;
    if (last && hook->removed) pd__set_pending_work(PD__WORK_RELEASES, true);
  }
  if (operation->active) operation->active->retained_hooks = NULL;
}

void pd__hooks_reset_in_child(void) {
  for (pd__hook *hook = NULL; (hook = pd__hooks_next(hook));) hook->calls = 0;
  for (pd__hook *hook = removed; hook; hook = hook->next_removed) hook->calls = 0;
  for (const pd__active_operation *each = NULL; (each = pd__active_operation_next(each));) {
    for (const pd__hook_reference *held = each->retained_hooks; held; held = held->next)
      held->hook->calls++;
  }
}

/* ---- Handlers ---- */

pd__handler pd__handlers[PD__HANDLINGS];

void pd__handler_set(pd__operation *operation, pd__handling what, pd__handler fresh) {
  pd__module_remove_registration(operation, pd__handlers[what].module);
  pd__handlers[what] = fresh;
  if (what == PD__HANDLE_WARNINGS) pd__set_pending_work(PD__WORK_WARNINGS, fresh.function != NULL);
}

pd__handler pd__handler_pin_module(pd__operation *operation, const pd__handler *from) {
  while (from->function) {
    pd__pinning how = pd__pin_module(operation, from->module);
    if (how == PD__PINNED) return *from;
    if (how == PD__LEAVING) break;
    pd__pins_acquire(operation);
  }
  return (pd__handler){.function = NULL};
}

/* ---- Modules that leave ---- */

void pd__hooks_remove_for_module(pd__operation *operation, const pd_module *module) {
  for (pd__handling what = 0; what < PD__HANDLINGS; what++) {
    if (!pd__module_has_address(module, (uintptr_t)pd__handlers[what].function)) continue;
    pd__handler_set(operation, what, (pd__handler){.function = NULL});
  }
  for (pd__hook *hook = NULL; (hook = pd__hooks_next(hook));) {
    if (pd__module_has_address(module, (uintptr_t)hook->release.function))
      hook->release.function = NULL;
    if (pd__module_has_address(module, (uintptr_t)hook->call.function)) pd__hook_remove(hook);
  }
  for (pd__hook *hook = removed; hook; hook = hook->next_removed) {
    if (pd__module_has_address(module, (uintptr_t)hook->release.function))
      hook->release.function = NULL;
  }
}

/* Returns a hook that can be released now, claimed by this thread; NULL if there is none. */
static pd__hook *claim_releasable_hook(void) {
  bool within = pd__loader_is_entered(); /* deferred hooks are released elsewhere */
  pd__hook *found = removed;
  while (found && (found->calls > 0 || (found->deferrable && within))) found = found->next_removed;
  if (found) found->calls = 1;
  pd__set_pending_work(PD__WORK_RELEASES, found || (within && removed));
  return found;
}

/* The hook stays in the list until its module is pinned: if the module leaves meanwhile,
 * pd__hooks_remove_for_module must find it. */
static pd__handler free_removed_hook(pd__operation *operation, pd__hook *hook) {
  pd__handler release = pd__handler_pin_module(operation, &hook->release);
  pd__hook **at = &removed;
  while (*at != hook) at = &(*at)->next_removed;
  *at = hook->next_removed;
  pd__module_remove_registration(operation, hook->call.module);
  pd__module_remove_registration(operation, hook->release.module);
  free(hook);
  return release;
}

void pd__hooks_release_removed(pd__operation *operation) {
  pd__hook *hook = NULL;
  do { /* calls from release functions nest here, up to the limit of depth */
    if (!pd__has_pending_work(PD__WORK_RELEASES)) return;
    pd__operation_lock(operation);
    hook = pd__hooks_check_depth(NULL) == PD_OK ? claim_releasable_hook() : NULL;
    pd__handler release = {.function = NULL};
    if (hook) release = free_removed_hook(operation, hook);
    if (hook) pd__hooks_prepare_call(operation);
    pd__operation_unlock(operation);
    PD__IN_HOOK(operation);
    if (release.function) ((void (*)(void *))release.function)(release.context);
  } while (hook);
}

/* ---- Depth ---- */

static bool is_own_thread_calling(const pd__active_operation *active) {
  return __atomic_load_n(&active->calling, __ATOMIC_RELAXED) &&
         __atomic_load_n(&active->thread, __ATOMIC_RELAXED) == pd__platform_thread_id();
}

/* Stacks grow down. A call whose frame isn't above this one was left by longjmp, or is on the stack
 * of a suspended fiber: this thread isn't within it. */
static unsigned prune_and_count_calls(uintptr_t frame) {
  unsigned count = 0;
  for (pd__active_operation *each = NULL; (each = pd__active_operation_next(each));) {
    if (!is_own_thread_calling(each)) continue;
    bool above = each->frame > frame;
    if (!above) __atomic_store_n(&each->calling, false, __ATOMIC_RELAXED);
    count += above;
  }
  return count;
}

bool pd__hook_is_called_here(const pd__active_operation *active) {
  return is_own_thread_calling(active) && active->frame > (uintptr_t)__builtin_frame_address(0);
}

void pd__hooks_prepare_call(pd__operation *operation) {
  uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
  prune_and_count_calls(frame);
  pd__operation_mark_active(operation);
  if (operation->active) operation->active->frame = frame;
}

void pd__hooks_enter_call(pd__hook_call *call, const pd__operation *operation) {
  call->active = operation->active;
  if (call->active) __atomic_store_n(&call->active->calling, true, __ATOMIC_RELAXED);
  pd__platform_release_fork_lock(&call->fork_state);
}

void pd__hooks_exit_call(const pd__hook_call *call) {
  pd__platform_reacquire_fork_lock(&call->fork_state);
  if (!call->active) return;
  __atomic_store_n(&call->active->thread, pd__platform_thread_id(), __ATOMIC_RELAXED);
  __atomic_store_n(&call->active->calling, false, __ATOMIC_RELAXED);
}

pd_status pd__hooks_check_depth(pd_error *err) {
  if (prune_and_count_calls((uintptr_t)__builtin_frame_address(0)) < DEEPEST) return PD_OK;
  return pd__fail(err, PD_ERR_DEPTH,
                  "validators, watchers and the warning handler call the library %d deep, one "
                  "inside the other: most likely in a circle",
                  DEEPEST);
}
