#include "pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "../registry/deferred.h"
#include "definition.h"

static size_t waiting; /* values, for all names */

/* ---- Making and forgetting ---- */

static size_t room_of(const char *text) { return text ? strlen(text) + 1 : 0; }

static const char *put(char **at, const char *text, size_t length) {
  if (!text) return NULL;
  char *copy = *at;
  memcpy(copy, text, length);
  copy[length] = '\0';
  *at += length + 1;
  return copy;
}

static pd__pending *copy(const pd__awaiting *given) {
  size_t size = sizeof(pd__pending) + given->length + 1 + room_of(given->text) +
                room_of(given->next) + room_of(given->origin.place);
  pd__pending *made = malloc(size);
  if (!made) return NULL;
  char *at = (char *)(made + 1);
  *made = (pd__pending){
      .origin = given->origin, .literal = given->literal, .excused = given->excused, .size = size};
  made->name = put(&at, given->name, given->length);
  made->text = put(&at, given->text, given->text ? strlen(given->text) : 0);
  made->next = put(&at, given->next, given->next ? strlen(given->next) : 0);
  const char *place = given->origin.place;
  made->origin.place = put(&at, place, place ? strlen(place) : 0);
  return made;
}

pd_status pd__pending_prepare(const pd__awaiting *given, pd__pending **out, pd_error *err) {
  char shown[PD_NAME_MAX + 2], quoted[PD__QUOTE_SIZE];
  if (!pd__name_valid(given->name, given->length)) {
    int most = (int)(given->length > PD_NAME_MAX ? PD_NAME_MAX + 1 : given->length);
    snprintf(shown, sizeof shown, "%.*s", most, given->name);
    return pd__fail(err, PD_ERR_NAME, "'%s' can't be the name of a flag", pd__quote(quoted, shown));
  }
  pd__pending *made = copy(given);
  if (!made) return pd__fail_memory(err);
  made->node = pd__names_add(made->name, given->length);
  if (!made->node || !pd__flag_extra(made->node)) {
    if (made->node) pd__names_release(made->node);
    free(made);
    return pd__fail_memory(err);
  }
  made->node->extra->prepared++;
  *out = made;
  return PD_OK;
}

/* It may hold a secret, and the text of its node's name. */
static void release(pd__pending *pending) {
  pd_flag *node = pending->node;
  if (!pd__names_release(node) && node->name == pending->name) {
    if (!pd__names_keep(node, pending->name, strlen(pending->name))) pd__names_lose(node);
  }
  pd__wipe(pending, pending->size);
  free(pending);
}

void pd__pending_drop(pd__pending *pending) {
  pending->node->extra->prepared--;
  release(pending);
}

/* A flag keeps so many values of a source; those before them needn't wait. */
void pd__pending_keep(pd__pending *pending) {
  static uint64_t last;
  pd__extra *extra = pending->node->extra;
  pd__pending **end = &extra->pending, **oldest = NULL;
  size_t others = 0;
  for (; *end; end = &(*end)->following) {
    if ((*end)->origin.source != pending->origin.source) continue;
    if (others++ == 0) oldest = end;
  }
  extra->prepared--;
  pending->order = ++last;
  pending->following = NULL;
  *end = pending;
  waiting++;
  if (others <= PD_HISTORY_KEPT) return;
  pd__pending *dropped = *oldest;
  *oldest = dropped->following;
  waiting--;
  release(dropped);
}

void pd__pending_forget(pd_source source) {
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    if (!node->defined) pd__history_drop(node, source);
    for (pd__pending **at = node->extra ? &node->extra->pending : NULL; at && *at;) {
      pd__pending *each = *at;
      if (each->origin.source != source) {
        at = &each->following;
        continue;
      }
      *at = each->following;
      waiting--;
      bool last = !*at && at == &node->extra->pending;
      release(each);
      if (last) break; /* the node may be gone */
    }
  }
}

/* ---- Applying ---- */

