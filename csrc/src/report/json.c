/* All properties of each flag as JSON. */
#include "json.h"

#include <string.h>

/* Writes null if only the type limits the value. */
static void add_bound_or_null(pd__json *to, const char *key, const pd_flag_info *info,
                              pd_value bound, pd_value natural) {
  pd__json_begin_member(to, key);
  if (info->sensitive || pd__json_is_narrower_bound(info, bound, natural)) {
    pd__json_write_value(to, info, bound);
  } else {
    pd__out_add_text(to->out, "null");
  }
}

/* Writes null for choices if there are none: then any value is allowed. */
static void add_name_list(pd__json *to, const char *key, const char *names) {
  if (*names || strcmp(key, "choices") != 0) {
    pd__json_add_names(to, key, names);
  } else {
    pd__json_add_null_if_empty(to, key, NULL);
  }
}

static void add_location(pd__json *to, const pd_origin *origin) {
  pd__json_add_null_if_empty(to, "place", pd__json_format_location(to, origin));
}

static void write_history_entry(pd__json *to, const pd_flag_info *info,
                                const pd_flag_entry *entry) {
  pd__json_begin_item(to);
  pd__json_open_bracket(to, "{");
  pd__json_begin_member(to, "value");
  pd__json_write_entry_value(to, info, entry);
  pd__json_add_text(to, "source", pd_source_name(entry->origin.source));
  add_location(to, &entry->origin);
  pd__json_add_bool(to, "replaced", entry->replaced);
  pd__json_close_bracket(to, "}");
}

static void add_history(pd__json *to, const pd__rows *rows, const pd__row *row) {
  pd__json_begin_member(to, "history");
  pd__json_open_bracket(to, "[");
  write_history_entry(to, &row->info, &row->entry);
  for (size_t i = 0; i < row->others; i++) {
    write_history_entry(to, &row->info, &rows->others[row->first_other + i]);
  }
  pd__json_close_bracket(to, "]");
}

static void add_value_members(pd__json *to, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  const pd__type *type = pd__type_of(info->type);
  pd__json_begin_member(to, "value");
  pd__json_write_entry_value(to, info, &row->entry);
  pd_flag_entry base = {.value = info->default_value, .origin = {.source = PD_SOURCE_DEFAULT}};
  pd__json_begin_member(to, "default");
  pd__json_write_entry_value(to, info, &base);
  pd__json_add_text(to, "source", pd_source_name(row->entry.origin.source));
  add_location(to, &row->entry.origin);
  add_bound_or_null(to, "min", info, info->min, type->min);
  add_bound_or_null(to, "max", info, info->max, type->max);
}

#define ADD_TEXT(name) (strcmp(#name, "category") ? pd__json_add_null_if_empty : pd__json_add_text)
#define ADD_NAMES(name) add_name_list
#define ADD_ATTRIBUTE(name, words, kind, about) ADD_##kind(name)(to, #name, info->name);
#define ADD_MARK(name, words, about) pd__json_add_bool(to, #name, info->name);

static void write_json_flag(pd__json *to, const pd__rows *rows, const pd__row *row) {
  const pd_flag_info *info = &row->info;
  pd__json_begin_item(to);
  pd__json_open_bracket(to, "{");
  pd__json_add_text(to, "name", info->name);
  pd__json_add_text(to, "type", pd_type_name(info->type));
  pd__json_add_null_if_empty(to, "items", info->list ? pd_type_name((pd_type)info->list) : "");
  pd__json_add_text(to, "help", info->help);
  add_value_members(to, row);
  PD_TEXT_MAP(ADD_ATTRIBUTE)
  pd__json_add_text(to, "module", info->module);
  pd__json_add_text(to, "file", info->file);
  pd__json_begin_member(to, "line");
  pd__out_add_format(to->out, "%u", (unsigned)info->line);
  PD_MARK_MAP(ADD_MARK)
  pd__json_add_bool(to, "frozen", info->frozen);
  add_history(to, rows, row);
  pd__json_close_bracket(to, "}");
}

void pd__json_write_report(const pd__rows *rows, const pd_report_options *options, pd__out *out) {
  bool full = options->help->kind == PD_HELP_FULL;
  pd__json to = {.out = out, .location = {.arena = out->arena}};
  pd__json_open_bracket(&to, "{");
  pd__json_add_text(&to, "program", options->program);
  pd__json_begin_member(&to, "version");
  if (options->version) {
    pd__json_write_text(out, options->version);
  } else {
    pd__out_add_text(out, "null");
  }
  pd__json_begin_member(&to, "flags");
  pd__json_open_bracket(&to, "[");
  for (size_t i = 0; i < rows->count; i++) {
    const pd__row *row = &rows->items[i];
    if (full || !row->info.hidden) write_json_flag(&to, rows, row);
  }
  pd__json_close_bracket(&to, "]");
  pd__json_close_bracket(&to, "}");
  pd__out_add_text(out, "\n");
}
