/*
 * Built with: -ldl
 */
#define _GNU_SOURCE

#define CHECK_DEFINES_FLAGS
#include "forking.h"
#include "plugged.h"

PD_DEFINE_SCOPED_bool(on, false, "A bool");
PD_DEFINE_SCOPED_int32(level, 6, "Compression level", .min = 1, .max = 9);
PD_DEFINE_SCOPED_uint32(count, 7, "A uint32");
PD_DEFINE_SCOPED_int64(wide, INT64_MIN, "An int64");
PD_DEFINE_SCOPED_uint64(size, UINT64_MAX, "A size", .unit = "bytes");
PD_DEFINE_SCOPED_double(rate, 0.5, "A double");
PD_DEFINE_SCOPED_string(mode, "fast", "How to search", .choices = "fast|best");
PD_DEFINE_SCOPED_string(items, "a,b", "A list", .list = PD_TYPE_string);
PD_DEFINE_int32(plain, 1, "Not scoped");

static pd_scope push(pd_flag *flag, const char *text) {
  pd_assignment item = {.flag = flag, .text = text};
  pd_scope scope = 0;
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CHECK(scope);
  return scope;
}
static void pop(pd_scope scope) { CHECK_OK(pd_scope_pop(scope, &err)); }

static pd_scope push_level(const char *text) { return push(PD_SCOPED_FLAG(level), text); }

static pd_status try_level(const char *text) {
  pd_scope scope;
  pd_assignment item = {.flag = PD_SCOPED_FLAG(level), .text = text};
  return pd_scope_push(&item, 1, NULL, NULL, &scope, &err);
}

static void *level_elsewhere(void *unused) {
  (void)unused;
  return (void *)(intptr_t)PD_SCOPED(level);
}
static int on_another_thread(void) { return (int)(intptr_t)finish(start(level_elsewhere, NULL)); }

TEST(a_scope_gives_a_value_to_its_thread_alone) {
  pd_scope scope = push_level("9");
  CHECK(PD_SCOPED(level) == 9 && on_another_thread() == 6);
  pop(scope);
  CHECK(PD_SCOPED(level) == 6);
}

TEST(every_type_can_be_scoped) {
  pd_scope scope;
  pd_assignment items[] = {
      {PD_SCOPED_FLAG(on), "true", 0, {0}},    {PD_SCOPED_FLAG(level), "9", 0, {0}},
      {PD_SCOPED_FLAG(count), "8", 0, {0}},    {PD_SCOPED_FLAG(wide), "-5", 0, {0}},
      {PD_SCOPED_FLAG(size), "64MiB", 0, {0}}, {PD_SCOPED_FLAG(rate), "0.25", 0, {0}},
      {PD_SCOPED_FLAG(mode), "best", 0, {0}},  {PD_SCOPED_FLAG(items), "x,\"y,z\"", 0, {0}},
  };
  CHECK_OK(pd_scope_push(items, sizeof items / sizeof *items, NULL, NULL, &scope, &err));
  CHECK(PD_SCOPED(on) && PD_SCOPED(level) == 9 && PD_SCOPED(count) == 8 && PD_SCOPED(wide) == -5);
  CHECK(PD_SCOPED(size) == 64u << 20 && PD_SCOPED(rate) == 0.25);
  CHECK_STR(PD_SCOPED(mode), "best");
  CHECK_STR(PD_SCOPED(items), "x,\"y,z\"");
  pop(scope);
  CHECK(!PD_SCOPED(on) && PD_SCOPED(level) == 6 && PD_SCOPED(count) == 7);
  CHECK(PD_SCOPED(wide) == INT64_MIN && PD_SCOPED(size) == UINT64_MAX && PD_SCOPED(rate) == 0.5);
  CHECK_STR(PD_SCOPED(mode), "fast");
  CHECK_STR(PD_SCOPED(items), "a,b");
}

TEST(the_functions_of_a_handle_are_about_the_calling_thread) {
  pd_flag *flag = PD_SCOPED_FLAG(level);
  int32_t value;
  pd_scope scope = push_level("9");
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 9);
  CHECK(pd_flag_get_int32(flag, &value, NULL) == PD_OK && value == 9);
  CHECK_STR(text_of(flag), "9");
  pd_flag_info info = flag_info(flag);
  CHECK(info.source == PD_SOURCE_SCOPE && info.scoped);
  CHECK(*(const int32_t *)pd_flag_get_address(flag) == 6);
  pop(scope);
  CHECK_STR(text_of(flag), "6");
}

