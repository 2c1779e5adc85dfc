/* Reads from a signal handler of flags whose modules assign to their variables: without the lock,
 * whatever was interrupted. */
#include <signal.h>

#include "plugged.h"

typedef struct result {
  pd_status status;
  int64_t number;
  const char *text;
} result;

static pd_flag *number, *text, *small, *real, *truth;
static result read_number, read_text;
static int handled, wrong;

static void read_all(int signal) {
  int32_t as_small = 0;
  double as_real = 0;
  bool as_truth = false;
  (void)signal;
  read_number.status = pd_flag_get_int64(number, &read_number.number, NULL);
  read_text.status = pd_flag_get_string(text, &read_text.text, NULL);
  wrong += pd_flag_get_int32(small, &as_small, NULL) != PD_OK;
  wrong += pd_flag_get_double(real, &as_real, NULL) != PD_OK;
  wrong += pd_flag_get_bool(truth, &as_truth, NULL) != PD_OK;
  wrong += pd_flag_get_bool(number, &as_truth, NULL) != PD_ERR_TYPE;
  handled++;
}

/* ---- Variables ---- */

static int64_t number_cell = 1;
static int32_t small_cell = 2;
static double real_cell = 0.5;
static bool truth_cell = true;

static pd_flag *define_assigned(pd_type type, const char *name, void *cell) {
  pd_flag_def def = definition(type, name);
  def.assignable = true;
  def.cell = cell;
  if (type == PD_TYPE_int64) def.default_value.i64 = number_cell;
  if (type == PD_TYPE_int32) def.default_value.i64 = small_cell;
  if (type == PD_TYPE_double) def.default_value.f64 = real_cell;
  if (type == PD_TYPE_bool) def.default_value.b = truth_cell;
  return register_flag(&def);
}

/* ---- A string whose access functions are called with the lock held ---- */

static char kept[64]; /* as std::string of the compat headers keeps its text */
static bool raising, reading;
static int puts_seen;

static void raise_it(void) {
  if (raising) raise(SIGUSR1);
}
static const char *get(void *cell) {
  if (reading) raise_it();
  return cell;
}
static void put(void *cell, const char *value) {
  puts_seen++;
  raise_it();
  snprintf(cell, sizeof kept, "%s", value);
}
static const pd_cell_access access_by_code = {
    .size = sizeof(pd_cell_access), .get = get, .put = put};

static void define_all(void) {
  struct sigaction action = {.sa_handler = read_all};
  begin();
  CHECK(!sigaction(SIGUSR1, &action, NULL));
  number = define_assigned(PD_TYPE_int64, "number", &number_cell);
  small = define_assigned(PD_TYPE_int32, "small", &small_cell);
  real = define_assigned(PD_TYPE_double, "real", &real_cell);
  truth = define_assigned(PD_TYPE_bool, "truth", &truth_cell);
  text = DEFINE(PD_TYPE_string, "text", def.assignable = true, def.cell = kept,
                def.access = &access_by_code);
  CHECK_OK(pd_flag_set_string(text, "first", &err));
}

TEST(a_handler_reads_assigned_flags_while_the_lock_is_held_by_its_own_thread) {
  define_all();
  raising = true;
  CHECK_OK(pd_flag_set_string(text, "second", &err));
  raising = false;
  CHECK(handled > 0 && wrong == 0 && puts_seen > 0);
  CHECK(read_number.status == PD_OK && read_number.number == 1);
  CHECK(read_text.status == PD_OK);
  CHECK(!strcmp(read_text.text, "first") || !strcmp(read_text.text, "second"));
  CHECK_STR(kept, "second");
}

TEST(a_handler_reads_the_number_that_was_assigned_last) {
  define_all();
  number_cell = 77;
  raising = reading = true;
  char now[64];
  CHECK_OK(pd_flag_get_text(text, now, sizeof now, NULL, &err));
  raise(SIGUSR1);
  CHECK(read_number.status == PD_OK && read_number.number == 77);
  CHECK(wrong == 0);
}

TEST(a_handler_reads_the_text_that_was_committed_last) {
  define_all();
  snprintf(kept, sizeof kept, "assigned"); /* nobody in the registry has seen it */
  raise(SIGUSR1);
  CHECK(read_text.status == PD_OK);
  CHECK_STR(read_text.text, "first");
  char now[64];
  CHECK_OK(pd_flag_get_text(text, now, sizeof now, NULL, &err));
  CHECK_STR(now, "assigned");
  raise(SIGUSR1);
  CHECK_STR(read_text.text, "assigned");
}

/* Another thread has the lock, and waits. */
static void stop_once(int signal) {
  (void)signal;
  static int stopped;
  if (stopped++ == 0) stop_here();
}
static void *set_and_stop(void *unused) {
  raising = true;
  pd_flag_set_string(text, "third", NULL);
  return unused;
}
TEST(reads_dont_wait_for_a_thread_that_has_the_lock) {
  struct sigaction action = {.sa_handler = stop_once};
  define_all();
  make_gate();
  CHECK(!sigaction(SIGUSR1, &action, NULL));
  pthread_t setter = start(set_and_stop, NULL);
  wait_for(&inside);
  read_all(0);
  CHECK(wrong == 0 && read_number.status == PD_OK && read_text.status == PD_OK);
  CHECK(!strcmp(read_text.text, "first") || !strcmp(read_text.text, "third"));
  sem_post(&leave);
  finish(setter);
}
