/* hello, flags.list and flags.get. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live.h"

/* ---- One flag ---- */

/* The least and the largest value of a type say nothing. */
static void add_limit(pd__text *to, const char *name, const pd_flag_info *info, pd_value limit,
                      pd_value of_type) {
  char own[PD__NUMBER_SIZE], general[PD__NUMBER_SIZE];
  bool limited = info->type != PD_TYPE_bool && info->type != PD_TYPE_string && !info->list;
  if (!limited) return;
  const char *text = pd__value_text(info->type, limit, own);
  if (strcmp(text, pd__value_text(info->type, of_type, general)) == 0) return;
  pd__json_name(to, name);
  pd__value_write(to, info->type, (pd_type)0, limit);
}

static void add_limits(pd__text *to, const pd_flag_info *info) {
  pd_flag_def open;
  pd_flag_def_init(&open, sizeof open, info->type);
  add_limit(to, "min", info, info->min, open.min);
  add_limit(to, "max", info, info->max, open.max);
}

static void add_names(pd__text *to, const char *name, const char *names) {
  pd__text one = {.data = NULL};
  pd__json_name(to, name);
  pd__json_open(to, '[');
  while (*names) {
    size_t length = strcspn(names, "|");
    one.length = 0;
    pd__text_add(&one, names, length);
    if (one.data) pd__json_text(to, one.data);
    names += length + (names[length] == '|');
  }
  pd__json_close(to, ']');
  pd__text_free(&one);
}

