/* Modules that leave, and come again, while a validator or a watcher runs. */
#include "plugged.h"

static void *library; /* the plugin that the calls below close */
static int asked;

/* ---- Validators of the program: another definition comes meanwhile ---- */

static const char *successor; /* opened after `library` was closed */
static void *opened;

static void exchange(void) {
  if (!library) return; /* asked again */
  void *closed = library;
  library = NULL;
  close_plugin(closed);
  opened = dlopen(plugin_path(successor), RTLD_NOW | RTLD_LOCAL);
}

static bool exchanges(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  asked++;
  exchange();
  return true;
}

static bool stops(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (asked++ == 0) stop_here();
  return true;
}

static void open_guarded(pd_validator validate) {
  library = open_plugin("shifting");
  pd_flag *flag = find_flag("shifting");
  CHECK_OK(pd_validator_add(&flag, 1, validate, NULL, NULL, NULL, &err));
}

/* Whoever defines the flag by now, the registry and the cells keep to its definition. */
static void check_narrow(void) {
  pd_flag *flag;
  int64_t value;
  int64_t (*number)(void) = 0;
  *(void **)&number = opened ? symbol(opened, "shifting_number") : NULL;
  CHECK(!number || number() <= 10);
  if (pd_flag_find("shifting", &flag, NULL) != PD_OK) return;
  pd_flag_info info = flag_info(flag);
  CHECK_OK(pd_flag_get_int64(flag, &value, &err));
  CHECK(value >= info.min.i64 && value <= info.max.i64);
}

static void check_text(void) {
  pd_flag *flag;
  const char *(*text)(void) = 0;
  *(void **)&text = opened ? symbol(opened, "shifting_text") : NULL;
  CHECK(!text || !strcmp(text(), "short"));
  if (pd_flag_find("shifting", &flag, NULL) != PD_OK) return;
  if (flag_info(flag).type == PD_TYPE_string) CHECK_STR(text_of(flag), "short");
}

TEST(a_value_isnt_committed_past_the_range_of_a_definition_that_came_while_a_validator_ran) {
  begin();
  open_guarded(exchanges);
  successor = "shifting_narrow";
  pd_status status = pd_flag_set_by_name("shifting", "900", &err);
  CHECK(asked > 0 && opened);
  CHECK(status == PD_OK || status == PD_ERR_RANGE || status == PD_ERR_UNDEFINED);
  check_narrow();
  close_plugin(opened);
  opened = open_plugin("shifting_narrow");
  check_narrow();
}

TEST(a_number_isnt_committed_to_a_text_that_came_while_a_validator_ran) {
  begin();
  open_guarded(exchanges);
  successor = "shifting_text";
  pd_status status = pd_flag_set_int64(find_flag("shifting"), 900, &err);
  CHECK(asked > 0 && opened);
  CHECK(status == PD_OK || status == PD_ERR_TYPE || status == PD_ERR_UNDEFINED);
  check_text();
  close_plugin(opened);
  opened = open_plugin("shifting_text");
  check_text();
}

static void exchange_on_another_thread(const char *other) {
  begin();
  make_gate();
  open_guarded(stops);
  successor = other;
  setting wanted = {.name = "shifting", .text = "900"};
  pthread_t setter = start(set_by_name, &wanted);
  wait_for(&inside);
  exchange();
  CHECK(opened);
  sem_post(&leave);
  finish(setter);
  CHECK(wanted.status == PD_OK || wanted.status == PD_ERR_RANGE || wanted.status == PD_ERR_CHOICE ||
        wanted.status == PD_ERR_UNDEFINED);
}

TEST(a_validator_on_another_thread_lets_no_value_past_a_range_that_came_meanwhile) {
  exchange_on_another_thread("shifting_narrow");
  check_narrow();
  close_plugin(opened);
  opened = open_plugin("shifting_narrow");
  check_narrow();
}

