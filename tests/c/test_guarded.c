/* Each allocation of the library ends where memory ends, and is full of other bytes: a read or a
 * write behind it, or of what nobody has set, shows.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* ---- The allocator ---- */

enum { PAGE = 4096, MANY = 4096, FILLING = 0xa5 };

typedef struct guarded {
  char *start; /* of the mapping; the next page behind it can't be read */
  char *given;
  size_t size;
} guarded;

static guarded all[MANY];
static size_t count;

static size_t whole_pages(size_t size) { return (size + PAGE - 1) / PAGE * PAGE; }

/* Numbers need their alignment: so up to 15 bytes are behind some blocks. */
static void *allocate(size_t size) {
  size_t room = (size + 15) / 16 * 16, pages = whole_pages(room ? room : 16);
  char *start =
      mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED || count == MANY) abort();
  memset(start, FILLING, pages);
  mprotect(start + pages, PAGE, PROT_NONE);
  char *given = start + pages - room;
  all[count++] = (guarded){start, given, size};
  return given;
}

static guarded *find_block(const void *given) {
  for (size_t i = 0; i < count; i++) {
    if (all[i].given == given) return &all[i];
  }
  return NULL;
}

static void release(guarded *block) {
  size_t room = (block->size + 15) / 16 * 16, pages = whole_pages(room ? room : 16);
  for (size_t i = block->size; i < room; i++) CHECK((unsigned char)block->given[i] == FILLING);
  munmap(block->start, pages + PAGE);
  *block = all[--count];
}

void __real_free(void *given);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t items, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __wrap_free(void *given);

void *__wrap_malloc(size_t size) { return allocate(size); }

void *__wrap_calloc(size_t items, size_t size) {
  return memset(allocate(items * size), 0, items * size);
}

void *__wrap_realloc(void *old, size_t size) {
  void *grown = allocate(size);
  const guarded *before = old ? find_block(old) : NULL;
  if (!before) return grown;
  memcpy(grown, old, before->size < size ? before->size : size);
  __wrap_free(old);
  return grown;
}

void __wrap_free(void *given) {
  guarded *block = given ? find_block(given) : NULL;
  if (block) release(block);
  if (!block) __real_free(given);
}

/* ---- What is done with it ---- */

static pd_flag *a, *b, *text;
static int told;

static void define_three(void) {
  a = define_flag(PD_TYPE_int64, "a");
  b = define_flag(PD_TYPE_int64, "b");
  text = define_flag(PD_TYPE_string, "text");
}

static void count_change(pd_flag *flag, void *context) { told += flag && !context; }

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "expected a small number");
  return entries[0]->value.i64 < 100 && entries[1]->value.i64 < 100;
}

TEST(overrides_of_one_two_and_no_flags_are_popped) {
  pd_override overrides[3];
  define_three();
  pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = b, .text = "2"}};
  for (size_t i = 0; i < 3; i++) {
    CHECK_OK(pd_override_push(items, i, NULL, NULL, &overrides[i], &err));
  }
  for (size_t i = 0; i < 3; i++) CHECK_OK(pd_override_pop(overrides[i], &err));
  CHECK_STR(text_of(a), "0");
  CHECK_STR(text_of(b), "0");
}

TEST(hooks_of_one_and_two_flags_are_added_called_and_removed) {
  pd_hook hooks[4];
  define_three();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_watcher_add(a, count_change, NULL, NULL, &hooks[0], &err));
  CHECK_OK(pd_watcher_add(NULL, count_change, NULL, NULL, &hooks[1], &err));
  CHECK_OK(pd_validator_add(both, 2, is_small, NULL, NULL, &hooks[2], &err));
  CHECK_OK(pd_group_add(PD_GROUP_ALL_OR_NONE, both, 2, &hooks[3], &err));
  pd_assignment items[] = {{.flag = a, .text = "1"}, {.flag = b, .text = "200"}};
  CHECK_STATUS(pd_batch_set(items, 2, NULL, NULL, &err), PD_ERR_REFUSED,
               "--a=1 (run time), --b=200 (run time): expected a small number");
  CHECK_STATUS(pd_batch_set(items, 1, NULL, NULL, &err), PD_ERR_REFUSED,
               "--a, --b must be given together, or none of them; given: --a=1 (run time)");
  items[1].text = "2";
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(told == 3);
  for (size_t i = 0; i < 4; i++) CHECK_OK(pd_hook_remove(hooks[i], &err));
}

