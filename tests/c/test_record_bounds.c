/* Records and definitions whose sizes or kinds are unusual, as the registry reads them.
 *
 * Built with: -I$SOURCES -Wl,--wrap=malloc $LIBRARY
 */
#include <pd_flags.h>
#include <pd_flags/late.h>

#include "joined.h"
#include "module/module.h"
#include "plugged.h"

/* Some systems return NULL for 0 bytes. */
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) { return size > 0 ? __real_malloc(size) : NULL; }

static pd_flag_def plain(const char *name) { return definition(PD_TYPE_int64, name); }

TEST(a_record_without_definitions_joins) {
  begin();
  CHECK_OK(join_count(NULL, 0));
  CHECK(pd__module_v1.host);
}

static void refuse_definition(pd_flag_def def, pd_status status, const char *message) {
  CHECK(JOIN(&def) == status);
  if (!strstr(join_error(0), message)) check_fail(__FILE__, __LINE__, "%s", join_error(0));
}

TEST(a_definition_that_ends_before_its_kind_is_no_operation) {
  begin();
  pd_flag_def def = plain("one");
  def.kind = PD_KIND_OP;
  def.size = 8;
  refuse_definition(def, PD_ERR_ABI, "a definition has 8 bytes, expected ");
}

TEST(a_definition_of_an_unknown_kind_is_no_operation) {
  begin();
  pd_flag_def def = plain("one");
  def.kind = PD_KIND_IMPL + 1;
  refuse_definition(def, PD_ERR_ABI, "definition of 'one'");
}

/* ---- The chain of late definitions ---- */

static pd_flag_def late_def;
static pd_late_def late = {.size = sizeof late, .def = &late_def};

TEST(a_record_of_the_first_version_has_no_late_definitions) {
  begin();
  pd_flag_def one = plain("one");
  late_def = plain("two");
  leave_record();
  pd__module_v1.late = &late;
  pd__module_v1.size = (uint32_t)offsetof(pd_module_record, late);
  CHECK_OK(JOIN(&one));
  CHECK(!is_defined("two") && !late.seen);
  pd__module_v1.size = sizeof pd__module_v1;
  CHECK_OK(JOIN(&one));
  CHECK(is_defined("two") && late.seen);
}

TEST(late_definitions_are_read_only_if_their_field_lies_in_the_image) {
  pd_module_record record = {.size = (uint32_t)offsetof(pd_module_record, late), .late = &late};
  record.size += (uint32_t)sizeof record.late;
  uintptr_t end = (uintptr_t)&record + record.size;
  begin();
  CHECK(pd__runtime_defs_get_range(&record, end, true).first == &late);
  CHECK(!pd__runtime_defs_get_range(&record, end - 1, true).first);
  record.size--;
  CHECK(!pd__runtime_defs_get_range(&record, end, true).first);
}

TEST(a_late_definition_that_is_NULL_defines_nothing) {
  static pd_late_def none = {.size = sizeof none};
  begin();
  pd_flag_def one = plain("one");
  leave_record();
  pd__module_v1.late = &none;
  CHECK_OK(JOIN(&one));
  CHECK(is_defined("one") && none.seen && !none.flag && none.status == PD_OK);
}

TEST(a_late_definition_that_is_NULL_is_skipped_in_a_refused_module) {
  static pd_late_def none = {.size = sizeof none};
  begin();
  pd_flag_def wrong = plain("9");
  leave_record();
  pd__module_v1.late = &none;
  CHECK(JOIN(&wrong) == PD_ERR_NAME);
  CHECK(none.seen && !none.flag && none.status == PD_ERR_NAME);
}

/* ---- Namespaces ---- */

TEST(a_definition_that_is_too_small_is_not_renamed) {
  begin();
  pd_error_list *errors = pd_error_list_new();
  pd_flag_def small = plain("one");
  const pd_flag_def *listed[] = {&small, &small};
  pd_module_record record = {.defs = listed, .defs_end = listed + 2};
  pd__report report = {.list = errors, .first = &err};
  pd_module *module = own_module();
  small.size = 8;
  pd__platform_lock();
  pd__defs *defs = pd__defs_read(&record, (pd__runtime_defs){NULL, NULL}, module, "beta", &report);
  pd__platform_unlock();
  CHECK(defs && defs->count == 0 && report.status == PD_ERR_ABI);
  CHECK(pd_error_list_count(errors) == 2);
  for (size_t i = 0; i < 2; i++) {
    CHECK(strstr(pd_error_list_at(errors, i)->message, "a definition has 8 bytes, expected "));
  }
  pd__defs_free_list(&defs);
  CHECK(!defs);
  pd_error_list_free(errors);
}

/* ---- Operations ---- */

typedef void (*any_function)(void);
static double native(double x) { return x; }

/* Their room is allocated for as many as there are. */
TEST(each_of_many_late_operations_joins) {
  static const pd_op_signature signature = {
      "sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  static pd_op_def ops[64];
  static char names[64][8];
  static pd_late_def chain[64];
  begin();
  pd_flag_def one = plain("one");
  leave_record();
  for (int i = 0; i < 64; i++) {
    snprintf(names[i], sizeof names[i], "n%d", i);
    ops[i] = (pd_op_def){.size = sizeof ops[i], .kind = PD_KIND_IMPL, .name = names[i]};
    ops[i].file = "a.c";
    ops[i].signature = &signature;
    ops[i].choice = (pd_op_choice){(any_function)native, i, NULL};
    chain[i] = (pd_late_def){.size = sizeof chain[i]};
    chain[i].def = (const pd_flag_def *)(const void *)&ops[i];
    chain[i].next = i > 0 ? &chain[i - 1] : NULL;
  }
  pd__module_v1.late = &chain[63];
  CHECK_OK(JOIN(&one));
  pd_op *op;
  pd_op_info info = {.size = sizeof info};
  CHECK_OK(pd_op_find("sum", NULL, &op, &err));
  CHECK_OK(pd_op_get_info(op, &info, &err));
  CHECK(info.impls == 64);
}
