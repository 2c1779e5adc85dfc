/* C and C++ programs as members of a fleet: the module libpd_flags_fleet.so. It is built apart from
 * the library, over jansson and libmd, and gives the fleet's values to the registry of the process,
 * whichever way the registry came there: in a static copy, in libpd_flags.so or with Python.
 *
 *     #include <pd_flags/fleet.h>
 *     pd_fleet *fleet;
 *     pd_fleet_options options = {.size = sizeof options, .url = "dir:///mnt/job42"};
 *     if (pd_fleet_join(&options, &fleet, &err) != PD_OK) complain(err.message);
 *     pd_parse_argv(&argc, argv, NULL, &err);
 *
 * A program that doesn't link the module can be started with LD_PRELOAD=libpd_flags_fleet.so and
 * PADDLE_FLAGS_FLEET=dir:///mnt/job42.
 *
 * The engine is a folder, dir:///path, of this machine or of a file server. Members in Python and
 * in C are alike to operators, and read the same records. A process is a member once: where Python
 * has joined by paddle_flags.fleet, C code must not.
 *
 * Any thread may call these functions, but no signal handler. Once loaded, the module stays until
 * the process ends. It works on Linux. */
#ifndef PD_FLAGS_FLEET_H
#define PD_FLAGS_FLEET_H

#include <pd_flags.h>

#define PD_FLEET_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_fleet pd_fleet;

/* What happens when the folder can't be read for longer than a lease. */
#define PD_FLEET_KEEP 0    /* the values stay */
#define PD_FLEET_DEFAULT 1 /* the flags lose what the fleet gave them, until it is back */
#define PD_FLEET_EXIT 2    /* the process gets SIGTERM */

typedef struct pd_fleet_options {
  size_t size;      /* sizeof(pd_fleet_options) */
  const char *url;  /* "dir:///mnt/job42"; with ?poll=0.5, the seconds between two looks (0.05) */
  const char *role; /* NULL: as TRAINING_ROLE says. By it operators choose members */
  const char *name; /* the member's own; NULL: made of role and rank, or of host and process */
  int64_t rank;     /* among the processes of the role; 0 and has_rank false: as PADDLE_TRAINER_ID,
                       the place in PADDLE_PSERVERS_IP_PORT_LIST, or RANK says */
  bool has_rank;
  double ttl;          /* seconds that a member that died counts as alive, up to twice that; 0: 10 */
  uint32_t on_lost;    /* PD_FLEET_KEEP, _DEFAULT or _EXIT */
  double tick_timeout; /* seconds that a step waits for a decision; 0: 60 */
  bool late_ticks;     /* when they are over, pd_fleet_tick returns PD_OK and the change is missed */
  const char *key;     /* by which sensitive flags are compared; NULL: $PADDLE_FLAGS_FLEET_KEY, and
                          if that isn't set, they aren't compared */
} pd_fleet_options;

/* Make this process a member: its flags have the fleet's values when this returns, also those that
 * are defined later. Call it before pd_parse_argv, and before plugins are loaded. A thread follows
 * the fleet, and runs validators and watchers. When pd_startup_over() is true, or pd_fleet_tick was
 * called, only flags with the attribute `runtime` still change; for others, the member answers
 * that it needs a restart.
 *
 * `options` are copied. You own *out, and release it by pd_fleet_leave; at exit the member leaves by
 * itself. PD_ERR_ARGUMENT: an option isn't as described. PD_ERR_UNSUPPORTED: no registry is in this
 * process, or it is too old. PD_ERR_CONFLICT: this process is a member, or another process of this
 * machine has the name. PD_ERR_FILE: the folder can't be read. PD_ERR_VALUE: what is in it isn't the
 * log of a fleet. PD_ERR_MEMORY: also if there can't be another thread. */
PD_FLEET_API pd_status pd_fleet_join(const pd_fleet_options *options, pd_fleet **out,
                                     pd_error *err);

/* Begin a step of the program's loop, 0 or more. A change for step N takes effect in the call that
 * begins step N, in every member; a member that has accepted it waits there until it is decided
 * whether it happens. While nothing is to happen, a call costs nanoseconds.
 * PD_ERR_REFUSED: there was no decision within `tick_timeout`. PD_ERR_ARGUMENT: `step` is negative,
 * or this is the forked child of the member. */
PD_FLEET_API pd_status pd_fleet_tick(pd_fleet *fleet, int64_t step, pd_error *err);

typedef struct pd_fleet_check_options {
  size_t size;             /* sizeof(pd_fleet_check_options) */
  const char *environment; /* variables to compare too: names and patterns (*, ?) with commas
                              between; or NULL */
  uint32_t expect; /* how many members there must be; 0: as WORLD_SIZE says, or PADDLE_TRAINERS_NUM
                      and the number of parameter servers; if nothing does, those that are here */
  double timeout;  /* seconds; 0: 60 */
} pd_fleet_check_options;

/* Wait until all members have called this, or check() in Python, and compare their flags. Call it
 * once when flags are set and plugins loaded, before the work begins. `options` NULL: the defaults.
 * PD_ERR_CONFLICT: members differ, and `errors` (NULL allowed) has one error for each difference.
 * PD_ERR_REFUSED: not all came in time, and `err` names who is missing. */
PD_FLEET_API pd_status pd_fleet_check(pd_fleet *fleet, const pd_fleet_check_options *options,
                                      pd_error_list *errors, pd_error *err);

/* The last revision that was read; 0 for NULL and in a forked child. */
PD_FLEET_API int64_t pd_fleet_get_revision(const pd_fleet *fleet);

/* By which operators know this member. Valid until pd_fleet_leave. */
PD_FLEET_API const char *pd_fleet_get_name(const pd_fleet *fleet);

/* Be no member any longer, and release `fleet`; values stay as they are. It waits for a validator
 * that runs for the fleet. No other thread may be using `fleet`; NULL is allowed. The child of a fork
 * has the values and is no member: there, this only releases `fleet`, and the child may join. */
PD_FLEET_API void pd_fleet_leave(pd_fleet *fleet);

#ifdef __cplusplus
}
#endif

#endif /* PD_FLAGS_FLEET_H */
