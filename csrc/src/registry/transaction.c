/* Changes that are made together: prepared one by one, shown to the validators,
 * then committed, all or none. */
#include <stdlib.h>
#include <string.h>

#include "hooks.h"
#include "registry.h"

pd__change *pd__changes_at(pd__changes *changes, size_t index) {
  return !PD__LACKS_BATCH && changes->more ? &changes->more[index] : &changes->single;
}

void pd__changes_reserve(pd__changes *changes, size_t capacity) {
  if (PD__LACKS_BATCH || capacity <= changes->capacity || capacity < 2) return;
  pd__change *more = realloc(changes->more, capacity * sizeof *more);
  if (!more) return;
  if (!changes->more) more[0] = changes->single;
  changes->more = more;
  changes->capacity = capacity;
}

/* Room for one more; NULL when memory is out. */
static pd__change *add(pd__changes *changes) {
  if (!PD__LACKS_BATCH && changes->count < changes->capacity) {
    return &changes->more[changes->count];
  }
  if (changes->count == 0) return &changes->single;
  if (PD__LACKS_BATCH) return NULL; /* it never makes two */
  pd__changes_reserve(changes, changes->capacity ? 2 * changes->capacity : 8);
  return changes->count < changes->capacity ? &changes->more[changes->count] : NULL;
}

static void count(pd__changes *changes, const pd__change *change) {
  changes->count++;
  if (!PD__LACKS_SHORTCUTS && change->action <= PD__GIVE_BRIEF) change->flag->changing = true;
  changes->hooked |= pd__hooks_concern(change->flag);
}

static void fail_memory(pd__changes *changes) {
  pd_error err;
  pd__fail_memory(&err);
  pd__report_add(changes->report, &err);
}

pd_status pd__changes_try(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                          const pd_origin *origin, pd_error *err) {
  pd__change *change = add(changes);
  if (!change) return pd__fail_memory(err);
  pd_status status = pd__change_prepare(change, node, text, value, origin, changes->early, err);
  if (status != PD_OK || pd__change_idle(change)) return status;
  if (changes->override) {
    change->what.entry->override = changes->override & PD__OVERRIDE_MOST; /* an override's is never brief */
    change->what.entry->source = PD_SOURCE_OVERRIDE;
  }
  count(changes, change);
  return PD_OK;
}

void pd__changes_add(pd__changes *changes, pd_flag *node, const char *text, pd_value value,
                     const pd_origin *origin) {
  pd_error err;
  pd_status status = pd__changes_try(changes, node, text, value, origin, &err);
  if (status != PD_OK) pd__report_add(changes->report, &err);
}

static void add_drop(pd__changes *changes, const pd__change *drop) {
  pd__change *change = add(changes);
  if (change) {
    *change = *drop;
    count(changes, change);
  } else {
    fail_memory(changes);
  }
}

static bool is_open(pd__changes *changes, const pd_flag *flag, const pd_origin *origin) {
  pd_error err;
  if (pd__flag_check_open(flag, origin, &err) == PD_OK) return true;
  pd__report_add(changes->report, &err);
  return false;
}

void pd__changes_drop(pd__changes *changes, pd_flag *flag, pd_source source) {
  pd__entry room;
  const pd__entry *entry = pd__flag_entry_of(flag, source, &room);
  pd__change drop = {.flag = flag, .action = PD__DROP_SOURCE, .source = (uint8_t)source};
  if (!entry) return;
  pd_origin origin = pd__entry_origin(entry);
  if (is_open(changes, flag, &origin)) add_drop(changes, &drop);
}

void pd__changes_reset(pd__changes *changes, pd_flag *flag) {
  pd__change drop = {.flag = flag, .action = PD__DROP_ALL};
  if (!is_open(changes, flag, &pd__at_run_time)) return;
  const pd__entry *entry = pd__flag_entries(flag);
  if (entry && entry->override > 0) {
    pd__changes_add(changes, flag, NULL, pd__flag_default(flag), &pd__at_run_time);
  } else {
    add_drop(changes, &drop);
  }
}

void pd__changes_pop(pd__changes *changes, pd_flag *flag, pd_override override) {
  pd__change drop = {.flag = flag, .action = PD__DROP_OVERRIDE, .what.override = override};
  add_drop(changes, &drop);
}

static void give_up(pd__changes *changes) {
  for (size_t i = 0; i < changes->count; i++) pd__change_drop(pd__changes_at(changes, i));
}

/* Room for what validators and watchers are asked about each flag. While they are asked,
 * others may give flags values too. */
static pd_status make_extras(pd__changes *changes, pd_error *err) {
  pd_status status = PD_OK;
  for (size_t i = 0; status == PD_OK && i < changes->count; i++) {
    pd__change *change = pd__changes_at(changes, i);
    status = pd__change_open(change, err);
    if (status == PD_OK && !pd__flag_make_extra(change->flag)) status = pd__fail_memory(err);
  }
  return status;
}

/* Ask the validators, and gather the watchers. */
static void ask(pd__changes *changes, pd__notice **notices) {
  pd__report *report = changes->report;
  pd_error err;
  pd_status status = changes->forced ? PD_OK : pd__call_check(&err);
  if (status == PD_OK) status = make_extras(changes, &err);
  if (status == PD_OK && !changes->forced) pd__validators_ask(changes);
  if (status == PD_OK && report->status == PD_OK) {
    status = pd__notices_prepare(changes, notices, &err);
  }
  if (status != PD_OK) pd__report_add(report, &err);
}

pd_status pd__changes_finish(pd__changes *changes) {
  pd__report *report = changes->report;
  pd__notice *notices = NULL;
  bool all = changes->ask_all && (pd__defs_ask() || pd__hooks_first());
  bool hooked = !PD__LACKS_HOOKS && (changes->hooked || all);
  if (report->status == PD_OK && hooked) ask(changes, &notices);
  for (size_t i = 0; report->status == PD_OK && i < changes->count; i++) {
    pd__change_commit(pd__changes_at(changes, i));
  }
  if (report->status == PD_OK) {
    pd__notices_post(notices);
  } else {
    give_up(changes);
  }
  if (!PD__LACKS_BATCH) free(changes->more);
  changes->more = NULL;
  changes->count = changes->capacity = 0;
  changes->hooked = false;
  return report->status;
}

pd_status pd__give(pd_flag *node, const char *text, pd_value value, const pd_origin *origin,
                   pd_error *err) {
  pd__change change;
  pd_status status = pd__change_prepare(&change, node, text, value, origin, false, err);
  if (status != PD_OK || pd__change_idle(&change)) return status;
  if (pd__hooks_concern(change.flag)) {
    pd__report report = {.first = err};
    pd__changes changes = {.report = &report, .hooked = true, .count = 1, .single = change};
    return pd__changes_finish(&changes);
  }
  pd__change_commit(&change);
  return PD_OK;
}

void pd__settle(pd_flag *node, const char *text, const pd_origin *origin, pd__report *report) {
  pd_error err;
  pd__report own = {.list = report->list, .first = &err};
  pd__changes changes = {.report = &own, .early = true};
  pd__changes_add(&changes, node, text, (pd_value){0}, origin);
  if (pd__changes_finish(&changes) == PD_OK || report->status != PD_OK) return;
  report->status = own.status;
  if (report->first) *report->first = err;
}
