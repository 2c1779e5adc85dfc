/* The stages that a change and an undo share: faults, validators, commit, answer, audit. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "../registry/journal.h"
#include "order.h"

/* ---- Faults ---- */

const char *pd__deed_copy(pd__deed *deed, const char *text) {
  return text ? pd__arena_copy_text(deed->call->arena, text, strlen(text)) : NULL;
}

void pd__deed_fail(pd__deed *deed, pd__problem problem, const char *name, pd_status status,
                   const char *format, ...) {
  pd__fault *faults = pd__arena_make_room(deed->call->arena, deed->faults, deed->fault_count,
                                          &deed->fault_room, sizeof *faults);
  if (!faults) return; /* the arena says so */
  va_list arguments;
  deed->problem = status == PD_ERR_MEMORY ? PD__PROBLEM_INTERNAL : problem;
  deed->faults = faults;
  pd__fault *fault = &faults[deed->fault_count++];
  *fault = (pd__fault){.name = pd__deed_copy(deed, name)};
  fault->error.status = status;
  va_start(arguments, format);
  vsnprintf(fault->error.message, sizeof fault->error.message, format, arguments);
  va_end(arguments);
}

static void write_faults(pd__deed *deed) {
  pd__json *to = &deed->call->json;
  pd__json_begin_member(to, "errors");
  pd__json_open(to, "[");
  for (size_t i = 0; i < deed->fault_count; i++) {
    const pd__fault *fault = &deed->faults[i];
    pd__json_begin_item(to);
    pd__json_open(to, "{");
    pd__json_add_nullable(to, "name", fault->name);
    pd__json_add_text(to, "code", pd_status_name(fault->error.status));
    pd__json_add_text(to, "detail", fault->error.message);
    pd__json_close(to, "}");
  }
  pd__json_close(to, "]");
}

/* The values that flags have which the client expected to have others. */
static void write_current(pd__deed *deed) {
  pd__json *to = &deed->call->json;
  pd__json_begin_member(to, "current");
  pd__json_open(to, "{");
  for (size_t i = 0; i < deed->order->expect.count; i++) {
    const pd__wish *wish = &deed->order->expect.items[i];
    pd__json_begin_escaped_member(to, wish->name);
    pd__out_add_text(to->out, wish->old_text ? "" : "null");
    if (wish->old_text) pd__json_write_text(to->out, wish->old_text);
  }
  pd__json_close(to, "}");
}

static void write_refusal(pd__deed *deed, pd__out *out) {
  pd__json json = {.out = out, .compact = true, .place = {.arena = out->arena}};
  pd_live_who who = pd__call_who(deed->call);
  pd__audit_begin(&json, "refused");
  pd__json_add_text(&json, "result", "refused");
  pd__json_add_time(&json, "at", pd__platform_time());
  pd__json_add_number(&json, "status", deed->problem);
  pd__json_add_text(&json, "detail", deed->faults[0].error.message);
  pd__json_begin_member(&json, "who");
  pd__json_open(&json, "{");
  pd__json_add_who(&json, &who);
  pd__json_close(&json, "}");
  pd__json_add_optional(&json, "reason", deed->order->reason);
  pd__json_begin_member(&json, "flags");
  pd__json_open(&json, "[");
  for (size_t i = 0; i < deed->order->set.count; i++) {
    pd__json_begin_item(&json);
    pd__json_open(&json, "{");
    const pd__wish *wish = &deed->order->set.items[i];
    bool known = wish->flag && pd__flag_def(wish->flag) && !pd__flag_is_sensitive(wish->flag);
    pd__json_add_text(&json, "name", wish->name);
    if (known) pd__json_add_nullable(&json, "new", wish->text);
    pd__json_close(&json, "}");
  }
  pd__json_close(&json, "]");
  pd__json_close(&json, "}");
}

/* ---- Validators ---- */

/* Returns the name of the only flag that is set; NULL if there are several. */
static const char *only_name(const pd__deed *deed) {
  return deed->order->set.count == 1 ? deed->order->set.items[0].name : NULL;
}

static bool take_errors(pd__deed *deed) {
  pd_error_list *list = deed->report.list;
  for (size_t i = 0; i < pd_error_list_count(list); i++) {
    const pd_error *error = pd_error_list_at(list, i);
    pd__deed_fail(deed, PD__PROBLEM_REJECTED, only_name(deed), error->status, "%s", error->message);
  }
  if (deed->report.status != PD_OK && deed->fault_count == 0) {
    pd__deed_fail(deed, PD__PROBLEM_INTERNAL, NULL, PD_ERR_MEMORY, "out of memory");
  }
  return deed->fault_count == 0 && deed->report.status == PD_OK;
}

