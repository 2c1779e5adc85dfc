/* When the values of scopes that have ended are given back: not while their thread may read them,
 * and not much later. While a value is there, readers of the flag's variable ask for it.
 *
 * Built with: -Wl,--wrap=free $LIBRARY
 */
#define CHECK_DEFINES_FLAGS
#include <malloc.h>

#include "forking.h"
#include "plugged.h"

/* What is freed is overwritten, so that reading it shows. */
void __real_free(void *memory);
void __wrap_free(void *memory);
void __wrap_free(void *memory) {
  if (memory) memset(memory, 0x55, malloc_usable_size(memory));
  __real_free(memory);
}

PD_DEFINE_SCOPED_int64(level, 6, "A number");
PD_DEFINE_SCOPED_int64(other, 7, "Another number");

static pd_scope push(pd_flag *flag, int64_t value) {
  pd_assignment item = {.flag = flag, .type = PD_TYPE_int64, .value = {.i64 = value}};
  pd_scope scope = 0;
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  return scope;
}

/* Whether any scope has a value for the flag. */
static bool is_asked_for(const pd_scoped_cell *cell) {
  return __atomic_load_n(&cell->find, __ATOMIC_ACQUIRE) != NULL;
}
static const pd_scoped_cell *cell_of_level(void) {
  return (const pd_scoped_cell *)(const void *)&pd__cell_FLAGS_level;
}

static void *end_scope(void *scope) {
  CHECK_OK(pd_scope_pop(*(pd_scope *)scope, &err));
  return NULL;
}
static void end_elsewhere(pd_scope scope) { finish(start(end_scope, &scope)); }

TEST(a_value_that_a_thread_reads_stays_when_another_thread_ends_its_scope) {
  pd_scope scope = push(PD_SCOPED_FLAG(level), 9);
  const int64_t *value = cell_of_level()->find(cell_of_level());
  end_elsewhere(scope);
  CHECK(*value == 9 && PD_SCOPED(level) == 6);
}

TEST(a_value_that_another_thread_has_ended_goes_when_its_thread_opens_a_scope) {
  end_elsewhere(push(PD_SCOPED_FLAG(level), 9));
  push(PD_SCOPED_FLAG(other), 8);
  CHECK(!is_asked_for(cell_of_level()));
}

TEST(the_values_of_a_context_go_when_it_is_detached_below_another) {
  pd_scope_context *context = NULL;
  pd_scope lower, upper;
  pd_scope scope = push(PD_SCOPED_FLAG(level), 9);
  CHECK_OK(pd_scope_capture(&context, &err));
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK_OK(pd_scope_attach(context, &lower, &err));
  CHECK_OK(pd_scope_attach(NULL, &upper, &err));
  pd_scope_release(context);
  CHECK_OK(pd_scope_detach(lower, &err));
  CHECK(!is_asked_for(cell_of_level()));
  CHECK_OK(pd_scope_detach(upper, &err));
}

TEST(a_value_in_a_scope_is_not_one_of_a_new_definition_that_is_not_scoped) {
  static pd_scoped_cell cell;
  pd_flag *flag =
      DEFINE(PD_TYPE_int64, "redefined", def.scoped = def.scoped_cell = true, def.cell = &cell);
  pd_scope scope = push(flag, 9);
  CHECK_STR(text_of(flag), "9");
  CHECK_OK(pd_flag_unregister(flag, &err));
  flag = define_flag(PD_TYPE_int64, "redefined");
  CHECK_STR(text_of(flag), "0");
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(entry.value.i64 == 0 && entry.origin.source == PD_SOURCE_DEFAULT);
  CHECK_OK(pd_scope_pop(scope, &err));
}

/* ---- In which thread ---- */

static pd_scope_context *captured;
static pd_scope shared, attached_here;