/* Move what waits under a name to `list`, which is in the order of arrival. */
static void gather(const char *name, size_t length, bool negated, pd__pending **list) {
  pd_flag *node = pd__names_find(name, length);
  if (!node || !node->extra) return;
  for (pd__pending **at = &node->extra->pending; *at;) {
    pd__pending *taken = *at;
    if (negated && taken->text) {
      at = &taken->following;
      continue;
    }
    *at = taken->following;
    waiting--;
    node->extra->prepared++;
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
  for (int i = 0; is_bool && i < 2; i++) {
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
  const pd_flag_def *def = pd__flag_def(flag);
  pd__value_expected(def, expected, sizeof expected);
  pd__fail(&err, PD_ERR_ARGV,
           "--%s: the value is missing, expected %s; before the flag is defined, only "
           "--%s=%s is understood",
           def->name, expected, def->name,
           given->next && !def->sensitive ? pd__quote(quoted, given->next) : "VALUE");
  pd__report_add(report, &err);
}

static void apply(pd__operation *operation, pd_flag *flag, const pd__pending *given,
                  pd__report *report) {
  bool is_bool = pd__flag_def(flag)->type == PD_TYPE_bool;
  const char *text = given->text;
  if (!text && is_bool) text = given->negated ? "false" : "true";
  if (!text) {
    fail_missing(flag, given, report);
    return;
  }
  pd_flag *node = given->negated ? flag : given->node;
  pd__settle(operation, node, text, &given->origin, given->literal, report);
}

bool pd__pending_any(void) { return waiting > 0; }

static void put_off(pd__operation *operation, pd_flag *flag, pd__report *report) {
  pd__deferred item = {.flag = flag};
  if (!pd__deferred_add(operation, item)) pd__report_memory(report);
}

void pd__pending_settle(pd__operation *operation, pd_flag *node, const char *text,
                        const pd_origin *origin, pd__report *report) {
  pd_flag *flag = pd__flag_meant(node);
  if (!pd__deferred_validator(flag)) {
    pd__settle(operation, node, text, origin, 0, report);
    return;
  }
  pd__awaiting given = {
      .name = node->name, .length = strlen(node->name), .text = text, .origin = *origin};
  pd__pending *made = NULL;
  pd_error err;
  if (pd__pending_prepare(&given, &made, &err) == PD_OK) {
    pd__pending_keep(made);
    put_off(operation, flag, report);
  } else {
    pd__report_add(report, &err);
  }
}

void pd__pending_apply(pd__operation *operation, pd_flag *flag, pd__report *report) {
  const pd_flag_def *def = pd__flag_def(flag);
  bool is_bool = def->type == PD_TYPE_bool;
  pd__pending *list = NULL;
  bool kept = false;
  gather_all(def->name, strlen(def->name), is_bool, &list);
  gather_each(def->aliases, is_bool, &list);
  gather_each(def->old_names, is_bool, &list);
  while (list) {
    pd__pending *given = list;
    list = given->following;
    if (flag->defined && !pd__deferred_validator(flag)) {
      apply(operation, flag, given, report);
      pd__pending_drop(given);
    } else { /* it left while a validator ran, or its validator can't be asked here */
      pd__pending_keep(given);
      kept = true;
    }
  }
  if (kept && flag->defined) put_off(operation, flag, report);
}

/* ---- For hosts ---- */

pd_status pd__do_pending_set(const char *name, const char *text, const pd_origin *origin,
                             pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  if (!origin) origin = &pd__at_run_time;
  pd_status status = pd__origin_check(origin, err);
  if (status != PD_OK) return status;
  PD__OPERATION(operation);
  pd__operation_begin(&operation);
  pd_flag *node = pd__resolve(name, strlen(name));
  if (node) {
    status = pd__assign(&operation, pd__flag_meant(node), text, (pd_value){0}, origin, err);
  } else {
    pd__awaiting given = {.name = name, .length = strlen(name), .text = text, .origin = *origin};
    pd__pending *made = NULL;
    status = pd__pending_prepare(&given, &made, err);
    if (made) pd__pending_keep(made);
  }
  pd__operation_end(&operation);
  return status;
}

/* Step through all that waits: NULL gives the first. */
static const pd__pending *next(const pd__pending *previous) {
  if (previous && previous->following) return previous->following;
  pd_flag *node = previous ? previous->node : NULL;
  while ((node = pd__names_next(node))) {
    if (node->extra && node->extra->pending) return node->extra->pending;
  }
  return NULL;
}

/* Whoever asks may keep the text: it is stored for good then. */
static bool show(const pd__pending *at, pd_pending_info *info) {
  info->name = pd__intern(at->name);
  info->text = pd__intern(at->text);
  info->origin = at->origin;
  info->origin.place = pd__intern(at->origin.place);
  return info->name && (info->text || !at->text) && (info->origin.place || !at->origin.place);
}

pd_status pd__do_pending_get(size_t index, pd_pending_info *info, pd_error *err) {
  pd_pending_info found = {.size = sizeof found};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_pending_info, origin), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  size_t left = index;
  const pd__pending *at = next(NULL);
  for (; at && left > 0; left--) at = next(at);
  if (!at) {
    status = pd__fail(err, PD_ERR_ARGUMENT, "there are not more than %zu pending values", index);
  } else if (show(at, &found)) {
    pd__sized_give(info, &found, sizeof found);
  } else {
    status = pd__fail_memory(err);
  }
  pd__platform_unlock();
  return status;
}

/* The value may be a secret: only its flag would tell. */
static void report_unclaimed(const pd__pending *at, pd__report *report) {
  char source[PD__SOURCE_SIZE], suggestion[PD__SUGGESTION_SIZE];
  pd__suggest(at->name, strlen(at->name), "", suggestion);
  pd__report_fail(report, PD_ERR_UNDEFINED, "%s: nobody has defined this flag%s",
                  pd__source_of(at->name, &at->origin, source), suggestion);
}

/* The flag is there, and the value waits for a validator of it. */
static bool is_claimed(const pd__pending *at) {
  return at->negated || pd__flag_meant(at->node)->defined;
}

/* Each costs a search among all names. */
#define UNCLAIMED_SHOWN 100

pd_status pd__do_pending_check(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  size_t count = 0;
  pd__platform_lock();
  for (const pd__pending *at = next(NULL); at; at = next(at)) {
    if (!at->excused && !is_claimed(at) && count++ < UNCLAIMED_SHOWN) report_unclaimed(at, &report);
  }
  if (count > UNCLAIMED_SHOWN) {
    pd__report_fail(&report, PD_ERR_UNDEFINED,
                    "%zu more values wait for flags that nobody has defined",
                    count - UNCLAIMED_SHOWN);
  }
  pd__platform_unlock();
  return report.status;
}
