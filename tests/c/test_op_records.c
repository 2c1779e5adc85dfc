/* The records of operations and implementations: their checks, and what is listed of them. */
#include "registered_op.h"

static void refuse(pd_op_def def, pd_status status, const char *message) {
  pd_op *op;
  pd_impl number = 77;
  CHECK_STATUS(pd_impl_register(&def, &number, &err), status, message);
  CHECK(number == 77);
  CHECK(pd_op_find("sum", NULL, &op, NULL) == PD_ERR_UNDEFINED);
}

/* ---- Checks ---- */

static void refuse_kind(pd_kind kind) {
  refuse(op_def(kind, "native", op_one), PD_ERR_ABI,
         "ops.c:7: operation 'sum': its kind is unknown, expected a pd_kind");
}

TEST(a_record_has_one_of_three_kinds) {
  refuse_kind(PD_KIND_DEFINE);
  refuse_kind(PD_KIND_IMPORT);
  refuse_kind((pd_kind)(PD_KIND_IMPL + 1));
}

static void refuse_name(const char *name) {
  char message[600];
  op_signature.name = name;
  snprintf(message, sizeof message,
           "ops.c:7: operation '%.200s': expected a name of letters, digits, _ . - that begins "
           "with a letter or _",
           name ? name : "");
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_NAME);
  if (!name || strlen(name) < 100) CHECK_STR(err.message, message);
  op_signature.name = "sum";
}

TEST(an_operation_has_a_name_that_its_flag_can_have) {
  char name[PD_NAME_MAX + 1];
  refuse_name(NULL);
  refuse_name("");
  refuse_name("9");
  refuse_name("a b");
  memset(name, 'n', sizeof name);
  name[PD_NAME_MAX - 4] = '\0'; /* "impl." is longer */
  refuse_name(name);
  name[PD_NAME_MAX - 5] = '\0';
  op_signature.name = name;
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  add_op(&def);
  CHECK_STR(op_info(name).name, name);
}

TEST(a_record_needs_a_signature) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.signature = NULL;
  refuse(def, PD_ERR_NAME,
         "ops.c:7: operation '': expected a name of letters, digits, _ . - that begins with a "
         "letter or _");
}

static void refuse_signature(const char *text, const uint8_t *types, size_t count) {
  pd_op_signature changed = {.name = "sum", .text = text};
  memcpy(changed.types, types, count);
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.signature = &changed;
  refuse(def, PD_ERR_ARGUMENT,
         "ops.c:7: operation 'sum': expected a signature of codes with a 0 at its end");
}

TEST(a_signature_has_a_text_and_codes_with_an_end) {
  uint8_t types[sizeof op_signature.types] = {PD_CODE_DOUBLE};
  refuse_signature(NULL, types, 1);
  refuse_signature("void", types, 0);
  memset(types, PD_CODE_DOUBLE, sizeof types);
  refuse_signature("double", types, sizeof types);
  pd_op_signature longest = {.name = "sum", .text = "double"};
  memcpy(longest.types, types, sizeof types - 1);
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.signature = &longest;
  add_op(&def);
}

TEST(an_implementation_has_a_name) {
  static const char *const wrong[] = {NULL, "", "9", "a b"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    refuse(op_def(PD_KIND_IMPL, wrong[i], op_one), PD_ERR_NAME,
           "ops.c:7: operation 'sum': expected an implementation whose name is one of letters, "
           "digits, _ . -");
  }
}

TEST(the_size_of_a_record_is_that_of_a_version) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  char message[100];
  def.size = (uint32_t)offsetof(pd_op_def, about) - 1;
  snprintf(message, sizeof message, "an operation's record has %u bytes, expected %zu or more",
           def.size, offsetof(pd_op_def, about));
  refuse(def, PD_ERR_ABI, message);
  def.size = sizeof def + 1;
  snprintf(message, sizeof message,
           "an operation's record has %u bytes, expected a multiple of %zu", def.size,
           _Alignof(pd_op_def));
  refuse(def, PD_ERR_ABI, message);
}

