/* Which scopes threads have. */
#include "scope.h"
#include "flag.h"

#include <stdlib.h>

#include "../base/numbered.h"

/* Contexts that a thread has replaced and puts back later, or may still be reading. */
typedef struct saved_context {
  pd_scope number; /* of the attaching; 0: of none, another thread has replaced the context */
  pd_scope_context *context;
  struct saved_context *below, *above; /* NULL: none */
  struct scope_thread *of;
} saved_context;

typedef struct scope_thread {
  pd_scope_context *current; /* read by the thread without the lock; NULL: no scopes */
  saved_context *attached;   /* the latest first */
  saved_context *retired;
  struct scope_thread *next, **at; /* in the list of all; *at points here */
} scope_thread;

static pd__numbered scopes, attachings; /* pd__scope and saved; no number is in both */
static scope_thread *threads;

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

/* Returns NULL if this thread has had no scope. Also in a signal handler. */
static scope_thread *find_own_thread(void) { return pd__platform_get_exit_argument(); }

/* ---- What modules see ---- */

static const void *find_scoped_in_cell(const pd_scoped_cell *cell) {
  const pd_flag *flag = __atomic_load_n(&cell->flag, __ATOMIC_ACQUIRE);
  const pd__scoped *found = flag ? pd__scope_find_value(flag) : NULL;
  return found ? (const void *)&found->value : cell;
}

static uint32_t count_scoped_values(const pd_flag *flag) {
  return flag->extended ? flag->extra->scopes : 0;
}

void pd__scope_update_cell_lookup(const pd_flag *flag, const pd__cell *of) {
  const pd_flag_def *def = of->def;
  pd_scoped_cell *cell = def->cell;
  if (!def->scoped_cell || !cell) return;
  bool open = flag->defined && def->type == flag->type && count_scoped_values(flag) > 0;
  __atomic_store_n(&cell->flag, (pd_flag *)flag, __ATOMIC_RELEASE);
  __atomic_store_n(&cell->find, open ? find_scoped_in_cell : NULL, __ATOMIC_RELEASE);
}

void pd__scope_unlink_cell(const pd__cell *of) {
  pd_scoped_cell *cell = of->def->cell;
  if (of->def->scoped_cell && cell) __atomic_store_n(&cell->find, NULL, __ATOMIC_RELEASE);
}

/* Call this when the flag gets its first value in a scope, loses its last one, or is defined. */
static void update_cell_lookups(pd_flag *flag) {
  for (const pd__cell *cell = flag->cells; cell; cell = cell->next)
    pd__scope_update_cell_lookup(flag, cell);
  if (flag->defined) pd__flag_publish_state(flag);
}

/* ---- Scopes ---- */

static void add_scoped_value(pd__scope *scope, const pd__scoped *value) {
  static uint64_t last;
  pd__scoped *own = &scope->values[scope->count++];
  *own = *value;
  own->order = ++last;
  own->scope = scope;
  if (!own->flag) return;
  pd__extra *extra = own->flag->extra; /* made before the commit */
  ADD_TO(extra->scoped, own);
  if (extra->scopes++ == 0) update_cell_lookups(own->flag);
}

static void unlist_scoped_value(pd__scoped *own) {
  if (!own->flag) return;
  REMOVE(own);
  if (--own->flag->extra->scopes == 0) update_cell_lookups(own->flag);
}

static void free_scope(pd__scope *scope) {
  for (size_t i = 0; i < scope->count; i++) unlist_scoped_value(&scope->values[i]);
  pd__numbered_remove(&scopes, scope->number);
  free(scope);
}

static pd_scope add_scope_number(pd__numbered *to, void *item) {
  uint64_t last = scopes.last > attachings.last ? scopes.last : attachings.last;
  to->last = last;
  return pd__numbered_add(to, item);
}

/* Returns a scope with room for `count` values, at least one; NULL if memory is out. */
static pd__scope *alloc_numbered_scope(size_t count) {
  size_t room = count > 0 ? count : 1;
  pd__scope *made = calloc(1, sizeof *made + room * sizeof *made->values);
  pd__context_scope_gone = free_scope;
  pd_scope number = made ? add_scope_number(&scopes, made) : 0;
  if (!number) {
    free(made);
    return NULL;
  }
  made->number = number;
  made->references = 1;
  return made;
}

/* ---- Threads ---- */

static void drop_saved_contexts(saved_context **list) {
  while (*list) {
    saved_context *first = *list;
    *list = first->below;
    if (first->number) pd__numbered_remove(&attachings, first->number);
    pd__context_release(first->context);
    free(first);
  }
}

static void free_scope_thread(scope_thread *gone) {
  REMOVE(gone);
  drop_saved_contexts(&gone->attached);
  drop_saved_contexts(&gone->retired);
  pd__context_release(gone->current);
  free(gone);
}

