#include "check.h"

TEST(a_flag_is_found_by_its_name) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "here"), *found = NULL;
  CHECK_OK(pd_flag_find("here", &found, &err));
  CHECK(found == flag);
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
  pd_flag *flag, *last;
  def.aliases = "lvl";
  def.default_value.i64 = INT64_MAX;
  CHECK(pd_flag_register(&def, &flag, NULL) == PD_ERR_RANGE);
  def.default_value.i64 = 0;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  last = define_flag(PD_TYPE_bool, "last");
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
  CHECK(!pd_flag_get_address(NULL));
  pd_flag_def_init(NULL, sizeof(pd_flag_def), PD_TYPE_bool);
  CHECK_OK(pd_environment_enable(NULL, NULL, NULL));
}

TEST(a_flag_is_set_by_its_name_or_an_alias) {
  pd_flag_def def = definition(PD_TYPE_int32, "threads");
  int32_t value;
  pd_flag *flag;
  def.aliases = "t";
  def.max.i64 = 64;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
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

TEST(the_address_of_the_value_follows_every_change) {
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  const char *const *address = (const char *const *)pd_flag_get_address(flag);
  CHECK_STR(*address, "");
  CHECK_OK(pd_flag_set_string(flag, "new", &err));
  CHECK_STR(*address, "new");
  CHECK(pd_flag_get_address(flag) == address);
}
