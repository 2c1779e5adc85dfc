/* What a plugin registers itself, or has registered of its code and data: it leaves with the
 * plugin, or keeps a plugin that nobody would see leave. */
#include "plugged.h"

static void *open_registering(const char *words) {
  begin();
  setenv("REGISTERING", words, 1);
  return open_plugin("registering");
}

static int calls_in(void *library) { return *(int *)symbol(library, "registering_calls"); }

/* ---- From a constructor of a plugin with a record ---- */

static void check_definition(const char *words, int calls) {
  for (int round = 0; round < 3; round++) {
    void *library = open_registering(words);
    CHECK_OK(pd_flag_set_by_name("registered", round % 2 ? "5" : "6", &err));
    CHECK(calls_in(library) >= calls);
    CHECK_STR(text_of(find_flag("registered")), round % 2 ? "5" : "6");
    pd_flag *flag = find_flag("registered");
    close_plugin(library);
    if (!LOADER_UNMAPS) return;
    CHECK(!is_loaded("registering"));
    CHECK(!is_defined("registered"));
    CHECK(pd_flag_set_by_name("registered", "7", NULL) == PD_ERR_UNDEFINED);
    CHECK(pd_flag_set_from_string(flag, "7", NULL) == PD_ERR_UNDEFINED);
    CHECK_OK(pd_flags_validate(NULL, &err));
  }
}

TEST(a_flag_that_a_plugin_registered_with_a_validator_is_undefined_when_it_has_left) {
  check_definition("-validate", 1);
}

TEST(a_flag_that_a_plugin_registered_with_a_watcher_is_undefined_when_it_has_left) {
  check_definition("-watch", 1);
}

TEST(a_flag_that_a_plugin_registered_with_access_functions_is_undefined_when_it_has_left) {
  check_definition("-access", 1);
}

TEST(a_flag_that_a_plugin_registered_with_a_variable_is_undefined_when_it_has_left) {
  check_definition("-cell", 0);
}

TEST(a_flag_that_a_plugin_registered_with_everything_is_undefined_when_it_has_left) {
  check_definition("-cell -validate -watch", 2);
}

TEST(a_value_for_a_flag_whose_plugin_registered_it_finds_it_again) {
  if (!LOADER_UNMAPS) return;
  close_plugin(open_registering("-validate"));
  CHECK_OK(pd_pending_set("registered", "8", NULL, &err));
  void *library = open_registering("-validate");
  CHECK_STR(text_of(find_flag("registered")), "8");
  CHECK_STATUS(pd_flag_set_by_name("registered", "100", &err), PD_ERR_REFUSED,
               "registered=100: expected less than 100");
  close_plugin(library);
}

static void check_hooks(const char *words, int calls) {
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  int64_t value = 0;
  for (int round = 0; round < 3; round++) {
    void *library = open_registering(words);
    CHECK_OK(pd_flag_set_int64(own, ++value, &err));
    CHECK(calls_in(library) == calls);
    close_plugin(library);
    if (!LOADER_UNMAPS) return;
    CHECK(!is_loaded("registering"));
    CHECK_OK(pd_flag_set_int64(own, 1000 + ++value, &err));
    CHECK_OK(pd_flags_validate(NULL, &err));
  }
}

TEST(a_validator_that_a_plugin_added_is_gone_when_it_has_left) { check_hooks("+validate", 1); }
TEST(a_watcher_that_a_plugin_added_is_gone_when_it_has_left) { check_hooks("+watch", 1); }
TEST(a_watcher_of_all_flags_that_a_plugin_added_is_gone_when_it_has_left) {
  check_hooks("+all", 1);
}

/* ---- Warnings ---- */

static int warned;
static char warning[200];
static void keep_warning(const char *message, pd_warning kind, void *context) {
  CHECK(kind == PD_WARNING_DEPRECATED && context == &warned);
  warned++;
  snprintf(warning, sizeof warning, "%s", message);
}

static void define_deprecated(const char *name) {
  DEFINE(PD_TYPE_int32, name, def.deprecated = "use another one");
}

