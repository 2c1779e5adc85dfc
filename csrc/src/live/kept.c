/* The changes that clients have made. */
#include <stdlib.h>
#include <string.h>

#include "../base/numbered.h"
#include "live.h"

/* Bounds of what is kept of changes that are over or permanent. */
#define MOST_CHANGES 4096
#define MOST_FLAGS 16384

static pd__numbered all;
static size_t change_count, flag_count, on_count;

static const char *copy(pd__kept *kept, const char *text) {
  return text ? pd__arena_copy_text(&kept->arena, text, strlen(text)) : NULL;
}

pd__kept *pd__kept_new(size_t count, const pd_live_who *who, const char *reason) {
  pd__kept *made = calloc(1, sizeof *made);
  if (!made) return NULL;
  made->count = count;
  made->flags = pd__arena_alloc(&made->arena, count * sizeof *made->flags);
  made->who = *who;
  made->who.command = copy(made, who->command);
  made->who.host = copy(made, who->host);
  made->who.label = copy(made, who->label);
  made->reason = copy(made, reason);
  made->at = pd__platform_time();
  if (!made->arena.failed) return made;
  pd__kept_free(made);
  return NULL;
}

void pd__kept_free(pd__kept *kept) {
  if (!kept) return;
  pd__arena_free(&kept->arena);
  free(kept);
}

bool pd__kept_add(pd__kept *kept) {
  kept->number = pd__numbered_add(&all, kept);
  if (!kept->number) return false;
  change_count++;
  flag_count += kept->count;
  on_count += kept->state == PD__ON;
  return true;
}

void pd__kept_remove(pd__kept *kept) {
  change_count--;
  flag_count -= kept->count;
  on_count -= kept->state == PD__ON;
  pd__numbered_remove(&all, kept->number);
  pd__kept_free(kept);
}

pd__kept *pd__kept_find(uint64_t number) { return pd__numbered_find(&all, number); }
pd__kept *pd__kept_after(uint64_t number) { return pd__numbered_after(&all, number); }
pd__kept *pd__kept_before(uint64_t number) { return pd__numbered_before(&all, number); }
size_t pd__kept_on(void) { return on_count; }

pd__kept *pd__kept_of_override(pd_override override) {
  pd__kept *at = pd__kept_after(0);
  while (at && (at->state != PD__ON || at->override != override)) at = pd__kept_after(at->number);
  return at;
}

void pd__kept_end(pd__kept *kept, pd__kept_state state) {
  on_count -= kept->state == PD__ON;
  kept->state = state;
}

void pd__kept_trim(void) {
  pd__kept *at = pd__kept_after(0);
  while (at && (change_count > MOST_CHANGES || flag_count > MOST_FLAGS)) {
    pd__kept *next = pd__kept_after(at->number);
    if (at->state != PD__ON && next) pd__kept_remove(at);
    at = next;
  }
}
