/* What single conditions of the registry are for: each of these tests fails without one.
 *
 * Built with: -ldl
 */
#define CHECK_DEFINES_FLAGS
#include "plugged.h"

PD_IMPORT_int64(imported, 5);

static int notified;
static void count_notice(pd_flag *flag, void *context) { notified += flag && !context; }

static pd_source source_seen;
static bool note_source(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  (void)context, (void)why, (void)size;
  source_seen = entries[0]->origin.source;
  return true;
}

static bool refuse(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  return !entries;
}

/* ---- Arguments ---- */

TEST(an_assignment_without_a_flag_or_a_value_is_refused) {
  pd_assignment item = {.flag = NULL};
  CHECK_STATUS(pd_batch_set(&item, 1, NULL, NULL, &err), PD_ERR_ARGUMENT, "flag is NULL");
}

TEST(a_default_without_a_text_is_refused) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK_STATUS(pd_flag_set_default(flag, NULL, &err), PD_ERR_ARGUMENT, "text is NULL");
}

TEST(a_context_is_attached_only_where_its_number_is_taken) {
  CHECK_STATUS(pd_scope_attach(NULL, NULL, &err), PD_ERR_ARGUMENT, "out is NULL");
}

TEST(only_letters_are_taken_for_flags_that_stand_together) {
  define_flag(PD_TYPE_bool, "v");
  CHECK(parse_line("-v{", NULL) == PD_ERR_UNDEFINED);
  CHECK(!strstr(err.message, "by itself"));
}

/* ---- Values ---- */

TEST(uses_of_a_list_on_one_line_add_up) {
  pd_flag_def def = growing_list("several");
  pd_flag *flag = register_flag(&def);
  CHECK_OK(parse_line("--several=a --several=b", NULL));
  CHECK_STR(text_of(flag), "a,b");
}

TEST(a_list_that_grows_refuses_a_bad_item) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "several", def.list = PD_TYPE_int64, def.multi = true);
  pd_assignment item = {.flag = flag, .text = "x"};
  CHECK_STATUS(pd_batch_set(&item, 1, NULL, NULL, &err), PD_ERR_VALUE,
               "several=x: item 1: expected a 64-bit integer");
  CHECK_STR(text_of(flag), "");
}

TEST(a_reset_of_an_override_leaves_its_source) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  push_override(flag, "5");
  CHECK_OK(pd_flag_reset(flag, &err));
  CHECK(flag_entry(flag, 0).value.i64 == 0);
  CHECK(flag_entry(flag, 0).origin.source == PD_SOURCE_OVERRIDE);
}

TEST(an_override_without_a_value_is_unset) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = true);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK(!flag_entry(flag, 0).unset);
  push_override(flag, NULL);
  CHECK(flag_entry(flag, 0).unset);
}

TEST(a_retired_flag_is_ignored_after_startup_too) {
  pd_origin file = {PD_SOURCE_FILE, 1, "flags.conf", 0};
  pd_flag *flag = DEFINE(PD_TYPE_int64, "old", def.retired = "since 2.0", def.startup_only = true);
  pd_assignment item = {.flag = flag, .text = "5"};
  end_startup();
  CHECK_OK(pd_batch_set(&item, 1, &file, NULL, &err));
}

TEST(that_a_flag_is_frozen_comes_before_that_startup_is_over) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "early", def.startup_only = true);
  end_startup();
  CHECK_OK(pd_flag_freeze(flag, &err));
  CHECK_STATUS(pd_flag_reset(flag, &err), PD_ERR_FROZEN, "early: is frozen");
}

TEST(an_import_is_listed_as_one) {
  pd_cell_info cell = {.size = sizeof cell};
  pd_flag *flag = define_flag(PD_TYPE_int64, "imported");
  bool found = false;
  for (size_t i = 0; pd_flag_get_cell(flag, i, &cell, NULL) == PD_OK; i++) {
    found |= cell.kind == PD_KIND_IMPORT && cell.address == (const void *)&FLAGS_imported;
  }
  CHECK(found);
}

/* ---- Validators ---- */

TEST(a_validator_sees_that_a_value_would_be_one_of_an_override) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK_OK(pd_validator_add(&flag, 1, note_source, NULL, NULL, NULL, &err));
  push_override(flag, "5");
  CHECK(source_seen == PD_SOURCE_OVERRIDE);
}

TEST(a_validator_sees_that_a_flag_would_have_no_value) {
  pd_flag *flag = DEFINE(PD_TYPE_int64, "level", def.optional = true);
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_OK(pd_validator_add(&flag, 1, note_source, NULL, NULL, NULL, &err));
  source_seen = PD_SOURCE_RUNTIME;
  push_override(flag, NULL);
  CHECK(source_seen == PD_SOURCE_DEFAULT);
}

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "expected a small number");
  return entries[0]->value.i64 < 100;
}

