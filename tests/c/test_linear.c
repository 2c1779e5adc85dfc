/* Many watchers, overrides, deprecated flags, texts: each costs what the first one did. Two numbers
 * of them are measured in one run, in the thread's own time on the processor; only the ratio is
 * looked at: 8 where the cost is linear, 64 where it is quadratic, and a refusal from 28 on. */
#include "plugged.h"

#define FEW 5000
#define MANY (8 * FEW)

static pd_flag *flag;

static double processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* `act` does it `count` times and cleans up behind itself. */
static void check_linear(void (*act)(int count)) {
  begin();
  alarm(240);
  act(FEW); /* what is needed once */
  double start_time = processor_time();
  act(FEW);
  double few = processor_time() - start_time;
  start_time = processor_time();
  act(MANY);
  double many = processor_time() - start_time;
  if (many > 28 * few) {
    check_fail(__FILE__, __LINE__, "8 times as many cost %.0f times as much", many / few);
  }
}

/* ---- Hooks ---- */

static pd_hook hooks[MANY];
static int told;

static void count_change(pd_flag *changed, void *context) { told += changed && !context; }

static bool accepts(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  return entries && !context;
}

static void remove_hooks(int count, bool backwards) {
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_hook_remove(hooks[backwards ? count - 1 - i : i], &err));
  }
}

static void watch(pd_flag *watched, int count) {
  static int64_t value;
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_watcher_add(watched, count_change, NULL, NULL, &hooks[i], &err));
  }
  told = 0;
  CHECK_OK(pd_flag_set_int64(flag, ++value, &err));
  CHECK(told == count);
  remove_hooks(count, true);
}
static void watch_one(int count) { watch(flag, count); }
static void watch_all(int count) { watch(NULL, count); }
static void watch_one_forwards(int count) {
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_watcher_add(flag, count_change, NULL, NULL, &hooks[i], &err));
  }
  remove_hooks(count, false);
}
static void validate_one(int count) {
  static int64_t value;
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_validator_add(&flag, 1, accepts, NULL, NULL, &hooks[i], &err));
  }
  CHECK_OK(pd_flag_set_int64(flag, ++value, &err));
  remove_hooks(count, true);
}

TEST(watchers_of_one_flag_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(watch_one);
}
TEST(watchers_that_are_removed_in_their_order_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(watch_one_forwards);
}
TEST(watchers_of_all_flags_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(watch_all);
}
TEST(validators_of_one_flag_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(validate_one);
}

static int to_remove;
static void remove_now(pd_flag *changed, void *context) {
  (void)changed, (void)context;
  remove_hooks(to_remove, false);
}
static void remove_within(int count) {
  static int64_t value;
  to_remove = count;
  for (int i = 0; i < count; i++) {
    pd_watcher watcher = i < count - 1 ? count_change : remove_now;
    CHECK_OK(pd_watcher_add(flag, watcher, NULL, NULL, &hooks[i], &err));
  }
  CHECK_OK(pd_flag_set_int64(flag, ++value, &err));
}

TEST(watchers_that_are_removed_within_a_call_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(remove_within);
}

/* ---- Flags of their own ---- */

static pd_flag *many[MANY];
static pd_assignment batch[MANY];

static void define_many(const char *name) {
  static char text[32];
  for (int i = 0; i < MANY; i++) {
    snprintf(text, sizeof text, "%s_%d", name, i);
    many[i] = define_flag(PD_TYPE_int64, text);
  }
}

static void set_batch(int count) {
  static int64_t value;
  value++;
  for (int i = 0; i < count; i++) {
    batch[i] = (pd_assignment){many[i], NULL, PD_TYPE_int64, {.i64 = value}};
  }
  CHECK_OK(pd_batch_set(batch, (size_t)count, NULL, NULL, &err));
}

static void watch_each(int count) {
  pd_hook general;
  CHECK_OK(pd_watcher_add(NULL, count_change, NULL, NULL, &general, &err));
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_watcher_add(many[i], count_change, NULL, NULL, &hooks[i], &err));
  }
  told = 0;
  set_batch(count);
  CHECK(told == 2 * count);
  remove_hooks(count, true);
  CHECK_OK(pd_hook_remove(general, &err));
}

