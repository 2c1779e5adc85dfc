/* GET /v1/flags and GET /v1/flags/NAME. */
#include <string.h>

#include "../registry/journal.h"
#include "live.h"

typedef struct listing {
  pd__call *call;
  pd__rows rows;
  uint64_t revision; /* of the answer */
  uint64_t since;    /* flags that changed later are listed */
  bool complete;
  pd_override override; /* of the last temporary value that was written, and its change */
  uint64_t change;
} listing;

/* ---- One flag ---- */

static void add_entry(pd__json *to, const char *key, const char *text_key, const pd_flag_info *info,
                      const pd_flag_entry *entry) {
  char buffer[PD__NUMBER_SIZE];
  bool unset = info->optional && entry->origin.source == PD_SOURCE_DEFAULT;
  pd__json_begin_member(to, key);
  pd__json_write_entry(to, info, entry);
  const char *text = pd__value_text(info->type, entry->value, buffer);
  pd__json_add_nullable(to, text_key, unset ? NULL : text);
}

static void add_values(pd__json *to, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  pd_flag_entry base = {.value = info->default_value, .origin = {.source = PD_SOURCE_DEFAULT}};
  add_entry(to, "value", "text", info, &row->entry);
  add_entry(to, "default", "default_text", info, &base);
  const pd__type *type = pd__type_of(info->type);
  if (pd__json_is_limit(info, info->min, type->min)) {
    pd__json_begin_member(to, "min");
    pd__json_write_value(to, info, info->min);
  }
  if (pd__json_is_limit(info, info->max, type->max)) {
    pd__json_begin_member(to, "max");
    pd__json_write_value(to, info, info->max);
  }
  if (*info->choices) pd__json_add_names(to, "choices", info->choices);
}

