/* Several assignments at once, for good or as an override. */
#include <stdlib.h>

#include "../platform/platform.h"
#include "registry.h"

/* The flags that an override has a value on, so that a pop needn't look at all. */
typedef struct override {
  pd_override number;
  struct override *next;
  size_t count;
  pd_flag *flags[];
} override;

static override *overrides; /* guarded by the lock */

pd_status pd__assignment_check(const pd_assignment *item, pd_error *err) {
  if (!item->flag) return pd__fail_null(err, "flag");
  return item->text ? PD_OK : pd__flag_check_type(item->flag, item->type, err);
}

static void prepare(const pd_assignment *items, size_t count, const pd_origin *origin,
                    pd__changes *changes) {
  for (size_t i = 0; i < count; i++) {
    pd_error err;
    if (pd__assignment_check(&items[i], &err) != PD_OK) {
      pd__report_add(changes->report, &err);
    } else {
      pd__changes_add(changes, items[i].flag, items[i].text, items[i].value, origin);
    }
  }
}

pd_status pd__origin_check(const pd_origin *origin, pd_error *err) {
  if (!origin || (origin->source > PD_SOURCE_DEFAULT && origin->source < PD_SOURCE_OVERRIDE)) {
    return PD_OK;
  }
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "origin->source is %d, expected file, environment, argv or run time",
                  (int)origin->source);
}

pd_status pd__do_batch_set(const pd_assignment *items, size_t count, const pd_origin *origin,
                           pd_error_list *errors, pd_error *err) {
  if (!items && count > 0) return pd__fail_null(err, "items");
  pd_status status = pd__origin_check(origin, err);
  if (status != PD_OK) return status;
  pd__report report = {.list = errors, .first = err};
  pd__changes changes = {.report = &report};
  pd__platform_lock();
  prepare(items, count, origin ? origin : &pd__at_run_time, &changes);
  status = pd__changes_finish(&changes);
  pd__platform_unlock();
  pd__tell();
  return status;
}

pd_status pd__do_override_push(const pd_assignment *items, size_t count, const pd_origin *origin,
                            pd_error_list *errors, pd_override *out, pd_error *err) {
  static pd_override last;
  if (!items && count > 0) return pd__fail_null(err, "items");
  if (!out) return pd__fail_null(err, "out");
  override *fresh = malloc(sizeof *fresh + count * sizeof *fresh->flags);
  if (!fresh) return pd__fail_memory(err);
  for (size_t i = 0; i < count; i++) fresh->flags[i] = items[i].flag;
  fresh->count = count;
  pd_origin place = {PD_SOURCE_OVERRIDE, origin ? origin->line : 0, origin ? origin->place : NULL,
                     origin ? origin->column : 0};
  pd__report report = {.list = errors, .first = err};
  pd__changes changes = {.report = &report};
  pd__platform_lock();
  changes.override = fresh->number = ++last;
  prepare(items, count, &place, &changes);
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) {
    *out = fresh->number;
    fresh->next = overrides;
    overrides = fresh;
  }
  pd__platform_unlock();
  pd__tell();
  if (status != PD_OK) free(fresh);
  return status;
}

/* With the lock. */
static pd_status pop(override **at, pd_error *err) {
  override *found = *at;
  pd__report report = {.first = err};
  pd__changes changes = {.report = &report, .forced = true};
  for (size_t i = 0; i < found->count; i++) {
    pd__changes_pop(&changes, found->flags[i], found->number);
  }
  pd_status status = pd__changes_finish(&changes);
  if (status == PD_OK) {
    *at = found->next;
    free(found);
  }
  return status;
}

pd_status pd__do_override_pop(pd_override number, pd_error *err) {
  pd__platform_lock();
  override **at = &overrides;
  while (*at && (*at)->number != number) at = &(*at)->next;
  bool found = *at != NULL;
  pd_status status = found ? pop(at, err) : PD_ERR_ARGUMENT;
  pd__platform_unlock();
  pd__tell();
  if (found) return status;
  return pd__fail(err, PD_ERR_ARGUMENT, "no override has the number %llu, or it is popped already",
                  (unsigned long long)number);
}
