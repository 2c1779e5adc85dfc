/* The live API, as a server calls it: changes, temporary changes, undo, events. What a client sees
 * over a socket is tested with the servers. */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asking.h"

static pd_flag *level;

static pd_flag *define_level(void) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  def.default_value.i64 = 6;
  def.min.i64 = 1;
  def.max.i64 = 9;
  def.runtime = true;
  CHECK_OK(pd_flag_register(&def, &level, &err));
  return level;
}

/* Waits until the flag has a value; the test is ended by its timeout if it never has. */
static void wait_for(const pd_flag *flag, const char *text) {
  while (strcmp(text_of(flag), text) != 0) usleep(2000);
}

/* ---- Revisions ---- */

TEST(there_is_no_revision_before_somebody_serves) {
  define_level();
  CHECK_OK(pd_flag_set_int32(level, 7, &err));
  CHECK(pd_live_revision() == 0);
}

TEST(each_change_of_a_value_a_source_or_a_definition_has_a_revision) {
  define_level();
  serve(NULL);
  uint64_t start = pd_live_revision();
  CHECK_OK(pd_flag_set_int32(level, 7, &err));
  CHECK(pd_live_revision() == start + 1);
  CHECK_OK(pd_flag_set_int32(level, 7, &err)); /* nothing has changed */
  CHECK(pd_live_revision() == start + 1);
  CHECK_OK(pd_flag_freeze(level, &err));
  CHECK(pd_live_revision() == start + 2);
  pd_flag *other = define_flag(PD_TYPE_bool, "other");
  CHECK(pd_live_revision() == start + 3);
  CHECK_OK(pd_flag_unregister(other, &err));
  CHECK(pd_live_revision() == start + 4);
  read_events(start);
  CHECK_HAS(answer, "\"kind\":\"value\",\"old\":\"6\",\"new\":\"7\",\"source\":\"run time\"");
  CHECK_HAS(answer, "\"kind\":\"frozen\"");
  CHECK_HAS(answer, "\"name\":\"other\",\"kind\":\"defined\"");
  CHECK_HAS(answer, "\"name\":\"other\",\"kind\":\"removed\"");
}

TEST(events_that_are_no_longer_kept_are_a_gap) {
  define_level();
  serve(NULL);
  uint64_t start = pd_live_revision();
  for (int i = 0; i < 9000; i++) CHECK_OK(pd_flag_set_int32(level, 1 + i % 9, &err));
  uint64_t now = read_events(start);
  CHECK_HAS(answer, "event: gap\n");
  CHECK(now == pd_live_revision());
  CHECK(read_events(now - 3) == now);
  CHECK_HAS(answer, "event: changes\n");
  CHECK(read_events(now) == now);
  CHECK_STR(answer, "");
}

/* ---- Changing ---- */

TEST(a_change_is_permanent_of_the_source_live_and_says_what_was_before) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/reason", "why not")) == 200);
  CHECK_HAS(answer, "\"name\":\"level\",\"old\":\"6\",\"new\":\"9\",\"source\":\"live\"");
  CHECK_STR(text_of(level), "9");
  pd_flag_entry entry = {.size = sizeof entry};
  CHECK_OK(pd_flag_get_entry(level, 0, &entry, &err));
  CHECK(entry.origin.source == PD_SOURCE_LIVE);
  CHECK_STR(entry.origin.place, "uid 1000");
}

TEST(all_of_a_change_happens_or_nothing) {
  define_level();
  define_flag(PD_TYPE_bool, "on");
  serve("*");
  CHECK(CHANGE(TEXT("/set/on", "true"), TEXT("/set/level", "12")) == 422);
  CHECK_HAS(answer, "\"detail\":\"level=12: expected an integer in [1, 9]\"");
  CHECK_HAS(answer, "\"code\":\"PD_ERR_RANGE\"");
  CHECK(get("/v1/flags/on") == 200);
  CHECK_HAS(answer, "\"value\":false");
}

