/* Validators and watchers: adding and removing them. */
#include "hooks.h"

#include <stdio.h>
#include <stdlib.h>

#include "../platform/platform.h"
#include "../base/text.h"

static pd__hook *hooks, **hooks_end = &hooks;
size_t pd__general_watchers;
static pd__hook *finished; /* removed, no call is due: to be released */
bool pd__releases_due;

pd__hook *pd__hooks_first(void) { return hooks; }

static pd_status check_flags(pd_flag *const *flags, size_t count, pd_error *err) {
  for (size_t i = 0; i < count; i++) {
    if (!flags[i]) return pd__fail(err, PD_ERR_ARGUMENT, "flags[%zu] is NULL", i);
    pd_status status = pd__flag_check_defined(flags[i], err);
    if (status != PD_OK) return status;
    if (!pd__flag_make_extra(flags[i])) return pd__fail_memory(err);
  }
  return PD_OK;
}

pd_status pd__hook_add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                       pd_error *err) {
  static pd_hook last;
  pd_status status = check_flags(flags, count, err);
  if (status != PD_OK) return status;
  pd__hook *made = calloc(1, sizeof *made + count * sizeof *made->targets);
  if (!made) return pd__fail_memory(err);
  *made = *like;
  made->number = ++last;
  made->count = count;
  if (count == 0) pd__general_watchers++;
  *hooks_end = made;
  hooks_end = &made->next;
  for (size_t i = 0; i < count; i++) {
    made->targets[i] = (pd__target){made, flags[i], flags[i]->type, NULL};
    pd__target **end = &pd__flag_make_extra(flags[i])->targets; /* check_flags made it */
    while (*end) end = &(*end)->next;
    *end = &made->targets[i];
  }
  if (out) *out = made->number;
  return PD_OK;
}

static void finish(pd__hook *hook) {
  hook->next = finished;
  finished = hook;
  __atomic_store_n(&pd__releases_due, true, __ATOMIC_RELEASE);
}

void pd__hook_take(pd__hook *hook) { hook->due++; }

void pd__hook_drop(pd__hook *hook) {
  if (--hook->due == 0 && hook->removed) finish(hook);
}

static void remove_at(pd__hook **at) {
  pd__hook *hook = *at;
  *at = hook->next;
  if (hooks_end == &hook->next) hooks_end = at;
  for (size_t i = 0; i < hook->count; i++) {
    pd__target **target = &pd__flag_make_extra(hook->targets[i].flag)->targets;
    while (*target != &hook->targets[i]) target = &(*target)->next;
    *target = (*target)->next;
  }
  hook->removed = true;
  if (hook->count == 0) pd__general_watchers--;
  if (hook->due == 0) finish(hook);
}

static uintptr_t function_of(const pd__hook *hook) {
  return hook->watch ? (uintptr_t)hook->watch : (uintptr_t)hook->validate;
}

void pd__hooks_forget_between(uintptr_t low, uintptr_t high) {
  for (pd__hook **at = &hooks; *at;) {
    if (function_of(*at) >= low && function_of(*at) < high) {
      (*at)->release = NULL; /* it goes, too */
      remove_at(at);
    } else {
      at = &(*at)->next;
    }
  }
  pd__call_wait(low, high);
}

void pd__hooks_release(void) {
  if (!__atomic_load_n(&pd__releases_due, __ATOMIC_ACQUIRE)) return;
  pd__platform_lock();
  pd__hook *due = finished;
  finished = NULL;
  __atomic_store_n(&pd__releases_due, false, __ATOMIC_RELEASE);
  pd__platform_unlock();
  while (due) {
    pd__hook *hook = due;
    due = hook->next;
    if (hook->release) hook->release(hook->context);
    free(hook);
  }
}

void pd__tell_all(void) {
  pd__notices_tell();
  pd__warnings_tell();
  pd__hooks_release();
}

/* ---- For hosts ---- */

static pd_status add(const pd__hook *like, pd_flag *const *flags, size_t count, pd_hook *out,
                     pd_error *err) {
  pd__platform_lock();
  pd_status status = pd__hook_add(like, flags, count, out, err);
  pd__platform_unlock();
  return status;
}

static pd_status check_any(pd_flag *const *flags, size_t count, pd_error *err) {
  if (!flags) return pd__fail_null(err, "flags");
  return count > 0 ? PD_OK : pd__fail(err, PD_ERR_ARGUMENT, "count is 0, expected some flags");
}

