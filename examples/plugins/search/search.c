/* search: the number of matching lines of a file, as grep -c counts them. */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <pd_flags.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef FLAGS_HEADER /* ../../yaml generates a header with the same flags */
#include FLAGS_HEADER
#else
PD_DEFINE_string(search_pattern, "TODO|FIXME",
                 "What to look for: a POSIX extended regular expression", .category = "search");
PD_DEFINE_bool(search_ignore_case, false, "Take upper and lower case as alike",
               .category = "search", .aliases = "search_icase");
PD_DEFINE_bool(search_fixed, false, "Take the pattern as plain text", .category = "search");
PD_DEFINE_uint64(search_max, 0, "Stop after so many matching lines; 0: at the end of the file",
                 .category = "search");

/* A flag of the host: the number of bytes to read of each file, 0 for all. */
PD_IMPORT_int64(max_bytes, 0);
#endif

/* Returns a regular expression that matches only `text`, or NULL if memory runs out. */
static char *quote(const char *text) {
  char *quoted = malloc(2 * strlen(text) + 1);
  if (!quoted) return NULL;
  char *out = quoted;
  for (; *text; text++) {
    if (strchr("\\^$.[|()*+?{", *text)) *out++ = '\\';
    *out++ = *text;
  }
  *out = '\0';
  return quoted;
}

/* Returns 0, or an errno with the reason in `result`. */
static int compile(regex_t *regex, char *result, size_t size) {
  const char *pattern = FLAGS_search_pattern;
  char *quoted = NULL;
  if (FLAGS_search_fixed) {
    pattern = quoted = quote(pattern);
    if (!quoted) {
      snprintf(result, size, "%s", strerror(ENOMEM));
      return ENOMEM;
    }
  }
  int icase = FLAGS_search_ignore_case ? REG_ICASE : 0;
  int status = regcomp(regex, pattern, REG_EXTENDED | REG_NOSUB | icase);
  free(quoted);
  if (status == 0) return 0;
  char reason[128];
  regerror(status, regex, reason, sizeof reason);
  snprintf(result, size, "search_pattern: %s", reason);
  return status == REG_ESPACE ? ENOMEM : EINVAL;
}

/* Returns 1 if `regex` matches the `length` bytes at `line`, 0 if it doesn't, and -1 if
 * memory runs out. The line has room for a NUL at its end. regexec stops at a NUL, so each
 * NUL within the line becomes the control character \1. */
static int matches(const regex_t *regex, char *line, size_t length) {
  if (length > 0 && line[length - 1] == '\n') length--;
  if (length > INT_MAX) return -1; /* more than a regoff_t can count */
  line[length] = '\0';
  for (char *nul = line; (nul = memchr(nul, '\0', length - (size_t)(nul - line))) != NULL;) {
    *nul = '\1';
  }
  int status = regexec(regex, line, 0, NULL, 0);
  return status == 0 ? 1 : status == REG_NOMATCH ? 0 : -1;
}

/* Returns 0 or an errno. */
static int search(const char *path, const regex_t *regex, uint64_t *count) {
  FILE *file = fopen(path, "rb");
  if (!file) return errno;
  uint64_t most = FLAGS_search_max ? FLAGS_search_max : UINT64_MAX;
  int64_t limit = FLAGS_max_bytes;
  uint64_t left = limit > 0 ? (uint64_t)limit : UINT64_MAX;
  char *line = NULL;
  size_t room = 0;
  int error = 0;
  while (!error && left > 0 && *count < most) {
    ssize_t length = getline(&line, &room, file);
    if (length < 0) {
      error = feof(file) ? 0 : errno;
      break;
    }
    size_t used = (uint64_t)length < left ? (size_t)length : (size_t)left;
    left -= used;
    int match = matches(regex, line, used);
    if (match < 0) error = ENOMEM;
    if (match > 0) ++*count;
  }
  free(line);
  fclose(file);
  return error;
}

const char *plugin_name(void) { return "search"; }

/* Writes a result such as "matches=3" to the `size` bytes at `result`. On failure, writes the
 * reason there and returns an errno. Any thread. */
int plugin_run(const char *path, char *result, size_t size) {
  regex_t regex;
  int error = compile(&regex, result, size);
  if (error) return error;
  uint64_t count = 0;
  error = search(path, &regex, &count);
  regfree(&regex);
  if (error) {
    snprintf(result, size, "%s", strerror(error));
  } else {
    snprintf(result, size, "matches=%" PRIu64, count);
  }
  return error;
}
