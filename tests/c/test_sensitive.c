/* The texts of sensitive flags: not shared with others, and wiped where they were never published,
 * so that nobody finds them in the memory of the process or in its core dump. */
#define _GNU_SOURCE
#include "plugged.h"

/* The end of each secret is looked for: the beginning of what was freed is the allocator's. */
#define SECRET_SIZE 64
static char secret[SECRET_SIZE];
static pd_flag *flag;

static void make_secret(void) {
  for (int i = 0; i < SECRET_SIZE - 1; i++) secret[i] = (char)('a' + (i * 7 + 3) % 26);
}

/* In the heap, which the variable above isn't in. */
static bool is_kept(void) {
  size_t tail = 20, low = 0, high = 0;
  char line[512];
  FILE *maps = fopen("/proc/self/maps", "r");
  while (maps && fgets(line, sizeof line, maps)) {
    if (strstr(line, "[heap]")) sscanf(line, "%zx-%zx", &low, &high);
  }
  CHECK(maps && !fclose(maps));
  return low && memmem((void *)low, high - low, secret + SECRET_SIZE - 1 - tail, tail) != NULL;
}

static bool refuses(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return strlen(entries[0]->value.str) < 10;
}

static void define_key(const char *name) {
  pd_flag_def def = definition(PD_TYPE_string, name);
  def.sensitive = true;
  def.validate = refuses;
  pd_status status = pd_flag_register(&def, &flag, &err);
  CHECK(flag && (status == PD_OK || status == PD_ERR_REFUSED));
}

static void start_secret(void) {
  begin();
  make_secret();
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) /* the heap of others is elsewhere */
TEST(a_text_of_a_flag_that_isnt_sensitive_is_found) {    /* what the others look for can be seen */
  start_secret();
  pd_flag *plain = define_flag(PD_TYPE_string, "plain");
  CHECK_OK(pd_flag_set_string(plain, secret, &err));
  CHECK(is_kept());
}
#endif

TEST(a_secret_that_a_validator_refuses_is_wiped) {
  start_secret();
  define_key("key");
  CHECK(pd_flag_set_string(flag, secret, &err) == PD_ERR_REFUSED);
  CHECK(!is_kept());
  CHECK(pd_flag_set_from_string(flag, secret, &err) == PD_ERR_REFUSED);
  CHECK(!is_kept());
}

TEST(a_secret_in_a_batch_that_is_refused_is_wiped) {
  start_secret();
  define_key("key");
  pd_flag *number = define_flag(PD_TYPE_int32, "number");
  pd_assignment items[] = {{.flag = flag, .text = secret}, {.flag = number, .text = "none"}};
  CHECK(pd_batch_set(items, 2, NULL, NULL, &err) == PD_ERR_VALUE);
  CHECK(!is_kept());
}

TEST(a_secret_on_a_line_that_is_refused_is_wiped) {
  char argument[SECRET_SIZE + 8];
  char *argv[] = {(char *)(uintptr_t) "program", argument, (char *)(uintptr_t) "--unknown=1", NULL};
  int argc = 3;
  start_secret();
  define_key("key");
  snprintf(argument, sizeof argument, "--key=%s", secret);
  CHECK(pd_parse_argv(&argc, argv, NULL, &err) == PD_ERR_UNDEFINED);
  CHECK(!is_kept());
}

TEST(a_secret_that_waited_and_is_refused_is_wiped) {
  start_secret();
  CHECK_OK(pd_pending_set("key", secret, NULL, &err));
  define_key("key");
  CHECK_STR(text_of(flag), "");
  CHECK(!is_kept());
}

TEST(a_secret_of_a_file_whose_values_are_refused_is_wiped) {
  start_secret();
  define_key("key");
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 1, "x.toml", 1};
  CHECK_OK(pd_config_add(config, "key", secret, 0, &origin, &err));
  CHECK(pd_config_apply(config, false, NULL, &err) == PD_ERR_REFUSED);
  pd_config_free(config);
  CHECK(!is_kept());
}

