/* Calls the converters of definitions, which bring texts to their canonical form. */
#include <string.h>

#include "flag.h"
#include "loader.h"
#include "question.h"

/* Give up if other threads have defined the flags anew in this many rounds. */
#define ROUNDS 100

/* ---- One conversion ---- */

pd__conversion *pd__conversion_new(pd__operation *operation, const pd_flag *flag,
                                   const char *text) {
  pd__conversion *made = pd__arena_alloc(&operation->arena, sizeof *made);
  if (!made) return NULL;
  made->arena = &operation->arena;
  made->call = pd__flag_def(flag)->convert;
  made->context = pd__flag_def(flag)->context;
  made->module = pd__cell_module(flag->cells);
  made->text = text;
  return made;
}

bool pd__conversions_pin(pd__operation *operation, pd__conversion *list) {
  bool pinned = true;
  for (; list; list = list->next) {
    pd__pinning how = pd__pin_module(operation, list->module);
    if (how == PD__LEAVING) list->call = NULL; /* not called: counts as a rejection */
    pinned &= how != PD__UNPINNED;
  }
  if (!pinned) pd__pins_acquire(operation);
  return pinned;
}

static void append_converted_text(const char *text, size_t length, void *context) {
  pd__conversion *one = context;
  if (one->length + length >= one->room) {
    size_t room = 2 * (one->length + length) + 16;
    char *grown = pd__arena_realloc(one->arena, one->result, one->length, room);
    if (!grown) return; /* the arena knows */
    one->result = grown;
    one->room = room;
  }
  if (length > 0) memcpy(one->result + one->length, text, length);
  one->length += length;
  one->result[one->length] = '\0';
}

void pd__conversions_run(pd__operation *operation, pd__conversion *list) {
  pd__hooks_prepare_call(operation);
  pd__operation_unlock(operation);
  for (; list; list = list->next) {
    if (list->answered) continue;
    PD__IN_HOOK(operation);
    list->accepted = list->call && list->call(list->text, list->context, append_converted_text,
                                              list, list->why, sizeof list->why);
    list->why[sizeof list->why - 1] = '\0';
    list->answered = true;
  }
  pd__operation_lock(operation);
}

static pd_status fail_conversion(const pd__conversion *one, const pd__change *change,
                                 pd_error *err) {
  bool sensitive = change->flag->sensitive;
  bool silent = !*one->why || (sensitive && *one->text && strstr(one->why, one->text));
  return pd__fail_value_with_reason(PD_ERR_VALUE, change->flag, change->node->name, one->text,
                                    &change->origin,
                                    silent ? "is not a value of the flag" : one->why, err);
}

pd_status pd__conversion_apply(pd__conversion *conversion, pd__change *change,
                               const pd__changes *changes, pd_error *err) {
  change->converted = change->generation;
  if (!conversion->accepted) return fail_conversion(conversion, change, err);
  if (conversion->result) change->value.str = conversion->result;
  return pd__prepare_check_converted(change, changes, conversion->text, err);
}

/* ---- The conversions of a list of changes ---- */

/* The conversion that a change needs now. */
typedef struct needed {
  pd__conversion *conversion;
  pd__change *change;
  uint32_t generation;
  struct needed *next;
} needed;

static bool is_conversion_needed(const pd__change *change) {
  const pd_flag_def *def = pd__flag_def(change->flag);
  bool assigns = change->action == PD__ASSIGN && !change->resets;
  return def && assigns && def->convert;
}

/* Returns the conversions that are left to do, whose list begins with that of the first; NULL also
 * if memory is out, which the arena knows. */
static needed *collect_needed_conversions(pd__changes *changes) {
  pd__operation *operation = changes->operation;
  needed *first = NULL, **end = &first;
  pd__conversion *last = NULL;
  for (size_t i = 0; i < changes->count; i++) {
    pd__change *change = &changes->items[i];
    if (!is_conversion_needed(change) || change->converted == change->generation) continue;
    needed *made = pd__arena_alloc(&operation->arena, sizeof *made);
    pd__conversion *one = pd__conversion_new(operation, change->flag, change->value.str);
    if (!made || !one) return NULL;
    *made = (needed){one, change, change->generation, NULL};
    if (last) last->next = one;
    last = one;
    *end = made;
    end = &made->next;
  }
  return first;
}

/* A change that was prepared for another definition meanwhile is left to the next round. */
static void apply_conversions(pd__changes *changes, const needed *all) {
  for (; all; all = all->next) {
    pd_error err;
    pd__change *change = all->change;
    if (change->generation != all->generation || !is_conversion_needed(change)) continue;
    if (pd__conversion_apply(all->conversion, change, changes, &err) != PD_OK) {
      pd__report_add(changes->report, &err);
    }
  }
}

/* A converter may wait for a thread that waits for the loader. */
static void refuse_within_loader(const pd__changes *changes, const pd__change *change) {
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "--%s: its values can't be converted in constructors and destructors, while a "
                  "module is loaded or unloaded",
                  change->flag->name);
}

void pd__convert_changes(pd__changes *changes) {
  pd__operation *operation = changes->operation;
  for (int round = 0; round < ROUNDS; round++) {
    const needed *all = collect_needed_conversions(changes);
    if (operation->arena.failed) pd__report_fail_memory(changes->report);
    if (all && pd__loader_is_entered()) refuse_within_loader(changes, all->change);
    if (!all || operation->arena.failed || pd__loader_is_entered()) return;
    bool pinned = pd__conversions_pin(operation, all->conversion);
    if (pinned) pd__conversions_run(operation, all->conversion);
    pd__prepare_changes_again(changes);
    if (pinned) apply_conversions(changes, all);
  }
  pd__report_fail(changes->report, PD_ERR_REFUSED,
                  "flags kept being defined while their values were converted");
}