TEST(the_history_begins_with_the_scopes_of_the_thread) {
  pd_flag *flag = PD_SCOPED_FLAG(level);
  pd_origin here = {PD_SOURCE_RUNTIME, 12, "train.py", 0};
  pd_assignment item = {.flag = flag, .text = "8"};
  pd_scope inner, outer = push_level("9");
  CHECK_OK(pd_scope_push(&item, 1, &here, NULL, &inner, &err));
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.value.i64 == 8 && entry.origin.source == PD_SOURCE_SCOPE && entry.origin.line == 12);
  CHECK_STR(entry.origin.place, "train.py");
  entry = flag_entry(flag, 1);
  CHECK(entry.value.i64 == 9 && entry.origin.source == PD_SOURCE_SCOPE);
  entry = flag_entry(flag, 2);
  CHECK(entry.value.i64 == 6 && entry.origin.source == PD_SOURCE_DEFAULT);
  CHECK(pd_flag_get_entry(flag, 3, &entry, NULL) == PD_ERR_ARGUMENT);
  pop(inner);
  pop(outer);
}

TEST(scopes_nest_and_end_in_any_order) {
  pd_scope first = push_level("2"), second = push_level("3"), third = push_level("4");
  pop(second);
  CHECK(PD_SCOPED(level) == 4);
  pop(third);
  CHECK(PD_SCOPED(level) == 2);
  third = push_level("5");
  pop(first);
  CHECK(PD_SCOPED(level) == 5);
  pop(third);
  CHECK(PD_SCOPED(level) == 6);
  CHECK_STATUS(pd_scope_pop(9999, &err), PD_ERR_ARGUMENT,
               "scope 9999: expected one that is open in a thread");
}

TEST(a_scope_that_lacks_a_flag_lets_the_value_below_through) {
  pd_scope first = push_level("2"), second = push(PD_SCOPED_FLAG(rate), "0.75");
  CHECK(PD_SCOPED(level) == 2 && PD_SCOPED(rate) == 0.75);
  pop(first);
  CHECK(PD_SCOPED(level) == 6 && PD_SCOPED(rate) == 0.75);
  pop(second);
}

TEST(a_scope_is_checked_as_a_batch_and_opens_whole_or_not_at_all) {
  pd_scope scope;
  pd_error_list *errors = pd_error_list_new();
  pd_assignment items[] = {{PD_SCOPED_FLAG(mode), "best", 0, {0}},
                           {PD_SCOPED_FLAG(level), "10", 0, {0}},
                           {PD_SCOPED_FLAG(rate), "x", 0, {0}}};
  CHECK_STATUS(pd_scope_push(items, 3, NULL, errors, &scope, &err), PD_ERR_RANGE,
               "level=10: expected an integer in [1, 9]");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK_STR(PD_SCOPED(mode), "fast");
  pd_error_list_free(errors);
}

TEST(a_flag_that_is_not_scoped_is_refused_and_the_message_says_how_to_declare_it) {
  pd_flag *flag = find_flag("plain");
  pd_scope scope;
  pd_assignment item = {.flag = flag, .text = "5"};
  CHECK_STATUS(pd_scope_push(&item, 1, NULL, NULL, &scope, &err), PD_ERR_TYPE,
               "plain: only scoped flags have values of one thread or task: define it by "
               "PD_DEFINE_SCOPED_int32, or in Python by define(..., scoped=True)");
}

TEST(an_assignment_is_for_the_process) {
  pd_flag *flag = PD_SCOPED_FLAG(level);
  pd_scope scope = push_level("9");
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK(PD_SCOPED(level) == 9 && on_another_thread() == 3);
  pop(scope);
  CHECK(PD_SCOPED(level) == 3);
}

static char warned[1024];
static pd_warning warned_kind;
static int warnings;
static void keep_warning(const char *message, pd_warning kind, void *context) {
  (void)context;
  snprintf(warned, sizeof warned, "%s", message);
  warned_kind = kind;
  warnings++;
}

