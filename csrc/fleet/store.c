/* The log, the members and the decisions of a fleet in a folder. */
#include "store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "facts.h"
#include "say.h"

static const char *const parts[] = {"log", "base", "members", "decisions"};

static char *path_of(const pd__store *store, const char *part, const char *name, char *out) {
  int length =
      snprintf(out, PATH_MAX, "%s/%s%s%s", store->root, part, name ? "/" : "", name ? name : "");
  if (length < 0 || length >= PATH_MAX) out[PATH_MAX - 1] = '\0';
  return out;
}

static char *path_of_number(const pd__store *store, const char *part, int64_t number, char *out) {
  char name[32];
  snprintf(name, sizeof name, "%020lld", (long long)number);
  return path_of(store, part, name, out);
}

/* ---- Numbers ---- */

/* The largest number among the names in a folder; 0: there is none. */
static pd_status largest(const pd__store *store, const char *part, int64_t *out, pd_error *err) {
  char path[PATH_MAX];
  DIR *folder = opendir(path_of(store, part, NULL, path));
  if (!folder) return pd__say_errno(err, "can't be read", path);
  *out = 0;
  for (struct dirent *each; (each = readdir(folder));) { /* NOLINT(concurrency-mt-unsafe) */
    errno = 0;
    bool is_number = strspn(each->d_name, "0123456789") == 20 && !each->d_name[20];
    long long number = is_number ? strtoll(each->d_name, NULL, 10) : 0;
    if (errno == 0 && number > *out) *out = number;
  }
  closedir(folder);
  return PD_OK;
}

/* Let an NFS client ask whether a folder has changed, as it does when one is opened. Otherwise it
 * may go on for a minute to say that a file isn't there. */