bool pd__deed_ask(pd__deed *deed) {
  pd__changes_validate(&deed->changes);
  return take_errors(deed);
}

/* Where the values come from: as few different texts as there are clients. */
static const char *place_of(const pd__deed *deed) {
  pd_live_who who = pd__call_who(deed->call);
  char text[PD__QUOTE_SIZE];
  if (who.label) return who.label;
  if (who.uid < 0) return "a client";
  snprintf(text, sizeof text, "uid %lld", (long long)who.uid);
  return pd__arena_copy_text(deed->call->arena, text, strlen(text));
}

/* ---- What is kept ---- */

const char *pd__deed_text(pd__deed *deed, const pd_flag *flag, pd_value value, bool unset) {
  char buffer[PD__NUMBER_SIZE];
  const char *text = unset ? NULL : pd__value_text(pd__flag_type(flag), value, buffer);
  return pd__deed_copy(deed, text);
}

const char *pd__deed_behind(pd__deed *deed, const pd_flag *flag, pd_override number, bool drops) {
  pd_value value;
  bool given = pd__flag_value_below(flag, number, drops, &value);
  return pd__deed_text(deed, flag, value, !given);
}

static const char *copy(pd__kept *kept, const char *text) {
  return text ? pd__arena_copy_text(&kept->arena, text, strlen(text)) : NULL;
}

static void keep_flag(pd__kept *kept, pd__kept_flag *out, const pd__wish *wish) {
  char buffer[PD__NUMBER_SIZE];
  pd__entry before;
  pd_flag *flag = wish->flag;
  *out =
      (pd__kept_flag){.flag = flag, .generation = pd__flag_generation(flag), .drops = !wish->text};
  out->sensitive = pd__flag_is_sensitive(flag);
  out->had_live = pd__history_find(flag, PD_SOURCE_LIVE, &before);
  if (out->sensitive) return;
  out->old_text = copy(kept, wish->old_text);
  out->new_text = copy(kept, wish->new_text);
  if (!out->had_live) return;
  out->live_before = copy(kept, pd__value_text(pd__flag_type(flag), before.value, buffer));
}

pd__kept *pd__deed_keep(pd__deed *deed) {
  pd__order *order = deed->order;
  pd_live_who who = pd__call_who(deed->call);
  pd__kept *kept = pd__kept_new(order->set.count, &who, order->reason);
  if (!kept) return NULL;
  for (size_t i = 0; i < kept->count; i++) keep_flag(kept, &kept->flags[i], &order->set.items[i]);
  if (order->duration > 0) {
    kept->state = PD__ON;
    kept->until = kept->at + order->duration;
    kept->deadline = pd__platform_steady_time() + order->duration;
  }
  if (!kept->arena.failed) return kept;
  pd__kept_free(kept);
  return NULL;
}

/* ---- The answer ---- */

static void write_done(pd__json *to, const pd__wish *wish, bool temporary) {
  const pd_flag *flag = wish->flag;
  bool hidden = !temporary && wish->text && pd__flag_is_overridden(flag);
  pd__json_begin_item(to);
  pd__json_open(to, "{");
  pd__json_add_text(to, "name", pd__flag_name(flag));
  if (!pd__flag_is_sensitive(flag)) {
    pd__json_add_nullable(to, "old", wish->old_text);
    pd__json_add_nullable(to, "new", wish->new_text);
  }
  pd_source source = temporary    ? PD_SOURCE_OVERRIDE
                     : wish->text ? PD_SOURCE_LIVE
                                  : pd__flag_source(flag);
  pd__json_add_text(to, "source", pd_source_name(source));
  pd__json_add_bool(to, "hidden", hidden);
  pd__json_close(to, "}");
}

void pd__deed_write(pd__deed *deed, const pd__kept *kept) {
  pd__order *order = deed->order;
  pd__json *to = &deed->call->json;
  int64_t until = kept ? kept->until : 0;
  if (!kept && order->duration > 0) until = pd__platform_time() + order->duration;
  pd__json_open(to, "{");
  if (kept) {
    pd__json_add_number(to, "change", (int64_t)kept->number);
  } else {
    pd__json_add_nullable(to, "change", NULL);
  }
  pd__json_add_number(to, "revision", (int64_t)pd__journal_revision());
  pd__json_add_bool(to, "dry_run", order->dry_run);
  pd__json_add_time(to, "until", until);
  pd__json_begin_member(to, "flags");
  pd__json_open(to, "[");
  for (size_t i = 0; i < order->set.count; i++) {
    write_done(to, &order->set.items[i], order->duration > 0);
  }
  pd__json_close(to, "]");
  pd__json_close(to, "}");
}

