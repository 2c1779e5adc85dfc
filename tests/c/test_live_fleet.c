/* Requests of the fleet: they are judged here, and a server answers them. */
#include "asking.h"

static pd_live_response judged;

static void serve_fleet(uint64_t answers) {
  pd_flag_def def = definition(PD_TYPE_int32, "level");
  def.runtime = true;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def = definition(PD_TYPE_int32, "danger");
  def.runtime = def.unsafe = true;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  def = definition(PD_TYPE_int32, "secret");
  def.runtime = def.sensitive = true;
  CHECK_OK(pd_flag_register(&def, NULL, &err));
  define_flag(PD_TYPE_int32, "port");
  static const pd_live_token token = {"0123456789abcdef", "ops", PD_LIVE_READ | PD_LIVE_CHANGE};
  pd_live_options options = {.size = sizeof options, .answers = answers, .tokens = &token};
  options.token_count = 1;
  CHECK_OK(pd_live_open(&options, &live, &err));
}

/* Asks, and keeps what was judged. */
static uint32_t judge(pd_live_request *request, size_t size) {
  pd_live_response_free(&judged);
  judged = (pd_live_response){.size = size};
  CHECK_OK(pd_live_answer(live, request, &judged, &err));
  return judged.status;
}

#define FLEET(...) POST("/v1/fleet/changes", __VA_ARGS__)

TEST(a_server_that_knows_no_fleet_has_none) {
  serve_fleet(0);
  CHECK(get("/v1/fleet") == 404);
  CHECK_HAS(answer, "no fleet");
  CHECK(FLEET(TEXT("/set/level", "5")) == 404);
}

TEST(what_is_allowed_is_handed_over_with_who_asks_and_for_how_long) {
  serve_fleet(PD_LIVE_FLEET);
  pd_live_request request = request_of("GET", "/v1/fleet");
  CHECK(judge(&request, sizeof judged) == 200 && judged.fleet && !judged.label);
  static const pd_live_header headers[] = {{"Content-Type", "application/json"},
                                           {"Authorization", "Bearer 0123456789abcdef"}};
  static const pd_live_field fields[] = {OBJECT, TEXT("/set/level", "5"), TEXT("/reason", "x"),
                                         TEXT("/for", "10m")};
  request = request_of("POST", "/v1/fleet/changes");
  request.headers = headers;
  request.header_count = 2;
  request.may = 0;
  CHECK(judge(&request, sizeof judged) == 0 && !judged.fleet);
  request.has_body = true;
  request.fields = fields;
  request.field_count = 4;
  CHECK(judge(&request, sizeof judged) == 200 && judged.fleet);
  CHECK(judged.duration_ms == 600000 && !strcmp(judged.label, "ops"));
  pd_live_response_free(&judged);
  CHECK(get("/v1/flags/level") == 200);
  CHECK_HAS(answer, "\"text\":\"0\"");
}

TEST(a_server_that_was_built_before_there_were_fleets_has_none) {
  serve_fleet(PD_LIVE_FLEET);
  pd_live_request request = request_of("GET", "/v1/fleet");
  CHECK(judge(&request, offsetof(pd_live_response, label)) == 404 && !judged.fleet);
  pd_live_response_free(&judged);
}

TEST(only_flags_that_may_be_changed_here_are_handed_over) {
  serve_fleet(PD_LIVE_FLEET);
  CHECK(FLEET(TEXT("/set/level", "5"), TEXT("/reason", "x")) == 200);
  CHECK(FLEET(TEXT("/set/port", "5"), TEXT("/reason", "x")) == 403);
  CHECK(FLEET(TEXT("/set/secret", "5"), TEXT("/reason", "x")) == 403);
  CHECK_HAS(answer, "is sensitive");
  CHECK(FLEET(TEXT("/set/none", "5"), TEXT("/reason", "x")) == 404);
  CHECK(FLEET(TEXT("/set/danger", "5"), TEXT("/reason", "x")) == 428);
  CHECK(FLEET(TEXT("/set/danger", "5"), TEXT("/reason", "x"), TEXT("/confirm/0", "danger")) == 200);
}

TEST(a_change_without_a_reason_or_with_a_wrong_member_is_refused) {
  serve_fleet(PD_LIVE_FLEET);
  CHECK(FLEET(TEXT("/set/level", "5")) == 400);
  CHECK_HAS(answer, "/reason");
  CHECK(FLEET(TEXT("/set/level", "5"), TEXT("/reason", "x"), TEXT("/at_step", "5")) == 400);
  CHECK(FLEET(TEXT("/set/level", "5"), TEXT("/reason", "x"), TEXT("/expect/level", "5")) == 400);
  CHECK(FLEET(TEXT("/set/level", "5"), TEXT("/reason", "x"), TEXT("/role", "trainer")) == 200);
  pd_live_request request = request_of("POST", "/v1/fleet/changes");
  request.may = PD_LIVE_READ;
  CHECK(send_request(&request) == 403);
  request.may = 0;
  CHECK(send_request(&request) == 401);
}
