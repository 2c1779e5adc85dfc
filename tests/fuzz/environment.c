/* The environment: a prefix, then variables as name=value, with NULs between. Flags that
 * are there take all of it or nothing, one that comes later takes its variable or tells
 * why not, and --fromenv names what it likes. */
#include "fuzz.h"
#include "module/module.h"

#define VARIABLES_MOST 32

static int32_t late;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  fuzz_define();
  return 0;
}

static size_t set_variables(fuzz_bytes *in, char *names[VARIABLES_MOST]) {
  size_t count = 0;
  while (count < VARIABLES_MOST && in->at < in->end) {
    char *name = fuzz_text(in, '\0'), *value = strchr(name, '=');
    if (!value || value == name) {
      free(name);
      continue;
    }
    *value = '\0';
    REQUIRE(setenv(name, value + 1, 1) == 0);
    names[count++] = name;
  }
  return count;
}

/* A module that comes while the prefix holds, and leaves again: its flag takes its
 * variable, or keeps its default. */
static void join_late(void) {
  static const pd_flag_def def = {.size = sizeof def,
                                  .type = PD_TYPE_int32,
                                  .name = "late.flag",
                                  .cell = &late,
                                  .default_value = {.i64 = 6},
                                  .max = {.i64 = 1000}};
  static const pd_flag_def *const list[] = {&def};
  static pd_module_record record = {PD_ABI_VERSION, sizeof record, list, list + 1,
                                    NULL,           NULL,          NULL};
  pd_flag *flag;
  late = 6;
  pd__module_join(&record);
  REQUIRE(pd_flag_find("late.flag", &flag, NULL) == PD_OK);
  pd_error_list *errors = pd_error_list_new();
  REQUIRE(pd_module_get_errors(record.state, errors, NULL) == PD_OK);
  REQUIRE(late <= 1000 && (pd_error_list_count(errors) == 0 || late == 6));
  pd_error_list_free(errors);
  REQUIRE(pd_flag_reset(flag, NULL) == PD_OK);
  pd__module_leave(&record);
}

/* With the names of the variables, as they are and without the prefix. */
static void parse_from(const char *prefix, char **names, size_t count, pd_error_list *errors) {
  char word[2 * FUZZ_MOST] = "--tryfromenv=";
  char *argv[] = {(char *)"fuzz", word, NULL};
  int argc = 2;
  pd_error err;
  pd_parse_options options = {.size = sizeof options, .errors = errors, .keep_startup = true};
  options.env_prefix = prefix;
  for (size_t i = 0; i < count; i++) {
    size_t skip = prefix && !strncmp(names[i], prefix, strlen(prefix)) ? strlen(prefix) : 0;
    if (!names[i][skip]) continue;
    strcat(strcat(word, names[i] + skip), ",");
  }
  fuzz_state before = fuzz_take();
  pd_status status = pd_parse_argv(&argc, argv, &options, &err);
  fuzz_check_errors(status, errors, &err);
  if (status != PD_OK) REQUIRE(fuzz_unchanged(&before));
  if (status == PD_OK) fuzz_read_back();
  fuzz_drop(&before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  char *names[VARIABLES_MOST], *prefix = fuzz_text(&in, '\0');
  size_t count = set_variables(&in, names);
  pd_error err;
  pd_error_list *errors = pd_error_list_new(), *more = pd_error_list_new();
  fuzz_state before = fuzz_take();
  pd_status status = pd_environment_enable(prefix, errors, &err);
  fuzz_check_errors(status, errors, &err);
  if (status != PD_OK) REQUIRE(fuzz_unchanged(&before));
  join_late();
  fuzz_reset();
  parse_from(status == PD_OK ? prefix : NULL, names, count, more);
  REQUIRE(pd_environment_enable(NULL, NULL, NULL) == PD_OK);
  fuzz_reset();
  fuzz_drop(&before);
  pd_error_list_free(errors);
  pd_error_list_free(more);
  for (size_t i = 0; i < count; i++) {
    unsetenv(names[i]);
    free(names[i]);
  }
  free(prefix);
  return 0;
}
