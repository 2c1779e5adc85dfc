/* hello, flags.list and flags.get. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <pd_flags/items.h>

#include "job.h"

/* ---- Values ---- */

/* JSON has no numbers for infinities and NaN: they are text. A double is written so that a reader
 * doesn't take it for an integer. */
static void write_typed_text(pd__text *to, const char *name, pd_type type, const char *text) {
  char number[PD__VALUE_TEXT_SIZE];
  pd_value value = {.f64 = 0};
  bool real = type == PD_TYPE_double;
  bool parsed = type != PD_TYPE_string && pd_value_parse(type, NULL, text, &value, NULL) == PD_OK;
  if (parsed) text = pd__value_format(type, value, number);
  if (!parsed || (real && !isfinite(value.f64))) {
    pd__json_put_text(to, name, text);
    return;
  }
  pd__json_put_raw(to, name, text);
  if (real && !text[strcspn(text, ".e")]) pd__text_add(to, ".0", 2);
}

/* A list in the registry can be read. An item is never longer than the rest of the text. */
static void write_list_value(pd__text *to, const char *name, pd_type type, const char *list) {
  const char *cursor = *list ? list : NULL;
  size_t size = strlen(list) + 1, length;
  char *item = malloc(size);
  to->failed |= !item;
  pd__json_begin(to, name, '[');
  while (item && cursor && pd__item_read(&cursor, item, size, &length)) {
    write_typed_text(to, NULL, type, item);
  }
  pd__json_end(to, "]");
  free(item);
}

/* Adds the value under two names: as JSON knows it, and as text. */
static void write_flag_value(pd__text *to, const char *name, const char *text_name,
                             const pd_flag_info *info, pd_value value, bool unset, bool whole) {
  char number[PD__VALUE_TEXT_SIZE];
  const char *text = unset ? NULL : pd__value_format(info->type, value, number);
  if (text && !whole && strlen(text) > PD__PLAIN_TEXT_MAX) {
    pd__json_put_text_or_digest(to, text_name, text);
    return;
  }
  if (!text) pd__json_put_text(to, name, NULL);
  if (text && info->list) write_list_value(to, name, info->list, value.str);
  if (text && !info->list) write_typed_text(to, name, info->type, text);
  pd__json_put_text(to, text_name, text);
}

static void write_flag_entry(pd__text *to, const pd_flag_info *info, const pd_flag_entry *entry,
                             bool whole) {
  if (!info->sensitive)
    write_flag_value(to, "value", "text", info, entry->value, entry->unset, whole);
  pd__json_put_text(to, "source", pd_source_name(entry->origin.source));
  pd__location_write(to, &entry->origin);
}

/* ---- One flag ---- */

/* The least and the largest value of a type say nothing. */
static void write_bound_unless_natural(pd__text *to, const char *name, const pd_flag_info *info,
                                       pd_value limit, pd_value of_type) {
  char own[PD__VALUE_TEXT_SIZE], general[PD__VALUE_TEXT_SIZE];
  bool limited = info->type != PD_TYPE_bool && info->type != PD_TYPE_string && !info->list;
  if (!limited) return;
  const char *text = pd__value_format(info->type, limit, own);
  if (strcmp(text, pd__value_format(info->type, of_type, general)) == 0) return;
  write_typed_text(to, name, info->type, text);
}

static void write_min_and_max(pd__text *to, const pd_flag_info *info) {
  pd_flag_def open;
  pd_flag_def_init(&open, sizeof open, info->type);
  write_bound_unless_natural(to, "min", info, info->min, open.min);
  write_bound_unless_natural(to, "max", info, info->max, open.max);
}

static void write_bar_separated_list(pd__text *to, const char *name, const char *names) {
  pd__text one = {.data = NULL};
  pd__json_begin(to, name, '[');
  while (*names) {
    size_t length = strcspn(names, "|");
    one.length = 0;
    pd__text_add(&one, names, length);
    if (one.data) pd__json_put_text(to, NULL, one.data);
    names += length + (names[length] == '|');
  }
  pd__json_end(to, "]");
  pd__text_free(&one);
}

