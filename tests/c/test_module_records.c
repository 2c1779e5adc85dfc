/* What a module's record may hold: definitions in any order, operations, late definitions. */
#include <pd_flags.h>
#include <pd_flags/late.h>

#include "joined.h"

static pd_flag_def at_line(const char *name, const char *file, uint32_t line) {
  pd_flag_def def = definition(PD_TYPE_int64, name);
  def.file = file;
  def.line = line;
  return def;
}

/* The names of the module's flags, in their order. */
static const char *list_names(void) {
  static char names[512];
  pd_flag *flag = NULL;
  *names = '\0';
  for (size_t i = 0; pd_module_get_flag(own_module(), i, &flag, NULL) == PD_OK; i++) {
    strcat(strcat(names, i ? " " : ""), flag_info(flag).name);
  }
  return names;
}

/* ---- Order ---- */

TEST(flags_are_listed_by_line_in_whatever_order_the_compiler_emits_them) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("two", "a.c", 2);
  pd_flag_def three = at_line("three", "a.c", 3);
  CHECK_OK(JOIN(&one, &two, &three));
  CHECK_STR(list_names(), "one two three");
  CHECK_OK(JOIN(&three, &two, &one));
  CHECK_STR(list_names(), "one two three");
  CHECK_OK(JOIN(&two, &three, &one));
  CHECK_STR(list_names(), "one two three");
  CHECK_OK(JOIN(&two, &one, &three));
  CHECK_STR(list_names(), "one two three");
}

TEST(flags_of_one_line_keep_their_order) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("two", "a.c", 1);
  pd_flag_def three = at_line("three", "a.c", 3);
  CHECK_OK(JOIN(&one, &two));
  CHECK_STR(list_names(), "one two");
  CHECK_OK(JOIN(&three, &one, &two));
  CHECK_STR(list_names(), "one two three");
}

TEST(each_file_is_sorted_by_itself) {
  char copy[] = "a.c";
  pd_flag_def one = at_line("one", "a.c", 7), two = at_line("two", copy, 8);
  pd_flag_def three = at_line("three", "b.c", 1), four = at_line("four", "b.c", 2);
  CHECK_OK(JOIN(&two, &one, &four, &three));
  CHECK_STR(list_names(), "one two three four");
  CHECK_OK(JOIN(&four, &three, &one, &two));
  CHECK_STR(list_names(), "three four one two");
  one.file = two.file = NULL;
  CHECK_OK(JOIN(&two, &one, &three));
  CHECK_STR(list_names(), "one two three");
  CHECK_OK(JOIN(&three, &two, &one));
  CHECK_STR(list_names(), "three one two");
}

/* ---- Reading ---- */

TEST(pointers_that_are_NULL_are_skipped) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("two", "a.c", 2);
  CHECK_OK(JOIN(NULL, &one, NULL, &two, NULL));
  CHECK_STR(list_names(), "one two");
}

TEST(a_definition_of_an_older_header_is_read_to_its_end) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("two", "a.c", 2);
  pd_flag *flag = NULL;
  one.size = (uint32_t)offsetof(pd_flag_def, validate);
  one.required = true;
  one.unit = "miles";
  CHECK_OK(JOIN(&one, &two));
  CHECK_OK(pd_module_get_flag(own_module(), 0, &flag, &err));
  pd_flag_info info = flag_info(flag);
  CHECK_STR(info.unit, "");
  CHECK(!info.required);
  one.size = 8;
  CHECK(JOIN(&one, &two) == PD_ERR_ABI);
  CHECK(strstr(join_error(0), "a definition has 8 bytes, expected "));
  CHECK(!is_defined("one") && !is_defined("two"));
}

TEST(every_definition_that_is_wrong_is_reported) {
  pd_flag_def one = at_line("9", "a.c", 1), two = at_line("two", "a.c", 2);
  pd_flag_def three = at_line("three", "a.c", 3);
  three.min.i64 = 5;
  CHECK(JOIN(&one, &two, &three) == PD_ERR_NAME);
  CHECK(pd_error_list_count(join_errors) == 2);
  CHECK(strstr(join_error(0), "a.c:1: definition of '9'"));
  CHECK(strstr(join_error(1), "a.c:3: definition of 'three'"));
  CHECK(!is_defined("two"));
}