TEST(an_assignment_that_a_scope_hides_from_its_author_is_reported_once) {
  pd_flag *flag = PD_SCOPED_FLAG(level);
  pd_origin here = {PD_SOURCE_SCOPE, 12, "train.py", 0};
  pd_assignment item = {.flag = flag, .text = "8"};
  pd_scope scope;
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  CHECK_OK(pd_scope_push(&item, 1, &here, NULL, &scope, &err));
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  CHECK_STR(warned, "level: was set for the process, but this thread goes on with the value of its "
                    "scope (train.py:12)");
  CHECK(warned_kind == PD_WARNING_HIDDEN && warnings == 1);
  CHECK_OK(pd_flag_set_int32(flag, 4, &err));
  CHECK(warnings == 1);
  pop(scope);
  CHECK_OK(pd_flag_set_int32(flag, 5, &err));
  CHECK(warnings == 1);
}

static void *set_level(void *text) {
  CHECK(pd_flag_set_by_name("level", text, NULL) == PD_OK);
  return NULL;
}

TEST(an_assignment_of_another_thread_is_not_reported) {
  CHECK_OK(pd_warning_handle(keep_warning, NULL, &err));
  pd_scope scope = push_level("9");
  finish(start(set_level, "3"));
  CHECK(warnings == 0 && PD_SCOPED(level) == 9);
  pop(scope);
}

TEST(a_scope_outranks_an_override) {
  pd_scope scope = push_level("9");
  pd_override over = push_override(PD_SCOPED_FLAG(level), "2");
  CHECK(PD_SCOPED(level) == 9 && on_another_thread() == 2);
  pop(scope);
  CHECK(PD_SCOPED(level) == 2);
  CHECK_OK(pd_override_pop(over, &err));
}

/* ---- Captured contexts ---- */

static void *level_attached(void *context) {
  pd_scope attached;
  CHECK(pd_scope_attach(context, &attached, NULL) == PD_OK);
  int level = PD_SCOPED(level);
  CHECK(pd_scope_detach(attached, NULL) == PD_OK);
  CHECK(PD_SCOPED(level) == 6);
  return (void *)(intptr_t)level;
}

TEST(another_thread_attaches_what_one_captured) {
  pd_scope scope = push_level("9");
  pd_scope_context *context;
  CHECK_OK(pd_scope_capture(&context, &err));
  CHECK(finish(start(level_attached, context)) == (void *)9);
  pop(scope);
  CHECK(PD_SCOPED(level) == 6);
  CHECK(finish(start(level_attached, context)) == (void *)9); /* it keeps the value */
  pd_scope_release(context);
}

TEST(a_context_without_scopes_is_null_and_can_be_attached) {
  pd_scope_context *context = (pd_scope_context *)&err;
  CHECK_OK(pd_scope_capture(&context, &err));
  CHECK(!context);
  pd_scope attached, scope = push_level("9");
  CHECK_OK(pd_scope_attach(NULL, &attached, &err));
  CHECK(PD_SCOPED(level) == 6);
  CHECK_OK(pd_scope_detach(attached, &err));
  CHECK(PD_SCOPED(level) == 9);
  pop(scope);
  pd_scope_release(NULL);
}

TEST(scopes_that_were_opened_in_an_attached_context_end_with_it) {
  pd_scope attached;
  CHECK_OK(pd_scope_attach(NULL, &attached, &err));
  pd_scope scope = push_level("9");
  CHECK_OK(pd_scope_detach(attached, &err));
  CHECK(PD_SCOPED(level) == 6);
  CHECK(pd_scope_pop(scope, NULL) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_scope_detach(77, &err), PD_ERR_ARGUMENT,
               "attached context 77: expected one that is open in a thread");
}

TEST(contexts_are_detached_in_any_order) {
  pd_scope_context *two, *three;
  pd_scope scope = push_level("2"), first, second;
  CHECK_OK(pd_scope_capture(&two, &err));
  pop(scope);
  scope = push_level("3");
  CHECK_OK(pd_scope_capture(&three, &err));
  pop(scope);
  CHECK_OK(pd_scope_attach(two, &first, &err));
  CHECK_OK(pd_scope_attach(three, &second, &err));
  CHECK_OK(pd_scope_detach(first, &err));
  CHECK(PD_SCOPED(level) == 3);
  CHECK_OK(pd_scope_detach(second, &err));
  CHECK(PD_SCOPED(level) == 6);
  pd_scope_release(two);
  pd_scope_release(three);
}

