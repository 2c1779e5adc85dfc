/* How subject.c serves its flags: with libpd_flags_live.so, as its arguments say:
 * subject AUDIT SETTABLE ADDRESS [TEXT LABEL read|change]... */
#include <pd_flags/live_server.h>

static pd_live_server_options options = {.size = sizeof options};
static pd_live_token tokens[8];
static pd_live_server *server;

static void serving_options(int count, char **arguments) {
  options.audit_path = arguments[1];
  options.settable = arguments[2];
  options.address = *arguments[3] ? arguments[3] : NULL;
  options.tokens = tokens;
  for (int i = 4; i + 2 < count; i += 3) {
    bool change = !strcmp(arguments[i + 2], "change");
    uint32_t may = change ? PD_LIVE_READ | PD_LIVE_CHANGE : PD_LIVE_READ;
    tokens[options.token_count++] = (pd_live_token){arguments[i], arguments[i + 1], may};
  }
}

static void serving_start(void) {
  pd_error err;
  if (pd_live_serve(&options, &server, &err) != PD_OK) fail(err.message);
}

static void serving_stop(void) {
  pd_live_stop(server);
  server = NULL;
}

/* Prints where the server is, as JSON. */
static void serving_show(void) {
  const char *where = pd_live_get_address(server), *port = strrchr(where, ':');
  if (*where == '/') {
    printf("{\"unix\": \"%s\"}\n", where);
  } else {
    printf("{\"port\": %s}\n", port + 1);
  }
}
