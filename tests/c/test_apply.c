/* Batches for clients: conditions, trials, decisions, values that are dropped again. */
#include "check.h"

static pd_flag *a, *b;

static void start(void) {
  a = define_flag(PD_TYPE_int32, "a");
  b = define_flag(PD_TYPE_string, "b");
  CHECK_OK(pd_journal_start(&err));
}

static pd_origin live = {.source = PD_SOURCE_LIVE, .place = "a client"};

static pd_status apply(const pd_batch_change *changes, size_t count, pd_batch_options options) {
  options.size = sizeof options;
  if (!options.override) options.origin = &live;
  return pd_batch_apply(changes, count, &options, &err);
}

static pd_override assign_for_a_while(pd_flag *flag, const char *text) {
  pd_override made = 0;
  pd_batch_change change = {.flag = flag, .text = text};
  CHECK_OK(apply(&change, 1, (pd_batch_options){.override = &made}));
  return made;
}

static void assign(pd_flag *flag, const char *text) {
  pd_batch_change change = {.flag = flag, .text = text};
  CHECK_OK(apply(&change, 1, (pd_batch_options){.size = 0}));
}

/* What the decider is told, as "old>new|" for each change; "!" if it is hidden. */
static char told[200];
static bool agrees;

static bool decide(const pd_batch_effect *effects, size_t count, void *context) {
  CHECK(context == told);
  *told = '\0';
  for (size_t i = 0; i < count; i++) {
    const pd_batch_effect *one = &effects[i];
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s>%s%s|", one->old_text ? one->old_text : "none",
             one->new_text ? one->new_text : "none", one->hidden ? "!" : "");
  }
  return agrees;
}

static pd_batch_options deciding(bool answer) {
  agrees = answer;
  return (pd_batch_options){.decide = decide, .context = told};
}

TEST(a_batch_gives_values_with_their_source_and_tells_the_decider_before) {
  start();
  pd_batch_change changes[] = {{.flag = a, .text = "5"}, {.flag = b, .text = "five"}};
  CHECK_OK(apply(changes, 2, deciding(true)));
  CHECK_STR(told, "0>5|>five|");
  CHECK_STR(text_of(b), "five");
  pd_flag_entry entry = flag_entry(a, 0);
  CHECK(entry.origin.source == PD_SOURCE_LIVE && entry.override == 0);
  CHECK_STR(entry.origin.place, "a client");
}

TEST(nothing_changes_if_the_decider_gives_up_or_the_batch_is_a_trial) {
  start();
  pd_batch_change change = {.flag = a, .text = "5"};
  CHECK_STATUS(apply(&change, 1, deciding(false)), PD_ERR_REFUSED, "the change was given up");
  CHECK_STR(text_of(a), "0");
  pd_batch_options trial = deciding(true);
  trial.dry_run = true;
  CHECK_OK(apply(&change, 1, trial));
  CHECK_STR(told, "0>5|");
  CHECK_STR(text_of(a), "0");
  CHECK(pd_journal_get_revision() == 0);
}

TEST(errors_of_a_batch_say_which_flag_they_are_about) {
  start();
  pd_batch_change changes[] = {{.flag = b, .text = "x", .literal = PD_TYPE_double},
                               {.flag = a, .text = "six"}};
  pd_error_list *errors = pd_error_list_new();
  CHECK_STATUS(apply(changes, 2, (pd_batch_options){.errors = errors}), PD_ERR_TYPE,
               "b=x: expected text; write it in quotes");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK(pd_error_list_get_flag(errors, 0) == b);
  CHECK(pd_error_list_get_flag(errors, 1) == a);
  CHECK(pd_error_list_get_flag(errors, 2) == NULL);
  pd_error_list_free(errors);
}

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  snprintf(why, size, "expected an even number");
  return entries[0]->value.i64 % 2 == 0;
}

TEST(an_error_of_a_validator_is_about_its_flag) {
  start();
  CHECK_OK(pd_validator_add(&a, 1, is_even, NULL, NULL, NULL, &err));
  pd_error_list *errors = pd_error_list_new();
  pd_batch_change changes[] = {{.flag = b, .text = "x"}, {.flag = a, .text = "5"}};
  CHECK_STATUS(apply(changes, 2, (pd_batch_options){.errors = errors}), PD_ERR_REFUSED,
               "a=5: expected an even number");
  CHECK(pd_error_list_count(errors) == 1 && pd_error_list_get_flag(errors, 0) == a);
  pd_error_list_free(errors);
}

