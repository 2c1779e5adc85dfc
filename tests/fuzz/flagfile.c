/* Flagfiles: a byte of options, then three files, named /dev/fd/60 to 62, with bytes 0x1e
 * between. What the first says is taken whole or not at all, and the state that follows
 * is written as a flagfile that brings it back. */
#include "fuzz.h"
#include "registry/registry.h"

#define FILES 4 /* the last is what we write */

static int files[FILES];

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  fuzz_define();
  for (int i = 0; i < FILES; i++) files[i] = fuzz_file(i);
  setenv("FLAGS_flagfile", FUZZ_FILES "1", 1);
  setenv("FLAGS_i", "8", 1);
  setenv("FLAGS_space_name", "9", 1);
  return 0;
}

static void write_files(fuzz_bytes *in) {
  for (int i = 0; i < FILES - 1; i++) {
    size_t left = (size_t)(in->end - in->at);
    const uint8_t *end = left ? memchr(in->at, 0x1e, left) : NULL;
    size_t length = end ? (size_t)(end - in->at) : left;
    fuzz_write(files[i], length ? (const void *)in->at : "", length);
    in->at += length + (end != NULL);
  }
}

static pd_status parse(const char *path, pd_error_list *errors, pd_error *err) {
  char word[32];
  snprintf(word, sizeof word, "--flagfile=%s", path);
  char *argv[] = {(char *)"dir/fuzz", word, NULL};
  int argc = 2;
  pd_help help = {.size = sizeof help};
  pd_parse_options options = {.size = sizeof options, .errors = errors, .help = &help};
  options.keep_startup = true;
  return pd_parse_argv(&argc, argv, &options, err);
}

/* Through config, which are kept and given later; twice, which is no change. */
static pd_status settle(pd_error_list *errors, pd_error *err) {
  pd_config *config;
  REQUIRE(pd_config_new(PD_SOURCE_FILE, &config, NULL) == PD_OK);
  pd_status status = pd_config_add_flagfile(config, FUZZ_FILES "0", "dir/fuzz", errors, err);
  if (status == PD_OK) status = pd_config_apply(config, false, errors, err);
  if (status == PD_OK) {
    fuzz_state after = fuzz_take();
    REQUIRE(pd_config_apply(config, false, NULL, NULL) == PD_OK);
    REQUIRE(fuzz_unchanged(&after));
    fuzz_drop(&after);
  }
  pd_config_free(config);
  return status;
}

static void write_report(const char *text, size_t length, void *context) {
  size_t *at = context;
  REQUIRE(pwrite(files[FILES - 1], text, length, (off_t)*at) == (ssize_t)length);
  *at += length;
}

/* Sensitive flags are left out: they go first. */
static void read_report(void) {
  size_t length = 0;
  pd_error err;
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    pd_flag_info info = {.size = sizeof info};
    REQUIRE(pd_flag_get_info(fuzz_flags[i], &info, NULL) == PD_OK);
    if (info.sensitive) pd_flag_reset(fuzz_flags[i], NULL);
  }
  fuzz_state before = fuzz_take();
  fuzz_write(files[FILES - 1], "", 0);
  REQUIRE(pd_report_flagfile(false, write_report, &length, NULL) == PD_OK);
  fuzz_reset();
  pd_status status = parse(FUZZ_FILES "3", NULL, &err);
  if (status != PD_OK) fprintf(stderr, "%s\n", err.message);
  REQUIRE(status == PD_OK);
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    char *text = fuzz_value(fuzz_flags[i]);
    REQUIRE(!strcmp(text, before.text[i]));
    free(text);
  }
  fuzz_drop(&before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  uint8_t bits = fuzz_byte(&in);
  pd_error err;
  pd_error_list *errors = pd_error_list_new();
  write_files(&in);
  fuzz_state before = fuzz_take();
  pd_status status = bits & 1 ? settle(errors, &err) : parse(FUZZ_FILES "0", errors, &err);
  fuzz_check_errors(status, errors, &err);
  if (status != PD_OK) REQUIRE(fuzz_unchanged(&before));
  if (status == PD_OK) {
    fuzz_read_back();
    read_report();
  }
  fuzz_reset();
  fuzz_drop(&before);
  pd_error_list_free(errors);
  return 0;
}
