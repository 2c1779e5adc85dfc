/* POST /v1/changes. */
#include <string.h>

#include "order.h"

/* ---- Names ---- */

static bool find(pd__deed *deed, pd__wishes *wishes) {
  for (size_t i = 0; i < wishes->count; i++) {
    pd_error err;
    pd__wish *wish = &wishes->items[i];
    pd_flag *node = pd__names_find(wish->name, strlen(wish->name));
    wish->flag = node ? pd__resolve_alias(node) : NULL;
    if (wish->flag && pd__flag_check_defined(deed->operation, wish->flag, NULL) == PD_OK) continue;
    pd__fail_undefined(wish->name, &err);
    pd__deed_fail(deed, PD__PROBLEM_UNKNOWN, wish->name, PD_ERR_UNDEFINED, "%s", err.message);
  }
  return deed->fault_count == 0;
}

/* Two spellings of one flag would set it twice. */
static bool are_different(pd__deed *deed) {
  uint32_t mark = pd__next_visit_mark();
  for (size_t i = 0; i < deed->order->set.count; i++) {
    pd__wish *wish = &deed->order->set.items[i];
    if (!pd__name_visit(wish->flag, mark)) {
      pd__deed_fail(deed, PD__PROBLEM_MALFORMED, wish->name, PD_ERR_ARGUMENT,
                    "%s: is in set twice, as a name or an alias", pd__flag_name(wish->flag));
    }
  }
  return deed->fault_count == 0;
}

/* ---- Permission ---- */

static bool may_change(pd__deed *deed) {
  for (size_t i = 0; i < deed->order->set.count; i++) {
    const pd__wish *wish = &deed->order->set.items[i];
    const char *why = pd__settable_refusal_of(deed->call->live, wish->flag);
    if (!why) continue;
    bool closed = pd__flag_def(wish->flag)->read_only || !strcmp(why, "is retired");
    pd__deed_fail(deed, PD__PROBLEM_FORBIDDEN, wish->name,
                  closed ? PD_ERR_READ_ONLY : PD_ERR_FROZEN, "%s: %s", pd__flag_name(wish->flag),
                  why);
  }
  return deed->fault_count == 0;
}

static bool is_confirmed(const pd__order *order, const pd_flag *flag) {
  for (size_t i = 0; i < order->confirm.count; i++) {
    if (order->confirm.items[i].flag == flag) return true;
  }
  return false;
}

static bool are_confirmed(pd__deed *deed) {
  for (size_t i = 0; i < deed->order->set.count; i++) {
    const pd__wish *wish = &deed->order->set.items[i];
    if (!pd__flag_def(wish->flag)->unsafe || is_confirmed(deed->order, wish->flag)) continue;
    pd__deed_fail(deed, PD__PROBLEM_CONFIRM, wish->name, PD_ERR_REFUSED,
                  "%s: is unsafe to change: confirm it by its name", pd__flag_name(wish->flag));
  }
  return deed->fault_count == 0;
}

bool pd__deed_permit(pd__deed *deed) {
  find(deed, &deed->order->set);
  find(deed, &deed->order->expect);
  return find(deed, &deed->order->confirm) && are_different(deed) && may_change(deed) &&
         are_confirmed(deed);
}

/* ---- Expectations ---- */

static bool has_value(const pd_flag *flag, const char *text) {
  pd_value value;
  const pd_flag_def *def = pd__flag_def(flag);
  if (!text) return pd__flag_is_unset(flag);
  if (pd__flag_is_unset(flag) || pd__value_read(def, text, &value) != PD_OK) return false;
  return pd__value_is_same(def, value, pd__flag_value(flag));
}

/* An expectation of a sensitive flag would tell its value by guesses. */
static bool are_expected(pd__deed *deed) {
  for (size_t i = 0; i < deed->order->expect.count; i++) {
    pd__wish *wish = &deed->order->expect.items[i];
    const pd_flag *flag = wish->flag;
    if (pd__flag_is_sensitive(flag)) {
      pd__deed_fail(deed, PD__PROBLEM_FORBIDDEN, wish->name, PD_ERR_ARGUMENT,
                    "%s: is sensitive, and can't be in expect", pd__flag_name(flag));
      continue;
    }
    wish->old_text = pd__deed_text(deed, flag, pd__flag_value(flag), pd__flag_is_unset(flag));
    if (has_value(flag, wish->text)) continue;
    pd__deed_fail(deed, PD__PROBLEM_CONFLICT, wish->name, PD_ERR_CONFLICT,
                  "%s: has not the expected value", pd__flag_name(flag));
  }
  return deed->fault_count == 0;
}