static pd_status refresh(const pd__store *store, const char *part, pd_error *err) {
  char path[PATH_MAX];
  int fd = open(path_of(store, part, NULL, path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return pd__say_errno(err, "can't be read", path);
  close(fd);
  return PD_OK;
}

static bool has_record(const pd__store *store, int64_t number) {
  char path[PATH_MAX];
  return access(path_of_number(store, "log", number, path), F_OK) == 0;
}

/* The log may have been compacted, or be another one. */
static pd_status look_anew(const pd__store *store, int64_t *out, pd_error *err) {
  int64_t base = 0, last = 0;
  pd_status status = largest(store, "base", &base, err);
  if (status == PD_OK) status = largest(store, "log", &last, err);
  *out = base > last ? base : last;
  return status;
}

pd_status pd__store_last(pd__store *store, int64_t *out, pd_error *err) {
  int64_t number = store->known;
  pd_status status = refresh(store, "log", err);
  if (status != PD_OK) return status;
  if (number == 0 || !has_record(store, number)) {
    status = look_anew(store, &number, err);
    if (status != PD_OK) return status;
  }
  while (has_record(store, number + 1)) number++;
  *out = store->known = number;
  return PD_OK;
}

/* ---- Records and bases ---- */

pd_status pd__store_read(const pd__store *store, int64_t number, pd__data *out, pd_error *err) {
  char path[PATH_MAX];
  int64_t base = 0;
  pd_status status = pd__file_read(path_of_number(store, "log", number, path), out, err);
  if (status != PD_ERR_UNDEFINED) return status;
  status = largest(store, "base", &base, err);
  if (status != PD_OK) return status;
  return number <= base ? PD_ERR_RANGE : PD_ERR_UNDEFINED;
}

pd_status pd__store_base(const pd__store *store, int64_t *number, pd__data *out, pd_error *err) {
  char path[PATH_MAX];
  *out = (pd__data){.text = NULL};
  for (;;) {
    pd_status status = largest(store, "base", number, err);
    if (status != PD_OK || *number == 0) return status;
    status = pd__file_read(path_of_number(store, "base", *number, path), out, err);
    if (status != PD_ERR_UNDEFINED) return status; /* else later ones are there now */
  }
}

/* ---- Decisions ---- */

pd_status pd__store_decision(const pd__store *store, int64_t revision, pd__data *out,
                             pd_error *err) {
  char path[PATH_MAX], key[32];
  snprintf(key, sizeof key, "r%lld", (long long)revision);
  pd_status status = pd__file_read(path_of(store, "decisions", key, path), out, err);
  if (status != PD_ERR_UNDEFINED) return status;
  status = refresh(store, "decisions", err);
  if (status != PD_OK) return status;
  status = pd__file_read(path, out, err);
  return status == PD_ERR_UNDEFINED ? PD_OK : status;
}

pd_status pd__store_decide(const pd__store *store, int64_t revision, const char *value,
                           pd_error *err) {
  char folder[PATH_MAX], key[32];
  bool made;
  snprintf(key, sizeof key, "r%lld", (long long)revision);
  path_of(store, "decisions", NULL, folder);
  return pd__file_create(folder, key, value, strlen(value), &made, err);
}

/* ---- Members ---- */

static bool may_not_write(void) { return errno == EACCES || errno == EPERM || errno == EROFS; }

pd_status pd__store_announce(const pd__store *store, const char *name, const char *document,
                             double ttl, pd_error *err) {
  char folder[PATH_MAX], *data = NULL, *seconds = pd__number_text(ttl);
  int length = seconds ? asprintf(&data, "%s\n%s", seconds, document) : -1;
  free(seconds);
  if (length < 0) return pd__say(err, PD_ERR_MEMORY, "%s", pd_status_text(PD_ERR_MEMORY));
  path_of(store, "members", NULL, folder);
  pd_status status = pd__file_replace(folder, name, data, (size_t)length, err);
  free(data);
  return status == PD_ERR_FILE && may_not_write() ? PD_OK : status;
}

pd_status pd__store_keep_alive(const pd__store *store, const char *name, pd_error *err) {
  char path[PATH_MAX];
  if (utimensat(AT_FDCWD, path_of(store, "members", name, path), NULL, 0) == 0) return PD_OK;
  if (may_not_write()) return PD_OK;
  return errno == ENOENT ? PD_ERR_UNDEFINED : pd__say_errno(err, "can't be renewed", path);
}

void pd__store_withdraw(const pd__store *store, const char *name) {
  char path[PATH_MAX];
  unlink(path_of(store, "members", name, path));
}

/* The document of a member, if its lease runs and it hasn't left; or NULL. You own it. */
static json_t *read_member(const char *path, double now) {
  pd__data data;
  json_t *document = NULL;
  if (pd__file_read(path, &data, NULL) != PD_OK) return NULL;
  const char *end = data.text ? strchr(data.text, '\n') : NULL;
  double ttl = end ? pd__number_read(data.text, (size_t)(end - data.text)) : 0.0;
  if (end && now - data.stamped < ttl) {
    document = pd__json_read(end + 1, data.length - (size_t)(end + 1 - data.text));
    if (!json_is_object(document)) {
      json_decref(document);
      document = json_object();
    }
  }
  free(data.text);
  if (!json_is_true(json_object_get(document, "left"))) return document;
  json_decref(document);
  return NULL;
}

pd_status pd__store_members(const pd__store *store, json_t **out, pd_error *err) {
  char path[PATH_MAX];
  DIR *folder = opendir(path_of(store, "members", NULL, path));
  if (!folder) return pd__say_errno(err, "can't be read", path);
  double now = pd__file_clock(path);
  *out = json_object();
  for (struct dirent *each; (each = readdir(folder));) { /* NOLINT(concurrency-mt-unsafe) */
    if (!pd__name_is_valid(each->d_name)) continue;
    json_t *document = read_member(path_of(store, "members", each->d_name, path), now);
    if (document) json_object_set_new(*out, each->d_name, document);
  }
  closedir(folder);
  return PD_OK;
}

json_t *pd__store_member(const pd__store *store, const char *name) {
  char path[PATH_MAX];
  double now = pd__file_clock(path_of(store, "members", NULL, path));
  return read_member(path_of(store, "members", name, path), now);
}

/* ---- Opening ---- */

static int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static void unquote(char *text) {
  char *to = text;
  for (; *text; text++) {
    if (*text == '%' && hex(text[1]) >= 0 && hex(text[2]) >= 0) {
      *to++ = (char)(hex(text[1]) * 16 + hex(text[2]));
      text += 2;
    } else {
      *to++ = *text;
    }
  }
  *to = '\0';
}

static pd_status read_options(pd__store *store, char *query, pd_error *err) {
  store->poll = 0.05;
  if (!query) return PD_OK;
  *query++ = '\0';
  bool known = strncmp(query, "poll=", 5) == 0;
  if (known) store->poll = pd__number_read(query + 5, strlen(query + 5));
  if (known && store->poll > 0 && store->poll < 1e9) return PD_OK;
  return pd__say(err, PD_ERR_ARGUMENT, "%.500s: %.200s: expected poll and a number of seconds",
                 store->url, query);
}

static pd_status make_folders(const pd__store *store, pd_error *err) {
  char path[PATH_MAX];
  if (mkdir(store->root, 0700) != 0 && errno != EEXIST && access(store->root, F_OK) != 0) {
    return pd__say_errno(err, "can't be created", store->root);
  }
  for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
    path_of(store, parts[at], NULL, path);
    if (mkdir(path, 0700) != 0 && errno != EEXIST && access(path, F_OK) != 0) {
      return pd__say_errno(err, "can't be created", path);
    }
  }
  return PD_OK;
}

pd_status pd__store_open(const char *url, pd__store *out, pd_error *err) {
  *out = (pd__store){.url = strdup(url)};
  const char *path = strstr(url, "://");
  if (!path) {
    return pd__say(err, PD_ERR_ARGUMENT, "%.500s: expected dir:///path, such as dir:///mnt/job42",
                   url);
  }
  if (strncasecmp(url, "dir:", 4) != 0) {
    return pd__say(err, PD_ERR_UNSUPPORTED,
                   "%.500s: C programs are members of fleets in a folder, dir:///path", url);
  }
  if (strchr(url, '#') || strstr(url, "%00")) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "%.500s: expected no '#', which is written %%23, and no NUL", url);
  }
  if (path[3] != '/' || !path[4]) {
    return pd__say(err, PD_ERR_ARGUMENT,
                   "%.500s: expected dir:///path, with three slashes and a folder", url);
  }
  out->root = strdup(path + 3);
  if (!out->url || !out->root || strlen(out->root) > PATH_MAX - 200) {
    return pd__say(err, PD_ERR_ARGUMENT, "%.200s...: is too long", url);
  }
  pd_status status = read_options(out, strchr(out->root, '?'), err);
  if (status != PD_OK) return status;
  unquote(out->root);
  return make_folders(out, err);
}

void pd__store_close(pd__store *store) {
  free(store->url);
  free(store->root);
  *store = (pd__store){.url = NULL};
}
