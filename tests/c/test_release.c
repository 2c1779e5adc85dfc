/* What was never published is freed: values, names and definitions that were refused. So is what a
 * plugin left that comes and goes. */
#include "plugged.h"
#include "used.h"

#define ROUNDS 20000
#define SLACK 4096

static pd_flag *flag, *other;

static const char *numbered(const char *format, int number) {
  static char texts[2][200];
  static int last;
  char *text = texts[last++ % 2];
  snprintf(text, sizeof *texts, format, number); /* NOLINT: the formats are our own */
  return text;
}

static bool refuses(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  return false;
}

static void start_refusing(void) {
  begin();
  flag = define_flag(PD_TYPE_string, "refusing");
  other = define_flag(PD_TYPE_string, "other");
  CHECK_OK(pd_validator_add(&flag, 1, refuses, NULL, NULL, NULL, &err));
}

/* ---- Values ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"

static void set_text(int i) {
  const char *text = numbered("a text that is refused, number %d", i);
  CHECK(pd_flag_set_string(flag, text, &err) == PD_ERR_REFUSED);
}
TEST(a_text_that_a_validator_refuses_is_freed) {
  start_refusing();
  check_released(set_text, ROUNDS, SLACK);
}

static void set_by_pending(int i) {
  const char *text = numbered("a text that is refused, number %d", i);
  CHECK(pd_pending_set("refusing", text, NULL, &err) == PD_ERR_REFUSED);
}
TEST(a_pending_text_that_a_validator_refuses_is_freed) {
  start_refusing();
  check_released(set_by_pending, ROUNDS, SLACK);
}

static void set_batch(int i) {
  pd_assignment items[] = {{.flag = other, .text = numbered("another text, number %d", i)},
                           {.flag = flag, .text = numbered("a text, number %d", i)}};
  CHECK(pd_batch_set(items, 2, NULL, NULL, &err) == PD_ERR_REFUSED);
}
TEST(the_texts_of_a_batch_that_a_validator_refuses_are_freed) {
  start_refusing();
  check_released(set_batch, ROUNDS, SLACK);
}

static void set_wrong_batch(int i) {
  pd_assignment items[] = {{.flag = other, .text = numbered("another text, number %d", i)},
                           {.flag = flag, .text = "not a number"}};
  CHECK(pd_batch_set(items, 2, NULL, NULL, &err) == PD_ERR_VALUE);
}
TEST(the_texts_of_a_batch_with_a_wrong_item_are_freed) {
  begin();
  flag = define_flag(PD_TYPE_int32, "number");
  other = define_flag(PD_TYPE_string, "other");
  check_released(set_wrong_batch, ROUNDS, SLACK);
}

static void push_refused(int i) {
  pd_override override;
  pd_assignment items[] = {{.flag = other, .text = numbered("another text, number %d", i)},
                           {.flag = flag, .text = numbered("a text, number %d", i)}};
  CHECK(pd_override_push(items, 2, NULL, NULL, &override, &err) == PD_ERR_REFUSED);
}
TEST(the_texts_of_an_override_that_a_validator_refuses_are_freed) {
  start_refusing();
  check_released(push_refused, ROUNDS, SLACK);
}

static void set_from_place(int i) {
  pd_origin origin = {PD_SOURCE_FILE, 1, numbered("/etc/a/path/of/its/own/%d", i), 0};
  pd_assignment item = {.flag = flag, .text = "a"};
  CHECK(pd_batch_set(&item, 1, &origin, NULL, &err) == PD_ERR_REFUSED);
}
TEST(the_place_of_a_value_that_a_validator_refuses_is_freed) {
  start_refusing();
  check_released(set_from_place, ROUNDS, SLACK);
}

static void set_choice(int i) {
  const char *text = numbered("no choice, number %d", i);
  CHECK(pd_flag_set_string(flag, text, &err) == PD_ERR_CHOICE);
}
TEST(a_text_that_is_no_choice_is_freed) {
  begin();
  flag = DEFINE(PD_TYPE_string, "choosing", def.choices = "one|two", def.default_value.str = "one");
  check_released(set_choice, ROUNDS, SLACK);
}

static void set_default(int i) {
  const char *text = numbered("a text that is refused, number %d", i);
  CHECK(pd_flag_set_default(flag, text, &err) == PD_ERR_REFUSED);
}
TEST(a_default_that_a_validator_refuses_is_freed) {
  start_refusing();
  check_released(set_default, ROUNDS, SLACK);
}

static void set_by_unknown_name(int i) {
  CHECK(pd_flag_set_by_name(numbered("unknown_%d", i), numbered("text %d", i), &err) ==
        PD_ERR_UNDEFINED);
}
TEST(an_unknown_name_and_its_text_are_freed) {
  begin();
  define_flag(PD_TYPE_string, "known");
  check_released(set_by_unknown_name, 2000, SLACK);
}

/* ---- Command lines, file values, the environment ---- */

