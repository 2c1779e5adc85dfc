/* What is listed and what waits, with the first, the second, ... allocation failing.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "failing.h"
#include "forking.h"
#include "used_up.h"

/* ---- Listings: their texts are kept ---- */

static double native(double x) { return x; }
static const pd_op_signature signature = {
    "sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
static pd_op *op;

static pd_status register_op(pd_kind kind, const char *name) {
  pd_op_def def = {.size = sizeof def, .kind = (uint8_t)kind, .name = name, .file = "a file.c"};
  def.signature = &signature;
  def.choice.function = (void (*)(void))native;
  def.about.help = "the help of the operation";
  def.about.arrays = "f32[n]";
  return pd_impl_register(&def, NULL, &err);
}

static void define_ops(void) {
  CHECK_OK(register_op(PD_KIND_OP, "native"));
  CHECK_OK(register_op(PD_KIND_IMPL, "another"));
  CHECK_OK(pd_op_find("sum", NULL, &op, &err));
  use_up_text();
}

static pd_impl_info impl;

static pd_status get_impl(void) {
  impl = (pd_impl_info){.size = sizeof impl};
  return pd_op_get_impl(op, 1, &impl, &err);
}

static void check_no_impl(void) { CHECK(!impl.name && !impl.why); }

static void check_impl(void) {
  CHECK_STR(impl.name, "another");
  CHECK_STR(impl.why, "after 'native' in the order");
}

TEST(an_implementation_is_listed_whole_or_not_at_all) {
  run(&(scenario){define_ops, get_impl, check_no_impl, check_impl}, 1);
}

static pd_op_info op_info;

static void load_op(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libop_scoped.so", getenv("PLUGINS"));
  CHECK_OK(pd_module_load(path, NULL, NULL, &err));
  CHECK_OK(pd_op_find("fill", NULL, &op, &err));
  use_up_text();
}

static pd_status get_op(void) {
  op_info = (pd_op_info){.size = sizeof op_info};
  return pd_op_get_info(op, &op_info, &err);
}

static void check_no_op(void) { CHECK(!op_info.name && !op_info.help); }

static void check_op(void) {
  CHECK_STR(op_info.help, "Fill");
  CHECK(strstr(op_info.file, "op_scoped.c"));
  CHECK_STR(op_info.arrays, "f32[n,3], any[..., n] strided");
}

TEST(an_operation_is_listed_whole_or_not_at_all) {
  run(&(scenario){load_op, get_op, check_no_op, check_op}, 1);
}

static void define_foreign(void) {
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "foreign"};
  def.signature = &signature;
  CHECK_OK(pd_impl_register(&def, NULL, &err));
  CHECK_OK(pd_op_find("sum", NULL, &op, &err));
  use_up_text();
}

static pd_status choose_impl(void) {
  impl = (pd_impl_info){.size = sizeof impl};
  return pd_op_choose(op, &impl, &err);
}

static void check_foreign(void) { CHECK_STR(impl.name, "foreign"); }

TEST(a_choice_is_told_whole_or_not_at_all) {
  run(&(scenario){define_foreign, choose_impl, check_no_impl, check_foreign}, 0);
}

static pd_copy_info copy;

static pd_status get_copy(void) {
  copy = (pd_copy_info){.size = sizeof copy};
  return pd_copy_get_info(0, &copy, &err);
}

static void check_no_copy(void) { CHECK(!copy.path && !copy.version); }
static void check_copy(void) { CHECK(copy.path && copy.version); }

static void begin_copy(void) {
  CHECK(!pd_flag_next(NULL));
  use_up_text();
}

/* The path is known already, as that of the module of a flag. */
static void begin_copy_of_known_path(void) {
  static int32_t cell;
  DEFINE(PD_TYPE_int32, "of_program", def.cell = &cell);
  use_up_text();
}

TEST(a_copy_is_listed_whole_or_not_at_all) {
  run(&(scenario){begin_copy, get_copy, check_no_copy, check_copy}, 2);
  run(&(scenario){begin_copy_of_known_path, get_copy, check_no_copy, check_copy}, 1);
}

static pd_pending_info pending;

static void let_wait(void) {
  pd_origin origin = {PD_SOURCE_FILE, 1, "the place of a pending value", 0};
  CHECK_OK(pd_pending_set("waiting_for_its_flag", "the text of a pending value", &origin, &err));
  use_up_text();
}

static pd_status get_pending(void) {
  pending = (pd_pending_info){.size = sizeof pending};
  return pd_pending_get(0, &pending, &err);
}

