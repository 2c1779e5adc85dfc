/* Requests to the live API: up to four, with 0x1d between. Each is one byte that says which server
 * gets it and what the transport grants, and lines with 0x1e between: the method, the target, and
 * then headers as Name:value, and values of the body, which begin with a character of `kinds`, as
 * =/set/i=5 for text. */
#include "fuzz.h"
#include "json.h"

enum { REQUESTS = 4, LINES = 48, SERVERS = 3 };

#define SECRET "s3cr3t-0f-the-fuzz3r"
#define READER "reads-0123456789"
#define WRITER "writes-012345678"

static const char kinds[] = "0!#=:[";
static pd_live *servers[SERVERS];
static char epoch[17];
static bool may_leak;  /* the input has the secret itself */
static bool temporary; /* something may end by itself meanwhile */

static void check_text(const char *text, size_t length) {
  REQUIRE(may_leak || !memmem(text, length, SECRET, strlen(SECRET)));
  REQUIRE(may_leak || !memmem(text, length, READER, strlen(READER)));
  REQUIRE(may_leak || !memmem(text, length, WRITER, strlen(WRITER)));
}

static void audit(const char *event, size_t length, void *context) {
  (void)context;
  REQUIRE(strlen(event) == length && !strchr(event, '\n'));
  REQUIRE(*event == '{' && json_valid(event, length));
  check_text(event, length);
}

static void read_epoch(void) {
  pd_live_response response = {.size = sizeof response};
  pd_live_request request = {
      .size = sizeof request, .method = "GET", .target = "/v1/process", .may = PD_LIVE_READ};
  REQUIRE(pd_live_answer(servers[0], &request, &response, NULL) == PD_OK);
  const char *found = strstr(response.body, "\"epoch\":\"");
  REQUIRE(found);
  memcpy(epoch, found + 9, 16);
  pd_live_response_free(&response);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  static const pd_live_token tokens[] = {{READER, "reader", PD_LIVE_READ},
                                         {WRITER, "writer", PD_LIVE_READ | PD_LIVE_CHANGE}};
  pd_live_options own = {.size = sizeof own, .settable = "*", .audit = audit};
  pd_live_options tcp = {.size = sizeof tcp, .hosts = "localhost,[::1]", .tokens = tokens};
  tcp.token_count = 2;
  tcp.audit = audit;
  pd_live_options polls = {.size = sizeof polls, .settable = "i*,?,list_?", .polls = true};
  fuzz_define();
  REQUIRE(pd_live_open(&own, &servers[0], NULL) == PD_OK);
  REQUIRE(pd_live_open(&tcp, &servers[1], NULL) == PD_OK);
  REQUIRE(pd_live_open(&polls, &servers[2], NULL) == PD_OK);
  read_epoch();
  return 0;
}

/* ---- Reading ---- */

typedef struct lines {
  size_t headers, fields, texts;
  pd_live_header header[LINES];
  pd_live_field field[LINES];
  char *text[LINES];
} lines;

static void add_header(lines *to, char *line) {
  char *colon = strchr(line, ':');
  if (!colon) return;
  *colon = '\0';
  to->header[to->headers++] = (pd_live_header){line, colon + 1};
}

/* The epoch is another one in each process: inputs have one of zeros. */
static void put_epoch(char *text) {
  static const char zeros[] = "0000000000000000";
  for (char *at = text; (at = strstr(at, zeros)); at += sizeof zeros - 1) memcpy(at, epoch, 16);
}

/* What no server can hand over isn't tried: a bool or a number that is none. */
static void add_field(lines *to, uint32_t kind, char *line) {
  if (strstr(line, "-012345678") || strstr(line, SECRET)) return; /* later lists would have it */
  char *text = strchr(line, '=');
  bool container = kind == PD_LIVE_OBJECT || kind == PD_LIVE_ARRAY || kind == PD_LIVE_NULL;
  if (text) *text++ = '\0';
  if (container) text = NULL;
  if (!container && !text) return;
  if (kind == PD_LIVE_BOOL) text = *text == '1' ? "true" : "false";
  if (kind == PD_LIVE_NUMBER && (!json_valid(text, strlen(text)) || strchr("\"tfn[{ ", *text)))
    return;
  to->field[to->fields++] = (pd_live_field){line, kind, text};
}

static void read_lines(fuzz_bytes *in, lines *to) {
  *to = (lines){.fields = 1};
  to->field[0] = (pd_live_field){"", PD_LIVE_OBJECT, NULL};
  while (in->at < in->end && to->texts < LINES - 1) {
    char *line = to->text[to->texts++] = fuzz_text(in, '\x1e');
    const char *kind = *line ? strchr(kinds, *line) : NULL;
    put_epoch(line);
    if (kind) {
      add_field(to, (uint32_t)(kind - kinds), line + 1);
    } else {
      add_header(to, line);
    }
  }
}

/* ---- Invariants ---- */

static bool is_status(uint32_t status) {
  static const uint32_t known[] = {0,   200, 304, 400, 401, 403, 404, 405,
                                   409, 413, 415, 421, 422, 428, 500};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (known[i] == status) return true;
  }
  return false;
}

static const char *find_header(const pd_live_response *response, const char *name) {
  for (size_t i = 0; i < response->header_count; i++) {
    if (!strcmp(response->headers[i].name, name)) return response->headers[i].value;
  }
  return NULL;
}

