/* Values of all types, with ranges, choices, units and lists: what is taken is printed,
 * and read back as the same; what is refused leaves the flag alone. */
#include "fuzz.h"

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  fuzz_define();
  return 0;
}

/* The items of a list, in quotes all of them, as one list again. */
static char *join(const char *list, size_t length) {
  char *joined = malloc(4 * length + 4), *item = malloc(length + 1), *out = joined;
  size_t count = 0, got;
  for (; pd_list_get(list, count, item, length + 1, &got, NULL) == PD_OK; count++) {
    REQUIRE(strlen(item) == got && got <= length);
    if (count > 0) *out++ = ',';
    *out++ = '"';
    for (const char *c = item; *c; c++) {
      if (*c == '"') *out++ = '"';
      *out++ = *c;
    }
    *out++ = '"';
  }
  *out = '\0';
  free(item);
  return joined;
}

/* Both lists have the same items. */
static void compare(const char *one, const char *other, size_t length) {
  char *left = malloc(length + 1), *right = malloc(length + 1);
  for (size_t i = 0;; i++) {
    pd_status a = pd_list_get(one, i, left, length + 1, NULL, NULL);
    pd_status b = pd_list_get(other, i, right, length + 1, NULL, NULL);
    REQUIRE(a == b && (a == PD_OK || a == PD_ERR_ARGUMENT));
    if (a != PD_OK) break;
    REQUIRE(!strcmp(left, right));
  }
  free(left);
  free(right);
}

static void check_list(const char *text) {
  size_t length = strlen(text);
  char small[3];
  pd_error err;
  pd_status status = pd_list_get(text, 1, small, sizeof small, NULL, &err);
  if (status != PD_OK) fuzz_check_message(&err, status);
  if (pd_list_get(text, SIZE_MAX, NULL, 0, NULL, NULL) == PD_ERR_VALUE) return;
  char *joined = join(text, length);
  compare(text, joined, length);
  free(joined);
}

static void check_taken(pd_flag *flag, const char *given) {
  char small[4];
  size_t length;
  char *text = fuzz_value(flag);
  REQUIRE(pd_flag_get_text(flag, small, sizeof small, &length, NULL) == PD_OK);
  REQUIRE(length == strlen(text) && !strncmp(small, text, 3) && strlen(small) <= 3);
  REQUIRE(pd_flag_reset(flag, NULL) == PD_OK);
  REQUIRE(pd_flag_set_from_string(flag, text, NULL) == PD_OK);
  char *again = fuzz_value(flag);
  REQUIRE(!strcmp(text, again));
  pd_flag_info info = {.size = sizeof info};
  REQUIRE(pd_flag_get_info(flag, &info, NULL) == PD_OK);
  if (info.type == PD_TYPE_string) REQUIRE(!strcmp(text, given));
  if (info.list) check_list(text);
  free(text);
  free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  pd_flag *flag = fuzz_flags[fuzz_byte(&in) % FUZZ_FLAG_COUNT];
  char *text = fuzz_text(&in, '\0'), *before = fuzz_value(flag);
  pd_error err;
  pd_flag_info info = {.size = sizeof info};
  pd_status status = pd_flag_set_from_string(flag, text, &err);
  REQUIRE(pd_flag_get_info(flag, &info, NULL) == PD_OK);
  if (status != PD_OK) {
    char *after = fuzz_value(flag);
    REQUIRE(!strcmp(before, after));
    fuzz_check_message(&err, status);
    if (info.sensitive && strlen(text) > 20) REQUIRE(!strstr(err.message, text));
    free(after);
  } else if (!*info.retired) {
    check_taken(flag, text);
  }
  check_list(text);
  REQUIRE(info.read_only || *info.retired || pd_flag_reset(flag, NULL) == PD_OK);
  free(text);
  free(before);
  return 0;
}