static void *attach_and_end_shared(void *unused) {
  pd_scope attached;
  CHECK_OK(pd_scope_attach(captured, &attached, &err));
  CHECK(PD_SCOPED(level) == 9);
  CHECK_OK(pd_scope_pop(shared, &err));
  CHECK(PD_SCOPED(level) == 6);
  CHECK_OK(pd_scope_detach(attached, &err));
  return unused;
}

TEST(a_scope_that_two_threads_have_ends_in_the_one_that_ends_it) {
  shared = push(PD_SCOPED_FLAG(level), 9);
  CHECK_OK(pd_scope_capture(&captured, &err));
  finish(start(attach_and_end_shared, NULL));
  CHECK(PD_SCOPED(level) == 9);
  CHECK_OK(pd_scope_pop(shared, &err));
  CHECK(PD_SCOPED(level) == 6);
  pd_scope_release(captured);
}

TEST(a_scope_ends_in_the_uppermost_context_that_has_it) {
  pd_scope lower, upper;
  shared = push(PD_SCOPED_FLAG(level), 9);
  CHECK_OK(pd_scope_capture(&captured, &err));
  CHECK_OK(pd_scope_attach(NULL, &lower, &err));
  CHECK_OK(pd_scope_attach(captured, &upper, &err));
  CHECK_OK(pd_scope_pop(shared, &err)); /* in the current one */
  CHECK(PD_SCOPED(level) == 6);
  CHECK_OK(pd_scope_detach(upper, &err));
  CHECK(PD_SCOPED(level) == 6);
  CHECK_OK(pd_scope_pop(shared, &err)); /* two contexts below */
  CHECK_OK(pd_scope_detach(lower, &err));
  CHECK(PD_SCOPED(level) == 6);
  CHECK(pd_scope_pop(shared, NULL) == PD_ERR_ARGUMENT);
  pd_scope_release(captured);
}

static void *detach_of_another(void *unused) {
  pd_error own;
  CHECK(pd_scope_detach(attached_here, &own) == PD_ERR_ARGUMENT);
  push(PD_SCOPED_FLAG(level), 3);
  CHECK(pd_scope_detach(attached_here, &own) == PD_ERR_ARGUMENT);
  CHECK(strstr(own.message, ": expected one that is open in a thread"));
  return unused;
}

TEST(a_context_is_detached_by_its_own_thread_only) {
  push(PD_SCOPED_FLAG(level), 9);
  CHECK_OK(pd_scope_attach(NULL, &attached_here, &err));
  finish(start(detach_of_another, NULL));
  CHECK_OK(pd_scope_detach(attached_here, &err));
  CHECK(PD_SCOPED(level) == 9);
}

TEST(scopes_and_attached_contexts_have_numbers_of_their_own) {
  pd_scope scope = push(PD_SCOPED_FLAG(level), 9), attached;
  CHECK_OK(pd_scope_attach(NULL, &attached, &err));
  pd_scope later = push(PD_SCOPED_FLAG(level), 8);
  CHECK(scope != attached && attached != later && scope != later);
  CHECK(pd_scope_detach(scope, NULL) == PD_ERR_ARGUMENT);
  CHECK(pd_scope_detach(later, NULL) == PD_ERR_ARGUMENT);
  CHECK(pd_scope_pop(attached, NULL) == PD_ERR_ARGUMENT);
}

/* ---- Flags without a value ---- */

static pd_flag *define_optional(int64_t least, bool scoped) {
  return DEFINE(PD_TYPE_int64, "optional", def.optional = true, def.scoped = scoped,
                def.min.i64 = def.default_value.i64 = least);
}

