/* Notifying watchers of what has changed: gathered before the commit, called when the operation
 * has let go of the lock. */
#include <stdlib.h>

#include "change.h"
#include "deferred.h"
#include "hook.h"
#include "loader.h"

/* A watcher that is to be notified of a flag. */
struct pd__notice {
  pd_hook watcher;     /* 0: that of a definition */
  uint32_t generation; /* of that */
  pd_flag *flag;
  pd_type type;
  pd_value before;
  pd__held held; /* while it is called */
  pd__notice *next;
};

pd__notice **pd__notices_begin(pd__operation *operation) {
  if (!operation->notices_end) operation->notices_end = &operation->notices;
  return operation->notices_end;
}

static void append(pd__operation *operation, pd__notice *notice) {
  notice->next = NULL;
  *operation->notices_end = notice;
  operation->notices_end = &notice->next;
}

static bool add(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__notice *made = pd__arena_take(&operation->arena, sizeof *made);
  if (!made) return false;
  *made = (pd__notice){.watcher = watcher,
                       .generation = flag->generation,
                       .flag = flag,
                       .type = flag->type,
                       .before = pd__flag_value(flag)};
  append(operation, made);
  return true;
}

bool pd__notices_resume(pd__operation *operation, pd_flag *flag, pd_hook watcher) {
  pd__notices_begin(operation);
  return add(operation, flag, watcher);
}

static bool add_all(pd__operation *operation, pd_flag *flag, const pd__target *at) {
  bool whole = true;
  for (; whole && at; at = at->next) {
    if (at->hook->watches) whole = add(operation, flag, at->hook->number);
  }
  return whole;
}

pd_status pd__notices_add(pd__changes *changes, pd_flag *flag, pd_error *err) {
  pd__operation *operation = changes->operation;
  const pd_flag_def *def = pd__flag_def(flag);
  bool whole = !def || !def->watch || add(operation, flag, 0);
  whole = whole && add_all(operation, flag, pd__hooks_of(flag));
  whole = whole && add_all(operation, flag, pd__general_watchers.first);
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

/* Whom to call now: a hook may be removed, and a definition may have left since the change. */
static pd__handler watcher_of(const pd__notice *notice) {
  const pd__hook *hook = pd__hook_find(notice->watcher);
  const pd_flag_def *def = pd__flag_def(notice->flag);
  if (hook) return hook->call;
  bool gone = notice->watcher || !def || notice->flag->generation != notice->generation;
  if (gone) return (pd__handler){.function = NULL};
  return (pd__handler){(pd__function *)def->watch, def->context,
                       pd__cell_module(notice->flag->cells)};
}

/* With the lock, which is let go for a moment where the loader must be asked. What is put off for
 * want of memory isn't notified at all: the change has happened. */
static pd__handler pinned_watcher(pd__operation *operation, pd__notice *notice) {
  for (;;) {
    pd__handler found = watcher_of(notice);
    pd__hook *hook = pd__hook_find(notice->watcher);
    bool deferred = hook && hook->waits && pd__loader_now.within;
    if (deferred) pd__deferred_add(operation, notice->flag, notice->watcher);
    if (deferred || !found.function) break;
    pd__pinning how = pd__pin_module(operation, found.module);
    if (how == PD__PINNED && hook) pd__hook_hold(operation, hook, &notice->held);
    if (how == PD__PINNED) return found;
    if (how == PD__LEAVING) break;
    pd__pins_take(operation);
  }
  return (pd__handler){.function = NULL};
}

/* ---- What calls leave that a watcher has ended: an exception, or the end of its thread. Who
 * delivers it may be ended by the next one, and must not have the loader's lock then. ---- */

static pd__notice *left, **left_end = &left; /* copies */

void pd__notices_abandon(pd__operation *operation) {
  for (; operation->notices; operation->notices = operation->notices->next) {
    pd__notice *made = malloc(sizeof *made);
    if (!made) continue;
    *made = *operation->notices;
    made->next = NULL;
    *left_end = made;
    left_end = &made->next;
    pd__set_due(PD__DUE_NOTICES, true);
  }
}

/* With the lock: they are this operation's now, before its own, which may be those that throw. */
static void take_over(pd__operation *operation) {
  pd__notice *own = operation->notices, **own_end = operation->notices_end;
  operation->notices_end = &operation->notices;
  while (left) {
    pd__notice *taken = left;
    pd__notice *copy = pd__arena_take(&operation->arena, sizeof *copy);
    if (copy) *copy = *taken;
    if (copy && copy->flag->defined) append(operation, copy);
    left = taken->next;
    free(taken);
  }
  *operation->notices_end = own;
  if (own) operation->notices_end = own_end;
  left_end = &left;
  pd__set_due(PD__DUE_NOTICES, false);
}

void pd__notices_deliver(pd__operation *operation) {
  if (pd__is_due(PD__DUE_NOTICES) && !pd__loader_now.within) {
    pd__operation_lock(operation);
    take_over(operation);
    pd__operation_unlock(operation);
  }
  while (operation->notices) {
    pd__notice *notice = operation->notices;
    operation->notices = notice->next;
    pd__operation_lock(operation);
    pd__handler due = pinned_watcher(operation, notice);
    pd__operation_unlock(operation);
    if (!due.function) continue;
    PD__IN_HOOK();
    ((pd_watcher)due.function)(notice->flag, due.context);
  }
  operation->notices_end = &operation->notices;
}
