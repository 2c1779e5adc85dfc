/* Notifying watchers of what has changed: gathered before the commit, called when the operation
 * has let go of the lock. */
#include <stdlib.h>

#include "change.h"
#include "deferred.h"
#include "hook.h"

/* A watcher that is to be notified of a flag. */
struct pd__notice {
  pd__hook *hook;      /* NULL: the watcher of a definition */
  uint32_t generation; /* of that */
  pd_flag *flag;
  pd_type type;
  pd_value before;
  pd__notice *next;
};

pd__notice **pd__notices_begin(pd__operation *operation) {
  if (!operation->notices_end) operation->notices_end = &operation->notices;
  return operation->notices_end;
}

static bool add(pd__operation *operation, pd_flag *flag, pd__hook *hook) {
  pd__notice *made = pd__arena_take(&operation->arena, sizeof *made);
  if (!made || (hook && !pd__hook_hold(operation, hook))) return false;
  made->hook = hook;
  made->generation = flag->generation;
  made->flag = flag;
  made->type = flag->type;
  made->before = pd__flag_value(flag);
  *operation->notices_end = made;
  operation->notices_end = &made->next;
  return true;
}

bool pd__notices_resume(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__hook *hook = pd__hook_find(watcher);
  pd__notices_begin(operation);
  return !hook || add(operation, flag, hook);
}

pd_status pd__notices_add(pd__changes *changes, pd_flag *flag, pd_error *err) {
  pd__operation *operation = changes->operation;
  const pd_flag_def *def = pd__flag_def(flag);
  bool whole = !def || !def->watch || add(operation, flag, NULL);
  for (pd__target *at = flag->extra ? flag->extra->hooks : NULL; whole && at; at = at->next) {
    if (at->hook->watch) whole = add(operation, flag, at->hook);
  }
  if (pd__general_watchers == 0) return whole ? PD_OK : pd__fail_memory(err);
  for (pd__hook *hook = NULL; whole && (hook = pd__hooks_after(hook ? hook->number : 0));) {
    if (hook->watch && hook->count == 0) whole = add(operation, flag, hook);
  }
  return whole ? PD_OK : pd__fail_memory(err);
}

void pd__notices_discard(pd__operation *operation, pd__notice **from) {
  *from = NULL;
  operation->notices_end = from;
}

void pd__notices_post(pd__operation *operation, pd__notice **from) {
  while (*from) {
    const pd__notice *notice = *from;
    const pd_flag *flag = notice->flag;
    bool same = flag->type == notice->type &&
                pd__value_equal(flag->type, pd__flag_value(flag), notice->before);
    if (same || !flag->defined) {
      *from = notice->next;
    } else {
      from = &(*from)->next;
    }
  }
  operation->notices_end = from;
}

/* ---- Calling ---- */

typedef struct call {
  pd_watcher watch; /* NULL: nobody is to be called */
  void *context;
  pd_module *module;
} call;

/* Whom to call now: a hook may be removed, and a definition may have left since the change. */
static call call_of(const pd__notice *notice) {
  const pd__hook *hook = notice->hook;
  if (hook) return (call){hook->removed ? NULL : hook->watch, hook->context, hook->module};
  const pd_flag_def *def = pd__flag_def(notice->flag);
  if (!def || notice->flag->generation != notice->generation) return (call){.watch = NULL};
  return (call){def->watch, def->context, notice->flag->cells->module};
}

/* With the lock, which is let go for a moment where the loader must be asked. */
static call pinned_call(pd__operation *operation, const pd__notice *notice) {
  for (;;) {
    call found = call_of(notice);
    pd__pinning how = found.watch ? pd__pin_module(operation, found.module) : PD__PINNED;
    if (how == PD__LEAVING) found.watch = NULL;
    if (how != PD__UNPINNED) return found;
    pd__pins_take(operation);
  }
}

/* With the lock. For want of memory the watcher isn't notified: the change has happened. */
static bool defer(pd__operation *operation, const pd__notice *notice) {
  const pd__hook *hook = notice->hook;
  if (!operation->in_loader || !hook || !hook->waits) return false;
  if (!hook->removed) pd__deferred_add(operation, (pd__deferred){hook->number, notice->flag});
  return true;
}

/* ---- What threads leave that end within a watcher ---- */

/* A notice that outlives its operation: hooks by number, since nothing is held. */
typedef struct left_notice {
  pd_hook watcher; /* 0: that of the definition */
  pd_flag *flag;
  uint32_t generation;
  struct left_notice *next;
} left_notice;

static left_notice *left, **left_end = &left;
static bool any_left; /* for readers without the lock */

void pd__notices_abandon(pd__operation *operation) {
  for (; operation->notices; operation->notices = operation->notices->next) {
    const pd__notice *notice = operation->notices;
    left_notice *made = malloc(sizeof *made);
    if (!made) continue;
    pd_hook watcher = notice->hook ? notice->hook->number : 0;
    *made = (left_notice){watcher, notice->flag, notice->generation, NULL};
    *left_end = made;
    left_end = &made->next;
    __atomic_store_n(&any_left, true, __ATOMIC_RELEASE);
  }
}

/* With the lock: they are this operation's now. */
static void take_over(pd__operation *operation) {
  pd__notices_begin(operation);
  while (left) {
    left_notice *taken = left;
    pd__hook *hook = taken->watcher ? pd__hook_find(taken->watcher) : NULL;
    bool there = hook || (!taken->watcher && taken->generation == taken->flag->generation);
    if (there && taken->flag->defined) add(operation, taken->flag, hook);
    left = taken->next;
    free(taken);
  }
  left_end = &left;
  __atomic_store_n(&any_left, false, __ATOMIC_RELEASE);
}

void pd__notices_deliver(pd__operation *operation) {
  if (__atomic_load_n(&any_left, __ATOMIC_ACQUIRE)) {
    pd__operation_lock(operation);
    take_over(operation);
    pd__operation_unlock(operation);
  }
  while (operation->notices) {
    const pd__notice *notice = operation->notices;
    operation->notices = notice->next;
    pd__operation_lock(operation);
    call due = {.watch = NULL};
    if (!defer(operation, notice)) due = pinned_call(operation, notice);
    pd__operation_unlock(operation);
    if (!due.watch) continue;
    PD__IN_HOOK();
    due.watch(notice->flag, due.context);
  }
  operation->notices_end = &operation->notices;
}