TEST(a_dry_run_checks_everything_and_changes_nothing) {
  define_level();
  serve(NULL);
  uint64_t before = pd_live_revision();
  CHECK(CHANGE(TEXT("/set/level", "9"), {"/dry_run", PD_LIVE_BOOL, "true"}) == 200);
  CHECK_HAS(answer, "\"change\":null");
  CHECK_HAS(answer, "\"old\":\"6\",\"new\":\"9\"");
  CHECK(CHANGE(TEXT("/set/level", "0"), {"/dry_run", PD_LIVE_BOOL, "true"}) == 422);
  CHECK(pd_live_revision() == before);
  CHECK_STR(text_of(level), "6");
}

static bool is_even(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (entries[0]->value.i64 % 2 == 0) return true;
  snprintf(why, size, "an even level, please");
  return false;
}

TEST(the_words_of_a_validator_reach_the_client) {
  define_level();
  serve(NULL);
  CHECK_OK(pd_validator_add(&level, 1, is_even, NULL, NULL, NULL, &err));
  CHECK(CHANGE(TEXT("/set/level", "3")) == 422);
  CHECK_HAS(answer, "an even level, please");
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
}

TEST(a_change_that_expects_another_value_is_a_conflict_and_tells_the_value) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/expect/level", "5")) == 409);
  CHECK_HAS(answer, "\"current\":{\"level\":\"6\"}");
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/expect/level", "0x6")) == 200);
}

TEST(an_expectation_never_tells_a_sensitive_value) {
  pd_flag_def def = definition(PD_TYPE_string, "secret");
  def.default_value.str = "hunter2";
  def.sensitive = def.runtime = true;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/secret", "x"), TEXT("/expect/secret", "hunter2")) == 403);
  CHECK(CHANGE(TEXT("/set/secret", "x"), TEXT("/expect/secret", "other")) == 403);
  CHECK(CHANGE(TEXT("/set/secret", "correct-horse")) == 200);
  CHECK(!strstr(answer, "correct-horse") && !strstr(answer, "hunter2"));
  CHECK(get("/v1/changes") == 200 && !strstr(answer, "correct-horse"));
  CHECK(get("/v1/flags/secret") == 200 && !strstr(answer, "correct-horse"));
  read_events(0);
  CHECK(!strstr(answer, "correct-horse") && !strstr(answer, "hunter2"));
}

TEST(only_marked_or_listed_flags_may_be_changed) {
  define_flag(PD_TYPE_int32, "port");
  define_flag(PD_TYPE_int32, "alpha_level");
  serve("alpha_*");
  CHECK(CHANGE(TEXT("/set/port", "1")) == 403);
  CHECK_HAS(answer, "port: may not be changed from outside");
  CHECK(CHANGE(TEXT("/set/alpha-level", "1")) == 200);
}

static pd_flag *going;
static bool takes_away(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  if (going) CHECK(pd_flag_unregister(going, NULL) == PD_OK);
  going = NULL;
  return true;
}

TEST(a_flag_that_goes_while_validators_run_is_a_conflict) {
  define_level();
  going = define_flag(PD_TYPE_int32, "going");
  serve(NULL);
  CHECK_OK(pd_validator_add(&level, 1, takes_away, NULL, NULL, NULL, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/expect/going", "0")) == 409);
  CHECK_HAS(answer, "going: is no longer defined");
  CHECK_STR(text_of(level), "6");
}

TEST(what_clients_have_set_is_taken_back_by_null) {
  define_level();
  serve(NULL);
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "5"), TEXT("/for", "1h")) == 200);
  uint64_t before = pd_live_revision();
  CHECK(CHANGE({"/set/level", PD_LIVE_NULL, NULL}) == 200);
  CHECK_HAS(answer, "\"old\":\"5\",\"new\":\"3\"");
  CHECK(pd_live_revision() == before + 1); /* no reader saw 4 */
  CHECK(get("/v1/process") == 200);
  CHECK_HAS(answer, "\"temporary\":0");
  CHECK_STR(text_of(level), "3");
}

/* ---- Temporary changes ---- */

TEST(a_temporary_change_ends_by_itself_also_when_the_server_is_gone) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "200ms")) == 200);
  CHECK_STR(text_of(level), "9");
  pd_live_close(live);
  wait_for(level, "6");
}