static void validate_together(int count) {
  CHECK_OK(pd_validator_add(many, (size_t)count, accepts, NULL, NULL, &hooks[0], &err));
  set_batch(count);
  remove_hooks(1, true);
}

TEST(watchers_of_a_flag_each_beside_one_of_all_cost_the_same_each) {
  define_many("watched");
  check_linear(watch_each);
}
TEST(flags_of_one_validator_cost_the_same_each) {
  define_many("validated");
  check_linear(validate_together);
}

/* ---- Overrides ---- */

static pd_override overrides[MANY];

static void push_all(int count) {
  for (int i = 0; i < count; i++) {
    pd_assignment item = {flag, NULL, PD_TYPE_int64, {.i64 = i}};
    CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &overrides[i], &err));
  }
}
static void override_nested(int count) {
  push_all(count);
  for (int i = count; i-- > 0;) CHECK_OK(pd_override_pop(overrides[i], &err));
}
static void override_in_turn(int count) {
  push_all(count);
  for (int i = 0; i < count; i++) CHECK_OK(pd_override_pop(overrides[i], &err));
}

TEST(overrides_of_one_flag_that_end_from_the_top_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(override_nested);
}
TEST(overrides_of_one_flag_that_end_from_the_bottom_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  check_linear(override_in_turn);
}

/* ---- Deprecated flags ---- */

static char **arguments_of(const char *name, int count) {
  char **argv = calloc((size_t)count + 2, sizeof *argv);
  argv[0] = (char *)(uintptr_t) "program";
  for (int i = 0; i < count; i++) {
    argv[i + 1] = malloc(48);
    snprintf(argv[i + 1], 48, "--%s_%d_%d=1", name, count, i);
  }
  return argv;
}

static int warned;
static void count_warning(const char *message, pd_warning kind, void *context) {
  warned += message && kind == PD_WARNING_DEPRECATED && !context;
}

/* Each warns once in a process: others each time. All of them are added before the first one is
 * delivered. */
static void deprecate(int count) {
  static int round;
  char name[32];
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  snprintf(name, sizeof name, "deprecated_%d", round++);
  char **argv = arguments_of(name, count);
  for (int i = 0; i < count; i++) {
    char own[64];
    snprintf(own, sizeof own, "%.*s", (int)strlen(argv[i + 1]) - 4, argv[i + 1] + 2);
    DEFINE(PD_TYPE_int64, own, def.deprecated = "use another one");
  }
  int argc = count + 1;
  char **words = calloc((size_t)count + 1, sizeof *words);
  memcpy(words, argv, ((size_t)count + 1) * sizeof *words);
  warned = 0;
  CHECK_OK(pd_parse_argv(&argc, argv, NULL, &err));
  for (int i = 1; i <= count; i++) free(words[i]);
  free(words);
  free(argv);
  CHECK(warned == count);
}

TEST(deprecated_flags_on_a_line_cost_the_same_each) { check_linear(deprecate); }

/* ---- Pending values ---- */

static void wait_and_define(int count) {
  static int round;
  char name[48];
  int own = round++;
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "late_%d_%d", own, i);
    CHECK_OK(pd_pending_set(name, "1", NULL, &err));
  }
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "late_%d_%d", own, i);
    CHECK_STR(text_of(define_flag(PD_TYPE_int64, name)), "1");
  }
}
static void list_waiting(int count) {
  static int round;
  char name[48];
  pd_pending_info info = {.size = sizeof info};
  pd_snapshot *before = NULL;
  CHECK_OK(pd_snapshot_take(&before, &err));
  round++;
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "listed_%d_%d", round, i);
    CHECK_OK(pd_pending_set(name, "1", NULL, &err));
  }
  size_t listed = 0;
  while (pd_pending_get(listed, &info, NULL) == PD_OK) listed++;
  CHECK(listed == (size_t)count);
  CHECK_OK(pd_snapshot_restore(before, &err));
  pd_snapshot_free(before);
}
TEST(values_that_wait_are_listed_for_the_same_cost_each) { check_linear(list_waiting); }
TEST(values_that_wait_cost_the_same_each) { check_linear(wait_and_define); }

/* ---- Errors ---- */

