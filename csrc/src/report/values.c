/* Writes values as people do, with units, and with quotes where they help. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report.h"

#define LONGEST 200 /* bytes of text to show */

/* ---- Units ---- */

static void add_number(pd__out *out, uint64_t number, const char *behind) {
  pd__out_add_format(out, "%" PRIu64 "%s", number, behind);
}

/* Writes the size in the largest unit in which it is at least 1 and a multiple of a quarter: 64MiB,
 * 1.5GiB. */
static void write_bytes(pd__out *out, uint64_t bytes) {
  static const char units[][4] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  static const char quarters[][4] = {"", ".25", ".5", ".75"};
  for (size_t i = 6; i-- > 0;) {
    uint64_t unit = (uint64_t)1 << (10 * (i + 1));
    if (bytes < unit || bytes % (unit / 4)) continue;
    add_number(out, bytes / unit, quarters[bytes % unit / (unit / 4)]);
    pd__out_add_text(out, units[i]);
    return;
  }
  add_number(out, bytes, "");
}

/* Writes the time as 1h30m. `fraction` (".5", or "") follows the digits of the seconds. */
static void write_duration(pd__out *out, uint64_t seconds, const char *fraction) {
  static const uint64_t sizes[] = {86400, 3600, 60};
  static const char units[][2] = {"d", "h", "m"};
  if (seconds == 0 && !*fraction) pd__out_add_text(out, "0");
  for (size_t i = 0; i < 3; i++) {
    if (seconds >= sizes[i]) add_number(out, seconds / sizes[i], units[i]);
    seconds %= sizes[i];
  }
  if (seconds == 0 && !*fraction) return;
  add_number(out, seconds, fraction);
  pd__out_add_text(out, "s");
}

/* Normalizes the text of a number below 1, "0.00025" or "2.5e-04", to its significant digits, "25".
 * Returns the exponent of ten for which the number is 0.<digits> times that power: -3. */
static long read_significant_digits(const char *text, char digits[PD__NUMBER_SIZE]) {
  const char *exponent = strchr(text, 'e'), *point = strchr(text, '.');
  const char *end = exponent ? exponent : text + strlen(text);
  long before = (point ? point : end) - text, skipped = 0; /* digits before the point */
  size_t count = 0;
  for (; text < end; text++) {
    if (*text == '.') continue;
    if (*text == '0' && count == 0) {
      skipped++;
    } else {
      digits[count++] = *text;
    }
  }
  digits[count] = '\0';
  return before - skipped + (exponent ? strtol(exponent + 1, NULL, 10) : 0);
}

/* Writes less than a second, as 2.5ms: in the largest unit in which it is at least 1. Returns false
 * if it is less than a nanosecond. */
static bool write_subsecond(pd__out *out, const char *text) {
  static const char units[][3] = {"ms", "us", "ns"};
  char digits[PD__NUMBER_SIZE];
  long before = read_significant_digits(text, digits);
  size_t unit = 0;
  for (before += 3; before < 1 && unit < 2; unit++) before += 3;
  if (before < 1) return false;
  size_t count = strlen(digits), whole = (size_t)before;
  for (size_t i = 0; i < whole || i < count; i++) {
    if (i == whole) pd__out_add_text(out, ".");
    pd__out_add(out, i < count ? &digits[i] : "0", 1);
  }
  pd__out_add_text(out, units[unit]);
  return true;
}

/* Writes the shortest decimal number that reads back equal, in units. Only its point moves, so it
 * stays exact. */
static bool write_fractional_seconds(pd__out *out, double seconds) {
  char text[PD__NUMBER_SIZE];
  pd__value_get_text(PD_TYPE_double, (pd_value){.f64 = seconds}, text);
  if (seconds < 1) return write_subsecond(out, text);
  const char *point = strchr(text, '.');
  if (point) write_duration(out, (uint64_t)seconds, point);
  return point != NULL;
}

/* A larger number has no fraction, and too many digits to be read as a quantity. */
#define MOST_WHOLE 9e15

/* `number` is not negative. Returns false if it has to be written as a plain number. */
static bool write_real_quantity(pd__out *out, double number, bool bytes) {
  if (!(number < MOST_WHOLE)) return false;
  bool whole = (double)(uint64_t)number == number;
  if (bytes && whole) write_bytes(out, (uint64_t)number);
  if (!bytes && whole) write_duration(out, (uint64_t)number, "");
  return whole || (!bytes && write_fractional_seconds(out, number));
}

/* Returns false if the flag has no unit, or if the value has to be written as a plain number. */
static bool try_write_with_unit(const pd_flag_info *info, pd_value value, pd__out *out) {
  pd__type_kind kind = pd__type_of(info->type)->kind;
  bool bytes = !strcmp(info->unit, "bytes"), real = kind == PD__TYPE_FLOATING;
  if (!bytes && strcmp(info->unit, "seconds") != 0) return false;
  bool negative = real ? signbit(value.f64) : kind == PD__TYPE_SIGNED && value.i64 < 0;
  uint64_t magnitude = negative ? 0 - value.u64 : value.u64;
  size_t start = out->length;
  bool written = true;
  if (negative) pd__out_add_text(out, "-");
  if (real) {
    written = write_real_quantity(out, fabs(value.f64), bytes);
  } else if (bytes) {
    write_bytes(out, magnitude);
  } else {
    write_duration(out, magnitude, "");
  }
  if (!written) out->length = start;
  return written;
}

/* ---- Text ---- */

static bool has_to_be_quoted(const char *text) {
  if (!*text) return true;
  for (; *text; text++) {
    if ((unsigned char)*text <= ' ' || strchr("\"\\[];", *text)) return true;
  }
  return false;
}

/* Returns the bytes to show: all, or at most LONGEST without a partial character. */
static size_t shown_length(const char *text) {
  size_t length = 0;
  while (text[length] && length < LONGEST) length++;
  while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  return length;
}

/* Unprintable bytes are escaped by the page. */
static void write_string(pd__out *out, const char *text) {
  bool quoted = has_to_be_quoted(text);
  size_t length = shown_length(text);
  if (quoted) pd__out_add_text(out, "\"");
  for (size_t i = 0; i < length; i++) {
    if (!quoted || !pd__out_try_add_escaped(out, text[i], '"')) pd__out_add(out, &text[i], 1);
  }
  if (quoted) pd__out_add_text(out, "\"");
  if (text[length]) pd__out_add_text(out, "...");
}

void pd__row_write_with_unit(const pd__row *row, pd_value value, pd__out *out) {
  char buffer[PD__NUMBER_SIZE];
  if (!try_write_with_unit(&row->info, value, out)) {
    pd__out_add_text(out, pd__value_get_text(row->info.type, value, buffer));
  }
}

void pd__row_write_value(const pd__row *row, pd_value value, pd__out *out) {
  if (row->info.sensitive) {
    pd__out_add_text(out, PD__REDACTED);
  } else if (row->info.type == PD_TYPE_string) {
    write_string(out, value.str);
  } else {
    pd__row_write_with_unit(row, value, out);
  }
}
