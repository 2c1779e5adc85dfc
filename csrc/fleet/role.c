/* Who a process is in its job, from the variables that launchers set. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "facts.h"
#include "say.h"

static const char *variable(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

static bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool is_mark(char c) { return c && strchr("._@-", c); }

bool pd__name_is_valid(const char *name) {
  size_t length = strlen(name);
  if (length >= PD__NAME_SIZE || !is_word(*name)) return false;
  for (size_t at = 0; at < length; at++) {
    if (!is_word(name[at]) && !is_mark(name[at])) return false;
  }
  return true;
}

/* Write text as a name that every engine can store. */
static void storable(const char *text, char *out) {
  size_t length = 0;
  for (; *text && length < 100; text++) {
    char c = is_word(*text) || is_mark(*text) ? *text : '-';
    if (*text == '_') c = '_';
    if (length > 0 || is_word(c)) out[length++] = c;
  }
  if (length == 0) out[length++] = 'x';
  out[length] = '\0';
}

/* Read a number; -1 where there is none. */
static pd_status number(const char *name, int64_t *out, pd_error *err) {
  const char *text = variable(name);
  *out = -1;
  while (isspace((unsigned char)*text)) text++;
  size_t digits = strspn(text, "0123456789"), spaces = strspn(text + digits, " \t\n\r");
  if (!*text) return PD_OK;
  if (digits == 0 || digits > 9 || text[digits + spaces]) {
    return pd__say(err, PD_ERR_ARGUMENT, "%s='%.200s': expected a number", name, text);
  }
  *out = strtol(text, NULL, 10);
  return PD_OK;
}

/* Count servers, and find the place of one of them; -1: it isn't there. */
static int64_t servers(const char *own, int64_t *place) {
  const char *list = variable("PADDLE_PSERVERS_IP_PORT_LIST");
  int64_t count = 0;
  *place = -1;
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length > 0 && strlen(own) == length && strncmp(list, own, length) == 0 && *place < 0) {
      *place = count;
    }
    count += length > 0;
    list += length + (list[length] == ',');
  }
  return count;
}

static void lower(const char *text, char *out, size_t size) {
  size_t at = 0;
  for (; text[at] && at < size - 1; at++) out[at] = (char)tolower((unsigned char)text[at]);
  out[at] = '\0';
}

pd_status pd__place_find(pd__place *out, pd_error *err) {
  char own[300], host[256] = "";
  int64_t place = -1, trainers = -1, rank = -1, world = -1;
  lower(variable("TRAINING_ROLE"), out->role, sizeof out->role);
  gethostname(host, sizeof host - 1);
  storable(*host ? host : "localhost", out->host);
  snprintf(own, sizeof own, "%s:%s", variable("POD_IP"), variable("PADDLE_PORT"));
  int64_t count = servers(own, &place);
  pd_status status = number("PADDLE_TRAINERS_NUM", &trainers, err);
  if (status == PD_OK) status = number("WORLD_SIZE", &world, err);
  out->world = trainers >= 0 ? trainers + count : world;
  if (strcmp(out->role, "pserver") == 0) {
    out->rank = place;
    return status;
  }
  if (status == PD_OK) status = number("PADDLE_TRAINER_ID", &out->rank, err);
  if (status == PD_OK) status = number("RANK", &rank, err);
  if (status == PD_OK && out->rank < 0) out->rank = rank;
  return status;
}

void pd__name_for(const pd__place *place, char *out) {
  char role[PD__NAME_SIZE] = "rank";
  if (place->rank < 0) {
    snprintf(out, PD__NAME_SIZE, "%.100s-%ld", place->host, (long)getpid());
    return;
  }
  if (*place->role) storable(place->role, role);
  snprintf(out, PD__NAME_SIZE, "%.100s-%lld", role, (long long)place->rank);
}
