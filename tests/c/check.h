/* A test program: TEST(name_as_a_sentence) { CHECK(...); }. `program name` runs
 * one test in a process of its own, `program` alone lists them all. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef CHECK_DEFINES_FLAGS /* with PD_DEFINE, in the test program itself */
#define PD_NO_MODULE_RECORD
#endif
#include <pd_flags.h>
#include <pd_flags/items.h>

typedef struct check_test {
  const char *name;
  void (*run)(void);
  struct check_test *next;
} check_test;

static check_test *check_tests;
static pd_error err; /* for the calls in CHECK_OK and CHECK_STATUS */

#define TEST(sentence)                                                                             \
  static void sentence(void);                                                                      \
  __attribute__((constructor)) static void check_add_##sentence(void) {                            \
    static check_test test = {#sentence, sentence, NULL};                                          \
    test.next = check_tests;                                                                       \
    check_tests = &test;                                                                           \
  }                                                                                                \
  static void sentence(void)

__attribute__((noreturn, format(printf, 3, 4))) static inline void check_fail(const char *file,
                                                                              int line,
                                                                              const char *format,
                                                                              ...) {
  __builtin_va_list arguments;
  __builtin_va_start(arguments, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, arguments);
  fprintf(stderr, "\n");
  __builtin_va_end(arguments);
  exit(1);
}

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) check_fail(__FILE__, __LINE__, "false: %s", #condition);                     \
  } while (0)

static inline void check_str(const char *file, int line, const char *what, const char *got,
                             const char *expected) {
  if (got && !strcmp(got, expected)) return;
  check_fail(file, line, "%s\n  is       %s\n  expected %s", what, got ? got : "NULL", expected);
}
#define CHECK_STR(text, expected) check_str(__FILE__, __LINE__, #text, text, expected)

static inline void check_status(const char *file, int line, const char *what, pd_status got,
                                pd_status expected, const char *message) {
  if (got != expected) {
    check_fail(file, line, "%s\n  is       %s: %s\n  expected %s", what, pd_status_name(got),
               got == PD_OK ? "" : err.message, pd_status_name(expected));
  }
  if (expected == PD_OK) return;
  if (err.status != got) check_fail(file, line, "%s: err has another status", what);
  check_str(file, line, what, err.message, message);
}

/* `call` gets &err. */
#define CHECK_STATUS(call, status, message)                                                        \
  check_status(__FILE__, __LINE__, #call, call, status, message)
#define CHECK_OK(call) CHECK_STATUS(call, PD_OK, "")

static inline pd_config *config_of(pd_source source) {
  pd_config *config = NULL;
  CHECK_OK(pd_config_new(source, &config, &err));
  return config;
}

/* Settings that a test needn't free: what stays reachable is no leak. */
__attribute__((unused)) static pd_config *check_config[64];
static inline pd_config *new_config(void) {
  pd_config **at = check_config;
  while (*at) at++;
  return *at = config_of(PD_SOURCE_FILE);
}

/* ---- Flags for tests ---- */

static inline pd_flag_def definition(pd_type type, const char *name) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  return def;
}

/* A list to which each use on a command line adds. */
static inline pd_flag_def growing_list(const char *name) {
  pd_flag_def def = definition(PD_TYPE_string, name);
  def.list = PD_TYPE_string;
  def.multi = true;
  return def;
}

static inline pd_flag *register_flag(const pd_flag_def *def) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_flag_register(def, &flag, &err));
  return flag;
}

/* Define a flag with attributes: DEFINE(PD_TYPE_int32, "level", def.hidden = true). */
#define DEFINE(type, name_, ...)                                                                   \
  __extension__({                                                                                  \
    pd_flag_def def = definition(type, name_);                                                     \
    (void)(__VA_ARGS__);                                                                           \
    register_flag(&def);                                                                           \
  })

/* Define a flag that has nothing but a type and a name. */
static inline pd_flag *define_flag(pd_type type, const char *name) {
  pd_flag_def def = definition(type, name);
  return register_flag(&def);
}

static inline pd_flag *find_flag(const char *name) {
  pd_flag *flag = NULL;
  CHECK_OK(pd_flag_find(name, &flag, &err));
  return flag;
}

static inline bool is_defined(const char *name) {
  pd_flag *flag;
  return pd_flag_find(name, &flag, NULL) == PD_OK;
}

static inline int64_t value_of(const pd_flag *flag) {
  int64_t value;
  CHECK_OK(pd_flag_get_int64(flag, &value, &err));
  return value;
}

static inline pd_flag_info flag_info(const pd_flag *flag) {
  pd_flag_info info;
  info.size = sizeof info;
  CHECK_OK(pd_flag_get_info(flag, &info, &err));
  return info;
}

static inline pd_flag_entry flag_entry(const pd_flag *flag, size_t index) {
  pd_flag_entry entry;
  entry.size = sizeof entry;
  CHECK_OK(pd_flag_get_entry(flag, index, &entry, &err));
  return entry;
}

/* The flag's value as text, in a buffer that the next call overwrites. */
static inline const char *text_of(const pd_flag *flag) {
  static char text[4096];
  CHECK_OK(pd_flag_get_text(flag, text, sizeof text, NULL, &err));
  return text;
}

static inline pd_module_info module_info(const pd_module *module) {
  pd_module_info info;
  info.size = sizeof info;
  CHECK_OK(pd_module_get_info(module, &info, &err));
  return info;
}

/* Set a flag for a while. */
static inline pd_override push_override(pd_flag *flag, const char *text) {
  pd_assignment item;
  memset(&item, 0, sizeof item);
  item.flag = flag;
  item.text = text;
  pd_override override = 0;
  CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &override, &err));
  return override;
}

/* Parse a command line whose words are separated by blanks. */
static inline pd_status parse_line(const char *words, pd_parse_options *options) {
  char line[1024], *argv[32];
  int argc = 0;
  snprintf(line, sizeof line, "program %s", words);
  for (char *word = strtok(line, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  return pd_parse_argv(&argc, argv, options, &err);
}

/* The values of flags that are unknown wait for them. */
static inline pd_status parse_pending(const char *words) {
  pd_parse_options options;
  memset(&options, 0, sizeof options);
  options.size = sizeof options;
  options.allow_pending = true;
  return parse_line(words, &options);
}

static inline void end_startup(void) { CHECK_OK(parse_line("", NULL)); }

int main(int argc, char **argv) {
  for (check_test *test = check_tests; test; test = test->next) {
    if (argc < 2) puts(test->name);
    if (argc < 2 || strcmp(argv[1], test->name) != 0) continue;
    test->run();
    return 0;
  }
  return argc < 2 ? 0 : 2;
}

#endif /* CHECK_H */