#define ADD_TEXT(name) pd__json_add_text
#define ADD_NAMES(name) pd__json_add_names
#define ADD_ATTRIBUTE(name, words, kind, about)                                                    \
  if (*info->name && strcmp(#name, "choices") != 0) ADD_##kind(name)(to, #name, info->name);
#define ADD_MARK(name, words, about)                                                               \
  if (info->name) {                                                                                \
    pd__json_begin_item(to);                                                                       \
    pd__out_add_text(to->out, "\"" #name "\"");                                                    \
  }

static void add_attributes(pd__json *to, const pd_flag_info *info) {
  if (info->list) pd__json_add_text(to, "items", pd_type_name((pd_type)info->list));
  PD_TEXT_MAP(ADD_ATTRIBUTE)
  pd__json_add_text(to, "module", info->module);
  pd__json_add_text(to, "file", info->file);
  pd__json_add_number(to, "line", info->line);
  pd__json_begin_member(to, "marks");
  pd__json_open(to, "[");
  PD_MARK_MAP(ADD_MARK)
  pd__json_close(to, "]");
  if (info->frozen) pd__json_add_bool(to, "frozen", true);
}

/* Rows of one change follow each other, so the last one is looked at first. */
static void add_temporary(listing *list, const pd__row *row) {
  pd__json *to = &list->call->json;
  char buffer[PD__NUMBER_SIZE];
  PD__LOCKED_OPERATION(operation);
  bool same = list->override == row->temporary;
  const pd__kept *kept = same ? pd__kept_find(list->change) : NULL;
  if (!kept || kept->state != PD__ON) kept = pd__kept_of_override(row->temporary);
  list->override = row->temporary;
  list->change = kept ? kept->number : 0;
  if (kept) {
    int64_t left = kept->deadline - pd__platform_steady_time();
    pd__json_begin_member(to, "temporary");
    pd__json_open(to, "{");
    pd__json_add_number(to, "change", (int64_t)kept->number);
    pd__json_add_time(to, "until", kept->until);
    pd__json_begin_member(to, "left");
    pd__out_add_format(to->out, "%lld.%03d", (long long)(left > 0 ? left / 1000 : 0),
                       (int)(left > 0 ? left % 1000 : 0));
    const char *below = pd__value_text(row->info.type, row->below, buffer);
    if (!row->info.sensitive) pd__json_add_nullable(to, "below", row->below_unset ? NULL : below);
    pd__json_close(to, "}");
  }
  pd__operation_end(&operation);
}

/* The members of a flag, without the braces. */
static void write_flag(listing *list, const pd__row *row) {
  pd__json *to = &list->call->json;
  const pd_flag_info *info = &row->info;
  pd__json_add_text(to, "name", info->name);
  pd__json_add_text(to, "type", pd_type_name(info->type));
  pd__json_add_text(to, "help", info->help);
  if (!info->sensitive) add_values(to, row);
  pd__json_add_text(to, "source", pd_source_name(row->entry.origin.source));
  const char *place = pd__json_describe_place(to, &row->entry.origin);
  if (*place) pd__json_add_text(to, "place", place);
  pd__json_add_number(to, "revision", (int64_t)row->revision);
  add_attributes(to, info);
  const char *refusal = pd__settable_refusal(list->call->live, info);
  pd__json_add_bool(to, "settable", !refusal);
  if (refusal) pd__json_add_text(to, "refusal", refusal);
  if (row->temporary) add_temporary(list, row);
}

/* ---- All flags ---- */

/* The names of flags that went after `since`, each once: those that came back are listed as flags.
 * The caller holds the lock. */
static void write_removed(listing *list) {
  pd__json *to = &list->call->json;
  uint32_t mark = pd__next_visit_mark();
  pd__json_begin_member(to, "removed");
  pd__json_open(to, "[");
  uint64_t last = list->complete ? list->since : pd__journal_revision();
  for (uint64_t at = list->since; at < last; at++) {
    const pd__event *event = pd__journal_after(at);
    pd_flag *flag = event->flag;
    if (event->kind != PD_EVENT_REMOVED || pd__flag_def(flag) || !pd__name_visit(flag, mark))
      continue;
    pd__json_begin_item(to);
    pd__json_write_text(to->out, pd__flag_name(flag));
  }
  pd__json_close(to, "]");
}

/* Returns false after it has ended the call. */
static bool read_since(listing *list, const char *text) {
  pd__since how = PD__SINCE_LOST;
  pd__platform_lock();
  if (text) how = pd__since_parse(text, &list->since);
  pd__platform_unlock();
  list->complete = how == PD__SINCE_LOST;
  if (list->complete) list->since = 0;
  if (how != PD__SINCE_WRONG) return true;
  pd__call_fail(list->call, PD__PROBLEM_MALFORMED, "since is malformed, expected EPOCH-REVISION");
  return false;
}

/* Sets the ETag. Returns true after it has ended the call, since nothing has changed. */
static bool is_unchanged(listing *list) {
  pd__call *call = list->call;
  pd__out tag = {.arena = call->arena};
  size_t count;
  pd__out_add_text(&tag, "\"");
  pd__platform_lock();
  pd__id_write(&tag, list->revision);
  pd__platform_unlock();
  pd__out_add_text(&tag, "\"");
  if (!tag.text) return false;
  pd__call_header(call, "ETag", tag.text);
  const char *known = pd__call_find_header(call, "If-None-Match", &count);
  if (!known || count != 1 || !strstr(known, tag.text)) return false;
  pd__call_finish(call, 304, NULL);
  return true;
}

static void write_flags(listing *list) {
  pd__json *to = &list->call->json;
  pd__platform_lock();
  pd__json_open(to, "{");
  pd__head_write(to, list->revision);
  pd__json_add_bool(to, "complete", list->complete);
  write_removed(list);
  pd__platform_unlock();
  pd__json_begin_member(to, "flags");
  pd__json_open(to, "[");
  for (size_t i = 0; i < list->rows.count; i++) {
    const pd__row *row = &list->rows.items[i];
    if (!list->complete && row->revision <= list->since) continue;
    pd__json_begin_item(to);
    pd__json_open(to, "{");
    write_flag(list, row);
    pd__json_close(to, "}");
  }
  pd__json_close(to, "]");
  pd__json_close(to, "}");
}

/* The revision is read first: changes that come meanwhile are listed and told again later. */
void pd__get_flags(pd__call *call) {
  listing list = {.call = call, .revision = pd__revision_now()};
  if (!read_since(&list, pd__call_parameter(call, "since"))) return;
  if (is_unchanged(&list)) return;
  if (pd__rows_collect(&list.rows, false, call->arena)) {
    write_flags(&list);
  } else {
    call->arena->failed = true;
  }
  pd__call_finish(call, 200, "application/json");
}

/* ---- One flag with its history ---- */

static void write_history_entry(pd__json *to, const pd_flag_info *info,
                                const pd_flag_entry *entry) {
  pd__json_begin_item(to);
  pd__json_open(to, "{");
  if (!info->sensitive) add_entry(to, "value", "text", info, entry);
  pd__json_add_text(to, "source", pd_source_name(entry->origin.source));
  const char *place = pd__json_describe_place(to, &entry->origin);
  if (*place) pd__json_add_text(to, "place", place);
  pd__json_add_bool(to, "replaced", entry->replaced);
  pd__json_close(to, "}");
}

static void write_history(listing *list, const pd__row *row) {
  pd__json *to = &list->call->json;
  pd__json_begin_member(to, "history");
  pd__json_open(to, "[");
  write_history_entry(to, &row->info, &row->entry);
  for (size_t i = 0; i < row->others; i++) {
    write_history_entry(to, &row->info, &list->rows.others[row->first_other + i]);
  }
  pd__json_close(to, "]");
}

#define LOGGED 100 /* of the latest changes of a flag */

/* The caller holds the lock. */
static void write_log(pd__json *to, const pd_flag *flag) {
  size_t written = 0;
  pd__json_begin_member(to, "log");
  pd__json_open(to, "[");
  for (uint64_t at = pd__journal_revision(); at > pd__journal_oldest() && written < LOGGED; at--) {
    const pd__event *event = pd__journal_after(at - 1);
    if (event->flag != flag) continue;
    pd__json_begin_item(to);
    pd__event_write(to, event);
    written++;
  }
  pd__json_close(to, "]");
}

static void write_one(listing *list, const pd_flag *flag) {
  pd__json *to = &list->call->json;
  pd__platform_lock();
  pd__json_open(to, "{");
  pd__head_write(to, list->revision);
  pd__platform_unlock();
  pd__json_begin_member(to, "flag");
  pd__json_open(to, "{");
  write_flag(list, list->rows.items);
  write_history(list, list->rows.items);
  pd__platform_lock();
  write_log(to, flag);
  pd__platform_unlock();
  pd__json_close(to, "}");
  pd__json_close(to, "}");
}

void pd__get_flag(pd__call *call, const char *name) {
  listing list = {.call = call, .revision = pd__revision_now()};
  pd_error err;
  pd_flag *flag = NULL;
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK && !pd__rows_collect_one(&list.rows, flag, call->arena)) {
    status = PD_ERR_UNDEFINED; /* its module has just left */
    pd__fail_flag_gone(flag, &err);
  }
  if (status != PD_OK) {
    pd__call_fail(call, PD__PROBLEM_UNKNOWN, "%s", err.message);
    return;
  }
  write_one(&list, flag);
  pd__call_finish(call, 200, "application/json");
}