static bool allow_pending;

static pd_status parse(const char *first, const char *second) {
  char *argv[] = {(char *)(uintptr_t) "program", (char *)(uintptr_t)first,
                  (char *)(uintptr_t)second, NULL};
  int argc = 3;
  pd_parse_options options = {.size = sizeof options, .allow_pending = allow_pending};
  return pd_parse_argv(&argc, argv, &options, &err);
}

static void parse_unknown(int i) {
  CHECK(parse(numbered("--unknown_%d=text", i), numbered("--refusing=a text, number %d", i)) ==
        PD_ERR_UNDEFINED);
}
TEST(the_names_and_texts_of_a_refused_line_are_freed) {
  start_refusing();
  check_released(parse_unknown, 2000, SLACK);
}

static void parse_refused(int i) {
  CHECK(parse(numbered("--other=%d texts", i), numbered("--refusing=a text, number %d", i)) ==
        PD_ERR_REFUSED);
}
TEST(the_texts_of_a_line_that_a_validator_refuses_are_freed) {
  start_refusing();
  check_released(parse_refused, ROUNDS, SLACK);
}

static void parse_late(int i) {
  CHECK(parse(numbered("--late_%d=text", i), "--refusing=a text") == PD_ERR_REFUSED);
}
TEST(the_pending_names_of_a_refused_line_are_freed) {
  start_refusing();
  allow_pending = true;
  check_released(parse_late, ROUNDS, SLACK);
  pd_pending_info info = {.size = sizeof info};
  CHECK(pd_pending_get(0, &info, NULL) == PD_ERR_ARGUMENT);
}

static void parse_undefok(int i) {
  CHECK(parse(numbered("--undefok=name_%d", i), "--refusing=a text") == PD_ERR_REFUSED);
}
TEST(the_names_that_a_refused_line_excuses_are_freed) {
  start_refusing();
  check_released(parse_undefok, ROUNDS, SLACK);
}

static void apply_refused(int i) {
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 1, numbered("/etc/path/%d", i), 1};
  CHECK_OK(pd_config_add(config, "other", numbered("text %d", i), 0, &origin, &err));
  CHECK_OK(pd_config_add(config, numbered("late_%d", i), "x", 0, &origin, &err));
  CHECK_OK(pd_config_add(config, "refusing", numbered("text %d", i), 0, &origin, &err));
  CHECK(pd_config_apply(config, i % 2, NULL, &err) != PD_OK);
  pd_config_free(config);
}
TEST(file_values_that_are_refused_are_freed) {
  start_refusing();
  check_released(apply_refused, 2000, SLACK);
}

static void collect(int i) {
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 1, numbered("/etc/path/%d", i), 1};
  CHECK_OK(pd_config_add(config, numbered("late_%d", i), numbered("%d", i), 0, &origin, &err));
  pd_config_free(config);
}
TEST(file_values_that_are_never_applied_are_freed) {
  begin();
  check_released(collect, ROUNDS, SLACK);
}

/* putenv keeps nothing of its own. */
static void enable_refused(int i) {
  static char variable[64];
  snprintf(variable, sizeof variable, "RELEASE_refusing=text %d", i);
  putenv(variable);
  CHECK(pd_environment_enable("RELEASE_", NULL, &err) == PD_ERR_REFUSED);
}
TEST(values_of_variables_that_are_refused_are_freed) {
  start_refusing();
  check_released(enable_refused, ROUNDS, SLACK);
}

static void enable_prefix(int i) {
  CHECK_OK(pd_environment_enable(numbered("PREFIX_%d_", i), NULL, &err));
}
TEST(a_prefix_of_variables_is_freed_when_another_one_comes) {
  begin();
  check_released(enable_prefix, ROUNDS, SLACK);
}

/* ---- Definitions ---- */

static void define_refused(int i) {
  pd_flag_def def = definition(PD_TYPE_string, numbered("refused_%d", i));
  def.help = numbered("This is of no use to anybody, and there are %d of it", i);
  def.choices = "one|two";
  def.default_value.str = "three";
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CHOICE);
}
TEST(a_definition_that_is_refused_is_freed) {
  begin();
  check_released(define_refused, ROUNDS, SLACK);
}