static void check_not_listed(void) { CHECK(!pending.name && !pending.text); }

static void check_listed(void) {
  CHECK_STR(pending.name, "waiting_for_its_flag");
  CHECK_STR(pending.text, "the text of a pending value");
  CHECK_STR(pending.origin.place, "the place of a pending value");
}

TEST(a_pending_value_is_listed_whole_or_not_at_all) {
  run(&(scenario){let_wait, get_pending, check_not_listed, check_listed}, 1);
}

/* ---- Values that wait ---- */

/* The status is never PD_OK although the flag lacks its value. */
TEST(a_value_that_is_refused_is_reported_even_without_memory) {
  for (int number = 0; number < 40; number++) {
    for (int lasts = 0; lasts < 2; lasts++) {
      char name[32];
      snprintf(name, sizeof name, "flag_%d_%d", number, lasts);
      CHECK_OK(pd_pending_set(name, "no number", NULL, &err));
      pd_flag_def def = definition(PD_TYPE_int32, name);
      to_the_end = lasts;
      left = number;
      pd_status status = pd_flag_register(&def, NULL, &err);
      left = -1;
      CHECK(status == PD_ERR_VALUE || status == PD_ERR_MEMORY);
      CHECK(err.status == status);
    }
  }
}

/* So many values, and such long ones, that what is asked about them needs memory again and again.
 */
static void let_many_wait(const char *name) {
  static const pd_source sources[] = {PD_SOURCE_FILE, PD_SOURCE_ENVIRONMENT, PD_SOURCE_ARGV};
  char text[600];
  for (int i = 0; i < 3 * PD_HISTORY_KEPT; i++) {
    pd_origin origin = {sources[i / PD_HISTORY_KEPT], 1, "the place of a value", 0};
    snprintf(text, sizeof text, "%0500d", i);
    CHECK_OK(pd_pending_set(name, text, &origin, &err));
  }
}

static bool accept(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return entries[0]->value.str != NULL;
}

static bool copy_text(const char *given, void *context, pd_writer write, void *out, char *why,
                      size_t size) {
  (void)context, (void)why, (void)size;
  write(given, strlen(given), out);
  return true;
}

/* Registers a flag with the n-th allocation failing. Returns whether one has failed. */
static bool register_failing(int number, bool converts) {
  char name[32];
  pd_flag *flag = NULL;
  snprintf(name, sizeof name, "flag_%d_%d_%d", number, to_the_end, converts);
  let_many_wait(name);
  pd_flag_def def = definition(PD_TYPE_string, name);
  def.validate = converts ? NULL : accept;
  def.convert = converts ? copy_text : NULL;
  failed = false;
  left = number;
  pd_status status = pd_flag_register(&def, &flag, &err);
  left = -1;
  CHECK(status == PD_OK || (failed && status == PD_ERR_MEMORY && err.status == status));
  CHECK(status != PD_OK || flag);
  if (status == PD_OK) CHECK(atoi(text_of(flag)) == 3 * PD_HISTORY_KEPT - 1);
  return failed;
}

TEST(a_value_that_finds_no_memory_for_a_question_is_reported) {
  for (int lasts = 0; lasts < 2; lasts++) {
    int number = 0;
    to_the_end = lasts;
    while (register_failing(number, false)) number++;
    CHECK(number > 8);
  }
}

TEST(a_value_that_finds_no_memory_for_its_converter_is_reported) {
  for (int lasts = 0; lasts < 2; lasts++) {
    int number = 0;
    to_the_end = lasts;
    while (register_failing(number, true)) number++;
    CHECK(number > 8);
  }
}

static pd_status load_alpha(pd_module **out) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libalpha.so", getenv("PLUGINS"));
  return pd_module_load(path, NULL, out, &err);
}

TEST(a_value_that_is_refused_is_an_error_of_the_load_even_without_memory) {
  for (int number = 0; number < 60; number++) {
    pid_t child = fork();
    if (child == 0) {
      pd_module *module = NULL;
      CHECK_OK(pd_pending_set("alpha_level", "no number", NULL, &err));
      left = number;
      pd_status got = load_alpha(&module);
      left = -1;
      CHECK(got == PD_ERR_VALUE || got == PD_ERR_MEMORY);
      CHECK(err.status == got);
      exit(0);
    }
    check_child(child);
  }
}

static void wait_for_operation(void) {
  pd_origin origin = {PD_SOURCE_FILE, 1, NULL, 0};
  CHECK_OK(pd_pending_set("impl.sum", "native,*", &origin, &err));
  use_up_text();
}

