/* Values that wait for a definition: what is reported of them, what changes while somebody is asked
 * about them, and variables of the environment. */
#include <unistd.h>

#include "check.h"

static void let_wait(const char *name, const char *text, pd_source source) {
  pd_origin origin = {source, 3, source == PD_SOURCE_FILE ? "flags.conf" : NULL, 0};
  pd_error own;
  CHECK(pd_pending_set(name, text, &origin, &own) == PD_OK);
}

/* ---- Reports ---- */

TEST(a_use_without_a_value_is_reported_with_the_token_behind_it) {
  CHECK_OK(parse_pending("--depth"));
  pd_flag_def def = definition(PD_TYPE_int32, "depth");
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGV,
               "--depth: the value is missing, expected a 32-bit integer; before the flag is "
               "defined, only --depth=VALUE is understood");
  CHECK_OK(parse_pending("--level 7"));
  def.name = "level";
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGV,
               "--level: the value is missing, expected a 32-bit integer; before the flag is "
               "defined, only --level=7 is understood");
}

TEST(a_secret_behind_a_use_without_a_value_is_not_shown) {
  CHECK_OK(parse_pending("--secret hush"));
  pd_flag_def def = definition(PD_TYPE_string, "secret");
  def.sensitive = true;
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_ARGV);
  CHECK(strstr(err.message, "only --secret=VALUE is understood") && !strstr(err.message, "hush"));
}

static char warned[1020];
static void note_warning(const char *message, pd_warning kind, void *context) {
  (void)kind, (void)context;
  snprintf(warned, sizeof warned, "%s", message);
}

TEST(a_warning_of_values_that_waited_shows_the_first_one) {
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  let_wait("n", "1", PD_SOURCE_FILE);
  let_wait("n", "2", PD_SOURCE_ARGV);
  DEFINE(PD_TYPE_int32, "n", def.deprecated = "use another");
  CHECK_STR(warned, "flags.conf:3: --n is deprecated: use another");
}

/* ---- What changes meanwhile ---- */

static bool give_another_to_check(const pd_flag_entry *const *entries, void *context, char *why,
                                  size_t size) {
  char next[16];
  (void)context, (void)why, (void)size;
  snprintf(next, sizeof next, "%d", (int)entries[0]->value.i64 + 1);
  let_wait("count", next, PD_SOURCE_FILE);
  return true;
}

TEST(a_value_is_refused_if_another_one_comes_whenever_it_is_validated) {
  pd_flag_def def = definition(PD_TYPE_int64, "count");
  def.validate = give_another_to_check;
  alarm(240);
  let_wait("count", "1", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_REFUSED,
               "values kept changing while validators checked them");
}

static int converted;
static bool give_another(const char *text, void *context, pd_writer write, void *out, char *why,
                         size_t size) {
  char next[16];
  (void)context, (void)why, (void)size;
  snprintf(next, sizeof next, "%d", ++converted);
  let_wait("path", next, PD_SOURCE_FILE);
  write(text, strlen(text), out);
  return true;
}

TEST(a_value_is_refused_if_another_one_comes_whenever_it_is_converted) {
  pd_flag_def def = definition(PD_TYPE_string, "path");
  def.convert = give_another;
  let_wait("path", "first", PD_SOURCE_FILE);
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_REFUSED,
               "values kept changing while converters were called");
  CHECK(converted == 99);
}

/* ---- The environment ---- */

TEST(a_name_whose_flag_has_left_shares_no_variable) {
  CHECK_OK(pd_flag_unregister(define_flag(PD_TYPE_int64, "a_b"), &err));
  pd_flag *early = define_flag(PD_TYPE_int64, "a.b");
  setenv("PLAN_a_b", "1", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  CHECK_STR(text_of(early), "1");
  CHECK_OK(pd_flag_unregister(define_flag(PD_TYPE_int64, "c_d"), &err));
  setenv("PLAN_c_d", "2", 1);
  CHECK_STR(text_of(define_flag(PD_TYPE_int64, "c.d")), "2");
}

TEST(a_snapshot_gives_the_variable_of_now_only_to_flags_that_are_new) {
  pd_snapshot *snapshot = NULL;
  setenv("PLAN_old", "5", 1);
  setenv("PLAN_new", "5", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  pd_flag *old = define_flag(PD_TYPE_int64, "old");
  CHECK_OK(pd_snapshot_take(&snapshot, &err));
  pd_flag *new = define_flag(PD_TYPE_int64, "new");
  setenv("PLAN_old", "6", 1);
  setenv("PLAN_new", "6", 1);
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  CHECK_STR(text_of(old), "5");
  CHECK_STR(text_of(new), "6");
  pd_snapshot_free(snapshot);
}

TEST(no_snapshot_has_no_changes) {
  define_flag(PD_TYPE_int64, "n");
  CHECK(!pd_snapshot_next_change(NULL, NULL) && !pd_snapshot_next_definition(NULL, NULL));
}

/* ---- Retired flags ---- */

static int asked;
static bool count_question(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  asked++;
  return true;
}

TEST(nobody_is_asked_about_the_value_that_a_retired_flag_has_left) {
  pd_flag_def def = definition(PD_TYPE_int64, "n");
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  def.retired = "no longer read";
  def.validate = count_question;
  register_flag(&def);
  CHECK(asked == 0);
}

static int warnings;
static void count_warning(const char *message, pd_warning kind, void *context) {
  (void)message, (void)kind, (void)context;
  warnings++;
}

TEST(a_variable_of_an_old_name_of_a_retired_flag_warns_of_both) {
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  setenv("PLAN_former", "1", 1);
  CHECK_OK(pd_environment_enable("PLAN_", NULL, &err));
  DEFINE(PD_TYPE_int64, "n", def.old_names = "former", def.retired = "no longer read");
  CHECK(warnings == 2);
}