TEST(a_scope_below_an_attached_context_can_end_meanwhile) {
  pd_scope scope = push_level("2"), attached;
  CHECK_OK(pd_scope_attach(NULL, &attached, &err));
  pop(scope);
  CHECK_OK(pd_scope_detach(attached, &err));
  CHECK(PD_SCOPED(level) == 6);
}

TEST(contexts_of_tasks_can_be_switched) {
  pd_scope_context *first, *second;
  pd_scope scope = push_level("2");
  CHECK_OK(pd_scope_switch(NULL, &first, &err));
  CHECK(PD_SCOPED(level) == 6);
  pd_scope other = push_level("3");
  CHECK_OK(pd_scope_switch(first, &second, &err));
  CHECK(PD_SCOPED(level) == 2);
  CHECK_OK(pd_scope_switch(second, &first, &err));
  CHECK(PD_SCOPED(level) == 3);
  pop(other);
  CHECK_OK(pd_scope_switch(first, &second, &err));
  CHECK(!second);
  pop(scope);
  CHECK(PD_SCOPED(level) == 6);
}

/* ---- Other threads, fork, exit ---- */

static pd_scope theirs;
static void *open_and_stop(void *text) {
  theirs = push_level(text);
  stop_here();
  return (void *)(intptr_t)PD_SCOPED(level);
}

TEST(a_scope_can_be_ended_by_another_thread) {
  begin();
  make_gate();
  pthread_t thread = start(open_and_stop, "9");
  wait_for(&inside);
  pop(theirs);
  sem_post(&leave);
  CHECK(finish(thread) == (void *)6);
  CHECK(pd_scope_pop(theirs, NULL) == PD_ERR_ARGUMENT);
}

TEST(the_scopes_of_a_thread_end_with_it) {
  begin();
  make_gate();
  pthread_t thread = start(open_and_stop, "9");
  wait_for(&inside);
  CHECK(FLAGS_level.find);
  sem_post(&leave);
  CHECK(finish(thread) == (void *)9);
  CHECK(!FLAGS_level.find);
  CHECK(pd_scope_pop(theirs, NULL) == PD_ERR_ARGUMENT);
}

TEST(a_forked_child_has_the_scopes_of_its_thread_alone) {
  begin();
  make_gate();
  pthread_t thread = start(open_and_stop, "9");
  wait_for(&inside);
  pd_scope scope = push_level("2");
  pid_t child = fork();
  if (!child) {
    CHECK(PD_SCOPED(level) == 2);
    pop(scope);
    CHECK(PD_SCOPED(level) == 6 && !FLAGS_level.find);
    CHECK(pd_scope_pop(theirs, NULL) == PD_ERR_ARGUMENT);
    _exit(0);
  }
  check_child(child);
  sem_post(&leave);
  CHECK(finish(thread) == (void *)9);
  pop(scope);
}

TEST(the_process_ends_with_open_scopes) {
  push_level("9");
  exit(PD_SCOPED(level) == 9 ? 0 : 1);
}

/* ---- Validators, unset, frozen, sensitive ---- */

static char seen[64];
static bool see(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(seen, sizeof seen, "%d %g %s", (int)entries[0]->value.i64, entries[1]->value.f64,
           pd_source_name(entries[0]->origin.source));
  if (entries[0]->value.i64 != 4) return true;
  snprintf(why, size, "expected another level");
  return false;
}

TEST(validators_see_the_values_that_the_thread_would_have) {
  pd_flag *flags[] = {PD_SCOPED_FLAG(level), PD_SCOPED_FLAG(rate)};
  CHECK_OK(pd_validator_add(flags, 2, see, NULL, NULL, NULL, &err));
  pd_scope outer = push(PD_SCOPED_FLAG(rate), "0.25"), scope = push_level("9");
  CHECK_STR(seen, "9 0.25 scope");
  CHECK_STATUS(try_level("4"), PD_ERR_REFUSED,
               "--level=4 (scope), --rate=0.25 (scope): expected another level");
  CHECK(PD_SCOPED(level) == 9);
  CHECK_OK(pd_flag_set_double(flags[1], 0.125, &err)); /* for the process */
  CHECK_STR(seen, "6 0.125 default");
  pop(scope);
  pop(outer);
}

