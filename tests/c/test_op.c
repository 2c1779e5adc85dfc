/* Operations with several implementations: joining, choosing by flag, leaving. */
#include <stddef.h>

#include "plugged.h"

typedef double calls(double x, double y);
typedef double calls_i(double x, int32_t y);

static calls *native_calls(void) {
  return (calls *)(intptr_t)symbol_in("op_native", "native_calls");
}
static calls *fast_calls(void) { return (calls *)(intptr_t)symbol_in("op_fast", "fast_calls"); }

static void set(const char *text) { CHECK_OK(pd_flag_set_by_name("impl.pow", text, &err)); }

static char last_warning[1020];
static void note_warning(const char *message, pd_warning kind, void *context) {
  (void)kind, (void)context;
  snprintf(last_warning, sizeof last_warning, "%s", message);
}

#define NATIVE 2003.0
#define RUNS(which) CHECK(native_calls()(2, 3) == (which))

TEST(an_operation_runs_its_native_implementation_and_has_a_flag) {
  load_module("op_native");
  RUNS(NATIVE);
  CHECK(((calls_i *)(intptr_t)symbol_in("op_native", "native_calls_i"))(2, 3) == 1997);
  CHECK_STR(text_of(find_flag("impl.pow")), "*");
}

TEST(an_import_runs_its_fallback_until_the_operation_is_implemented) {
  pd_module *module = load_module("op_user");
  calls *user_calls = (calls *)(intptr_t)symbol_in("op_user", "user_calls");
  CHECK(user_calls(2, 3) == -1);
  load_module("op_native");
  CHECK(user_calls(2, 3) == NATIVE);
  load_module("op_fast");
  CHECK(user_calls(2, 3) == 2);
  CHECK_OK(pd_module_unload(module, &err));
}

TEST(a_later_implementation_of_a_higher_rank_takes_over_in_every_module) {
  load_module("op_native");
  load_module("op_fast");
  RUNS(2);
  CHECK(fast_calls()(2, 3) == 2);
  CHECK(((calls_i *)(intptr_t)symbol_in("op_native", "native_calls_i"))(2, 3) == 1997);
}

TEST(the_order_of_arrival_does_not_matter) {
  load_module("op_fast");
  CHECK(fast_calls()(2, 3) == 2);
  load_module("op_native");
  RUNS(2);
}

TEST(the_flag_chooses_the_implementation) {
  load_module("op_native");
  load_module("op_fast");
  set("slow,*");
  RUNS(3);
  set("native");
  RUNS(NATIVE);
  set("-fast,-native,*");
  RUNS(3);
  set("?missing,slow");
  RUNS(3);
  set("fast!");
  RUNS(2);
  CHECK(((calls_i *)(intptr_t)symbol_in("op_native", "native_calls_i"))(2, 3) == 1997);
  set("");
  RUNS(NATIVE);
  CHECK_OK(pd_flag_reset(find_flag("impl.pow"), &err));
  RUNS(2);
}

TEST(an_override_and_its_end_choose_too_and_the_history_shows_the_origin) {
  load_module("op_native");
  load_module("op_fast");
  pd_flag *flag = find_flag("impl.pow");
  pd_override number = push_override(flag, "slow");
  RUNS(3);
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_OVERRIDE);
  CHECK_OK(pd_override_pop(number, &err));
  RUNS(2);
}

TEST(a_frozen_choice_stays) {
  load_module("op_native");
  load_module("op_fast");
  CHECK_OK(pd_flag_freeze(find_flag("impl.pow"), &err));
  CHECK(pd_flag_set_by_name("impl.pow", "slow", &err) == PD_ERR_FROZEN);
  RUNS(2);
}

TEST(a_misspelt_implementation_is_an_error_that_names_the_nearest_one) {
  load_module("op_native");
  load_module("op_fast");
  CHECK_STATUS(pd_flag_set_by_name("impl.pow", "fsat,*", &err), PD_ERR_REFUSED,
               "impl.pow=fsat,*: 'fsat' is no implementation of pow; did you mean 'fast'?");
  RUNS(2);
}

