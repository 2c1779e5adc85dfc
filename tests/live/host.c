/* A C program whose flags are served by libpd_flags_live.so, for tests of that module:
 *
 *   host [address=A] [settable=S] [hosts=H] [token=T] [audit=FILE] [fsync=1] [fork=reopen]
 *
 * prints where it listens, or what went wrong, and then obeys lines: fork, stop, serve, close (all
 * descriptors), exit, _exit. With -DUNSERVED it defines its flags and waits, for LD_PRELOAD. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pd_flags.h>
#include <pd_flags/live_server.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Waits as long as the file $HELD is there. */
static bool held(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  const char *path = getenv("HELD");
  (void)entries, (void)context, (void)why, (void)size;
  while (path && access(path, F_OK) == 0) usleep(10000);
  return true;
}

PD_DEFINE_int32(level, 6, "Compression level", .min = 1, .max = 9, .runtime = true);
PD_DEFINE_int32(held, 1, "Is slow to validate", .validate = held, .runtime = true);
PD_DEFINE_int32(closed, 1, "Isn't settable");

static void obey(const char *line);

static void obey_all(void) {
  char line[256];
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    obey(line);
  }
}

static void warn(const char *text, pd_warning kind, void *context) {
  (void)kind, (void)context;
  printf("warning %s\n", text);
}

#ifdef UNSERVED

static void obey(const char *line) {
  if (strcmp(line, "exit") == 0) exit(0);
}

int main(void) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  printf("level %d\n", (int)FLAGS_level);
  pd_warning_handle(warn, NULL, NULL);
  obey_all();
  return 0;
}

#else

static pd_live_server_options options = {.size = sizeof options};
static pd_live_token token = {.label = "ops", .may = PD_LIVE_READ | PD_LIVE_CHANGE};
static pd_live_server *server;

static void take(const char *argument) {
  const char *value = strchr(argument, '=') + 1;
  if (strncmp(argument, "address=", 8) == 0) options.address = value;
  if (strncmp(argument, "settable=", 9) == 0) options.settable = value;
  if (strncmp(argument, "hosts=", 6) == 0) options.hosts = value;
  if (strncmp(argument, "audit=", 6) == 0) options.audit_path = value;
  if (strncmp(argument, "fsync=", 6) == 0) options.audit_fsync = true;
  if (strncmp(argument, "fork=", 5) == 0) options.on_fork = PD_LIVE_FORK_REOPEN;
  if (strncmp(argument, "token=", 6) != 0) return;
  token.text = value;
  options.tokens = &token;
  options.token_count = 1;
}

static void serve(void) {
  pd_error err;
  pd_status status = pd_live_serve(&options, &server, &err);
  if (status == PD_OK) {
    printf("%s\n", pd_live_get_address(server));
  } else {
    printf("%s: %s\n", pd_status_name(status), err.message);
  }
}

static void live_as_child(void) {
  bool reopens = options.on_fork == PD_LIVE_FORK_REOPEN;
  while (reopens && !*pd_live_get_address(server)) usleep(10000);
  printf("%d %s\n", (int)getpid(), pd_live_get_address(server));
  fflush(stdout);
  sleep(300);
  _exit(0);
}

static void obey(const char *line) {
  if (strcmp(line, "fork") == 0 && fork() == 0) live_as_child();
  if (strcmp(line, "exit") == 0) exit(0);
  if (strcmp(line, "_exit") == 0) _exit(0);
  if (strcmp(line, "serve") == 0) serve();
  if (strcmp(line, "close") == 0) closefrom(3);
  if (strcmp(line, "stop") == 0) {
    pd_live_stop(server);
    server = NULL;
    printf("stopped\n");
  }
}

int main(int argc, char **argv) {
  setvbuf(stdout, NULL, _IOLBF, 0);
  pd_warning_handle(warn, NULL, NULL);
  for (int each = 1; each < argc; each++) take(argv[each]);
  serve();
  obey_all();
  pd_live_stop(server);
  return 0;
}

#endif
