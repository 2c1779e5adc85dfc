/* The images that the registry knows, by path and by address. These ones are made up.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <registry/image.h>

enum { K = 0x1000 };

static pd_module *add(const char *path, uintptr_t low, uintptr_t high) {
  pd__platform_image image = {.path = path, .low = low, .high = high};
  pd__platform_lock();
  pd_module *module = pd__module_add(&image);
  pd__platform_unlock();
  CHECK(module && module->present && module->low == low && module->high == high);
  CHECK_STR(module->path, path);
  return module;
}

static pd_module *find(uintptr_t address) {
  pd__platform_lock();
  pd_module *found = pd__module_find_at((const void *)address);
  pd__platform_unlock();
  return found;
}

TEST(images_that_touch_are_told_apart) {
  pd_module *b = add("b", 2 * K, 3 * K), *a = add("a", 1 * K, 2 * K), *d = add("d", 5 * K, 6 * K),
            *c = add("c", 3 * K, 4 * K);
  CHECK(!find(0) && !find(K - 1));
  CHECK(find(K) == a && find(2 * K - 1) == a);
  CHECK(find(2 * K) == b && find(3 * K - 1) == b);
  CHECK(find(3 * K) == c && find(4 * K - 1) == c);
  CHECK(!find(4 * K) && !find(5 * K - 1));
  CHECK(find(5 * K) == d && find(6 * K - 1) == d && !find(6 * K));
}

TEST(an_image_without_a_record_ends_where_another_one_appears) {
  pd_module *a = add("a", 1 * K, 2 * K), *b = add("b", 2 * K, 3 * K), *c = add("c", 3 * K, 4 * K),
            *d = add("d", 4 * K, 5 * K);
  pd_module *over = add("over", 2 * K + 1, 4 * K);
  CHECK(a->present && !b->present && !c->present && d->present);
  CHECK(find(2 * K - 1) == a && !find(2 * K) && find(2 * K + 1) == over);
  CHECK(find(4 * K - 1) == over && find(4 * K) == d);
}

TEST(an_image_with_a_record_says_itself_when_it_leaves) {
  pd_module *a = add("a", 1 * K, 2 * K);
  a->has_record = true;
  add("over", 1 * K, 2 * K);
  CHECK(a->present);
}

TEST(an_image_that_comes_again_has_its_node_again) {
  pd_module *first = add("first", 1 * K, 2 * K), *a = add("a", 5 * K, 6 * K);
  uint32_t generation = a->generation, number = a->number;
  a->registrations = 3;
  a->opened = a->pinned = a->closing = 1;
  a->handle = a->reference = a;
  a->has_record = true;
  pd__module_mark_gone(a);
  CHECK(!a->present && !a->has_record && !a->opened && !a->pinned && !a->closing && !a->handle);
  CHECK(a->generation != generation && !find(5 * K));
  generation = a->generation;
  CHECK(add("a", 3 * K, 4 * K) == a && a->number == number && a->generation != generation);
  CHECK(a->registrations == 0 && !a->reference);
  CHECK(find(3 * K) == a && !find(5 * K) && find(1 * K) == first);
  CHECK(add("a", 7 * K, 8 * K) != a); /* at the same time */
  CHECK(find(3 * K) == a && find(7 * K) != a);
  pd_module *other = add("b", 5 * K, 6 * K);
  CHECK(find(5 * K) == other);
}

TEST(images_are_visited_in_the_order_of_their_numbers) {
  pd_module *of[3] = {add("c", 9 * K, 10 * K), add("a", 1 * K, 2 * K), add("b", 4 * K, 5 * K)};
  pd_module *at = NULL;
  for (int i = 0; i < 3; i++) {
    at = pd__module_next(at);
    CHECK(at == of[i] && at->number == (uint32_t)i + 1);
  }
  CHECK(!pd__module_next(at));
}

TEST(many_images_are_found_by_each_of_their_addresses) {
  enum { MANY = 200 };
  static pd_module *modules[MANY];
  char path[16];
  for (uintptr_t i = 0; i < MANY; i++) {
    uintptr_t place = 1 + i * 77 % MANY; /* in another order */
    snprintf(path, sizeof path, "image %d", (int)place);
    modules[place - 1] = add(path, 2 * place * K, (2 * place + 1) * K);
  }
  for (uintptr_t place = 1; place <= MANY; place++) {
    CHECK(find(2 * place * K) == modules[place - 1]);
    CHECK(find((2 * place + 1) * K - 1) == modules[place - 1]);
    CHECK(!find((2 * place + 1) * K) && !find(2 * place * K - 1));
  }
}

TEST(what_is_gone_leaves_its_addresses_to_others) {
  pd_module *a = add("a", 1 * K, 2 * K), *b = add("b", 2 * K, 3 * K);
  pd__module_mark_gone(a);
  CHECK(!find(1 * K) && find(2 * K) == b);
  pd_module *wide = add("wide", 1 * K, 2 * K);
  CHECK(find(1 * K) == wide && find(2 * K) == b);
  CHECK(add("a", 8 * K, 9 * K) == a && find(8 * K) == a && find(1 * K) == wide);
}

TEST(a_module_is_known_to_be_kept_as_long_as_it_stays_where_it_is) {
  pd_module *a = add("a", 1 * K, 2 * K);
  a->permanent = true;
  pd__module_mark_gone(a);
  CHECK(add("a", 1 * K, 2 * K) == a && a->permanent);
  pd__module_mark_gone(a);
  CHECK(add("a", 3 * K, 4 * K) == a && !a->permanent);
}

TEST(the_program_is_found_and_added_once) {
  static int inside;
  pd_module *program = pd__module_find_or_add(&inside);
  CHECK(program && program->present && program->stays);
  CHECK(pd__module_find_or_add(&inside) == program &&
        pd__module_add_registration((uintptr_t)&inside) == program);
  CHECK(program->registrations == 0 && !program->reference);
  CHECK(!pd__module_find_or_add(NULL) && !pd__module_add_registration(0) &&
        !pd__module_add_registration(16));
}

TEST(an_image_that_was_the_last_one_comes_again_above_all_others) {
  add("a", 11 * K, 12 * K);
  pd_module *b = add("b", 12 * K, 13 * K), *over = add("over", 11 * K, 13 * K);
  CHECK(!b->present);
  pd__module_mark_gone(over);
  CHECK(add("over", 1 * K, 2 * K) == over);
  CHECK(add("b", 14 * K, 15 * K) == b);
  CHECK(find(1 * K) == over && find(14 * K) == b);
}

TEST(an_image_that_comes_again_above_others_leaves_its_former_place) {
  pd_module *a = add("a", 1 * K, 2 * K), *b = add("b", 5 * K, 6 * K);
  pd__module_mark_gone(a);
  CHECK(add("a", 8 * K, 9 * K) == a);
  CHECK(!find(1 * K) && find(5 * K) == b && find(8 * K) == a);
}
