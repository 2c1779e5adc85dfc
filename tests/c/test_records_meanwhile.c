/* Records that join and leave while they are asked, and late definitions of each form. */
#include <pd_flags.h>
#include <pd_flags/late.h>

#include "joined.h"
#include "plugged.h"

static pd_flag_def plain(const char *name) { return definition(PD_TYPE_int64, name); }

static pd_module_info own_info(void) {
  pd_module_info info = module_info(own_module());
  return info;
}

/* A validator that calls `during` once. A value waits, so that the join asks. */
static void (*during)(void);
static int asked;

static bool call_first(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (asked++ == 0) during();
  return true;
}

static pd_flag_def asking(const char *name, void (*call)(void)) {
  pd_flag_def def = plain(name);
  def.validate = call_first;
  during = call;
  CHECK_OK(pd_pending_set(name, "5", NULL, &err));
  return def;
}

/* ---- Leaving ---- */

static void join_and_leave(void) {
  get_host()->module_join(&pd__module_v1);
  CHECK(is_defined("one"));
  leave_record();
}

TEST(a_module_that_leaves_while_its_join_asks_joins_and_is_present) {
  begin();
  pd_flag_def one = asking("one", join_and_leave);
  CHECK_OK(JOIN(&one));
  CHECK(asked > 1 && is_defined("one"));
  CHECK(own_info().present && own_info().flags == 1);
}

TEST(a_record_that_has_left_forgets_its_host) {
  begin();
  pd_flag_def one = plain("one");
  CHECK_OK(JOIN(&one));
  const pd_host *host = get_host();
  leave_record();
  pd__module_v1.host = host;
  host->module_leave(&pd__module_v1);
  CHECK(!pd__module_v1.host && !pd__module_v1.state);
}

TEST(a_record_that_leaves_takes_no_flags_of_another_module_along) {
  begin();
  pd_module *alpha = load_module("alpha");
  leave_record();
  pd__module_v1.state = alpha;
  leave_record();
  CHECK(!pd__module_v1.state && is_defined("alpha_level"));
}

/* ---- Late definitions ---- */

static pd_late_def lates[4];
static pd_flag_def late_defs[4];

static pd_status define_late(int i, const pd_flag_def *def) {
  late_defs[i] = *def;
  lates[i] = (pd_late_def){.size = sizeof lates[i], .def = &late_defs[i]};
  return pd_late_define(&lates[i], &err);
}

TEST(a_late_definition_whose_module_leaves_while_it_is_asked_is_not_made) {
  begin();
  pd_flag_def one = plain("one"), two = asking("two", leave_record);
  CHECK_OK(JOIN(&one));
  CHECK_OK(define_late(0, &two));
  CHECK(asked > 0 && !is_defined("one") && !is_defined("two") && !lates[0].seen);
  during = NULL;
  get_host()->module_join(&pd__module_v1);
  CHECK(is_defined("one") && is_defined("two") && lates[0].seen);
}

static void join_again(void) { get_host()->module_join(&pd__module_v1); }

TEST(a_late_definition_that_another_call_makes_meanwhile_is_made_once) {
  begin();
  pd_flag_def one = plain("one"), two = asking("two", join_again);
  CHECK_OK(JOIN(&one));
  CHECK_OK(define_late(0, &two));
  CHECK(asked > 1 && is_defined("two") && own_info().flags == 2);
}

/* Such definitions are copied when they are read. */
static pd_flag_def older(const char *name, int64_t *cell) {
  pd_flag_def def = plain(name);
  def.size = (uint32_t)offsetof(pd_flag_def, validate);
  def.cell = cell;
  return def;
}

TEST(late_definitions_of_an_older_header_have_their_own_flags) {
  static int64_t cells[2];
  begin();
  pd_flag_def one = plain("one"), two = older("two", &cells[0]), three = older("three", &cells[1]);
  pd_flag_def four = older("four", NULL);
  CHECK_OK(JOIN(&one));
  CHECK_OK(define_late(0, &two));
  CHECK_OK(define_late(1, &three));
  CHECK_OK(define_late(2, &four));
  CHECK(lates[0].flag == find_flag("two") && lates[1].flag == find_flag("three"));
  CHECK_OK(JOIN(&one));
  CHECK(lates[0].flag == find_flag("two") && lates[1].flag == find_flag("three"));
  CHECK(is_defined("four") && !lates[2].flag); /* nobody reads a variable of it */
}

static pd_status define_late_op(pd_op_def *op) {
  lates[0] = (pd_late_def){.size = sizeof lates[0], .def = (const pd_flag_def *)(const void *)op};
  return pd_late_define(&lates[0], &err);
}

typedef void (*any_function)(void);
static double native(double x) { return x; }

TEST(a_late_operation_has_no_flag_of_its_own) {
  static any_function slot = (any_function)native;
  static const pd_op_signature signature = {
      "sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  static pd_op_def op;
  begin();
  for (pd_kind kind = PD_KIND_OP; kind <= PD_KIND_IMPL; kind++) {
    pd_flag_def one = plain("one");
    CHECK_OK(JOIN(&one));
    op = (pd_op_def){.size = sizeof op, .line = 3, .kind = (uint8_t)kind, .name = "native"};
    op.file = "a.c";
    op.signature = &signature;
    op.slot = kind == PD_KIND_IMPL ? NULL : &slot;
    op.choice = (pd_op_choice){(any_function)native, 0, NULL};
    CHECK_OK(define_late_op(&op));
    CHECK(lates[0].seen && !lates[0].flag && is_defined("impl.sum"));
    pd__module_v1.late = NULL;
  }
}

/* ---- During a load of another module ---- */

static void call_in_constructor(void (*function)(void)) {
  char address[32];
  snprintf(address, sizeof address, "%p", (void *)(uintptr_t)function);
  setenv("UNWELCOME_CALLS", address, 1);
}

static pd_status late_status;
static void define_refused_late(void) {
  pd_flag_def two = plain("9");
  late_status = define_late(0, &two);
}

TEST(a_late_definition_that_is_refused_during_a_load_hinders_no_other_module) {
  begin();
  pd_flag_def one = plain("one");
  CHECK_OK(JOIN(&one));
  call_in_constructor(define_refused_late);
  load_module("unwelcome");
  CHECK(late_status == PD_ERR_NAME && is_defined("one") && own_info().status == PD_OK);
}

static void join_with_other_abi(void) {
  const pd_host *host = get_host();
  leave_record();
  pd__module_v1.abi = 99;
  host->module_join(&pd__module_v1);
}

TEST(a_record_of_another_abi_that_joins_during_a_load_refuses_it) {
  begin();
  get_host();
  call_in_constructor(join_with_other_abi);
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path("unwelcome"), NULL, &module, &err) == PD_ERR_ABI);
  CHECK(strstr(err.message, "/program: built for ABI version 99, expected 1"));
  CHECK(!module && !is_defined("unwelcome_clash"));
}