TEST(temporary_changes_end_in_the_order_of_their_deadlines) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "60s")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "8"), TEXT("/for", "200ms")) == 200);
  CHECK_STR(text_of(level), "8");
  wait_for(level, "9");
  CHECK(UNDO(TEXT("/reason", "enough")) == 200);
  CHECK_STR(text_of(level), "6");
}

TEST(a_thousand_temporary_changes_may_be_on_and_no_more) {
  define_level();
  serve(NULL);
  for (int i = 0; i < 1000; i++) CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "1h")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "1h")) == 503);
  CHECK_HAS(answer, "1000 temporary changes are on: undo some, or wait until some end");
  CHECK(UNDO(TEXT("/reason", "one")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "8"), TEXT("/for", "1h")) == 200);
}

static int warned;
static void count_warning(const char *message, pd_warning kind, void *context) {
  (void)context;
  CHECK(kind == PD_WARNING_HIDDEN);
  CHECK_STR(message, "level: takes effect when the temporary change by a client ends");
  warned++;
}

TEST(what_the_program_sets_below_a_temporary_change_waits_with_a_warning) {
  define_level();
  serve(NULL);
  CHECK_OK(pd_warning_handle(count_warning, NULL, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "300ms")) == 200);
  CHECK_OK(pd_flag_set_int32(level, 2, &err));
  CHECK_OK(pd_flag_set_int32(level, 3, &err));
  CHECK(warned == 1);
  CHECK_STR(text_of(level), "9");
  wait_for(level, "3");
}

TEST(a_validator_judges_what_waits_below_a_temporary_change) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "8"), TEXT("/for", "1h")) == 200);
  CHECK_OK(pd_validator_add(&level, 1, is_even, NULL, NULL, NULL, &err));
  CHECK(pd_flag_set_int32(level, 3, NULL) == PD_ERR_REFUSED);
  CHECK(CHANGE(TEXT("/set/level", "5")) == 422);
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
  CHECK_HAS(answer, "\"hidden\":true");
}

TEST(an_override_of_the_program_goes_on_under_a_temporary_change) {
  define_level();
  serve(NULL);
  pd_override own;
  pd_assignment three = {.flag = level, .text = "3"};
  CHECK_OK(pd_override_push(&three, 1, NULL, NULL, &own, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "300ms")) == 200);
  CHECK_OK(pd_flag_set_int32(level, 4, &err)); /* changes the program's override */
  CHECK_STR(text_of(level), "9");
  wait_for(level, "4");
  CHECK_OK(pd_override_pop(own, &err));
  CHECK_STR(text_of(level), "6");
}

static int notified;
static void count_change(pd_flag *flag, void *context) {
  (void)flag, (void)context;
  __atomic_fetch_add(&notified, 1, __ATOMIC_RELEASE);
}

TEST(watchers_are_notified_when_a_temporary_change_ends) {
  define_level();
  serve(NULL);
  CHECK_OK(pd_watcher_add(level, count_change, NULL, NULL, NULL, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "200ms")) == 200);
  CHECK(__atomic_load_n(&notified, __ATOMIC_ACQUIRE) == 1);
  while (__atomic_load_n(&notified, __ATOMIC_ACQUIRE) < 2) usleep(2000);
  CHECK_STR(text_of(level), "6");
}

static void *stay(void *unused) {
  for (;;) sleep(60);
  return unused;
}

static bool is_back(const pd_flag *flag) {
  int32_t value;
  return pd_flag_get_int32(flag, &value, NULL) == PD_OK && value == 6;
}

static void block_at(pd_flag *flag, void *context) {
  (void)context;
  if (is_back(flag)) stay(NULL);
}

TEST(a_watcher_that_never_returns_holds_up_no_other_end) {
  define_level();
  pd_flag *other = define_flag(PD_TYPE_int32, "other");
  serve("*");
  CHECK_OK(pd_watcher_add(level, block_at, NULL, NULL, NULL, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "200ms")) == 200);
  CHECK(CHANGE(TEXT("/set/other", "9"), TEXT("/for", "400ms")) == 200);
  wait_for(other, "0");
}

static void end_thread_at(pd_flag *flag, void *context) {
  (void)context;
  if (is_back(flag)) pthread_exit(NULL);
}

