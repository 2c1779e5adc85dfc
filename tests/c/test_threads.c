/*
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 */
#include <pthread.h>

#define CHECK_DEFINES_FLAGS
#include "check.h"

#define THREADS 4
#define ROUNDS 300

static void run_all(void *(*work)(void *)) {
  pthread_t threads[THREADS];
  for (uintptr_t i = 0; i < THREADS; i++) {
    CHECK(!pthread_create(&threads[i], NULL, work, (void *)i));
  }
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
}

static pd_flag *number, *text;

static void *set_and_read(void *index) {
  char value[16];
  for (int i = 0; i < ROUNDS; i++) {
    int64_t half = (i * THREADS + (int)(uintptr_t)index) & 0x7fff;
    CHECK(pd_flag_set_int64(number, half << 32 | half, NULL) == PD_OK);
    memset(value, 'a' + i % 26, 8);
    value[8] = '\0';
    CHECK(pd_flag_set_string(text, value, NULL) == PD_OK);
    int64_t read;
    const char *string;
    CHECK(pd_flag_get_int64(number, &read, NULL) == PD_OK);
    CHECK(read >> 32 == (read & 0xffffffff));
    CHECK(pd_flag_get_string(text, &string, NULL) == PD_OK);
    CHECK(strlen(string) == 8 && string[0] == string[7]);
  }
  return NULL;
}

TEST(values_are_set_and_read_whole_from_many_threads) {
  number = define_flag(PD_TYPE_int64, "number");
  text = define_flag(PD_TYPE_string, "text");
  CHECK_OK(pd_flag_set_string(text, "aaaaaaaa", &err));
  run_all(set_and_read);
}

PD_DEFINE_int64(worker_number, 0, "Both halves of it are equal");
PD_DEFINE_string(worker_text, "aaaaaaaa", "All letters of it are equal");

static void *set_or_work(void *index) {
  if (index) return set_and_read(index);
  for (int i = 0; i < ROUNDS * 100; i++) {
    int64_t read = FLAGS_worker_number;
    const char *string = FLAGS_worker_text;
    CHECK(read >> 32 == (read & 0xffffffff));
    CHECK(strlen(string) == 8 && string[0] == string[7]);
  }
  return NULL;
}

TEST(a_module_reads_whole_values_while_others_set_them) {
  CHECK_OK(pd_flag_find("worker_number", &number, &err));
  CHECK_OK(pd_flag_find("worker_text", &text, &err));
  run_all(set_or_work);
}

static void *define_many(void *index) {
  char name[32];
  for (int i = 0; i < ROUNDS; i++) {
    snprintf(name, sizeof name, "shared_%d", i);
    pd_flag *mine = NULL, *found = NULL;
    pd_flag_def def = definition(PD_TYPE_int32, name);
    CHECK(pd_flag_register(&def, &mine, NULL) == PD_OK);
    CHECK(pd_flag_find(name, &found, NULL) == PD_OK && found == mine);
    snprintf(name, sizeof name, "own_%d_%d", (int)(uintptr_t)index, i);
    CHECK(pd_flag_register(&def, &mine, NULL) == PD_OK && mine != found);
  }
  return NULL;
}

TEST(many_threads_define_the_same_flags_and_their_own) {
  int count = -2; /* the program's own */
  run_all(define_many);
  for (pd_flag *flag = pd_flag_next(NULL); flag; flag = pd_flag_next(flag)) count++;
  CHECK(count == ROUNDS * (THREADS + 1));
}

static void *load_and_list(void *index) {
  static const char *const names[] = {"alpha", "clash", "import", "plain"};
  char path[4096];
  snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), names[(uintptr_t)index]);
  for (int i = 0; i < ROUNDS / 6; i++) {
    pd_module *module = NULL;
    pd_status status = pd_module_load(path, NULL, &module, NULL);
    /* alpha and clash exclude each other; clash and import differ in a type */
    CHECK(status == PD_OK || status == PD_ERR_CONFLICT || status == PD_ERR_TYPE);
    if (status != PD_ERR_TYPE) CHECK((module != NULL) == (status == PD_OK));
    for (pd_flag *flag = pd_flag_next(NULL); flag; flag = pd_flag_next(flag)) {
      pd_flag_info info = {.size = sizeof info};
      char value[64];
      if (pd_flag_get_info(flag, &info, NULL) == PD_OK) CHECK(strlen(info.help) > 0);
      pd_flag_get_text(flag, value, sizeof value, NULL, NULL);
      pd_flag_reset(flag, NULL);
    }
    if (module) CHECK(pd_module_unload(module, NULL) == PD_OK);
  }
  return NULL;
}

TEST(modules_come_and_go_while_others_list_and_set) {
  run_all(load_and_list);
  pd_flag *flag;
  CHECK(pd_flag_find("alpha_mode", &flag, NULL) == PD_ERR_UNDEFINED);
}

static void *push_and_pop(void *index) {
  pd_assignment item = {.flag = number, .type = PD_TYPE_int64, .value = {.i64 = 5}};
  for (int i = 0; i < ROUNDS; i++) {
    pd_override override;
    item.value.i64 = (int64_t)(uintptr_t)index;
    CHECK(pd_override_push(&item, 1, NULL, NULL, &override, NULL) == PD_OK);
    CHECK(pd_override_pop(override, NULL) == PD_OK);
  }
  return NULL;
}

TEST(layers_of_many_threads_all_go_away) {
  number = define_flag(PD_TYPE_int64, "number");
  CHECK_OK(pd_flag_set_int64(number, 42, &err));
  run_all(push_and_pop);
  CHECK_STR(text_of(number), "42");
}
