/* LD_PRELOAD: a program whose own code doesn't join is a member, as the variable PADDLE_FLAGS_FLEET
 * says.
 *
 * The values must be there before `main` parses its command line, and the registry, which may be in
 * the program itself, arrives with the constructors. So this file stands before the C library's
 * function that calls `main`, and joins between the constructors and `main`. A program that has no
 * registry by then, such as a shell, or Python, isn't a member; it may call pd_fleet_join. */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "facts.h"
#include "say.h"

typedef int (*pd__main)(int, char **, char **);
typedef int (*pd__starter)(pd__main, int, char **, void (*)(void), void (*)(void), void (*)(void),
                           void *);

static pd__main program;

/* ---- Whether ---- */

static bool has(const char *list, const char *name) { return list && strstr(list, name) != NULL; }

/* A program that links this module decides itself when to join. */
static bool is_preloaded(void) {
  Dl_info self;
  char list[4096] = "";
  if (!dladdr((const void *)&program, &self) || !self.dli_fname) return false;
  const char *slash = strrchr(self.dli_fname, '/');
  const char *name = slash ? slash + 1 : self.dli_fname;
  if (has(getenv("LD_PRELOAD"), name)) return true;
  int fd = open("/etc/ld.so.preload", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  ssize_t length = read(fd, list, sizeof list - 1);
  close(fd);
  return length > 0 && has(list, name);
}

static const char *set(const char *variable) {
  const char *value = getenv(variable);
  return value && *value ? value : NULL;
}

/* ---- Joining ---- */

static void join(const char *url) {
  pd_error err;
  pd_fleet *fleet;
  pd_fleet_options options = {.size = sizeof options,
                              .url = url,
                              .role = set("PADDLE_FLAGS_FLEET_ROLE"),
                              .name = set("PADDLE_FLAGS_FLEET_NAME")};
  const char *rank = set("PADDLE_FLAGS_FLEET_RANK");
  options.has_rank = rank != NULL;
  options.rank = rank ? strtol(rank, NULL, 10) : 0;
  if (pd_fleet_join(&options, &fleet, &err) == PD_OK) return;
  char text[1400];
  snprintf(text, sizeof text, "environment: PADDLE_FLAGS_FLEET: not a member: %s", err.message);
  pd_warning_report(text, NULL);
}

static int start(int count, char **arguments, char **environment) {
  const char *url = set("PADDLE_FLAGS_FLEET");
  bool wanted = url && !getauxval(AT_SECURE) && is_preloaded();
  if (wanted && pd_flag_next(NULL)) join(url);
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
