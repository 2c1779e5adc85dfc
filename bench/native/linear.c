/* A program that does one kind of work with many things of a kind, for callgrind to count:
 *
 *     linear WHAT COUNT
 *
 * Only instructions within `counted` count; the rest is preparation. */
#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 10000, ROOM = 32 };

static int count, failed;
static char names[MOST][ROOM];
static pd_flag *flags[MOST];
static pd_impl impls[MOST];
static pd_scope scopes[MOST];

static void check(pd_status status) { failed |= status != PD_OK; }

static void make_names(void) {
  for (int i = 0; i < count; i++) snprintf(names[i], ROOM, "check_%04d_limit", i * 377 % MOST);
}

/* ---- Operations ---- */

static void implement(void) {}

static void register_operations(void) {
  for (int i = 0; i < count; i++) {
    pd_op_signature signature = {names[i], "void (void)", {PD_CODE_VOID, PD_CODE_VOID}};
    pd_op_def def = {.size = sizeof def,
                     .kind = PD_KIND_IMPL,
                     .name = "only",
                     .signature = &signature,
                     .choice = {implement, 0, NULL}};
    check(pd_impl_register(&def, &impls[i], NULL));
  }
}
static void find_operations(void) {
  pd_op *op;
  for (int i = 0; i < count; i++) check(pd_op_find(names[i], NULL, &op, NULL));
}
static void unregister_operations(void) {
  for (int i = 0; i < count; i++) check(pd_impl_unregister(impls[i], NULL));
}

/* ---- Scopes ---- */

static void define_scoped(void) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, PD_TYPE_int64);
  def.scoped = true;
  for (int i = 0; i < count; i++) {
    def.name = names[i];
    check(pd_flag_register(&def, &flags[i], NULL));
  }
}
static void push_scopes(void) {
  for (int i = 0; i < count; i++) {
    pd_assignment item = {flags[i % 2 ? i : 0], NULL, PD_TYPE_int64, {.i64 = i}};
    check(pd_scope_push(&item, 1, NULL, NULL, &scopes[i], NULL));
  }
}
static void prepare_scopes(void) {
  define_scoped();
  push_scopes();
}
static void end_outermost_first(void) {
  for (int i = 0; i < count; i++) check(pd_scope_pop(scopes[i], NULL));
}

/* ---- Pending values ---- */

static void make_pending(void) {
  for (int i = 0; i < count; i++) check(pd_pending_set(names[i], "1", NULL, NULL));
}
static void list_pending(void) {
  pd_pending_info info = {.size = sizeof info};
  for (int i = 0; i < count; i++) check(pd_pending_get((size_t)i, &info, NULL));
}

/* ---- Which work ---- */

static void nothing(void) {}

static const struct {
  const char *name;
  void (*before)(void);
  void (*work)(void);
} works[] = {
    {"register_operation", nothing, register_operations},
    {"find_operation", register_operations, find_operations},
    {"unregister_operation", register_operations, unregister_operations},
    {"push_scope", define_scoped, push_scopes},
    {"end_outer_scope", prepare_scopes, end_outermost_first},
    {"list_pending", make_pending, list_pending},
};

/* callgrind counts from the call of this function to its return. */
__attribute__((noinline)) void counted(void (*work)(void));
void counted(void (*work)(void)) {
  work();
  __asm__ volatile("" ::: "memory"); /* prevents a tail call, which would never return here */
}

int main(int argc, char **arguments) {
  const char *what = argc == 3 ? arguments[1] : "";
  count = argc == 3 ? atoi(arguments[2]) : 0;
  for (size_t i = 0; i < sizeof works / sizeof *works; i++) {
    if (argc < 2) puts(works[i].name);
    if (strcmp(what, works[i].name) != 0 || count > MOST) continue;
    make_names();
    works[i].before();
    counted(works[i].work);
    return failed;
  }
  return argc > 1;
}
