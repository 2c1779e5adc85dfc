/* Connections: who they are, how many there may be, and for how long. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "module.h"

typedef union pd__peer {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
  struct sockaddr_un local;
} pd__peer;

/* ---- Who ---- */

static void read_command(pd__client *client) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%lld/comm", (long long)client->pid);
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  ssize_t length = read(fd, client->command, sizeof client->command - 1);
  close(fd);
  if (length <= 0) length = 0;
  client->command[length] = '\0';
  client->command[strcspn(client->command, "\n")] = '\0';
}

/* The credentials are those of the moment of connect. A process of another pid namespace has 0. */
static bool is_allowed(pd__client *client) {
  struct ucred peer;
  socklen_t size = sizeof peer;
  if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return false;
  if (peer.uid != geteuid() && peer.uid != 0) return false;
  client->uid = peer.uid;
  client->pid = peer.pid > 0 ? peer.pid : -1;
  if (client->pid > 0) read_command(client);
  return true;
}

static void read_host(pd__client *client, const pd__peer *peer) {
  bool newer = peer->any.sa_family == AF_INET6;
  const void *address =
      newer ? (const void *)&peer->six.sin6_addr : (const void *)&peer->four.sin_addr;
  inet_ntop(peer->any.sa_family, address, client->host, sizeof client->host);
}

/* ---- How many ---- */

/* Write a whole answer. Returns its length, or 0 if it doesn't fit. */
static size_t write_answer(char *text, size_t size, const pd_live_response *response) {
  size_t length = 0;
  for (size_t at = 0; at <= response->header_count + 1 && length < size; at++) {
    char *end = text + length;
    size_t room = size - length;
    int written;
    if (at == 0) {
      written = snprintf(end, room, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n");
    } else if (at <= response->header_count) {
      const pd_live_header *header = &response->headers[at - 1];
      written = snprintf(end, room, "%s: %s\r\n", header->name, header->value);
    } else {
      written = snprintf(end, room, "Content-Length: %zu\r\n\r\n%.*s", response->length,
                         (int)response->length, response->body ? response->body : "");
    }
    length += written > 0 ? (size_t)written : size;
  }
  return length < size ? length : 0;
}

/* Send 503 as far as the socket takes it, without waiting. What the client has sent already is read
 * first, because close() would otherwise reset the connection before the client has the answer. */
static void refuse_many(int fd) {
  char text[4096], waste[4096];
  pd_live_response response = {.size = sizeof response};
  size_t length = 0;
  if (pd_live_refuse(503, "too many connections", &response, NULL) == PD_OK) {
    length = write_answer(text, sizeof text, &response);
    pd_live_response_free(&response);
  }
  for (int each = 0; each < 16 && recv(fd, waste, sizeof waste, MSG_DONTWAIT) > 0;) each++;
  if (length > 0) (void)send(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL);
  shutdown(fd, SHUT_WR);
  close(fd);
}

static void link_client(pd__client *client) {
  pd__running *running = client->running;
  pthread_mutex_lock(&pd__servers_lock);
  client->next = running->clients;
  running->clients = client;
  running->client_count++;
  pthread_mutex_unlock(&pd__servers_lock);
}

static void unlink_client(pd__client *client) {
  pd__running *running = client->running;
  pthread_mutex_lock(&pd__servers_lock);
  pd__client **at = &running->clients;
  while (*at && *at != client) at = &(*at)->next;
  if (*at) {
    *at = client->next;
    running->client_count--;
  }
  pthread_mutex_unlock(&pd__servers_lock);
}

/* Before libmicrohttpd sees a byte. It closes the descriptor when it can't take it. */
static void admit(pd__running *running, int fd, const pd__peer *peer, socklen_t size, int64_t now) {
  pd__client *client = calloc(1, sizeof *client);
  if (!client) {
    close(fd);
    return;
  }
  client->running = running;
  client->fd = fd;
  client->inode = pd__inode_of(fd);
  client->deadline = now + PD__REQUEST_TIME;
  client->uid = client->pid = -1;
  if (!running->socket.local) {
    read_host(client, peer);
  } else if (!is_allowed(client)) {
    close(fd);
    free(client);
    return;
  }
  link_client(client);
  MHD_add_connection(running->daemon, fd, &peer->any, size);
  if (running->clients != client || client->connection) return; /* it is forgotten, or taken */
  unlink_client(client);
  free(client);
}

/* Without descriptors or memory the socket stays readable: it is left alone for a moment. */
void pd__clients_accept(pd__running *running, int64_t now) {
  for (int each = 0; each < 64; each++) {
    pd__peer peer = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t size = sizeof peer;
    int fd = accept4(running->socket.fd, &peer.any, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
      bool none = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
      if (none) running->accept_again = now + PD__PAUSE;
      if (none || errno == EAGAIN || errno == EWOULDBLOCK) return;
    } else if (running->client_count >= PD__CLIENTS_MAX) {
      refuse_many(fd);
    } else {
      admit(running, fd, &peer, size, now);
    }
  }
}

/* ---- libmicrohttpd's view ---- */

/* MHD_add_connection calls this for the client that was linked last. */
pd__client *pd__client_take(pd__running *running, struct MHD_Connection *connection) {
  pd__client *client = running->clients;
  client->connection = connection;
  return client;
}

void pd__client_forget(pd__client *client) {
  unlink_client(client);
  free(client);
}

pd__client *pd__client_of(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info =
      MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}

void pd__client_suspend(pd__client *client) {
  client->suspended = true;
  MHD_suspend_connection(client->connection);
}

void pd__client_resume(pd__client *client) {
  if (!client->suspended) return;
  client->suspended = false;
  MHD_resume_connection(client->connection);
}

/* ---- How long ---- */

/* libmicrohttpd's timeout begins anew with each byte: a slow client could keep a connection
 * forever. After shutdown it reads the end, and closes. */
void pd__clients_sweep(pd__running *running, int64_t now) {
  if (now - running->swept < 250) return;
  running->swept = now;
  for (pd__client *each = running->clients; each; each = each->next) {
    if (each->deadline > now) continue;
    each->deadline = INT64_MAX;
    shutdown(each->fd, SHUT_RDWR);
  }
}

void pd__clients_close(pd__running *running) {
  pthread_mutex_lock(&pd__servers_lock);
  for (pd__client *each = running->clients; each; each = each->next) {
    pd__close_own(each->fd, each->inode);
  }
  running->clients = NULL;
  running->client_count = 0;
  pthread_mutex_unlock(&pd__servers_lock);
}
