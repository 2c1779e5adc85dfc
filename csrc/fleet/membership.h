/* This process as a member: the thread that follows the log, the lease, and the step gate. As
 * paddle_flags/fleet/_membership.py. */
#ifndef PD_FLEET_MEMBERSHIP_H
#define PD_FLEET_MEMBERSHIP_H

#include <pthread.h>

#include "facts.h"
#include "member.h"

struct pd_fleet {
  pd__store store;
  pd__place place;
  char name[PD__NAME_SIZE];
  double ttl, tick_timeout, started;
  uint32_t on_lost;
  bool late_ticks;
  char *key;
  pthread_t thread;
  bool has_thread;
  bool forked; /* this is the child: no thread is in it, and `lock` may be held for ever */
  struct pd_fleet *next; /* among those that a child has left behind */

  pthread_mutex_t lock; /* recursive: validators and watchers may call us. Of all that follows */
  pd__member member;
  int depth; /* how often its holder has it */
  char problem[1100];
  double lost_since; /* 0: the engine answers */
  bool dropped;
  json_t *published, *check; /* documents; what check() says, or NULL */
  int64_t checks;            /* calls of check() */
  double beat;               /* when the lease was renewed */

  pthread_mutex_t waiting; /* of `changed` and what follows */
  pthread_cond_t changed;
  bool stopped, ended;
  int references;
};

/* ---- membership.c ---- */

/* Lock, and what hides from validators that the lock is held already. Returns how often it is. */
int pd__fleet_lock(pd_fleet *fleet);
void pd__fleet_unlock(pd_fleet *fleet);
bool pd__fleet_is_stopped(pd_fleet *fleet);
/* Sleep, unless the membership ends. */
void pd__fleet_pause(pd_fleet *fleet, double seconds);

/* ---- document.c ---- */

/* Publish the document if it has changed, and renew the lease. Under the lock. */
pd_status pd__fleet_say(pd_fleet *fleet, pd_error *err);
/* Publish it in any case. */
pd_status pd__fleet_announce(pd_fleet *fleet, pd_error *err);
/* Publish that the member has left. Its thread has ended, or is this one. */
void pd__fleet_say_farewell(const pd_fleet *fleet);

/* ---- thread.c ---- */

/* The thread; `argument` is the fleet, of which it holds a reference. */
void *pd__fleet_run(void *argument);
void pd__fleet_release(pd_fleet *fleet);

#endif /* PD_FLEET_MEMBERSHIP_H */
