/*
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 */
#include <pthread.h>

#define CHECK_DEFINES_FLAGS
#include "check.h"

#define THREADS 16
#define ROUNDS 300

PD_DEFINE_SCOPED_int64(number, 0, "Both halves of it are equal");
PD_DEFINE_SCOPED_string(text, "aaaaaaaa", "All letters of it are equal");

static int64_t whole(int64_t half) { return half << 32 | half; }

static void check_whole(void) {
  int64_t read = PD_SCOPED(number);
  const char *string = PD_SCOPED(text);
  CHECK(read >> 32 == (read & 0xffffffff));
  CHECK(strlen(string) == 8 && string[0] == string[7]);
  CHECK(pd_flag_get_int64(PD_SCOPED_FLAG(number), &read, NULL) == PD_OK);
  CHECK(read >> 32 == (read & 0xffffffff));
}

static pd_scope push(int64_t half) {
  char letters[9];
  pd_scope scope;
  memset(letters, 'a' + (int)(half % 26), 8);
  letters[8] = '\0';
  pd_assignment items[] = {{PD_SCOPED_FLAG(number), NULL, PD_TYPE_int64, {.i64 = whole(half)}},
                           {PD_SCOPED_FLAG(text), letters, 0, {0}}};
  CHECK(pd_scope_push(items, 2, NULL, NULL, &scope, NULL) == PD_OK);
  return scope;
}

static pd_scope_context *shared; /* of the main thread */
static pd_scope mailbox[THREADS];

/* Every thread opens and ends scopes, sets for the process, attaches the context of another, ends a
 * scope that another has open, and reads in between. */
static void *work(void *argument) {
  int index = (int)(intptr_t)argument;
  for (int i = 0; i < ROUNDS; i++) {
    int64_t half = (i * THREADS + index) & 0x7fff;
    pd_scope outer = push(half), attached;
    CHECK(PD_SCOPED(number) == whole(half));
    CHECK(pd_flag_set_int64(PD_SCOPED_FLAG(number), whole(half + 1), NULL) == PD_OK);
    CHECK(PD_SCOPED(number) == whole(half));
    CHECK(pd_scope_attach(shared, &attached, NULL) == PD_OK);
    CHECK(PD_SCOPED(number) == whole(77));
    pd_scope inner = push(half + 2);
    CHECK(PD_SCOPED(number) == whole(half + 2));
    CHECK(pd_scope_pop(inner, NULL) == PD_OK);
    CHECK(pd_scope_detach(attached, NULL) == PD_OK);
    CHECK(PD_SCOPED(number) == whole(half));
    CHECK(pd_scope_pop(outer, NULL) == PD_OK);
    pd_scope given = push(half);
    pd_scope old = __atomic_exchange_n(&mailbox[(index + 1) % THREADS], given, __ATOMIC_ACQ_REL);
    if (old) CHECK(pd_scope_pop(old, NULL) == PD_OK);
    pd_scope other = __atomic_exchange_n(&mailbox[index], 0, __ATOMIC_ACQ_REL);
    if (other) pd_scope_pop(other, NULL); /* its thread may have ended, and the scope with it */
    check_whole();
  }
  return NULL;
}

static void run_all(void *(*function)(void *)) {
  pthread_t threads[THREADS];
  for (intptr_t i = 0; i < THREADS; i++) {
    CHECK(!pthread_create(&threads[i], NULL, function, (void *)i));
  }
  for (int i = 0; i < THREADS; i++) CHECK(!pthread_join(threads[i], NULL));
}

TEST(sixteen_threads_open_end_attach_set_and_read) {
  pd_scope scope = push(77);
  CHECK_OK(pd_scope_capture(&shared, &err));
  run_all(work);
  CHECK(PD_SCOPED(number) == whole(77));
  CHECK_OK(pd_scope_pop(scope, &err));
  pd_scope_release(shared);
  CHECK(!FLAGS_number.find && !FLAGS_text.find);
}

/* As in unslothai/unsloth: the main thread sets a flag, and the native threads of the backward pass
 * read it. As in PyTorch: an assignment is for all threads, whatever scopes there are. */
static pthread_barrier_t step;
static void *backward(void *argument) {
  int64_t *seen = argument;
  for (int i = 0; i < 3; i++) {
    pthread_barrier_wait(&step);
    *seen = PD_SCOPED(number);
    pthread_barrier_wait(&step);
  }
  return NULL;
}

TEST(an_assignment_reaches_threads_that_run_already_and_a_scope_of_the_main_thread_does_not) {
  pthread_t thread;
  int64_t seen = -1;
  CHECK(!pthread_barrier_init(&step, NULL, 2));
  CHECK(!pthread_create(&thread, NULL, backward, &seen));
  for (int i = 0; i < 3; i++) {
    pd_scope scope = push(99);
    CHECK_OK(pd_flag_set_int64(PD_SCOPED_FLAG(number), whole(i + 1), &err));
    pthread_barrier_wait(&step);
    pthread_barrier_wait(&step);
    CHECK(seen == whole(i + 1) && PD_SCOPED(number) == whole(99));
    CHECK_OK(pd_scope_pop(scope, &err));
  }
  CHECK(!pthread_join(thread, NULL));
}
