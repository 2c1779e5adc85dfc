/* A server of the live API (docs/reference/live-api.md) for C and C++ programs: the module
 * libpd_flags_live.so. It is built apart from the library, over libmicrohttpd and jansson, and
 * serves the registry of the process whichever way the registry came there: in a static copy, in
 * libpd_flags.so or with Python.
 *
 *     #include <pd_flags/live_server.h>
 *     pd_live_server *server;
 *     if (pd_live_serve(NULL, &server, &err) != PD_OK) complain(err.message);
 *
 * serves on a Unix socket of this user. A program that doesn't link the module can be started with
 * LD_PRELOAD=libpd_flags_live.so and PADDLE_FLAGS_LIVE=1.
 *
 * Any thread may call these functions, but no signal handler and no constructor of a module in the
 * forked child of a process with threads. Once loaded, the module stays until the process ends. It
 * works on Linux. */
#ifndef PD_FLAGS_LIVE_SERVER_H
#define PD_FLAGS_LIVE_SERVER_H

#include <pd_flags.h>

#define PD_LIVE_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_live_server pd_live_server;

/* What the child of a fork does with a server. Connections stay with the parent in both cases. */
#define PD_LIVE_FORK_CLOSE 0  /* it isn't served */
#define PD_LIVE_FORK_REOPEN 1 /* it gets a server of its own a moment later, unless it calls exec or
                                 ends before: at the default, at `address` with a dot and its pid
                                 behind it, or, on TCP, at another port, if `address` has port 0 */

typedef struct pd_live_server_options {
  size_t size;         /* sizeof(pd_live_server_options) */
  const char *address; /* NULL: the socket <pid>.sock, or <pid>-2.sock for a second server, in the
                          directory paddle_flags of $XDG_RUNTIME_DIR or, without that variable, in
                          paddle_flags-<uid> of $TMPDIR or /tmp. With a slash: the path of a Unix
                          socket. Otherwise a numeric address of TCP and a port, "127.0.0.1:8080" or
                          "[::1]:0"; 0 is any free one */
  const char *settable; /* flags that clients may change besides those with the attribute
                           `runtime`: names and patterns (*, ?) with commas between; or NULL */
  const char *hosts;    /* for TCP: allowed values of Host, without a port, with commas between.
                           NULL: the address itself and, on loopback, localhost */
  const pd_live_token *tokens; /* for TCP, where at least one is needed; or NULL */
  size_t token_count;
  const char *audit_path; /* a file to which each change appends one line of JSON; or NULL. It is
                             created with mode 0600, and opened again after it was renamed */
  bool audit_fsync;       /* wait until each line is on disk */
  uint32_t on_fork;       /* PD_LIVE_FORK_CLOSE or PD_LIVE_FORK_REOPEN */
} pd_live_server_options;

/* Start a server, with a thread of its own. `options` NULL: the defaults; all of it is copied. You
 * own *out, and release it by pd_live_stop; at exit it stops by itself.
 * PD_ERR_UNSUPPORTED: no registry is in this process, or it is too old. PD_ERR_ARGUMENT: an option
 * isn't as described. PD_ERR_FILE: the socket or the file can't be opened, a directory isn't safe
 * (it must be a real directory of this user with mode 0700 or, if you name a socket, one in which
 * only this user and root can replace files), or a process serves there already. PD_ERR_MEMORY:
 * also if there can't be another thread. */
PD_LIVE_API pd_status pd_live_serve(const pd_live_server_options *options, pd_live_server **out,
                                    pd_error *err);

/* Close the server's connections, remove its socket and release `server`. It doesn't wait for a
 * validator that a client's change is running. Temporary changes end in time. No other thread may
 * be using `server`; NULL is allowed. */
PD_LIVE_API void pd_live_stop(pd_live_server *server);

/* Where the server listens: the absolute path of its socket, or the address with the real port. ""
 * in a forked child that isn't served. Valid until pd_live_stop. */
PD_LIVE_API const char *pd_live_get_address(const pd_live_server *server);

#ifdef __cplusplus
}
#endif

#endif /* PD_FLAGS_LIVE_SERVER_H */