TEST(a_watcher_that_ends_its_thread_ends_no_other_change) {
  define_level();
  serve(NULL);
  CHECK_OK(pd_watcher_add(level, end_thread_at, NULL, NULL, NULL, &err));
  for (int i = 0; i < 3; i++) {
    CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "200ms")) == 200);
    wait_for(level, "6");
  }
}

TEST(a_temporary_change_ends_in_a_forked_child_too) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "500ms")) == 200);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    wait_for(level, "6");
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  wait_for(level, "6");
}

static bool wait_a_while(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  (void)entries, (void)context, (void)why, (void)size;
  usleep(400000);
  return true;
}

TEST(a_temporary_change_may_end_while_it_is_taken_back) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "3")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "4"), TEXT("/for", "200ms")) == 200);
  CHECK_OK(pd_validator_add(&level, 1, wait_a_while, NULL, NULL, NULL, &err));
  CHECK(CHANGE({"/set/level", PD_LIVE_NULL, NULL}) == 200);
  CHECK_STR(text_of(level), "6");
}

TEST(what_a_flag_was_is_not_told_once_it_is_sensitive) {
  pd_flag_def def = definition(PD_TYPE_string, "key");
  def.default_value.str = "public";
  def.runtime = true;
  pd_flag *key;
  CHECK_OK(pd_flag_register(&def, &key, &err));
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/key", "correct-horse")) == 200);
  def.sensitive = true;
  CHECK_OK(pd_flag_replace(&def, NULL, 0, &key, &err));
  CHECK(get("/v1/changes") == 200);
  CHECK(!strstr(answer, "correct-horse"));
}

/* ---- Undo ---- */

TEST(an_undo_gives_back_what_clients_had_set_before) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
  CHECK(CHANGE(TEXT("/set/level", "5")) == 200);
  CHECK(UNDO(TEXT("/reason", "no")) == 200);
  CHECK_HAS(answer, "\"old\":\"5\",\"new\":\"4\"");
  CHECK(UNDO(TEXT("/reason", "no")) == 200);
  CHECK_STR(text_of(level), "6");
  CHECK(UNDO(TEXT("/reason", "no")) == 409);
}

TEST(an_undo_is_for_the_author_alone) {
  const pd_live_field body[] = {OBJECT, {"/change", PD_LIVE_NUMBER, "1"}};
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
  CHECK(post_as(1001, "/v1/undo", body, 2) == 403);
  CHECK(post_as(1000, "/v1/undo", body, 2) == 200);
  CHECK(post_as(1000, "/v1/undo", body, 2) == 409);
}

TEST(an_undo_comes_too_late_when_the_program_has_set_the_flag_since) {
  define_level();
  serve(NULL);
  CHECK(CHANGE(TEXT("/set/level", "4")) == 200);
  CHECK_OK(pd_flag_set_int32(level, 5, &err));
  CHECK(UNDO(TEXT("/reason", "no")) == 409);
  CHECK_HAS(answer, "level: has changed since");
  CHECK_STR(text_of(level), "5");
}

/* ---- The audit ---- */

static char audited[65536];
static void audit(const char *event, size_t length, void *context) {
  (void)context;
  CHECK(length == strlen(event) && !strchr(event, '\n'));
  strcat(strcat(audited, event), "\n");
}

TEST(the_audit_learns_of_changes_refusals_undos_and_ends) {
  define_level();
  pd_live_options options = {.size = sizeof options, .audit = audit};
  CHECK_OK(pd_live_open(&options, &live, &err));
  CHECK(CHANGE(TEXT("/set/level", "9"), TEXT("/for", "200ms"), TEXT("/reason", "a \"b\"\n")) ==
        200);
  pd_live_close(live); /* the end still comes */
  wait_for(level, "6");
  while (!strstr(audited, "ended")) usleep(2000);
  CHECK_HAS(audited, "{\"event\":\"set\",\"result\":\"applied\"");
  CHECK_HAS(audited, "\"reason\":\"a \\\"b\\\"\\n\"");
  CHECK_HAS(audited, "{\"name\":\"level\",\"old\":\"6\",\"new\":\"9\"}");
  CHECK_HAS(strstr(audited, "ended"), "{\"name\":\"level\",\"old\":\"9\",\"new\":\"6\"}");
  CHECK_OK(pd_live_open(&options, &live, &err));
  CHECK(CHANGE(TEXT("/set/level", "99")) == 422);
  CHECK_HAS(audited, "{\"event\":\"refused\",\"result\":\"refused\"");
  CHECK_HAS(strstr(audited, "refused"), "{\"name\":\"level\",\"new\":\"99\"}");
}