TEST(a_frozen_flag_keeps_its_value_also_in_scopes) {
  CHECK_OK(pd_flag_freeze(PD_SCOPED_FLAG(level), &err));
  CHECK_STATUS(try_level("9"), PD_ERR_FROZEN, "level: is frozen");
}

TEST(an_optional_flag_can_have_no_value_in_a_scope) {
  pd_scope scope;
  pd_flag *flag = DEFINE(PD_TYPE_int32, "maybe", def.scoped = def.optional = true);
  CHECK_OK(pd_flag_set_int32(flag, 5, &err));
  CHECK_OK(pd_scope_push(&(pd_assignment){.flag = flag}, 1, NULL, NULL, &scope, &err));
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.unset && entry.origin.source == PD_SOURCE_SCOPE);
  pop(scope);
  entry = flag_entry(flag, 0);
  CHECK(!entry.unset && entry.value.i64 == 5);
}

static void collect(const char *text, size_t length, void *out) {
  size_t used = strlen(out);
  snprintf((char *)out + used, 8192 - used, "%.*s", (int)length, text);
}

TEST(flagfiles_have_the_values_of_the_process) {
  static char text[8192];
  CHECK_OK(pd_flag_set_int32(PD_SCOPED_FLAG(level), 3, &err));
  pd_scope scope = push_level("9");
  CHECK_OK(pd_report_flagfile(false, collect, text, &err));
  CHECK(strstr(text, "--level=3\n") && !strstr(text, "9"));
  pop(scope);
}

/* ---- Modules ---- */

static int level_in(const char *name, const char *function) {
  int (*read)(void);
  *(void **)&read = symbol_in(name, function);
  return read();
}
static int plugin_level(void) { return level_in("scoped", "scoped_level"); }

TEST(a_plugin_that_links_nothing_reads_the_value_of_the_thread) {
  pd_module *module = load_module("scoped");
  CHECK(plugin_level() == 6);
  pd_scope scope = push(find_flag("scoped_level"), "9");
  CHECK(plugin_level() == 9);
  pd_module *importer = load_module("scoped_importer"); /* also one that comes later */
  CHECK(level_in("scoped_importer", "imported_level") == 9);
  pop(scope);
  CHECK(plugin_level() == 6 && level_in("scoped_importer", "imported_level") == 6);
  CHECK_OK(pd_module_unload(importer, &err));
  CHECK_OK(pd_module_unload(module, &err));
}

TEST(a_value_in_a_scope_waits_while_the_module_of_its_flag_is_away) {
  pd_module *module = load_module("scoped");
  pd_flag *flag = find_flag("scoped_level");
  pd_scope scope = push(flag, "9");
  CHECK_OK(pd_module_unload(module, &err));
  if (LOADER_UNMAPS) CHECK(!is_defined("scoped_level"));
  CHECK_OK(pd_module_load(plugin_path("scoped"), NULL, &module, &err));
  CHECK(plugin_level() == 9);
  pop(scope);
  CHECK(plugin_level() == 6);
  CHECK_OK(pd_module_unload(module, &err));
}

TEST(a_scope_ends_while_the_module_of_its_flag_is_away) {
  pd_module *module = load_module("scoped");
  pd_scope scope = push(find_flag("scoped_level"), "9");
  CHECK_OK(pd_module_unload(module, &err));
  pop(scope);
  CHECK_OK(pd_module_load(plugin_path("scoped"), NULL, &module, &err));
  CHECK(plugin_level() == 6);
}

static pd_flag *define_scoped(pd_type type, int64_t max) {
  pd_flag_def def = definition(type, "again");
  def.scoped = true;
  if (max) def.max.i64 = max;
  return register_flag(&def);
}

TEST(a_new_definition_that_does_not_allow_the_value_of_a_scope_hides_it) {
  pd_flag *flag = define_scoped(PD_TYPE_int64, 0);
  pd_scope scope = push(flag, "9");
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(define_scoped(PD_TYPE_int64, 5) == flag);
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(define_scoped(PD_TYPE_string, 0) == flag);
  CHECK_STR(text_of(flag), "");
  CHECK_OK(pd_flag_unregister(flag, &err));
  define_scoped(PD_TYPE_int64, 0);
  CHECK_STR(text_of(flag), "9");
  pop(scope);
  CHECK_STR(text_of(flag), "0");
}