static pd_status define_operation(void) { return register_op(PD_KIND_OP, "native"); }

static void check_operation(void) { find_flag("impl.sum"); }

/* A value that finds no memory is an error of its own: the operation is there. */
TEST(an_operation_with_a_pending_value_comes_or_not) {
  for (int number = 0; number < 60; number++) {
    pid_t child = fork();
    if (child == 0) {
      wait_for_operation();
      left = number;
      pd_status got = define_operation();
      left = -1;
      CHECK(got == PD_OK || got == PD_ERR_MEMORY);
      CHECK(got == PD_OK || failed);
      if (got == PD_OK) check_operation();
      exit(0);
    }
    check_child(child);
  }
}

/* ---- Listings of which some texts are known ---- */

/* The text needs no memory from now on. */
static void make_known(const char *text) {
  pd_program program = {.size = sizeof program, .usage = text};
  CHECK_OK(pd_program_set(&program, &err));
}

/* Lists with a failing allocation, first for the first text that isn't known yet, then for the
 * second, and so on. */
static void list_knowing(pd_status (*list)(void), const char *const *texts, size_t count) {
  for (size_t known = 0; known < count; known++) {
    pid_t child = fork();
    if (child == 0) {
      for (size_t i = 0; i < known; i++) make_known(texts[i]);
      use_up_text();
      left = 0;
      pd_status got = list();
      left = -1;
      CHECK(got == PD_ERR_MEMORY && failed);
      exit(0);
    }
    check_child(child);
  }
  CHECK_OK(list());
}
#define LIST_KNOWING(list, ...)                                                                    \
  list_knowing(list, (const char *const[]){__VA_ARGS__},                                           \
               sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

TEST(each_text_of_a_pending_value_needs_memory) {
  pd_origin origin = {PD_SOURCE_FILE, 1, "the place of a pending value", 0};
  CHECK_OK(pd_pending_set("waiting_for_its_flag", "the text of a pending value", &origin, &err));
  LIST_KNOWING(get_pending, "waiting_for_its_flag", "the text of a pending value",
               "the place of a pending value");
}

TEST(each_text_of_a_value_that_a_flag_has_left_needs_memory) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "that_has_left");
  CHECK_OK(pd_flag_set_int64(flag, 123456789012345, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  LIST_KNOWING(get_pending, "that_has_left", "123456789012345");
  CHECK_STR(pending.text, "123456789012345");
}

static void load_fill(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/libop_scoped.so", getenv("PLUGINS"));
  CHECK_OK(pd_module_load(path, NULL, NULL, &err));
  CHECK_OK(pd_op_find("fill", NULL, &op, &err));
}

static char file_of_fill[4096];
static void learn_file_of_fill(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    load_fill();
    CHECK_OK(get_op());
    CHECK(write(ends[1], op_info.file, strlen(op_info.file)) > 0);
    exit(0);
  }
  CHECK(read(ends[0], file_of_fill, sizeof file_of_fill - 1) > 0);
  check_child(child);
}

static pd_status get_first_impl(void) {
  impl = (pd_impl_info){.size = sizeof impl};
  return pd_op_get_impl(op, 0, &impl, &err);
}

TEST(each_text_of_an_operation_needs_memory) {
  learn_file_of_fill();
  load_fill();
  LIST_KNOWING(get_op, "Fill", "f32[n,3], any[..., n] strided", file_of_fill);
}

TEST(each_text_of_an_implementation_needs_memory) {
  learn_file_of_fill();
  load_fill();
  LIST_KNOWING(get_first_impl, file_of_fill);
}

/* ---- A definition keeps its texts ---- */

static pd_flag *named;
static pd_status register_named(void) {
  pd_flag_def def = definition(PD_TYPE_int32, "the_name_of_a_flag");
  def.file = "the file of a flag.c";
  return pd_flag_register(&def, &named, &err);
}

static void know_file(void) {
  make_known("the file of a flag.c");
  use_up_text();
}

static void check_not_named(void) { CHECK(!is_defined("the_name_of_a_flag")); }

static void check_named(void) {
  pd_flag_info info = flag_info(named);
  CHECK_STR(info.name, "the_name_of_a_flag");
  CHECK_STR(info.file, "the file of a flag.c");
}

TEST(a_definition_keeps_its_name_and_its_file_or_is_not_made) {
  run(&(scenario){use_up_text, register_named, check_not_named, check_named}, 2);
  run(&(scenario){know_file, register_named, check_not_named, check_named}, 2);
}