/* ---- Values ---- */

static void prepare(pd__deed *deed, pd__wish *wish) {
  pd_error err;
  pd__changes *changes = &deed->changes;
  pd_value none = {.str = NULL};
  pd_origin origin = {changes->pushes ? PD_SOURCE_OVERRIDE : PD_SOURCE_LIVE, 0, NULL, 0};
  if (!wish->text) {
    pd__changes_take_back(changes, wish->flag);
    return;
  }
  size_t index = changes->count;
  pd_status status =
      pd__changes_try(changes, wish->flag, wish->text, none, &origin, wish->literal, &err);
  if (status != PD_OK) {
    pd__deed_fail(deed, PD__PROBLEM_REJECTED, wish->name, status, "%s", err.message);
  } else if (changes->count > index) {
    wish->index = index;
  }
}

static bool prepare_all(pd__deed *deed) {
  pd__changes *changes = &deed->changes;
  pd__changes_begin(changes, deed->operation, &deed->report);
  changes->pushes = changes->temporary = deed->order->duration > 0;
  for (size_t i = 0; i < deed->order->set.count; i++) prepare(deed, &deed->order->set.items[i]);
  return deed->fault_count == 0;
}

/* ---- Old and new ---- */

static void describe(pd__deed *deed) {
  for (size_t i = 0; i < deed->order->set.count; i++) {
    pd__wish *wish = &deed->order->set.items[i];
    const pd_flag *flag = wish->flag;
    pd_value now = pd__flag_value(flag);
    wish->old_text = pd__deed_text(deed, flag, now, pd__flag_is_unset(flag));
    wish->new_text = wish->old_text;
    if (!wish->text) {
      wish->new_text = pd__deed_behind(deed, flag, 0, true);
    } else if (wish->index != SIZE_MAX) {
      wish->new_text = pd__deed_text(deed, flag, deed->changes.items[wish->index].value, false);
    }
  }
}

/* ---- All stages ---- */

/* Flags may have gone while validators ran. */
static bool are_there(pd__deed *deed, const pd__wishes *wishes) {
  for (size_t i = 0; i < wishes->count; i++) {
    const pd__wish *wish = &wishes->items[i];
    if (pd__flag_def(wish->flag)) continue;
    pd__deed_fail(deed, PD__PROBLEM_CONFLICT, wish->name, PD_ERR_UNDEFINED,
                  "%s: is no longer defined", pd__flag_name(wish->flag));
  }
  return deed->fault_count == 0;
}

/* While validators run, the lock is free: what was checked before is checked again. */
static bool check(pd__deed *deed) {
  const pd__order *order = deed->order;
  if (!pd__deed_permit(deed) || !are_expected(deed)) return false;
  if (!prepare_all(deed) || !pd__deed_ask(deed)) return false;
  if (!are_there(deed, &order->set) || !are_there(deed, &order->expect)) return false;
  if (!may_change(deed) || !are_confirmed(deed) || !are_expected(deed)) return false;
  describe(deed);
  return true;
}

/* Ends temporary changes of which every flag was taken back. */
static void end_empty(void) {
  for (pd__kept *at = pd__kept_after(0); at; at = pd__kept_after(at->number)) {
    if (at->state != PD__ON || !pd__override_is_empty(at->override)) continue;
    pd__override_forget(at->override);
    pd__kept_end(at, PD__UNDONE);
    pd__live_release(at->live); /* the caller holds one, too */
    at->live = NULL;
  }
}

void pd__post_changes(pd__call *call) {
  pd__order order = {.undo = 0};
  if (!pd__order_read(call, &order)) return;
  pd_error_list *errors = pd_error_list_new();
  pd__deed deed = {.call = call, .order = &order, .report = {.list = errors}};
  deed.event.arena = call->arena;
  PD__LOCKED_OPERATION(operation);
  deed.operation = &operation;
  bool done = check(&deed);
  if (done && order.dry_run) {
    pd__deed_write(&deed, NULL);
  } else if (done) {
    pd__kept *kept = pd__deed_keep(&deed);
    done = pd__deed_commit(&deed, kept, "set");
    if (done) end_empty();
    if (done) pd__kept_trim();
  }
  pd__operation_end(&operation); /* notifies the watchers */
  pd_error_list_free(errors);
  pd__deed_finish(&deed, done);
}
