/* Records of operations and of flags that join together. */
#include <unistd.h>

#include "joined.h"

enum { MOST = 8 };

typedef void (*any_function)(void);
static double native(double x) { return x; }
static double fast(double x) { return x + 1; }

static char names[MOST][PD_NAME_MAX + 1];
static pd_op_signature signatures[MOST];
static any_function slots[MOST];
static pd_op_def ops[MOST];
static size_t op_count;

/* Adds the definition of an operation to the next record. Its line is its number. */
static pd_op_def *add_op(const char *name) {
  size_t i = op_count++;
  snprintf(names[i], sizeof *names, "%s", name);
  signatures[i] = (pd_op_signature){names[i], "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  ops[i] = (pd_op_def){.size = sizeof(pd_op_def),
                       .line = (uint32_t)i + 1,
                       .kind = PD_KIND_OP,
                       .name = "native",
                       .file = "ops.c",
                       .signature = &signatures[i],
                       .slot = &slots[i],
                       .choice = {(any_function)native, 0, NULL}};
  return &ops[i];
}

/* Joins the operations and the flags. Returns the status. */
static pd_status join_with(const pd_flag_def *const *defs, size_t count) {
  const pd_host *host = get_host();
  leave_record();
  for (size_t i = 0; i < count; i++) {
    joined_copies[i] = *defs[i];
    joined[i] = &joined_copies[i];
  }
  for (size_t i = 0; i < op_count; i++) {
    joined[count + i] = (const pd_flag_def *)(const void *)&ops[i];
  }
  pd__module_v1.defs = joined;
  pd__module_v1.defs_end = joined + count + op_count;
  host->module_join(&pd__module_v1);
  op_count = 0;
  return read_join_errors();
}

#define JOIN_WITH(...)                                                                             \
  join_with((const pd_flag_def *const[]){__VA_ARGS__},                                             \
            sizeof((const pd_flag_def *const[]){__VA_ARGS__}) / sizeof(pd_flag_def *))

static pd_flag_def at_line(pd_type type, const char *name, uint32_t line) {
  pd_flag_def def = definition(type, name);
  def.file = "flags.c";
  def.line = line;
  return def;
}

/* ---- Flags beside operations ---- */

TEST(flags_of_other_names_join_beside_an_operation) {
  pd_flag_def one = at_line(PD_TYPE_int32, "impl.other", 1);
  pd_flag_def two = at_line(PD_TYPE_int32, "sum", 2);
  pd_flag_def import = at_line(PD_TYPE_string, "impl.sum", 3);
  import.kind = PD_KIND_IMPORT;
  add_op("sum");
  CHECK_OK(JOIN_WITH(&one, &two, &import));
  CHECK(pd_error_list_count(join_errors) == 0);
  CHECK(is_defined("impl.other") && is_defined("sum") && is_defined("impl.sum"));
}

static void refuse_flag(pd_flag_def def, const char *name) {
  char message[200];
  pd_flag_def before = at_line(PD_TYPE_int32, "before", 1);
  snprintf(message, sizeof message,
           "flag '%s', flags.c:2: operation 'sum' of the same module has a flag of that name",
           name);
  add_op("sum");
  add_op("sum")->kind = PD_KIND_IMPL;
  ops[1].name = "fast";
  CHECK(JOIN_WITH(&before, &def) == PD_ERR_CONFLICT);
  CHECK_STR(join_error(0), message);
  CHECK(!is_defined("before") && !is_defined("impl.sum"));
}

TEST(any_flag_of_the_name_that_an_operation_beside_it_needs_is_refused) {
  pd_flag_def def = at_line(PD_TYPE_string, "impl.sum", 2);
  refuse_flag(def, "impl.sum");
  def.name = "other";
  def.aliases = "impl.sum|another";
  refuse_flag(def, "other");
  def.aliases = "another|impl.sum";
  refuse_flag(def, "other");
}

TEST(the_longest_names_of_operations_are_compared_to_their_end) {
  char name[PD_NAME_MAX - 4];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = '\0';
  name[3] = '_';
  add_op(name);
  name[3] = '-';
  add_op(name);
  CHECK(join_with(NULL, 0) == PD_ERR_CONFLICT);
  CHECK(strstr(join_error(0), "and both would have the flag"));
  name[sizeof name - 2] = 'm';
  add_op(name);
  name[3] = '_';
  name[sizeof name - 2] = 'n';
  add_op(name);
  CHECK_OK(join_with(NULL, 0));
}

TEST(every_operation_of_a_record_is_checked) {
  define_flag(PD_TYPE_string, "impl.second");
  add_op("first");
  add_op("second");
  CHECK(join_with(NULL, 0) == PD_ERR_CONFLICT);
  CHECK_STR(join_error(0),
            "operation 'second' needs the flag 'impl.second', which is already defined otherwise");
  CHECK(!is_defined("impl.first"));
}

/* ---- What is chosen ---- */

static int asked;
static const char *is_usable(void) {
  asked++;
  return NULL;
}

static void add_fast(const char *name) {
  pd_op_def *def = add_op(name);
  def->kind = PD_KIND_IMPL;
  def->name = "fast";
  def->choice = (pd_op_choice){(any_function)fast, 9, is_usable};
}

TEST(a_value_that_waits_decides_who_is_asked_before_a_module_joins) {
  static const pd_origin file = {PD_SOURCE_FILE, 0, NULL, 0};
  CHECK_OK(pd_pending_set("impl.sum", "native", &file, &err));
  add_op("sum");
  add_fast("sum");
  CHECK_OK(join_with(NULL, 0));
  CHECK(asked == 0 && slots[0] == (any_function)native);
  CHECK_OK(pd_flag_set_by_name("impl.sum", "*", &err));
  CHECK(asked == 1 && slots[0] == (any_function)fast);
}

TEST(operations_that_come_again_in_another_order_are_chosen) {
  static const char *const orders[][3] = {{"one", "two", "three"},
                                          {"two", "one", "three"},
                                          {"three", "two", "one"},
                                          {"one", "three", "two"}};
  alarm(240);
  for (int i = 0; i < 4; i++) {
    for (int k = 0; k < 3; k++) add_op(orders[i][k]);
    CHECK_OK(join_with(NULL, 0));
    for (int k = 0; k < 3; k++) CHECK(slots[k] == (any_function)native);
    CHECK(is_defined("impl.one") && is_defined("impl.two") && is_defined("impl.three"));
  }
}
