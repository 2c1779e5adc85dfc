/* Changes that call the code of a plugin, with each allocation failing: whatever the call returns,
 * the flag has the value of before or the new one, and the next call works.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -ldl $LIBRARY
 */
#include <sys/wait.h>

#include "plugged.h"

static int left = -1; /* allocations that succeed before all others fail; -1: all */

static bool fails(void) {
  if (left > 0) left--;
  return left == 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

/* ---- Hooks of a plugin ---- */

static pd_flag *flag;
static void *plugin;
static int told;

static void count_change(pd_flag *changed, void *context) { told += changed && !context; }

static void open_bare(void) {
  plugin = open_plugin("bare");
  flag = define_flag(PD_TYPE_int64, "flag");
}

/* More items or hooks move the place in the memory of the operation where each allocation is. */
static pd_status set_often(int items, const char *text) {
  pd_assignment all[32];
  for (int i = 0; i < items; i++) all[i] = (pd_assignment){.flag = flag, .text = text};
  return pd_batch_set(all, (size_t)items, NULL, NULL, &err);
}

static void check_status_of_failing(pd_status status) {
  CHECK(status == PD_OK || status == PD_ERR_MEMORY || status == PD_ERR_REFUSED);
  CHECK_STR(text_of(flag), status == PD_OK ? "5" : "0");
}

static void validate_failing(int items, int number) {
  pd_validator validate;
  open_bare();
  *(void **)&validate = symbol(plugin, "bare_validate");
  CHECK_OK(pd_validator_add(&flag, 1, validate, NULL, NULL, NULL, &err));
  left = number;
  pd_status status = set_often(items, "5");
  left = -1;
  check_status_of_failing(status);
  CHECK_OK(set_often(items, "6"));
  CHECK_STR(text_of(flag), "6");
  CHECK(set_often(items, "200") == PD_ERR_REFUSED);
}

static void watch_failing(int watchers, int number) {
  pd_watcher watch;
  open_bare();
  *(void **)&watch = symbol(plugin, "bare_watch");
  for (int i = 1; i < watchers; i++) {
    CHECK_OK(pd_watcher_add(flag, count_change, NULL, NULL, NULL, &err));
  }
  CHECK_OK(pd_watcher_add(flag, watch, NULL, NULL, NULL, &err));
  left = number;
  pd_status status = pd_flag_set_int64(flag, 5, &err);
  left = -1;
  check_status_of_failing(status);
  CHECK(told < watchers);
  told = 0;
  CHECK_OK(pd_flag_set_int64(flag, 6, &err));
  CHECK(told == watchers - 1);
}

static void run_in_child(void (*act)(int, int), int more, int number) {
  int status;
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    begin();
    act(more, number);
    exit(0);
  }
  CHECK(waitpid(child, &status, 0) == child);
  if (status != 0) check_fail(__FILE__, __LINE__, "with %d hooks, allocation %d", more, number);
}

TEST(a_flag_with_a_validator_of_a_plugin_is_set_or_not) {
  for (int items = 1; items < 24; items++) {
    for (int number = 1; number < 4; number++) run_in_child(validate_failing, items, number);
  }
}

TEST(a_flag_with_a_watcher_of_a_plugin_is_set_or_not) {
  for (int watchers = 1; watchers < 24; watchers++) {
    for (int number = 1; number < 3; number++) run_in_child(watch_failing, watchers, number);
  }
}

static void warn_failing(int more, int number) {
  pd_warning_handler warn;
  (void)more;
  plugin = open_plugin("bare");
  *(void **)&warn = symbol(plugin, "bare_warn");
  CHECK_OK(pd_warning_handle(warn, NULL, &err));
  left = number;
  pd_status status = pd_warning_report("careful", NULL);
  left = -1;
  CHECK(status == PD_OK);
  CHECK_OK(pd_warning_report("again", &err));
  CHECK(*(int *)symbol(plugin, "bare_calls") >= 1);
}

TEST(a_warning_is_delivered_later_or_lost) {
  for (int number = 1; number < 6; number++) run_in_child(warn_failing, 0, number);
}

/* ---- Notices that are left to others ---- */

static void *set_flag(void *unused) {
  CHECK_OK(pd_flag_set_int64(flag, 7, &err));
  return unused;
}

static void end_thread_failing(pd_flag *changed, void *context) {
  static bool again;
  (void)changed, (void)context;
  if (again) return;
  again = true;
  left = 1;
  pthread_exit(NULL);
}

TEST(watchers_that_cannot_be_left_to_others_are_not_notified) {
  begin();
  flag = define_flag(PD_TYPE_int64, "flag");
  CHECK_OK(pd_watcher_add(flag, end_thread_failing, NULL, NULL, NULL, &err));
  for (int i = 0; i < 3; i++) CHECK_OK(pd_watcher_add(flag, count_change, NULL, NULL, NULL, &err));
  finish(start(set_flag, NULL));
  left = -1;
  CHECK_OK(pd_flags_validate(NULL, &err));
  CHECK(told == 0);
  CHECK_OK(pd_flag_set_int64(flag, 8, &err));
  CHECK(told == 3);
}