TEST(asking_all_validators_takes_over_what_a_module_assigned) {
  static int64_t cell;
  pd_flag *flag = DEFINE(PD_TYPE_int64, "assigned", def.cell = &cell, def.assignable = true);
  CHECK_OK(pd_validator_add(&flag, 1, is_small, NULL, NULL, NULL, &err));
  cell = 1000;
  CHECK_STATUS(pd_flags_validate(NULL, &err), PD_ERR_REFUSED,
               "assigned=1000: expected a small number");
}

/* Writes a reason without an end. */
static bool fill(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  memset(why, 'x', size);
  return !entries;
}

TEST(a_reason_without_an_end_is_cut) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK_OK(pd_validator_add(&flag, 1, fill, NULL, NULL, NULL, &err));
  CHECK(pd_flag_set_int64(flag, 5, &err) == PD_ERR_REFUSED);
  const char *reason = strchr(err.message, 'x');
  CHECK(reason && strspn(reason, "x") == strlen(reason) && strlen(reason) < 512);
}

TEST(a_source_without_a_place_has_no_line_in_a_message) {
  pd_origin file = {PD_SOURCE_FILE, 3, NULL, 0};
  pd_flag *flags[] = {define_flag(PD_TYPE_int64, "low"), define_flag(PD_TYPE_int64, "high")};
  pd_assignment item = {.flag = flags[0], .text = "5"};
  CHECK_OK(pd_validator_add(flags, 2, refuse, NULL, NULL, NULL, &err));
  CHECK(pd_batch_set(&item, 1, &file, NULL, &err) == PD_ERR_REFUSED);
  CHECK(strstr(err.message, "--low=5 (file), --high=0 (default)"));
}

static bool freeze_after_startup(const pd_flag_entry *const *entries, void *flag, char *why,
                                 size_t size) {
  static bool again;
  (void)why, (void)size;
  if (again) return entries != NULL;
  again = true;
  end_startup();
  CHECK_OK(pd_flag_freeze(*(pd_flag **)flag, &err));
  return true;
}

TEST(a_flag_that_freezes_as_startup_ends_while_a_validator_is_asked_is_frozen) {
  static pd_flag *flag;
  pd_error own;
  flag = DEFINE(PD_TYPE_int64, "early", def.startup_only = true);
  CHECK_OK(pd_validator_add(&flag, 1, freeze_after_startup, &flag, NULL, NULL, &err));
  CHECK(pd_flag_set_int64(flag, 5, &own) == PD_ERR_FROZEN);
  CHECK_STR(own.message, "early: is frozen");
}

static int converted;
static bool count_conversion(const char *text, void *context, pd_writer write, void *out, char *why,
                             size_t size) {
  (void)context, (void)why, (void)size;
  converted++;
  write(text, strlen(text), out);
  return true;
}

TEST(a_value_that_a_constructor_gives_is_not_converted) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "outer", def.convert = count_conversion);
  pd_module *module = load_module("acting");
  CHECK(*(pd_status *)symbol_in("acting", "acting_status") == PD_ERR_REFUSED);
  CHECK_OK(pd_module_unload(module, &err));
  CHECK(converted == 0);
  CHECK_STR(text_of(flag), "");
  CHECK_OK(pd_flag_set_from_string(flag, "5", &err));
  CHECK(converted == 1);
}

/* ---- Watchers ---- */

TEST(a_value_that_changes_nothing_takes_no_later_notice_along) {
  static const pd_origin file = {PD_SOURCE_FILE, 1, "flags.conf", 0};
  static const pd_origin argv = {PD_SOURCE_ARGV, 1, NULL, 0};
  CHECK_OK(pd_pending_set("watched", "0", &file, &err)); /* the default */
  CHECK_OK(pd_pending_set("watched", "5", &argv, &err));
  CHECK_STR(text_of(DEFINE(PD_TYPE_int64, "watched", def.watch = count_notice)), "5");
  CHECK(notified == 1);
}

static int released;
static void count_release(void *context) { released += !context; }

TEST(a_module_that_leaves_takes_no_functions_of_others_along) {
  pd_hook hook = 0;
  pd_flag *flag = define_flag(PD_TYPE_int64, "level");
  CHECK_OK(pd_watcher_add(flag, count_notice, NULL, count_release, &hook, &err));
  CHECK_OK(pd_module_unload(load_module("alpha"), &err));
  CHECK_OK(pd_flag_set_int64(flag, 5, &err));
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(notified == 1 && released == 1);
}