TEST(a_scope_without_a_value_is_kept_for_a_definition_with_another_default) {
  pd_scope scope;
  pd_flag *flag = define_optional(1, true);
  pd_assignment item = {.flag = flag};
  CHECK_OK(pd_flag_set_int64(flag, 700, &err));
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CHECK(flag_entry(flag, 0).unset && flag_entry(flag, 0).value.i64 == 1);
  CHECK_OK(pd_flag_unregister(flag, &err));
  flag = define_optional(500, true);
  CHECK(flag_entry(flag, 0).unset && flag_entry(flag, 0).origin.source == PD_SOURCE_SCOPE);
  CHECK(!flag_entry(flag, 1).unset && flag_entry(flag, 1).value.i64 == 700);
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK(flag_entry(flag, 0).value.i64 == 700);
}

TEST(a_value_of_a_scope_that_another_definition_refuses_is_hidden) {
  pd_flag *flag = define_optional(1, true);
  pd_scope scope = push(flag, 9);
  CHECK(!flag_entry(flag, 0).unset);
  CHECK_OK(pd_flag_unregister(flag, &err));
  flag = define_optional(500, true);
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_DEFAULT);
  CHECK_OK(pd_scope_pop(scope, &err));
}

TEST(no_value_is_refused_in_a_scope_where_a_value_is) {
  pd_scope scope;
  pd_flag *flag = define_optional(1, false);
  pd_error_list *errors = pd_error_list_new();
  pd_assignment item = {.flag = flag};
  CHECK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err) == PD_ERR_TYPE);
  CHECK(!strncmp(err.message, "optional: only scoped flags have values", 39));
  CHECK_OK(pd_flag_freeze(flag, &err));
  CHECK(pd_scope_push(&item, 1, NULL, errors, &scope, &err) == PD_ERR_FROZEN);
  CHECK(pd_error_list_count(errors) == 1);
  pd_error_list_free(errors);
}

/* ---- Many threads at a fork ---- */

static void *stop_with_scope(void *unused) {
  push(PD_SCOPED_FLAG(level), 9);
  stop_here();
  return unused;
}

TEST(a_forked_child_has_no_scopes_of_several_other_threads) {
  pthread_t threads[3];
  begin();
  make_gate();
  for (int i = 0; i < 3; i++) threads[i] = start(stop_with_scope, NULL);
  for (int i = 0; i < 3; i++) wait_for(&inside);
  pd_scope own = push(PD_SCOPED_FLAG(level), 5);
  pid_t child = fork();
  if (child == 0) {
    CHECK(PD_SCOPED(level) == 5);
    CHECK_OK(pd_scope_pop(own, &err));
    _exit(is_asked_for(cell_of_level()) ? 1 : 0);
  }
  check_child(child);
  for (int i = 0; i < 3; i++) sem_post(&leave);
  for (int i = 0; i < 3; i++) finish(threads[i]);
}

TEST(a_scope_two_contexts_below_the_current_one_ends) {
  pd_scope scope = push(PD_SCOPED_FLAG(level), 9), lower, upper;
  CHECK_OK(pd_scope_attach(NULL, &lower, &err));
  CHECK_OK(pd_scope_attach(NULL, &upper, &err));
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK_OK(pd_scope_detach(upper, &err));
  CHECK_OK(pd_scope_detach(lower, &err));
  CHECK(PD_SCOPED(level) == 6);
}

static int warnings;
static void count_warning(const char *message, pd_warning kind, void *context) {
  warnings += message && kind == PD_WARNING_HIDDEN && !context;
}

TEST(only_assignments_at_run_time_are_reported_as_hidden_by_a_scope) {
  static const pd_origin file = {PD_SOURCE_FILE, 1, "a.conf", 0};
  pd_assignment item = {.flag = PD_SCOPED_FLAG(level), .text = "3"};
  pd_scope scope = push(PD_SCOPED_FLAG(level), 9);
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
  CHECK_OK(pd_flag_set_int64(PD_SCOPED_FLAG(other), 3, &err));
  CHECK(warnings == 0);
  CHECK_OK(pd_flag_set_int64(PD_SCOPED_FLAG(level), 4, &err));
  CHECK(warnings == 1);
  CHECK_OK(pd_scope_pop(scope, &err));
}