TEST(a_message_shows_what_is_known_of_the_place) {
  pd_op_def def = op_def(PD_KIND_IMPL, "9", op_one);
  def.file = NULL;
  refuse(def, PD_ERR_NAME,
         ": operation 'sum': expected an implementation whose name is one of letters, digits, _ . "
         "-");
}

/* ---- Conflicts ---- */

static void refuse_twin(pd_op_def def) {
  pd_op_def first = op_def(PD_KIND_IMPL, "fast", op_two);
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "operation 'sum', double (double): implementation 'fast' is already "
                            "there, ops.c:7 in "));
  CHECK(strstr(err.message, "; refused: ") && first.line == 7);
  CHECK(op_info("sum").impls == 2);
}

TEST(only_the_same_line_may_bring_an_implementation_again) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "fast", op_two), other = def;
  pd_impl first = add_op(&def);
  other.line = 8;
  refuse_twin(other);
  other = def;
  other.file = "other.c";
  refuse_twin(other);
  other.file = NULL;
  refuse_twin(other);
  other = def;
  other.choice.rank = 1;
  refuse_twin(other);
  other = def;
  other.kind = PD_KIND_OP;
  refuse_twin(other);
  def.file = "elsewhere/ops.c";
  pd_impl second = add_op(&def);
  CHECK(op_info("sum").impls == 3);
  CHECK_OK(pd_impl_unregister(first, &err));
  CHECK_OK(pd_impl_unregister(second, &err));
  other.kind = PD_KIND_IMPL;
  other.line = 8;
  other.file = NULL;
  add_op(&other);
  CHECK(pd_impl_register(&other, NULL, &err) == PD_ERR_CONFLICT); /* of unknown places */
}

TEST(a_name_is_free_for_another_signature) {
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  define_op();
  pd_op_def def = op_def(PD_KIND_OP, "native", op_two);
  def.signature = &more;
  add_op(&def);
  def = op_def(PD_KIND_IMPL, "fast", op_two);
  add_op(&def);
  def.line = 9;
  def.signature = &more;
  add_op(&def);
  CHECK(op_info("sum").impls == 2);
}

TEST(an_implementation_of_a_signature_that_nobody_defines_is_refused) {
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "fast", op_two);
  def.signature = &more;
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "operation 'sum' has no signature float (float), which ops.c:7 in "));
  CHECK(strstr(err.message, "needs; it has *0: double (double) at ops.c:7"));
}

TEST(an_import_without_a_function_only_looks_on) {
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  any_function slot = NULL, other = NULL;
  pd_op_def import = op_def(PD_KIND_OP_IMPORT, "native", NULL);
  import.slot = &slot;
  add_op(&import);
  CHECK(!is_defined("impl.sum"));
  pd_op *op;
  CHECK(pd_op_find("sum", NULL, &op, NULL) == PD_ERR_UNDEFINED);
  pd_impl number = define_op();
  CHECK(is_defined("impl.sum") && slot == (any_function)op_one);
  import.signature = &more;
  import.slot = &other;
  add_op(&import); /* a signature that nobody defines */
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK(!is_defined("impl.sum") && !slot);
}

TEST(the_flag_of_an_operation_is_no_alias_of_another_flag) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "other", def.aliases = "impl.sum");
  refuse(op_def(PD_KIND_OP, "native", op_one), PD_ERR_CONFLICT,
         "operation 'sum' needs the flag 'impl.sum', which is already defined otherwise");
  CHECK_OK(pd_flag_unregister(flag, &err));
  define_op();
  CHECK(is_defined("impl.sum"));
}

