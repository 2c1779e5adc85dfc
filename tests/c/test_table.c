/* Functions that the library keeps to itself, compiled in.
 *
 * Built with: -I$SOURCES $SOURCES/base/table.c $SOURCES/base/hash.c
 */
#include "check.h"

#include <base/hash.h>
#include <base/table.h>

/* ---- Hashes ---- */

static uint32_t hash_by(uint64_t first, uint64_t second, const char *text) {
  pd__hash_seed((const uint64_t[2]){first, second});
  return pd__hash_text(text, strlen(text));
}

TEST(each_word_of_the_seed_changes_the_hash) {
  uint32_t none = hash_by(0, 0, "a"), first = hash_by(1, 0, "a"), second = hash_by(0, 2, "a");
  CHECK(none != first && none != second && first != second);
}

/* Every byte counts, at every place of texts shorter and longer than a block. */
TEST(texts_that_differ_in_one_byte_have_other_hashes) {
  char text[220];
  pd__hash_seed((const uint64_t[2]){3, 5});
  memset(text, 'x', sizeof text);
  for (size_t length = 1; length <= sizeof text; length++) {
    uint32_t whole = pd__hash_text(text, length);
    CHECK(pd__hash_text(text, length - 1) != whole);
    for (size_t at = 0; at < length; at++) {
      text[at] = 'y';
      CHECK(pd__hash_text(text, length) != whole);
      text[at] = 'x';
    }
  }
}

/* Of numbered names as of others: in each half of the slots there are about as many. */
TEST(numbered_names_spread_over_all_slots) {
  enum { SLOTS = 1024, NAMES = 64 * SLOTS };
  static int taken[SLOTS];
  char name[24];
  pd__hash_seed((const uint64_t[2]){7, 11});
  for (int i = 0; i < NAMES; i++) {
    int length = snprintf(name, sizeof name, "flag_%05d_x", i);
    taken[pd__hash_text(name, (size_t)length) % SLOTS]++;
  }
  for (int i = 0; i < SLOTS; i++) CHECK(taken[i] > 16 && taken[i] < 160);
}

/* ---- Tables ---- */

/* Items that have their own number as key; a key's hash is one of a few, or its own. */
static uint32_t spread;
static uint32_t hash_of(uint32_t key) { return key % spread; }
static bool same_key(uint32_t item, const void *key) { return item == *(const uint32_t *)key; }

static bool has(const pd__table *table, uint32_t key) {
  return pd__table_find(table, hash_of(key), same_key, &key) == key;
}

static void add(pd__table *table, uint32_t key) {
  CHECK(pd__table_reserve(table, 1));
  pd__table_add(table, hash_of(key), key);
}

static void free_table(pd__table *table) {
  free(table->current.slots);
  free(table->previous.slots);
}

TEST(nothing_is_found_in_an_empty_table) {
  pd__table table = {.count = 0};
  spread = 1;
  CHECK(!has(&table, 1));
}

TEST(all_items_are_found_while_the_table_grows) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  for (uint32_t key = 1; key <= 1500; key++) {
    add(&table, key);
    for (uint32_t other = 1; other <= 1501; other++) CHECK(has(&table, other) == (other <= key));
  }
  free_table(&table);
}

TEST(items_of_one_hash_are_told_apart) {
  pd__table table = {.count = 0};
  spread = 2;
  for (uint32_t key = 1; key <= 300; key++) add(&table, key);
  for (uint32_t key = 1; key <= 310; key++) CHECK(has(&table, key) == (key <= 300));
  free_table(&table);
}

/* A model of a byte for each key says what must be found. */
static void come_and_go(uint32_t hashes, uint32_t keys, uint32_t steps) {
  pd__table table = {.count = 0};
  unsigned char *there = calloc(keys + 1, 1);
  uint64_t random = 1;
  size_t count = 0;
  spread = hashes;
  for (uint32_t step = 0; step < steps; step++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    uint32_t key = 1 + (uint32_t)(random >> 33) % keys;
    CHECK(has(&table, key) == there[key]);
    if (there[key]) {
      pd__table_remove(&table, hash_of(key), key);
      count--;
    } else {
      add(&table, key);
      count++;
    }
    there[key] = !there[key];
    CHECK(table.count == count);
    CHECK(has(&table, key) == there[key]);
  }
  for (uint32_t key = 1; key <= keys; key++) CHECK(has(&table, key) == there[key]);
  free(there);
  free_table(&table);
}

