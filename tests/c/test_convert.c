/* Converters of definitions, lists that grow, and flags without a value. */
#include <ctype.h>
#include <stdio.h>

#include "check.h"

/* Accepts letters, and makes them lower case. */
static bool lower(const char *text, void *context, pd_writer write, void *out, char *why,
                  size_t size) {
  for (const char *at = text; *at; at++) {
    if (isalpha((unsigned char)*at)) continue;
    snprintf(why, size, "expected letters, not %c", *at);
    return false;
  }
  for (const char *at = text; *at; at++) {
    char c = (char)tolower((unsigned char)*at);
    write(&c, 1, out); /* in parts */
  }
  if (context) ++*(int *)context;
  return true;
}

static pd_flag *define(const char *name, const char *choices, int *calls) {
  return DEFINE(PD_TYPE_string, name, def.default_value.str = "fast", def.convert = lower,
                def.context = calls, def.choices = choices);
}

static const char *read_text(const pd_flag *flag) {
  const char *text = NULL;
  CHECK_OK(pd_flag_get_string(flag, &text, &err));
  return text;
}

TEST(texts_are_stored_in_their_canonical_form_and_choices_are_checked_then) {
  int calls = 0;
  pd_flag *flag = define("mode", "fast|best", &calls);
  CHECK_OK(pd_flag_set_from_string(flag, "BEST", &err));
  CHECK(!strcmp(read_text(flag), "best"));
  CHECK_OK(pd_flag_set_string(flag, "Fast", &err));
  CHECK(!strcmp(read_text(flag), "fast"));
  CHECK(calls == 2);
  CHECK_STATUS(pd_flag_set_from_string(flag, "WORST", &err), PD_ERR_CHOICE,
               "mode=WORST: expected one of fast, best");
  CHECK_STATUS(pd_flag_set_from_string(flag, "b3st", &err), PD_ERR_VALUE,
               "mode=b3st: expected letters, not 3");
  CHECK(!strcmp(read_text(flag), "fast"));
}

TEST(all_errors_of_a_command_line_are_reported_together) {
  pd_flag *flag = define("other", NULL, NULL);
  pd_error_list *errors = pd_error_list_new();
  pd_parse_options options = {.size = sizeof options, .errors = errors};
  CHECK(parse_line("--other=1 --nope --other=X", &options) == PD_ERR_UNDEFINED);
  CHECK(pd_error_list_count(errors) == 2);
  CHECK(!strcmp(pd_error_list_at(errors, 1)->message, "--other=1: expected letters, not 1"));
  pd_error_list_free(errors);
  CHECK(!strcmp(read_text(flag), "fast"));
}

TEST(pending_values_are_converted) {
  CHECK_OK(pd_pending_set("late", "BEST", NULL, &err));
  CHECK(!strcmp(read_text(define("late", "fast|best", NULL)), "best"));
}

/* Gives the flag `count` another type while values are converted. */
static bool replace_count(const char *text, void *context, pd_writer write, void *out, char *why,
                          size_t size) {
  bool *replaced = context;
  pd_flag_def def = definition(PD_TYPE_string, "count");
  (void)text, (void)write, (void)out, (void)why, (void)size;
  def.default_value.str = "none";
  def.convert = lower;
  if (!*replaced) CHECK_OK(pd_flag_replace(&def, NULL, 0, NULL, NULL));
  *replaced = true;
  return true;
}

/* Each answer brings a new question. */
static bool add_another(const char *text, void *context, pd_writer write, void *out, char *why,
                        size_t size) {
  char next[16];
  (void)why, (void)size;
  snprintf(next, sizeof next, "v%d", ++*(int *)context);
  CHECK_OK(pd_pending_set("endless", next, NULL, &err));
  write(text, strlen(text), out);
  return true;
}

TEST(a_converter_that_adds_a_value_each_time_does_not_hold_the_definition_up_for_ever) {
  int calls = 0;
  pd_flag_def def = definition(PD_TYPE_string, "endless");
  def.default_value.str = "fast";
  def.convert = add_another;
  def.context = &calls;
  CHECK_OK(pd_pending_set("endless", "v0", NULL, &err));
  pd_flag *flag = NULL;
  CHECK(pd_flag_register(&def, &flag, &err) == PD_ERR_REFUSED);
  CHECK(flag && strstr(err.message, "values kept changing while converters were called"));
}

