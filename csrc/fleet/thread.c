/* The thread of a member. It blocks all signals, which are the program's. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "membership.h"
#include "say.h"

static const double backoff[] = {0.1, 0.2, 0.4, 0.8}; /* seconds between tries */
static const double voting = 0.05;                    /* between two looks for a decision */

enum { TRIES = sizeof backoff / sizeof backoff[0] };

static bool is_lost(const pd_fleet *fleet) { return fleet->lost_since > 0 || *fleet->problem; }

/* ---- Waiting ---- */

/* Wait until there is a record that wasn't read, or something is due. */
static pd_status wait_for_news(pd_fleet *fleet, pd_error *err) {
  pd__fleet_lock(fleet);
  bool lost = is_lost(fleet);
  int64_t last = 0, read = fleet->member.state.revision;
  double timeout = fmin(fleet->ttl / 3, pd__member_left(&fleet->member));
  if (json_object_size(fleet->member.votes)) timeout = fmin(timeout, voting);
  pd__fleet_unlock(fleet);
  if (lost) return PD_OK;
  double end = pd__monotonic() + timeout;
  while (!pd__fleet_is_stopped(fleet)) {
    pd_status status = pd__store_last(&fleet->store, &last, err);
    double left = end - pd__monotonic();
    if (status != PD_OK || last != read || left <= 0) return status;
    pd__fleet_pause(fleet, fmin(fleet->store.poll, left));
  }
  return PD_OK;
}

/* ---- The engine's absence ---- */

/* Note that the engine answers. */
static void find(pd_fleet *fleet) {
  fleet->lost_since = 0;
  fleet->problem[0] = '\0';
  if (fleet->dropped) pd__member_apply_all(&fleet->member);
  fleet->dropped = false;
}

/* Note that the engine is away; act if that lasts longer than a lease. */
static void lose(pd_fleet *fleet, const pd_error *err) {
  double now = pd__monotonic();
  pd__fleet_lock(fleet);
  memcpy(fleet->problem, err->message, sizeof err->message);
  if (fleet->lost_since <= 0) fleet->lost_since = now;
  pd__member_renew(&fleet->member); /* temporary values end without the engine */
  bool act =
      !fleet->dropped && !pd__fleet_is_stopped(fleet) && now - fleet->lost_since >= fleet->ttl;
  if (act) {
    fleet->dropped = true;
    if (fleet->on_lost == PD_FLEET_DEFAULT) pd__applier_drop(&fleet->member.applier);
    if (fleet->on_lost == PD_FLEET_EXIT) kill(getpid(), SIGTERM);
  }
  pd__fleet_unlock(fleet);
}

/* ---- Turns ---- */

/* Act on news, and say so. Under the lock. */
static pd_status act(pd_fleet *fleet, pd_error *err) {
  bool live = !is_lost(fleet), due = pd__monotonic() - fleet->beat >= fleet->ttl / 3;
  pd_status status = due || !live ? pd__follow_verify(&fleet->member, err) : PD_OK;
  if (status == PD_OK) status = pd__member_follow(&fleet->member, live, err);
  if (status != PD_OK) return status;
  find(fleet);
  bool news = fleet->member.news;
  if (news || due || !live) status = pd__fleet_say(fleet, err);
  if (status == PD_OK) fleet->member.news = false;
  return status;
}

static pd_status turn(pd_fleet *fleet, pd_error *err) {
  pd_status status = wait_for_news(fleet, err);
  if (status != PD_OK || pd__fleet_is_stopped(fleet)) return status;
  pd__fleet_lock(fleet);
  status = act(fleet, err);
  pd__fleet_unlock(fleet);
  return status;
}

static void complain(pd_fleet *fleet, const pd_error *err) {
  pd__fleet_lock(fleet);
  memcpy(fleet->problem, err->message, sizeof err->message);
  (void)pd__fleet_say(fleet, NULL);
  pd__fleet_unlock(fleet);
}

void *pd__fleet_run(void *argument) {
  pd_fleet *fleet = argument;
  size_t tries = 0;
  while (!pd__fleet_is_stopped(fleet)) {
    pd_error err = {.status = PD_OK};
    pd_status status = turn(fleet, &err);
    if (status == PD_OK) {
      tries = 0;
    } else if (status == PD_ERR_FILE) {
      lose(fleet, &err);
      pd__fleet_pause(fleet, backoff[tries]);
      if (tries < TRIES - 1) tries++;
    } else {
      complain(fleet, &err);
      pd__fleet_pause(fleet, backoff[TRIES - 1]);
    }
  }
  pd__fleet_release(fleet);
  return NULL;
}
