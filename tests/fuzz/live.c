/* Requests to the server of flags: lines, as a client sends them. Each answer is one line of JSON,
 * and has no sensitive value. */
#include "fuzz.h"

#include <sched.h>
#include <stdlib.h>

#include "../../csrc/live/client.h"
#include "json.h"

#define SECRET "s3cr3t-0f-the-fuzz3r"

static pd_live_server server = {.settable = "*", .holders = 1};
static bool may_leak; /* the input has the secret itself */

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  fuzz_define();
  REQUIRE(pd_journal_start(NULL) == PD_OK);
  pd__servers = &server; /* so that the changes' thread stays */
  REQUIRE(pd_flag_set_by_name("secret", SECRET, NULL) == PD_OK);
  return 0;
}

/* The checker wants ASCII; all that isn't stands in texts. */
static void check_line(char *line, size_t length) {
  REQUIRE(may_leak || !memmem(line, length, SECRET, strlen(SECRET)));
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)line[i] >= 0x80) line[i] = 'a';
  }
  REQUIRE(json_valid(line, length));
}

static void check_answers(pd__client *client) {
  size_t left = client->out.length;
  for (char *at = client->out.data; left > 0;) {
    char *stop = memchr(at, '\n', left);
    REQUIRE(stop);
    check_line(at, (size_t)(stop - at));
    left -= (size_t)(stop + 1 - at);
    at = stop + 1;
  }
  client->out.length = 0;
}

static void send_line(pd__client *client, const char *line, size_t length) {
  pd__client_handle_request(client, line, length);
  while (client->waiting > 0) {
    sched_yield();
    pd__jobs_answer_and_expire();
  }
  pd__subscribers_notify();
  check_answers(client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static uint64_t number;
  pd__client client = {
      .number = ++number, .server = &server, .requester = {.uid = 1000, .pid = 77}};
  const char *at = (const char *)data, *end = at + size;
  may_leak = memmem(data, size, "s3cr3t", 6) || memmem(data, size, "\\u", 2);
  pd__clients = &client;
  while (at < end && !client.closing) {
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    size_t length = (size_t)((stop ? stop : end) - at);
    send_line(&client, at, length);
    at += length + 1;
  }
  pd__clients = NULL;
  pd__text_free(&client.in);
  pd__text_free(&client.out);
  pd__changes_end_expired();
  return 0;
}
