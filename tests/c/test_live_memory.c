/* The live API with the first, the second, ... allocation failing.
 *
 * Built with: -Wl,--wrap=malloc -Wl,--wrap=calloc -Wl,--wrap=realloc -Wl,--wrap=free $LIBRARY
 */
#include "failing.h"

static pd_live *live;
static pd_flag *mode;

static void prepare(void) {
  pd_flag_def def = definition(PD_TYPE_string, "mode");
  pd_live_options options = {.size = sizeof options};
  def.default_value.str = "fast";
  def.runtime = true;
  CHECK_OK(pd_flag_register(&def, &mode, &err));
  CHECK_OK(pd_live_open(&options, &live, &err));
}

static pd_status send(const char *method, const char *target, const pd_live_field *fields,
                      size_t count) {
  static const pd_live_header json = {"Content-Type", "application/json"};
  pd_live_response response = {.size = sizeof response};
  pd_live_request request = {.size = sizeof request, .method = method, .target = target};
  request.may = PD_LIVE_READ | PD_LIVE_CHANGE;
  request.who.uid = 1;
  request.headers = &json;
  request.header_count = 1;
  request.has_body = count > 0;
  request.fields = fields;
  request.field_count = count;
  pd_status status = pd_live_answer(live, &request, &response, &err);
  if (status == PD_OK && response.status == 500) {
    status = PD_ERR_MEMORY;
    err.status = status;
    strcpy(err.message, "out of memory");
  }
  pd_live_response_free(&response);
  return status;
}

static const pd_live_field body[] = {{"", PD_LIVE_OBJECT, NULL},
                                     {"/set/mode", PD_LIVE_TEXT, "a mode that is interned"},
                                     {"/reason", PD_LIVE_TEXT, "because"},
                                     {"/for", PD_LIVE_TEXT, "1h"}};

static pd_status change(void) { return send("POST", "/v1/changes", body, 3); }
static pd_status change_for_a_time(void) { return send("POST", "/v1/changes", body, 4); }
static pd_status undo(void) { return send("POST", "/v1/undo", body, 1); }
static pd_status read_flags(void) { return send("GET", "/v1/flags", NULL, 0); }
static pd_status read_flag(void) { return send("GET", "/v1/flags/mode", NULL, 0); }
static pd_status read_events(void) { return send("GET", "/v1/events", NULL, 0); }

static void is_old(void) { CHECK_STR(text_of(mode), "fast"); }
static void is_new(void) { CHECK_STR(text_of(mode), "a mode that is interned"); }

TEST(a_change_is_made_and_answered_or_neither) {
  run(&(scenario){prepare, change, is_old, is_new}, 8);
}

TEST(a_temporary_change_is_made_and_answered_or_neither) {
  run(&(scenario){prepare, change_for_a_time, is_old, is_new}, 8);
}

static void prepare_undo(void) {
  prepare();
  CHECK_OK(change());
}

TEST(an_undo_is_made_and_answered_or_neither) {
  run(&(scenario){prepare_undo, undo, is_new, is_old}, 6);
}

TEST(an_answer_is_whole_or_there_is_none) {
  run(&(scenario){prepare, read_flags, nothing, nothing}, 3);
  run(&(scenario){prepare, read_flag, nothing, nothing}, 3);
  run(&(scenario){prepare, read_events, nothing, nothing}, 3);
}