static void check_headers(const pd_live_response *response) {
  for (size_t i = 0; i < response->header_count; i++) {
    const char *value = response->headers[i].value;
    check_text(value, strlen(value));
    for (; *value; value++) REQUIRE(*value >= ' ' && *value <= '~');
  }
  REQUIRE(find_header(response, "X-Content-Type-Options"));
  REQUIRE(find_header(response, "Content-Security-Policy"));
  REQUIRE((response->status == 405) == (find_header(response, "Allow") != NULL));
}

static void check_response(const pd_live_response *response, bool has_body) {
  REQUIRE(is_status(response->status));
  if (response->status == 0) {
    REQUIRE(!has_body);
    return;
  }
  check_headers(response);
  const char *type = find_header(response, "Content-Type");
  if (response->status == 304) REQUIRE(response->length == 0);
  if (response->asset) {
    REQUIRE(response->status == 200 && *response->asset != '/' && !strstr(response->asset, ".."));
    return;
  }
  check_text(response->body, response->length);
  if (response->status >= 400) REQUIRE(type && !strcmp(type, "application/problem+json"));
  if (type && strstr(type, "json")) REQUIRE(json_valid(response->body, response->length));
}

/* ---- Asking ---- */

static void ask(pd_live *live, pd_live_request *request) {
  pd_live_response response = {.size = sizeof response};
  fuzz_state before = fuzz_take();
  uint64_t revision = pd_live_revision();
  REQUIRE(pd_live_answer(live, request, &response, NULL) == PD_OK);
  check_response(&response, false);
  if (response.status == 0) {
    REQUIRE(!strcmp(request->method, "POST"));
    pd_live_response_free(&response);
    response.size = sizeof response;
    request->has_body = true;
    REQUIRE(pd_live_answer(live, request, &response, NULL) == PD_OK);
    check_response(&response, true);
  }
  bool posts = !strcmp(request->method, "POST") && response.status == 200;
  if (posts) temporary |= memmem(response.body, response.length, "\"until\":\"", 9) != NULL;
  bool may = request->may & PD_LIVE_CHANGE || live == servers[1];
  if (!temporary && (!posts || !may)) {
    REQUIRE(fuzz_unchanged(&before));
    REQUIRE(pd_live_revision() == revision);
  }
  fuzz_drop(&before);
  pd_live_response_free(&response);
}

static void read_request(fuzz_bytes *in) {
  uint8_t options = fuzz_byte(in);
  char *method = fuzz_text(in, '\x1e'), *target = fuzz_text(in, '\x1e');
  lines found;
  put_epoch(target);
  read_lines(in, &found);
  pd_live_request request = {.size = sizeof request,
                             .method = method,
                             .target = target,
                             .headers = found.header,
                             .header_count = found.headers,
                             .may = options & 4   ? 0
                                    : options & 8 ? 1
                                                  : 3,
                             .who = {.uid = 7, .pid = 8, .command = "fuzz", .host = NULL},
                             .body_error = options & 16 ? "it ends too early" : NULL,
                             .fields = found.field,
                             .field_count = found.fields};
  if (options % 3 == 1) request.may = 0;
  ask(servers[options % 3], &request);
  for (size_t i = 0; i < found.texts; i++) free(found.text[i]);
  free(method);
  free(target);
}

/* Take back what clients have set, so that each input finds the same flags. */
static void clean(void) {
  static const pd_live_header type = {"Content-Type", "application/json"};
  static char paths[FUZZ_FLAG_COUNT][64];
  pd_live_field fields[FUZZ_FLAG_COUNT + 2] = {{"", PD_LIVE_OBJECT, NULL},
                                               {"/confirm/0", PD_LIVE_TEXT, "danger"}};
  pd_live_response response = {.size = sizeof response};
  size_t count = 2;
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    pd_flag_info info = {.size = sizeof info};
    REQUIRE(pd_flag_get_info(fuzz_flags[i], &info, NULL) == PD_OK);
    if (info.read_only || info.startup_only || *info.retired) continue;
    snprintf(paths[i], sizeof paths[i], "/set/%s", info.name);
    fields[count++] = (pd_live_field){paths[i], PD_LIVE_NULL, NULL};
  }
  pd_live_request request = {.size = sizeof request,
                             .method = "POST",
                             .target = "/v1/changes",
                             .headers = &type,
                             .header_count = 1,
                             .may = 3,
                             .who = {.uid = -1, .pid = -1},
                             .has_body = true,
                             .fields = fields,
                             .field_count = count};
  REQUIRE(pd_live_answer(servers[0], &request, &response, NULL) == PD_OK);
  REQUIRE(response.status == 200);
  pd_live_response_free(&response);
  fuzz_reset();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  may_leak = memmem(data, size, SECRET, strlen(SECRET)) || memmem(data, size, "-012345678", 10);
  temporary = false;
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    pd_flag_info info = {.size = sizeof info};
    REQUIRE(pd_flag_get_info(fuzz_flags[i], &info, NULL) == PD_OK);
    if (info.sensitive) REQUIRE(pd_flag_set_from_string(fuzz_flags[i], SECRET, NULL) == PD_OK);
  }
  fuzz_bytes in = {data, data + size};
  for (int i = 0; i < REQUESTS && in.at < in.end; i++) {
    const uint8_t *mark = memchr(in.at, '\x1d', (size_t)(in.end - in.at));
    fuzz_bytes one = {in.at, mark ? mark : in.end};
    read_request(&one);
    in.at = mark ? mark + 1 : in.end;
  }
  clean();
  return 0;
}
