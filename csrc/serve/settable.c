/* Which flags clients may change. */
#include <string.h>

#include "live.h"

/* Returns whether the pattern, with * and ?, matches the name, in which `-` and `_` are the same.
 */
static bool matches(const char *pattern, size_t length, const char *name) {
  const char *end = pattern + length, *star = NULL, *retry = NULL;
  while (*name) {
    char sign = *name == '-' ? '_' : *name;
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      retry = name;
    } else if (pattern < end && (*pattern == '?' || (*pattern == '-' ? '_' : *pattern) == sign)) {
      pattern++;
      name++;
    } else if (star) {
      pattern = star;
      name = ++retry;
    } else {
      return false;
    }
  }
  while (pattern < end && *pattern == '*') pattern++;
  return pattern == end;
}

static bool is_listed(const char *patterns, const char *name) {
  while (patterns && *patterns) {
    size_t length = strcspn(patterns, ",");
    if (matches(patterns, length, name)) return true;
    patterns += length + (patterns[length] == ',');
  }
  return false;
}

pd_status pd__check_patterns(const char *patterns, pd_error *err) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.*?,";
  bool empty = !*patterns || *patterns == ',' || strstr(patterns, ",,") ||
               patterns[strlen(patterns) - 1] == ',';
  if (!empty && strspn(patterns, allowed) == strlen(patterns)) return PD_OK;
  return pd__fail(
      err, PD_ERR_ARGUMENT,
      "settable: '%.200s': expected names or patterns with * and ?, with commas between", patterns);
}

const char *pd__find_refusal(const pd_live_server *server, const pd_flag_info *info) {
  if (info->retired && *info->retired) return "is retired";
  if (info->read_only) return "is read-only";
  if (info->startup_only) return "needs a restart";
  if (info->frozen) return "is frozen";
  if (info->runtime || is_listed(server->settable, info->name)) return NULL;
  return "may not be changed from outside: the program neither defines it with runtime=True nor "
         "serves it as settable";
}
