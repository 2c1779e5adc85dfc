/* Conditions that only matter when something comes in between: each has a test of its own that
 * brings it there, without threads and without chance.
 *
 * Built with: -Wl,--wrap=pthread_mutex_lock $LIBRARY
 */
#include "plugged.h"

/* ---- Something happens when the registry is locked for the n-th time ---- */

static int locks_left; /* 0: nothing is to happen */
static void (*meanwhile)(void);

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
  if (locks_left > 0 && --locks_left == 0) meanwhile();
  return __real_pthread_mutex_lock(mutex);
}

static pd_flag *a, *b;
static int asked, told;

static void define_two(void) {
  begin();
  a = define_flag(PD_TYPE_int64, "a");
  b = define_flag(PD_TYPE_int64, "b");
}

static bool is_small(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  asked++;
  return entries[0]->value.i64 < 100;
}

/* ---- A batch of a flag that has a validator and one that has none ---- */

static void refuse_batch(pd_flag *first, int64_t one, pd_flag *second, int64_t two) {
  pd_assignment items[] = {{first, NULL, PD_TYPE_int64, {.i64 = one}},
                           {second, NULL, PD_TYPE_int64, {.i64 = two}}};
  asked = 0;
  CHECK(pd_batch_set(items, 2, NULL, NULL, &err) == PD_ERR_REFUSED);
  CHECK(asked == 1);
  CHECK_STR(text_of(a), "0");
  CHECK_STR(text_of(b), "0");
}

TEST(a_batch_is_refused_whether_the_validated_flag_stands_before_or_behind_a_plain_one) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, is_small, NULL, NULL, NULL, &err));
  refuse_batch(a, 500, b, 7);
  refuse_batch(b, 7, a, 500);
}

TEST(a_batch_is_refused_also_where_the_validator_is_that_of_the_definition) {
  begin();
  a = DEFINE(PD_TYPE_int64, "a", def.validate = is_small);
  b = define_flag(PD_TYPE_int64, "b");
  refuse_batch(a, 500, b, 7);
  refuse_batch(b, 7, a, 500);
}

static void count_change(pd_flag *flag, void *context) { told += flag && !context; }

TEST(a_batch_notifies_whether_the_watched_flag_stands_before_or_behind_a_plain_one) {
  define_two();
  CHECK_OK(pd_watcher_add(a, count_change, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{a, NULL, PD_TYPE_int64, {.i64 = 1}}, {b, "2", 0, {0}}};
  pd_assignment turned[] = {{b, "3", 0, {0}}, {a, NULL, PD_TYPE_int64, {.i64 = 4}}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK_OK(pd_batch_set(turned, 2, NULL, NULL, &err));
  CHECK(told == 2);
}

/* ---- A validator that is removed while it would be asked ---- */

static pd_hook second;

static bool removes_second(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (second) CHECK_OK(pd_hook_remove(second, &err));
  second = 0;
  return true;
}

static bool refuses(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  return false;
}

TEST(a_validator_that_was_removed_meanwhile_refuses_nothing) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, removes_second, NULL, NULL, NULL, &err));
  CHECK_OK(pd_validator_add(&a, 1, refuses, NULL, NULL, &second, &err));
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK_STR(text_of(a), "5");
}

