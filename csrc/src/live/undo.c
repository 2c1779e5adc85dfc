/* POST /v1/undo. */
#include <string.h>

#include "../registry/journal.h"
#include "order.h"

/* ---- Which change ---- */

static bool same_text(const char *a, const char *b) { return a && b ? !strcmp(a, b) : !a && !b; }

/* A client is known by its user and by the label of its token, whichever there is. */
static bool is_author(const pd__kept *kept, const pd_live_who *who) {
  return kept->who.uid == who->uid && same_text(kept->who.label, who->label) &&
         (who->uid >= 0 || who->label);
}

/* Returns the last change of the author that can be undone; NULL if there is none. */
static pd__kept *find_last(const pd_live_who *who) {
  pd__kept *at = NULL;
  while ((at = pd__kept_before(at ? at->number : UINT64_MAX))) {
    bool open = at->state == PD__KEPT || at->state == PD__ON;
    if (open && !at->undoes && is_author(at, who)) return at;
  }
  return NULL;
}

static pd__kept *find(pd__deed *deed) {
  pd_live_who who = pd__call_who(deed->call);
  uint64_t number = deed->order->undo;
  pd__kept *found = number ? pd__kept_find(number) : find_last(&who);
  if (!found && !number) {
    pd__deed_fail(deed, PD__PROBLEM_CONFLICT, NULL, PD_ERR_CONFLICT,
                  "there is no change of yours to undo");
  } else if (!found) {
    pd__deed_fail(deed, PD__PROBLEM_UNKNOWN, NULL, PD_ERR_ARGUMENT, "there is no change %llu",
                  (unsigned long long)number);
  } else if (!is_author(found, &who)) {
    pd__deed_fail(deed, PD__PROBLEM_FORBIDDEN, NULL, PD_ERR_REFUSED,
                  "change %llu is by another client", (unsigned long long)number);
  } else if (found->undoes || found->state == PD__ENDED || found->state == PD__UNDONE) {
    pd__deed_fail(deed, PD__PROBLEM_CONFLICT, NULL, PD_ERR_CONFLICT, "change %llu %s",
                  (unsigned long long)number,
                  found->undoes               ? "is an undo"
                  : found->state == PD__ENDED ? "has ended by itself"
                                              : "is undone already");
  }
  return deed->fault_count > 0 ? NULL : found;
}

/* ---- Whether it still stands ---- */

/* Returns whether the flag still has the value of the change from clients, and nothing came later
 * from the program. */
static bool stands(const pd__kept *kept, const pd__kept_flag *each) {
  const pd_flag *flag = each->flag;
  pd__entry now;
  if (!pd__flag_def(flag) || pd__flag_generation(flag) != each->generation) return false;
  if (kept->state == PD__ON) return pd__flag_is_overridden_by(flag, kept->override);
  bool given = pd__history_find(flag, PD_SOURCE_LIVE, &now);
  if (each->drops) return !given;
  return given && pd__flag_origin(flag).source == PD_SOURCE_LIVE &&
         pd__value_is_equal(pd__flag_type(flag), now.value, each->set);
}

static bool all_stand(pd__deed *deed, const pd__kept *kept) {
  for (size_t i = 0; i < kept->count; i++) {
    const pd__kept_flag *each = &kept->flags[i];
    if (!stands(kept, each)) {
      pd__deed_fail(deed, PD__PROBLEM_CONFLICT, pd__flag_name(each->flag), PD_ERR_CONFLICT,
                    "%s: has changed since", pd__flag_name(each->flag));
    } else if (each->sensitive && each->had_live) {
      pd__deed_fail(deed, PD__PROBLEM_CONFLICT, pd__flag_name(each->flag), PD_ERR_CONFLICT,
                    "%s: is sensitive, and its former value is not kept",
                    pd__flag_name(each->flag));
    }
  }
  return deed->fault_count == 0;
}

/* ---- Taking back ---- */

