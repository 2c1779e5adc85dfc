/* Telling the watchers what has changed. */
#include <stdlib.h>

#include "hooks.h"
#include "../platform/platform.h"

/* A watcher that is to be told of a flag. */
struct pd__notice {
  pd__call call;
  pd__hook *hook; /* NULL: the watcher of a definition */
  pd_watcher watch;
  void *context;
  pd_flag *flag;
  pd_type type;
  pd_value before;
  uintptr_t thread; /* that made the change */
  pd__notice *next;
};

static pd__notice *due; /* in the order of the changes */
size_t pd__notices_due;

static bool add(pd__notice ***end, pd_flag *flag, pd__hook *hook) {
  pd__notice *made = calloc(1, sizeof *made);
  if (!made) return false;
  made->hook = hook;
  made->watch = hook ? hook->watch : pd__flag_def(flag)->watch;
  made->context = hook ? hook->context : pd__flag_def(flag)->context;
  made->flag = flag;
  made->type = flag->type;
  made->before = pd__flag_value(flag);
  made->thread = pd__platform_thread();
  if (hook) pd__hook_take(hook);
  **end = made;
  *end = &made->next;
  return true;
}

static bool add_all(pd__notice ***end, pd_flag *flag) {
  bool whole = !flag->defined || !pd__flag_def(flag)->watch || add(end, flag, NULL);
  for (pd__target *at = pd__flag_extra(flag)->targets; whole && at; at = at->next) {
    if (at->hook->watch) whole = add(end, flag, at->hook);
  }
  for (pd__hook *hook = pd__hooks_first(); whole && hook; hook = hook->next) {
    if (hook->watch && hook->count == 0) whole = add(end, flag, hook);
  }
  return whole;
}

static void discard(pd__notice *notice) {
  if (notice->hook) pd__hook_drop(notice->hook);
  free(notice);
}

pd_status pd__notices_prepare(pd__changes *changes, pd__notice **out, pd_error *err) {
  pd__notice **end = out;
  bool whole = true;
  *out = NULL;
  for (size_t i = 0; i < changes->count; i++) {
    pd__change *change = pd__changes_at(changes, i);
    pd__extra *extra = pd__flag_make_extra(change->flag); /* pd__changes_finish made it */
    if (whole && !extra->change) whole = add_all(&end, change->flag);
    extra->change = (uint32_t)i + 1;
  }
  for (size_t i = 0; i < changes->count; i++) {
    pd__flag_make_extra(pd__changes_at(changes, i)->flag)->change = 0;
  }
  if (whole) return PD_OK;
  while (*out) {
    pd__notice *notice = *out;
    *out = notice->next;
    discard(notice);
  }
  return pd__fail_memory(err);
}

void pd__notices_post(pd__notice *notices) {
  pd__notice **end = &due;
  while (*end) end = &(*end)->next;
  while (notices) {
    pd__notice *notice = notices;
    const pd_flag *flag = notice->flag;
    notices = notice->next;
    notice->next = NULL;
    bool same = flag->type == notice->type &&
                pd__value_equal(flag->type, pd__flag_value(flag), notice->before);
    if (same || !flag->defined) {
      discard(notice);
      continue;
    }
    *end = notice;
    end = &notice->next;
    __atomic_fetch_add(&pd__notices_due, 1, __ATOMIC_RELEASE);
  }
}

/* The first that is due to this thread, taken out; NULL: none. */
static pd__notice *take(void) {
  uintptr_t own = pd__platform_thread();
  pd__notice **at = &due;
  while (*at && (*at)->thread != own) at = &(*at)->next;
  pd__notice *notice = *at;
  if (!notice) return NULL;
  *at = notice->next;
  __atomic_fetch_sub(&pd__notices_due, 1, __ATOMIC_RELEASE);
  return notice;
}

/* Whether it is still there: its module may have left since the change. */
static bool stands(const pd__notice *notice) {
  if (notice->hook) return !notice->hook->removed;
  const pd_flag_def *def = pd__flag_def(notice->flag);
  return def && def->watch == notice->watch;
}

void pd__notices_tell(void) {
  if (__atomic_load_n(&pd__notices_due, __ATOMIC_ACQUIRE) == 0) return;
  pd__platform_lock();
  for (pd__notice *notice; (notice = take());) {
    if (stands(notice)) {
      pd__call_begin(&notice->call, (uintptr_t)notice->watch);
      pd__platform_unlock();
      notice->watch(notice->flag, notice->context);
      pd__platform_lock();
      pd__call_end(&notice->call);
    }
    discard(notice);
  }
  pd__platform_unlock();
}