TEST(warnings_are_kept_again_when_the_plugin_that_took_them_has_left) {
  define_deprecated("former");
  define_deprecated("latter");
  void *library = open_registering("warn");
  CHECK_OK(pd_flag_set_by_name("former", "1", &err));
  CHECK(calls_in(library) == 1);
  close_plugin(library);
  if (!LOADER_UNMAPS) return;
  CHECK(!is_loaded("registering"));
  CHECK_OK(pd_flag_set_by_name("latter", "1", &err));
  CHECK_OK(pd_warning_handle(keep_warning, &warned, &err));
  CHECK(warned == 1);
  CHECK_STR(warning, "latter is deprecated: use another one");
}

TEST(a_warning_handler_that_took_the_place_of_a_plugins_stays_when_that_leaves) {
  define_deprecated("former");
  void *library = open_registering("warn");
  CHECK_OK(pd_warning_handle(keep_warning, &warned, &err));
  close_plugin(library);
  CHECK_OK(pd_flag_set_by_name("former", "1", &err));
  CHECK(warned == 1);
}

/* ---- Of a library that has no record ---- */

static pd_flag *own;
static int *calls;

static void *open_bare(void) {
  begin();
  own = define_flag(PD_TYPE_int64, "own");
  void *library = open_plugin("bare");
  calls = symbol(library, "bare_calls");
  return library;
}

static void function_of(void *library, const char *name, void *out) {
  void *found = symbol(library, name);
  memcpy(out, &found, sizeof found);
}

/* Nobody can tell when such a library leaves: it stays as long as its hook does. */
static void check_kept(void *library, pd_hook hook, const char *text) {
  close_plugin(library);
  CHECK(is_loaded("bare"));
  CHECK_OK(pd_flag_set_by_name("own", text, &err));
  CHECK(*calls == 1);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
  CHECK_OK(pd_flag_set_by_name("own", "1000", &err));
}

TEST(a_validator_keeps_a_library_without_a_record_until_it_is_removed) {
  void *library = open_bare();
  pd_validator validate;
  pd_hook hook;
  function_of(library, "bare_validate", &validate);
  CHECK_OK(pd_validator_add(&own, 1, validate, NULL, NULL, &hook, &err));
  check_kept(library, hook, "5");
}

TEST(a_watcher_keeps_a_library_without_a_record_until_it_is_removed) {
  void *library = open_bare();
  pd_watcher watch;
  pd_hook hook;
  function_of(library, "bare_watch", &watch);
  CHECK_OK(pd_watcher_add(own, watch, NULL, NULL, &hook, &err));
  check_kept(library, hook, "5");
}