static void free_thread_at_exit(void *gone) {
  pd__platform_lock();
  free_scope_thread(gone);
  pd__platform_unlock();
}

/* The other threads are gone. */
void pd__scopes_reset_in_child(void) {
  const scope_thread *here = find_own_thread();
  for (scope_thread *each = threads, *next; each; each = next) {
    next = each->next;
    if (each != here) free_scope_thread(each);
  }
}

/* Returns this thread; NULL if memory is out. */
static scope_thread *find_or_add_own_thread(void) {
  scope_thread *here = find_own_thread();
  if (here) {
    drop_saved_contexts(&here->retired); /* the thread is not reading */
    return here;
  }
  scope_thread *made = calloc(1, sizeof *made);
  if (!made || !pd__platform_at_thread_exit(free_thread_at_exit, made)) {
    free(made);
    return NULL;
  }
  ADD_TO(threads, made);
  return made;
}

/* Takes over the reference, and returns the one to the former context. */
static pd_scope_context *replace_current_context(scope_thread *in, pd_scope_context *context) {
  pd_scope_context *former = in->current;
  __atomic_store_n(&in->current, context, __ATOMIC_RELEASE);
  return former;
}

/* ---- Opening and ending ---- */

static void copy_changes_into_scope(pd__scope *scope, const pd__changes *changes) {
  for (size_t i = 0; i < changes->count; i++) {
    const pd__change *change = &changes->items[i];
    pd_flag *flag = change->flag;
    pd__scoped scoped = {.flag = flag, .generation = flag->generation, .origin = change->origin};
    if (change->action != PD__ASSIGN) continue;
    scoped.type = flag->type;
    scoped.unset = change->resets && flag->optional;
    pd__cell_store((pd_type)flag->type, &scoped.value, change->value);
    add_scoped_value(scope, &scoped);
  }
  if (scope->count == 0) add_scoped_value(scope, &(pd__scoped){.flag = NULL});
}

bool pd__scope_open(pd__changes *changes) {
  scope_thread *in = find_or_add_own_thread();
  pd__scope *scope = in ? alloc_numbered_scope(changes->count) : NULL;
  pd_scope_context *made;
  if (!scope) return false;
  pd_scope number = scope->number;
  copy_changes_into_scope(scope, changes);
  if (!pd__context_copy_with_scope(in->current, scope, &made)) return false;
  changes->scope = number;
  pd__context_release(replace_current_context(in, made));
  return true;
}

static pd_status fail_not_open(pd_scope number, const char *what, pd_error *err) {
  return pd__fail(err, PD_ERR_ARGUMENT, "%s %llu: expected one that is open in a thread", what,
                  (unsigned long long)number);
}

/* Removes a scope from a context that isn't being read. */
static bool remove_from_saved_context(saved_context *of, pd__scope *scope, bool *found) {
  pd_scope_context *rest;
  if (!pd__context_has_scope(of->context, scope)) return true;
  *found = true;
  if (!pd__context_copy_without_scope(of->context, scope, &rest)) return false;
  pd__context_release(of->context);
  of->context = rest;
  return true;
}

/* The thread may be reading its current context, so that is kept until it next opens or ends a
 * scope. */
static bool remove_from_current_context(scope_thread *of, pd__scope *scope, bool *found) {
  const scope_thread *here = find_own_thread();
  pd_scope_context *rest;
  if (!pd__context_has_scope(of->current, scope)) return true;
  *found = true;
  saved_context *kept = of == here ? NULL : malloc(sizeof *kept);
  if ((of != here && !kept) || !pd__context_copy_without_scope(of->current, scope, &rest)) {
    free(kept);
    return false;
  }
  pd_scope_context *former = replace_current_context(of, rest);
  if (!kept) pd__context_release(former);
  if (!kept) return true;
  *kept = (saved_context){.context = former, .below = of->retired};
  of->retired = kept;
  return true;
}

static bool remove_scope_from_thread(scope_thread *of, pd__scope *scope, bool *found) {
  bool done = remove_from_current_context(of, scope, found);
  for (saved_context *each = of->attached; !*found && each; each = each->below) {
    done = remove_from_saved_context(each, scope, found);
  }
  return done;
}

pd_status pd__scope_end(pd_scope number, pd_error *err) {
  pd__scope *scope = pd__numbered_find(&scopes, number);
  bool found = false, done = true;
  scope_thread *here = find_own_thread();
  if (here && scope) done = remove_scope_from_thread(here, scope, &found);
  for (scope_thread *each = threads; scope && each && !found; each = each->next) {
    if (each != here) done = remove_scope_from_thread(each, scope, &found);
  }
  if (!done) return pd__fail_memory(err);
  return found ? PD_OK : fail_not_open(number, "scope", err);
}

/* ---- Captured contexts ---- */

