/* Each call again and again, with the first, the second, ... allocation failing,
 * alone or with all that follow.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "failing.h"
#include "used_up.h"

/* ---- Defining ---- */

static const char *cell = "untouched";

static pd_status define_all(void) {
  pd_flag_def def = definition(PD_TYPE_string, "everything");
  def.help = "help";
  def.aliases = "all|the_lot";
  def.category = "category";
  def.file = "file.c";
  def.default_value.str = "default";
  def.cell = &cell;
  return pd_flag_register(&def, NULL, &err);
}

static void check_undefined(void) {
  CHECK(!is_defined("everything") && !is_defined("all") && !pd_flag_next(NULL));
  CHECK_STR(cell, "untouched");
}

static void check_defined(void) {
  CHECK(is_defined("everything") && is_defined("all") && is_defined("the_lot"));
  CHECK_STR(cell, "default");
}

TEST(a_definition_is_made_whole_or_not_at_all) {
  run(&(scenario){nothing, define_all, check_undefined, check_defined}, 4);
  run(&(scenario){use_up_text, define_all, check_undefined, check_defined}, 4);
}

static void define_many(void) {
  char name[32];
  for (int i = 0; i < 1024; i++) {
    snprintf(name, sizeof name, "flag_%d", i);
    define_flag(PD_TYPE_bool, name);
  }
}

static pd_status define_one_more(void) {
  static int defined;
  char name[32];
  pd_status status = PD_OK;
  while (status == PD_OK && defined < 600) { /* all tables grow on the way */
    snprintf(name, sizeof name, "more_%d", defined);
    pd_flag_def def = definition(PD_TYPE_bool, name);
    status = pd_flag_register(&def, NULL, &err);
    if (status == PD_OK) defined++;
  }
  return status;
}

static void check_more(void) {
  CHECK(is_defined("flag_0") && is_defined("flag_1023") && is_defined("more_599"));
}

TEST(tables_that_cannot_grow_stay_as_they_are) {
  run(&(scenario){define_many, define_one_more, nothing, check_more}, 2);
}

static void wait_with_number(void) {
  setenv("T_text", "from the environment", 1);
  CHECK_OK(pd_environment_enable("T_", NULL, &err));
}

static pd_status define_waiting(void) {
  pd_flag_def def = definition(PD_TYPE_string, "text");
  return pd_flag_register(&def, NULL, &err);
}

static void check_waiting(void) { find_flag("text"); }

TEST(a_waiting_value_that_finds_no_memory_is_reported) {
  run(&(scenario){wait_with_number, define_waiting, nothing, check_waiting}, 3);
}

/* ---- Setting ---- */

static pd_flag *text, *number;

static void define_two(void) {
  text = define_flag(PD_TYPE_string, "text");
  number = define_flag(PD_TYPE_int32, "number");
  CHECK_OK(pd_flag_set_string(text, "before", &err));
  use_up_text(); /* values come in chunks, too */
}

static void check_before(void) {
  CHECK_STR(text_of(text), "before");
  CHECK_STR(text_of(number), "0");
}

static pd_status set_text(void) { return pd_flag_set_string(text, "after", &err); }

static void check_text(void) { CHECK_STR(text_of(text), "after"); }

TEST(a_flag_is_set_or_keeps_its_value) {
  run(&(scenario){define_two, set_text, check_before, check_text}, 1);
}

static pd_status set_batch(void) {
  pd_assignment items[40];
  for (int i = 0; i < 40; i++) items[i] = (pd_assignment){.flag = number, .text = "1"};
  items[39] = (pd_assignment){.flag = text, .text = "after"};
  pd_origin origin = {PD_SOURCE_FILE, 1, "a new place", 0};
  CHECK_OK(pd_flag_reset(text, NULL));
  pd_status status = pd_batch_set(items, 40, &origin, NULL, &err);
  if (status != PD_OK) {
    left = -1;
    CHECK_OK(pd_flag_set_string(text, "before", NULL));
  }
  return status;
}

static void check_batch(void) {
  CHECK_STR(text_of(text), "after");
  CHECK_STR(text_of(number), "1");
}

TEST(a_batch_is_set_whole_or_not_at_all) {
  run(&(scenario){define_two, set_batch, check_before, check_batch}, 2);
}

