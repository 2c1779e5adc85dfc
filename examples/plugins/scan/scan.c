/* scan: the lines, words and bytes of a file, as wc counts them in UTF-8. */
#include <errno.h>
#include <inttypes.h>
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FLAGS_HEADER /* ../../yaml generates a header with the same flags */
#include FLAGS_HEADER
#else
PD_DEFINE_bool(scan_lines, true, "Count lines, by their newline characters", .category = "scan");
PD_DEFINE_bool(scan_words, true, "Count words, which white space divides", .category = "scan");
PD_DEFINE_bool(scan_bytes, true, "Count bytes", .category = "scan");
PD_DEFINE_int32(scan_buffer, 65536, "Bytes to read at a time", .min = 1, .max = 1 << 26,
                .category = "tuning");

/* A flag of the host: the number of bytes to read of each file, 0 for all. */
PD_IMPORT_int64(max_bytes, 0);
#endif

typedef struct counts {
  uint64_t lines;
  uint64_t words;
  uint64_t bytes;
  uint32_t symbol; /* the bits read so far of an unfinished UTF-8 sequence */
  int missing;     /* the bytes that it still needs, or 0 */
  bool in_word;
} counts;

/* A byte that is not UTF-8. It counts as part of a word. */
#define NOT_A_SYMBOL UINT32_MAX

static bool is_space(uint32_t symbol) {
  if (symbol < 0x80) return symbol == ' ' || (symbol >= '\t' && symbol <= '\r');
  return symbol == 0xA0 || symbol == 0x1680 || (symbol >= 0x2000 && symbol <= 0x200A) ||
         symbol == 0x2028 || symbol == 0x2029 || symbol == 0x202F || symbol == 0x205F ||
         symbol == 0x2060 || symbol == 0x3000;
}

static void add_symbol(counts *total, uint32_t symbol) {
  bool space = is_space(symbol);
  total->words += !space && !total->in_word;
  total->in_word = !space;
}

/* A sequence may begin in one block and end in the next. */
static void add_byte(counts *total, unsigned char byte) {
  if (total->missing && (byte & 0xC0) == 0x80) {
    total->symbol = total->symbol << 6 | (byte & 0x3Fu);
    if (--total->missing == 0) add_symbol(total, total->symbol);
    return;
  }
  if (total->missing) add_symbol(total, NOT_A_SYMBOL);
  total->missing = byte < 0xC2 ? 0 : byte < 0xE0 ? 1 : byte < 0xF0 ? 2 : byte < 0xF5 ? 3 : 0;
  if (total->missing) {
    total->symbol = byte & (0x3Fu >> total->missing);
  } else {
    add_symbol(total, byte < 0x80 ? byte : NOT_A_SYMBOL);
  }
}

static void add_block(counts *total, const unsigned char *block, size_t length) {
  for (size_t i = 0; i < length; i++) {
    total->lines += block[i] == '\n';
    add_byte(total, block[i]);
  }
  total->bytes += length;
}

/* Returns 0 or an errno. */
static int scan(const char *path, counts *total) {
  FILE *file = fopen(path, "rb");
  if (!file) return errno;
  setvbuf(file, NULL, _IONBF, 0); /* we have our own buffer */
  size_t room = (size_t)FLAGS_scan_buffer;
  unsigned char *block = malloc(room);
  if (!block) {
    fclose(file);
    return ENOMEM;
  }
  int64_t limit = FLAGS_max_bytes;
  uint64_t left = limit > 0 ? (uint64_t)limit : UINT64_MAX;
  size_t length;
  while ((length = fread(block, 1, left < room ? (size_t)left : room, file)) > 0) {
    add_block(total, block, length);
    left -= length;
  }
  int error = ferror(file) ? errno : 0;
  if (total->missing) add_symbol(total, NOT_A_SYMBOL);
  free(block);
  fclose(file);
  return error;
}

static void append(char *result, size_t size, const char *name, uint64_t value) {
  size_t used = strlen(result);
  snprintf(result + used, size - used, "%s%s=%" PRIu64, used ? " " : "", name, value);
}

const char *plugin_name(void) { return "scan"; }

/* Writes a result such as "lines=3 words=12 bytes=80" to the `size` bytes at `result`. On
 * failure, writes the reason there and returns an errno. Any thread. */
int plugin_run(const char *path, char *result, size_t size) {
  counts total = {0};
  int error = scan(path, &total);
  if (error) {
    snprintf(result, size, "%s", strerror(error));
    return error;
  }
  result[0] = '\0';
  if (FLAGS_scan_lines) append(result, size, "lines", total.lines);
  if (FLAGS_scan_words) append(result, size, "words", total.words);
  if (FLAGS_scan_bytes) append(result, size, "bytes", total.bytes);
  return 0;
}