TEST(a_number_for_a_flag_that_has_become_a_text_is_not_converted) {
  bool replaced = false;
  pd_flag_def number = definition(PD_TYPE_int64, "count"), text = definition(PD_TYPE_string, "m");
  pd_assignment both[] = {{.type = PD_TYPE_string, .value.str = "x"},
                          {.type = PD_TYPE_int64, .value.i64 = 3}};
  text.default_value.str = "";
  text.convert = replace_count;
  text.context = &replaced;
  CHECK_OK(pd_flag_register(&number, &both[1].flag, &err));
  CHECK_OK(pd_flag_register(&text, &both[0].flag, &err));
  CHECK_STATUS(pd_batch_set(both, 2, NULL, NULL, &err), PD_ERR_TYPE, "count: is string, not int64");
  CHECK(!strcmp(read_text(both[0].flag), "") && !strcmp(read_text(both[1].flag), "none"));
}

TEST(only_strings_have_converters_and_only_lists_grow) {
  pd_flag_def number = definition(PD_TYPE_int32, "number"), many = number;
  number.convert = lower;
  CHECK(pd_flag_register(&number, NULL, &err) == PD_ERR_ARGUMENT);
  many.multi = true;
  CHECK(pd_flag_register(&many, NULL, &err) == PD_ERR_ARGUMENT);
}

TEST(an_optional_flag_has_no_value_until_one_is_given) {
  pd_flag_def def = definition(PD_TYPE_int32, "count");
  pd_override number;
  def.optional = true;
  def.min.i64 = 1;
  def.default_value.i64 = -1; /* stands for none: outside of the range */
  pd_flag *flag = register_flag(&def);
  const uint8_t *state = pd_flag_get_state(flag);
  int32_t value = 0;
  CHECK(*state == (PD_TYPE_int32 | PD_STATE_UNSET));
  CHECK_OK(pd_flag_get_int32(flag, &value, &err));
  CHECK(value == -1);
  CHECK_OK(pd_flag_set_int32(flag, 5, &err));
  CHECK(*state == PD_TYPE_int32);
  pd_assignment none = {.flag = flag}; /* neither text nor a type */
  CHECK_OK(pd_override_push(&none, 1, NULL, NULL, &number, &err));
  CHECK(*state & PD_STATE_UNSET);
  CHECK_OK(pd_override_pop(number, &err));
  CHECK(*state == PD_TYPE_int32);
  CHECK_OK(pd_batch_set(&none, 1, NULL, NULL, &err));
  CHECK(*state & PD_STATE_UNSET);
}

/* ---- What happens meanwhile ---- */

static pd_source source_of(const pd_flag *flag) { return flag_info(flag).source; }

TEST(a_startup_only_flag_accepts_what_is_converted_to_the_value_that_it_has) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "mode", def.default_value.str = "fast",
                         def.convert = lower, def.startup_only = true);
  end_startup();
  CHECK_OK(pd_flag_set_from_string(flag, "FAST", &err));
  CHECK(source_of(flag) == PD_SOURCE_DEFAULT);
  CHECK_STATUS(pd_flag_set_from_string(flag, "BEST", &err), PD_ERR_FROZEN,
               "mode: can be set at startup only, and the command line has been parsed");
  CHECK_STR(read_text(flag), "fast");
}

TEST(what_waited_for_a_startup_only_flag_is_converted_when_it_is_defined) {
  CHECK_OK(pd_pending_set("mode", "BEST", NULL, &err));
  end_startup();
  pd_flag *flag = DEFINE(PD_TYPE_string, "mode", def.convert = lower, def.startup_only = true);
  CHECK_STR(read_text(flag), "best");
}

static bool refuse_with_context(const char *text, void *context, pd_writer write, void *out,
                                char *why, size_t size) {
  (void)text, (void)write, (void)out;
  snprintf(why, size, "%s", (const char *)context);
  return false;
}

TEST(a_reason_that_contains_a_secret_is_not_shown) {
  pd_flag_def def = definition(PD_TYPE_string, "key");
  def.sensitive = true;
  def.convert = refuse_with_context;
  def.context = (char[]){"expected no hunter2"};
  pd_flag *flag = register_flag(&def);
  CHECK_STATUS(pd_flag_set_string(flag, "hunter2", &err), PD_ERR_VALUE,
               "key=<redacted>: is not a value of the flag");
  CHECK_STATUS(pd_flag_set_string(flag, "hunter3", &err), PD_ERR_VALUE,
               "key=<redacted>: expected no hunter2");
  CHECK_STATUS(pd_flag_set_string(flag, "", &err), PD_ERR_VALUE,
               "key=<redacted>: expected no hunter2");
  def.name = "open";
  def.sensitive = false;
  CHECK_OK(pd_flag_register(&def, &flag, &err));
  CHECK_STATUS(pd_flag_set_string(flag, "hunter2", &err), PD_ERR_VALUE,
               "open=hunter2: expected no hunter2");
}