static pd_status let_wait(void) { return pd_pending_set("later", "after", NULL, &err); }

static void check_none_waits(void) { CHECK(pd_pending_check(NULL, NULL) == PD_OK); }

static void check_one_waits(void) {
  CHECK_STATUS(pd_pending_check(NULL, &err), PD_ERR_UNDEFINED, "later: the flag is not defined");
  CHECK_STR(text_of(define_flag(PD_TYPE_string, "later")), "after");
}

TEST(a_value_waits_or_it_does_not) {
  run(&(scenario){nothing, let_wait, check_none_waits, check_one_waits}, 3);
}

static pd_override override;

static pd_status push(void) {
  pd_assignment items[] = {{.flag = number, .text = "1"}, {.flag = text, .text = "after"}};
  pd_error_list *errors = pd_error_list_new(); /* may be NULL */
  pd_status status = pd_override_push(items, 2, NULL, errors, &override, &err);
  pd_error_list_free(errors);
  return status;
}

static void check_pushed(void) {
  check_batch();
  CHECK_OK(pd_override_pop(override, &err));
  check_before();
}

TEST(a_layer_is_pushed_whole_or_not_at_all) {
  run(&(scenario){define_two, push, check_before, check_pushed}, 4);
}

static pd_status parse(void) {
  char words[][24] = {"program", "--number=1", "--text", "after", "rest"};
  char *argv[] = {words[0], words[1], words[2], words[3], words[4], NULL};
  int argc = 5;
  setenv("P_number", "2", 1);
  CHECK_OK(pd_flag_reset(text, NULL));
  pd_parse_options options = {.size = sizeof options, .env_prefix = "P_"};
  pd_status status = pd_parse_argv(&argc, argv, &options, &err);
  CHECK(argc == (status == PD_OK ? 2 : 5));
  if (status != PD_OK) {
    left = -1;
    CHECK_OK(pd_flag_set_string(text, "before", NULL));
  }
  return status;
}

TEST(a_command_line_is_taken_whole_or_not_at_all) {
  run(&(scenario){define_two, parse, check_before, check_batch}, 2);
}

static char flagfile[32];

static void define_two_and_a_file(void) {
  strcpy(flagfile, "./flagfile-XXXXXX");
  int file = mkstemp(flagfile);
  static const char lines[] = "--gone\n--text=$'after'\n--fromenv=number\n";
  CHECK(file >= 0 && write(file, lines, sizeof lines - 1) > 0 && close(file) == 0);
  setenv("FLAGS_number", "1", 1);
  define_two();
  CHECK_OK(pd_flag_reset(text, NULL)); /* what is set at run time hides files */
}

static void check_no_values(void) {
  CHECK_STR(text_of(number), "0");
  CHECK_STR(text_of(text), "");
}

static pd_status parse_flagfile(void) {
  char words[][48] = {"program", "--undefok=gone,lost", "--flagfile="};
  char *argv[] = {words[0], words[1], strcat(words[2], flagfile), NULL};
  int argc = 3;
  return pd_parse_argv(&argc, argv, NULL, &err);
}

static void check_batch_and_remove(void) {
  check_batch();
  CHECK(unlink(flagfile) == 0);
}

TEST(a_flagfile_is_taken_whole_or_not_at_all) {
  run(&(scenario){define_two_and_a_file, parse_flagfile, check_no_values, check_batch_and_remove},
      3);
}

static pd_status apply_config(void) {
  pd_config *config = NULL;
  pd_status status = pd_config_new(PD_SOURCE_FILE, &config, &err);
  if (status == PD_OK) status = pd_config_add(config, "number", "2", 0, NULL, &err);
  if (status == PD_OK) status = pd_config_add_flagfile(config, flagfile, NULL, NULL, &err);
  if (status == PD_OK) status = pd_config_add(config, "number", "1", 0, NULL, &err);
  if (status == PD_OK) status = pd_config_apply(config, true, NULL, &err);
  pd_config_free(config);
  return status;
}

TEST(settings_are_applied_whole_or_not_at_all) {
  run(&(scenario){define_two_and_a_file, apply_config, check_no_values, check_batch_and_remove}, 8);
}

/* ---- Snapshots ---- */

static pd_snapshot *snapshot;

