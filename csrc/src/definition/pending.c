#include "pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../platform/platform.h"
#include "../base/sized.h"
#include "../base/text.h"

static size_t waiting; /* values, for all names */

pd_status pd__pending_prepare(const char *name, size_t length, const char *text, const char *next,
                              const pd_origin *origin, pd__pending **out, pd_error *err) {
  char copy[PD_NAME_MAX + 2], quoted[PD__QUOTE_SIZE];
  if (!pd__name_valid(name, length)) {
    int most = (int)(length > PD_NAME_MAX ? PD_NAME_MAX + 1 : length);
    snprintf(copy, sizeof copy, "%.*s", most, name);
    return pd__fail(err, PD_ERR_NAME, "'%s' can't be the name of a flag", pd__quote(quoted, copy));
  }
  pd__pending *made = malloc(sizeof *made);
  if (!made) return pd__fail_memory(err);
  *made = (pd__pending){
      .node = pd__names_add(name, length),
      .name = pd__names_stored(name, length),
      .text = pd__intern(text),
      .next = pd__intern(next),
      .origin = {origin->source, origin->line, pd__intern(origin->place), origin->column}};
  if (!made->node || !pd__flag_make_extra(made->node) || !made->name || (text && !made->text) ||
      (next && !made->next) || (origin->place && !made->origin.place)) {
    free(made);
    return pd__fail_memory(err);
  }
  *out = made;
  return PD_OK;
}

/* A flag keeps so many values of a source; those before them needn't wait. */
void pd__pending_keep(pd__pending *pending) {
  static uint64_t last;
  pd__pending **end = &pd__flag_make_extra(pending->node)->pending, **oldest = NULL;
  size_t others = 0;
  for (; *end; end = &(*end)->following) {
    if ((*end)->origin.source != pending->origin.source) continue;
    if (others++ == 0) oldest = end;
  }
  pending->order = ++last;
  pending->following = NULL;
  *end = pending;
  waiting++;
  if (others <= PD_HISTORY_KEPT) return;
  pd__pending *dropped = *oldest;
  *oldest = dropped->following;
  waiting--;
  free(dropped);
}

void pd__pending_forget(pd_source source) {
  pd_flag *node;
  for (uint32_t i = 0; (node = pd__names_at(i)); i++) {
    if (!node->defined) pd__flag_drop_source(node, source);
    if (!node->has_extra) continue;
    for (pd__pending **at = &node->more.extra->pending; *at;) {
      pd__pending *each = *at;
      if (each->origin.source == source) {
        *at = each->following;
        waiting--;
        free(each);
      } else {
        at = &each->following;
      }
    }
  }
}

/* ---- Applying ---- */

/* Move what waits under a name to `list`, which is in the order of arrival. */
static void gather(const char *name, size_t length, bool negated, pd__pending **list) {
  pd_flag *node = pd__names_find(name, length);
  if (!node || !node->has_extra) return;
  for (pd__pending **at = &node->more.extra->pending; *at;) {
    pd__pending *taken = *at;
    if (negated && taken->text) {
      at = &taken->following;
      continue;
    }
    *at = taken->following;
    waiting--;
    taken->negated = negated;
    pd__pending **place = list;
    while (*place && (*place)->order < taken->order) place = &(*place)->following;
    taken->following = *place;
    *place = taken;
  }
}

static void gather_all(const char *name, size_t length, bool is_bool, pd__pending **list) {
  char negated[PD_NAME_MAX + 8];
  gather(name, length, false, list);
  for (int i = 0; !PD__LACKS_ARGV && is_bool && i < 2; i++) {
    int whole = snprintf(negated, sizeof negated, "no%s%.*s", i ? "_" : "", (int)length, name);
    gather(negated, (size_t)whole, true, list);
  }
}

static void gather_each(const char *names, bool is_bool, pd__pending **list) {
  for (const char *cursor = pd__list_begin(names); cursor;) {
    const char *name = cursor;
    gather_all(name, pd__list_next(&cursor), is_bool, list);
  }
}

static void fail_missing(const pd_flag *flag, const pd__pending *given, pd__report *report) {
  char expected[256], quoted[PD__QUOTE_SIZE];
  pd_error err;
  pd__value_expected(pd__flag_def(flag), expected, sizeof expected);
  pd__fail(
      &err, PD_ERR_ARGV,
      "--%s: the value is missing, expected %s; before the flag is defined, only "
      "--%s=%s is understood",
      pd__flag_def(flag)->name, expected, pd__flag_def(flag)->name,
      given->next && !pd__flag_def(flag)->sensitive ? pd__quote(quoted, given->next) : "VALUE");
  pd__report_add(report, &err);
}

