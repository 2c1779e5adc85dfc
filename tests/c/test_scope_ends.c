/* When the values of scopes that have ended are given back: not while their thread may read them,
 * and not much later. While a value is there, readers of the flag's variable ask for it.
 *
 * Built with: -Wl,--wrap=free $LIBRARY
 */
#define CHECK_DEFINES_FLAGS
#include <malloc.h>

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
  pd_flag_def def = definition(PD_TYPE_int64, "redefined");
  pd_flag *flag = NULL;
  pd_flag_entry entry = {.size = sizeof entry};
  def.scoped = def.scoped_cell = true;
  def.cell = &cell;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  pd_scope scope = push(flag, 9);
  CHECK_STR(text_of(flag), "9");
  CHECK_OK(pd_flag_unregister(flag, &err));
  flag = define_flag(PD_TYPE_int64, "redefined");
  CHECK_STR(text_of(flag), "0");
  CHECK_OK(pd_flag_get_entry(flag, 0, &entry, &err));
  CHECK(entry.value.i64 == 0 && entry.origin.source == PD_SOURCE_DEFAULT);
  CHECK_OK(pd_scope_pop(scope, &err));
}
