/* The socket that a server listens on: a Unix socket, or one of TCP at a numeric address. */
#include "socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "say.h"

ino_t pd__inode_of(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 ? status.st_ino : 0;
}

void pd__close_own(int fd, ino_t inode) {
  if (fd >= 0 && inode != 0 && pd__inode_of(fd) == inode) close(fd);
}

/* ---- TCP ---- */

typedef union pd__place {
  struct sockaddr any;
  struct sockaddr_in four;
  struct sockaddr_in6 six;
} pd__place;

static bool read_port(const char *text, uint16_t *out) {
  char *end;
  unsigned long number = strtoul(text, &end, 10);
  if (*text < '0' || *text > '9' || *end || number > 65535) return false;
  *out = htons((uint16_t)number);
  return true;
}

/* No names: a server must not be elsewhere than its address says. */
static bool read_place(const char *address, pd__place *out, socklen_t *size) {
  char host[64];
  uint16_t port;
  const char *colon = strrchr(address, ':');
  if (!colon || colon == address || (size_t)(colon - address) >= sizeof host) return false;
  size_t length = (size_t)(colon - address);
  memcpy(host, address, length);
  host[length] = '\0';
  memset(out, 0, sizeof *out);
  if (!read_port(colon + 1, &port)) return false;
  if (host[0] == '[' && host[length - 1] == ']') {
    host[length - 1] = '\0';
    out->six.sin6_family = AF_INET6;
    out->six.sin6_port = port;
    *size = sizeof out->six;
    return inet_pton(AF_INET6, host + 1, &out->six.sin6_addr) == 1;
  }
  out->four.sin_family = AF_INET;
  out->four.sin_port = port;
  *size = sizeof out->four;
  return inet_pton(AF_INET, host, &out->four.sin_addr) == 1;
}

static void write_place(const pd__place *at, pd__socket *out, char *where, size_t size) {
  char host[INET6_ADDRSTRLEN] = "";
  const struct in6_addr *six = &at->six.sin6_addr;
  bool newer = at->any.sa_family == AF_INET6, loopback, wild;
  inet_ntop(at->any.sa_family, newer ? (const void *)six : &at->four.sin_addr, host, sizeof host);
  uint16_t port = ntohs(newer ? at->six.sin6_port : at->four.sin_port);
  snprintf(where, size, newer ? "[%s]:%u" : "%s:%u", host, port);
  uint32_t four = ntohl(at->four.sin_addr.s_addr);
  loopback = newer ? IN6_IS_ADDR_LOOPBACK(six) : four >> 24 == 127;
  wild = newer ? IN6_IS_ADDR_UNSPECIFIED(six) : four == INADDR_ANY;
  const char *form = newer ? "[%s]%s" : "%s%s";
  if (wild) return;
  snprintf(out->hosts, sizeof out->hosts, form, host, loopback ? ",localhost" : "");
}

static pd_status listen_tcp(const char *address, pd__socket *out, pd_error *err) {
  pd__place at;
  socklen_t size;
  int on = 1;
  char where[96];
  if (!read_place(address, &at, &size)) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "address: %.400s: expected a path with a slash, or a numeric address and a port,"
                   " such as 127.0.0.1:8080",
                   address);
  }
  out->fd = socket(at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (out->fd < 0) return pd__say_errno(err, "no socket", address);
  setsockopt(out->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (at.any.sa_family == AF_INET6) {
    setsockopt(out->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  }
  if (bind(out->fd, &at.any, size) != 0 || listen(out->fd, SOMAXCONN) != 0 ||
      getsockname(out->fd, &at.any, &size) != 0) {
    return pd__say_errno(err, "can't listen", address);
  }
  write_place(&at, out, where, sizeof where);
  out->where = strdup(where);
  return out->where ? PD_OK : pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
}

/* ---- Unix sockets, and either ---- */

enum { SERVERS_MAX = 100 };

static pd_status listen_local(const char *path, int number, pd__socket *out, pd_error *err) {
  *out = (pd__socket){.fd = -1, .directory = -1, .local = true};
  out->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (out->fd < 0) return pd__say_errno(err, "no socket", path ? path : "address");
  pd_status status = pd__directory_open(path, number, out, err);
  if (status == PD_OK) status = pd__local_listen(out, err);
  if (status != PD_OK) pd__socket_close(out, false);
  return status;
}

/* A second server of the process has another name at the default place. */
static pd_status listen_somewhere(const char *path, pd__socket *out, pd_error *err) {
  pd_status status = PD_ERR_CONFLICT;
  for (int number = 1; status == PD_ERR_CONFLICT && number <= (path ? 1 : SERVERS_MAX); number++) {
    status = listen_local(path, number, out, err);
  }
  if (status == PD_ERR_CONFLICT && err) err->status = PD_ERR_FILE;
  return status == PD_ERR_CONFLICT ? PD_ERR_FILE : status;
}

pd_status pd__socket_listen(const char *address, pd__socket *out, pd_error *err) {
  *out = (pd__socket){.fd = -1, .directory = -1};
  bool local = !address || strchr(address, '/');
  pd_status status = local ? listen_somewhere(address, out, err) : listen_tcp(address, out, err);
  if (status == PD_OK) {
    out->inode = pd__inode_of(out->fd);
  } else if (!local) {
    pd__socket_close(out, false);
  }
  return status;
}

void pd__socket_remove(const pd__socket *socket) {
  struct stat status;
  if (socket->directory < 0 || !socket->file) return;
  if (fstatat(socket->directory, socket->name, &status, AT_SYMLINK_NOFOLLOW) != 0) return;
  bool same = status.st_dev == socket->device && status.st_ino == socket->file;
  if (same) unlinkat(socket->directory, socket->name, 0);
}

void pd__socket_close(pd__socket *socket, bool remove) {
  if (remove) pd__socket_remove(socket);
  if (socket->fd >= 0 && socket->inode) pd__close_own(socket->fd, socket->inode);
  if (socket->fd >= 0 && !socket->inode) close(socket->fd);
  if (socket->directory >= 0) close(socket->directory);
  free(socket->where);
  socket->where = NULL;
  socket->fd = socket->directory = -1;
}