static void apply(pd_flag *flag, const pd__pending *given, pd__report *report) {
  bool is_bool = pd__flag_def(flag)->type == PD_TYPE_bool;
  const char *text = given->text;
  if (!text && is_bool) text = given->negated ? "false" : "true";
  if (!PD__LACKS_ARGV && !text) {
    fail_missing(flag, given, report);
    return;
  }
  pd_error err;
  pd_flag *node = given->negated ? flag : given->node;
  if (PD__LACKS_ARGV ||
      pd__literal_check(node, text, given->literal, &given->origin, &err) == PD_OK) {
    pd__settle(node, text, &given->origin, report);
  } else {
    pd__report_add(report, &err);
  }
}

bool pd__pending_any(void) { return waiting > 0; }

void pd__pending_apply(pd_flag *flag, pd__report *report) {
  bool is_bool = pd__flag_def(flag)->type == PD_TYPE_bool;
  pd__pending *list = NULL;
  const char *name = flag->name;
  gather_all(name, strlen(name), is_bool, &list);
  gather_each(pd__flag_def(flag)->aliases, is_bool, &list);
  gather_each(pd__flag_def(flag)->old_names, is_bool, &list);
  while (list) {
    pd__pending *given = list;
    list = given->following;
    if (flag->defined) {
      apply(flag, given, report);
      free(given);
    } else { /* it left while a validator ran */
      pd__pending_keep(given);
    }
  }
}

/* ---- For hosts ---- */

pd_status pd__do_pending_set(const char *name, const char *text, const pd_origin *origin,
                             pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  if (!origin) origin = &pd__at_run_time;
  pd_status status = pd__origin_check(origin, err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  pd_flag *node = pd__names_resolve(name, strlen(name));
  if (node) {
    status = pd__give(pd__flag_meant(node), text, (pd_value){0}, origin, err);
  } else {
    pd__pending *made = NULL;
    status = pd__pending_prepare(name, strlen(name), text, NULL, origin, &made, err);
    if (made) pd__pending_keep(made);
  }
  pd__platform_unlock();
  pd__tell();
  return status;
}

/* Step through all that waits: NULL gives the first. */
static const pd__pending *next(const pd__pending *previous) {
  if (previous && previous->following) return previous->following;
  pd_flag *node;
  for (uint32_t i = previous ? previous->node->index + 1 : 0; (node = pd__names_at(i)); i++) {
    if (pd__flag_extra(node)->pending) return node->more.extra->pending;
  }
  return NULL;
}

pd_status pd__do_pending_get(size_t index, pd_pending_info *info, pd_error *err) {
  pd_pending_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_pending_info, origin), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  size_t left = index;
  const pd__pending *at = next(NULL);
  for (; at && left > 0; left--) at = next(at);
  if (at) {
    found.name = at->name;
    found.text = at->text;
    found.origin = at->origin;
    pd__sized_give(info, &found, sizeof found);
  } else {
    status = pd__fail(err, PD_ERR_ARGUMENT, "there are not more than %zu pending values", index);
  }
  pd__platform_unlock();
  return status;
}

/* The value may be a secret: only its flag would tell. */
static void report_unclaimed(const pd__pending *at, pd__report *report) {
  char source[PD__SOURCE_SIZE], hint[PD__HINT_SIZE];
  pd__names_hint(at->name, strlen(at->name), "", hint);
  pd__report_fail(report, PD_ERR_UNDEFINED, "%s: nobody has defined this flag%s",
                  pd__source_of(at->name, &at->origin, source), hint);
}

/* Each costs a search among all names. */
#define UNCLAIMED_SHOWN 100

pd_status pd__do_pending_check(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  size_t count = 0;
  pd__platform_lock();
  for (const pd__pending *at = next(NULL); at; at = next(at)) {
    if (!at->excused && count++ < UNCLAIMED_SHOWN) report_unclaimed(at, &report);
  }
  if (count > UNCLAIMED_SHOWN) {
    pd__report_fail(&report, PD_ERR_UNDEFINED,
                    "%zu more values wait for flags that nobody has defined",
                    count - UNCLAIMED_SHOWN);
  }
  pd__platform_unlock();
  return report.status;
}