TEST(the_flags_of_a_module_are_counted_from_0) {
  pd_flag_def one = at_line("one", "a.c", 1), import = at_line("import", "a.c", 2);
  pd_flag_def two = at_line("two", "a.c", 3);
  pd_flag *flag = NULL;
  import.kind = PD_KIND_IMPORT;
  CHECK_OK(JOIN(&one, &import, &two));
  CHECK_STR(list_names(), "one two");
  pd_module_info info = module_info(own_module());
  CHECK(info.flags == 2 && info.present && info.status == PD_OK);
  CHECK_STR(info.name_space, "");
  CHECK(pd_module_get_flag(own_module(), 2, &flag, &err) == PD_ERR_ARGUMENT);
  CHECK(strstr(err.message, "/program: has no flag 2"));
  CHECK_STATUS(pd_module_get_flag(NULL, 0, &flag, &err), PD_ERR_ARGUMENT, "module is NULL");
  CHECK_STATUS(pd_module_get_flag(own_module(), 0, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");
  CHECK_STATUS(pd_module_get_info(NULL, &info, &err), PD_ERR_ARGUMENT, "module is NULL");
  CHECK_STATUS(pd_module_get_errors(NULL, join_errors, &err), PD_ERR_ARGUMENT, "module is NULL");
  leave_record();
  info = module_info(own_module());
  CHECK(info.flags == 0 && !info.present);
}

/* ---- Other ABIs ---- */

static char warned[1100];
static int warnings;
static void note_warning(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_REFUSED && !context);
  warnings++;
  snprintf(warned, sizeof warned, "%s", message);
}

static void refuse_record(const char *message) {
  pd_error_list *errors = pd_error_list_new();
  pd_flag_def one = at_line("one", "a.c", 1);
  CHECK(JOIN(&one) == PD_ERR_ABI);
  CHECK(pd_error_list_count(join_errors) == 1 && strstr(join_error(0), message));
  CHECK(!is_defined("one") && !pd__module_v1.host);
  CHECK(pd_modules_check(errors, &err) == PD_ERR_ABI && strstr(err.message, message));
  CHECK(pd_error_list_count(errors) == 1);
  pd_error_list_free(errors);
}

TEST(a_record_of_another_abi_or_size_is_refused) {
  uint32_t size = pd__module_v1.size;
  leave_record(); /* which would take the handler along */
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  pd__module_v1.abi = 99;
  refuse_record("/program: built for ABI version 99, expected 1");
  CHECK(warnings == 1);
  CHECK(strstr(warned, ": was refused, and its own code sees only defaults: "));
  pd__module_v1.abi = PD_ABI_VERSION;
  pd__module_v1.size = 8;
  refuse_record("/program: its module record has 8 bytes, expected ");
  pd_flag_def one = at_line("one", "a.c", 1);
  pd__module_v1.size = (uint32_t)offsetof(pd_module_record, late); /* the first version */
  CHECK_OK(JOIN(&one));
  pd__module_v1.size = size;
  CHECK_OK(JOIN(&one));
  CHECK_OK(pd_modules_check(NULL, &err));
}

/* ---- Operations ---- */

typedef void (*any_function)(void);
static double native(double x) { return x; }
static any_function slot = (any_function)native;
static pd_op_signature signature = {"sum", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};

static pd_op_def op_at_line(pd_kind kind, uint32_t line) {
  return (pd_op_def){.size = sizeof(pd_op_def),
                     .line = line,
                     .kind = (uint8_t)kind,
                     .name = "native",
                     .file = "a.c",
                     .signature = &signature,
                     .slot = &slot,
                     .choice = {(any_function)native, 0, NULL}};
}

/* The record has this operation and this flag. */
static pd_status join_op(const pd_op_def *op, const pd_flag_def *flag) {
  static pd_op_def kept;
  static pd_flag_def kept_flag;
  const pd_host *host = get_host();
  leave_record();
  kept = *op;
  joined[0] = (const pd_flag_def *)(const void *)&kept;
  if (flag) kept_flag = *flag;
  joined[1] = flag ? &kept_flag : NULL;
  pd__module_v1.defs = joined;
  pd__module_v1.defs_end = joined + 2;
  host->module_join(&pd__module_v1);
  return read_join_errors();
}

static void refuse_op(pd_op_def op, pd_status status, const char *message) {
  pd_flag_def flag = at_line("one", "a.c", 9);
  CHECK(join_op(&op, &flag) == status);
  CHECK_STR(join_error(0), message);
  CHECK(!is_defined("one") && !is_defined("impl.sum"));
}

TEST(operations_stand_among_the_flags_of_a_record) {
  for (pd_kind kind = PD_KIND_OP; kind <= PD_KIND_IMPL; kind++) {
    pd_op_def op = op_at_line(kind, 3);
    pd_flag_def flag = at_line("one", "a.c", 1);
    if (kind == PD_KIND_IMPL) op.slot = NULL;
    CHECK_OK(join_op(&op, &flag));
    CHECK_STR(list_names(), "one");
    CHECK(is_defined("impl.sum"));
  }
}

TEST(a_record_of_an_operation_is_checked) {
  pd_op_def op = op_at_line(PD_KIND_OP, 3);
  op.name = "9";
  refuse_op(op, PD_ERR_NAME,
            "a.c:3: operation 'sum': expected an implementation whose name is one of letters, "
            "digits, _ . -");
  op = op_at_line(PD_KIND_OP, 3);
  op.size = 16;
  CHECK(join_op(&op, NULL) == PD_ERR_ABI);
  CHECK(strstr(join_error(0), "an operation's record has 16 bytes, expected "));
}

TEST(native_code_has_a_function_and_a_slot_and_no_objects) {
  pd_op_def op = op_at_line(PD_KIND_IMPL, 3);
  op.choice.function = NULL;
  refuse_op(op, PD_ERR_ARGUMENT, "a.c:3: operation 'sum': the function is NULL");
  for (pd_kind kind = PD_KIND_OP; kind < PD_KIND_IMPL; kind++) {
    op = op_at_line(kind, 3);
    op.slot = NULL;
    refuse_op(op, PD_ERR_ARGUMENT, "a.c:3: operation 'sum': the slot is NULL");
  }
  signature.types[1] = PD_CODE_OBJECT;
  refuse_op(op_at_line(PD_KIND_OP, 3), PD_ERR_ARGUMENT,
            "a.c:3: operation 'sum': expected no objects of another language");
}

TEST(a_module_may_import_the_flag_of_its_operation_as_text_only) {
  static const char *text;
  static int64_t number;
  pd_op_def op = op_at_line(PD_KIND_OP, 3);
  pd_flag_def import = definition(PD_TYPE_string, "impl.sum"),
              other = at_line("impl.sum", "a.c", 4);
  import.kind = other.kind = PD_KIND_IMPORT;
  import.cell = &text;
  other.cell = &number;
  CHECK_OK(join_op(&op, &import));
  CHECK_STR(text, "*");
  CHECK(join_op(&op, &other) == PD_ERR_CONFLICT);
  CHECK_STR(join_error(0),
            "flag 'impl.sum', a.c:4: operation 'sum' of the same module has a flag of that name");
  other = at_line("one", "a.c", 4);
  other.aliases = "impl.sum";
  CHECK(join_op(&op, &other) == PD_ERR_CONFLICT);
  CHECK_STR(join_error(0),
            "flag 'one', a.c:4: operation 'sum' of the same module has a flag of that name");
  other.aliases = "impl.product|impl";
  CHECK_OK(join_op(&op, &other));
}

TEST(a_module_whose_own_names_clash_is_compared_with_no_other_one) {
  pd_op_def op = op_at_line(PD_KIND_OP, 3);
  pd_flag_def flag = at_line("one", "a.c", 4);
  flag.aliases = "impl.sum";
  define_flag(PD_TYPE_bool, "one");
  CHECK(join_op(&op, &flag) == PD_ERR_CONFLICT);
  CHECK(pd_error_list_count(join_errors) == 1);
  CHECK_STR(join_error(0),
            "flag 'one', a.c:4: operation 'sum' of the same module has a flag of that name");
}

TEST(a_flag_of_the_name_of_an_operation_of_another_module_is_defined_already) {
  pd_op_def op = op_at_line(PD_KIND_IMPL, 3);
  op.slot = NULL;
  op.choice.function = NULL; /* or it would leave with the record */
  CHECK_OK(pd_impl_register(&op, NULL, &err));
  pd_flag_def flag = at_line("impl.sum", "a.c", 4);
  CHECK(JOIN(&flag) == PD_ERR_CONFLICT);
  CHECK(strstr(join_error(0), "'impl.sum' is already defined, string; refused: int64 at a.c:4"));
}

/* ---- Late definitions ---- */

static pd_late_def lates[4];
static pd_flag_def late_defs[4];

static pd_status define_late(int i, const pd_flag_def *def) {
  late_defs[i] = *def;
  lates[i] = (pd_late_def){.size = sizeof lates[i], .def = &late_defs[i]};
  return pd_late_define(&lates[i], &err);
}

TEST(late_definitions_join_one_by_one_and_again_with_their_record) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("two", "a.c", 2);
  CHECK_OK(JOIN(&one));
  CHECK_OK(define_late(0, &two));
  CHECK(is_defined("two") && lates[0].flag && lates[0].seen && !lates[0].why);
  two.name = "three";
  CHECK_OK(define_late(1, &two));
  CHECK(is_defined("three") && lates[1].flag != lates[0].flag);
  CHECK_STR(list_names(), "one two three");
  CHECK_OK(JOIN(&one));
  CHECK(is_defined("one") && is_defined("two") && is_defined("three"));
  for (int i = 0; i < 2; i++) {
    pd_flag *flag = find_flag(late_defs[i].name);
    CHECK(lates[i].flag == flag);
  }
  leave_record();
  CHECK(!is_defined("one") && !is_defined("two") && !is_defined("three"));
}

