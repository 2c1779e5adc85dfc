/* A C program that is a member of a fleet, for tests of libpd_flags_fleet.so. It obeys lines, and
 * answers each with one line:
 *
 *   join URL [role=R] [rank=N] [name=N] [ttl=S] [lost=keep|default|exit] [patience=S] [late=1]
 * [key=K] parse [ARGUMENT ...]    get NAME    set NAME TEXT    define    tick N    leave    fork
 * revision check EXPECT TIMEOUT [PATTERNS]    count N (ticks up to N, one each millisecond)    exit
 *
 * With -DUNJOINED it has no code to join, for LD_PRELOAD. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pd_flags.h>
#include <pd_flags/fleet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool is_odd(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "expected an odd number");
  return entries[0]->value.i64 % 2 == 1;
}

PD_DEFINE_double(lr, 0.1, "Learning rate", .runtime = true);
PD_DEFINE_int32(level, 1, "Level", .min = 0, .max = 100, .runtime = true);
PD_DEFINE_int32(odd, 1, "Odd", .validate = is_odd, .runtime = true);
PD_DEFINE_string(name, "none", "Needs a restart");
PD_DEFINE_int32(port, 80, "Port", .per_process = true, .runtime = true);
PD_DEFINE_string(token, "none", "Secret", .sensitive = true, .runtime = true);

static pd_error err;

static const char *said(pd_status status) { return status == PD_OK ? "ok" : err.message; }

static void get(const char *name) {
  char text[4096];
  pd_flag *flag;
  pd_flag_entry entry = {.size = sizeof entry};
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK) status = pd_flag_get_text(flag, text, sizeof text, NULL, &err);
  if (status == PD_OK) status = pd_flag_get_entry(flag, 0, &entry, &err);
  if (status != PD_OK) {
    printf("%s\n", err.message);
  } else {
    printf("%s %s\n", text, pd_source_name(entry.origin.source));
  }
}

static const char *define(void) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int32);
  def.name = "later";
  def.runtime = true;
  return said(pd_flag_register(&def, NULL, &err));
}

static const char *parse(char *rest) {
  char *argv[16] = {(char *)(uintptr_t) "host"};
  int argc = 1;
  for (char *each = strtok(rest, " "); each && argc < 15; each = strtok(NULL, " ")) {
    argv[argc++] = each;
  }
  return said(pd_parse_argv(&argc, argv, NULL, &err));
}

#ifdef UNJOINED

static bool obey_member(const char *line) { return line == NULL; }

#else

static pd_fleet *fleet;

static void take(pd_fleet_options *options, const char *option) {
  static const char *const lost[] = {"keep", "default", "exit"};
  const char *value = strchr(option, '=');
  if (!value++) return;
  if (strncmp(option, "role=", 5) == 0) options->role = value;
  if (strncmp(option, "name=", 5) == 0) options->name = value;
  if (strncmp(option, "key=", 4) == 0) options->key = value;
  if (strncmp(option, "ttl=", 4) == 0) options->ttl = strtod(value, NULL);
  if (strncmp(option, "patience=", 9) == 0) options->tick_timeout = strtod(value, NULL);
  if (strncmp(option, "late=", 5) == 0) options->late_ticks = true;
  if (strncmp(option, "rank=", 5) == 0) {
    options->rank = strtol(value, NULL, 10);
    options->has_rank = true;
  }
  for (uint32_t at = 0; strncmp(option, "lost=", 5) == 0 && at < 3; at++) {
    if (strcmp(value, lost[at]) == 0) options->on_lost = at;
  }
}

static const char *join(char *rest) {
  pd_fleet_options options = {.size = sizeof options};
  options.url = strtok(rest, " ");
  for (char *each; (each = strtok(NULL, " "));) take(&options, each);
  return said(pd_fleet_join(&options, &fleet, &err));
}

static const char *check(char *rest) {
  static char text[8192];
  pd_fleet_check_options options = {.size = sizeof options};
  pd_error_list *errors = pd_error_list_new();
  options.expect = (uint32_t)strtoul(strtok(rest, " "), NULL, 10);
  options.timeout = strtod(strtok(NULL, " "), NULL);
  options.environment = strtok(NULL, " ");
  snprintf(text, sizeof text, "%s", said(pd_fleet_check(fleet, &options, errors, &err)));
  for (size_t at = 0; at < pd_error_list_count(errors); at++) {
    size_t length = strlen(text);
    snprintf(text + length, sizeof text - length, " | %s", pd_error_list_at(errors, at)->message);
  }
  pd_error_list_free(errors);
  return text;
}

/* What a child can do that isn't a member. */
static const char *child(void) {
  fflush(stdout);
  pid_t pid = fork();
  if (pid == 0) {
    printf("%d ", (int)FLAGS_level);
    printf("%s, ", said(pd_fleet_tick(fleet, 9, &err)));
    pd_fleet_options options = {.size = sizeof options, .url = getenv("CHILD"), .name = "child"};
    pd_fleet_leave(fleet);
    fleet = NULL;
    printf("%s ", said(pd_fleet_join(&options, &fleet, &err)));
    printf("%s\n", pd_fleet_get_name(fleet));
    exit(0);
  }
  waitpid(pid, NULL, 0);
  return NULL;
}

static const char *count(const char *rest) {
  for (long last = strtol(rest, NULL, 10), step = 0; step <= last; step++) {
    if (pd_fleet_tick(fleet, step, &err) != PD_OK) return err.message;
    usleep(1000);
  }
  return "ok";
}

static bool obey_member(char *line) {
  const char *answer = NULL;
  if (strncmp(line, "join ", 5) == 0) {
    answer = join(line + 5);
  } else if (strncmp(line, "tick ", 5) == 0) {
    answer = said(pd_fleet_tick(fleet, strtol(line + 5, NULL, 10), &err));
  } else if (strncmp(line, "count ", 6) == 0) {
    answer = count(line + 6);
  } else if (strncmp(line, "check ", 6) == 0) {
    answer = check(line + 6);
  } else if (strcmp(line, "revision") == 0) {
    printf("%lld\n", (long long)pd_fleet_get_revision(fleet));
    return true;
  } else if (strcmp(line, "fork") == 0) {
    child();
    return true;
  } else if (strcmp(line, "leave") == 0) {
    pd_fleet_leave(fleet);
    fleet = NULL;
    answer = "ok";
  }
  if (answer) printf("%s\n", answer);
  return answer != NULL;
}

#endif

static void obey(char *line) {
  char *value = strrchr(line, ' ');
  if (strcmp(line, "exit") == 0) exit(0);
  if (strncmp(line, "get ", 4) == 0) {
    get(line + 4);
  } else if (strncmp(line, "set ", 4) == 0 && value) {
    *value = '\0';
    printf("%s\n", said(pd_flag_set_by_name(line + 4, value + 1, &err)));
  } else if (strcmp(line, "define") == 0) {
    printf("%s\n", define());
  } else if (strncmp(line, "parse", 5) == 0) {
    printf("%s\n", parse(line + 5));
  } else if (!obey_member(line)) {
    printf("unknown: %s\n", line);
  }
}

static void warn(const char *text, pd_warning kind, void *context) {
  (void)kind, (void)context;
  printf("warning %s\n", text);
}

int main(void) {
  char line[4096];
  setvbuf(stdout, NULL, _IOLBF, 0);
  pd_warning_handle(warn, NULL, NULL);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    obey(line);
  }
  return 0;
}
