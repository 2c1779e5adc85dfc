/* Connections: who they are, what they send, and how much of everything they may have. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client.h"

enum {
  CLIENTS_MAX = 100,
  ACCEPTED_MAX = 32,      /* in one round */
  PART = 1 << 16,         /* bytes that are read at once */
  SMALL_BUFFER = 1 << 14, /* bytes; a larger one isn't kept when it is empty */
  STALLED_TIME = 60000    /* ms in which a client must read something of its answer */
};

static size_t client_count;
static uint64_t last_number;

/* ---- Who ---- */

static void read_requester_command(pd__requester *requester) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/comm", (long long)requester->pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t length = read(fd, requester->command, sizeof requester->command - 1);
  close(fd);
  requester->command[length > 0 ? length : 0] = '\0';
  requester->command[strcspn(requester->command, "\n")] = '\0';
}

/* The credentials are those of the moment of connect. */
static bool authenticate_requester(int fd, pd__requester *requester) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid != geteuid() && peer.uid != 0) return false;
  requester->uid = peer.uid;
  requester->pid = peer.pid;
  if (peer.pid > 0) read_requester_command(requester);
  return true;
}

/* ---- Coming and going ---- */

static void remove_client(pd__client **at) {
  pd__client *client = *at;
  if (client->waiting > 0) pd__jobs_cancel_for_client(client->number);
  pd__steps_release_client(client->number);
  pthread_mutex_lock(&pd__lock);
  *at = client->next;
  pd__descriptor_close(&client->descriptor);
  client->server->connections--;
  pd__server_release(client->server);
  pthread_mutex_unlock(&pd__lock);
  client_count--;
  pd__text_free(&client->in);
  pd__text_free(&client->out);
  free(client);
}

/* Closes the connection that has been idle longest, behind this place of the list: of those that
 * wait for nothing, if there are any. So silent connections can't keep others out. */
static void close_idlest_client(pd__client **from) {
  pd__client **victim = NULL;
  bool waits = true;
  for (pd__client **at = from; *at; at = &(*at)->next) {
    bool own = (*at)->subscribed || (*at)->waiting > 0;
    bool better =
        !victim || (waits && !own) || (waits == own && (*at)->active <= (*victim)->active);
    if (!better || (own && !waits)) continue;
    victim = at;
    waits = own;
  }
  if (victim) remove_client(victim);
}

static void add_client(pd__client *made, pd_live_server *server, int fd) {
  made->number = ++last_number;
  pd__descriptor_adopt(&made->descriptor, fd);
  made->server = server;
  made->active = pd__get_steady_ms();
  made->next = pd__clients;
  pd__clients = made;
  pd__server_retain(server);
  server->connections++;
  client_count++;
}