pd_status pd__do_validator_add(pd_flag *const *flags, size_t count, pd_validator function,
                               void *context, void (*release)(void *), pd_hook *out,
                               pd_error *err) {
  pd_status status = check_any(flags, count, err);
  if (status != PD_OK) return status;
  if (!function) return pd__fail_null(err, "function");
  pd__hook like = {.validate = function, .context = context, .release = release};
  return add(&like, flags, count, out, err);
}

pd_status pd__do_watcher_add(pd_flag *flag, pd_watcher function, void *context,
                             void (*release)(void *), pd_hook *out, pd_error *err) {
  if (!function) return pd__fail_null(err, "function");
  pd__hook like = {.watch = function, .context = context, .release = release};
  return add(&like, &flag, flag ? 1 : 0, out, err);
}

pd_status pd__do_hook_remove(pd_hook number, pd_error *err) {
  pd__platform_lock();
  pd__hook **at = &hooks;
  while (*at && (*at)->number != number) at = &(*at)->next;
  bool found = *at != NULL;
  if (found) remove_at(at);
  pd__platform_unlock();
  pd__tell();
  if (found) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT, "no hook has the number %llu, or it is removed already",
                  (unsigned long long)number);
}

/* ---- Groups ---- */

typedef struct group {
  pd_group kind;
  size_t count;
  const char *names[]; /* of the flags: stored for good */
} group;

#define GROUP_TEXT(name, number, text)                                                             \
  case PD_GROUP_##name:                                                                            \
    return text;
static const char *text_of(pd_group kind) {
  switch (kind) { PD_GROUP_MAP(GROUP_TEXT) }
  return NULL;
}

static bool holds(pd_group kind, size_t given, size_t count) {
  switch (kind) {
    case PD_GROUP_AT_MOST_ONE:
      return given <= 1;
    case PD_GROUP_AT_LEAST_ONE:
      return given >= 1;
    case PD_GROUP_EXACTLY_ONE:
      return given == 1;
    case PD_GROUP_ALL:
      return given == count;
    case PD_GROUP_ALL_OR_NONE:
      return given == 0 || given == count;
  }
  return false;
}

/* "--a, --b" of the flags that are given, or of all. */
static void write_names(const group *all, const pd_flag_entry *const *entries, bool every,
                        char *out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (size_t i = 0; i < all->count && used < size; i++) {
    if (!every && entries[i]->origin.source == PD_SOURCE_DEFAULT) continue;
    used += (size_t)snprintf(out + used, size - used, "%s--%s", used ? ", " : "", all->names[i]);
  }
}

bool pd__group_check(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  const group *all = context;
  char names[PD__WHY_SIZE], found[PD__WHY_SIZE];
  size_t given = 0;
  for (size_t i = 0; i < all->count; i++) {
    given += entries[i]->origin.source != PD_SOURCE_DEFAULT;
  }
  if (holds(all->kind, given, all->count)) return true;
  write_names(all, entries, true, names, sizeof names / 2);
  write_names(all, entries, false, found, sizeof found / 3);
  char rule[PD__WHY_SIZE];
  snprintf(rule, sizeof rule, text_of(all->kind), names); /* NOLINT: the texts are our own */
  snprintf(why, size, "%s%s%s", rule, *found ? "; given: " : "", found);
  return false;
}

/* The names stay when a module leaves. */
static pd_status store_names(group *all, pd_flag *const *flags, pd_error *err) {
  pd_status status = check_flags(flags, all->count, err);
  for (size_t i = 0; status == PD_OK && i < all->count; i++) {
    all->names[i] = pd__intern(flags[i]->name);
    if (!all->names[i]) status = pd__fail_memory(err);
  }
  return status;
}

pd_status pd__do_group_add(pd_group kind, pd_flag *const *flags, size_t count, pd_hook *out,
                           pd_error *err) {
  pd_status status = check_any(flags, count, err);
  if (status != PD_OK) return status;
  if (!text_of(kind)) {
    return pd__fail(err, PD_ERR_ARGUMENT, "group is %d, expected a pd_group", (int)kind);
  }
  group *made = malloc(sizeof *made + count * sizeof *made->names);
  if (!made) return pd__fail_memory(err);
  made->kind = kind;
  made->count = count;
  pd__hook like = {.validate = pd__group_check, .context = made, .release = free};
  pd__platform_lock();
  status = store_names(made, flags, err);
  if (status == PD_OK) status = pd__hook_add(&like, flags, count, out, err);
  pd__platform_unlock();
  if (status != PD_OK) free(made); /* otherwise the hook has it */
  return status;                   /* NOLINT */
}
