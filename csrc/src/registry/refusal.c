/* Refused values of the fleet. */
#include "refusal.h"

#include <string.h>

#include "../base/text.h"
#include "change.h"
#include "flag.h"

/* So many revisions can be refused one by one, so that looking one up takes a bounded number of
 * steps. If there are more, all values of the fleet are refused. */
#define REVISIONS_MOST 100

typedef struct pd__refusal {
  pd_origin origin;
  pd_error why;
  struct pd__refusal *next;
} pd__refusal;

/* What was dropped. Places are interned. */
static pd_origin dropped[REVISIONS_MOST];
static size_t dropped_count; /* above REVISIONS_MOST: all */
static uint64_t values_dropped;

static bool is_same_revision(const pd_origin *a, const pd_origin *b) {
  const char *here = a->place ? a->place : "", *there = b->place ? b->place : "";
  return a->line == b->line && (here == there || !strcmp(here, there));
}

/* ---- What an operation refuses ---- */

bool pd__refusals_has_origin(const pd__refusals *list, const pd_origin *origin) {
  const pd__refusal *each = list->first;
  if (origin->source != PD_SOURCE_FLEET || list->count == 0) return false;
  while (each && !is_same_revision(&each->origin, origin)) each = each->next;
  return each || list->count > REVISIONS_MOST;
}

void pd__refusals_add(pd__refusals *list, pd__arena *arena, const pd_origin *origin,
                      const pd_error *why) {
  if (pd__refusals_has_origin(list, origin)) return;
  pd__refusal *made = pd__arena_alloc(arena, sizeof *made);
  if (!made) return;
  *made = (pd__refusal){*origin, *why, list->first};
  if (origin->place) {
    made->origin.place = pd__arena_copy_text(arena, origin->place, strlen(origin->place));
    if (!made->origin.place) return;
  }
  list->first = made;
  list->count++;
}

bool pd__refusals_is_flag_exempt(const pd_flag *flag) {
  bool draft = pd__names_get_node(flag->index) != flag;
  bool closed = pd__startup_over && flag->defined && !draft && pd__flag_def(flag)->startup_only;
  return flag->frozen || closed;
}

/* ---- Dropping ---- */

static void warn_of_refusal(const pd__refusal *one) {
  pd_error why = one->why;
  pd__shorten_text(why.message, sizeof why.message - 80);
  if (one->origin.line) {
    pd__append_format(why.message, sizeof why.message,
                      "; the fleet's values of revision %u are dropped", one->origin.line);
  } else {
    pd__append_format(why.message, sizeof why.message, "; the fleet's value is dropped");
  }
  pd__fail(pd__warning_add(PD_WARNING_DROPPED), PD_OK, "%s", why.message);
}

/* If memory is out for the place, all is dropped. */
static void ban_revision(const pd_origin *origin) {
  const char *place = pd__intern_text(origin->place);
  if (pd__refusals_is_revision_dropped(origin)) return;
  if (dropped_count < REVISIONS_MOST && (place || !origin->place)) {
    dropped[dropped_count] = *origin;
    dropped[dropped_count++].place = place;
  } else if (dropped_count <= REVISIONS_MOST) {
    dropped_count = REVISIONS_MOST + 1;
    pd__fail(pd__warning_add(PD_WARNING_DROPPED), PD_OK,
             "more than %d revisions of the fleet were refused: all of its values are dropped",
             REVISIONS_MOST);
  }
}

/* An undefined flag may have kept a value for its next definition. */
static void drop_value_if_refused(pd__operation *operation, pd_flag *flag) {
  pd__entry given;
  if (!pd__history_find_source_entry(flag, PD_SOURCE_FLEET, &given)) return;
  if (!pd__refusals_is_revision_dropped(&given.origin) || pd__refusals_is_flag_exempt(flag)) return;
  values_dropped++;
  if (!flag->defined) {
    pd__history_drop_sources(flag, PD__SOURCE_BIT(PD_SOURCE_FLEET));
    return;
  }
  pd__changes one = {.operation = operation, .hooked = pd__flag_has_hooks(flag), .count = 1};
  one.single = (pd__change){.flag = flag, .node = flag, .action = PD__DROP, .origin = given.origin};
  one.items = &one.single;
  pd__commit_changes(&one, NULL);
}

void pd__refusals_commit(const pd__refusals *list, pd__operation *operation) {
  if (list->count == 0) return;
  for (const pd__refusal *each = list->first; each; each = each->next) {
    warn_of_refusal(each);
    ban_revision(&each->origin);
  }
  for (pd_flag *flag = NULL; (flag = pd__names_next(flag));) drop_value_if_refused(operation, flag);
}

/* ---- Pending values ---- */

bool pd__refusals_is_revision_dropped(const pd_origin *origin) {
  size_t i = 0;
  if (origin->source != PD_SOURCE_FLEET || dropped_count == 0) return false;
  if (dropped_count > REVISIONS_MOST) return true;
  while (i < dropped_count && !is_same_revision(&dropped[i], origin)) i++;
  return i < dropped_count;
}

bool pd__refusals_count_if_dropped(const pd_origin *origin) {
  bool drops = pd__refusals_is_revision_dropped(origin);
  values_dropped += drops;
  return drops;
}

void pd__refusals_forget_dropped(void) { dropped_count = 0; }

/* ---- Public functions ---- */

uint64_t pd_config_count_dropped(pd_source source) {
  pd__platform_lock();
  uint64_t count = source == PD_SOURCE_FLEET ? values_dropped : 0;
  pd__platform_unlock();
  return count;
}