TEST(malformed_and_duplicate_items_are_errors) {
  load_module("op_native");
  load_module("op_fast");
  CHECK(pd_flag_set_by_name("impl.pow", "fast!,slow", &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "'fast' stands with !, expected nothing after it"));
  CHECK(pd_flag_set_by_name("impl.pow", "fast,-fast", &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "'fast' is listed twice, expected it once"));
  CHECK(pd_flag_set_by_name("impl.pow", "*,*", &err) == PD_ERR_REFUSED);
  CHECK(pd_flag_set_by_name("impl.pow", "fa st", &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "is no implementation's name: expected NAME"));
}

TEST(the_environment_may_name_an_implementation_that_comes_later) {
  setenv("FLAGS_impl_pow", "slow,*", 1);
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  load_module("op_native");
  RUNS(NATIVE);
  CHECK(pd_pending_check(NULL, &err) == PD_ERR_UNDEFINED);
  CHECK(strstr(err.message, "'slow' is no implementation of pow"));
  load_module("op_fast");
  RUNS(3);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_command_line_may_name_an_implementation_of_a_late_module) {
  CHECK_OK(parse_pending("--impl.pow=slow"));
  load_module("op_native");
  RUNS(NATIVE);
  load_module("op_fast");
  RUNS(3);
}

TEST(a_command_line_that_allows_no_pending_values_names_known_ones) {
  load_module("op_native");
  CHECK(parse_line("--impl.pow=slow", NULL) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "'slow' is no implementation of pow"));
  load_module("op_fast");
  CHECK_OK(parse_line("--impl.pow=slow", NULL));
  RUNS(3);
}

TEST(two_modules_that_bring_the_same_name_conflict_and_both_places_are_named) {
  load_module("op_native");
  load_module("op_fast");
  CHECK(pd_module_load(plugin_path("op_clash"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "implementation 'fast' is already there"));
  CHECK(strstr(err.message, "op_fast.c:11"));
  CHECK(strstr(err.message, "op_clash.c:6"));
  CHECK(!is_defined("op_clash_flag"));
  RUNS(2);
}

TEST(the_same_lines_in_two_modules_are_one_implementation) {
  load_module("op_native");
  load_module("op_twin");
  RUNS(NATIVE);
}

TEST(a_signature_that_is_not_defined_is_refused_and_the_defined_ones_are_listed) {
  load_module("op_native");
  CHECK(pd_module_load(plugin_path("op_other"), NULL, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "operation 'pow' has no signature float (float, float)"));
  CHECK(strstr(err.message, "*0: double (double, double) at "));
  CHECK(strstr(err.message, "*1: double (double, int32_t) at "));
}

TEST(an_implementation_that_is_not_usable_is_asked_once_and_passed_over) {
  load_module("op_native");
  load_module("op_unfit");
  RUNS(8);
  set("unfit,*");
  RUNS(8);
  set("*");
  int32_t (*times)(void) = (int32_t(*)(void))(intptr_t)symbol_in("op_unfit", "times_asked");
  CHECK(times() == 1);
}

TEST(a_choice_that_leaves_only_what_can_not_run_is_refused_with_the_reason) {
  load_module("op_native");
  load_module("op_unfit");
  CHECK_STATUS(pd_flag_set_by_name("impl.pow", "unfit!", &err), PD_ERR_REFUSED,
               "impl.pow=unfit!: 'unfit' can't run here: double (double, double): the CPU lacks "
               "nothing but luck");
  CHECK_OK(pd_flag_set_by_name("impl.pow", "fit!", &err));
  RUNS(8);
}

TEST(a_choice_that_has_waited_for_what_can_not_run_is_a_warning) {
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  setenv("FLAGS_impl_pow", "unfit!", 1);
  CHECK_OK(pd_environment_enable("FLAGS_", NULL, &err));
  load_module("op_native");
  load_module("op_unfit");
  RUNS(NATIVE);
  CHECK(strstr(last_warning, "'unfit' can't run here: double (double, double): the CPU lacks"));
  CHECK(pd_pending_check(NULL, &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "'unfit' can't run here: double (double, double): the CPU lacks"));
  set("*");
  RUNS(8);
  CHECK_OK(pd_pending_check(NULL, &err));
}

TEST(a_command_line_that_may_wait_is_refused_what_has_come_and_can_not_run) {
  load_module("op_native");
  load_module("op_unfit");
  CHECK(parse_pending("--impl.pow=unfit!") == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "'unfit' can't run here: double (double, double): the CPU lacks"));
  RUNS(8);
}

