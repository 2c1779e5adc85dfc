/* Functions of the registry with promises that the rest of the library doesn't use to the full.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <registry/change.h>
#include <registry/names.h>

TEST(a_name_of_no_bytes_is_none) {
  CHECK(!pd__name_is_valid("abc", 0) && pd__name_is_valid("abc", 3));
  CHECK(!pd__names_find("abc", 0));
}

TEST(an_info_is_filled_whatever_was_in_it) {
  pd_flag_info info;
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  static int64_t variable;
  pd_flag *other = DEFINE(PD_TYPE_int64, "other", def.cell = &variable);
  pd__platform_lock();
  memset(&info, 0x5a, sizeof info);
  CHECK(pd__flag_fill_info(flag, &info) && info.cells == 0);
  memset(&info, 0x5a, sizeof info);
  CHECK(pd__flag_fill_info(other, &info) && info.cells == 1);
  pd__platform_unlock();
  CHECK(!info.frozen && !info.sensitive && !info.optional && !info.owner);
  CHECK(info.source == PD_SOURCE_DEFAULT && info.generation == other->generation);
}

TEST(a_node_that_nothing_waits_for_is_given_to_another_name) {
  pd__platform_lock();
  pd_flag *first = pd__names_find_or_add("first", 5), *second = pd__names_find_or_add("second", 6);
  CHECK(first && second && first != second && pd__names_find("first", 5) == first);
  CHECK(pd__flag_ensure_extra(first) && first->extended);
  CHECK(pd__names_free_if_unused(first) && !pd__names_find("first", 5));
  CHECK(pd__names_free_if_unused(second) && !pd__names_find("second", 6));
  CHECK(!first->extra && !first->extended && !first->name && !pd__names_next(NULL));
  pd_flag *third = pd__names_find_or_add("third", 5), *fourth = pd__names_find_or_add("fourth", 6),
          *fifth = pd__names_find_or_add("fifth", 5);
  CHECK(third == second && fourth == first && fifth != first && fifth != second);
  CHECK(third->next_listed == 0 && pd__names_find("third", 5) == third);
  CHECK(pd__names_find("fourth", 6) == fourth && pd__names_find("fifth", 5) == fifth);
  pd__platform_unlock();
}

TEST(a_node_is_kept_while_something_waits_for_its_name) {
  pd__platform_lock();
  pd_flag *node = pd__names_find_or_add("waiting", 7);
  CHECK(pd__flag_ensure_extra(node));
  node->extra->references = 1;
  CHECK(!pd__names_free_if_unused(node));
  node->extra->references = 0;
  node->known = true;
  CHECK(!pd__names_free_if_unused(node));
  node->known = false;
  CHECK(pd__names_free_if_unused(node));
  pd__platform_unlock();
}

TEST(a_name_that_cannot_be_stored_is_not_found_any_more) {
  pd__platform_lock();
  pd_flag *node = pd__names_find_or_add("abandoned", 9);
  pd__names_clear_name(node);
  CHECK(!pd__names_find("abandoned", 9) && !pd__names_find("", 0));
  CHECK(!pd__names_free_if_unused(node));
  CHECK(pd__names_find_or_add("abandoned", 9) != node);
  pd__platform_unlock();
}

TEST(nodes_are_met_by_their_index) {
  pd_flag *flags[3] = {define_flag(PD_TYPE_bool, "a"), define_flag(PD_TYPE_bool, "b"),
                       define_flag(PD_TYPE_bool, "c")};
  uint32_t count = pd__names_count();
  CHECK(count >= 3 && !pd__names_get_node(count) && pd__names_get_node(count - 1));
  for (int i = 0; i < 3; i++) CHECK(pd__names_get_node(flags[i]->index) == flags[i]);
  pd__names_append_to_list(flags[0]);
  pd__names_append_to_list(flags[2]); /* again, which changes nothing */
  CHECK(pd_flag_next(NULL) == flags[0] && pd_flag_next(flags[0]) == flags[1]);
  CHECK(pd_flag_next(flags[1]) == flags[2] && !pd_flag_next(flags[2]));
}

TEST(marks_of_visits_are_given_once) {
  pd__platform_lock();
  uint32_t first = pd__names_reserve_visit_marks(3), next = pd__next_visit_mark();
  CHECK(next == first + 3 && pd__next_visit_mark() == next + 1);
  pd__last_visit_mark = UINT32_MAX - 3;
  CHECK(pd__names_reserve_visit_marks(3) == UINT32_MAX - 2 && pd__last_visit_mark == UINT32_MAX);
  CHECK(pd__next_visit_mark() == 1);
  pd__platform_unlock();
}

TEST(an_override_of_an_optional_flag_has_a_value_until_it_is_reset) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = true, def.default_value.i64 = 7);
  pd_override override = push_override(flag, "5");
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_OVERRIDE && !flag_entry(flag, 0).unset);
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(flag_entry(flag, 0).unset && flag_entry(flag, 0).value.i64 == 7);
  CHECK_STR(text_of(flag), "7");
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_OVERRIDE && !flag_entry(flag, 0).unset);
  CHECK_OK(pd_override_pop(override, &err));
  CHECK(flag_entry(flag, 0).unset);
}

TEST(a_reset_of_an_override_gives_the_default) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.default_value.i64 = 7);
  pd_override override = push_override(flag, "5");
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK_STR(text_of(flag), "7");
  CHECK_OK(pd_override_pop(override, &err));
}

TEST(the_default_that_a_flag_has_can_be_given_after_startup) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = def.startup_only = true,
                         def.default_value.i64 = 7);
  end_startup();
  CHECK_OK(pd_flag_set_default(flag, "7", &err));
  CHECK(pd_flag_set_int64(flag, 7, NULL) == PD_ERR_FROZEN); /* it has none */
}

/* Only the variables of scoped flags have more behind the value. */
TEST(what_is_behind_a_plain_variable_is_left_alone) {
  static struct {
    int64_t variable;
    unsigned char behind[64];
  } own;
  unsigned char as_before[sizeof own.behind];
  memset(as_before, 0x5a, sizeof as_before);
  memcpy(own.behind, as_before, sizeof as_before);
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.cell = &own.variable, def.scoped = false);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(own.variable == 5 && !memcmp(own.behind, as_before, sizeof as_before));
}

static pd_flag *add_with_hash(const char *name, uint32_t hash) {
  pd__hashed_key wanted = {name, (uint32_t)strlen(name), hash};
  pd_flag *node = pd__names_find_or_add_hashed(&wanted);
  CHECK(node && pd__names_find_or_add_hashed(&wanted) == node);
  return node;
}

TEST(names_of_one_hash_are_told_apart) {
  static const char *const names[] = {"abcd", "abc", "abce", "ab_d", "a", "abcde"};
  pd_flag *nodes[6];
  pd__platform_lock();
  for (int i = 0; i < 6; i++) {
    nodes[i] = add_with_hash(names[i], 7);
    for (int k = 0; k < i; k++) CHECK(nodes[i] != nodes[k]);
  }
  CHECK(add_with_hash("ab-d", 7) == nodes[3]);
  pd__platform_unlock();
}

static int told;
static void count_change(pd_flag *changed, void *context) { told += changed && !context; }

TEST(a_watcher_is_notified_of_a_value_of_another_type) {
  pd_flag_def def = definition(PD_TYPE_double, "level");
  pd_flag *flag = define_flag(PD_TYPE_int64, "level"); /* its 0 has the same bytes */
  CHECK_OK(pd_watcher_add(NULL, count_change, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  CHECK(told == 1);
}
