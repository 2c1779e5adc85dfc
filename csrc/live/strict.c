/* The head of a request, checked so strictly that no proxy in front of us can have understood
 * another request (request smuggling).
 *
 * libmicrohttpd 0.9.75, as in Debian 12, is lax: it takes a bare LF for the end of a line; appends
 * a line that begins with a blank to the *name* of the field before it, so that "Content: 5" and "
 * -Length" become Content-Length; ends names and values at a NUL; skips any number of blanks in the
 * first line; and hands over only the result. But it leaves the head where it was read, and puts
 * zeros in place of the ends of lines, so the addresses of the parts show what stood between them:
 * exactly one blank in the first line, CRLF, a colon, blanks or tabs in front of a value. Anything
 * else is refused here. Later versions check this themselves (MHD_OPTION_CLIENT_DISCIPLINE_LVL).
 *
 * What can't be changed: it skips empty lines in front of a request, which RFC 9112 allows; answers
 * a field without a colon, a malformed Content-Length, a wrong version and a head that is too large
 * by itself, with a fixed page instead of problem details, and closes the connection; and reads
 * bare LFs in chunked bodies, so a connection always ends after one of these. */
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "module.h"

typedef struct pd__head {
  pd__request *request;
  const char *expected; /* where the next name must begin; NULL: don't look */
  size_t count, room, bytes;
  bool torn; /* not laid out as a strict head */
  const char *wrong;
  unsigned lengths, codings, hosts;
  bool chunked;
} pd__head;

/* ---- Characters ---- */

static bool is_token(const char *text, size_t length) {
  static const char others[] = "!#$%&'*+-.^_`|~";
  for (size_t at = 0; at < length; at++) {
    char c = text[at];
    bool alphanumeric = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
    if (!alphanumeric && (c == '\0' || !strchr(others, c))) return false;
  }
  return length > 0;
}

static bool is_value(const char *text, size_t length) {
  for (size_t at = 0; at < length; at++) {
    unsigned char c = (unsigned char)text[at];
    if ((c < 32 && c != '\t') || c == 127) return false;
  }
  return true;
}

/* Between the name and the value of a field. */
static bool is_gap(const char *from, const char *to) {
  if (from > to || to - from > PD__HEAD_MEMORY) return false;
  for (; from < to; from++) {
    if (*from != ' ' && *from != '\t') return false;
  }
  return true;
}

static bool is_target(const char *text) {
  for (; *text; text++) {
    unsigned char c = (unsigned char)*text;
    if (c <= 32 || c >= 127) return false;
  }
  return true;
}

/* ---- Fields ---- */

static void count_field(pd__head *head, const char *name, const char *value, size_t length) {
  if (strcasecmp(name, "Content-Length") == 0) {
    head->lengths++;
    bool digits = length > 0 && strspn(value, "0123456789") == length;
    if (!digits) head->wrong = "Content-Length isn't a number";
  } else if (strcasecmp(name, "Transfer-Encoding") == 0) {
    head->codings++;
    head->chunked = strcasecmp(value, "chunked") == 0;
    if (!head->chunked) head->wrong = "only the Transfer-Encoding \"chunked\" is known";
  } else if (strcasecmp(name, "Host") == 0) {
    head->hosts++;
  }
}

static void check_place(pd__head *head, const char *name, size_t name_length, const char *value,
                        size_t length) {
  if (!head->expected) return;
  bool right = name == head->expected && is_gap(name + name_length + 1, value);
  if (!right) head->torn = true;
  head->expected = value + length + 2;
}

/* First only sizes; then, with room for them, copies. */
static enum MHD_Result take_field(void *context, enum MHD_ValueKind kind, const char *name,
                                  size_t name_length, const char *value, size_t length) {
  pd__head *head = context;
  pd__request *request = head->request;
  (void)kind;
  if (!value) value = "", head->torn = true, length = 0;
  if (!request->text) {
    check_place(head, name, name_length, value, length);
    head->room++;
    head->bytes += name_length + length + 2;
    return MHD_YES;
  }
  while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t')) length--;
  char *text = request->text + head->bytes, *copy = text + name_length + 1;
  memcpy(text, name, name_length);
  memcpy(copy, value, length);
  text[name_length] = copy[length] = '\0';
  head->bytes += name_length + length + 2;
  request->headers[request->header_count++] = (pd_live_header){text, copy};
  if (!is_token(text, name_length)) head->wrong = "a header has no valid name";
  if (!is_value(copy, length)) head->wrong = "a header has control characters";
  count_field(head, text, copy, length);
  return MHD_YES;
}

static const char *take_fields(pd__head *head, struct MHD_Connection *connection) {
  pd__request *request = head->request;
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, take_field, head);
  request->headers = calloc(head->room + 1, sizeof *request->headers);
  request->text = malloc(head->bytes + 1);
  if (!request->headers || !request->text) return "out of memory";
  head->bytes = 0;
  MHD_get_connection_values_n(connection, MHD_HEADER_KIND, take_field, head);
  return head->wrong;
}

/* ---- The whole ---- */

static bool shows_layout(void) { return MHD_VERSION < 0x00097603; }

/* The size of the head ends the last line and the empty one. */
static bool is_torn(const pd__head *head, const char *method, struct MHD_Connection *connection) {
  if (!head->expected) return false;
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
  return head->torn || !info || method + info->header_size != head->expected + 2;
}

static const char *check_body(const pd__head *head, bool newer) {
  if (head->codings > 1 || head->lengths > 1) return "a header about the body is repeated";
  if (head->codings && head->lengths)
    return "Content-Length and Transfer-Encoding exclude each other";
  if (head->codings && !newer) return "HTTP/1.0 has no Transfer-Encoding";
  if (head->hosts > 1) return "Host is repeated";
  if (head->hosts == 0 && newer) return "Host is missing";
  return NULL;
}

const char *pd__head_take(pd__request *request, const char *method, const char *version) {
  pd__head head = {.request = request};
  const char *target = request->target, *place = request->place;
  bool newer = strcmp(version, "HTTP/1.1") == 0;
  request->method = strdup(method);
  if (!request->method || !target) return "out of memory";
  bool placed = place == method + strlen(method) + 1 && place + strlen(target) + 1 == version;
  if (shows_layout()) head.expected = version + strlen(version) + 2;
  if (head.expected && !placed) return "the first line isn't METHOD TARGET VERSION";
  if (!newer && strcmp(version, "HTTP/1.0") != 0) return "expected HTTP/1.1";
  const char *wrong = take_fields(&head, request->connection);
  if (is_torn(&head, method, request->connection))
    return "a line doesn't end with CRLF, or is folded";
  if (wrong) return wrong;
  if (!is_token(method, strlen(method))) return "the method isn't a token";
  if (!*target || !is_target(target)) return "the target isn't percent-encoded";
  request->close = head.codings > 0;
  return check_body(&head, newer);
}
