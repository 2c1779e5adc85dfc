/* Hooks that come and go while others are called. */
#include "check.h"

static pd_flag *first_flag, *second_flag;
static int notified;

static void count_notice(pd_flag *flag, void *context) { notified += flag && !context; }

static bool adds_a_watcher(const pd_flag_entry *const *entries, void *context, char *why,
                           size_t size) {
  static pd_hook hook;
  (void)context, (void)why, (void)size;
  if (!hook) CHECK_OK(pd_watcher_add(second_flag, count_notice, NULL, NULL, &hook, &err));
  return entries != NULL;
}

static bool refuses_all(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  snprintf(why, size, "expected nothing");
  return !entries || context;
}

static bool adds_a_validator(const pd_flag_entry *const *entries, void *context, char *why,
                             size_t size) {
  static pd_hook hook;
  (void)context, (void)why, (void)size;
  if (!hook) CHECK_OK(pd_validator_add(&second_flag, 1, refuses_all, NULL, NULL, &hook, &err));
  return entries != NULL;
}

static void begin_two(pd_validator validator) {
  first_flag = define_flag(PD_TYPE_int64, "first");
  second_flag = define_flag(PD_TYPE_int64, "second");
  CHECK_OK(pd_validator_add(&first_flag, 1, validator, NULL, NULL, NULL, &err));
}

TEST(a_watcher_that_came_while_a_line_was_asked_about_is_notified) {
  begin_two(adds_a_watcher);
  CHECK_OK(parse_line("--second=1", NULL));
  CHECK(notified == 1);
}

TEST(a_validator_that_came_while_another_was_asked_is_asked_too) {
  pd_assignment items[2] = {{NULL, "1", 0, {0}}, {NULL, "1", 0, {0}}};
  begin_two(adds_a_validator);
  items[0].flag = first_flag;
  items[1].flag = second_flag;
  CHECK_STATUS(pd_batch_set(items, 2, NULL, NULL, &err), PD_ERR_REFUSED,
               "second=1: expected nothing");
  CHECK_STR(text_of(second_flag), "0");
}

#define MANY_HOOKS 2000
static pd_hook many_hooks[MANY_HOOKS];
static int released, deep, deepest;

static void read_in_release(void *context) {
  char text[8];
  released++;
  if (++deep > deepest) deepest = deep;
  CHECK_OK(pd_flag_get_text(context, text, sizeof text, NULL, &err));
  deep--;
}

static void remove_many(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  for (int i = 0; i < MANY_HOOKS; i++) CHECK_OK(pd_hook_remove(many_hooks[i], &err));
  CHECK(released == 0);
}

TEST(release_functions_that_call_the_library_are_not_called_ever_deeper) {
  pd_flag *flag = define_flag(PD_TYPE_int64, "own");
  for (int i = 0; i < MANY_HOOKS - 1; i++) {
    CHECK_OK(pd_watcher_add(flag, count_notice, flag, read_in_release, &many_hooks[i], &err));
  }
  CHECK_OK(
      pd_watcher_add(flag, remove_many, flag, read_in_release, &many_hooks[MANY_HOOKS - 1], &err));
  CHECK_OK(pd_flag_set_int64(flag, 1, &err));
  CHECK(released == MANY_HOOKS && deepest <= 32);
}

/* ---- Overrides that come and go while a reset is asked about ---- */

static pd_override override;

static bool pops(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context, (void)why, (void)size;
  if (override) CHECK_OK(pd_override_pop(override, &err));
  override = 0;
  return entries != NULL;
}

static bool pushes(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  static int pushed;
  pd_assignment item = {first_flag, "5", 0, {0}};
  (void)context, (void)why, (void)size;
  if (!pushed++) CHECK_OK(pd_override_push(&item, 1, NULL, NULL, &override, &err));
  return entries != NULL; /* the override asks, too */
}

static void give_first(const char *text) {
  pd_assignment item = {first_flag, text, 0, {0}};
  pd_origin origin = {PD_SOURCE_ENVIRONMENT, 0, NULL, 0};
  first_flag = item.flag = define_flag(PD_TYPE_int64, "first");
  CHECK_OK(pd_batch_set(&item, 1, &origin, NULL, &err));
}

TEST(a_reset_whose_validator_pops_the_override_drops_every_value) {
  give_first("3");
  override = push_override(first_flag, "4");
  CHECK_OK(pd_validator_add(&first_flag, 1, pops, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_reset(first_flag, &err));
  pd_flag_info info = flag_info(first_flag);
  CHECK_STR(text_of(first_flag), "0");
  CHECK(info.source == PD_SOURCE_DEFAULT);
}

TEST(a_reset_whose_validator_pushes_an_override_gives_that_the_default) {
  give_first("3");
  CHECK_OK(pd_validator_add(&first_flag, 1, pushes, NULL, NULL, NULL, &err));
  CHECK_OK(pd_flag_reset(first_flag, &err));
  CHECK_STR(text_of(first_flag), "0");
  CHECK_OK(pd_override_pop(override, &err));
  CHECK_STR(text_of(first_flag), "3");
}

/* ---- A definition that takes the place of one whose watcher was about to be called ---- */

static void define_watched(pd_watcher watch) {
  pd_flag_def def = definition(PD_TYPE_int64, "second");
  def.watch = watch;
  CHECK_OK((second_flag ? pd_flag_replace(&def, NULL, 0, &second_flag, &err)
                        : pd_flag_register(&def, &second_flag, &err)));
}

static void replace_second(pd_flag *flag, void *context) {
  if (flag == first_flag && !context) define_watched(count_notice);
}

TEST(the_watcher_of_a_new_definition_is_not_notified_of_a_change_before_it) {
  first_flag = define_flag(PD_TYPE_int64, "first");
  define_watched(count_notice);
  CHECK_OK(pd_watcher_add(first_flag, replace_second, NULL, NULL, NULL, &err));
  pd_assignment items[] = {{.flag = first_flag, .text = "1"}, {.flag = second_flag, .text = "1"}};
  CHECK_OK(pd_batch_set(items, 2, NULL, NULL, &err));
  CHECK(notified == 0);
  CHECK_STR(text_of(second_flag), "1");
}
