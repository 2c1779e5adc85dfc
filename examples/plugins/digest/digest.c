/* digest: the CRC-32 of a file, as cksum or zlib compute it. */
#include <errno.h>
#include <inttypes.h>
#include <pd_flags.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FLAGS_HEADER /* ../../yaml generates a header with the same flags */
#include FLAGS_HEADER
#else
PD_DEFINE_string(digest_kind, "posix",
                 "Which CRC: posix as in cksum, ieee as in zlib, or castagnoli",
                 .choices = "posix|ieee|castagnoli", .category = "digest");
PD_DEFINE_bool(digest_hex, false, "Write it as eight hexadecimal digits", .category = "digest");
PD_DEFINE_int32(digest_buffer, 65536, "Bytes to read at a time", .min = 1, .max = 1 << 26,
                .category = "tuning");

/* A flag of the host: the number of bytes to read of each file, 0 for all. */
PD_IMPORT_int64(max_bytes, 0);
#endif

typedef struct digest {
  bool posix; /* highest bit first, with the length at the end, unlike the others */
  uint32_t crc;
  uint64_t length;
  uint32_t table[256]; /* the change of the CRC by each byte */
} digest;

static void start(digest *d, const char *kind) {
  d->posix = strcmp(kind, "posix") == 0;
  d->crc = d->posix ? 0 : UINT32_MAX;
  d->length = 0;
  uint32_t reflected = strcmp(kind, "ieee") == 0 ? 0xEDB88320 : 0x82F63B78;
  for (uint32_t byte = 0; byte < 256; byte++) {
    uint32_t crc = d->posix ? byte << 24 : byte;
    for (int bit = 0; bit < 8; bit++) {
      if (d->posix) {
        crc = crc << 1 ^ (crc >> 31 ? 0x04C11DB7 : 0);
      } else {
        crc = crc >> 1 ^ (crc & 1 ? reflected : 0);
      }
    }
    d->table[byte] = crc;
  }
}

static void add_block(digest *d, const unsigned char *block, size_t length) {
  uint32_t crc = d->crc;
  if (d->posix) {
    for (size_t i = 0; i < length; i++) crc = crc << 8 ^ d->table[crc >> 24 ^ block[i]];
  } else {
    for (size_t i = 0; i < length; i++) crc = crc >> 8 ^ d->table[(crc ^ block[i]) & 0xFF];
  }
  d->crc = crc;
  d->length += length;
}

static uint32_t finish(digest *d) {
  if (d->posix) {
    for (uint64_t length = d->length; length > 0; length >>= 8) {
      unsigned char byte = length & 0xFF;
      add_block(d, &byte, 1);
    }
  }
  return ~d->crc;
}

/* Returns 0 or an errno. */
static int read_file(const char *path, digest *d) {
  FILE *file = fopen(path, "rb");
  if (!file) return errno;
  setvbuf(file, NULL, _IONBF, 0); /* we have our own buffer */
  size_t room = (size_t)FLAGS_digest_buffer;
  unsigned char *block = malloc(room);
  if (!block) {
    fclose(file);
    return ENOMEM;
  }
  int64_t limit = FLAGS_max_bytes;
  uint64_t left = limit > 0 ? (uint64_t)limit : UINT64_MAX;
  size_t length;
  while ((length = fread(block, 1, left < room ? (size_t)left : room, file)) > 0) {
    add_block(d, block, length);
    left -= length;
  }
  int error = ferror(file) ? errno : 0;
  free(block);
  fclose(file);
  return error;
}

const char *plugin_name(void) { return "digest"; }

/* Writes a result such as "posix=4294967295" to the `size` bytes at `result`. On
 * failure, writes the reason there and returns an errno. Any thread. */
int plugin_run(const char *path, char *result, size_t size) {
  const char *kind = FLAGS_digest_kind; /* read once: another thread may set it */
  digest d;
  start(&d, kind);
  int error = read_file(path, &d);
  if (error) {
    snprintf(result, size, "%s", strerror(error));
    return error;
  }
  uint32_t crc = finish(&d);
  if (FLAGS_digest_hex) {
    snprintf(result, size, "%s=%08" PRIx32, kind, crc);
  } else {
    snprintf(result, size, "%s=%" PRIu32, kind, crc);
  }
  return 0;
}