TEST(what_stands_before_the_last_choice_may_run_instead) {
  load_module("op_native");
  load_module("op_unfit");
  set("fit,unfit!");
  RUNS(8);
  CHECK(pd_flag_set_by_name("impl.pow", "-fit,unfit!", &err) == PD_ERR_REFUSED);
}

TEST(a_module_whose_implementation_was_chosen_stays_loaded) {
  if (!LOADER_UNMAPS) return;
  load_module("op_native");
  pd_module *fast = load_module("op_fast");
  RUNS(2);
  CHECK_OK(pd_module_unload(fast, &err));
  CHECK(is_loaded("op_fast"));
  RUNS(NATIVE);
  load_module("op_fast");
  RUNS(2);
}

TEST(unloading_withdraws_a_module_that_stays_each_time) {
  pd_impl_info impl = {.size = sizeof impl};
  pd_op *operation;
  load_module("op_native");
  CHECK_OK(pd_module_unload(load_module("op_fast"), &err)); /* it was chosen, and stays */
  set("native");
  CHECK_OK(pd_module_unload(load_module("op_fast"), &err));
  CHECK_OK(pd_op_find("pow", NULL, &operation, &err));
  CHECK_OK(pd_op_get_impl(operation, 0, &impl, &err));
  CHECK(pd_op_get_impl(operation, 1, &impl, &err) == PD_ERR_ARGUMENT);
}

TEST(a_plain_dlclose_withdraws_nothing_that_was_chosen) {
  if (!LOADER_UNMAPS) return;
  load_module("op_native");
  close_plugin(open_plugin("op_fast"));
  CHECK(is_loaded("op_fast"));
  RUNS(2);
}

TEST(a_module_whose_implementations_were_never_chosen_leaves) {
  if (!LOADER_UNMAPS) return;
  load_module("op_native");
  set("native");
  pd_module *fast = load_module("op_fast");
  RUNS(NATIVE);
  CHECK_OK(pd_module_unload(fast, &err));
  CHECK(!is_loaded("op_fast"));
  RUNS(NATIVE);
}

TEST(when_the_chosen_implementation_leaves_the_next_one_runs_with_a_warning) {
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  load_module("op_native");
  pd_module *fast = load_module("op_fast");
  set("slow,*");
  RUNS(3);
  CHECK_OK(pd_module_unload(fast, &err));
  RUNS(NATIVE);
  CHECK(strstr(last_warning, "implementation 'slow' of double (double, double) has left"));
}

TEST(the_flag_leaves_with_the_last_module_of_the_operation) {
  if (!LOADER_UNMAPS) return;
  pd_module *native = load_module("op_native");
  CHECK(is_defined("impl.pow"));
  CHECK_OK(pd_module_unload(native, &err));
  CHECK(!is_loaded("op_native"));
  CHECK(!is_defined("impl.pow"));
}

/* ---- Reports and run time ---- */