TEST(texts_of_a_sensitive_flag_are_stored_and_wiped_whole) {
  static const char *const texts[] = {"", "a", "of 15 letters, k", "of 16 letters, ke", "of 32"};
  pd_flag *key = DEFINE(PD_TYPE_string, "key", def.sensitive = true);
  for (size_t length = 1; length < 40; length++) {
    char given[64];
    memset(given, 'k', length);
    given[length] = '\0';
    CHECK_OK(pd_flag_set_string(key, given, &err));
    CHECK_STR(text_of(key), given);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    CHECK_OK(pd_flag_set_string(key, texts[i], &err));
    CHECK_STR(text_of(key), texts[i]);
  }
  CHECK_OK(pd_flag_wipe(key, &err));
  CHECK_STR(text_of(key), "");
}

TEST(lists_of_changes_of_any_length_are_made) {
  pd_assignment items[40];
  define_three();
  pd_error_list *errors = pd_error_list_new();
  for (size_t i = 0; i < 40; i++) {
    items[i] = (pd_assignment){.flag = i % 2 ? b : text, .text = i % 2 ? "3" : "some text"};
    CHECK_OK(pd_batch_set(items, i + 1, NULL, errors, &err));
  }
  CHECK_STR(text_of(b), "3");
  CHECK_STR(text_of(text), "some text");
  pd_error_list_free(errors);
}

static bool repeat(const char *given, void *context, pd_writer write, void *out, char *why,
                   size_t size) {
  (void)context, (void)why, (void)size;
  for (int i = 0; i < 100; i++) write(given, strlen(given), out);
  write("", 0, out);
  return true;
}

TEST(a_converter_may_write_a_long_text_in_parts) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "repeated", def.convert = repeat);
  for (size_t length = 0; length < 20; length++) {
    char given[32];
    memset(given, 'x', length);
    given[length] = '\0';
    CHECK_OK(pd_flag_set_string(flag, given, &err));
    CHECK(strlen(text_of(flag)) == 100 * length);
  }
}

TEST(names_beyond_a_chunk_are_found_and_forgotten) {
  static pd_flag *flags[1100];
  char name[32];
  for (int i = 0; i < 1100; i++) {
    snprintf(name, sizeof name, "flag_%d", i);
    flags[i] = define_flag(PD_TYPE_bool, name);
  }
  for (int i = 0; i < 1100; i++) {
    snprintf(name, sizeof name, "flag-%d", i);
    pd_flag *found = find_flag(name);
    CHECK(found == flags[i]);
  }
  for (int i = 0; i < 1100; i += 100) CHECK_OK(pd_flag_unregister(flags[i], &err));
  CHECK(pd_flag_next(NULL) == flags[1]);
}

TEST(pending_values_come_and_go) {
  for (int i = 0; i < 20; i++) CHECK_OK(pd_pending_set("late-r", "5", NULL, &err));
  CHECK_STR(text_of(define_flag(PD_TYPE_int64, "late_r")), "5");
}

TEST(warnings_are_delivered_and_dropped) {
  for (int i = 0; i < PD_WARNINGS_KEPT + 2; i++) CHECK_OK(pd_warning_report("careful", &err));
}

TEST(contexts_are_captured_attached_and_released) {
  pd_scope scopes[9], attached[3];
  pd_scope_context *captured;
  define_three();
  pd_flag *flag = DEFINE(PD_TYPE_int64, "free", def.scoped = true);
  pd_assignment item = {.flag = flag, .text = "5"};
  for (int i = 0; i < 9; i++) CHECK_OK(pd_scope_push(&item, i != 4, NULL, NULL, &scopes[i], &err));
  CHECK_OK(pd_scope_capture(&captured, &err));
  for (int i = 0; i < 3; i++) CHECK_OK(pd_scope_attach(captured, &attached[i], &err));
  CHECK_OK(pd_scope_pop(scopes[3], &err));
  CHECK_OK(pd_scope_detach(attached[1], &err));
  CHECK_OK(pd_scope_detach(attached[2], &err));
  CHECK_OK(pd_scope_detach(attached[0], &err));
  for (int i = 8; i >= 0; i--) CHECK_OK(pd_scope_pop(scopes[i], &err));
  pd_scope_release(captured);
  CHECK_STR(text_of(flag), "0");
}