TEST(items_that_come_and_go_are_found_while_they_are_there) {
  come_and_go(UINT32_MAX, 60000, 400000);
  come_and_go(1000, 3000, 100000);
  come_and_go(1, 40, 20000);
}

/* Up to what it may have: probes go over the end of the array, and end at a free slot. */
TEST(items_are_found_in_a_table_that_is_full) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  CHECK(pd__table_reserve(&table, 700));
  size_t capacity = table.current.capacity;
  uint32_t most = (uint32_t)pd__table_limit(capacity);
  for (uint32_t key = 1; key <= most; key++) {
    CHECK(pd__table_reserve(&table, 1));
    pd__table_add(&table, (uint32_t)capacity - 3, key); /* all of one hash, near the end */
  }
  CHECK(table.current.capacity == capacity && table.count == most);
  spread = 1;
  for (uint32_t key = 1; key <= most; key++) {
    CHECK(pd__table_find(&table, (uint32_t)capacity - 3, same_key, &key) == key);
  }
  CHECK(!has(&table, most + 1));
  for (uint32_t key = 1; key <= most; key++) {
    pd__table_prefetch(&table, (uint32_t)capacity - 3);
    pd__table_remove(&table, (uint32_t)capacity - 3, key);
    CHECK(pd__table_find(&table, (uint32_t)capacity - 3, same_key, &key) == 0);
  }
  free_table(&table);
}

/* Of each size, also where many have been removed: the new array never fills before the old one is
 * empty, since each addition moves some slots. */
TEST(a_table_of_any_size_has_moved_before_it_is_full) {
  spread = UINT32_MAX;
  for (uint32_t kept = 1; kept < 3000; kept = kept * 5 / 4 + 1) {
    pd__table table = {.count = 0};
    for (uint32_t key = 1; key <= 20 * kept + 200; key++) {
      CHECK(pd__table_reserve(&table, 1));
      CHECK(table.used + table.left < pd__table_limit(table.current.capacity));
      pd__table_add(&table, hash_of(key), key);
      if (key > kept) pd__table_remove(&table, hash_of(key - kept), key - kept);
    }
    CHECK(table.count == kept);
    for (uint32_t key = 1; key <= kept; key++) CHECK(has(&table, 20 * kept + 200 - kept + key));
    free_table(&table);
  }
}

TEST(a_fetch_of_an_empty_table_does_nothing) {
  pd__table table = {.count = 0};
  pd__table_prefetch(&table, 5);
  CHECK(table.count == 0);
}

TEST(a_table_stays_small_where_as_many_items_go_as_come) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  for (uint32_t key = 1; key <= 100000; key++) {
    add(&table, key);
    if (key > 20) pd__table_remove(&table, hash_of(key - 20), key - 20);
  }
  CHECK(table.count == 20);
  CHECK(table.current.capacity <= 128);
  free_table(&table);
}

TEST(one_addition_moves_a_few_items) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  for (uint32_t key = 1; key <= 200000; key++) {
    size_t left = table.left;
    add(&table, key);
    CHECK(left <= table.left + 16);
  }
  free_table(&table);
}

TEST(what_was_reserved_takes_no_memory_later) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  for (uint32_t key = 1; key <= 100; key++) add(&table, key);
  CHECK(pd__table_reserve(&table, 10000));
  const pd__table_slot *slots = table.current.slots;
  for (uint32_t key = 101; key <= 10100; key++) add(&table, key);
  CHECK(table.current.slots == slots);
  CHECK(pd__table_reserve(&table, 10) && pd__table_reserve(&table, 100000));
  for (uint32_t key = 1; key <= 10101; key++) CHECK(has(&table, key) == (key <= 10100));
  free_table(&table);
}

TEST(more_items_than_fit_are_refused) {
  pd__table table = {.count = 0};
  spread = UINT32_MAX;
  CHECK(!pd__table_reserve(&table, SIZE_MAX));
  CHECK(!pd__table_reserve(&table, (size_t)PD__TABLE_MOST + 1));
  add(&table, 7);
  CHECK(!pd__table_reserve(&table, PD__TABLE_MOST));
  CHECK(has(&table, 7));
  free_table(&table);
}