/* ---- Threads ---- */

static bool stop;

static void *keep_setting(void *unused) {
  (void)unused;
  for (int32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); i++) {
    CHECK(pd_flag_set_int32(level, 1 + i % 9, NULL) == PD_OK);
  }
  return NULL;
}

TEST(events_are_complete_and_in_order_while_other_threads_set) {
  pthread_t threads[2];
  define_level();
  serve(NULL);
  for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, keep_setting, NULL));
  uint64_t at = pd_live_revision();
  for (int round = 0; round < 200; round++) {
    uint64_t next = read_events(at);
    bool lost = strstr(answer, "event: gap");
    for (const char *cursor = answer; !lost && at < next;) {
      char expected[64];
      snprintf(expected, sizeof expected, "{\"revision\":%llu,", (unsigned long long)++at);
      CHECK((cursor = strstr(cursor, expected)));
    }
    at = next;
    CHECK(get("/v1/flags") == 200);
    usleep(100);
  }
  __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
  for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
}

static void *keep_changing(void *unused) {
  const pd_live_field fields[] = {OBJECT, TEXT("/set/level", "5"), TEXT("/for", "100ms")};
  static const pd_live_header json = {"Content-Type", "application/json"};
  (void)unused;
  for (int i = 0; i < 100; i++) {
    pd_live_response response = {.size = sizeof response};
    pd_live_request request = request_of("POST", "/v1/changes");
    request.headers = &json;
    request.header_count = 1;
    request.has_body = true;
    request.fields = fields;
    request.field_count = 3;
    CHECK(pd_live_answer(live, &request, &response, NULL) == PD_OK && response.status == 200);
    pd_live_response_free(&response);
  }
  return NULL;
}

TEST(temporary_changes_of_several_threads_all_end) {
  pthread_t threads[4];
  define_level();
  serve(NULL);
  for (int i = 0; i < 4; i++) CHECK(!pthread_create(&threads[i], NULL, keep_changing, NULL));
  for (int i = 0; i < 4; i++) CHECK(!pthread_join(threads[i], NULL));
  wait_for(level, "6");
  CHECK(get("/v1/process") == 200);
  CHECK_HAS(answer, "\"temporary\":0");
}

/* ---- What a server may get wrong ---- */

TEST(a_request_that_is_malformed_in_memory_is_refused) {
  pd_live_response response = {.size = sizeof response};
  pd_live_request request = request_of("POST", "/v1/changes");
  const pd_live_field field = {"", PD_LIVE_TEXT, NULL};
  serve(NULL);
  request.fields = &field;
  request.field_count = 1;
  CHECK_STATUS(pd_live_answer(live, &request, &response, &err), PD_ERR_ARGUMENT,
               "request->fields[0] is malformed");
  request.method = NULL;
  CHECK_STATUS(pd_live_answer(live, &request, &response, &err), PD_ERR_ARGUMENT,
               "request->method is NULL");
}

TEST(tokens_and_patterns_are_checked_when_a_server_begins) {
  pd_live_token token = {.text = "short", .may = PD_LIVE_READ};
  pd_live_options options = {.size = sizeof options, .tokens = &token, .token_count = 1};
  CHECK_STATUS(pd_live_open(&options, &live, &err), PD_ERR_ARGUMENT,
               "token 0: expected 16 to 512 printable ASCII characters without blanks");
  options = (pd_live_options){.size = sizeof options, .settable = "a,,b"};
  CHECK_STATUS(pd_live_open(&options, &live, &err), PD_ERR_ARGUMENT,
               "settable is 'a,,b', expected names or patterns with * and ?, with commas between");
}