static void prepare_one(pd__deed *deed, const pd__kept *kept, const pd__kept_flag *each,
                        pd__wish *wish) {
  pd_error err;
  pd__changes *changes = &deed->changes;
  pd_origin origin = {PD_SOURCE_LIVE, 0, NULL, 0};
  pd_value none = {.str = NULL};
  if (kept->state == PD__ON) {
    pd__changes_pop(changes, each->flag, kept->override);
  } else if (each->had_live) {
    size_t index = changes->count;
    pd_status status = pd__changes_try(changes, each->flag, wish->text, none, &origin, 0, &err);
    if (status == PD_OK && changes->count > index) wish->index = index;
    if (status == PD_OK) return;
    pd__deed_fail(deed, PD__PROBLEM_REJECTED, pd__flag_name(each->flag), status, "%s", err.message);
  } else {
    pd__changes_drop(changes, each->flag, PD_SOURCE_LIVE);
  }
}

/* Returns the text that the flag will have. */
static const char *text_after(pd__deed *deed, const pd__kept *kept, const pd__kept_flag *each) {
  if (kept->state == PD__ON) return pd__deed_behind(deed, each->flag, kept->override, false);
  if (!each->had_live || pd__flag_is_overridden(each->flag)) {
    return pd__deed_behind(deed, each->flag, UINT64_MAX, true);
  }
  return pd__deed_copy(deed, each->live_before);
}

/* The flags of the change become those of the order. */
static bool prepare(pd__deed *deed, const pd__kept *kept) {
  pd__wishes *set = &deed->order->set;
  pd__changes_begin(&deed->changes, deed->operation, &deed->report);
  deed->changes.forced = kept->state == PD__ON; /* as when it ends by itself */
  set->items = pd__arena_alloc(deed->call->arena, kept->count * sizeof *set->items);
  if (!set->items) return false;
  set->count = kept->count;
  for (size_t i = 0; i < kept->count; i++) {
    const pd__kept_flag *each = &kept->flags[i];
    pd_flag *flag = each->flag;
    pd__wish *wish = &set->items[i];
    *wish = (pd__wish){.flag = flag, .index = SIZE_MAX};
    wish->name = pd__deed_copy(deed, pd__flag_name(flag));
    if (!wish->name) return false; /* the arena says why */
    if (each->had_live && kept->state != PD__ON) {
      wish->text = pd__deed_copy(deed, each->live_before);
    }
    wish->old_text = pd__deed_text(deed, flag, pd__flag_value(flag), pd__flag_is_unset(flag));
    wish->new_text = text_after(deed, kept, each);
    prepare_one(deed, kept, each, wish);
  }
  return deed->fault_count == 0;
}

/* Validators run while the lock is free, so the change is looked up again. */
static pd__kept *check(pd__deed *deed) {
  pd__kept *kept = find(deed);
  if (!kept || !all_stand(deed, kept) || !prepare(deed, kept)) return NULL;
  uint64_t number = kept->number;
  if (!pd__deed_ask(deed)) return NULL;
  deed->order->undo = number;
  kept = find(deed);
  return kept && all_stand(deed, kept) ? kept : NULL;
}

/* Returns the change that was undone; NULL if there are faults. */
static pd__kept *undo(pd__deed *deed) {
  pd__kept *from = check(deed);
  pd__kept *made = from ? pd__deed_keep(deed) : NULL;
  if (!from) return NULL;
  if (made) made->undoes = from->number;
  if (!pd__deed_commit(deed, made, "undo")) return NULL;
  if (from->state == PD__ON) pd__override_forget(from->override);
  pd__kept_end(from, PD__UNDONE);
  return from;
}

void pd__post_undo(pd__call *call) {
  pd__order order = {.undo = 0};
  if (!pd__order_read_undo(call, &order)) return;
  pd_error_list *errors = pd_error_list_new();
  pd__deed deed = {.call = call, .order = &order, .report = {.list = errors}};
  deed.event.arena = call->arena;
  PD__LOCKED_OPERATION(operation);
  deed.operation = &operation;
  pd__kept *from = undo(&deed);
  if (from && from->live) pd__live_release(from->live); /* the caller holds it, too */
  if (from) from->live = NULL;
  if (from) pd__kept_trim();
  pd__operation_end(&operation); /* notifies the watchers */
  pd_error_list_free(errors);
  pd__deed_finish(&deed, from != NULL);
}