TEST(a_report_says_of_each_implementation_why_it_was_not_taken) {
  pd_op *op;
  pd_op_info info = {.size = sizeof info};
  pd_impl_info impl = {.size = sizeof impl};
  load_module("op_native");
  load_module("op_fast");
  load_module("op_unfit");
  set("-slow,*");
  const uint8_t types[] = {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0};
  CHECK_OK(pd_op_find("pow", types, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK_STR(info.name, "pow");
  CHECK_STR(info.signature, "double (double, double)");
  CHECK_STR(info.help, "x to the power of y");
  CHECK(info.impls == 5 && info.winner == 4 && info.flag == find_flag("impl.pow"));
  static const char *const expected[][2] = {{"native", "after 'fit' in the order"},
                                            {"fast", "after 'fit' in the order"},
                                            {"slow", "impl.pow leaves it out"},
                                            {"unfit", "the CPU lacks nothing but luck"},
                                            {"fit", "chosen"}};
  for (size_t i = 0; i < 5; i++) {
    CHECK_OK(pd_op_get_impl(op, i, &impl, &err));
    CHECK_STR(impl.name, expected[i][0]);
    CHECK_STR(impl.why, expected[i][1]);
    CHECK(impl.native == (i == 0) && impl.chosen == (i == 4));
  }
  CHECK(pd_op_get_impl(op, 5, &impl, &err) == PD_ERR_ARGUMENT);
}

TEST(finding_a_wrong_signature_lists_those_that_there_are) {
  pd_op *op;
  const uint8_t types[] = {PD_CODE_FLOAT, 0};
  load_module("op_native");
  CHECK(pd_op_find("pow", types, &op, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "; *0: double (double, double): native of rank 0 at "));
  CHECK(strstr(err.message, "libop_native.so (chosen)"));
  CHECK(strstr(err.message, "; *1: double (double, int32_t): native of rank 0 at "));
  CHECK(pd_op_find("cos", NULL, &op, &err) == PD_ERR_UNDEFINED);
}

static double registered(double x, double y) { return x * 0 + y * 0 + 11; }

static const pd_op_signature pow_signature = {
    "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};

static pd_op_def implementation(const char *name, int32_t rank) {
  return (pd_op_def){.size = sizeof(pd_op_def),
                     .kind = PD_KIND_IMPL,
                     .name = name,
                     .signature = &pow_signature,
                     .choice = {(void (*)(void))registered, rank, NULL}};
}

TEST(an_implementation_can_be_registered_at_run_time_and_taken_back) {
  pd_impl number;
  pd_op_def def = implementation("mine", 1000);
  load_module("op_native");
  CHECK_OK(pd_impl_register(&def, &number, &err));
  RUNS(11);
  CHECK_OK(pd_impl_unregister(number, &err));
  RUNS(NATIVE);
  CHECK(pd_impl_unregister(number, &err) == PD_ERR_ARGUMENT);
}

TEST(a_malformed_record_is_refused) {
  pd_op_def def = implementation("mine", 0);
  def.kind = PD_KIND_OP_IMPORT;
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_ARGUMENT);
  def = implementation("not a name", 0);
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_NAME);
  def = implementation("mine", 0);
  def.size = 8;
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_ABI);
  def.size = sizeof def - 1;
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_ABI);
  CHECK(!is_defined("impl.pow"));
}

TEST(records_of_older_and_newer_headers_are_read_as_far_as_both_know_them) {
  size_t older_size = offsetof(pd_op_def, about);
  pd_op *op;
  pd_op_info info = {.size = sizeof info};
  pd_op_def def = implementation("native", 0), *older = malloc(older_size);
  struct newer {
    pd_op_def def;
    void *unknown[4];
  } newer = {implementation("newer", 5), {NULL, &newer, &err, NULL}};
  def.kind = PD_KIND_OP;
  def.size = (uint32_t)older_size;
  CHECK(older);
  memcpy(older, &def, older_size);
  newer.def.size = sizeof newer;
  CHECK_OK(pd_impl_register(older, NULL, &err));
  CHECK_OK(pd_impl_register(&newer.def, NULL, &err));
  free(older);
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 2 && info.winner == 1);
  CHECK_STR(info.help, "");
  load_module("op_sizes");
  CHECK_OK(pd_op_find("sum", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 2 && info.winner == 1);
  CHECK_STR(info.help, "");
}

TEST(a_thousand_implementations_join_and_leave) {
  begin();
  pd_op *op;
  pd_op_info info = {.size = sizeof info};
  load_module("op_native");
  pd_module *many = load_module("op_many");
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 1001);
  RUNS(NATIVE);
  set("j99,*");
  RUNS(12);
  CHECK_OK(pd_module_unload(many, &err));
  RUNS(NATIVE);
}