static void define_two_and_wait(void) {
  define_two();
  CHECK_OK(pd_pending_set("later", "one", NULL, &err));
  CHECK_OK(pd_pending_set("later", "two", NULL, &err));
  CHECK_OK(pd_pending_set("last", "three", NULL, &err));
}

static pd_status take_snapshot(void) { return pd_snapshot_take(&snapshot, &err); }

static void check_no_snapshot(void) {
  CHECK(!snapshot);
  check_before();
}

static void check_what_waited(void) {
  CHECK_STR(text_of(text), "before");
  CHECK_STR(text_of(define_flag(PD_TYPE_string, "later")), "two");
  CHECK_STR(text_of(define_flag(PD_TYPE_string, "last")), "three");
}

static void check_snapshot(void) {
  CHECK_OK(pd_flag_set_string(text, "after", &err));
  CHECK_OK(pd_pending_set("last", "four", NULL, &err));
  CHECK_OK(pd_snapshot_restore(snapshot, &err));
  pd_snapshot_free(snapshot);
  check_what_waited();
}

TEST(a_snapshot_is_taken_whole_or_not_at_all) {
  run(&(scenario){define_two_and_wait, take_snapshot, check_no_snapshot, check_snapshot}, 6);
}

static int told;
static void count_change(pd_flag *flag, void *context) { told += flag && !context; }

enum { WATCHERS = 300, VALUES = 15 };

/* So many watchers and values that each of them needs memory. */
static void take_and_change(void) {
  define_two_and_wait();
  for (int i = 0; i < 100; i++) {
    char name[16];
    snprintf(name, sizeof name, "more_%d", i);
    pd_flag *flag = define_flag(PD_TYPE_int32, name);
    for (int value = 0; value < VALUES; value++) CHECK_OK(pd_flag_set_int32(flag, value, &err));
  }
  CHECK_OK(take_snapshot());
  for (int i = 0; i < WATCHERS; i++) {
    CHECK_OK(pd_watcher_add(text, count_change, NULL, NULL, NULL, &err));
  }
  CHECK_OK(pd_flag_set_string(text, "after", &err));
  CHECK_OK(pd_pending_set("last", "four", NULL, &err));
}

static pd_status restore_snapshot(void) { return pd_snapshot_restore(snapshot, &err); }

static void check_not_restored(void) {
  CHECK(told == WATCHERS);
  CHECK_STR(text_of(text), "after");
}

static void check_restored(void) {
  CHECK(told == 2 * WATCHERS);
  check_what_waited();
}

TEST(a_snapshot_is_restored_whole_or_not_at_all) {
  run(&(scenario){take_and_change, restore_snapshot, check_not_restored, check_restored}, 4);
}

/* ---- Modules ---- */

static pd_module *module;

static pd_status load(const char *name) {
  char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), name);
  return pd_module_load(path, NULL, &module, &err);
}

static pd_status load_alpha(void) { return load("alpha"); }
static pd_status load_plain(void) { return load("plain"); }

static void check_not_loaded(void) { CHECK(!module && !is_defined("alpha_level")); }

static void check_loaded(void) {
  CHECK(module && is_defined("alpha_level") && is_defined("alpha_lvl"));
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(!is_defined("alpha_level"));
}

TEST(a_module_joins_whole_or_not_at_all) {
  run(&(scenario){nothing, load_alpha, check_not_loaded, check_loaded}, 8);
}

static pd_status load_two(void) { return load("needs_clash"); }

static void check_neither(void) {
  CHECK(!module && !is_defined("needs_clash") && !is_defined("clash_free"));
}

static void check_both(void) { CHECK(is_defined("needs_clash") && is_defined("clash_free")); }

TEST(a_module_joins_with_all_that_it_depends_on_or_not_at_all) {
  run(&(scenario){nothing, load_two, check_neither, check_both}, 8);
  run(&(scenario){use_up_text, load_two, check_neither, check_both}, 8);
}

static void check_plain(void) { CHECK_OK(pd_module_unload(module, &err)); }

TEST(a_module_without_flags_is_loaded_or_not) {
  run(&(scenario){nothing, load_plain, check_not_loaded, check_plain}, 1);
}

static pd_flag_info info = {.size = sizeof info};

static void load_first(void) {
  CHECK_OK(load_alpha());
  CHECK_OK(pd_flag_find("alpha_mode", &text, &err));
  use_up_text();
}

