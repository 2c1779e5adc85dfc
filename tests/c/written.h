/* What a report has written, for the tests of reports. */
#ifndef WRITTEN_H
#define WRITTEN_H

#include "check.h"

static char written[1 << 20]; /* NUL-terminated */
static size_t length;

static void collect(const char *text, size_t size, void *context) {
  CHECK(context == written);
  CHECK(length + size < sizeof written);
  memcpy(written + length, text, size);
  length += size;
  written[length] = '\0';
}

#endif /* WRITTEN_H */