static void fail_all(int count) {
  pd_error_list *errors = pd_error_list_new();
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 1, "x.toml", 1};
  for (int i = 0; i < count; i++) {
    CHECK_OK(pd_config_add(config, "own", "no number", 0, &origin, &err));
  }
  CHECK(pd_config_apply(config, false, errors, &err) == PD_ERR_VALUE);
  pd_config_free(config);
  pd_error_list_free(errors);
}
TEST(values_of_files_that_are_refused_cost_the_same_each) {
  define_flag(PD_TYPE_int64, "own");
  check_linear(fail_all);
}

/* ---- Modules ---- */

static void assign_batch(int count) {
  pd_assignment *items = calloc((size_t)count, sizeof *items);
  for (int i = 0; i < count; i++) {
    items[i] = (pd_assignment){flag, NULL, PD_TYPE_int64, {.i64 = i}};
  }
  CHECK_OK(pd_batch_set(items, (size_t)count, NULL, NULL, &err));
  CHECK_OK(pd_flag_reset(flag, &err));
  free(items);
}
TEST(assignments_of_one_batch_to_one_flag_cost_the_same_each) {
  flag = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_watcher_add(flag, count_change, NULL, NULL, NULL, &err));
  CHECK_OK(pd_validator_add(&flag, 1, accepts, NULL, NULL, NULL, &err));
  check_linear(assign_batch);
}

/* ---- A table that grows ---- */

/* None of a million sets has more than a hundredth of the time of all of them: the texts that are
 * there already aren't moved all at once. */
#define TEXTS 1000000

/* The longest of so many acts, in parts of what all of them took. A machine that stops for a
 * moment doesn't do so in each of three runs. */
static double longest_share(void (*act)(int number), int count) {
  double least = 1;
  for (int run = 0; run < 3 && least > 0.01; run++) {
    double all = 0, longest = 0;
    for (int i = 0; i < count; i++) {
      double start_time = processor_time();
      act(run * count + i);
      double spent = processor_time() - start_time;
      all += spent;
      if (spent > longest) longest = spent;
    }
    if (longest / all < least) least = longest / all;
  }
  return least;
}

static void set_numbered_text(int number) {
  char text[32];
  snprintf(text, sizeof text, "text %d", number);
  CHECK_OK(pd_flag_set_string(flag, text, &err));
}

TEST(no_set_waits_until_all_texts_of_the_process_were_moved) {
  begin();
  alarm(240);
  flag = define_flag(PD_TYPE_string, "text");
  double share = longest_share(set_numbered_text, TEXTS);
  if (share > 0.01) {
    check_fail(__FILE__, __LINE__, "one set of a million took %.0f%% of the time of all",
               100 * share);
  }
}

static void await_numbered_name(int number) {
  char name[32];
  snprintf(name, sizeof name, "name_%d", number);
  CHECK_OK(pd_pending_set(name, "1", NULL, &err));
}

TEST(no_definition_waits_until_all_names_of_the_process_were_moved) {
  begin();
  alarm(240);
  double share = longest_share(await_numbered_name, TEXTS / 2);
  if (share > 0.01) {
    check_fail(__FILE__, __LINE__, "one name of half a million took %.0f%% of the time of all",
               100 * share);
  }
}

/* ---- Implementations ---- */

static pd_impl impls[MANY];

static void implement(int count) {
  static const pd_op_signature signature = {"op", "void (void)", {PD_CODE_VOID, PD_CODE_VOID}};
  char name[16];
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = name,
                   .signature = &signature,
                   .choice = {(void (*)(void))implement, 0, NULL}};
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "name%d", i);
    def.choice.rank = i % 100;
    CHECK_OK(pd_impl_register(&def, &impls[i], &err));
  }
  for (int i = count - 1; i >= 0; i--) CHECK_OK(pd_impl_unregister(impls[i], &err));
}

TEST(implementations_that_are_registered_cost_the_same_each) { check_linear(implement); }

static pd_impl register_of(const pd_op_signature *signature, const char *name) {
  pd_op_def def = {.size = sizeof def,
                   .kind = PD_KIND_IMPL,
                   .name = name,
                   .signature = signature,
                   .choice = {(void (*)(void))implement, 0, NULL}};
  pd_impl made = 0;
  CHECK_OK(pd_impl_register(&def, &made, &err));
  return made;
}

static void unregister_all(int count) {
  for (int i = 0; i < count; i++) CHECK_OK(pd_impl_unregister(impls[i], &err));
}