TEST(a_batch_is_refused_if_a_flag_has_changed_since_a_revision) {
  start();
  assign(a, "1");
  pd_flag_revision seen[] = {{a, pd_journal_get_revision()}, {b, pd_journal_get_revision()}};
  pd_batch_change change = {.flag = a, .text = "2"};
  pd_batch_options options = {.unchanged = seen, .unchanged_count = 2};
  CHECK_OK(apply(&change, 1, options));
  CHECK_STATUS(apply(&change, 1, options), PD_ERR_CONFLICT, "a: has changed meanwhile");
  seen[0].revision = pd_flag_get_revision(a);
  CHECK_OK(apply(&change, 1, options));
}

TEST(values_of_an_override_are_dropped_flag_by_flag) {
  start();
  pd_override made = 0;
  pd_batch_change both[] = {{.flag = a, .text = "5"}, {.flag = b, .text = "five"}};
  CHECK_OK(apply(both, 2, (pd_batch_options){.override = &made}));
  CHECK(flag_entry(a, 0).override == made);
  pd_batch_change drop = {.flag = a, .override = made};
  CHECK_OK(apply(&drop, 1, deciding(true)));
  CHECK_STR(told, "5>0|");
  CHECK_STR(text_of(a), "0");
  CHECK_STR(text_of(b), "five");
  CHECK_OK(apply(&drop, 1, deciding(true))); /* again: nothing is left to drop */
  drop.flag = b;
  CHECK_OK(apply(&drop, 1, deciding(true)));
  CHECK_STATUS(pd_override_pop(made, &err), PD_ERR_ARGUMENT,
               "no override has the number 1, or it is already popped");
}

TEST(what_the_program_sets_waits_below_a_temporary_value) {
  start();
  pd_override made = assign_for_a_while(a, "5");
  CHECK_OK(pd_flag_set_int32(a, 7, &err));
  CHECK_STR(text_of(a), "5");
  CHECK_OK(pd_override_pop(made, &err));
  CHECK_STR(text_of(a), "7");
}

TEST(the_decider_knows_what_is_left_when_several_values_are_dropped) {
  start();
  assign(a, "1");
  pd_override below = assign_for_a_while(a, "2"), above = assign_for_a_while(a, "3");
  pd_batch_change drop = {.flag = a, .override = below};
  pd_batch_options trial = deciding(true);
  trial.dry_run = true;
  CHECK_OK(apply(&drop, 1, trial));
  CHECK_STR(told, "3>3|");
  drop.override = above;
  CHECK_OK(apply(&drop, 1, trial));
  CHECK_STR(told, "3>2|");
  pd_batch_change all[] = {
      {.flag = a}, {.flag = a, .override = below}, {.flag = a, .override = above}};
  CHECK_OK(apply(all, 3, deciding(true)));
  CHECK_STR(told, "3>0|3>0|3>0|");
  CHECK_STR(text_of(a), "0");
}

TEST(a_value_below_an_override_is_hidden) {
  start();
  assign_for_a_while(a, "5");
  pd_batch_change change = {.flag = a, .text = "6"};
  CHECK_OK(apply(&change, 1, deciding(true)));
  CHECK_STR(told, "5>6!|");
  CHECK_STR(text_of(a), "5");
}

TEST(a_flag_that_has_gone_keeps_nothing_of_a_batch_waiting) {
  start();
  pd_override made = assign_for_a_while(a, "5");
  CHECK_OK(pd_flag_unregister(a, &err));
  pd_batch_change ended = {.flag = a, .override = made};
  CHECK_OK(apply(&ended, 1, deciding(true)));
  CHECK_STR(told, "none>none|");
  pd_batch_change dropped = {.flag = a};
  CHECK_STATUS(apply(&dropped, 1, deciding(true)), PD_ERR_UNDEFINED, "a: is no longer defined");
}

TEST(a_batch_must_be_whole) {
  start();
  pd_batch_change none = {.text = "1"};
  CHECK_STATUS(pd_batch_apply(NULL, 1, NULL, &err), PD_ERR_ARGUMENT, "changes is NULL");
  CHECK_STATUS(pd_batch_apply(&none, 1, NULL, &err), PD_ERR_ARGUMENT, "changes[0].flag is NULL");
  CHECK_STATUS(apply(NULL, 0, (pd_batch_options){.unchanged_count = 1}), PD_ERR_ARGUMENT,
               "options->unchanged is NULL");
  pd_flag_revision nothing = {.revision = 1};
  pd_batch_options options = {.unchanged = &nothing, .unchanged_count = 1};
  CHECK_STATUS(apply(NULL, 0, options), PD_ERR_ARGUMENT, "options->unchanged[0].flag is NULL");
  CHECK_OK(pd_batch_apply(NULL, 0, NULL, &err));
}

/* ---- The journal ---- */