pd_scope_context *pd__scope_capture_context(void) {
  const scope_thread *here = find_own_thread();
  return here ? pd__context_retain(here->current) : NULL;
}

void pd__scope_release_context(pd_scope_context *context) { pd__context_release(context); }

pd_status pd__scope_switch_context(pd_scope_context *context, pd_scope_context **former,
                                   pd_error *err) {
  scope_thread *in = find_or_add_own_thread();
  if (!in) return pd__fail_memory(err);
  *former = replace_current_context(in, context);
  return PD_OK;
}

pd_status pd__scope_attach_context(pd_scope_context *context, pd_scope *out, pd_error *err) {
  scope_thread *in = find_or_add_own_thread();
  saved_context *made = in ? malloc(sizeof *made) : NULL;
  pd_scope number = made ? add_scope_number(&attachings, made) : 0;
  if (!number) {
    free(made);
    return pd__fail_memory(err);
  }
  pd_scope_context *former = replace_current_context(in, pd__context_retain(context));
  *made = (saved_context){.number = number, .context = former, .below = in->attached, .of = in};
  if (made->below) made->below->above = made;
  in->attached = made;
  *out = number;
  return PD_OK;
}

/* If others were attached above it, the context of the first of them goes back to what was here
 * before. */
pd_status pd__scope_detach_context(pd_scope number, pd_error *err) {
  scope_thread *in = find_or_add_own_thread();
  if (!in) return pd__fail_memory(err);
  saved_context *gone = pd__numbered_find(&attachings, number);
  if (!gone || gone->of != in) return fail_not_open(number, "attached context", err);
  saved_context *above = gone->above;
  *(above ? &above->below : &in->attached) = gone->below;
  if (gone->below) gone->below->above = above;
  if (above) {
    pd__context_release(above->context);
    above->context = gone->context;
  } else {
    pd__context_release(replace_current_context(in, gone->context));
  }
  pd__numbered_remove(&attachings, number);
  free(gone);
  return PD_OK;
}

/* ---- Reading ---- */

/* The owner replaces its own context only while it isn't here; another thread that replaces it
 * keeps the former one. */
const pd__scoped *pd__scope_find_value(const pd_flag *flag) {
  const scope_thread *in = find_own_thread();
  const pd_scope_context *context = in ? __atomic_load_n(&in->current, __ATOMIC_ACQUIRE) : NULL;
  const pd__scoped *found = pd__context_find_latest(context, flag);
  if (!found) return NULL;
  uint32_t generation = __atomic_load_n(&found->generation, __ATOMIC_ACQUIRE);
  return generation == __atomic_load_n(&flag->generation, __ATOMIC_ACQUIRE) ? found : NULL;
}

const pd__scoped *pd__scope_find_value_at(const pd_flag *flag, size_t *index) {
  const scope_thread *here = find_own_thread();
  const pd_scope_context *context = here ? here->current : NULL;
  const pd__scoped *value = pd__context_find_latest(context, flag);
  while (value && (value->generation != flag->generation || *index > 0)) {
    *index -= value->generation == flag->generation;
    value = pd__context_find_before(context, flag, value->order);
  }
  return value;
}

pd_value pd__scoped_get_value(const pd__scoped *scoped) {
  return pd__cell_load((pd_type)scoped->type, (void *)&scoped->value);
}

pd_value pd__flag_value_in_thread(const pd_flag *flag) {
  const pd__scoped *scoped = pd__scope_find_value(flag);
  return scoped ? pd__scoped_get_value(scoped) : pd__flag_value(flag);
}

/* ---- New definitions ---- */

void pd__scopes_renew_valid_values(pd_flag *flag) {
  const pd_flag_def *def = pd__flag_def(flag);
  for (pd__scoped *value = flag->extra->scoped; value; value = value->next) {
    if (value->type != def->type || !def->scoped) continue;
    if (!value->unset && pd__value_check(def, pd__scoped_get_value(value)) != PD_OK) continue;
    __atomic_store_n(&value->generation, flag->generation, __ATOMIC_RELEASE);
  }
  update_cell_lookups(flag);
}

void pd__scope_warn_if_hidden(const pd_flag *flag, const pd_origin *origin) {
  pd__scoped *hides = (pd__scoped *)pd__scope_find_value(flag);
  char source[PD__SOURCE_SIZE], place[PD__ESCAPED_SIZE];
  bool asked = pd_source_rank(origin->source) >= pd_source_rank(PD_SOURCE_RUNTIME);
  if (!asked || !hides || hides->warned) return;
  hides->warned = true;
  pd__fail(pd__warning_add(PD_WARNING_HIDDEN), PD_OK,
           "%s: was set for the process, but this thread goes on with the value of its scope (%s)",
           pd__origin_write_message_subject(flag->name, origin, source),
           pd__origin_write_description(&hides->origin, place));
}
