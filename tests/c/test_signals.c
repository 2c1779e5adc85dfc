/* Reads without the lock: from a signal handler, and while a flag changes its type.
 *
 * Also built with (tsan): -fsanitize=thread $LIBRARY
 */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define CHECK_DEFINES_FLAGS
#include "check.h"

#define SIGNALS 2000

PD_DEFINE_int64(signal_number, 0, "Both halves of it are equal");
PD_DEFINE_string(signal_text, "aaaaaaaa", "All letters of it are equal");

static pd_flag *number, *text, *gone;
static const int64_t *number_at;
static const uint8_t *number_state;
static int handled, wrong;

static bool whole_number(int64_t value) { return value >> 32 == (value & 0xffffffff); }
static bool whole_text(const char *value) { return value[0] == value[7] && !value[8]; }

/* It runs while this thread, or another one, holds the registry's lock. */
static void read_all(int signal) {
  int64_t value;
  bool other;
  const char *string;
  (void)signal;
  bool right = pd_flag_get_int64(number, &value, NULL) == PD_OK && whole_number(value) &&
               pd_flag_get_string(text, &string, NULL) == PD_OK && whole_text(string) &&
               pd_flag_get_bool(number, &other, NULL) == PD_ERR_TYPE &&
               pd_flag_get_int64(gone, &value, NULL) == PD_ERR_UNDEFINED &&
               pd_flag_get_address(number) == number_at &&
               pd_flag_get_state(number) == number_state &&
               whole_number(__atomic_load_n(number_at, __ATOMIC_ACQUIRE)) &&
               __atomic_load_n(number_state, __ATOMIC_ACQUIRE) == PD_TYPE_int64 &&
               whole_number(FLAGS_signal_number) && whole_text(FLAGS_signal_text);
  if (!right) __atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&handled, 1, __ATOMIC_RELEASE);
}

static int handled_so_far(void) { return __atomic_load_n(&handled, __ATOMIC_ACQUIRE); }

/* The next one is sent when the last one was handled. */
static void *send_signals(void *to) {
  for (int i = 0; i < SIGNALS; i++) {
    pthread_kill(*(pthread_t *)to, SIGUSR1);
    while (handled_so_far() <= i) usleep(20);
  }
  return NULL;
}

static pd_flag *left_behind(void) {
  char path[4096];
  pd_module *module;
  snprintf(path, sizeof path, "%s/libhalf.so", getenv("PLUGINS"));
  CHECK_OK(pd_module_load(path, NULL, &module, &err));
  pd_flag *flag = find_flag("turning");
  CHECK_OK(pd_module_unload(module, &err));
  return flag;
}

TEST(a_signal_handler_reads_flags_whatever_it_interrupted) {
  struct sigaction action = {.sa_handler = read_all, .sa_flags = SA_RESTART};
  pthread_t sender, self = pthread_self();
  alarm(240); /* a handler that waited for the lock would wait for ever */
  CHECK_OK(pd_flag_find("signal_number", &number, &err));
  CHECK_OK(pd_flag_find("signal_text", &text, &err));
  gone = left_behind();
  number_at = pd_flag_get_address(number);
  number_state = pd_flag_get_state(number);
  CHECK(!sigaction(SIGUSR1, &action, NULL));
  CHECK(!pthread_create(&sender, NULL, send_signals, &self));
  for (int64_t i = 0; handled_so_far() < SIGNALS; i++) {
    char value[9] = "";
    memset(value, 'a' + (int)(i % 26), 8);
    CHECK(pd_flag_set_int64(number, i << 32 | (i & 0xffffffff), NULL) == PD_OK);
    CHECK(pd_flag_set_string(text, value, NULL) == PD_OK);
  }
  CHECK(!pthread_join(sender, NULL));
  CHECK(wrong == 0);
}

static bool stop;

static void *read_both(void *flag) {
  int64_t as_number;
  double as_double;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    pd_status status = pd_flag_get_int64(flag, &as_number, &err);
    CHECK(status == PD_OK || status == PD_ERR_TYPE || status == PD_ERR_UNDEFINED);
    if (status == PD_OK) CHECK(as_number == 0x1111111111111111);
    status = pd_flag_get_double(flag, &as_double, NULL);
    CHECK(status == PD_OK || status == PD_ERR_TYPE || status == PD_ERR_UNDEFINED);
    if (status == PD_OK) CHECK(as_double > 0.4 && as_double < 0.6);
  }
  return NULL;
}

TEST(a_flag_that_comes_back_with_another_type_is_never_read_as_the_former) {
  static const char *const names[] = {"whole", "half"};
  char path[4096];
  pthread_t reader;
  pd_flag *flag = left_behind();
  CHECK(!pthread_create(&reader, NULL, read_both, flag));
  for (int i = 0; i < 400; i++) {
    pd_module *module = NULL;
    snprintf(path, sizeof path, "%s/lib%s.so", getenv("PLUGINS"), names[i % 2]);
    CHECK(pd_module_load(path, NULL, &module, NULL) == PD_OK);
    CHECK(pd_module_unload(module, NULL) == PD_OK);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  CHECK(!pthread_join(reader, NULL));
}

/* `whole` has the bits 0x1111111111111111 by default, which are no double that anybody gave. */
static void *read_half(void *flag) {
  double value;
  while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
    if (pd_flag_get_double(flag, &value, NULL) == PD_OK) CHECK(value > 0.4 && value < 3.5);
  }
  return NULL;
}

TEST(a_default_below_an_override_is_never_read_as_another_type) {
  char whole[4096], half[4096];
  pthread_t reader;
  pd_flag *flag = left_behind();
  snprintf(whole, sizeof whole, "%s/libwhole.so", getenv("PLUGINS"));
  snprintf(half, sizeof half, "%s/libhalf.so", getenv("PLUGINS"));
  CHECK(!pthread_create(&reader, NULL, read_half, flag));
  for (int i = 0; i < 4000; i++) {
    pd_module *module = NULL;
    CHECK_OK(pd_module_load(whole, NULL, &module, &err));
    pd_override override = push_override(flag, "3");
    CHECK_OK(pd_module_unload(module, &err));
    CHECK_OK(pd_module_load(half, NULL, &module, &err));
    CHECK_OK(pd_override_pop(override, &err));
    CHECK_OK(pd_module_unload(module, &err));
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  CHECK(!pthread_join(reader, NULL));
}
