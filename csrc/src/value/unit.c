#include "unit.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "value.h"

typedef struct suffix {
  char name[4];
  uint32_t decimals; /* places to move the point to the left */
  uint64_t factor;
} suffix;

/* An entry without a name ends the table. */
static const suffix of_bytes[] = {{"B", 0, 1},
                                  {"kB", 0, 1000},
                                  {"KB", 0, 1000},
                                  {"MB", 0, 1000000},
                                  {"GB", 0, 1000000000},
                                  {"TB", 0, 1000000000000},
                                  {"PB", 0, 1000000000000000},
                                  {"EB", 0, 1000000000000000000},
                                  {"KiB", 0, (uint64_t)1 << 10},
                                  {"MiB", 0, (uint64_t)1 << 20},
                                  {"GiB", 0, (uint64_t)1 << 30},
                                  {"TiB", 0, (uint64_t)1 << 40},
                                  {"PiB", 0, (uint64_t)1 << 50},
                                  {"EiB", 0, (uint64_t)1 << 60},
                                  {"", 0, 0}};

/* From large to small. Micro is written with the micro sign or with the Greek letter mu. */
static const suffix of_seconds[] = {{"d", 0, 86400}, {"h", 0, 3600},      {"min", 0, 60},
                                    {"m", 0, 60},    {"s", 0, 1},         {"ms", 3, 1},
                                    {"us", 6, 1},    {"\xc2\xb5s", 6, 1}, {"\xce\xbcs", 6, 1},
                                    {"ns", 9, 1},    {"", 0, 0}};

typedef struct unit {
  const char *name, *hint;
  const suffix *suffixes;
  bool compound; /* 1h30m: from large to small, each at most once */
} unit;

static const unit units[] = {
    {"bytes", "as in 64KiB; units: B, kB, MB, GB, KiB, MiB, GiB, ...", of_bytes, false},
    {"seconds", "as in 1m30s; units: d, h, m, s, ms, us, ns", of_seconds, true}};

static const unit *find_unit(const char *name) {
  for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
    if (!strcmp(units[i].name, name)) return &units[i];
  }
  return NULL;
}

static const suffix *find_suffix(const unit *of, const char *text, size_t length) {
  for (const suffix *each = of->suffixes; *each->name; each++) {
    if (strlen(each->name) == length && !memcmp(each->name, text, length)) return each;
  }
  return NULL;
}

static bool is_decimal_number(const char *text, size_t length) {
  size_t points = 0;
  for (size_t i = 0; i < length; i++) points += text[i] == '.';
  return points < 2 && length > points;
}

/* A sum as decimal digits, the lowest first; PLACES of them stand after the decimal point. It has
 * room for every sum of quantities in a text of at most LONGEST_TEXT bytes. */
#define LONGEST_TEXT 99
#define PLACES 108
#define DIGITS (PLACES + 120)

/* Long multiplication. The carry stays below the factor, and 10 times the factor fits 64 bits. */
static void add_quantity(uint8_t sum[DIGITS], const char *number, size_t length, const suffix *by) {
  const char *point = memchr(number, '.', length);
  size_t fraction = point ? (size_t)(number + length - point) - 1 : 0;
  uint8_t *at = sum + PLACES - fraction - by->decimals;
  uint64_t carry = 0;
  for (const char *digit = number + length; digit-- > number;) {
    if (*digit == '.') continue;
    carry += (uint64_t)(*digit - '0') * by->factor + *at;
    *at++ = (uint8_t)(carry % 10);
    carry /= 10;
  }
  for (; carry; carry /= 10) {
    carry += *at;
    *at++ = (uint8_t)(carry % 10);
  }
}

static void format_decimal_sum(const uint8_t sum[DIGITS], bool negative, char out[PD__UNIT_SIZE]) {
  size_t high = DIGITS - 1, low = 0;
  while (high > PLACES && !sum[high]) high--;
  while (low < PLACES && !sum[low]) low++;
  if (negative) *out++ = '-';
  for (size_t at = high + 1; at-- > low;) {
    if (at == PLACES - 1) *out++ = '.';
    *out++ = (char)('0' + sum[at]);
  }
  *out = '\0';
}

bool pd__unit_convert_to_base(const char *name, const char *text, char out[PD__UNIT_SIZE]) {
  const unit *of = find_unit(name);
  uint8_t sum[DIGITS] = {0};
  const suffix *last = NULL;
  bool negative = *text == '-';
  if (!of || strlen(text) > LONGEST_TEXT) return false;
  if (*text == '+' || *text == '-') text++;
  do {
    size_t number = strspn(text, "0123456789.");
    size_t length = strcspn(text + number, "0123456789.");
    const suffix *found = find_suffix(of, text + number, length);
    if (!found || !is_decimal_number(text, number)) return false;
    bool smaller = last && (found->factor < last->factor || found->decimals > last->decimals);
    if (last && !(of->compound && smaller)) return false;
    add_quantity(sum, text, number, found);
    text += number + length;
    last = found;
  } while (*text);
  format_decimal_sum(sum, negative, out);
  return true;
}

const char *pd__unit_get_hint(const char *name) {
  const unit *of = find_unit(name);
  return of ? of->hint : NULL;
}