TEST(structs_of_other_names_are_other_signatures) {
  pd_op_signature one = {"touch", "void (struct one *)", {PD_CODE_VOID, 32 + PD_CODE_STRUCT}};
  pd_op_signature same = {"touch", "void(const one*)", {PD_CODE_VOID, 32 + PD_CODE_STRUCT}};
  pd_op_signature other = {"touch", "void (struct other *)", {PD_CODE_VOID, 32 + PD_CODE_STRUCT}};
  pd_op_def def = implementation("native", 0);
  def.kind = PD_KIND_OP;
  def.signature = &one;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.kind = PD_KIND_IMPL;
  def.name = "fast";
  def.signature = &same;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.signature = &other;
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "has no signature void (struct other *)"));
}

/* Whether a candidate of the signature is one of the operation that has the other signature. */
static bool are_one(const char *text, const char *other) {
  static char names[40][8];
  static int count;
  pd_op_signature one = {"", text, {PD_CODE_VOID, 32 + PD_CODE_STRUCT, 64 + PD_CODE_STRUCT}};
  pd_op_signature two = one;
  snprintf(names[count], sizeof *names, "op%d", count);
  one.name = two.name = names[count++];
  two.text = other;
  pd_op_def def = implementation("native", 0);
  def.kind = PD_KIND_OP;
  def.signature = &one;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  def.kind = PD_KIND_IMPL;
  def.name = "fast";
  def.signature = &two;
  return pd_impl_register(&def, NULL, &err) == PD_OK;
}

TEST(names_of_structs_count_with_their_namespaces_and_without_how_they_are_written) {
  CHECK(are_one("void (struct a *, const struct b *)", "void (a*, b const*)"));
  CHECK(are_one("void (class a *__restrict, const b *const)", "void(::a *, const struct b*)"));
  CHECK(are_one("void (n::box<int, 3> *, const b *)", "void (n::box<int,3>*, const b*)"));
  CHECK(
      are_one("void ({anonymous}::a*, const b*)", "void ((anonymous namespace)::a *, const b *)"));
  CHECK(!are_one("void (at::a *, const b *)", "void (phi::a *, const b *)"));
  CHECK(!are_one("void (at::a *, const b *)", "void (a *, const b *)"));
  CHECK(!are_one("void (n::box<int, 3> *, const b *)", "void (n::box<int, 4> *, const b *)"));
  CHECK(!are_one("void (n::box<int> *, const b *)", "void (n::crate<int> *, const b *)"));
  CHECK(!are_one("void (a *, const b *)", "void (a *, const constant *)"));
  CHECK(!are_one("void (a *, const b *)", "void (a *, const bb *)"));
  CHECK(!are_one("void (ab *, const b *)", "void (a *, const b *)"));
  CHECK(!are_one("void (a *, const b *)", "void (a *)"));
}

TEST(an_operation_whose_flag_is_defined_otherwise_is_refused) {
  pd_flag_def other;
  pd_flag_def_init(&other, sizeof other, PD_TYPE_int32);
  other.name = "impl.pow";
  CHECK_OK(pd_flag_register(&other, NULL, &err));
  pd_module *module = NULL;
  CHECK_STATUS(pd_module_load(plugin_path("op_native"), NULL, &module, &err), PD_ERR_CONFLICT,
               "operation 'pow' needs the flag 'impl.pow', which is already defined otherwise");
}

TEST(a_flag_of_the_name_that_an_operation_needs_is_refused_with_its_module) {
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path("op_and_flag"), NULL, &module, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "impl.sum"));
}