TEST(a_late_definition_that_is_refused_is_a_warning_and_the_module_stays) {
  pd_flag_def one = at_line("one", "a.c", 1), two = at_line("one", "b.c", 2);
  pd_error_list *errors = pd_error_list_new();
  CHECK_OK(JOIN(&one));
  CHECK_OK(pd_warning_handle(note_warning, NULL, &err));
  CHECK(define_late(0, &two) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "'one' is already defined, int64 at a.c:1"));
  CHECK(!lates[0].flag && lates[0].status == PD_ERR_CONFLICT && lates[0].why);
  CHECK(warnings == 1);
  CHECK(strstr(warned, ": a flag was refused, and its own code sees only the default: 'one' is"));
  two.name = "9";
  CHECK(define_late(1, &two) == PD_ERR_NAME);
  CHECK(warnings == 1);
  CHECK(pd_modules_check(errors, &err) == PD_ERR_CONFLICT);
  CHECK(pd_error_list_count(errors) == 2);
  CHECK(read_join_errors() == PD_OK && pd_error_list_count(join_errors) == 2);
  CHECK(is_defined("one"));
  two.name = "two";
  CHECK_OK(define_late(2, &two));
  CHECK(is_defined("two"));
  pd_error_list_free(errors);
}

TEST(late_definitions_of_a_refused_module_are_refused) {
  pd_flag_def one = at_line("9", "a.c", 1), two = at_line("two", "a.c", 2);
  CHECK(JOIN(&one) == PD_ERR_NAME);
  CHECK(define_late(0, &two) == PD_ERR_NAME);
  CHECK_STR(err.message, "its module was refused");
  CHECK(!is_defined("two"));
  one.name = "one";
  CHECK_OK(JOIN(&one));
  CHECK(is_defined("one") && is_defined("two"));
}