TEST(a_validator_on_another_thread_lets_no_number_into_a_text_that_came_meanwhile) {
  exchange_on_another_thread("shifting_text");
  check_text();
  close_plugin(opened);
  opened = open_plugin("shifting_text");
  check_text();
}

/* ---- Generations: a definition that a refused load takes back ---- */

static pthread_t setter;
static setting early = {.name = "shifting", .text = "900"};

static void set_from_constructor(void) {
  pd_flag *flag = find_flag("shifting");
  CHECK_OK(pd_validator_add(&flag, 1, stops, NULL, NULL, NULL, &err));
  setter = start(set_by_name, &early);
  wait_for(&inside);
}

/* The plugin depends on libshifting, whose flag is defined and set before its own constructor
 * is through; then it is refused, and takes libshifting's flag along. */
static void set_during_refused_load(void) {
  begin();
  make_gate();
  char address[32];
  snprintf(address, sizeof address, "%p", (void *)(uintptr_t)set_from_constructor);
  setenv("UNWELCOME_CALLS", address, 1);
  define_flag(PD_TYPE_bool, "unwelcome_clash");
  pd_module *module = NULL;
  CHECK(pd_module_load(plugin_path("unwelcome"), NULL, &module, &err) == PD_ERR_CONFLICT);
  CHECK(!module && !is_defined("shifting"));
}

TEST(a_change_is_checked_anew_against_a_definition_of_another_generation) {
  set_during_refused_load();
  load_module("shifting_narrow");
  sem_post(&leave);
  finish(setter);
  CHECK(early.status == PD_ERR_RANGE);
  CHECK_STR(text_of(find_flag("shifting")), "1");
  CHECK_OK(pd_flag_set_by_name("shifting", "9", &err));
  CHECK(asked > 1); /* the hook stands, for it is the program's */
}

TEST(a_change_of_a_value_that_suits_the_next_generation_too_is_made_there) {
  early.text = "7";
  set_during_refused_load();
  load_module("shifting_narrow");
  sem_post(&leave);
  finish(setter);
  CHECK(early.status == PD_OK && asked > 1);
  CHECK_STR(text_of(find_flag("shifting")), "7");
}

TEST(a_change_whose_flag_comes_back_with_another_type_is_read_by_that_type) {
  set_during_refused_load();
  load_module("shifting_text");
  sem_post(&leave);
  finish(setter);
  CHECK(early.status == PD_ERR_CHOICE);
  CHECK_STR(text_of(find_flag("shifting")), "short");
}

TEST(a_change_whose_flag_is_gone_when_the_validators_are_through_is_refused) {
  set_during_refused_load();
  sem_post(&leave);
  finish(setter);
  CHECK(early.status == PD_ERR_UNDEFINED);
}

/* ---- Calls of the plugin that leaves ---- */

static void close_it(void) {
  if (!library) return;
  close_plugin(library);
  library = NULL;
}

static void set_hook(const char *plugin, const char *name, void (*function)(void)) {
  void *variable = symbol_in(plugin, name);
  memcpy(variable, &function, sizeof function);
}

static void open_calling(const char *hook, void (*function)(void)) {
  begin();
  make_gate();
  library = open_plugin("calling");
  set_hook("calling", hook, function);
}

static void check_gone(const char *plugin, const char *flag) {
  CHECK(!LOADER_UNMAPS || (!is_loaded(plugin) && !is_defined(flag)));
}

TEST(a_validator_may_close_its_own_library_and_accept) {
  open_calling("calling_during_validate", close_it);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  check_gone("calling", "calling");
}

TEST(a_validator_may_close_its_own_library_and_refuse) {
  open_calling("calling_during_validate", close_it);
  CHECK_STATUS(pd_flag_set_by_name("calling", "500", &err), PD_ERR_REFUSED,
               "calling=500: expected less than 100");
  check_gone("calling", "calling");
}

TEST(a_watcher_may_close_its_own_library) {
  open_calling("calling_during_watch", close_it);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  check_gone("calling", "calling");
}