TEST(an_operation_with_a_flag_of_nearly_the_name_is_refused) {
  op_signature.name = "to_sum";
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  pd_impl number = add_op(&def);
  op_signature.name = "to-sum";
  CHECK_STATUS(
      pd_impl_register(&def, NULL, &err), PD_ERR_CONFLICT,
      "operation 'to-sum' needs the flag 'impl.to-sum', which is already defined otherwise");
  static const char *const others[] = {"to_sun", "to_su", "to_sums", "tosum"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    op_signature.name = others[i];
    add_op(&def);
  }
  CHECK_OK(pd_impl_unregister(number, &err));
  op_signature.name = "to-sum";
  add_op(&def);
  CHECK(is_defined("impl.to-sum"));
}

TEST(all_texts_of_a_record_are_copied) {
  char name[] = "native", op_name[] = "sum", text[] = "double (double)", help[] = "Adds";
  char file[] = "ops.c", arrays[] = "f32[n]";
  pd_op_signature signature = op_signature;
  pd_op_def def = op_def(PD_KIND_OP, name, op_one);
  signature.name = op_name;
  signature.text = text;
  def.signature = &signature;
  def.about.help = help;
  def.about.arrays = arrays;
  def.file = file;
  add_op(&def);
  name[0] = op_name[0] = text[0] = help[0] = file[0] = arrays[0] = 'X';
  memset(&signature, 0x55, sizeof signature);
  pd_op_info info = op_info("sum");
  CHECK_STR(info.signature, "double (double)");
  CHECK_STR(info.help, "Adds");
  CHECK_STR(info.file, "ops.c");
  CHECK_STR(info.arrays, "f32[n]");
  CHECK_STR(impl_info("sum", 0).name, "native");
  pd_op_def twin = op_def(PD_KIND_IMPL, "native", op_one);
  CHECK(pd_impl_register(&twin, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(strstr(err.message, "ops.c:7"));
}

TEST(the_flag_of_a_plain_operation_has_no_variable) {
  define_op();
  CHECK(flag_info(op_info("sum").flag).cells == 0 && !op_info("sum").scoped);
}

/* ---- Slots ---- */

TEST(every_slot_has_the_choice_until_it_leaves) {
  any_function slots[3] = {0};
  pd_impl numbers[3];
  define_op();
  for (int i = 0; i < 3; i++) {
    pd_op_def def = op_def(PD_KIND_OP_IMPORT, "native", op_three);
    def.slot = &slots[i];
    numbers[i] = add_op(&def);
  }
  pd_impl fast = add_impl("fast", 5, op_two);
  for (int i = 0; i < 3; i++) CHECK(slots[i] == (any_function)op_two);
  CHECK_OK(pd_impl_unregister(numbers[1], &err)); /* from the middle of the list */
  CHECK(slots[1] == (any_function)op_three);
  CHECK_OK(pd_impl_unregister(fast, &err));
  CHECK(slots[0] == (any_function)op_one && slots[2] == (any_function)op_one);
  CHECK(slots[1] == (any_function)op_three && call_op() == 1);
  CHECK_OK(pd_impl_unregister(numbers[2], &err));
  CHECK_OK(pd_impl_unregister(numbers[0], &err));
  add_impl("faster", 6, op_two);
  CHECK(slots[0] == (any_function)op_three && slots[2] == (any_function)op_three);
  CHECK(call_op() == 2);
}

/* ---- Listings ---- */

TEST(what_is_known_of_an_implementation_is_listed) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "fast", op_two);
  def.choice.rank = -3;
  pd_impl number = add_op(&def);
  pd_impl_info impl = impl_info("sum", 1);
  CHECK_STR(impl.name, "fast");
  CHECK_STR(impl.file, "ops.c");
  CHECK_STR(impl.why, "after 'native' in the order");
  CHECK(impl.line == 7 && impl.rank == -3 && !impl.native && !impl.chosen && impl.index == 1);
  CHECK(impl.function == (any_function)op_two && impl.number == number && impl.module);
  impl = impl_info("sum", 0);
  CHECK(impl.native && impl.chosen && impl.index == 0 && impl.rank == 0);
  CHECK_STR(impl.why, "chosen");
}