static int depth;
static bool set_again(const char *text, void *flag, pd_writer write, void *out, char *why,
                      size_t size) {
  (void)write, (void)out, (void)why, (void)size;
  if (depth++ < 1000 && pd_flag_set_string(*(pd_flag **)flag, text, &err) == PD_OK) return true;
  return false;
}

TEST(a_circle_of_converters_ends_with_an_error) {
  static pd_flag *flag;
  flag = DEFINE(PD_TYPE_string, "circle", def.convert = set_again, def.context = &flag);
  CHECK(pd_flag_set_string(flag, "x", NULL) == PD_ERR_VALUE);
  CHECK(depth == 32 && err.status == PD_ERR_VALUE);
}

static bool write_other(const char *text, void *context, pd_writer write, void *out, char *why,
                        size_t size) {
  (void)text, (void)context, (void)why, (void)size;
  write("other", 5, out);
  return true;
}

/* Replaces the definition by one with the converter in `context`. */
static int replaced;
static bool replace_definition(const char *text, void *context, pd_writer write, void *out,
                               char *why, size_t size) {
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  pd_flag *flag;
  (void)why, (void)size;
  def.convert = context ? write_other : replace_definition;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &flag, &err));
  replaced++;
  write(text, strlen(text), out);
  return true;
}

TEST(the_converter_of_a_definition_that_came_meanwhile_is_called) {
  static int once;
  pd_flag *flag =
      DEFINE(PD_TYPE_string, "mode", def.convert = replace_definition, def.context = &once);
  CHECK_OK(pd_flag_set_string(flag, "own", &err));
  CHECK_STR(read_text(flag), "other");
  CHECK(replaced == 1);
}

TEST(definitions_that_come_all_the_time_while_values_are_converted_are_an_error) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "mode", def.convert = replace_definition);
  pd_assignment item = {.flag = flag, .text = "own"};
  pd_error own;
  CHECK(pd_batch_set(&item, 1, NULL, NULL, &own) == PD_ERR_REFUSED);
  CHECK_STR(own.message, "flags kept being defined while their values were converted");
  CHECK(replaced == 100);
  CHECK_STR(read_text(flag), "");
}

static bool end_startup_once(const pd_flag_entry *const *entries, void *context, char *why,
                             size_t size) {
  (void)entries, (void)why, (void)size;
  bool again = *(bool *)context;
  *(bool *)context = true;
  if (!again) end_startup(); /* which asks again */
  return true;
}

TEST(a_reset_is_refused_when_startup_ends_meanwhile_also_with_a_converter) {
  static bool ended;
  pd_flag *flag = DEFINE(PD_TYPE_string, "mode", def.convert = lower, def.startup_only = true);
  CHECK_OK(pd_flag_set_string(flag, "fast", &err));
  CHECK_OK(pd_validator_add(&flag, 1, end_startup_once, &ended, NULL, NULL, &err));
  pd_error own;
  CHECK(pd_flag_reset(flag, &own) == PD_ERR_FROZEN);
  CHECK_STR(read_text(flag), "fast");
}

TEST(a_converter_that_gives_no_reason_refuses_all_the_same) {
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  def.convert = refuse_with_context;
  def.context = (char[]){""};
  pd_flag *flag = register_flag(&def);
  CHECK_STATUS(pd_flag_set_string(flag, "x", &err), PD_ERR_VALUE,
               "mode=x: is not a value of the flag");
}

TEST(a_scope_after_startup_has_no_value_of_a_flag_that_keeps_its_own) {
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  pd_scope scope;
  def.default_value.str = "fast";
  def.convert = lower;
  def.startup_only = def.scoped = true;
  pd_assignment item = {.text = "FAST"};
  CHECK_OK(pd_flag_register(&def, &item.flag, &err));
  end_startup();
  CHECK_OK(pd_scope_push(&item, 1, NULL, NULL, &scope, &err));
  CHECK(flag_entry(item.flag, 0).origin.source == PD_SOURCE_DEFAULT);
  CHECK_OK(pd_scope_pop(scope, &err));
}