static pd_status get_info(void) { return pd_flag_get_info(text, &info, &err); }

static void check_no_info(void) { CHECK(!info.name && !info.help); }

static void check_info(void) { CHECK_STR(info.help, "How to search"); }

TEST(an_info_is_filled_whole_or_not_at_all) {
  run(&(scenario){load_first, get_info, check_no_info, check_info}, 0);
}

TEST(an_error_list_that_cannot_grow_ends_there_and_the_status_is_right) {
  pd_assignment items[20];
  pd_flag *flag = define_flag(PD_TYPE_bool, "b");
  for (int i = 0; i < 20; i++) items[i] = (pd_assignment){.flag = flag, .text = "x"};
  left = 0;
  CHECK(!pd_error_list_new());
  left = 3;
  pd_error_list *errors = pd_error_list_new();
  CHECK(pd_batch_set(items, 20, NULL, errors, &err) == PD_ERR_VALUE);
  left = -1;
  CHECK(pd_error_list_count(errors) >= 1 && pd_error_list_count(errors) < 20);
  pd_error_list_free(errors);
}

/* ---- Operations ---- */

static double one_of_them(double x, double y) { return x * 0 + y * 0 + 5; }
static const pd_op_signature pow_signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
static void (*slot)(void);
static pd_impl registration;

static pd_op_def operation(pd_kind kind, const char *name) {
  return (pd_op_def){.size = sizeof(pd_op_def),
                     .kind = (uint8_t)kind,
                     .name = name,
                     .file = "file.c",
                     .signature = &pow_signature,
                     .choice = {(void (*)(void))one_of_them, 1, NULL},
                     .about = {"what it is for", "f32[n]"}};
}

static pd_status load_operation(void) { return load("op_native"); }

static void check_no_operation(void) {
  pd_op *op;
  CHECK(!module && !is_defined("impl.pow"));
  CHECK(pd_op_find("pow", NULL, &op, NULL) == PD_ERR_UNDEFINED);
}

static void check_operation(void) {
  pd_op *op;
  CHECK(module && is_defined("impl.pow"));
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_flag_set_by_name("impl.pow", "native", &err));
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(!is_defined("impl.pow"));
}

TEST(an_operation_joins_with_its_flag_or_not_at_all) {
  run(&(scenario){nothing, load_operation, check_no_operation, check_operation}, 12);
  run(&(scenario){use_up_text, load_operation, check_no_operation, check_operation}, 12);
}

static pd_status register_operation(void) {
  pd_op_def def = operation(PD_KIND_OP, "native");
  slot = (void (*)(void))nothing;
  def.slot = &slot;
  return pd_impl_register(&def, &registration, &err);
}

static pd_op_info operation_info(void) {
  pd_op *op;
  pd_op_info found = {.size = sizeof found};
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &found, &err));
  return found;
}

static void check_registered(void) {
  CHECK_STR(operation_info().file, "file.c");
  CHECK_STR(operation_info().help, "what it is for");
  CHECK_STR(operation_info().arrays, "f32[n]");
  CHECK(is_defined("impl.pow") && slot == (void (*)(void))one_of_them);
  CHECK_OK(pd_impl_unregister(registration, &err));
  CHECK(!is_defined("impl.pow"));
}

TEST(an_operation_is_registered_with_its_flag_or_not_at_all) {
  run(&(scenario){nothing, register_operation, check_no_operation, check_registered}, 8);
  run(&(scenario){use_up_text, register_operation, check_no_operation, check_registered}, 8);
}

static pd_status register_candidate(void) {
  pd_op_def def = operation(PD_KIND_IMPL, "other");
  return pd_impl_register(&def, &registration, &err);
}

static void load_operation_first(void) {
  CHECK_OK(load_operation());
  operation_info();
  use_up_text();
}

static void check_one(void) {
  pd_error kept = err;
  CHECK(operation_info().impls == 1);
  err = kept;
}

static void check_two(void) {
  CHECK(operation_info().impls == 2 && operation_info().winner == 1);
  CHECK_OK(pd_impl_unregister(registration, &err));
  CHECK(operation_info().impls == 1 && operation_info().winner == 0);
}

TEST(a_candidate_is_registered_or_not) {
  run(&(scenario){load_operation_first, register_candidate, check_one, check_two}, 3);
}
