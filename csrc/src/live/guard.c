/* Who may ask: the target, the host, the site that a browser comes from, and the token. */
#include <string.h>

#include "live.h"

#define TARGET_MAX 8192

/* ---- The target ---- */

static bool is_printable(const char *text) {
  for (; *text; text++) {
    if (*text <= ' ' || *text > '~') return false;
  }
  return true;
}

/* Adds the parameter between two places of the query. */
static bool add_parameter(pd__call *call, const char *text, const char *end) {
  const char *sign = memchr(text, '=', (size_t)(end - text));
  const char *name_end = sign ? sign : end;
  if (call->parameter_count == PD__PARAMETERS_MAX) return false;
  char *name = pd__call_decode(call, text, (size_t)(name_end - text));
  char *value = sign ? pd__call_decode(call, sign + 1, (size_t)(end - sign - 1)) : "";
  if (!name || !value || pd__call_parameter(call, name)) return false;
  call->parameters[call->parameter_count++] = (pd__parameter){name, value};
  return true;
}

static bool parse_query(pd__call *call, const char *query) {
  while (*query) {
    const char *end = query + strcspn(query, "&");
    if (!add_parameter(call, query, end)) return false;
    query = *end ? end + 1 : end;
  }
  return true;
}

bool pd__guard_parse(pd__call *call) {
  const char *target = call->request->target;
  bool plain = *target == '/' && strlen(target) <= TARGET_MAX && is_printable(target) &&
               !strchr(target, '#');
  const char *query = plain ? strchr(target, '?') : NULL;
  size_t length = query ? (size_t)(query - target) : strlen(target);
  call->path = plain ? pd__arena_copy_text(call->arena, target, length) : NULL;
  if (!call->path) {
    pd__call_fail(call, PD__PROBLEM_MALFORMED,
                  "the target of the request is malformed, expected a path like /v1/flags");
    return false;
  }
  if (!query || parse_query(call, query + 1)) return true;
  pd__call_fail(call, PD__PROBLEM_MALFORMED,
                "the query is malformed, has a parameter twice or has too many, expected "
                "name=value with %%XX for other characters");
  return false;
}

/* ---- The host and the site ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool same_text(const char *a, const char *b, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

/* Returns the length of a host without its port: "[::1]:80" has 5. */
static size_t host_length(const char *host) {
  const char *close = *host == '[' ? strchr(host, ']') : NULL;
  const char *end = close ? close + 1 : host + strcspn(host, ":");
  bool port = *end == ':' && end[1] && !end[1 + strspn(end + 1, "0123456789")];
  return !*end || port ? (size_t)(end - host) : 0;
}

static bool is_listed(const char *hosts, const char *host, size_t length) {
  while (*hosts) {
    size_t here = strcspn(hosts, ",");
    if (here == length && length > 0 && same_text(hosts, host, length)) return true;
    hosts += here + (hosts[here] == ',');
  }
  return false;
}

static bool check_host(pd__call *call) {
  size_t count;
  const char *host = pd__call_find_header(call, "Host", &count);
  if (count > 1) {
    pd__call_fail(call, PD__PROBLEM_MALFORMED, "the request has %zu headers Host, expected one",
                  count);
    return false;
  }
  if (!call->live->hosts) return true;
  if (host && is_listed(call->live->hosts, host, host_length(host))) return true;
  char shown[PD__QUOTE_SIZE];
  pd__call_fail(
      call, PD__PROBLEM_HOST, "the host %s is not one of this server, which goes by: %.512s",
      host ? pd__quote_text(shown, host) : "of the request is missing, and", call->live->hosts);
  return false;
}

/* Returns whether an Origin is that of the server itself, which a client reaches as `host`. */
static bool is_own(const char *origin, const char *host) {
  const char *behind = strstr(origin, "://");
  size_t scheme = behind ? (size_t)(behind - origin) : 0;
  bool http = scheme == 4 || scheme == 5;
  if (!http || !same_text(origin, "https", scheme)) return false;
  behind += 3;
  return host && strlen(behind) == strlen(host) && same_text(behind, host, strlen(host));
}

static bool check_origin(pd__call *call) {
  size_t count, hosts;
  const char *host = pd__call_find_header(call, "Host", &hosts);
  const char *site = pd__call_find_header(call, "Sec-Fetch-Site", &count);
  bool own = count == 0 || (count == 1 && (!strcmp(site, "same-origin") || !strcmp(site, "none")));
  const char *origin = pd__call_find_header(call, "Origin", &count);
  own = own && (count == 0 || (count == 1 && is_own(origin, host)));
  if (own) return true;
  pd__call_fail(call, PD__PROBLEM_FORBIDDEN, "requests from other sites are refused");
  return false;
}

bool pd__guard_site(pd__call *call) { return check_host(call) && check_origin(call); }

/* ---- Tokens ---- */

/* Takes the same time wherever the texts differ. */
static bool same_secret(const char *a, const char *b, size_t size) {
  volatile unsigned char differ = 0;
  for (size_t i = 0; i < size; i++) differ |= (unsigned char)(a[i] ^ b[i]);
  return differ == 0;
}

/* Compares with all tokens, so that the time doesn't tell which one is near. */
static const pd__token *find_token(const pd_live *live, const char *given) {
  char padded[sizeof live->tokens->text] = "";
  size_t length = strlen(given);
  const pd__token *found = NULL;
  if (length >= sizeof padded) return NULL;
  strcpy(padded, given);
  for (size_t i = 0; i < live->token_count; i++) {
    if (same_secret(padded, live->tokens[i].text, sizeof padded)) found = &live->tokens[i];
  }
  pd__wipe_memory(padded, sizeof padded);
  return found;
}

static const char *bearer(const char *header) {
  if (strlen(header) < 7 || !same_text(header, "bearer ", 7)) return NULL;
  return header + 7 + strspn(header + 7, " ");
}

/* A token that isn't known gives no right, and takes away those of the transport. */
static bool read_token(pd__call *call) {
  size_t count;
  const char *header = pd__call_find_header(call, "Authorization", &count);
  call->may = call->request->may;
  if (call->live->token_count == 0 || count == 0) return true;
  const char *given = count == 1 ? bearer(header) : NULL;
  const pd__token *token = given ? find_token(call->live, given) : NULL;
  if (!token) return false;
  call->may |= token->may;
  call->label = token->label;
  return true;
}

bool pd__guard_token(pd__call *call, bool open, uint32_t needed) {
  bool known = read_token(call);
  if (open) return true;
  if (!known || call->may == 0) {
    bool tokens = call->live->token_count > 0;
    pd__call_fail(call, tokens ? PD__PROBLEM_TOKEN : PD__PROBLEM_FORBIDDEN,
                  known && tokens ? "the request has no token, expected Authorization: Bearer TOKEN"
                  : tokens        ? "the token is not known"
                                  : "you may not read flags here");
    return false;
  }
  if ((call->may & needed) == needed) return true;
  pd__call_fail(call, PD__PROBLEM_FORBIDDEN, "you may read flags here, but not change them");
  return false;
}