#define ADD_TEXT pd__json_add_text
#define ADD_NAMES add_names
#define ADD_ATTRIBUTE(name, words, kind, about)                                                    \
  if (*info->name && (!secret || strcmp(#name, "choices") != 0)) ADD_##kind(to, #name, info->name);
#define ADD_MARK(name, words, about)                                                               \
  if (info->name) pd__json_text(to, #name);

static void add_attributes(pd__text *to, const pd_flag_info *info) {
  bool secret = info->sensitive;
  if (info->list) pd__json_add_text(to, "items", pd_type_name(info->list));
  PD_TEXT_MAP(ADD_ATTRIBUTE)
  pd__json_add_text(to, "module", info->module);
  pd__json_add_text(to, "file", info->file);
  pd__json_add_number(to, "line", info->line);
  pd__json_name(to, "marks");
  pd__json_open(to, '[');
  PD_MARK_MAP(ADD_MARK)
  pd__json_close(to, ']');
  if (info->frozen) pd__json_add_bool(to, "frozen", true);
}

/* Returns the text that the flag has when its topmost override ends, as the first entry below. */
static void add_below(pd__text *to, pd_flag *flag, pd_override override) {
  pd_flag_entry entry = {.size = sizeof entry};
  char number[PD__NUMBER_SIZE];
  for (size_t i = 1; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    if (entry.override == override || entry.replaced) continue;
    pd_type type = entry.unset ? (pd_type)0 : entry.type;
    if (!entry.sensitive)
      pd__json_add_shown(to, "below", pd__value_text(type, entry.value, number));
    return;
  }
}

static void add_temporary(pd__text *to, pd_flag *flag, pd_override override) {
  pthread_mutex_lock(&pd__lock);
  const pd__change *change = pd__change_of_override(override);
  uint64_t number = change ? change->number : 0;
  int64_t until = change ? change->until : 0, left = change ? change->deadline - pd__now() : 0;
  pthread_mutex_unlock(&pd__lock);
  if (!number) return;
  if (left < 0) left = 0;
  pd__json_name(to, "temporary");
  pd__json_open(to, '{');
  pd__json_add_number(to, "change", number);
  pd__json_add_time(to, "until", until);
  pd__json_name(to, "left");
  pd__text_add_format(to, "%lld.%03d", (long long)(left / 1000), (int)(left % 1000));
  add_below(to, flag, override);
  pd__json_close(to, '}');
}

void pd__flag_write(pd__text *to, pd_flag *flag, const pd_flag_info *info,
                    const pd_live_server *server, bool whole) {
  pd_flag_entry entry = {.size = sizeof entry};
  if (pd_flag_get_entry(flag, 0, &entry, NULL) != PD_OK) return;
  pd__json_add_text(to, "name", info->name);
  pd__json_add_text(to, "type", pd_type_name(info->type));
  pd__json_add_text(to, "help", info->help);
  if (!info->sensitive) pd__default_write(to, info, whole);
  if (!info->sensitive) add_limits(to, info);
  pd__entry_write(to, info, &entry, whole);
  pd__json_add_number(to, "revision", pd_flag_get_revision(flag));
  add_attributes(to, info);
  const char *refusal = pd__find_refusal(server, info);
  pd__json_add_bool(to, "settable", !refusal);
  pd__json_add_optional(to, "refusal", refusal);
  if (entry.override) add_temporary(to, flag, entry.override);
}

/* ---- hello ---- */

bool pd__hello_write(pd__request *request, pd__text *to) {
  const pd_live_server *server = request->client->server;
  char host[256] = "";
  size_t flags = 0;
  pd_flag_info info = {.size = sizeof info};
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) flags++;
  gethostname(host, sizeof host - 1);
  pthread_mutex_lock(&pd__lock);
  size_t temporary = pd__changes_on();
  pthread_mutex_unlock(&pd__lock);
  (void)info;
  pd__json_open(to, '{');
  pd__json_add_number(to, "api", 1);
  pd__json_add_text(to, "version", pd_version());
  pd__json_add_text(to, "program",
                    server->program ? server->program : program_invocation_short_name);
  pd__json_add_number(to, "pid", (uint64_t)getpid());
  pd__json_add_text(to, "host", host);
  pd__head_write(to, pd_journal_get_revision());
  pd__json_add_number(to, "flags", flags);
  pd__json_add_number(to, "temporary", temporary);
  pd__who_write(to, "you", &request->client->who);
  pd__json_close(to, '}');
  return true;
}

/* ---- flags.list ---- */

typedef struct listing {
  pd__request *request;
  pd__text *to;
  uint64_t since;
  bool complete;
  pd_flag *after; /* the last flag of the answer before; NULL: this is the first */
  bool full;
  const char *last; /* name of the last flag that was listed */
} listing;

static bool fail_param(pd__request *request, const char *what) {
  if (*request->id.text) {
    pd__answer_error(&request->client->out, &request->id, -32602, "params: %s", what);
  }
  return false;
}

static bool read_since(listing *list, const pd__value *params) {
  bool wrong = false, known = false;
  const char *text = pd__param_text(params, "since", &wrong);
  list->complete = true;
  if (text && !pd__since_read(text, &list->since, &known)) wrong = true;
  if (wrong) return fail_param(list->request, "since: expected EPOCH-REVISION");
  list->complete = !known;
  if (!known) list->since = 0;
  return true;
}

static bool read_after(listing *list, const pd__value *params) {
  bool wrong = false;
  pd_error err;
  const char *name = pd__param_text(params, "after", &wrong);
  if (wrong) return fail_param(list->request, "after: expected text");
  if (!name || pd_flag_find(name, &list->after, &err) == PD_OK) return true;
  return fail_param(list->request, err.message);
}

static void list_flags(listing *list) {
  size_t start = list->to->length;
  for (pd_flag *flag = list->after; (flag = pd_flag_next(flag));) {
    pd_flag_info info = {.size = sizeof info};
    if (!list->complete && pd_flag_get_revision(flag) <= list->since) continue;
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK) continue;
    list->full = list->last && list->to->length - start > PD__ANSWER_MAX;
    if (list->full) return;
    pd__json_open(list->to, '{');
    pd__flag_write(list->to, flag, &info, list->request->client->server, false);
    pd__json_close(list->to, '}');
    list->last = info.name;
  }
}

/* Names of flags that went after `since`, and didn't come back. One that went several times is
 * there several times, in the order of time. */
static void list_removed(listing *list) {
  pd_journal_event event = {.size = sizeof event};
  pd_flag_info info = {.size = sizeof info};
  uint64_t at = list->since;
  for (; !list->complete && pd_journal_get(at, &event, NULL) == PD_OK; at = event.revision) {
    bool removed =
        event.kind == PD_EVENT_REMOVED && pd_flag_get_revision(event.flag) == event.revision;
    if (removed && pd_flag_get_info(event.flag, &info, NULL) != PD_OK) {
      pd__json_text(list->to, pd_flag_get_name(event.flag));
    }
  }
}

bool pd__flags_list(pd__request *request, pd__text *to) {
  listing list = {.request = request, .to = to};
  uint64_t revision = pd_journal_get_revision();
  if (!read_since(&list, request->params) || !read_after(&list, request->params)) return false;
  pd__json_open(to, '{');
  pd__head_write(to, revision);
  pd__json_add_bool(to, "complete", list.complete);
  pd__json_name(to, "flags");
  pd__json_open(to, '[');
  list_flags(&list);
  pd__json_close(to, ']');
  pd__json_name(to, "removed");
  pd__json_open(to, '[');
  if (!list.full) list_removed(&list);
  pd__json_close(to, ']');
  pd__json_add_text(to, "next", list.full ? list.last : NULL);
  pd__json_close(to, '}');
  return true;
}

/* ---- flags.get ---- */

static void add_history(pd__text *to, pd_flag *flag, const pd_flag_info *info) {
  pd_flag_entry entry = {.size = sizeof entry};
  pd__json_name(to, "history");
  pd__json_open(to, '[');
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    pd__json_open(to, '{');
    pd__entry_write(to, info, &entry, false);
    pd__json_add_bool(to, "replaced", entry.replaced);
    pd__json_close(to, '}');
    if (to->length > PD__BUFFERS_MAX / 2) break;
  }
  pd__json_close(to, ']');
}

/* The journal has no list for each flag: this goes through all of it. */
static void add_log(pd__text *to, const pd_flag *flag) {
  enum { SHOWN = 16 };
  uint64_t found[SHOWN], last = pd_journal_get_revision();
  size_t count = 0;
  pd_journal_event event = {.size = sizeof event};
  uint64_t at = last > PD_JOURNAL_KEPT ? last - PD_JOURNAL_KEPT : 0;
  for (; at < last && pd_journal_get(at, &event, NULL) != PD_ERR_UNDEFINED; at++) {
    if (event.flag == flag && event.revision == at + 1) found[count++ % SHOWN] = at;
  }
  pd__json_name(to, "log");
  pd__json_open(to, '[');
  for (size_t i = 0; i < SHOWN && i < count; i++) {
    if (pd_journal_get(found[(count - 1 - i) % SHOWN], &event, NULL) == PD_OK) {
      pd__event_write(to, &event);
    }
  }
  pd__json_close(to, ']');
}

bool pd__flags_get(pd__request *request, pd__text *to) {
  bool wrong = false;
  pd_flag *flag;
  pd_error err;
  pd_flag_info info = {.size = sizeof info};
  uint64_t revision = pd_journal_get_revision();
  const char *name = pd__param_text(request->params, "name", &wrong);
  if (!name) return fail_param(request, "name: expected text");
  if (pd_flag_find(name, &flag, &err) != PD_OK || pd_flag_get_info(flag, &info, &err) != PD_OK) {
    pd__job job = {.problems_end = &job.problems};
    if (!*request->id.text) return false;
    pd__job_fail(&job, "unknown", name, PD_ERR_UNDEFINED, "%s", err.message);
    pd__answer_begin(&request->client->out, &request->id);
    pd__job_write_error(&request->client->out, &job);
    pd__answer_end(&request->client->out);
    pd__problems_free(&job);
    return false;
  }
  pd__json_open(to, '{');
  pd__head_write(to, revision);
  pd__json_name(to, "flag");
  pd__json_open(to, '{');
  pd__flag_write(to, flag, &info, request->client->server, true);
  add_history(to, flag, &info);
  add_log(to, flag);
  pd__json_close(to, '}');
  pd__json_close(to, '}');
  return true;
}