/* Under the lock, so that the child of a fork has no connection that isn't in the list. */
static int accept_one_client(pd_live_server *server) {
  pd__client *made = calloc(1, sizeof *made);
  pthread_mutex_lock(&pd__lock);
  int fd = accept4(server->socket.listening.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
  int result = fd >= 0 ? 0 : errno;
  bool allowed = fd >= 0 && made && authenticate_requester(fd, &made->requester);
  if (allowed) add_client(made, server, fd);
  if (fd >= 0 && !allowed) close(fd);
  pthread_mutex_unlock(&pd__lock);
  if (!allowed) {
    free(made);
    return result;
  }
  if (client_count > CLIENTS_MAX) close_idlest_client(&made->next);
  pd__client_handle_input(made);
  return 0;
}

void pd__clients_accept(pd_live_server *server) {
  for (int i = 0; i < ACCEPTED_MAX; i++) {
    int error = accept_one_client(server);
    if (error == EMFILE || error == ENFILE) close_idlest_client(&pd__clients);
    if (error != 0 && error != ECONNABORTED && error != EINTR) return;
  }
}

/* What the parent's thread was doing to them isn't known. */
void pd__clients_reset_in_child(void) {
  for (pd__client *each = pd__clients; each; each = each->next) {
    pd__descriptor_close(&each->descriptor);
    each->server->connections--;
  }
  pd__clients = NULL;
  client_count = 0;
}

/* ---- Requests ---- */

static void drop_first_bytes(pd__text *text, size_t length) {
  text->length -= length;
  if (text->length > 0) memmove(text->data, text->data + length, text->length);
  if (text->length == 0 && text->capacity > SMALL_BUFFER) pd__text_free(text);
}

static void answer_line_too_long(pd__client *client) {
  pd__problem_write_answer(&client->out, "null", "parse", "a request is longer than 1 MiB");
  client->closing = true;
}

/* Carries out the lines that are there, unless the client should first read what it was answered.
 */
static void handle_request_lines(pd__client *client) {
  size_t start = 0;
  while (start < client->in.length && !client->closing && client->out.length < PD__ANSWER_MAX) {
    const char *line = client->in.data + start;
    size_t left = client->in.length - start;
    const char *end = memchr(line, '\n', left);
    if (!end && left > PD__LINE_MAX) answer_line_too_long(client);
    if (!end) break;
    size_t length = (size_t)(end - line);
    if (length > PD__LINE_MAX)
      answer_line_too_long(client);
    else if (length > 0)
      pd__client_handle_request(client, line, length);
    start += length + 1;
  }
  drop_first_bytes(&client->in, client->closing ? client->in.length : start);
}

/* The last line needs no line break. */
static void handle_end_of_input(pd__client *client) {
  if (client->in.length > 0) pd__text_add(&client->in, "\n", 1);
  handle_request_lines(client);
  client->closing = true;
}

/* Cuts the connections that hold the most, until all together hold little enough. */
static void cut_clients_over_limit(void) {
  for (;;) {
    size_t in = 0, out = 0;
    pd__client *most_in = pd__clients, *most_out = pd__clients;
    for (pd__client *each = pd__clients; each; each = each->next) {
      in += each->in.capacity;
      out += each->out.capacity;
      if (each->in.capacity > most_in->in.capacity) most_in = each;
      if (each->out.capacity > most_out->out.capacity) most_out = each;
    }
    if (in <= PD__BUFFERS_MAX && out <= PD__BUFFERS_MAX) return;
    pd__client *victim = in > PD__BUFFERS_MAX ? most_in : most_out;
    victim->dead = true;
    pd__text_free(&victim->in);
    pd__text_free(&victim->out);
  }
}

void pd__client_handle_input(pd__client *client) {
  char part[PART];
  client->dead |= !pd__descriptor_is_unchanged(&client->descriptor);
  while (!client->closing && !client->dead && client->out.length < PD__ANSWER_MAX) {
    ssize_t length = recv(client->descriptor.fd, part, sizeof part, 0);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) break;
    if (length < 0) client->dead = true;
    if (length == 0) handle_end_of_input(client);
    if (length <= 0) break;
    client->active = pd__get_steady_ms();
    pd__text_add(&client->in, part, (size_t)length);
    client->dead |= client->in.failed;
    handle_request_lines(client);
    break; /* others have their turn */
  }
  pd__client_send_output(client);
  cut_clients_over_limit();
}

/* ---- Answers ---- */

void pd__client_send_output(pd__client *client) {
  client->dead |= client->out.failed || !pd__descriptor_is_unchanged(&client->descriptor);
  while (client->sent < client->out.length && !client->dead) {
    ssize_t length = send(client->descriptor.fd, client->out.data + client->sent,
                          client->out.length - client->sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0 && errno == EAGAIN) return;
    if (length < 0) client->dead = true;
    if (length < 0) return;
    client->active = pd__get_steady_ms();
    client->sent += (size_t)length;
  }
  drop_first_bytes(&client->out, client->out.length);
  client->sent = 0;
  if (client->in.length > 0 && !client->closing) handle_request_lines(client);
}

/* ---- Limits ---- */

static bool is_client_finished(const pd__client *client, int64_t now) {
  bool pending = client->out.length > 0;
  bool stalled = pending && now - client->active > STALLED_TIME;
  bool done = client->closing && !pending && client->waiting == 0 && !client->subscribed;
  bool stopped = __atomic_load_n(&client->server->stopped, __ATOMIC_RELAXED);
  return client->dead || stopped || stalled || done;
}

void pd__clients_remove_finished(void) {
  int64_t now = pd__get_steady_ms();
  cut_clients_over_limit();
  for (pd__client **at = &pd__clients; *at;) {
    if (is_client_finished(*at, now)) {
      remove_client(at);
    } else {
      at = &(*at)->next;
    }
  }
}
