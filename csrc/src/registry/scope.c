/* Contexts: chains of scopes, which are never changed. */
#include "scope.h"

#include <stdlib.h>
#include <string.h>

/* A scope, and with the scopes below it a context. */
struct pd_scope_context {
  pd_scope number;
  size_t references;            /* of threads, captures and the scopes above it */
  pd_scope_context *below;      /* NULL: none */
  pd_scope_context *next, **at; /* in the list of all; *at points here */
  size_t count;                 /* of `values` */
  size_t visible_count;
  const pd__scoped **visible; /* of this scope and those below: the innermost value of each flag,
                                 sorted by the addresses of the flags */
  pd__scoped values[];
};

/* Contexts that a thread has replaced and puts back later, or may still be reading. */
typedef struct saved {
  pd_scope number; /* of the attaching; 0: of none, another thread has replaced the context */
  pd_scope_context *context;
  struct saved *below;
} saved;

typedef struct thread {
  pd_scope_context *current; /* read by the thread without the lock; NULL: no scopes */
  saved *attached;           /* the latest first */
  saved *retired;
  struct thread *next, **at; /* in the list of all; *at points here */
} thread;

static pd_scope_context *contexts;
static thread *threads;

#define ADD_TO(list, node)                                                                         \
  do {                                                                                             \
    (node)->next = (list);                                                                         \
    (node)->at = &(list);                                                                          \
    if ((node)->next) (node)->next->at = &(node)->next;                                            \
    (list) = (node);                                                                               \
  } while (0)

#define REMOVE(node)                                                                               \
  do {                                                                                             \
    *(node)->at = (node)->next;                                                                    \
    if ((node)->next) (node)->next->at = (node)->at;                                               \
  } while (0)

static pd_scope last;

/* Returns NULL if this thread has had no scope. Also in a signal handler. */
static thread *find_own_thread(void) { return pd__platform_exit_argument(); }

/* ---- What modules see ---- */

static const void *find_in_cell(const pd_scoped_cell *cell) {
  const pd_flag *flag = __atomic_load_n(&cell->flag, __ATOMIC_ACQUIRE);
  const pd__scoped *found = flag ? pd__scope_find(flag) : NULL;
  return found ? (const void *)&found->value : cell;
}

static uint32_t open_values(const pd_flag *flag) {
  return flag->extended ? flag->extra->scopes : 0;
}

void pd__scope_link(const pd_flag *flag, const pd__cell *of) {
  const pd_flag_def *def = of->def;
  bool open = flag->defined && def->type == flag->type && open_values(flag) > 0;
  pd_scoped_cell *cell = def->cell;
  if (!def->scoped_cell || !cell) return;
  __atomic_store_n(&cell->flag, (pd_flag *)flag, __ATOMIC_RELEASE);
  __atomic_store_n(&cell->find, open ? find_in_cell : NULL, __ATOMIC_RELEASE);
}

void pd__scope_unlink(const pd__cell *of) {
  pd_scoped_cell *cell = of->def->cell;
  if (of->def->scoped_cell && cell) __atomic_store_n(&cell->find, NULL, __ATOMIC_RELEASE);
}

/* Call this when the flag gets its first value in a scope, loses its last one, or is defined. */
static void link_all(pd_flag *flag) {
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next) pd__scope_link(flag, cell);
  if (flag->defined) pd__flag_publish_state(flag);
}

static void count_value(pd_flag *flag, int change) {
  pd__extra *extra = flag->extra; /* made before the commit */
  extra->scopes += (uint32_t)change;
  if (extra->scopes == (change > 0)) link_all(flag);
}

/* ---- Contexts ---- */

static pd_scope_context *hold(pd_scope_context *context) {
  if (context) context->references++;
  return context;
}

static void release(pd_scope_context *context) {
  while (context && --context->references == 0) {
    pd_scope_context *below = context->below;
    for (size_t i = 0; i < context->count; i++) count_value(context->values[i].flag, -1);
    REMOVE(context);
    free(context->visible);
    free(context);
    context = below;
  }
}

