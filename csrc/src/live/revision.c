/* Revisions: looking for changes, and "EPOCH-REVISION" as text. */
#include <string.h>

#include "../registry/journal.h"
#include "live.h"

uint64_t pd__revision_now(void) {
  if (!__atomic_load_n(&pd__journal_on, __ATOMIC_ACQUIRE)) return 0;
  if (pd__platform_is_thread_deferred()) {
    pd__platform_lock();
    pd__platform_resume_thread();
    pd__platform_unlock();
  }
  bool assignable = __atomic_load_n(&pd__assignables, __ATOMIC_RELAXED) > 0;
  if (assignable || pd__journal_is_stale()) {
    PD__LOCKED_OPERATION(operation);
    pd__adopt_all(&operation);
    pd__journal_refresh();
    pd__operation_end(&operation);
  }
  return pd__journal_revision();
}

static bool parse_number(const char *text, uint64_t *out) {
  *out = 0;
  for (const char *at = text; *at; at++) {
    if (*at < '0' || *at > '9' || at - text >= 19) return false;
    *out = *out * 10 + (uint64_t)(*at - '0');
  }
  return *text != '\0';
}

pd__since pd__since_parse(const char *text, uint64_t *revision) {
  const char *sign = strchr(text, '-');
  size_t length = sign ? (size_t)(sign - text) : 0;
  const char *epoch = pd__journal_epoch();
  if (length != 16 || !parse_number(sign + 1, revision)) return PD__SINCE_WRONG;
  if (strncmp(text, epoch, length) != 0 || *revision > pd__journal_revision())
    return PD__SINCE_LOST;
  return *revision < pd__journal_oldest() ? PD__SINCE_LOST : PD__SINCE_KNOWN;
}

void pd__id_write(pd__out *out, uint64_t revision) {
  pd__out_add_format(out, "%s-%llu", pd__journal_epoch(), (unsigned long long)revision);
}

void pd__head_write(pd__json *to, uint64_t revision) {
  pd__json_add_text(to, "epoch", pd__journal_epoch());
  pd__json_add_number(to, "revision", (int64_t)revision);
}

uint64_t pd_live_revision(void) { return pd__revision_now(); }