TEST(a_secret_of_a_flagfile_that_is_refused_is_wiped) {
  char path[] = "/tmp/secret_XXXXXX", line[SECRET_SIZE + 8];
  int fd = mkstemp(path);
  start_secret();
  define_key("key");
  int length = snprintf(line, sizeof line, "--key=%s\n", secret);
  CHECK(write(fd, line, (size_t)length) == length);
  close(fd);
  char argument[96];
  char *argv[] = {(char *)(uintptr_t) "program", argument, NULL};
  int argc = 2;
  snprintf(argument, sizeof argument, "--flagfile=%s", path);
  CHECK(pd_parse_argv(&argc, argv, NULL, &err) == PD_ERR_REFUSED);
  unlink(path);
  CHECK(!is_kept());
}

TEST(a_secret_isnt_shared_with_another_flag_of_the_same_text) {
  const char *first, *second, *third;
  begin();
  define_key("key");
  CHECK_OK(pd_flag_set_string(flag, "open", &err));
  pd_flag *plain = define_flag(PD_TYPE_string, "plain");
  CHECK_OK(pd_flag_set_string(plain, "open", &err));
  CHECK_OK(pd_flag_get_string(flag, &first, &err));
  CHECK_OK(pd_flag_get_string(plain, &second, &err));
  define_key("other_key");
  CHECK_OK(pd_flag_set_string(flag, "open", &err));
  CHECK_OK(pd_flag_get_string(flag, &third, &err));
  CHECK(first != second && first != third && second != third);
}

TEST(a_secret_that_was_published_stays_readable) {
  const char *former, *latter;
  begin();
  define_key("key");
  CHECK_OK(pd_flag_set_string(flag, "open", &err));
  CHECK_OK(pd_flag_get_string(flag, &former, &err));
  CHECK_OK(pd_flag_set_string(flag, "shut", &err));
  CHECK_OK(pd_flag_get_string(flag, &latter, &err));
  CHECK_STR(former, "open");
  CHECK_STR(latter, "shut");
}

/* ---- Wiping ---- */

static const char *published(const char *text) {
  const char *address;
  CHECK_OK(pd_flag_set_string(flag, text, &err));
  CHECK_OK(pd_flag_get_string(flag, &address, &err));
  return address;
}

static pd_override push(const char *text) {
  pd_override made = push_override(flag, text);
  return made;
}

static void define_choice(void) {
  flag = DEFINE(PD_TYPE_string, "key", def.sensitive = true, def.default_value.str = "none",
                def.choices = "none|first|second|third");
}

TEST(a_flag_that_is_wiped_has_its_default_and_its_texts_are_empty) {
  begin();
  define_choice();
  const char *former = published("first"), *latter = published("second");
  CHECK_OK(pd_flag_wipe(flag, &err));
  CHECK_STR(text_of(flag), "none");
  CHECK_STR(former, "");
  CHECK_STR(latter, "");
}

TEST(a_flag_that_is_wiped_under_an_override_has_its_default_then_and_later) {
  begin();
  define_choice();
  const char *hidden = published("first");
  pd_override lower = push("second"), upper = push("third");
  CHECK_OK(pd_flag_wipe(flag, &err));
  CHECK_STR(text_of(flag), "none");
  CHECK_STR(hidden, "");
  CHECK_OK(pd_override_pop(lower, &err));
  CHECK_STR(text_of(flag), "none");
  CHECK_OK(pd_override_pop(upper, &err));
  CHECK_STR(text_of(flag), "none");
  CHECK_OK(pd_flag_set_string(flag, "first", &err));
  CHECK_STR(text_of(flag), "first");
}

static bool refuses_none(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  (void)context, (void)why, (void)size;
  return strcmp(entries[0]->value.str, "none") != 0;
}

TEST(a_wipe_whose_default_a_validator_refuses_changes_nothing) {
  begin();
  define_choice();
  const char *hidden = published("first");
  pd_override above = push("second");
  CHECK_OK(pd_validator_add(&flag, 1, refuses_none, NULL, NULL, NULL, &err));
  CHECK(pd_flag_wipe(flag, &err) == PD_ERR_REFUSED);
  CHECK_STR(text_of(flag), "second");
  CHECK_OK(pd_override_pop(above, &err));
  CHECK_STR(text_of(flag), "first");
  CHECK_STR(hidden, "first");
}

