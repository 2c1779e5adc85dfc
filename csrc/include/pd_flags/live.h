/* A server of the flags of this process: the library libpd_flags_live.so, which needs nothing but
 * libc. It answers the live protocol (docs/reference/live-protocol.md) on a Unix socket, on its own
 * threads, even while the program hangs. It serves the registry of the process, however that was
 * loaded: in a static copy, in libpd_flags.so or with Python.
 *
 *     #include <pd_flags/live.h>
 *     pd_live_server *server;
 *     if (pd_live_serve(NULL, &server, &err) != PD_OK) complain(err.message);
 *
 * A program that doesn't link the library can be started with LD_PRELOAD=libpd_flags_live.so and
 * PADDLE_FLAGS_LIVE=1.
 *
 * Any thread may call these functions, but signal handlers may not. Once loaded, the library stays
 * until the process ends. It works on Linux. */
#ifndef PD_FLAGS_LIVE_H
#define PD_FLAGS_LIVE_H

#include <pd_flags.h>
#include <stdint.h>

#ifndef PD_CDEF
#define PD_LIVE_API __attribute__((visibility("default")))
#else
#define PD_LIVE_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_live_server pd_live_server;

/* What the child of a fork does with a server. Connections stay with the parent in both cases. */
typedef enum pd_live_fork {
  PD_LIVE_FORK_CLOSE = 0, /* it isn't served */
  PD_LIVE_FORK_REOPEN = 1 /* it gets its own server a moment later, unless it calls exec or ends
                             before: at the default path, or at `address`, a dot and its PID */
} pd_live_fork;

/* Called for each change by a client, each undo, each change that was refused, and each temporary
 * change that ends: `event` is one JSON object in one line, borrowed during the call. Calls come one
 * after the other, after the change, on a thread of the library, which may wait for other locks. They
 * may come until the last temporary change that was made through this server has ended. */
typedef void (*pd_live_audit)(const char *event, size_t length, void *context);

typedef struct pd_live_server_options {
  size_t size;            /* sizeof(pd_live_server_options) */
  const char *address;    /* path of the socket, with a slash; NULL: <pid>.sock, or <pid>-2.sock for a
                             second server, in the directory paddle_flags of $XDG_RUNTIME_DIR or,
                             without that variable, in paddle_flags-<uid> of $TMPDIR or /tmp */
  const char *program;    /* name of the program; NULL: that of the executable */
  const char *settable;   /* flags that clients may change besides those with the attribute `runtime`:
                             names and patterns (*, ?) with commas between; or NULL */
  const char *audit_path; /* a file to which each event appends one line of JSON; or NULL. It is
                             created with mode 0600, and opened again after it was renamed */
  bool audit_fsync;       /* a client gets its answer only when its line is on disk */
  pd_live_audit audit;    /* or NULL */
  void *context;          /* of `audit` */
  uint32_t on_fork;       /* pd_live_fork */
} pd_live_server_options;

/* Start a server. `options` NULL: the defaults; all of it is copied. You own *out, and release it by
 * pd_live_stop; at exit it stops by itself.
 * PD_ERR_UNSUPPORTED: no registry is in this process, or it is too old. PD_ERR_ARGUMENT: an option
 * isn't as described. PD_ERR_FILE: the socket or the file can't be opened, a directory isn't safe
 * (the default one must be a real directory of this user with mode 0700; in another one, only this
 * user and root may replace files). PD_ERR_CONFLICT: a process serves there already. PD_ERR_MEMORY:
 * also if there can't be another thread. */
PD_LIVE_API pd_status pd_live_serve(const pd_live_server_options *options, pd_live_server **out,
                                    pd_error *err);

/* Close the server's connections, remove its socket and release `server`. It doesn't wait for a
 * change in progress. Temporary changes still end on time. NULL is allowed. */
PD_LIVE_API void pd_live_stop(pd_live_server *server);

/* The absolute path of the socket; "" in a forked child that isn't served. Valid until
 * pd_live_stop, and in a forked child until it is served again. */
PD_LIVE_API const char *pd_live_get_address(const pd_live_server *server);

/* The number of active temporary changes in this process. */
PD_LIVE_API size_t pd_live_count_temporary(void);

/* A flag that was changed, and its texts before and after; NULL: no value, or a sensitive one. */
typedef struct pd_live_changed {
  const char *name, *old_text, *new_text;
} pd_live_changed;

typedef struct pd_live_change {
  size_t size;                  /* sizeof(pd_live_change) */
  const char *by, *fleet;       /* who wanted it, and the address of the fleet; or NULL */
  const char *reason;           /* or NULL */
  int64_t until;                /* ms since 1970, when the values end; 0: they stay */
  const pd_live_changed *flags; /* `count` of them */
  size_t count;
} pd_live_change;

/* Report a change that came from outside, but not through a server: a fleet calls this after it has
 * changed flags. The audits of all servers get it as an event, and clients see it in the list of
 * changes, but can't undo it. Everything is copied; of `by` and `fleet`, the first 200 bytes.
 * PD_ERR_ARGUMENT: `change` isn't as described. PD_ERR_MEMORY. */
PD_LIVE_API pd_status pd_live_report(const pd_live_change *change, pd_error *err);

/* Call this at the beginning of each step of the program's loop, if clients are to make changes
 * between two steps. It records the step, which takes a few ns. If a client has closed the gate at
 * this step or an earlier one (steps.gate), it waits until that client opens the gate, moves it
 * above `step` or disconnects. PD_ERR_REFUSED: the client did none of that within the time that it
 * set; the gate is then open. A forked child begins without steps and gate. */
PD_LIVE_API pd_status pd_live_step(int64_t step, pd_error *err);

#ifdef __cplusplus
}
#endif

#endif /* PD_FLAGS_LIVE_H */
