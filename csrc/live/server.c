/* The servers of this process, what their clients may change, and who asks. */
#include "server.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

pd_live_server *pd__servers;

/* ---- Lifetime ---- */

void pd__server_retain(pd_live_server *server) { server->holders++; }

static void free_server(pd_live_server *server) {
  if (server->audit) pd__audit_release(server->audit);
  pd__socket_close(&server->socket, true);
  free(server->address);
  free(server->program);
  free(server->settable);
  free(server->socket.path);
  free(server);
}

void pd__server_release(pd_live_server *server) {
  if (--server->holders == 0) free_server(server);
}

void pd__servers_remove_stopped(void) {
  for (pd_live_server **at = &pd__servers; *at;) {
    pd_live_server *each = *at;
    if (!each->stopped || each->connections > 0) {
      at = &each->next;
      continue;
    }
    *at = each->next;
    each->listed = false;
    pd__socket_close(&each->socket, true);
    pthread_cond_broadcast(&pd__lock_changed);
  }
}

/* ---- What clients may change ---- */

/* Copies a part of a text, with the dashes that the registry takes for underscores. */
static void copy_normalized(char *to, const char *from, size_t length) {
  for (size_t i = 0; i < length; i++) to[i] = from[i] == '-' ? '_' : from[i];
  to[length] = '\0';
}

static bool is_name_matched(const char *patterns, const char *name) {
  char plain[PD_NAME_MAX + 1], pattern[PD_NAME_MAX + 1];
  copy_normalized(plain, name, strlen(name));
  while (patterns && *patterns) {
    size_t length = strcspn(patterns, ",");
    copy_normalized(pattern, patterns, length < PD_NAME_MAX ? length : PD_NAME_MAX);
    if (fnmatch(pattern, plain, FNM_NOESCAPE) == 0) return true;
    patterns += length + (patterns[length] == ',');
  }
  return false;
}

const char *pd__server_find_refusal(const pd_live_server *server, const pd_flag_info *info) {
  if (info->retired && *info->retired) return "is retired";
  if (info->read_only) return "is read-only";
  if (info->startup_only) return "needs a restart";
  if (info->frozen) return "is frozen";
  if (info->runtime || is_name_matched(server->settable, info->name)) return NULL;
  return "may not be changed from outside: the program neither defines it with runtime=True nor "
         "serves it as settable";
}

/* ---- Who asks ---- */

void pd__requester_write_json(pd__text *to, const char *name, const pd__requester *requester) {
  pd__json_begin(to, name, '{');
  pd__json_put_number(to, "uid", requester->uid);
  if (requester->pid > 0) pd__json_put_number(to, "pid", (uint64_t)requester->pid);
  if (requester->pid <= 0) pd__json_put_text(to, "pid", NULL);
  pd__json_put_text(to, "command", *requester->command ? requester->command : NULL);
  if (*requester->label || *requester->host) {
    pd__json_begin(to, "on_behalf_of", '{');
    pd__json_put_nonempty_text(to, "label", requester->label);
    pd__json_put_nonempty_text(to, "host", requester->host);
    pd__json_end(to, "}");
  }
  pd__json_end(to, "}");
}

bool pd__requester_is_same(const pd__requester *a, const pd__requester *b) {
  return a->uid == b->uid && strcmp(a->label, b->label) == 0;
}