TEST(the_journal_has_each_change_with_its_mark) {
  pd_journal_event event = {.size = sizeof event};
  a = define_flag(PD_TYPE_int32, "a");
  CHECK(pd_journal_get_revision() == 0 && pd_flag_get_revision(a) == 0);
  CHECK_STR(pd_journal_get_epoch(), "");
  start();
  CHECK(strlen(pd_journal_get_epoch()) == 16);
  CHECK_STATUS(pd_journal_get(0, &event, &err), PD_ERR_UNDEFINED,
               "nothing has changed since revision 0");
  pd_batch_change change = {.flag = a, .text = "5"};
  CHECK_OK(apply(&change, 1, (pd_batch_options){.mark = 17}));
  CHECK_OK(pd_flag_set_int32(a, 6, &err));
  CHECK(pd_journal_get_revision() == 2 && pd_flag_get_revision(a) == 2);
  CHECK_OK(pd_journal_get(0, &event, &err));
  CHECK(event.revision == 1 && event.mark == 17 && event.flag == a);
  CHECK(event.kind == PD_EVENT_VALUE && event.old_type == PD_TYPE_int32);
  CHECK(event.old_value.i64 == 0 && event.new_value.i64 == 5);
  CHECK(event.origin.source == PD_SOURCE_LIVE && event.defined && !event.sensitive);
  CHECK_OK(pd_journal_get(1, &event, &err));
  CHECK(event.revision == 2 && event.mark == 0);
  CHECK_STATUS(pd_journal_get(3, &event, &err), PD_ERR_ARGUMENT,
               "since: 3: expected a revision from 0 to 2");
}

TEST(events_that_are_too_old_are_not_there_any_more) {
  pd_journal_event event = {.size = sizeof event};
  start();
  for (int i = 1; i <= PD_JOURNAL_KEPT + 10; i++) CHECK_OK(pd_flag_set_int32(a, i, &err));
  CHECK_STATUS(pd_journal_get(9, &event, &err), PD_ERR_ARGUMENT,
               "since: 9: expected a revision from 10 to 8202");
  CHECK_OK(pd_journal_get(10, &event, &err));
  CHECK(event.revision == 11 && event.new_value.i64 == 11);
}

/* ---- Callbacks that wait ---- */

static int calls;

static void count(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  calls++;
}

TEST(a_thread_that_postpones_callbacks_leaves_watchers_to_others) {
  start();
  CHECK_OK(pd_watcher_add(a, count, NULL, NULL, NULL, &err));
  pd_callbacks_postpone(true);
  CHECK(!pd_callbacks_are_waiting());
  CHECK_OK(pd_flag_set_int32(a, 6, &err));
  CHECK(calls == 0 && pd_callbacks_are_waiting());
  pd_callbacks_run();
  CHECK(calls == 0);
  pd_callbacks_postpone(false);
  pd_callbacks_run();
  CHECK(calls == 1 && !pd_callbacks_are_waiting());
}

/* ---- Values as text ---- */

TEST(a_value_of_each_type_has_a_text) {
  char text[8];
  size_t length = 0;
  CHECK_OK(
      pd_value_get_text(PD_TYPE_double, (pd_value){.f64 = 0.1}, text, sizeof text, &length, &err));
  CHECK_STR(text, "0.1");
  CHECK_OK(pd_value_get_text(PD_TYPE_string, (pd_value){.str = "a longer text"}, text, sizeof text,
                             &length, &err));
  CHECK_STR(text, "a longe");
  CHECK(length == 13);
  CHECK_STATUS(pd_value_get_text((pd_type)9, (pd_value){.i64 = 0}, text, sizeof text, NULL, &err),
               PD_ERR_ARGUMENT, "type: 9: expected a pd_type");
  CHECK_STATUS(
      pd_value_get_text(PD_TYPE_string, (pd_value){.str = NULL}, text, sizeof text, NULL, &err),
      PD_ERR_ARGUMENT, "value.str is NULL");
}

TEST(text_is_read_as_a_flag_of_the_type_and_unit_would) {
  pd_value value;
  CHECK_OK(pd_value_parse(PD_TYPE_double, "seconds", "1m30s", &value, &err));
  CHECK(value.f64 == 90);
  CHECK_STATUS(pd_value_parse(PD_TYPE_int32, NULL, "x", &value, &err), PD_ERR_VALUE,
               "x: expected a 32-bit integer");
}

TEST(a_text_is_compared_with_the_value_that_it_means) {
  bool same = false;
  start();
  CHECK_OK(pd_flag_set_int32(a, 16, &err));
  CHECK_OK(pd_flag_compare_text(a, "0x10", &same, &err));
  CHECK(same);
  CHECK_OK(pd_flag_compare_text(a, "17", &same, &err));
  CHECK(!same);
  CHECK_OK(pd_flag_compare_text(a, "x", &same, &err));
  CHECK(!same);
  CHECK_OK(pd_flag_compare_text(a, NULL, &same, &err));
  CHECK(!same);
}
