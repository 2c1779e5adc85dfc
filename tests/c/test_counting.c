/* Flags that count their uses, and lists that add to what sources below give. */
#include "tokens.h"

static pd_flag *define_count(pd_type type, const char *name, const char *aliases) {
  return DEFINE(type, name, def.count = true, def.aliases = aliases);
}

TEST(each_use_of_a_flag_that_counts_adds_one) {
  pd_parse_options none = {.size = sizeof none};
  pd_flag *flag = define_count(PD_TYPE_uint32, "verbose", "v");
  CHECK_OK(parse("-vvv", "--verbose", none));
  CHECK_STR(text_of(flag), "4");
  CHECK_OK(parse("-v", "file", none));
  CHECK_STR(text_of(flag), "1");
  CHECK_OK(parse("--verbose=7", "-vv", none));
  CHECK_STR(text_of(flag), "9");
  CHECK_STATUS(parse("-vvx", NULL, none), PD_ERR_UNDEFINED,
               "-vvx: no such flag; each flag is written by itself, as in '-v -v -x', and no flag "
               "is named x");
}

TEST(counting_ends_at_the_bounds_of_the_type) {
  pd_parse_options none = {.size = sizeof none};
  pd_flag *flag = define_count(PD_TYPE_int64, "n", NULL);
  CHECK_STATUS(parse("--n=9223372036854775807", "--n", none), PD_ERR_RANGE, "--n: counts too far");
  CHECK_STR(text_of(flag), "0");
  define_count(PD_TYPE_int32, "small", NULL);
  CHECK_STATUS(parse("--small=2147483647", "--small", none), PD_ERR_RANGE,
               "--small=2147483648: expected a 32-bit integer");
}

TEST(a_name_of_equal_letters_is_that_of_its_flag_first) {
  pd_parse_options none = {.size = sizeof none};
  pd_flag *flag = define_count(PD_TYPE_int32, "verbose", "v");
  pd_flag *other = define_flag(PD_TYPE_bool, "vv");
  CHECK_OK(parse("-vv", NULL, none));
  CHECK_STR(text_of(flag), "0");
  CHECK_STR(text_of(other), "true");
}

TEST(only_integers_count_and_only_lists_merge) {
  pd_flag_def def = definition(PD_TYPE_double, "rate");
  def.count = true;
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGUMENT,
               "definition of 'rate': it is count, but not an integer");
  def = definition(PD_TYPE_string, "text");
  def.merge = true;
  CHECK_STATUS(pd_flag_register(&def, NULL, &err), PD_ERR_ARGUMENT,
               "definition of 'text': it is merge, but not a list");
}

TEST(what_a_program_sets_is_whole_whatever_its_source) {
  pd_flag_def def = definition(PD_TYPE_string, "names");
  pd_origin file = {.source = PD_SOURCE_FILE}, argv = {.source = PD_SOURCE_ARGV};
  def.list = PD_TYPE_string;
  def.merge = true;
  pd_flag *flag = register_flag(&def);
  CHECK_OK(pd_batch_set(&(pd_assignment){flag, "a", 0, {0}}, 1, &file, NULL, &err));
  CHECK_OK(pd_batch_set(&(pd_assignment){flag, "a,b", 0, {0}}, 1, &argv, NULL, &err));
  CHECK_STR(text_of(flag), "a,b");
  CHECK_OK(pd_pending_set("late", "a", &file, &err));
  CHECK_OK(pd_pending_set("late", "a,b", &argv, &err));
  def.name = "late";
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_STR(text_of(flag), "a,b");
}

TEST(a_list_adds_to_what_files_give) {
  pd_config *config;
  pd_flag *flag = DEFINE(PD_TYPE_string, "names", def.list = PD_TYPE_string, def.merge = true,
                         def.default_value.str = "default");
  CHECK_OK(pd_config_new(PD_SOURCE_FILE, &config, &err));
  CHECK_OK(pd_config_add(config, "names", "a,b", PD_TYPE_string, NULL, &err));
  CHECK_OK(parse("--names=c", NULL, (pd_parse_options){.config = config}));
  CHECK_STR(text_of(flag), "a,b,c");
  CHECK_OK(parse("--names=d", NULL, (pd_parse_options){.config = config}));
  CHECK_STR(text_of(flag), "a,b,d");
  pd_config_free(config);
  CHECK_OK(pd_config_new(PD_SOURCE_FILE, &config, &err));
  CHECK_OK(parse("--names=e", NULL, (pd_parse_options){.config = config}));
  CHECK_STR(text_of(flag), "e");
  pd_config_free(config);
}
