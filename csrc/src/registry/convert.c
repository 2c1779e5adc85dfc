/* Calls the converters of definitions, which bring texts to their canonical form. */
#include <string.h>

#include "change.h"
#include "hook.h"
#include "loader.h"

/* Give up if other threads have defined the flags anew in this many rounds. */
#define ROUNDS 100

/* A call of a converter with its answer. */
typedef struct conversion {
  pd__change *change;
  uint32_t generation;
  pd__arena *arena;
  pd_converter call;
  void *context;
  const char *text;
  char *result; /* NULL: the text stays as it is */
  size_t length, room;
  bool accepted;
  char why[PD__WHY_SIZE];
  struct conversion *next;
} conversion;

/* ---- Collecting ---- */

static pd_converter converter_of(const pd__change *change) {
  const pd_flag_def *def = pd__flag_def(change->flag);
  bool assigns = change->action == PD__ASSIGN && !change->resets;
  return def && assigns ? def->convert : NULL;
}

/* Returns the conversions that are left to do; NULL also if memory is out, which the arena knows.
 */
static conversion *collect(pd__changes *changes) {
  pd__arena *arena = &changes->operation->arena;
  conversion *first = NULL, **end = &first;
  for (size_t i = 0; i < changes->count; i++) {
    pd__change *change = &changes->items[i];
    pd_converter call = converter_of(change);
    if (!call || change->converted == change->generation) continue;
    conversion *made = pd__arena_take(arena, sizeof *made);
    if (!made) return NULL;
    made->change = change;
    made->generation = change->generation;
    made->arena = arena;
    made->call = call;
    made->context = pd__flag_def(change->flag)->context;
    made->text = change->value.str;
    *end = made;
    end = &made->next;
  }
  return first;
}

/* Pins the modules of the converters. Returns false if the lock had to be released for that. */
static bool pin(pd__operation *operation, conversion *all) {
  bool pinned = true;
  for (conversion *each = all; each; each = each->next) {
    pd__pinning how = pd__pin_module(operation, pd__cell_module(each->change->flag->cells));
    if (how == PD__LEAVING) each->call = NULL; /* not called: counts as a rejection */
    pinned &= how != PD__UNPINNED;
  }
  if (!pinned) pd__pins_take(operation);
  return pinned;
}

/* ---- Calling ---- */

static void append(const char *text, size_t length, void *context) {
  conversion *one = context;
  if (one->length + length >= one->room) {
    size_t room = 2 * (one->length + length) + 16;
    char *grown = pd__arena_grow(one->arena, one->result, one->length, room);
    if (!grown) return; /* the arena knows */
    one->result = grown;
    one->room = room;
  }
  if (length > 0) memcpy(one->result + one->length, text, length);
  one->length += length;
  one->result[one->length] = '\0';
}

/* The caller holds the lock, which is released meanwhile. */
static void run(pd__operation *operation, conversion *all) {
  pd__hooks_prepare(operation);
  pd__operation_unlock(operation);
  for (conversion *each = all; each; each = each->next) {
    PD__IN_HOOK(operation);
    each->accepted = each->call && each->call(each->text, each->context, append, each, each->why,
                                              sizeof each->why);
  }
  pd__operation_lock(operation);
}

/* ---- Answers ---- */

static void refuse(const conversion *one, pd__report *report) {
  char source[PD__SOURCE_SIZE], quoted[PD__QUOTE_SIZE];
  const pd__change *change = one->change;
  bool sensitive = change->flag->sensitive;
  bool silent = !*one->why || (sensitive && *one->text && strstr(one->why, one->text));
  pd__report_fail(report, PD_ERR_VALUE, "%s=%s: %s",
                  pd__source_of(change->node->name, &change->origin, source),
                  sensitive ? PD__REDACTED : pd__quote(quoted, one->text),
                  silent ? "is not a value of the flag" : one->why);
}

/* A change that was prepared for another definition meanwhile is left to the next round. */
static void take_answers(pd__changes *changes, conversion *all) {
  for (conversion *each = all; each; each = each->next) {
    pd__change *change = each->change;
    pd_error err;
    if (change->generation != each->generation || !converter_of(change)) continue;
    each->why[sizeof each->why - 1] = '\0';
    change->converted = change->generation;
    if (!each->accepted) {
      refuse(each, changes->report);
      continue;
    }
    if (each->result) change->value.str = each->result;
    if (pd__prepare_converted(change, changes, each->text, &err) != PD_OK) {
      pd__report_add(changes->report, &err);
    }
  }
}

/* A converter may wait for a thread that waits for the loader. */
static void refuse_within(const pd__changes *changes, const conversion *one) {
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "--%s: its values can't be converted in constructors and destructors, while a "
                  "module is loaded or unloaded",
                  one->change->flag->name);
}

void pd__convert(pd__changes *changes) {
  pd__operation *operation = changes->operation;
  for (int round = 0; round < ROUNDS; round++) {
    conversion *all = collect(changes);
    if (operation->arena.failed) pd__report_memory(changes->report);
    if (all && pd__loader_now.within) refuse_within(changes, all);
    if (!all || operation->arena.failed || pd__loader_now.within) return;
    bool pinned = pin(operation, all);
    if (pinned) run(operation, all);
    pd__prepare_again(changes);
    if (pinned) take_answers(changes, all);
  }
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "flags kept being defined while their values were converted");
}