TEST(a_validator_that_was_removed_by_a_later_one_refuses_nothing) {
  define_two();
  CHECK_OK(pd_validator_add(&a, 1, refuses, NULL, NULL, &second, &err));
  CHECK_OK(pd_validator_add(&a, 1, removes_second, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_set_int64(a, 5, &err));
  CHECK_STR(text_of(a), "5");
}

/* ---- A value that stays the same, and is given meanwhile ---- */

static bool gives_b_once(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (asked++ == 0) CHECK_OK(pd_flag_set_int64(b, 0, &err)); /* its default */
  return true;
}

TEST(a_group_is_asked_again_when_a_flag_was_given_its_default_meanwhile) {
  define_two();
  pd_flag *both[] = {a, b};
  CHECK_OK(pd_group_add(PD_GROUP_AT_MOST_ONE, both, 2, NULL, &err));
  CHECK_OK(pd_validator_add(&a, 1, gives_b_once, NULL, NULL, NULL, &err));
  CHECK_STATUS(pd_flag_set_int64(a, 5, &err), PD_ERR_REFUSED,
               "at most one of --a, --b can be given; given: --a=5 (run time), --b=0 (run time)");
  CHECK_STR(text_of(a), "0");
}

/* ---- A load that is refused, and a module that somebody else holds ---- */

static pd_module *held;
static void hold_shifting(void) { held = load_module("shifting"); }

static void load_unwelcome(void (*during)(void)) {
  char address[32];
  begin();
  snprintf(address, sizeof address, "%p", (void *)(uintptr_t)during);
  setenv("UNWELCOME_CALLS", address, 1);
  define_flag(PD_TYPE_bool, "unwelcome_clash");
  CHECK(pd_module_load(plugin_path("unwelcome"), NULL, NULL, &err) == PD_ERR_CONFLICT);
}

TEST(a_refused_load_leaves_the_flags_of_a_module_that_was_loaded_meanwhile) {
  load_unwelcome(hold_shifting);
  CHECK(is_defined("shifting"));
  CHECK_OK(pd_flag_set_by_name("shifting", "5", &err));
  pd_module_info info = module_info(held);
  CHECK(info.present && info.status == PD_OK && info.flags == 1);
  CHECK_OK(pd_module_unload(held, &err));
  CHECK(!LOADER_UNMAPS || !is_defined("shifting"));
}

static void hold_nothing(void) { CHECK(is_defined("shifting")); }

TEST(a_refused_load_takes_the_flags_along_that_nobody_else_holds) {
  load_unwelcome(hold_nothing);
  CHECK(!is_defined("shifting"));
}

/* ---- An unload in the midst of a load ---- */

static pd_module *former;
static void unload_former(void) { CHECK_OK(pd_module_unload(former, &err)); }

static bool is_present(pd_module *module) { return module_info(module).present; }

static void load_while_unloading(const char *name) {
  begin();
  meanwhile = unload_former;
  for (int number = 1; number < 40; number++) {
    former = load_module(name);
    locks_left = number;
    pd_module *latter = load_module(name);
    bool happened = locks_left == 0;
    locks_left = 0;
    if (!happened) unload_former();
    CHECK(is_present(latter) && is_loaded(name));
    CHECK_OK(pd_module_unload(latter, &err));
    CHECK(!LOADER_UNMAPS || (!is_present(latter) && !is_loaded(name)));
    CHECK(pd_module_unload(latter, NULL) == PD_ERR_ARGUMENT);
  }
}

TEST(a_module_without_a_record_that_is_unloaded_while_it_is_loaded_again_is_present) {
  load_while_unloading("plain");
}
TEST(a_module_that_is_unloaded_while_it_is_loaded_again_is_present) {
  load_while_unloading("alpha");
}

/* ---- A watcher whose module left, with another definition in its place ---- */

static pd_module *loaded;

static void replace_calling(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  CHECK_OK(pd_module_unload(loaded, &err));
  loaded = load_module("calling_other");
  told++;
}

TEST(the_watcher_of_a_definition_isnt_called_when_another_one_has_its_place) {
  begin();
  if (!LOADER_UNMAPS) return;
  loaded = load_module("calling");
  b = define_flag(PD_TYPE_int64, "b");
  CHECK_OK(pd_watcher_add(b, replace_calling, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{b, "1", 0, {0}}, {find_flag("calling"), "4", 0, {0}}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err)); /* a call would end the process */
  CHECK(told == 1);
  CHECK_STR(text_of(find_flag("calling")), "4");
}

/* ---- A hook whose release function leaves with it ---- */

TEST(the_release_function_of_a_hook_that_left_with_its_plugin_isnt_called_later) {
  begin();
  define_flag(PD_TYPE_int64, "own");
  setenv("REGISTERING", "+validate +watch +all", 1);
  for (int i = 0; i < 3; i++) {
    void *library = open_plugin("registering");
    CHECK_OK(pd_flag_set_by_name("own", i % 2 ? "5" : "6", &err));
    close_plugin(library);
    CHECK(!LOADER_UNMAPS || !is_loaded("registering"));
    CHECK_OK(pd_flag_set_by_name("own", "7", &err)); /* a call would end the process */
    CHECK_OK(pd_flags_validate(NULL, &err));
    if (!LOADER_UNMAPS) return;
  }
}

/* ---- A record that doesn't lie whole in its image ---- */

TEST(a_note_that_leads_to_the_last_bytes_of_an_image_leads_to_no_record) {
  begin();
  pd_module *module = load_module("overlapping");
  pd_module_info info = module_info(module);
  CHECK(info.present && info.status == PD_OK && info.flags == 0);
  CHECK_OK(pd_module_unload(module, &err));
}

/* ---- Waiting values, and another definition of the same flag meanwhile ---- */

static int64_t seen[8];
static bool loads_twin(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  if (asked < 8) seen[asked] = entries[0]->value.i64;
  if (asked++ == 0) load_module("twin");
  return true;
}

TEST(a_second_definition_doesnt_apply_what_waits_for_the_first_one) {
  begin();
  pd_module *alpha = load_module("alpha");
  pd_flag *level = find_flag("alpha_level");
  CHECK_OK(pd_validator_add(&level, 1, loads_twin, NULL, NULL, NULL, &err));
  CHECK_OK(pd_module_unload(alpha, &err));
  if (!LOADER_UNMAPS) return;
  setenv("SURVIVORS_alpha_level", "3", 1);
  CHECK_OK(pd_environment_enable("SURVIVORS_", NULL, &err));
  CHECK_OK(pd_pending_set("alpha_level", "5", NULL, &err));
  asked = 0;
  load_module("alpha");
  /* The first question loads the twin, which asks for itself and joins first, with both values. */
  CHECK(asked == 3 && seen[0] == 3 && seen[1] == 3 && seen[2] == 5);
  CHECK_STR(text_of(level), "5");
  CHECK(flag_info(level).cells == 2);
}
