/* Values for people: units where there are some, quotes where they help. */
#include <inttypes.h>
#include <string.h>

#include "report.h"

#define LONGEST 200 /* bytes of text that are shown */

/* ---- Units ---- */

static void add_number(pd__out *out, uint64_t number, const char *unit) {
  pd__out_format(out, "%" PRIu64 "%s", number, unit);
}

/* In the greatest unit that it is a whole number of. */
static void write_bytes(pd__out *out, uint64_t bytes) {
  static const char units[][4] = {"", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  for (; bytes > 0 && bytes % 1024 == 0 && unit < 6; unit++) bytes /= 1024;
  add_number(out, bytes, units[unit]);
}

/* As 1h30m. */
static void write_time(pd__out *out, uint64_t seconds) {
  static const uint64_t sizes[] = {86400, 3600, 60, 1};
  static const char units[][2] = {"d", "h", "m", "s"};
  if (seconds == 0) pd__out_text(out, "0");
  for (size_t i = 0; i < 4; i++) {
    if (seconds >= sizes[i]) add_number(out, seconds / sizes[i], units[i]);
    seconds %= sizes[i];
  }
}

/* In the unit that makes a whole number of it, which reads back as the same; false:
 * there is none. */
static bool write_fraction(pd__out *out, double seconds) {
  static const double parts[] = {1e3, 1e6, 1e9};
  static const char units[][3] = {"ms", "us", "ns"};
  for (size_t i = 0; i < 3; i++) {
    double whole = seconds * parts[i] + 0.5;
    if (!(whole >= 1 && whole < 1e15) || (double)(uint64_t)whole / parts[i] != seconds) continue;
    add_number(out, (uint64_t)whole, units[i]);
    return true;
  }
  return false;
}

/* False: the flag has no unit, or none makes a whole number of the value. */
static bool write_unit(const pd_flag_info *info, pd_value value, pd__out *out) {
  pd__type_kind kind = pd__type_of(info->type)->kind;
  bool bytes = !strcmp(info->unit, "bytes"), real = kind == PD__TYPE_FLOATING;
  if (!bytes && strcmp(info->unit, "seconds") != 0) return false;
  bool negative = real ? value.f64 < 0 : kind == PD__TYPE_SIGNED && value.i64 < 0;
  double size = negative ? -value.f64 : value.f64; /* of a real one */
  bool whole = !real || (size < 9e15 && (double)(uint64_t)size == size);
  uint64_t magnitude = negative ? 0 - value.u64 : value.u64;
  if (real && whole) magnitude = (uint64_t)size;
  size_t start = out->length;
  if (negative) pd__out_text(out, "-");
  if (whole && bytes) {
    write_bytes(out, magnitude);
  } else if (whole) {
    write_time(out, magnitude);
  } else if (bytes || !write_fraction(out, size)) {
    out->length = start;
    return false;
  }
  return true;
}

/* ---- Text ---- */

static bool needs_quotes(const char *text) {
  if (!*text) return true;
  for (; *text; text++) {
    if ((unsigned char)*text <= ' ' || strchr("\"\\[];", *text)) return true;
  }
  return false;
}

/* The length of what is shown: all, or whole characters. */
static size_t shown_length(const char *text) {
  size_t length = 0;
  while (text[length] && length < LONGEST) length++;
  while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  return length;
}

/* Unprintable bytes are left to the page. */
static void write_string(pd__out *out, const char *text) {
  bool quoted = needs_quotes(text);
  size_t length = shown_length(text);
  if (quoted) pd__out_text(out, "\"");
  for (size_t i = 0; i < length; i++) {
    if (!quoted || !pd__out_escape(out, text[i], '"')) pd__out_add(out, &text[i], 1);
  }
  if (quoted) pd__out_text(out, "\"");
  if (text[length]) pd__out_text(out, "...");
}

void pd__row_bound(const pd__row *row, pd_value value, pd__out *out) {
  char buffer[PD__NUMBER_SIZE];
  if (!write_unit(&row->info, value, out)) {
    pd__out_text(out, pd__value_text(row->info.type, value, buffer));
  }
}

void pd__row_value(const pd__row *row, pd_value value, pd__out *out) {
  if (row->info.sensitive) {
    pd__out_text(out, PD__REDACTED);
  } else if (row->info.type == PD_TYPE_string) {
    write_string(out, value.str);
  } else {
    pd__row_bound(row, value, out);
  }
}