TEST(what_is_known_of_an_operation_is_listed) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  def.about.help = "Adds";
  add_op(&def);
  pd_op_info info = op_info("sum");
  CHECK_STR(info.help, "Adds");
  CHECK_STR(info.file, "ops.c");
  CHECK_STR(info.signature, "double (double)");
  CHECK(info.line == 7 && info.module && !info.scoped && info.impls == 1 && info.winner == 0);
  CHECK(info.types[0] == PD_CODE_DOUBLE && info.types[1] == PD_CODE_DOUBLE && !info.types[2]);
}

TEST(an_operation_that_nobody_defines_has_only_its_implementations) {
  pd_op_def def = op_def(PD_KIND_IMPL, "foreign", NULL);
  add_op(&def);
  pd_op_info info = op_info("sum");
  CHECK_STR(info.help, "");
  CHECK_STR(info.file, "");
  CHECK(info.line == 0 && !info.module && info.impls == 1 && info.winner == 1);
  CHECK_STR(impl_info("sum", 0).why, "is not native code: modules don't call it");
}

TEST(an_unknown_operation_is_told_with_the_nearest_name) {
  pd_op *op;
  define_op();
  CHECK_STATUS(pd_op_find("sun", NULL, &op, &err), PD_ERR_UNDEFINED,
               "operation 'sun' is not defined; did you mean 'sum'?");
  CHECK_STATUS(pd_op_find("product", op_signature.types, &op, &err), PD_ERR_UNDEFINED,
               "operation 'product' is not defined");
  op_signature.name = "sup"; /* as near as "sum", and later */
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
  pd_impl number = add_op(&def);
  CHECK_STATUS(pd_op_find("sun", NULL, &op, &err), PD_ERR_UNDEFINED,
               "operation 'sun' is not defined; did you mean 'sum'?");
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK_STATUS(pd_op_find("supp", NULL, &op, &err), PD_ERR_UNDEFINED,
               "operation 'supp' is not defined; did you mean 'sum'?");
}