static pd_flag_info info_of_key(void) {
  pd_flag_info info = flag_info(flag);
  return info;
}

TEST(a_flag_stays_sensitive_with_another_definition_until_it_is_wiped) {
  begin();
  define_choice();
  const char *former = published("first");
  pd_flag_def def = definition(PD_TYPE_string, "key");
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK_STR(text_of(flag), "first");
  CHECK(info_of_key().sensitive);
  CHECK_OK(pd_flag_wipe(flag, &err));
  CHECK_STR(former, "");
  CHECK(!info_of_key().sensitive);
}

TEST(a_snapshot_that_is_restored_keeps_values_secret) {
  pd_snapshot *snapshot;
  begin();
  define_choice();
  published("first");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  CHECK_OK(pd_flag_reset(flag, &err));
  pd_flag_def def = definition(PD_TYPE_string, "key");
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(!info_of_key().sensitive);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(flag), "first");
  CHECK(info_of_key().sensitive);
  pd_snapshot_free(snapshot);
}

TEST(a_snapshot_makes_no_flag_secret_that_is_defined_later) {
  pd_snapshot *snapshot;
  pd_flag_def def = definition(PD_TYPE_string, "key");
  def.sensitive = true;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  def.sensitive = false;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_OK(pd_flag_set_string(flag, "public", &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK(!flag_info(flag).sensitive);
  pd_snapshot_free(snapshot);
}

TEST(only_a_sensitive_flag_is_wiped) {
  begin();
  flag = define_flag(PD_TYPE_string, "plain");
  CHECK(pd_flag_wipe(flag, &err) == PD_ERR_ARGUMENT);
  CHECK_STR(err.message, "plain: is not sensitive, and only sensitive values are wiped");
}

TEST(a_text_that_was_published_before_is_published_again) {
  begin();
  define_choice();
  const char *first = published("first"), *second = published("second");
  CHECK(published("first") == first && published("second") == second);
}

TEST(a_flag_stays_sensitive_while_it_has_a_default_that_was_given_as_a_secret) {
  begin();
  define_choice();
  published("first");
  pd_flag_def def = definition(PD_TYPE_string, "key");
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK_OK(pd_flag_set_default(flag, "second", &err));
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_STR(text_of(flag), "second");
  CHECK(info_of_key().sensitive);
}

TEST(a_flag_that_has_left_is_not_wiped) {
  begin();
  flag = define_flag(PD_TYPE_string, "plain");
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK_STATUS(pd_flag_wipe(flag, &err), PD_ERR_UNDEFINED, "plain: is no longer defined");
}

static bool refuse_always(const pd_flag_entry *const *entries, void *context, char *why,
                          size_t size) {
  snprintf(why, size, "%s", (const char *)context);
  return !entries;
}

TEST(a_reason_is_shown_unless_it_contains_the_secret) {
  begin();
  flag = DEFINE(PD_TYPE_string, "key", def.sensitive = true);
  CHECK_OK(
      pd_validator_add(&flag, 1, refuse_always, (char[]){"expected no hunter2"}, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_string(flag, "hunter3", &err), PD_ERR_REFUSED,
               "key=<redacted>: expected no hunter2");
  CHECK_STATUS(pd_flag_set_string(flag, "", &err), PD_ERR_REFUSED,
               "key=<redacted>: expected no hunter2");
  CHECK_STATUS(pd_flag_set_string(flag, "hunter2", &err), PD_ERR_REFUSED,
               "key=<redacted>: rejected by a validator in program");
}

TEST(a_reason_is_not_shown_if_it_contains_the_secret_of_any_flag) {
  begin();
  flag = DEFINE(PD_TYPE_string, "key", def.sensitive = true);
  CHECK_OK(pd_flag_set_string(flag, "hunter2", &err));
  pd_flag *flags[] = {define_flag(PD_TYPE_int64, "a"), define_flag(PD_TYPE_int64, "b"), flag};
  CHECK_OK(
      pd_validator_add(flags, 3, refuse_always, (char[]){"expected no hunter2"}, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(flags[0], 1, &err), PD_ERR_REFUSED,
               "--a=1 (run time), --b=0 (default), --key=<redacted> (run time): rejected by a "
               "validator in program");
}
