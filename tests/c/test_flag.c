#include "check.h"

TEST(a_flag_is_found_by_its_name) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "here");
  CHECK(find_flag("here") == flag);
}

TEST(all_flags_are_met_in_order_also_those_that_come_meanwhile) {
  CHECK(!pd_flag_next(NULL));
  pd_flag *a = define_flag(PD_TYPE_bool, "a"), *b = define_flag(PD_TYPE_bool, "b");
  CHECK(pd_flag_next(NULL) == a);
  CHECK(pd_flag_next(a) == b);
  CHECK(!pd_flag_next(b));
  pd_flag *c = define_flag(PD_TYPE_bool, "c");
  CHECK(pd_flag_next(b) == c);
}

TEST(a_name_that_was_refused_or_is_an_alias_is_not_listed) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  pd_flag *flag;
  def.aliases = "lvl";
  def.default_value.i64 = INT64_MAX;
  CHECK(pd_flag_register(&def, &flag, NULL) == PD_ERR_RANGE);
  def.default_value.i64 = 0;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  pd_flag *last = define_flag(PD_TYPE_bool, "last");
  CHECK(pd_flag_next(NULL) == flag && pd_flag_next(flag) == last && !pd_flag_next(last));
}

#define CHECK_TYPED(type, ctype, number, other_type)                                               \
  do {                                                                                             \
    pd_flag *flag = define_flag(PD_TYPE_##type, #type);                                            \
    ctype value = 0;                                                                               \
    CHECK_OK(pd_flag_set_##type(flag, (ctype)number, &err));                                       \
    CHECK_OK(pd_flag_get_##type(flag, &value, &err));                                              \
    CHECK(value == (ctype)number);                                                                 \
    CHECK(*(const ctype *)pd_flag_get_address(flag) == (ctype)number);                             \
    CHECK_STATUS(pd_flag_get_##other_type(flag, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");      \
    CHECK_STATUS(pd_flag_set_##other_type(flag, 0, &err), PD_ERR_TYPE,                             \
                 #type ": is " #type ", not " #other_type);                                        \
    CHECK_OK(pd_flag_get_##type(flag, &value, &err));                                              \
    CHECK(value == (ctype)number);                                                                 \
  } while (0)
TEST(every_type_is_set_and_read_as_itself_and_as_nothing_else) {
  CHECK_TYPED(bool, bool, true, int32);
  CHECK_TYPED(int32, int32_t, INT32_MIN, int64);
  CHECK_TYPED(uint32, uint32_t, UINT32_MAX, int32);
  CHECK_TYPED(int64, int64_t, INT64_MIN, uint64);
  CHECK_TYPED(uint64, uint64_t, UINT64_MAX, double);
  CHECK_TYPED(double, double, 0.1, bool);

  pd_flag *flag = define_flag(PD_TYPE_string, "string");
  const char *value = NULL;
  CHECK_OK(pd_flag_set_string(flag, "text", &err));
  CHECK_OK(pd_flag_get_string(flag, &value, &err));
  CHECK_STR(value, "text");
  CHECK_STATUS(pd_flag_set_double(flag, 0, &err), PD_ERR_TYPE, "string: is string, not double");
}

#define CHECK_GET(type, number, ctype, member)                                                     \
  {                                                                                                \
    ctype out = 0;                                                                                 \
    CHECK_STATUS(pd_flag_get_##type(NULL, &out, &err), PD_ERR_ARGUMENT, "flag is NULL");           \
    CHECK_STATUS(pd_flag_get_##type(flag, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");            \
    CHECK_STATUS(pd_flag_set_##type(NULL, out, &err), PD_ERR_ARGUMENT, "flag is NULL");            \
  }
TEST(null_is_refused_everywhere) {
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  pd_flag_info info = {.size = sizeof info};
  pd_flag_entry entry = {.size = sizeof entry};
  char *argv[] = {NULL};
  int argc = 0;
  PD_TYPE_MAP(CHECK_GET)
#define NULL_GIVES(call, message) CHECK_STATUS(call, PD_ERR_ARGUMENT, message)
  NULL_GIVES(pd_flag_register(NULL, &flag, &err), "def is NULL");
  NULL_GIVES(pd_flag_find(NULL, &flag, &err), "name is NULL");
  NULL_GIVES(pd_flag_find("s", NULL, &err), "out is NULL");
  NULL_GIVES(pd_flag_get_info(NULL, &info, &err), "flag is NULL");
  NULL_GIVES(pd_flag_get_info(flag, NULL, &err), "info is NULL");
  NULL_GIVES(pd_flag_get_entry(NULL, 0, &entry, &err), "flag is NULL");
  NULL_GIVES(pd_flag_get_entry(flag, 0, NULL, &err), "entry is NULL");
  NULL_GIVES(pd_flag_get_text(NULL, NULL, 0, NULL, &err), "flag is NULL");
  NULL_GIVES(pd_flag_get_text(flag, NULL, 1, NULL, &err), "buffer is NULL");
  NULL_GIVES(pd_flag_set_string(flag, NULL, &err), "s: the value is NULL, expected text");
  NULL_GIVES(pd_flag_set_from_string(NULL, "x", &err), "flag is NULL");
  NULL_GIVES(pd_flag_set_from_string(flag, NULL, &err), "text is NULL");
  NULL_GIVES(pd_flag_set_by_name(NULL, "x", &err), "name is NULL");
  NULL_GIVES(pd_flag_set_by_name("s", NULL, &err), "text is NULL");
  NULL_GIVES(pd_flag_reset(NULL, &err), "flag is NULL");
  NULL_GIVES(pd_flag_freeze(NULL, &err), "flag is NULL");
  NULL_GIVES(pd_flag_unfreeze(NULL, &err), "flag is NULL");
  NULL_GIVES(pd_parse_argv(NULL, argv, NULL, &err), "argc is NULL");
  NULL_GIVES(pd_parse_argv(&argc, NULL, NULL, &err), "argv is NULL");
  NULL_GIVES(pd_module_load(NULL, NULL, NULL, &err), "path is NULL");
  NULL_GIVES(pd_module_unload(NULL, &err), "module is NULL");
  NULL_GIVES(pd_module_get_info(NULL, NULL, &err), "module is NULL");
  NULL_GIVES(pd_module_get_errors(NULL, NULL, &err), "module is NULL");
  pd_assignment item = {.flag = flag, .text = "x"};
  pd_override override;
  pd_scope scope;
  pd_scope_context *context;
  NULL_GIVES(pd_batch_set(NULL, 1, NULL, NULL, &err), "items is NULL");
  NULL_GIVES(pd_override_push(NULL, 1, NULL, NULL, &override, &err), "items is NULL");
  NULL_GIVES(pd_override_push(&item, 1, NULL, NULL, NULL, &err), "out is NULL");
  NULL_GIVES(pd_scope_push(NULL, 1, NULL, NULL, &scope, &err), "items is NULL");
  NULL_GIVES(pd_scope_push(&item, 1, NULL, NULL, NULL, &err), "out is NULL");
  NULL_GIVES(pd_scope_capture(NULL, &err), "out is NULL");
  NULL_GIVES(pd_scope_switch(NULL, NULL, &err), "out is NULL");
  NULL_GIVES(pd_flag_drop(NULL, PD_SOURCE_FILE, &err), "flag is NULL");
  NULL_GIVES(pd_flag_wipe(NULL, &err), "flag is NULL");
  NULL_GIVES(pd_flag_get_cell(NULL, 0, NULL, &err), "flag is NULL");
  NULL_GIVES(pd_flag_get_cell(flag, 0, NULL, &err), "info is NULL");
  NULL_GIVES(pd_warning_report(NULL, &err), "message is NULL");
  CHECK_OK(pd_batch_set(NULL, 0, NULL, NULL, &err));
  CHECK_OK(pd_scope_push(NULL, 0, NULL, NULL, &scope, &err));
  CHECK_OK(pd_scope_pop(scope, &err));
  CHECK_OK(pd_override_push(NULL, 0, NULL, NULL, &override, &err));
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_OK(pd_scope_capture(&context, &err));
  pd_scope_release(context);
  CHECK(!pd_flag_get_address(NULL) && !pd_flag_get_state(NULL) && !pd_flag_get_generation(NULL));
  pd_flag_def_init(NULL, sizeof(pd_flag_def), PD_TYPE_bool);
  CHECK_OK(pd_environment_enable(NULL, NULL, NULL));
}

TEST(a_flag_is_set_by_its_name_or_an_alias) {
  int32_t value;
  pd_flag *flag = DEFINE(PD_TYPE_int32, "threads", def.aliases = "t", def.max.i64 = 64);
  CHECK_OK(pd_flag_set_by_name("threads", "8", &err));
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 8);
  CHECK_OK(pd_flag_set_by_name("t", "9", &err));
  CHECK_STATUS(pd_flag_set_by_name("t", "65", &err), PD_ERR_RANGE,
               "t=65: expected an integer <= 64");
  CHECK_STATUS(pd_flag_set_by_name("thread", "1", &err), PD_ERR_UNDEFINED,
               "no flag is named 'thread'; did you mean 'threads'?");
  CHECK(pd_flag_set_by_name("thread", "1", NULL) == PD_ERR_UNDEFINED);
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == 9);
}

TEST(results_of_another_size_are_refused) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "b");
  pd_flag_info info = {.size = 4};
  pd_flag_entry entry = {.size = 0};
  char message[64];
  snprintf(message, sizeof message, "info->size is 4, expected %zu or more",
           offsetof(pd_flag_info, cells) + sizeof info.cells);
  CHECK_STATUS(pd_flag_get_info(flag, &info, &err), PD_ERR_ARGUMENT, message);
  snprintf(message, sizeof message, "entry->size is 0, expected %zu or more",
           offsetof(pd_flag_entry, origin) + sizeof entry.origin);
  CHECK_STATUS(pd_flag_get_entry(flag, 0, &entry, &err), PD_ERR_ARGUMENT, message);
}

TEST(results_keep_their_size) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "b");
  pd_cell_info cell = {.size = sizeof cell};
  pd_flag_info info = flag_info(flag);
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK_OK(pd_flag_get_cell(flag, 0, &cell, &err));
  CHECK(info.size == sizeof info && entry.size == sizeof entry && cell.size == sizeof cell);
}

TEST(the_address_of_the_value_follows_every_change) {
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  const char *const *address = (const char *const *)pd_flag_get_address(flag);
  CHECK_STR(*address, "");
  CHECK_OK(pd_flag_set_string(flag, "new", &err));
  CHECK_STR(*address, "new");
  CHECK(pd_flag_get_address(flag) == address);
}

TEST(the_handle_of_a_flag_that_has_left_is_that_of_its_name_for_good) {
  pd_flag *old = define_flag(PD_TYPE_int64, "old");
  CHECK_OK(pd_flag_unregister(old, &err));
  pd_flag *fresh = define_flag(PD_TYPE_int64, "fresh");
  CHECK(fresh != old);
  CHECK_STATUS(pd_flag_set_int64(old, 5, &err), PD_ERR_UNDEFINED, "old: is no longer defined");
  CHECK_STR(text_of(fresh), "0");
  CHECK(define_flag(PD_TYPE_int64, "old") == old);
}

static pd_cell_info cell_at(const pd_flag *flag, size_t index) {
  pd_cell_info cell = {.size = sizeof cell};
  CHECK_OK(pd_flag_get_cell(flag, index, &cell, &err));
  return cell;
}

TEST(a_cell_tells_whether_its_variable_has_the_value) {
  static int64_t variable = 5;
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.cell = &variable, def.default_value.i64 = 5);
  CHECK(cell_at(flag, 0).in_step && cell_at(flag, 0).address == &variable);
  CHECK(cell_at(flag, 0).type == PD_TYPE_int64 && cell_at(flag, 0).kind == PD_KIND_DEFINE);
  variable = 6;
  CHECK(!cell_at(flag, 0).in_step);
  pd_cell_info cell = {.size = sizeof cell};
  CHECK_STATUS(pd_flag_get_cell(flag, 1, &cell, &err), PD_ERR_ARGUMENT, "level: has no cell 1");
  CHECK_STATUS(pd_flag_get_cell(flag, 9, &cell, &err), PD_ERR_ARGUMENT, "level: has no cell 9");
  CHECK(cell_at(define_flag(PD_TYPE_int64, "plain"), 0).in_step);
}

TEST(an_entry_that_is_not_there_is_told) {
  pd_flag_entry entry = {.size = sizeof entry};
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK_STATUS(pd_flag_get_entry(flag, 1, &entry, &err), PD_ERR_ARGUMENT, "level: has no entry 1");
}

TEST(a_negation_needs_a_letter_behind_it) {
  pd_flag_def def = definition(PD_TYPE_bool, "v");
  pd_flag *v, *x;
  def.default_value.b = true;
  CHECK_OK(pd_flag_register(&def, &v, &err));
  def.name = "_x";
  CHECK_OK(pd_flag_register(&def, &x, &err));
  CHECK_OK(parse_line("--nov --no_x", NULL));
  CHECK_STR(text_of(v), "false");
  CHECK_STR(text_of(x), "false");
}

TEST(an_info_and_an_entry_have_the_context_of_the_definition) {
  static int context;
  pd_flag *flag = DEFINE(PD_TYPE_string, "names", def.context = &context, def.list = PD_TYPE_int64);
  pd_flag_info info = flag_info(flag);
  pd_flag_entry entry = flag_entry(flag, 0);
  CHECK(info.context == &context && info.list == PD_TYPE_int64);
  CHECK(entry.context == &context && entry.list == PD_TYPE_int64);
}