/* Returns where the flag is, or would be. */
static size_t place_of(const pd_scope_context *context, const pd_flag *flag) {
  size_t low = 0, high = context->visible_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if ((uintptr_t)context->visible[middle]->flag < (uintptr_t)flag) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/* A later value of the same scope, or of a scope above, hides an earlier one. */
static void show(pd_scope_context *context, const pd__scoped *value) {
  size_t at = place_of(context, value->flag), behind = context->visible_count - at;
  const pd__scoped **slot = context->visible + at;
  if (behind > 0 && (*slot)->flag == value->flag) {
    *slot = value;
    return;
  }
  memmove(slot + 1, slot, behind * sizeof *slot);
  *slot = value;
  context->visible_count++;
}

/* Returns a context with room for `count` values, whose `below` is held; NULL if memory is out. */
static pd_scope_context *make(pd_scope_context *below, size_t count) {
  size_t inherited = below ? below->visible_count : 0;
  pd_scope_context *made = calloc(1, sizeof *made + count * sizeof *made->values);
  const pd__scoped **visible = malloc((count + inherited + 1) * sizeof *visible);
  if (!made || !visible) {
    free(made);
    free(visible);
    return NULL;
  }
  if (inherited) memcpy(visible, below->visible, inherited * sizeof *visible);
  made->visible = visible;
  made->visible_count = inherited;
  made->references = 1;
  made->below = hold(below);
  ADD_TO(contexts, made);
  return made;
}

static void add_value(pd_scope_context *context, const pd__scoped *value) {
  pd__scoped *own = &context->values[context->count++];
  *own = *value;
  show(context, own);
  count_value(own->flag, 1);
}

static bool has(const pd_scope_context *context, pd_scope number) {
  while (context && context->number != number) context = context->below;
  return context != NULL;
}

/* Returns the context without that scope, which it has. Returns false if memory is out. */
static bool without(pd_scope_context *context, pd_scope number, pd_scope_context **out) {
  if (context->number == number) {
    *out = hold(context->below);
    return true;
  }
  pd_scope_context *below;
  if (!without(context->below, number, &below)) return false;
  pd_scope_context *copy = make(below, context->count);
  release(below); /* the copy holds it */
  if (!copy) return false;
  copy->number = context->number;
  for (size_t i = 0; i < context->count; i++) add_value(copy, &context->values[i]);
  *out = copy;
  return true;
}

/* ---- Threads ---- */

static void drop_saved(saved **list) {
  while (*list) {
    saved *first = *list;
    *list = first->below;
    release(first->context);
    free(first);
  }
}

static void drop_thread(thread *gone) {
  REMOVE(gone);
  drop_saved(&gone->attached);
  drop_saved(&gone->retired);
  release(gone->current);
  free(gone);
}

static void leave_thread(void *gone) {
  pd__platform_lock();
  drop_thread(gone);
  pd__platform_unlock();
}

/* The other threads are gone. */
void pd__scopes_in_child(void) {
  const thread *here = find_own_thread();
  for (thread *each = threads, *next; each; each = next) {
    next = each->next;
    if (each != here) drop_thread(each);
  }
}

/* Returns this thread; NULL if memory is out. */
static thread *enter(void) {
  thread *here = find_own_thread();
  if (here) {
    drop_saved(&here->retired); /* the thread is not reading */
    return here;
  }
  thread *made = calloc(1, sizeof *made);
  if (!made || !pd__platform_at_thread_exit(leave_thread, made)) {
    free(made);
    return NULL;
  }
  ADD_TO(threads, made);
  return made;
}

/* Takes over the reference, and returns the one to the former context. */
static pd_scope_context *replace(thread *in, pd_scope_context *context) {
  pd_scope_context *former = in->current;
  __atomic_store_n(&in->current, context, __ATOMIC_RELEASE);
  return former;
}

/* ---- Opening and ending ---- */

bool pd__scope_open(const pd__changes *changes) {
  thread *in = enter();
  pd_scope_context *made = in ? make(in->current, changes->count) : NULL;
  if (!made) return false;
  made->number = changes->scope;
  for (size_t i = 0; i < changes->count; i++) {
    const pd__change *change = &changes->items[i];
    pd_flag *flag = change->flag;
    pd__scoped scoped = {.flag = flag, .generation = flag->generation, .origin = change->origin};
    if (change->action != PD__ASSIGN) continue;
    scoped.type = flag->type;
    scoped.unset = change->resets && flag->optional;
    pd__cell_store((pd_type)flag->type, &scoped.value, change->value);
    add_value(made, &scoped);
  }
  release(replace(in, made));
  return true;
}

pd_scope pd__scope_number(void) { return ++last; }

static pd_status fail_not_open(pd_scope number, const char *what, pd_error *err) {
  return pd__fail(err, PD_ERR_ARGUMENT, "%s %llu: expected one that is open in a thread", what,
                  (unsigned long long)number);
}

/* Removes a scope from a context that isn't being read. */
static bool end_in(pd_scope_context **at, pd_scope number, bool *found) {
  pd_scope_context *rest;
  if (!has(*at, number)) return true;
  *found = true;
  if (!without(*at, number, &rest)) return false;
  release(*at);
  *at = rest;
  return true;
}

/* The thread may be reading its current context, so that is kept until it next opens or ends a
 * scope. */
static bool end_current(thread *of, pd_scope number, bool *found) {
  const thread *here = find_own_thread();
  pd_scope_context *rest;
  if (!has(of->current, number)) return true;
  *found = true;
  saved *kept = of == here ? NULL : malloc(sizeof *kept);
  if ((of != here && !kept) || !without(of->current, number, &rest)) {
    free(kept);
    return false;
  }
  pd_scope_context *former = replace(of, rest);
  if (!kept) release(former);
  if (!kept) return true;
  *kept = (saved){0, former, of->retired};
  of->retired = kept;
  return true;
}

static bool end_in_thread(thread *of, pd_scope number, bool *found) {
  bool done = end_current(of, number, found);
  for (saved *each = of->attached; done && !*found && each; each = each->below) {
    done = end_in(&each->context, number, found);
  }
  return done;
}

pd_status pd__scope_end(pd_scope number, pd_error *err) {
  bool found = false, done = true;
  thread *here = find_own_thread();
  if (here) done = end_in_thread(here, number, &found);
  for (thread *each = threads; each && !found; each = each->next) {
    if (each != here) done = end_in_thread(each, number, &found);
  }
  if (!done) return pd__fail_memory(err);
  return found ? PD_OK : fail_not_open(number, "scope", err);
}

/* ---- Captured contexts ---- */

pd_scope_context *pd__scope_capture(void) {
  const thread *here = find_own_thread();
  return here ? hold(here->current) : NULL;
}

void pd__scope_release(pd_scope_context *context) { release(context); }

pd_status pd__scope_switch(pd_scope_context *context, pd_scope_context **former, pd_error *err) {
  thread *in = enter();
  if (!in) return pd__fail_memory(err);
  *former = replace(in, context);
  return PD_OK;
}

pd_status pd__scope_attach(pd_scope_context *context, pd_scope *out, pd_error *err) {
  thread *in = enter();
  saved *made = in ? malloc(sizeof *made) : NULL;
  if (!made) return pd__fail_memory(err);
  *made = (saved){pd__scope_number(), replace(in, hold(context)), in->attached};
  in->attached = made;
  *out = made->number;
  return PD_OK;
}

/* If others were attached above it, the context of the first of them goes back to what was here
 * before. */
pd_status pd__scope_detach(pd_scope number, pd_error *err) {
  thread *in = enter();
  if (!in) return pd__fail_memory(err);
  pd_scope_context **above = NULL;
  saved **at = &in->attached;
  while (*at && (*at)->number != number) {
    above = &(*at)->context;
    at = &(*at)->below;
  }
  saved *gone = *at;
  if (!gone) return fail_not_open(number, "attached context", err);
  *at = gone->below;
  if (above) {
    release(*above);
    *above = gone->context;
  } else {
    release(replace(in, gone->context));
  }
  free(gone);
  return PD_OK;
}

/* ---- Reading ---- */

/* The owner replaces its own context only while it isn't here; another thread that replaces it
 * keeps the former one. */
const pd__scoped *pd__scope_find(const pd_flag *flag) {
  const thread *in = find_own_thread();
  const pd_scope_context *context = in ? __atomic_load_n(&in->current, __ATOMIC_ACQUIRE) : NULL;
  if (!context) return NULL;
  size_t at = place_of(context, flag);
  if (at == context->visible_count || context->visible[at]->flag != flag) return NULL;
  const pd__scoped *found = context->visible[at];
  uint32_t generation = __atomic_load_n(&found->generation, __ATOMIC_ACQUIRE);
  return generation == __atomic_load_n(&flag->generation, __ATOMIC_ACQUIRE) ? found : NULL;
}

const pd__scoped *pd__scope_at(const pd_flag *flag, size_t index) {
  const thread *here = find_own_thread();
  const pd_scope_context *context = here ? here->current : NULL;
  for (; context; context = context->below) {
    for (size_t i = context->count; i > 0; i--) {
      const pd__scoped *value = &context->values[i - 1];
      if (value->flag == flag && value->generation == flag->generation && index-- == 0) {
        return value;
      }
    }
  }
  return NULL;
}

pd_value pd__scoped_value(const pd__scoped *scoped) {
  return pd__cell_load((pd_type)scoped->type, (void *)&scoped->value);
}

pd_value pd__flag_value_here(const pd_flag *flag) {
  const pd__scoped *scoped = pd__scope_find(flag);
  return scoped ? pd__scoped_value(scoped) : pd__flag_value(flag);
}

/* ---- New definitions ---- */

void pd__scopes_renew(pd_flag *flag) {
  const pd_flag_def *def = pd__flag_def(flag);
  for (pd_scope_context *each = contexts; each; each = each->next) {
    for (size_t i = 0; i < each->count; i++) {
      pd__scoped *value = &each->values[i];
      if (value->flag != flag || value->type != def->type || !def->scoped) continue;
      if (!value->unset && pd__value_check(def, pd__scoped_value(value)) != PD_OK) continue;
      __atomic_store_n(&value->generation, flag->generation, __ATOMIC_RELEASE);
    }
  }
  link_all(flag);
}

void pd__scope_warn_now(const pd_flag *flag, const pd_origin *origin) {
  pd__scoped *hides = (pd__scoped *)pd__scope_find(flag);
  char source[PD__SOURCE_SIZE], place[PD__QUOTE_SIZE];
  bool asked = pd__source_rank(origin->source) >= pd__source_rank(PD_SOURCE_RUNTIME);
  if (!asked || !hides || hides->warned) return;
  hides->warned = true;
  pd__fail(pd__warning_add(PD_WARNING_HIDDEN), PD_OK,
           "%s: was set for the process, but this thread goes on with the value of its scope (%s)",
           pd__source_of(flag->name, origin, source), pd__origin_shown(&hides->origin, place));
}