#define ADD_TEXT pd__json_put_text
#define ADD_NAMES write_bar_separated_list
#define ADD_ATTRIBUTE(name, words, kind, about)                                                    \
  if (*info->name && (!secret || strcmp(#name, "choices") != 0)) ADD_##kind(to, #name, info->name);
#define ADD_MARK(name, words, about)                                                               \
  if (info->name) pd__json_put_text(to, NULL, #name);

static void write_attributes(pd__text *to, const pd_flag_info *info) {
  bool secret = info->sensitive;
  if (info->list) pd__json_put_text(to, "items", pd_type_name(info->list));
  PD_TEXT_MAP(ADD_ATTRIBUTE)
  pd__json_put_text(to, "module", info->module);
  pd__json_put_text(to, "file", info->file);
  pd__json_put_number(to, "line", info->line);
  pd__json_begin(to, "marks", '[');
  PD_MARK_MAP(ADD_MARK)
  pd__json_end(to, "]");
  if (info->frozen) pd__json_put_bool(to, "frozen", true);
}

/* Returns the text that the flag has when its topmost override ends, as the first entry below. */
static void write_value_below(pd__text *to, pd_flag *flag, pd_override override) {
  pd_flag_entry entry = {.size = sizeof entry};
  char number[PD__VALUE_TEXT_SIZE];
  for (size_t i = 1; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    if (entry.override == override || entry.replaced) continue;
    pd_type type = entry.unset ? (pd_type)0 : entry.type;
    if (!entry.sensitive)
      pd__json_put_text_or_digest(to, "below", pd__value_format(type, entry.value, number));
    return;
  }
}

static void write_temporary_change(pd__text *to, pd_flag *flag, pd_override override) {
  pthread_mutex_lock(&pd__lock);
  const pd__change_record *change = pd__change_find_by_override(override);
  uint64_t number = change ? change->number : 0;
  int64_t until = change ? change->until : 0,
          left = change ? change->deadline - pd__get_steady_ms() : 0;
  pthread_mutex_unlock(&pd__lock);
  if (!number) return;
  if (left < 0) left = 0;
  pd__json_begin(to, "temporary", '{');
  pd__json_put_number(to, "change", number);
  pd__json_put_time(to, "until", until);
  pd__json_put_name(to, "left");
  pd__text_add_format(to, "%lld.%03d", (long long)(left / 1000), (int)(left % 1000));
  write_value_below(to, flag, override);
  pd__json_end(to, "}");
}

/* Adds the members that a flag has in every answer. */
static void write_flag_members(pd__job *job, pd_flag *flag, const pd_flag_info *info, bool whole) {
  pd__text *to = &job->result;
  pd_flag_entry entry = {.size = sizeof entry};
  if (pd_flag_get_entry(flag, 0, &entry, NULL) != PD_OK) return;
  pd__json_put_text(to, "name", info->name);
  pd__json_put_text(to, "type", pd_type_name(info->type));
  pd__json_put_text(to, "help", info->help);
  if (!info->sensitive) {
    write_flag_value(to, "default", "default_text", info, info->default_value, info->optional,
                     whole);
    write_min_and_max(to, info);
  }
  write_flag_entry(to, info, &entry, whole);
  pd__json_put_number(to, "revision", pd_flag_get_revision(flag));
  write_attributes(to, info);
  const char *refusal = pd__server_find_refusal(job->server, info);
  pd__json_put_bool(to, "settable", !refusal);
  pd__json_put_nonempty_text(to, "refusal", refusal);
  if (entry.override) write_temporary_change(to, flag, entry.override);
}

/* ---- hello ---- */

void pd__hello_answer(pd__job *job) {
  pd__text *to = &job->result;
  char host[256] = "";
  size_t flags = 0;
  for (pd_flag *flag = NULL; (flag = pd_flag_next(flag));) flags++;
  gethostname(host, sizeof host - 1);
  const char *program = job->server->program;
  pd__json_begin(to, NULL, '{');
  pd__json_put_number(to, "api", 1);
  pd__json_put_text(to, "version", pd_version());
  pd__json_put_text(to, "program", program ? program : program_invocation_short_name);
  pd__json_put_number(to, "pid", getpid());
  pd__json_put_text(to, "host", host);
  pd__revision_write(to, pd_journal_get_revision());
  pd__json_put_number(to, "flags", flags);
  pd__json_put_number(to, "temporary", pd_live_count_temporary());
  pd__json_put_bool(to, "startup_over", pd_startup_over());
  pd__json_put_number(to, "dropped", (int64_t)pd_config_count_dropped(PD_SOURCE_FLEET));
  pd__requester_write_json(to, "you", &job->requester);
  pd__json_end(to, "}");
}

/* ---- flags.list ---- */

/* Lists flags until the answer is long enough. Returns the name of the last one; NULL: no flags are
 * left. */
static const char *write_flags_after(pd__job *job, pd_flag *after) {
  pd__text *to = &job->result;
  const char *last = NULL;
  size_t start = to->length;
  for (pd_flag *flag = after; (flag = pd_flag_next(flag));) {
    pd_flag_info info = {.size = sizeof info};
    if (job->since.known && pd_flag_get_revision(flag) <= job->since.revision) continue;
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK) continue;
    if (last && to->length - start > PD__ANSWER_MAX) return last;
    pd__json_begin(to, NULL, '{');
    write_flag_members(job, flag, &info, false);
    pd__json_end(to, "}");
    last = info.name;
  }
  return NULL;
}

/* Names of flags that went after `since`, and didn't come back. One that went several times is
 * there several times, in the order of time. */
static void write_removed_names(pd__job *job) {
  pd_journal_event event = {.size = sizeof event};
  pd_flag_info info = {.size = sizeof info};
  uint64_t at = job->since.revision;
  for (; job->since.known && pd_journal_get(at, &event, NULL) == PD_OK; at = event.revision) {
    bool removed =
        event.kind == PD_EVENT_REMOVED && pd_flag_get_revision(event.flag) == event.revision;
    if (removed && pd_flag_get_info(event.flag, &info, NULL) != PD_OK) {
      pd__json_put_text(&job->result, NULL, pd_flag_get_name(event.flag));
    }
  }
}

void pd__flags_answer_list(pd__job *job) {
  pd__text *to = &job->result;
  pd_flag *after = NULL; /* the last flag of the answer before */
  pd_error err;
  uint64_t revision = pd_journal_get_revision();
  if (job->after && pd_flag_find(job->after, &after, &err) != PD_OK) {
    pd__job_add_problem(job, "params", NULL, err.status, "params: %s", err.message);
    return;
  }
  pd__json_begin(to, NULL, '{');
  pd__revision_write(to, revision);
  pd__json_put_bool(to, "complete", !job->since.known);
  pd__json_begin(to, "flags", '[');
  const char *next = write_flags_after(job, after);
  pd__json_end(to, "]");
  pd__json_begin(to, "removed", '[');
  if (!next) write_removed_names(job);
  pd__json_end(to, "]");
  pd__json_put_text(to, "next", next);
  pd__json_end(to, "}");
}

/* ---- flags.get ---- */

static void write_history(pd__text *to, pd_flag *flag, const pd_flag_info *info) {
  pd_flag_entry entry = {.size = sizeof entry};
  pd__json_begin(to, "history", '[');
  for (size_t i = 0; pd_flag_get_entry(flag, i, &entry, NULL) == PD_OK; i++) {
    pd__json_begin(to, NULL, '{');
    write_flag_entry(to, info, &entry, false);
    pd__json_put_bool(to, "replaced", entry.replaced);
    pd__json_end(to, "}");
    if (to->length > PD__BUFFERS_MAX / 2) break;
  }
  pd__json_end(to, "]");
}

/* The journal has no list for each flag: this goes through all of it. */
static void write_recent_flag_events(pd__text *to, const pd_flag *flag) {
  enum { SHOWN = 16 };
  uint64_t found[SHOWN], last = pd_journal_get_revision();
  size_t count = 0;
  pd_journal_event event = {.size = sizeof event};
  uint64_t at = last > PD_JOURNAL_KEPT ? last - PD_JOURNAL_KEPT : 0;
  for (; at < last && pd_journal_get(at, &event, NULL) != PD_ERR_UNDEFINED; at++) {
    if (event.flag == flag && event.revision == at + 1) found[count++ % SHOWN] = at;
  }
  pd__json_begin(to, "log", '[');
  for (size_t i = 0; i < SHOWN && i < count; i++) {
    if (pd_journal_get(found[(count - 1 - i) % SHOWN], &event, NULL) == PD_OK) {
      pd__event_write(to, &event);
    }
  }
  pd__json_end(to, "]");
}

void pd__flags_answer_get(pd__job *job) {
  pd__text *to = &job->result;
  pd_flag_info info;
  uint64_t revision = pd_journal_get_revision();
  pd_flag *flag = job->name ? pd__job_find_flag(job, job->name, &info) : NULL;
  if (!job->name) {
    pd__job_add_problem(job, "params", NULL, PD_ERR_ARGUMENT, "params: name: expected text");
  }
  if (!flag) return;
  pd__json_begin(to, NULL, '{');
  pd__revision_write(to, revision);
  pd__json_begin(to, "flag", '{');
  write_flag_members(job, flag, &info, true);
  write_history(to, flag, &info);
  write_recent_flag_events(to, flag);
  pd__json_end(to, "}}");
}
