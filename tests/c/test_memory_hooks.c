/* Hooks and scopes, and changes that call hooks, again and again, with the first, the second, ...
 * allocation failing.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "failing.h"

static pd_flag *a, *b;
static int asked, told, watched;
static pd_hook hook;

static void define_two(void) {
  a = define_flag(PD_TYPE_int64, "a");
  b = define_flag(PD_TYPE_int64, "b");
}

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)why, (void)size;
  asked += !context;
  return entries[0]->value.i64 < 100;
}

static void count_change(pd_flag *flag, void *context) { told += flag && !context; }
static void count_watch(pd_flag *flag, void *context) { watched += flag && !context; }

static void remove_hook(void) { CHECK_OK(pd_hook_remove(hook, &err)); }

static pd_status set_a(int64_t value) { return pd_flag_set_int64(a, value, &err); }

/* ---- Adding hooks ---- */

static void check_no_hook(void) {
  pd_error kept = err;
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK_OK(set_a(200));
  CHECK_OK(pd_flag_reset(a, &err));
  CHECK(asked == 0 && told == 0);
  err = kept;
}

static pd_status add_validator(void) {
  pd_flag *both[] = {a, b};
  return pd_validator_add(both, 2, is_small, NULL, NULL, &hook, &err);
}

static void check_validator(void) {
  CHECK(set_a(200) == PD_ERR_REFUSED && asked == 1);
  remove_hook();
  CHECK_OK(set_a(200));
}

TEST(a_validator_is_added_or_not) {
  run(&(scenario){define_two, add_validator, check_no_hook, check_validator}, 3);
}

static pd_status add_watcher(void) {
  return pd_watcher_add(a, count_change, NULL, NULL, &hook, &err);
}

static void check_watcher(void) {
  CHECK_OK(set_a(5));
  CHECK(told == 1);
  remove_hook();
  CHECK_OK(set_a(6));
  CHECK(told == 1);
}

TEST(a_watcher_is_added_or_not) {
  run(&(scenario){define_two, add_watcher, check_no_hook, check_watcher}, 2);
}

static pd_status add_group(void) {
  pd_flag *both[] = {a, b};
  return pd_group_add(PD_GROUP_ALL_OR_NONE, both, 2, &hook, &err);
}

static void check_group(void) {
  CHECK(set_a(5) == PD_ERR_REFUSED);
  remove_hook();
  CHECK_OK(set_a(5));
}

TEST(a_group_is_added_or_not) {
  run(&(scenario){define_two, add_group, check_no_hook, check_group}, 3);
}

/* ---- Changes that hooks see ---- */

enum { WATCHERS = 40 }; /* half of them of all flags */

static void define_watched(void) {
  a = DEFINE(PD_TYPE_int64, "a", def.watch = count_watch);
  b = define_flag(PD_TYPE_int64, "b");
  for (int i = 0; i < WATCHERS; i++) {
    CHECK_OK(pd_watcher_add(i % 2 ? a : NULL, count_change, NULL, NULL, NULL, &err));
  }
}

static pd_status set_both(void) {
  pd_assignment items[] = {{.flag = a, .text = "5"}, {.flag = b, .text = "6"}};
  pd_origin origin = {PD_SOURCE_FILE, 1, "a new place", 0};
  return pd_batch_set(items, 2, &origin, NULL, &err);
}

static void check_not_set(void) {
  CHECK_STR(text_of(a), "0");
  CHECK_STR(text_of(b), "0");
  CHECK(told == 0 && watched == 0);
}

static void check_set_and_told(void) {
  CHECK_STR(text_of(a), "5");
  CHECK_STR(text_of(b), "6");
  CHECK(told == WATCHERS / 2 * 3 && watched == 1);
}

TEST(watchers_are_notified_of_a_batch_or_it_is_not_set) {
  run(&(scenario){define_watched, set_both, check_not_set, check_set_and_told}, 2);
}

static void define_secret(void) { a = DEFINE(PD_TYPE_string, "key", def.sensitive = true); }

static pd_status set_secret(void) { return pd_flag_set_string(a, "hunter2", &err); }
static void check_no_secret(void) { CHECK_STR(text_of(a), ""); }
static void check_secret(void) { CHECK_STR(text_of(a), "hunter2"); }

TEST(a_secret_is_stored_or_not) {
  run(&(scenario){define_secret, set_secret, check_no_secret, check_secret}, 1);
}

static bool write_long(const char *text, void *context, pd_writer write, void *out, char *why,
                       size_t size) {
  (void)context, (void)why, (void)size;
  for (int i = 0; i < 2000; i++) write(text, strlen(text), out);
  return true;
}

static void define_checked(void) {
  a = DEFINE(PD_TYPE_string, "a", def.convert = write_long);
  b = define_flag(PD_TYPE_int64, "b");
  pd_flag *both[] = {b, a};
  CHECK_OK(pd_validator_add(both, 2, is_small, NULL, NULL, NULL, &err));
  CHECK_OK(pd_validator_add(&b, 1, is_small, NULL, NULL, NULL, &err));
}

static pd_status set_checked(void) {
  pd_assignment items[] = {{.flag = a, .text = "xyz"}, {.flag = b, .text = "6"}};
  return pd_batch_set(items, 2, NULL, NULL, &err);
}

static void check_nothing_set(void) {
  CHECK_STR(text_of(a), "");
  CHECK_STR(text_of(b), "0");
}

static void check_set(void) {
  const char *text;
  CHECK_OK(pd_flag_get_string(a, &text, &err));
  CHECK(strlen(text) == 6000);
  CHECK_STR(text_of(b), "6");
}

