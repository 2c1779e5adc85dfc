/* Lists that grow with each use: which uses add up, and which replace one another. */
#include "check.h"

static pd_flag *flag, *other;

static void define_lists(void) {
  pd_flag_def def = growing_list("names");
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  def.name = "others";
  CHECK_OK(pd_flag_register(&def, &other, &err));
}

static void set_from(const pd_assignment *items, size_t count, pd_source source,
                     const char *place) {
  pd_origin origin = {source, 0, place, 0};
  CHECK_OK(pd_batch_set(items, count, &origin, NULL, &err));
}

TEST(uses_of_several_lists_add_up_for_each) {
  define_lists();
  pd_assignment items[] = {{flag, "a", 0, {0}}, {other, "x", 0, {0}}, {flag, "b", 0, {0}},
                           {flag, "c", 0, {0}}, {other, "y", 0, {0}}, {flag, "d,e", 0, {0}}};
  set_from(items, 6, PD_SOURCE_ARGV, NULL);
  CHECK_STR(text_of(flag), "a,b,c,d,e");
  CHECK_STR(text_of(other), "x,y");
}

static size_t count_entries(void) {
  size_t count = 0;
  pd_flag_entry entry = {.size = sizeof entry};
  while (pd_flag_get_entry(flag, count, &entry, NULL) == PD_OK) count++;
  return count;
}

TEST(uses_that_add_up_are_one_value) {
  define_lists();
  pd_assignment items[] = {{flag, "a", 0, {0}}, {flag, "b", 0, {0}}, {flag, "c", 0, {0}}};
  set_from(items, 3, PD_SOURCE_ARGV, NULL);
  CHECK(count_entries() == 2); /* and the default */
}

TEST(uses_in_one_file_add_up) {
  define_lists();
  pd_assignment items[] = {{flag, "a", 0, {0}}, {flag, "b", 0, {0}}};
  set_from(items, 2, PD_SOURCE_FILE, "a.conf");
  CHECK_STR(text_of(flag), "a,b");
}

TEST(uses_in_one_variable_add_up) {
  define_lists();
  pd_assignment items[] = {{flag, "a", 0, {0}}, {flag, "b", 0, {0}}};
  set_from(items, 2, PD_SOURCE_ENVIRONMENT, "APP_OPTIONS");
  CHECK_STR(text_of(flag), "a,b");
}

TEST(assignments_that_name_no_file_replace_one_another) {
  define_lists();
  pd_assignment items[] = {{flag, "a", 0, {0}}, {flag, "b", 0, {0}}};
  set_from(items, 2, PD_SOURCE_FILE, NULL);
  CHECK_STR(text_of(flag), "b");
  set_from(items, 2, PD_SOURCE_ENVIRONMENT, NULL);
  CHECK_STR(text_of(flag), "b");
  set_from(items, 2, PD_SOURCE_RUNTIME, "x.py");
  CHECK_STR(text_of(flag), "b");
}

TEST(a_value_that_is_no_text_replaces_and_is_replaced) {
  define_lists();
  pd_assignment typed[] = {{flag, NULL, PD_TYPE_string, {.str = "a"}}, {flag, "b", 0, {0}}};
  set_from(typed, 2, PD_SOURCE_ARGV, NULL);
  CHECK_STR(text_of(flag), "b");
  pd_assignment turned[] = {{flag, "a", 0, {0}}, {flag, NULL, PD_TYPE_string, {.str = "c"}}};
  set_from(turned, 2, PD_SOURCE_ARGV, NULL);
  CHECK_STR(text_of(flag), "c");
}

static pd_config *config;
static void add(const char *text, pd_type literal, const char *place) {
  pd_origin origin = {PD_SOURCE_FILE, 1, place, 0};
  CHECK_OK(pd_config_add(config, "names", text, literal, &origin, &err));
}
static const char *applied(void) {
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  pd_config_free(config);
  config = config_of(PD_SOURCE_FILE);
  return text_of(flag);
}

TEST(values_of_several_files_and_of_structured_ones_replace_one_another) {
  define_lists();
  config = config_of(PD_SOURCE_FILE);
  add("a", 0, "a.conf");
  add("b", 0, "b.conf");
  CHECK_STR(applied(), "b");
  add("a", 0, "a.conf");
  add("c", 0, NULL);
  CHECK_STR(applied(), "c");
  add("a", 0, NULL);
  add("d", 0, "a.conf");
  CHECK_STR(applied(), "d");
  add("a", PD_TYPE_string, "a.conf");
  add("e", PD_TYPE_string, "a.conf");
  CHECK_STR(applied(), "e");
  add("a", PD_TYPE_string, "a.conf");
  add("f", 0, "a.conf");
  CHECK_STR(applied(), "f");
  add("a", 0, "a.conf");
  add("g", PD_TYPE_string, "a.conf");
  CHECK_STR(applied(), "g");
  add("a", 0, "a.conf");
  add("h", 0, "a.conf");
  CHECK_STR(applied(), "a,h");
  pd_config_free(config);
}

TEST(uses_add_up_also_around_those_of_a_file) {
  define_lists();
  config = config_of(PD_SOURCE_FILE);
  add("a", 0, "a.conf");
  add("b", 0, "b.conf");
  add("c", 0, "a.conf");
  CHECK_STR(applied(), "a,c");
  pd_config_free(config);
}

TEST(a_list_that_is_closed_after_startup_does_not_grow) {
  flag = DEFINE(PD_TYPE_string, "names", def.list = PD_TYPE_string,
                def.multi = def.startup_only = true);
  CHECK_OK(parse_line("--names=a --names=b", NULL));
  CHECK_STR(text_of(flag), "a,b");
  pd_assignment items[] = {{flag, "a,b", 0, {0}}, {flag, "a,b", 0, {0}}};
  set_from(items, 2, PD_SOURCE_ARGV, NULL);
  CHECK_STR(text_of(flag), "a,b");
}

TEST(a_retired_list_does_not_grow) {
  pd_flag_def def = growing_list("names");
  def.retired = "since 2.0";
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  pd_assignment items[] = {{flag, "a", 0, {0}}, {flag, "b", 0, {0}}};
  set_from(items, 2, PD_SOURCE_ARGV, NULL);
  CHECK_STR(text_of(flag), "");
}