/* ---- The audit ---- */

static void write_event(pd__deed *deed, const char *event, const pd__kept *kept) {
  pd__out *out = &deed->event;
  pd__json json = {.out = out, .compact = true, .place = {.arena = out->arena}};
  pd__out_clear(out);
  pd__audit_begin(&json, event);
  pd__json_add_text(&json, "result", "applied");
  pd__kept_write(&json, kept);
  pd__json_close(&json, "}");
}

/* Writes the answer and the event, which takes memory only the first time. */
static void write_both(pd__deed *deed, const char *event, const pd__kept *kept) {
  pd__out_clear(&deed->call->out);
  pd__deed_write(deed, kept);
  write_event(deed, event, kept);
}

/* ---- The commit ---- */

#define TEMPORARY_MAX 1000

#define DIGITS 256 /* by which a text may grow when the numbers in it are known */

/* Everything that may fail comes first: memory for what is kept and for the answer, the thread that
 * ends a temporary change, and the number. */
static bool get_ready(pd__deed *deed, pd__kept *kept, const char *event) {
  static const char blanks[DIGITS] = "";
  if (!kept) return false;
  write_both(deed, event, kept);
  pd__out_add(&deed->call->out, blanks, DIGITS);
  pd__out_add(&deed->event, blanks, DIGITS);
  if (deed->call->arena->failed) return false;
  return (kept->state != PD__ON || pd__timer_start()) && pd__kept_add(kept);
}

static void set_places(pd__deed *deed, const char *place) {
  for (size_t i = 0; i < deed->changes.count; i++) {
    pd__change *change = &deed->changes.items[i];
    if (change->action == PD__ASSIGN) change->origin.place = place;
  }
}

static void keep_values(const pd__deed *deed, pd__kept *kept) {
  for (size_t i = 0; i < kept->count; i++) {
    size_t index = deed->order->set.items[i].index;
    if (index != SIZE_MAX) kept->flags[i].set = deed->changes.items[index].value;
  }
  if (kept->state != PD__ON) return;
  kept->override = deed->changes.override;
  kept->live = deed->call->live;
  pd__live_hold(kept->live);
}

/* Nobody needs so many, and each one costs memory until it ends. */
static bool are_too_many(pd__deed *deed, const pd__kept *kept) {
  if (!kept || kept->state != PD__ON || pd__kept_on() < TEMPORARY_MAX) return false;
  pd__deed_fail(deed, PD__PROBLEM_BUSY, NULL, PD_ERR_REFUSED,
                "%d temporary changes are on: undo some, or wait until some end", TEMPORARY_MAX);
  return true;
}

bool pd__deed_commit(pd__deed *deed, pd__kept *kept, const char *event) {
  const char *place = place_of(deed);
  if (are_too_many(deed, kept)) {
    pd__kept_free(kept);
    return false;
  }
  if (!place || !get_ready(deed, kept, event)) {
    pd__kept_free(kept);
    pd__report_fail_memory(&deed->report);
    return take_errors(deed);
  }
  set_places(deed, place);
  pd__journal_mark = kept->number;
  bool done = pd__changes_commit(&deed->changes) == PD_OK;
  pd__journal_mark = 0;
  if (!done) {
    pd__kept_remove(kept);
    return take_errors(deed);
  }
  keep_values(deed, kept);
  write_both(deed, event, kept);
  return true;
}

/* ---- The end ---- */

static void tell(pd__deed *deed) {
  PD__OPERATION(operation);
  pd__audit(deed->call->live, &operation, deed->event.text, deed->event.length);
  pd__operation_end(&operation);
}

static void refuse(pd__deed *deed) {
  pd__call *call = deed->call;
  if (deed->fault_count == 0) return; /* memory is out, as the arena says */
  pd__problem_begin(call, deed->problem, deed->faults[0].error.message);
  write_faults(deed);
  if (deed->problem == PD__PROBLEM_CONFLICT) write_current(deed);
  pd__problem_end(call, deed->problem);
  if (deed->order->dry_run) return;
  pd__out_clear(&deed->event);
  write_refusal(deed, &deed->event);
  tell(deed);
}

void pd__deed_finish(pd__deed *deed, bool done) {
  if (!done) {
    refuse(deed);
    return;
  }
  pd__call_finish(deed->call, 200, "application/json");
  if (deed->event.length > 0) tell(deed);
}
