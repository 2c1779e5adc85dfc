/* Which flags clients may change. */
#include <string.h>

#include "live.h"

/* Returns whether the pattern, with * and ?, matches the name, in which `-` and `_` are the same.
 */
static bool matches(const char *pattern, size_t length, const char *name) {
  const char *end = pattern + length, *star = NULL, *retry = NULL;
  while (*name) {
    char given = *name == '-' ? '_' : *name;
    if (pattern < end && *pattern == '*') {
      star = ++pattern;
      retry = name;
    } else if (pattern < end && (*pattern == '?' || (*pattern == '-' ? '_' : *pattern) == given)) {
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

bool pd__patterns_valid(const char *patterns) {
  static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.*?,";
  bool empty = !*patterns || *patterns == ',' || strstr(patterns, ",,") ||
               patterns[strlen(patterns) - 1] == ',';
  return !empty && strspn(patterns, allowed) == strlen(patterns);
}

const char *pd__settable_refusal(const pd_live *live, const pd_flag_info *info) {
  if (info->retired && *info->retired) return "is retired";
  if (info->read_only) return "is read-only";
  if (info->startup_only) return "needs a restart";
  if (info->frozen) return "is frozen";
  if (info->runtime || is_listed(live->settable, info->name)) return NULL;
  return "may not be changed from outside";
}

const char *pd__settable_refusal_of(const pd_live *live, const pd_flag *flag) {
  const pd_flag_def *def = pd__flag_def(flag);
  pd_flag_info info = {
      .name = pd__flag_name(flag), .retired = def->retired, .frozen = pd__flag_is_frozen(flag)};
  info.read_only = def->read_only;
  info.startup_only = def->startup_only;
  info.runtime = def->runtime;
  return pd__settable_refusal(live, &info);
}