static bool closes_and_refuses(const pd_flag_entry *const *entries, void *context, char *why,
                               size_t size) {
  (void)context;
  close_it();
  if (entries[0]->value.i64 != 13) return true;
  snprintf(why, size, "expected anything else");
  return false;
}

TEST(a_validator_of_the_program_may_close_the_flags_library_and_refuse) {
  open_calling("calling_during_watch", NULL);
  pd_flag *flag = find_flag("calling_plain");
  CHECK_OK(pd_validator_add(&flag, 1, closes_and_refuses, NULL, NULL, NULL, &err));
  /* No code of the library was called, so nothing kept it. */
  CHECK_STATUS(pd_flag_set_int64(flag, 13, &err), PD_ERR_UNDEFINED,
               "calling_plain: the module that defined it has been unloaded");
  check_gone("calling", "calling_plain");
}

/* `first` is the program's, and its validator closes the library of the second one. */
static void set_both(int64_t first, int64_t second, pd_status expected, const char *message) {
  open_calling("calling_during_watch", NULL);
  pd_flag *own = define_flag(PD_TYPE_int64, "own");
  CHECK_OK(pd_validator_add(&own, 1, closes_and_refuses, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{own, NULL, PD_TYPE_int64, {.i64 = first}},
                           {find_flag("calling"), NULL, PD_TYPE_int64, {.i64 = second}}};
  CHECK_STATUS(pd_batch_set(items, 2, NULL, NULL, &err), expected, message);
  check_gone("calling", "calling");
  CHECK_STR(text_of(own), expected == PD_OK ? "7" : "0");
}

TEST(the_second_validator_of_a_batch_runs_though_the_first_one_closed_its_library) {
  set_both(7, 7, PD_OK, "");
}

TEST(the_second_validator_of_a_batch_refuses_with_the_context_of_the_library_that_was_closed) {
  set_both(7, 500, PD_ERR_REFUSED, "calling=500: expected less than 100");
}

TEST(the_first_validator_of_a_batch_refuses_and_has_closed_the_library_of_the_second_flag) {
  set_both(13, 7, PD_ERR_REFUSED, "own=13: expected anything else");
}

/* ---- Warning handlers and writers ---- */

static void function_of(const char *name, void *out) {
  void *found = symbol(library, name);
  memcpy(out, &found, sizeof found);
}

static void define_deprecated(void) {
  DEFINE(PD_TYPE_int64, "deprecated", def.deprecated = "use another one");
}

TEST(a_warning_handler_may_close_its_own_library) {
  pd_warning_handler handler;
  define_deprecated();
  open_calling("calling_during_watch", close_it);
  function_of("calling_warn", &handler);
  CHECK_OK(pd_warning_handle(handler, &asked, &err));
  CHECK_OK(pd_flag_set_by_name("deprecated", "5", &err));
  check_gone("calling", "calling");
}

TEST(a_writer_of_a_report_may_close_its_own_library) {
  pd_writer write;
  size_t written = 0;
  open_calling("calling_during_watch", close_it);
  function_of("calling_write", &write);
  CHECK_OK(pd_report_help(NULL, write, &written, &err));
  CHECK(written > 0);
  check_gone("calling", "calling");
}

/* ---- Closes on another thread ---- */

static void stop_once(void) {
  if (asked++ == 0) stop_here();
}

/* A close elsewhere comes back while the call goes on, which finds its code and data. */
static pd_status close_during(const char *hook, const char *text, void *(*close)(void *),
                              void *context) {
  set_hook("calling", hook, stop_once);
  static setting wanted = {.name = "calling"};
  wanted.text = text;
  setter = start(set_by_name, &wanted);
  wait_for(&inside);
  finish(start(close, context)); /* one that waits for the call never ends */
  CHECK(is_loaded("calling"));
  sem_post(&leave);
  finish(setter);
  if (wanted.status != PD_OK) err = wanted.err;
  return wanted.status;
}

static void *close_elsewhere(void *handle) {
  close_plugin(handle);
  return NULL;
}

TEST(a_close_elsewhere_doesnt_wait_for_a_validator_and_the_library_leaves_after_it) {
  open_calling("calling_during_watch", NULL);
  pd_status status = close_during("calling_during_validate", "5", close_elsewhere, library);
  CHECK(status == PD_OK);
  check_gone("calling", "calling");
}

TEST(a_refusal_that_a_close_elsewhere_overtook_has_its_words) {
  open_calling("calling_during_watch", NULL);
  CHECK_STATUS(close_during("calling_during_validate", "500", close_elsewhere, library),
               PD_ERR_REFUSED, "calling=500: expected less than 100");
  check_gone("calling", "calling");
}

TEST(a_close_elsewhere_doesnt_wait_for_a_watcher_and_the_library_leaves_after_it) {
  open_calling("calling_during_watch", NULL);
  pd_status status = close_during("calling_during_watch", "5", close_elsewhere, library);
  CHECK(status == PD_OK);
  check_gone("calling", "calling");
}

/* ---- Unloading by the registry ---- */

static pd_module *loaded;
static void unload_it(void) {
  if (!loaded) return;
  pd_module *module = loaded;
  loaded = NULL;
  CHECK_OK(pd_module_unload(module, &err));
}

static void *unload_elsewhere(void *module) {
  CHECK(pd_module_unload(module, NULL) == PD_OK);
  return NULL;
}

static void load_calling(const char *hook, void (*function)(void)) {
  begin();
  make_gate();
  loaded = load_module("calling");
  set_hook("calling", hook, function);
}

TEST(a_validator_may_unload_its_own_module_which_goes_after_the_call) {
  load_calling("calling_during_validate", unload_it);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  CHECK(!is_defined("calling"));
  check_gone("calling", "calling");
  pd_module *again = load_module("calling");
  CHECK_STR(text_of(find_flag("calling")), "5");
  CHECK_OK(pd_module_unload(again, &err));
}

TEST(a_validator_may_unload_its_own_module_and_refuse) {
  load_calling("calling_during_validate", unload_it);
  CHECK_STATUS(pd_flag_set_by_name("calling", "500", &err), PD_ERR_REFUSED,
               "calling=500: expected less than 100");
  check_gone("calling", "calling");
}

TEST(a_watcher_may_unload_its_own_module) {
  load_calling("calling_during_watch", unload_it);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  check_gone("calling", "calling");
}

TEST(an_unload_elsewhere_is_deferred_to_the_end_of_the_validator) {
  load_calling("calling_during_watch", NULL);
  pd_status status = close_during("calling_during_validate", "5", unload_elsewhere, loaded);
  CHECK(status == PD_OK);
  check_gone("calling", "calling");
  CHECK(!is_defined("calling"));
  CHECK(pd_module_unload(loaded, &err) == PD_ERR_ARGUMENT);
}

TEST(an_unload_elsewhere_is_deferred_to_the_end_of_the_watcher) {
  load_calling("calling_during_watch", NULL);
  pd_status status = close_during("calling_during_watch", "5", unload_elsewhere, loaded);
  CHECK(status == PD_OK);
  check_gone("calling", "calling");
}

/* Out of its own call, then loaded again before that is over: the unload is taken back. */
static void reload_it(void) {
  if (asked++) return;
  CHECK_OK(pd_module_unload(loaded, &err));
  loaded = load_module("calling");
}

TEST(a_module_that_is_unloaded_and_loaded_again_within_its_validator_stays) {
  load_calling("calling_during_validate", reload_it);
  CHECK_OK(pd_flag_set_by_name("calling", "5", &err));
  CHECK_STR(text_of(find_flag("calling")), "5");
  pd_module_info info = module_info(loaded);
  CHECK(info.present && info.flags == 2);
  CHECK_OK(pd_module_unload(loaded, &err));
  check_gone("calling", "calling");
}