TEST(a_late_import_has_no_flag) {
  static int64_t cell = 1;
  pd_flag_def one = at_line("one", "a.c", 1), import = at_line("one", "a.c", 2);
  CHECK_OK(JOIN(&one));
  import.kind = PD_KIND_IMPORT;
  import.cell = &cell;
  CHECK_OK(define_late(0, &import));
  CHECK(!lates[0].flag && lates[0].seen && cell == 0);
}

TEST(a_late_definition_of_a_flag_that_is_there_in_the_same_way_is_that_flag) {
  pd_flag_def one = at_line("one", "a.c", 1);
  CHECK_OK(JOIN(&one));
  pd_flag *flag = find_flag("one");
  CHECK_OK(define_late(0, &one));
  CHECK(lates[0].flag == flag);
}

/* ---- The copy of the library ---- */

TEST(the_copy_that_hosts_the_registry_is_listed) {
  pd_copy_info info = {.size = sizeof info};
  CHECK_OK(pd_copy_get_info(0, &info, &err));
  CHECK(info.hosting && strstr(info.path, "libpd_flags.so"));
  CHECK_STR(info.version, pd_version());
  CHECK_STATUS(pd_copy_get_info(1, &info, &err), PD_ERR_ARGUMENT, "there is no copy 1");
  info.size = 1;
  CHECK(pd_copy_get_info(0, &info, &err) == PD_ERR_ARGUMENT);
}