static void operate(int count) {
  char name[32];
  pd_op_signature signature = {name, "void (void)", {PD_CODE_VOID, PD_CODE_VOID}};
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "op_%d", i);
    impls[i] = register_of(&signature, "only");
  }
  for (int i = 0; i < count; i++) {
    pd_op *op = NULL;
    snprintf(name, sizeof name, "op_%d", i);
    CHECK_OK(pd_op_find(name, signature.types, &op, &err));
  }
  unregister_all(count);
}

/* Structs have one code: only their names in the text tell such signatures apart. */
static void overload(int count) {
  char text[48];
  pd_op_signature signature = {
      "op", text, {PD_CODE_VOID, PD_CODE_STRUCT + PD_CODE_POINTER, PD_CODE_INT32}};
  pd_op *op = NULL;
  for (int i = 0; i < count; i++) {
    snprintf(text, sizeof text, "void (struct s%d *, int32_t)", i);
    impls[i] = register_of(&signature, "only");
    CHECK_OK(pd_op_find("op", signature.types, &op, &err));
  }
  unregister_all(count);
}

static void overload_by_types(int count) {
  char text[] = "void (…)";
  pd_op_signature signature = {"op", text, {PD_CODE_VOID}};
  for (int i = 0; i < count; i++) {
    size_t at = 1;
    for (int left = i; left > 0; left /= 8) {
      signature.types[at++] = (uint8_t)(PD_CODE_INT8 + left % 8);
    }
    signature.types[at++] = PD_CODE_BOOL;
    signature.types[at] = 0;
    impls[i] = register_of(&signature, "only");
    pd_op *op = NULL;
    CHECK_OK(pd_op_find("op", signature.types, &op, &err));
  }
  unregister_all(count);
}

TEST(operations_that_are_registered_cost_the_same_each) { check_linear(operate); }
TEST(signatures_of_one_operation_cost_the_same_each) { check_linear(overload); }
TEST(signatures_that_differ_in_types_cost_the_same_each) { check_linear(overload_by_types); }

/* ---- Scopes ---- */

static pd_scope scopes[MANY];

static pd_flag *define_scoped(const char *name) {
  return DEFINE(PD_TYPE_int64, name, def.scoped = true);
}

static void push_scopes(int count, bool own_flags) {
  for (int i = 0; i < count; i++) {
    pd_assignment item = {own_flags ? many[i] : flag, NULL, PD_TYPE_int64, {.i64 = i}};
    CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scopes[i], &err));
  }
}

static void check_scoped(const pd_flag *of, int64_t expected) {
  int64_t value;
  CHECK_OK(pd_flag_get_int64(of, &value, &err));
  CHECK(value == expected);
}

static void scope_outermost_first(int count) {
  push_scopes(count, false);
  for (int i = 0; i < count; i++) {
    check_scoped(flag, count - 1);
    CHECK_OK(pd_scope_pop(scopes[i], &err));
  }
  check_scoped(flag, 0);
}
static void scope_innermost_first(int count) {
  push_scopes(count, false);
  for (int i = count - 1; i >= 0; i--) {
    check_scoped(flag, i);
    CHECK_OK(pd_scope_pop(scopes[i], &err));
  }
}
static void scope_own_flags(int count) {
  push_scopes(count, true);
  for (int i = 0; i < count; i++) {
    check_scoped(many[i], i);
    CHECK_OK(pd_scope_pop(scopes[i], &err));
    check_scoped(many[i], 0);
  }
}
static void attach_outermost_first(int count) {
  for (int i = 0; i < count; i++) CHECK_OK(pd_scope_attach(NULL, &scopes[i], &err));
  for (int i = 0; i < count; i++) CHECK_OK(pd_scope_detach(scopes[i], &err));
}

TEST(scopes_that_end_outermost_first_cost_the_same_each) {
  flag = define_scoped("own");
  check_linear(scope_outermost_first);
}
TEST(scopes_that_end_innermost_first_cost_the_same_each) {
  flag = define_scoped("own");
  check_linear(scope_innermost_first);
}
TEST(scopes_of_many_flags_cost_the_same_each) {
  char name[32];
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "scoped_%d", i);
    many[i] = define_scoped(name);
  }
  check_linear(scope_own_flags);
}
TEST(attached_contexts_that_end_outermost_first_cost_the_same_each) {
  check_linear(attach_outermost_first);
}
