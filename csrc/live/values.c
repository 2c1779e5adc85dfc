/* How values are written. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <pd_flags/items.h>

#include "live.h"

const char *pd__value_text(pd_type type, pd_value value, char number[PD__NUMBER_SIZE]) {
  if (!type) return NULL;
  if (type == PD_TYPE_string) return value.str;
  return pd_value_get_text(type, value, number, PD__NUMBER_SIZE, NULL, NULL) == PD_OK ? number : "";
}

/* JSON has no numbers for infinities and NaN: they are text. A double is written so that a reader
 * doesn't take it for an integer. */
static void write_number(pd__text *to, pd_type type, pd_value value) {
  char number[PD__NUMBER_SIZE];
  const char *text = pd__value_text(type, value, number);
  if (type == PD_TYPE_double && !isfinite(value.f64)) {
    pd__json_text(to, text);
    return;
  }
  pd__json_raw(to, text);
  if (type == PD_TYPE_double && !text[strcspn(text, ".e")]) pd__text_add(to, ".0", 2);
}

static void write_item(pd__text *to, pd_type type, const char *text) {
  pd_value value = {.str = text};
  if (type == PD_TYPE_string || pd_value_parse(type, NULL, text, &value, NULL) != PD_OK) {
    pd__json_text(to, text);
  } else {
    write_number(to, type, value);
  }
}

/* A list in the registry can be read. An item is never longer than the rest of the text. */
static void write_list(pd__text *to, pd_type type, const char *list) {
  const char *cursor = *list ? list : NULL;
  size_t size = strlen(list) + 1, length;
  char *item = malloc(size);
  to->failed |= !item;
  pd__json_open(to, '[');
  while (item && cursor && pd__item_read(&cursor, item, size, &length)) write_item(to, type, item);
  pd__json_close(to, ']');
  free(item);
}

void pd__value_write(pd__text *to, pd_type type, pd_type list, pd_value value) {
  if (list) {
    write_list(to, list, value.str);
  } else if (type == PD_TYPE_string) {
    pd__json_text(to, value.str);
  } else {
    write_number(to, type, value);
  }
}

/* Adds the value under two names: as JSON knows it, and as text. */
static void add_value(pd__text *to, const char *name, const char *text_name,
                      const pd_flag_info *info, pd_value value, bool unset, bool whole) {
  char number[PD__NUMBER_SIZE];
  const char *text = unset ? NULL : pd__value_text(info->type, value, number);
  bool cut = text && !whole && strlen(text) > PD__SHOWN_MAX;
  if (!cut) {
    pd__json_name(to, name);
    if (text) pd__value_write(to, info->type, info->list, value);
    if (!text) pd__json_text(to, NULL);
  }
  pd__json_name(to, text_name);
  if (cut) pd__json_shown(to, text);
  if (!cut) pd__json_text(to, text);
}

void pd__entry_write(pd__text *to, const pd_flag_info *info, const pd_flag_entry *entry,
                     bool whole) {
  if (!info->sensitive) add_value(to, "value", "text", info, entry->value, entry->unset, whole);
  pd__json_add_text(to, "source", pd_source_name(entry->origin.source));
  pd__place_write(to, &entry->origin);
}

void pd__default_write(pd__text *to, const pd_flag_info *info, bool whole) {
  bool unset = info->optional;
  add_value(to, "default", "default_text", info, info->default_value, unset, whole);
}

void pd__place_write(pd__text *to, const pd_origin *origin) {
  pd__text place = {.data = NULL};
  if (origin->place && *origin->place) {
    pd__text_add(&place, origin->place, strlen(origin->place));
    const char *joint = origin->source == PD_SOURCE_FLEET ? " revision " : ":";
    if (origin->line) pd__text_add_format(&place, "%s%u", joint, (unsigned)origin->line);
    if (origin->column) pd__text_add_format(&place, ":%u", (unsigned)origin->column);
  } else if (origin->source == PD_SOURCE_ARGV) {
    pd__text_add_format(&place, "argv[%u]", (unsigned)origin->line);
  }
  to->failed |= place.failed;
  pd__json_add_optional(to, "place", place.data);
  pd__text_free(&place);
}

void pd__head_write(pd__text *to, uint64_t revision) {
  pd__json_add_text(to, "epoch", pd_journal_get_epoch());
  pd__json_add_number(to, "revision", revision);
}

bool pd__since_read(const char *text, uint64_t *revision, bool *known) {
  pd_journal_event event = {.size = sizeof event};
  pd_value number;
  const char *dash = strchr(text, '-');
  if (!dash || dash - text != 16) return false;
  if (pd_value_parse(PD_TYPE_uint64, NULL, dash + 1, &number, NULL) != PD_OK) return false;
  *revision = number.u64;
  *known = strncmp(text, pd_journal_get_epoch(), 16) == 0 &&
           pd_journal_get(number.u64, &event, NULL) != PD_ERR_ARGUMENT;
  return true;
}