TEST(a_plain_import_of_a_scoped_flag_is_refused) {
  pd_module *module = load_module("scoped"), *other = NULL;
  CHECK(pd_module_load(plugin_path("scoped_plain_importer"), NULL, &other, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "'scoped_level' is scoped, defined in "));
  CHECK(strstr(err.message, "expected PD_IMPORT_SCOPED_int32"));
  CHECK_OK(pd_module_unload(module, &err));
}

TEST(the_mark_scoped_without_the_variable_of_a_scoped_flag_is_refused) {
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path("scoped_by_attribute"), NULL, &module, &err) == PD_ERR_ARGUMENT);
  CHECK(strstr(err.message,
               "definition of 'half_scoped': it is scoped, but its variable is that of "
               "a flag that isn't: expected PD_DEFINE_SCOPED_int32"));
}

TEST(a_flag_may_be_named_twice_in_a_scope_and_the_later_value_counts) {
  pd_scope scope;
  pd_flag *flag = PD_SCOPED_FLAG(level);
  pd_assignment items[] = {{flag, "2", 0, {0}}, {flag, "3", 0, {0}}};
  CHECK_OK(pd_scope_push(items, 2, NULL, NULL, &scope, &err));
  CHECK(PD_SCOPED(level) == 3);
  pop(scope);
  CHECK(PD_SCOPED(level) == 6);
}

TEST(a_thousand_scopes_nest) {
  static pd_scope scopes[1000];
  for (int i = 0; i < 1000; i++) scopes[i] = push_level(i % 2 ? "8" : "9");
  CHECK(PD_SCOPED(level) == 8);
  for (int i = 0; i < 1000; i += 2) pop(scopes[i]);
  CHECK(PD_SCOPED(level) == 8);
  for (int i = 999; i > 0; i -= 2) pop(scopes[i]);
  CHECK(PD_SCOPED(level) == 6 && !FLAGS_level.find);
}

/* ---- Many scopes ---- */

enum { DEEP = 20000 };

/* On the smallest stack that programs give to threads. */
static void *end_deep_scopes(void *unused) {
  static pd_scope deep[DEEP];
  for (int i = 0; i < DEEP; i++) deep[i] = push(PD_SCOPED_FLAG(wide), i % 2 ? "1" : "2");
  CHECK_OK(pd_scope_pop(deep[0], &err));
  CHECK_OK(pd_scope_pop(deep[DEEP / 2], &err));
  CHECK(PD_SCOPED(wide) == 1);
  CHECK_OK(pd_scope_pop(deep[DEEP - 1], &err));
  CHECK(PD_SCOPED(wide) == 2);
  return unused;
}

TEST(an_outer_scope_of_many_ends_on_a_small_stack) {
  pthread_attr_t small;
  pthread_t thread;
  CHECK(pthread_attr_init(&small) == 0 && pthread_attr_setstacksize(&small, 128 * 1024) == 0);
  CHECK(pthread_create(&thread, &small, end_deep_scopes, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
}

/* Each order of ending leaves the value of the innermost scope that is still open. */
TEST(scopes_that_end_in_any_order_leave_the_value_of_the_innermost_open_one) {
  enum { COUNT = 300 };
  pd_scope open[COUNT];
  bool ended[COUNT] = {false};
  char text[16];
  unsigned random = 1;
  for (int i = 0; i < COUNT; i++) {
    snprintf(text, sizeof text, "%d", i + 1);
    open[i] = push(PD_SCOPED_FLAG(wide), text);
  }
  for (int left = COUNT; left > 0; left--) {
    int at = 0, innermost = COUNT - 1;
    random = random * 1103515245 + 12345;
    for (int skip = (int)(random >> 16) % left; skip > 0 || ended[at]; at++) skip -= !ended[at];
    while (ended[innermost]) innermost--;
    CHECK(PD_SCOPED(wide) == innermost + 1);
    ended[at] = true;
    CHECK_OK(pd_scope_pop(open[at], &err));
  }
  CHECK(pd_scope_pop(open[0], &err) == PD_ERR_ARGUMENT);
}