TEST(a_module_with_an_operation_and_a_flag_of_that_name_is_refused_whole) {
  pd_op *op;
  CHECK(pd_module_load(plugin_path("op_and_own_flag"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "operation 'sum' of the same module has a flag of that name"));
  CHECK(!is_defined("impl.sum"));
  CHECK(pd_op_find("sum", NULL, &op, &err) == PD_ERR_UNDEFINED);
}

TEST(operations_whose_flags_would_be_one_are_refused) {
  pd_op *op;
  CHECK(pd_module_load(plugin_path("op_alike"), NULL, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "is already there, and both would have the flag 'impl.to"));
  CHECK(!is_defined("impl.to_sum") && !is_defined("op_alike_flag"));
  CHECK(pd_op_find("to_sum", NULL, &op, &err) == PD_ERR_UNDEFINED);
  pd_op_signature sum = {"to_sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  pd_op_def def = implementation("native", 0);
  def.kind = PD_KIND_OP;
  def.signature = &sum;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  sum.name = "to-sum";
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_CONFLICT);
}

TEST(an_operation_whose_flag_is_imported_as_a_number_is_refused) {
  load_module("op_flag_import");
  CHECK(pd_module_load(plugin_path("op_native"), NULL, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "which is imported as int32"));
  CHECK(!is_defined("impl.pow"));
}

TEST(candidates_that_are_registered_are_many) {
  static char names[2000][16];
  load_module("op_native");
  for (int i = 0; i < 2000; i++) {
    snprintf(names[i], sizeof names[i], "name%d", i);
    pd_op_def def = implementation(names[i], i % 7);
    CHECK_OK(pd_impl_register(&def, NULL, &err));
  }
  set("name1999,*");
  RUNS(11);
}

static double numbered_one(double x, double y) { return x * 0 + y * 0 + 21; }
static double numbered_two(double x, double y) { return x * 0 + y * 0 + 22; }
static double numbered_three(double x, double y) { return x * 0 + y * 0 + 23; }
static const char *luckless;
static const char *has_luck(void) { return luckless; }

static pd_impl add(const char *name, int32_t rank, calls *function, bool needs_luck) {
  pd_impl number;
  pd_op_def def = implementation(name, rank);
  def.choice.function = (void (*)(void))function;
  if (needs_luck) def.choice.usable = has_luck;
  CHECK_OK(pd_impl_register(&def, &number, &err));
  return number;
}

TEST(a_choice_that_can_no_longer_run_is_a_warning_each_time) {
  pd_op *op;
  load_module("op_native");
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  add("lucky", 1, numbered_one, true);
  set("lucky!");
  for (int i = 0; i < 2; i++) {
    *last_warning = '\0';
    luckless = "out of luck";
    CHECK_OK(pd_op_check_again(op, &err));
    RUNS(NATIVE);
    CHECK_STR(last_warning, "impl.pow=lucky!: 'lucky' can't run here: double (double, double): out "
                            "of luck; the native one runs");
    luckless = NULL;
    CHECK_OK(pd_op_check_again(op, &err));
    RUNS(21);
  }
}

TEST(each_arrival_and_departure_leaves_the_best_of_those_that_are_there) {
  pd_op *op;
  load_module("op_native");
  pd_impl one = add("one", 1, numbered_one, false);
  RUNS(21);
  pd_impl three = add("three", 3, numbered_three, false);
  RUNS(23);
  pd_impl two = add("two", 2, numbered_two, false);
  RUNS(23);
  CHECK_OK(pd_impl_unregister(three, &err));
  RUNS(22);
  set("one,*");
  RUNS(21);
  three = add("three", 3, numbered_three, true);
  RUNS(21);
  CHECK_OK(pd_impl_unregister(one, &err));
  RUNS(23);
  luckless = "out of luck";
  CHECK_OK(pd_op_find("pow", NULL, &op, &err));
  CHECK_OK(pd_op_check_again(op, &err));
  RUNS(22);
  one = add("one", 1, numbered_one, true);
  RUNS(22);
  luckless = NULL;
  CHECK_OK(pd_op_check_again(op, &err));
  RUNS(21);
  CHECK_OK(pd_impl_unregister(one, &err));
  CHECK_OK(pd_impl_unregister(two, &err));
  CHECK_OK(pd_impl_unregister(three, &err));
  RUNS(NATIVE);
  add("late", 0, numbered_one, false);
  RUNS(NATIVE);
}