TEST(two_hooks_keep_a_library_without_a_record_until_both_are_removed) {
  void *library = open_bare();
  pd_watcher watch;
  pd_hook first, second;
  function_of(library, "bare_watch", &watch);
  CHECK_OK(pd_watcher_add(own, watch, NULL, NULL, &first, &err));
  CHECK_OK(pd_watcher_add(NULL, watch, NULL, NULL, &second, &err));
  close_plugin(library);
  CHECK_OK(pd_hook_remove(first, &err));
  CHECK(is_loaded("bare"));
  CHECK_OK(pd_flag_set_int64(own, 3, &err));
  CHECK(*calls == 1);
  CHECK_OK(pd_hook_remove(second, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

static pd_hook removed;
static void remove_it(void) {
  if (removed) CHECK_OK(pd_hook_remove(removed, &err));
  removed = 0;
}

TEST(a_validator_of_a_library_without_a_record_may_remove_itself_and_refuse) {
  void *library = open_bare();
  pd_validator validate;
  void (**during)(void) = symbol(library, "bare_during");
  function_of(library, "bare_validate", &validate);
  CHECK_OK(pd_validator_add(&own, 1, validate, NULL, NULL, &removed, &err));
  *during = remove_it;
  close_plugin(library);
  pd_status status = pd_flag_set_int64(own, 500, &err);
  CHECK(status == PD_OK || status == PD_ERR_REFUSED); /* asked again, it isn't there */
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_watcher_of_a_library_without_a_record_may_remove_itself) {
  void *library = open_bare();
  pd_watcher watch;
  void (**during)(void) = symbol(library, "bare_during");
  function_of(library, "bare_watch", &watch);
  CHECK_OK(pd_watcher_add(own, watch, NULL, NULL, &removed, &err));
  *during = remove_it;
  close_plugin(library);
  CHECK_OK(pd_flag_set_int64(own, 5, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_warning_handler_keeps_a_library_without_a_record_until_there_is_another) {
  void *library = open_bare();
  pd_warning_handler handler;
  define_deprecated("former");
  function_of(library, "bare_warn", &handler);
  CHECK_OK(pd_warning_handle(handler, NULL, &err));
  close_plugin(library);
  CHECK_OK(pd_flag_set_by_name("former", "1", &err));
  CHECK(*calls == 1);
  CHECK_OK(pd_warning_handle(NULL, NULL, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_definition_with_code_of_a_library_without_a_record_keeps_it) {
  void *library = open_bare();
  pd_flag_def def = definition(PD_TYPE_int64, "by_code");
  function_of(library, "bare_validate", &def.validate);
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  close_plugin(library);
  CHECK_OK(pd_flag_set_by_name("by_code", "5", &err));
  CHECK_STATUS(pd_flag_set_by_name("by_code", "500", &err), PD_ERR_REFUSED,
               "by_code=500: expected less than 100");
  CHECK(*calls == 2);
}

TEST(a_definition_with_a_variable_of_a_library_without_a_record_keeps_it) {
  void *library = open_bare();
  int32_t *cell = symbol(library, "bare_cell");
  DEFINE(PD_TYPE_int32, "by_cell", def.cell = cell);
  close_plugin(library);
  CHECK_OK(pd_flag_set_by_name("by_cell", "7", &err));
  CHECK(is_loaded("bare") && *cell == 7);
}

/* ---- Release functions ---- */

static bool accepts(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  return true;
}

TEST(the_release_function_of_a_library_without_a_record_keeps_it_until_it_was_called) {
  void *library = open_bare();
  void (*release)(void *);
  pd_hook hook;
  function_of(library, "bare_release", &release);
  CHECK_OK(pd_validator_add(&own, 1, accepts, calls, release, &hook, &err));
  close_plugin(library);
  CHECK(is_loaded("bare") && *calls == 0);
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(the_release_function_of_a_plugin_that_has_left_isnt_called) {
  pd_hook hook;
  begin();
  own = define_flag(PD_TYPE_int64, "own");
  void *library = open_plugin("calling");
  void (*release)(void *);
  function_of(library, "calling_release", &release);
  CHECK_OK(pd_validator_add(&own, 1, accepts, NULL, release, &hook, &err));
  close_plugin(library);
  CHECK(!LOADER_UNMAPS || !is_loaded("calling"));
  pd_hook_remove(hook, NULL); /* it may have gone with the plugin */
  CHECK_OK(pd_flag_set_int64(own, 1, &err));
}

static void *renewed;
static pd_hook own_hook;

static void remove_and_renew(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  CHECK_OK(pd_hook_remove(own_hook, &err));
  close_plugin(renewed);
  renewed = open_plugin("calling");
}

TEST(a_removed_hook_isnt_released_by_a_plugin_that_has_come_again) {
  begin();
  own = define_flag(PD_TYPE_int64, "own");
  renewed = open_plugin("calling");
  void (*release)(void *);
  int64_t (*changes)(void);
  function_of(renewed, "calling_release", &release);
  CHECK_OK(pd_watcher_add(own, remove_and_renew, &err, release, &own_hook, &err));
  CHECK_OK(pd_flag_set_int64(own, 1, &err));
  *(void **)&changes = symbol(renewed, "calling_changes");
  CHECK(!LOADER_UNMAPS || changes() == 0);
}

/* ---- Writers of reports ---- */

static void *writing;
static size_t written;
static void close_writer(void) {
  if (writing) close_plugin(writing);
  writing = NULL;
}

TEST(the_writer_of_a_report_may_close_its_own_library) {
  void *library = open_bare();
  pd_writer write;
  void (**during)(void) = symbol(library, "bare_during");
  function_of(library, "bare_write", &write);
  writing = library;
  *during = close_writer;
  CHECK_OK(pd_report_help(NULL, write, &written, &err));
  CHECK(written > 0);
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(the_release_function_of_a_plugin_may_close_its_own_library) {
  void *library = open_bare();
  void (*release)(void *);
  pd_hook hook;
  void (**during)(void) = symbol(library, "bare_during");
  function_of(library, "bare_release", &release);
  CHECK_OK(pd_validator_add(&own, 1, accepts, calls, release, &hook, &err));
  writing = library;
  *during = close_writer;
  CHECK_OK(pd_hook_remove(hook, &err));
  CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
}

TEST(a_library_without_a_record_stays_each_time_as_long_as_its_hook) {
  pd_hook hook;
  begin();
  pd_flag *flag = define_flag(PD_TYPE_int64, "watched");
  for (int round = 0; round < 3; round++) {
    void *library = open_plugin("bare");
    pd_watcher watch;
    *(void **)&watch = symbol(library, "bare_watch");
    CHECK_OK(pd_watcher_add(flag, watch, NULL, NULL, &hook, &err));
    CHECK_OK(pd_hook_remove(hook, &err));
    CHECK_OK(pd_watcher_add(flag, watch, NULL, NULL, &hook, &err));
    close_plugin(library);
    CHECK(is_loaded("bare"));
    CHECK_OK(pd_flag_set_int64(flag, round + 1, &err));
    CHECK_OK(pd_hook_remove(hook, &err));
    CHECK(!LOADER_UNMAPS || !is_loaded("bare"));
  }
}

/* ---- Implementations ---- */

TEST(all_that_a_record_uses_stays_loaded_until_it_is_taken_back) {
  begin();
  if (!LOADER_UNMAPS) return;
  static const pd_op_signature signature = {"level", "int (void)", {PD_CODE_INT32, 0}};
  static const char *const plugins[] = {"noting", "plain"};
  void *handles[2];
  pd_impl number = 0;
  for (int i = 0; i < 2; i++) handles[i] = open_plugin(plugins[i]);
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "foreign"};
  def.signature = &signature;
  def.slot = symbol(handles[0], "noting_during");
  def.choice.function = (void (*)(void))(intptr_t)symbol(handles[0], "noting_validate");
  def.choice.usable = (const char *(*)(void))(intptr_t)symbol(handles[1], "spare_no_luck");
  def.choice.rank = -1;
  CHECK_OK(pd_impl_register(&def, &number, &err));
  for (int i = 0; i < 2; i++) close_plugin(handles[i]);
  for (int i = 0; i < 2; i++) CHECK(is_loaded(plugins[i]));
  CHECK_OK(pd_impl_unregister(number, &err));
  for (int i = 0; i < 2; i++) CHECK(!is_loaded(plugins[i]));
}

TEST(a_refused_record_holds_nothing) {
  begin();
  if (!LOADER_UNMAPS) return;
  load_module("op_native");
  void *plugin = open_plugin("noting");
  pd_op_def def = {.size = sizeof def, .kind = PD_KIND_IMPL, .name = "native"};
  static const pd_op_signature signature = {
      "pow", "double (double, double)", {PD_CODE_DOUBLE, PD_CODE_DOUBLE, PD_CODE_DOUBLE, 0}};
  def.signature = &signature;
  def.choice.function = (void (*)(void))(intptr_t)symbol(plugin, "noting_validate");
  CHECK(pd_impl_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  close_plugin(plugin);
  CHECK(!is_loaded("noting"));
}

/* ---- What a definition holds ---- */

static pd_flag_def definition_in(void *noting, void *plain) {
  pd_flag_def def = definition(PD_TYPE_int32, "held");
  def.cell = symbol(plain, "spare_cell");
  def.validate = (pd_validator)(intptr_t)symbol(noting, "noting_validate");
  return def;
}

TEST(all_that_a_definition_uses_stays_loaded_until_it_is_taken_back) {
  begin();
  if (!LOADER_UNMAPS) return;
  void *noting = open_plugin("noting"), *plain = open_plugin("plain");
  pd_flag_def def = definition_in(noting, plain);
  pd_flag *flag = register_flag(&def);
  CHECK(strstr(flag_info(flag).module, "libplain.so"));
  close_plugin(noting), close_plugin(plain);
  CHECK(is_loaded("noting") && is_loaded("plain"));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(!is_loaded("noting") && !is_loaded("plain"));
}

TEST(a_refused_definition_holds_nothing) {
  begin();
  if (!LOADER_UNMAPS) return;
  void *noting = open_plugin("noting"), *plain = open_plugin("plain");
  pd_flag_def def = definition_in(noting, plain);
  define_flag(PD_TYPE_bool, "held");
  CHECK(pd_flag_register(&def, NULL, &err) == PD_ERR_CONFLICT);
  close_plugin(noting), close_plugin(plain);
  CHECK(!is_loaded("noting") && !is_loaded("plain"));
}
