/* pd_fleet_tick: what is to happen at one step waits here for its decision. */
#include <time.h>

#include "membership.h"
#include "say.h"

static void list_revisions(const json_t *revisions, char *text, size_t size) {
  json_t *names = json_object();
  size_t index;
  const json_t *each;
  json_array_foreach(revisions, index, each) {
    char name[24];
    snprintf(name, sizeof name, "%lld", (long long)json_integer_value(each));
    pd__names_add(names, name);
  }
  pd__names_list(names, text, size);
  json_decref(names);
}

static pd_status late(const pd_fleet *fleet, int64_t step, const json_t *waiting, pd_error *err) {
  char revisions[256];
  if (fleet->late_ticks || json_array_size(waiting) == 0) return PD_OK;
  list_revisions(waiting, revisions, sizeof revisions);
  return pd__say(err, PD_ERR_REFUSED,
                 "%.300s: step %lld: revision %s is to happen at this step, and wasn't decided "
                 "within %g s",
                 fleet->store.url, (long long)step, revisions, fleet->tick_timeout);
}

/* Look for the decisions that a step waits for. Returns the revisions that have none. */
static json_t *look(pd_fleet *fleet, int64_t step) {
  pd_error err;
  bool live = fleet->lost_since <= 0 && !*fleet->problem;
  if (pd__member_follow(&fleet->member, live, &err) != PD_OK) {
    snprintf(fleet->problem, sizeof fleet->problem, "%s", err.message);
  }
  return pd__member_undecided(&fleet->member, step);
}

/* Wait until it is decided what happens at this step, and do that. A validator or watcher that
 * calls us while the lock is held waits for nothing. */
static pd_status pass_gate(pd_fleet *fleet, int64_t step, pd_error *err) {
  const struct timespec pause = {.tv_nsec = 20000000};
  double deadline = pd__monotonic() + fleet->tick_timeout;
  json_t *waiting = NULL;
  for (;;) {
    if (pd__fleet_lock(fleet) > 1) {
      pd__fleet_unlock(fleet);
      return PD_OK;
    }
    waiting = look(fleet, step);
    bool done = json_array_size(waiting) == 0 || pd__monotonic() >= deadline;
    if (done || pd__fleet_is_stopped(fleet)) break;
    pd__fleet_unlock(fleet);
    json_decref(waiting);
    nanosleep(&pause, NULL);
  }
  pd__member_give_up(&fleet->member, waiting);
  pd__member_renew(&fleet->member);
  pd__member_set_gate(&fleet->member);
  (void)pd__fleet_say(fleet, NULL);
  pd__fleet_unlock(fleet);
  pd_status status = late(fleet, step, waiting, err);
  json_decref(waiting);
  return status;
}

PD_FLEET_API pd_status pd_fleet_tick(pd_fleet *fleet, int64_t step, pd_error *err) {
  if (!fleet) return pd__say(err, PD_ERR_ARGUMENT, "fleet is NULL");
  if (fleet->forked) {
    return pd__say(err, PD_ERR_ARGUMENT, "this process is no member: its parent is; it may join");
  }
  if (step < 0)
    return pd__say(err, PD_ERR_ARGUMENT, "step is %lld: expected 0 or more", (long long)step);
  pd__member *member = &fleet->member;
  pd_status status = PD_OK;
  int64_t last = __atomic_load_n(&member->last, __ATOMIC_RELAXED);
  if (last < 0) __atomic_store_n(&member->applier.started, true, __ATOMIC_RELAXED);
  if (step > last) __atomic_store_n(&member->last, step, __ATOMIC_SEQ_CST);
  if (step >= __atomic_load_n(&member->gate, __ATOMIC_SEQ_CST))
    status = pass_gate(fleet, step, err);
  return status;
}
