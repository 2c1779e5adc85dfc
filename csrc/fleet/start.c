/* LD_PRELOAD: a program whose own code doesn't join is a member, as the variable PADDLE_FLAGS_FLEET
 * says.
 *
 * The values must be there before `main` parses its command line, and the registry, which may be in
 * the program itself, arrives with the constructors. So this file stands before the C library's
 * function that calls `main`, and joins between the constructors and `main`. A program that has no
 * registry by then, such as a shell, or Python, isn't a member; it may call pd_fleet_join. */
#include <dlfcn.h>
#include <pd_flags/fleet.h>
#include <stdlib.h>

#include "preload.h"
#include "say.h"

typedef int (*pd__main)(int, char **, char **);
typedef int (*pd__starter)(pd__main, int, char **, void (*)(void), void (*)(void), void (*)(void),
                           void *);

static pd__main program;

static void join(const char *url) {
  pd_error err;
  pd_fleet *fleet;
  pd_fleet_options options = {.size = sizeof options,
                              .url = url,
                              .role = pd__variable("PADDLE_FLAGS_FLEET_ROLE"),
                              .name = pd__variable("PADDLE_FLAGS_FLEET_NAME")};
  const char *rank = pd__variable("PADDLE_FLAGS_FLEET_RANK");
  options.has_rank = rank != NULL;
  options.rank = rank ? strtol(rank, NULL, 10) : 0;
  if (pd_fleet_join(&options, &fleet, &err) == PD_OK) return;
  pd__warn("environment: PADDLE_FLAGS_FLEET: not a member: %s", err.message);
}

static int start(int count, char **arguments, char **environment) {
  const char *url = pd__variable("PADDLE_FLAGS_FLEET");
  if (url && pd__is_preloaded() && pd_flag_next(NULL)) join(url);
  return program(count, arguments, environment);
}

PD_FLEET_API int __libc_start_main(pd__main function, int count, char **arguments,
                                   void (*init)(void), void (*fini)(void), void (*end)(void),
                                   void *stack) {
  pd__starter next;
  *(void **)&next = dlsym(RTLD_NEXT, "__libc_start_main");
  program = function;
  return next(start, count, arguments, init, fini, end, stack);
}