TEST(missing_arguments_are_reported) {
  pd_op *op = NULL;
  pd_op_info info = {.size = 1};
  pd_impl_info impl = {.size = 1};
  define_op();
  CHECK_STATUS(pd_op_find(NULL, NULL, &op, &err), PD_ERR_ARGUMENT, "name is NULL");
  CHECK_STATUS(pd_op_find("sum", NULL, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");
  op = find_op("sum", NULL);
  CHECK_STATUS(pd_op_get_info(NULL, &info, &err), PD_ERR_ARGUMENT, "op is NULL");
  CHECK(pd_op_get_info(op, &info, &err) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_op_get_impl(NULL, 0, &impl, &err), PD_ERR_ARGUMENT, "op is NULL");
  CHECK(pd_op_get_impl(op, 0, &impl, &err) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_op_choose(NULL, &impl, &err), PD_ERR_ARGUMENT, "op is NULL");
  CHECK(pd_op_choose(op, &impl, &err) == PD_ERR_ARGUMENT);
  CHECK_STATUS(pd_op_check_again(NULL, &err), PD_ERR_ARGUMENT, "op is NULL");
  CHECK_STATUS(pd_impl_register(NULL, NULL, &err), PD_ERR_ARGUMENT, "def is NULL");
  CHECK_STATUS(pd_impl_unregister(99, &err), PD_ERR_ARGUMENT,
               "there is no registered implementation 99");
  impl.size = sizeof impl;
  CHECK_STATUS(pd_op_get_impl(op, 1, &impl, &err), PD_ERR_ARGUMENT,
               "operation 'sum' has no implementation 1");
  CHECK(pd_op_get_impl(op, 5, &impl, &err) == PD_ERR_ARGUMENT);
}

TEST(operations_are_listed_signature_by_signature) {
  static const char *const expected[] = {"double (double)", "float (float)", "double (double)"};
  pd_op_signature more = {"sum", "float (float)", {PD_CODE_FLOAT, PD_CODE_FLOAT}};
  pd_op_signature other = {"twice", "double (double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  pd_op_signature *all[] = {&op_signature, &other, &more};
  CHECK(!pd_op_next(NULL));
  for (int i = 0; i < 3; i++) {
    pd_op_def def = op_def(PD_KIND_OP, "native", op_one);
    def.signature = all[i];
    add_op(&def);
  }
  pd_op *op = NULL;
  for (int i = 0; i < 3; i++) {
    pd_op_info info = {.size = sizeof info};
    op = pd_op_next(op);
    CHECK_OK(pd_op_get_info(op, &info, &err));
    CHECK_STR(info.signature, expected[i]);
    CHECK_STR(info.name, i < 2 ? "sum" : "twice");
    CHECK(op == find_op(info.name, info.types));
  }
  CHECK(!pd_op_next(op));
  static const uint8_t wrong[] = {PD_CODE_DOUBLE, 0};
  CHECK(pd_op_find("sum", wrong, &op, &err) == PD_ERR_TYPE);
  CHECK(strstr(err.message, "operation 'sum' has no such signature; *0: double (double): native of "
                            "rank 0 at ops.c:7 in "));
  CHECK(strstr(err.message, " (chosen); *1: float (float): native of rank 0 at ops.c:7"));
}

/* ---- What a record may lack ---- */

TEST(an_older_record_is_read_to_its_end) {
  pd_op_def def = op_def(PD_KIND_OP, "native", op_one),
            newer = op_def(PD_KIND_IMPL, "fast", op_two);
  newer.about.help = "Adds";
  newer.about.arrays = "f32[n]";
  CHECK(pd_impl_register(&newer, NULL, &err) == PD_OK); /* leaves its texts on the stack */
  def.size = offsetof(pd_op_def, about);
  def.about = newer.about;
  add_op(&def);
  pd_op_info info = op_info("sum");
  CHECK(info.impls == 2);
  CHECK_STR(info.help, "");
}

TEST(a_line_of_an_unknown_file_is_another_one) {
  pd_op_def def = op_def(PD_KIND_IMPL, "fast", op_two);
  define_op();
  def.file = NULL;
  add_op(&def);
  def.file = "ops.c";
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(op_info("sum").impls == 2);
}

TEST(the_flag_of_an_operation_says_what_it_is_for) {
  define_op();
  pd_flag_info info = flag_info(op_info("sum").flag);
  CHECK_STR(info.help, "which implementation of sum runs, in order of preference");
  CHECK_STR(info.category, "implementations");
}

TEST(a_scoped_slot_that_has_left_asks_no_scope) {
  pd_scoped_slot slot = {.function = (any_function)op_three};
  pd_op_def def = op_def(PD_KIND_OP_IMPORT, "native", op_three);
  def.scoped = true;
  def.slot = &slot.function;
  pd_impl number = add_op(&def);
  add_impl("fast", 1, op_two);
  CHECK(slot.find && slot.function == (any_function)op_two);
  CHECK_OK(pd_impl_unregister(number, &err));
  CHECK(!slot.find && slot.function == (any_function)op_three);
}

TEST(a_refused_record_has_no_number) {
  pd_op_def def = op_def(PD_KIND_IMPL, "native", op_two);
  pd_impl last = define_op();
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  CHECK(pd_impl_unregister(last + 1, NULL) == PD_ERR_ARGUMENT);
  CHECK_OK(pd_impl_unregister(last, &err));
}

TEST(a_choice_without_room_for_it_asks_nobody) {
  define_op();
  pd_op_def def = op_def(PD_KIND_IMPL, "foreign", NULL);
  def.choice.rank = 5;
  def.choice.usable = (const char *(*)(void))(any_function)abort;
  pd_impl_info impl = {.size = 1};
  add_op(&def);
  CHECK(pd_op_choose(find_op("sum", NULL), &impl, &err) == PD_ERR_ARGUMENT);
}