TEST(values_are_converted_and_validated_or_not_set) {
  run(&(scenario){define_checked, set_checked, check_nothing_set, check_set}, 5);
}

static pd_status set_long_batch(void) {
  static pd_assignment items[300];
  for (int i = 0; i < 300; i++) {
    items[i] = (pd_assignment){.flag = i % 30 ? b : a, .text = i % 30 ? "6" : "xyz"};
  }
  return pd_batch_set(items, 300, NULL, NULL, &err);
}

TEST(a_long_batch_is_converted_and_validated_or_not_set) {
  run(&(scenario){define_checked, set_long_batch, check_nothing_set, check_set}, 5);
}

static void define_list(void) {
  pd_flag_def def = growing_list("names");
  CHECK_OK(pd_flag_register(&def, &a, &err));
}

static pd_status add_items(void) {
  static char item[400];
  pd_assignment items[20];
  pd_origin argv = {PD_SOURCE_ARGV, 1, NULL, 0};
  memset(item, 'x', sizeof item - 1);
  for (int i = 0; i < 20; i++) items[i] = (pd_assignment){.flag = a, .text = item};
  return pd_batch_set(items, 20, &argv, NULL, &err);
}

static void check_no_items(void) { CHECK_STR(text_of(a), ""); }
static void check_items(void) {
  const char *text;
  CHECK_OK(pd_flag_get_string(a, &text, &err));
  CHECK(strlen(text) == 20 * 400 - 1);
}

TEST(a_list_grows_by_all_items_or_by_none) {
  run(&(scenario){define_list, add_items, check_no_items, check_items}, 3);
}

/* ---- Scopes ---- */

enum { OPEN = 12 };
static pd_scope scopes[OPEN], added, attached;
static pd_scope_context *captured;

static void define_scoped(void) {
  pd_flag_def def = definition(PD_TYPE_int64, "a");
  def.scoped = true;
  CHECK_OK(pd_flag_register(&def, &a, &err));
  def.name = "b";
  CHECK_OK(pd_flag_register(&def, &b, &err));
}

static void check_values(const char *of_a, const char *of_b) {
  CHECK_STR(text_of(a), of_a);
  CHECK_STR(text_of(b), of_b);
}

static pd_status push_values(const char *of_a, const char *of_b, pd_scope *out) {
  pd_assignment items[] = {{.flag = a, .text = of_a}, {.flag = b, .text = of_b}};
  return pd_scope_push(items, 2, NULL, NULL, out, &err);
}

static void open_many(void) {
  char text[16];
  define_scoped();
  for (int i = 0; i < OPEN; i++) {
    snprintf(text, sizeof text, "%d", i + 1);
    CHECK_OK(push_values(text, text, &scopes[i]));
  }
}

static void end_many(void) {
  for (int i = 0; i < OPEN; i++) {
    if (scopes[i]) CHECK_OK(pd_scope_pop(scopes[i], &err));
  }
  check_values("0", "0");
}

static pd_status push_first(void) { return push_values("5", "6", &added); }
static void check_no_values(void) { check_values("0", "0"); }
static void check_first(void) {
  check_values("5", "6");
  CHECK_OK(pd_scope_pop(added, &err));
  check_values("0", "0");
}

TEST(the_first_scope_of_a_thread_is_opened_whole_or_not_at_all) {
  run(&(scenario){define_scoped, push_first, check_no_values, check_first}, 4);
}

static pd_status push_one_more(void) { return push_values("-5", "-6", &added); }
static void check_former(void) { check_values("12", "12"); }
static void check_one_more(void) {
  check_values("-5", "-6");
  CHECK_OK(pd_scope_pop(added, &err));
  check_values("12", "12");
  end_many();
}

TEST(a_scope_above_many_is_opened_whole_or_not_at_all) {
  run(&(scenario){open_many, push_one_more, check_former, check_one_more}, 4);
}

static pd_status pop_one(int at) {
  pd_status status = pd_scope_pop(scopes[at], &err);
  if (status == PD_OK) scopes[at] = 0;
  return status;
}
static pd_status pop_last(void) { return pop_one(OPEN - 1); }
static pd_status pop_middle(void) { return pop_one(OPEN / 2); }
static void check_without_last(void) {
  check_values("11", "11");
  end_many();
}
static void check_without_middle(void) {
  check_values("12", "12");
  end_many();
}

TEST(a_scope_ends_in_all_flags_or_in_none) {
  run(&(scenario){open_many, pop_last, check_former, check_without_last}, 2);
  run(&(scenario){open_many, pop_middle, check_former, check_without_middle}, 2);
}

static void attach_none(void) {
  open_many();
  CHECK_OK(pd_scope_attach(NULL, &attached, &err));
}
static void check_below(void) {
  CHECK_OK(pd_scope_detach(attached, &err));
  check_values("11", "11");
  end_many();
}

TEST(a_scope_below_an_attached_context_ends_or_not) {
  run(&(scenario){attach_none, pop_last, check_no_values, check_below}, 2);
}

static void capture_many(void) {
  open_many();
  CHECK_OK(pd_scope_capture(&captured, &err));
  end_many();
}
static pd_status attach(void) { return pd_scope_attach(captured, &attached, &err); }
static void check_attached(void) {
  check_values("12", "12");
  CHECK_OK(pd_scope_detach(attached, &err));
  pd_scope_release(captured);
  check_values("0", "0");
}

TEST(a_context_is_attached_or_not) {
  run(&(scenario){capture_many, attach, check_no_values, check_attached}, 1);
}
