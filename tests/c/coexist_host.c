/* Several flag libraries in one process.
 *
 *     coexist_host MODE PATH...
 *
 * Loads plugins, each with another library and flags of the same names, with MODE
 * local or global. Gives values by the command line of each library in turn, then
 * sets by name through each. After each step every plugin must read its own. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 8 };

typedef struct member {
  const char *path;
  int (*parse)(int argc, char **argv, char *message);
  int (*set)(const char *name, const char *text, char *message);
  int (*level)(void);
  int (*verbosity)(void);
  int wanted_level, wanted_verbosity;
} member;

static member members[MOST];
static int count;
static char message[1020];

static void fail(const member *by, const char *what) {
  printf("%s: %s: %s\n", by->path, what, message);
  exit(1);
}

static void load(member *m, const char *path, const char *mode) {
  void *handle = dlopen(path, RTLD_NOW | (strcmp(mode, "global") ? RTLD_LOCAL : RTLD_GLOBAL));
  m->path = path;
  m->wanted_level = 1;
  if (!handle) {
    snprintf(message, sizeof message, "%s", dlerror());
    fail(m, "dlopen");
  }
  *(void **)&m->parse = dlsym(handle, "a_parse");
  *(void **)&m->set = dlsym(handle, "a_set");
  *(void **)&m->level = dlsym(handle, "a_own_level");
  *(void **)&m->verbosity = dlsym(handle, "a_verbosity");
}

static void check(const member *after, const char *step) {
  for (member *m = members; m < members + count; m++) {
    int level = m->level ? m->level() : m->wanted_level;
    int verbosity = m->verbosity ? m->verbosity() : m->wanted_verbosity;
    if (level == m->wanted_level && verbosity == m->wanted_verbosity) continue;
    snprintf(message, sizeof message, "level %d, verbosity %d after %s", level, verbosity,
             after->path);
    fail(m, step);
  }
}

static void parse(member *by, int level) {
  static char words[MOST][32];
  char *word = words[by - members];
  snprintf(word, sizeof words[0], "--a_level=%d", level);
  char *argv[] = {"coexist_host", word, "--a_mode=am", NULL};
  if (by->parse(3, argv, message) != 0) fail(by, "parse");
  by->wanted_level = level;
  check(by, "parsing");
}

static void set(member *by, const char *name, int *wanted, int value) {
  char text[16];
  snprintf(text, sizeof text, "%d", value);
  if (by->set(name, text, message) != 0) fail(by, name);
  *wanted = value;
  check(by, name);
}

int main(int argc, char **argv) {
  if (argc < 3 || argc > MOST + 2) return 2;
  for (; count < argc - 2; count++) load(&members[count], argv[count + 2], argv[1]);
  check(members, "loading");
  for (int i = 0; i < count; i++) {
    if (members[i].parse) parse(&members[i], 10 + i);
  }
  for (int i = 0; i < count; i++) {
    member *m = &members[i];
    if (m->level) set(m, "a_level", &m->wanted_level, 20 + i);
    if (m->verbosity) set(m, "v", &m->wanted_verbosity, 30 + i);
  }
  puts("apart");
  return 0;
}