static void define_conflict(int i) {
  pd_flag_def def = definition(PD_TYPE_int32, "taken");
  def.help = numbered("This is of no use to anybody, and there are %d of it", i);
  def.aliases = numbered("alias_%d", i);
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
}
TEST(a_definition_whose_name_is_taken_is_freed) {
  begin();
  define_flag(PD_TYPE_string, "taken");
  check_released(define_conflict, ROUNDS, SLACK);
}

static void define_aliases(int i) {
  pd_flag_def def = definition(PD_TYPE_int32, numbered("fresh_%d", i));
  def.aliases = "taken";
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
}
TEST(a_definition_whose_alias_is_taken_is_freed) {
  begin();
  define_flag(PD_TYPE_string, "taken");
  check_released(define_aliases, ROUNDS, SLACK);
}

static void load_refused(int i) {
  (void)i;
  CHECK(pd_module_load(plugin_path("clash"), NULL, NULL, &err) == PD_ERR_CONFLICT);
}
TEST(a_module_that_is_refused_is_freed) {
  begin();
  load_module("alpha");
  check_released(load_refused, 2000, SLACK);
}

/* The names are too long. The namespace itself is stored. */
static void load_in_namespace(int i) {
  char name_space[PD_NAME_MAX - 4];
  snprintf(name_space, sizeof name_space, "n%0*d", PD_NAME_MAX - 6, i);
  CHECK(pd_module_load_as(plugin_path("alpha"), name_space, NULL, NULL, &err) == PD_ERR_NAME);
}
TEST(the_names_of_a_module_that_is_refused_in_a_namespace_are_freed) {
  begin();
  check_released(load_in_namespace, 500, 500 * (size_t)(PD_NAME_MAX + 64));
}

#pragma GCC diagnostic pop

/* ---- Plugins that come and go ---- */

static void reload(int i) {
  (void)i;
  close_plugin(open_plugin("registering"));
}

static void check_reload(const char *words) {
  begin();
  alarm(240);
  define_flag(PD_TYPE_int64, "own");
  setenv("REGISTERING", words, 1);
  check_released(reload, ROUNDS / 2, SLACK);
}

TEST(a_plugin_that_registers_a_flag_leaves_nothing_behind) { check_reload("-cell"); }
TEST(a_plugin_that_registers_a_validated_flag_leaves_nothing_behind) {
  check_reload("-cell -validate -watch");
}
TEST(a_plugin_that_adds_hooks_leaves_nothing_behind) { check_reload("+validate +watch +all"); }

static void reload_calling(int i) {
  void *library = open_plugin("calling");
  CHECK_OK(pd_flag_set_by_name("calling", i % 2 ? "5" : "6", &err));
  close_plugin(library);
}
TEST(a_plugin_with_hooks_in_its_definitions_leaves_nothing_behind) {
  begin();
  alarm(240);
  check_released(reload_calling, ROUNDS / 4, SLACK);
}

static pd_hook hook;
static void add_and_remove(int i) {
  CHECK_OK(pd_validator_add(&flag, 1, refuses, malloc(8), free, &hook, &err));
  CHECK(pd_flag_set_string(flag, i % 2 ? "a" : "b", &err) == PD_ERR_REFUSED);
  CHECK_OK(pd_hook_remove(hook, &err));
}
TEST(a_hook_that_is_removed_is_freed) {
  begin();
  flag = define_flag(PD_TYPE_string, "own");
  check_released(add_and_remove, ROUNDS, SLACK);
}

/* The cost of a set, in its own time on the processor, doesn't grow with the plugins that came and
 * went before. */
static double cost_of_sets(pd_flag *own) {
  struct timespec begun, ended;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begun);
  for (int i = 0; i < 2000; i++) CHECK_OK(pd_flag_set_int64(own, i, &err));
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
  return (double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec);
}

TEST(a_set_costs_the_same_after_a_plugin_that_registers_its_flag_was_reloaded_often) {
  begin();
  alarm(240);
  setenv("REGISTERING", "-cell", 1);
  void *library = open_plugin("registering");
  pd_flag *registered = find_flag("registered");
  double before = cost_of_sets(registered);
  close_plugin(library);
  for (int i = 0; i < ROUNDS / 2; i++) reload(i);
  library = open_plugin("registering");
  double after = cost_of_sets(find_flag("registered"));
  if (after > 10 * before) {
    check_fail(__FILE__, __LINE__, "a set costs %.0f times what it did", after / before);
  }
}
