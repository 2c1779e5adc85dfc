#include "pending.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/sized.h"
#include "../base/text.h"
#include "../registry/deferred.h"
#include "definition.h"

static size_t waiting;    /* pending values of all names */
static uint64_t revision; /* changes whenever a pending value is added or removed */
pd__waiting_reporter *pd__report_waiting;

/* ---- Adding and dropping ---- */

pd_status pd__pending_make_unlisted(const pd__pending *given, pd__pending **out, pd_error *err) {
  static const size_t texts[] = {offsetof(pd__pending, name), offsetof(pd__pending, text),
                                 offsetof(pd__pending, next), offsetof(pd__pending, origin.place)};
  char escaped[PD__ESCAPED_SIZE], name[PD_NAME_MAX + 1];
  if (!pd__name_is_valid(given->name, given->length)) {
    return pd__fail(err, PD_ERR_NAME, "'%s' can't be the name of a flag",
                    pd__escape_part(escaped, given->name, given->length));
  }
  snprintf(name, sizeof name, "%.*s", (int)given->length, given->name);
  pd__pending whole = *given;
  whole.name = name;
  pd__pending *made = pd__copy_with_texts(&whole, sizeof whole, texts, 4, &whole.size);
  if (!made) return pd__fail_memory(err);
  made->size = whole.size;
  made->node = pd__names_find_or_add(made->name, given->length);
  if (made->node && pd__name_retain(made->node)) {
    *out = made;
    return PD_OK;
  }
  if (made->node) pd__names_free_if_unused(made->node);
  free(made);
  return pd__fail_memory(err);
}

pd_status pd__pending_add(const char *name, const char *text, const pd_origin *origin,
                          pd_error *err) {
  pd__pending given = {.name = name, .length = strlen(name), .text = text, .origin = *origin};
  pd__pending *made = NULL;
  pd_status status = pd__pending_make_unlisted(&given, &made, err);
  if (made) pd__pending_store(made);
  return status;
}

static pd__pending *get_first_pending(pd_flag *node) {
  pd__pending **list = pd__name_get_pending_list(node);
  return list ? *list : NULL;
}

/* Removes a value from the list of its name. */
static pd__pending *unlink_pending(pd__pending **at) {
  pd__pending *taken = *at;
  *at = taken->following;
  waiting--;
  revision++;
  return taken;
}

/* Wipes the value, which may be a secret. */
static void free_pending(pd__pending *pending) {
  pd__names_free_or_intern(pending->node, pending->name);
  pd__wipe_memory(pending, pending->size);
  free(pending);
}

void pd__pending_discard_unlisted(pd__pending *pending) {
  pd__name_release(pending->node);
  free_pending(pending);
}

/* A flag keeps the last PD_HISTORY_KEPT values of a source, so older pending ones are dropped. */
void pd__pending_store(pd__pending *pending) {
  static uint64_t last;
  pd__pending **end = pd__name_get_pending_list(pending->node), **oldest = NULL;
  size_t others = 0;
  for (; *end; end = &(*end)->following) {
    if ((*end)->origin.source != pending->origin.source) continue;
    if (others++ == 0) oldest = end;
  }
  pd__name_release(pending->node);
  pending->order = ++last;
  pending->following = NULL;
  *end = pending;
  waiting++;
  revision++;
  if (others > PD_HISTORY_KEPT) free_pending(unlink_pending(oldest));
}

/* Moves the pending values of a name to `list`, which is in the order of arrival. Takes only those
 * of `source`, unless that is the default; if `negated`, only those without text. */
static void detach_pending(pd_flag *node, pd_source source, bool negated, pd__pending **list) {
  for (pd__pending **at = pd__name_get_pending_list(node); at && *at;) {
    bool suits = source == PD_SOURCE_DEFAULT || source == (*at)->origin.source;
    if (!suits || (negated && (*at)->text)) {
      at = &(*at)->following;
      continue;
    }
    pd__pending *taken = unlink_pending(at), **place = list;
    pd__name_retain(node); /* can't fail: it has the list */
    taken->negated = negated;
    while (*place && (*place)->order < taken->order) place = &(*place)->following;
    taken->following = *place;
    *place = taken;
  }
}

void pd__pending_drop_of_source(pd_source source) {
  if (source == PD_SOURCE_FLEET || source == PD_SOURCE_DEFAULT) pd__refusals_forget_dropped();
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    pd__pending *list = NULL;
    if (!pd__flag_def(node)) pd__history_drop_sources(node, PD__SOURCE_BIT(source));
    detach_pending(node, source, false, &list);
    while (list) {
      pd__pending *gone = list;
      list = gone->following;
      pd__pending_discard_unlisted(gone);
    }
  }
}

/* An iterator over the nodes whose pending values are for the flag of a definition. */
typedef struct node_search {
  pd__naming naming;
  int form; /* of the name: 0 as it is, 1 and 2 as --noname and --no_name */
  bool negated;
} node_search;

/* Returns the next one that exists; NULL at the end. */
static pd_flag *find_next_node_of_definition(node_search *search) {
  char negated[PD_NAME_MAX + 8];
  pd__naming *of = &search->naming;
  for (;;) {
    bool more = search->form > 0 && search->form < 3 && of->def->type == PD_TYPE_bool;
    if (!more && !pd__naming_next(of)) return NULL;
    search->form = more ? search->form : 0;
    search->negated = search->form > 0;
    const char *name = of->name;
    size_t length = of->length;
    if (more) {
      const char *prefix = search->form == 1 ? "no" : "no_";
      length = (size_t)snprintf(negated, sizeof negated, "%s%.*s", prefix, (int)length, name);
      name = negated;
    }
    search->form++;
    pd_flag *node = pd__names_find(name, length);
    if (node) return node;
  }
}

static pd__pending *detach_all_pending(const pd_flag_def *def) {
  pd__pending *list = NULL;
  node_search search = {.naming = {.def = def}};
  for (pd_flag *node; (node = find_next_node_of_definition(&search));) {
    detach_pending(node, PD_SOURCE_DEFAULT, search.negated, &list);
  }
  return list;
}

/* ---- Listing ---- */

/* Adds one to a list in order of arrival. Returns false if memory is out. */
static bool insert_waiting_value(pd__arena *arena, pd__waiting **at, pd__pending *pending,
                                 bool negated) {
  pd__waiting *made = pd__arena_alloc(arena, sizeof *made);
  if (!made) return false;
  while (*at && (*at)->pending->order < pending->order) at = &(*at)->next;
  *made = (pd__waiting){pending, pending->text, negated, false, *at};
  *at = made;
  return true;
}

/* Returns true if the second of two uses adds to the list. */
static bool can_join_pending(const pd__pending *first, const pd__pending *second) {
  bool both = second && first->text && second->text && !first->literal && !second->literal;
  return both && pd__origin_is_same_input(&first->origin, &second->origin);
}

/* Two uses of a list that grows, one right after the other, make one value. */
static void join_continued_uses(pd__arena *arena, pd__waiting *list) {
  size_t room = 0;
  for (; list && list->next; list = list->next) {
    list->continues = can_join_pending(list->pending, list->next->pending);
    if (!list->continues) room = 0;
    if (list->continues) {
      list->next->text = pd__list_join_comma_lists(arena, list->text, list->next->text, &room);
    }
  }
}

/* Each use without a value adds one to what the one before it, in the same place, has made. */
static void fill_counted_values(pd__arena *arena, const pd_flag_def *def, pd__waiting *list) {
  char number[PD__NUMBER_SIZE];
  const pd__pending *before = NULL;
  pd_value value = def->default_value;
  for (; list; before = list->pending, list = list->next) {
    bool continues = before && pd__origin_is_same_input(&before->origin, &list->pending->origin);
    if (!continues) value = def->default_value;
    if (!list->text && pd__value_write_incremented(def, value, 1, number)) {
      list->text = pd__arena_copy_text(arena, number, strlen(number));
    }
    if (list->text) (void)pd__value_parse((pd_type)def->type, list->text, &value);
  }
}

const pd__waiting *pd__pending_list_for_definition(pd__operation *operation,
                                                   const pd_flag_def *def) {
  pd__waiting *list = NULL;
  node_search search = {.naming = {.def = def}};
  if (waiting == 0) return NULL;
  for (pd_flag *node; (node = find_next_node_of_definition(&search));) {
    for (pd__pending *each = get_first_pending(node); each; each = each->following) {
      if (search.negated && each->text) continue;
      if (!insert_waiting_value(&operation->arena, &list, each, search.negated)) return NULL;
    }
  }
  if (def->multi) join_continued_uses(&operation->arena, list);
  if (def->count) fill_counted_values(&operation->arena, def, list);
  return list;
}

void pd__pending_remove(pd__pending *pending) {
  pd__pending **at = pd__name_get_pending_list(pending->node);
  while (*at != pending) at = &(*at)->following;
  free_pending(unlink_pending(at));
}

/* ---- Applying ---- */

/* Assigns a value to a flag that is being defined; `node` is the flag or an alias of it. */
static void assign_to_new_flag(pd__operation *operation, pd_flag *node, const char *text,
                               const pd__pending *given, pd__report *report) {
  pd__report own = {.list = report->list};
  if (report->status == PD_OK) own.first = report->first;
  pd__changes changes;
  pd__changes_begin(&changes, operation, &own);
  changes.is_defining = true;
  changes.merges = given->merges;
  changes.yields = given->origin.source != PD_SOURCE_FLEET;
  pd__changes_stage_or_report(&changes, node, text, (pd_value){0}, &given->origin, given->literal);
  pd__changes_validate_and_commit(&changes);
  if (report->status == PD_OK) report->status = own.status;
}

static void apply_pending_value(pd__operation *operation, pd_flag *flag, const pd__pending *given,
                                pd__report *report) {
  const pd_flag_def *def = pd__flag_def(flag);
  pd_flag *node = given->negated ? flag : given->node;
  const char *text = given->text;
  char expected[256], escaped[PD__ESCAPED_SIZE];
  if (!text && def->type == PD_TYPE_bool) text = given->negated ? "false" : "true";
  if (text) {
    assign_to_new_flag(operation, node, text, given, report);
    return;
  }
  pd__value_write_expected(def, expected, sizeof expected);
  pd__report_fail(report, PD_ERR_ARGV,
                  "--%s: the value is missing, expected %s; before the flag is defined, only "
                  "--%s=%s is understood",
                  def->name, expected, def->name,
                  given->next && !pd__flag_is_sensitive(flag)
                      ? pd__escape_text(escaped, given->next)
                      : "VALUE");
}

/* A value of the fleet that doesn't suit is no error. A fleet publishes its values, so it gives no
 * secrets. */
static void apply_or_refuse_pending(pd__operation *operation, pd_flag *flag,
                                    const pd__pending *given, pd__report *report) {
  pd_error why;
  pd__report own = {.first = &why};
  pd__refusals refused = {.first = NULL};
  bool of_fleet = given->origin.source == PD_SOURCE_FLEET;
  if (of_fleet && pd__flag_is_sensitive(flag)) return;
  if (pd__refusals_count_if_dropped(&given->origin)) return;
  apply_pending_value(operation, flag, given, of_fleet ? &own : report);
  if (own.status == PD_ERR_MEMORY) pd__report_fail_memory(report);
  if (own.status == PD_OK || own.status == PD_ERR_MEMORY) return;
  pd__refusals_add(&refused, &operation->arena, &given->origin, &why);
  pd__refusals_commit(&refused, operation);
  pd__refusals_count_if_dropped(&given->origin);
}

bool pd__has_pending(void) { return waiting > 0; }

/* The text of a joined one is in an arena. */
static void requeue_pending(pd__pending *given, bool joined) {
  pd__pending *copy = joined ? NULL : given;
  if (joined) {
    pd__pending_make_unlisted(given, &copy, NULL);
    pd__pending_discard_unlisted(given);
  }
  if (copy) pd__pending_store(copy);
}

void pd__pending_apply_to_flag(pd__operation *operation, pd_flag *flag, pd__report *report) {
  pd__pending *list = detach_all_pending(pd__flag_def(flag));
  bool kept = false, grows = pd__flag_def(flag) && pd__flag_def(flag)->multi;
  size_t room = 0;
  while (list) {
    pd__pending *given = list;
    list = given->following;
    bool joined = room > 0;
    if (grows && can_join_pending(given, list)) {
      char *text = pd__list_join_comma_lists(&operation->arena, given->text, list->text, &room);
      if (!text) pd__report_fail_memory(report);
      if (text) list->text = text;
      pd__pending_discard_unlisted(given);
      continue;
    }
    room = 0;
    if (pd__flag_def(flag) && !pd__flag_is_validation_deferred(flag)) {
      apply_or_refuse_pending(operation, flag, given, report);
      pd__pending_discard_unlisted(given);
    } else { /* undefined while a validator ran, or its validator can't be called here */
      requeue_pending(given, joined);
      kept = true;
    }
  }
  bool waits = kept && pd__flag_def(flag);
  if (waits && !pd__deferred_add(operation, flag, 0)) pd__report_fail_memory(report);
}

/* ---- Public functions ---- */

pd_status pd_pending_set(const char *name, const char *text, const pd_origin *origin,
                         pd_error *err) {
  if (!name) return pd__fail_null(err, "name");
  if (!text) return pd__fail_null(err, "text");
  if (!origin) origin = &pd__at_run_time;
  pd_status status = pd__origin_check_settable(origin, err);
  if (status != PD_OK) return status;
  PD__LOCKED_OPERATION(operation);
  pd_flag *node;
  do { /* the flag may leave while its validators are asked */
    node = pd__names_find_defined_node(name, strlen(name));
    status = node ? pd__assign_value(&operation, pd__resolve_alias(node), text, (pd_value){0},
                                     origin, err)
                  : pd__pending_add(name, text, origin, err);
  } while (node && status == PD_ERR_UNDEFINED);
  return pd__operation_return(&operation, status);
}

const pd__pending *pd__pending_next(const pd__pending *previous) {
  if (previous && previous->following) return previous->following;
  pd_flag *node = previous ? previous->node : NULL;
  while ((node = pd__names_next(node))) {
    if (get_first_pending(node)) return get_first_pending(node);
  }
  return NULL;
}

/* A value that waits for a definition: a pending one, or the one that a flag has kept. */
typedef struct waiting_value {
  pd_flag *node; /* NULL: begin with the first */
  const pd__pending *pending;
  pd_flag_entry retained; /* if `pending` is NULL */
} waiting_value;

/* Goes to the next value, that of a flag before those that came later for its name. */
static bool advance_to_next_waiting(waiting_value *at) {
  pd_flag *node = at->node;
  const pd__pending *following = at->pending ? at->pending->following : NULL;
  if (node && !at->pending) following = get_first_pending(node);
  at->pending = following;
  while (!at->pending && (node = pd__names_next(node))) {
    at->node = node;
    if (pd__flag_get_retained_value(node, &at->retained)) return true;
    at->pending = get_first_pending(node);
  }
  return at->pending;
}

/* Goes to the value at `index`, from the one that was found last if nothing has changed since: who
 * lists all values takes one step for each. */
static bool find_waiting_at(size_t index, waiting_value *out) {
  static struct {
    waiting_value at;
    size_t index;
    uint64_t pending_revision, values_revision;
    bool found;
  } last;
  bool same = last.pending_revision == revision && last.values_revision == pd__values_revision;
  if (!last.found || !same || index < last.index) {
    last.at = (waiting_value){.node = NULL};
    last.found = advance_to_next_waiting(&last.at);
    last.index = 0;
    last.pending_revision = revision;
    last.values_revision = pd__values_revision;
  }
  waiting_value at = last.at;
  bool found = last.found;
  for (size_t left = index - last.index; found && left > 0; left--)
    found = advance_to_next_waiting(&at);
  if (!found) return false;
  last.at = *out = at;
  last.index = index;
  return true;
}

/* Interns the texts, as the caller may keep them for as long as it likes. */
static bool fill_pending_info(const pd__pending *at, pd_pending_info *info) {
  info->name = pd__intern_text(at->name);
  info->text = pd__intern_text(at->text);
  info->origin = at->origin;
  info->origin.place = pd__intern_text(at->origin.place);
  return info->name && (info->text || !at->text) && (info->origin.place || !at->origin.place);
}

/* The text of a string is stored for good, and may be a secret. */
static bool fill_retained_info(const waiting_value *at, pd_pending_info *info) {
  char buffer[PD__NUMBER_SIZE];
  pd_type type = at->retained.type;
  const char *text = pd__value_get_text(type, at->retained.value, buffer);
  info->name = pd__intern_text(pd__flag_name(at->node));
  info->text = type == PD_TYPE_string ? text : pd__intern_text(text);
  info->origin = at->retained.origin;
  info->sensitive = at->retained.sensitive;
  return info->name && info->text;
}

pd_status pd_pending_get(size_t index, pd_pending_info *info, pd_error *err) {
  pd_pending_info found = {.size = sizeof found};
  waiting_value at;
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_pending_info, origin), "info", err);
  if (status != PD_OK) return status;
  pd__platform_lock();
  bool is_there = find_waiting_at(index, &at);
  bool shown = is_there && (at.pending ? fill_pending_info(at.pending, &found)
                                       : fill_retained_info(&at, &found));
  pd__platform_unlock();
  if (!is_there) {
    return pd__fail(err, PD_ERR_ARGUMENT, "there is no pending value %zu", index);
  }
  if (!shown) return pd__fail_memory(err);
  pd__sized_copy_out(info, &found, sizeof found);
  return PD_OK;
}

/* Leaves the value out: it may be a secret, and only the definition would say so. */
static void report_undefined_flag(const waiting_value *at, pd__report *report) {
  char source[PD__SOURCE_SIZE], suggestion[PD__SUGGESTION_SIZE];
  const char *name = at->pending ? at->pending->name : pd__flag_name(at->node);
  const pd_origin *origin = at->pending ? &at->pending->origin : &at->retained.origin;
  pd__suggest_name(name, strlen(name), "", suggestion);
  pd__report_fail(report, PD_ERR_UNDEFINED, "%s: the flag is not defined%s",
                  pd__origin_write_message_subject(name, origin, source), suggestion);
}

/* Returns whether nobody wants the value, and that isn't excused. */
static bool is_reported_undefined(const waiting_value *at) {
  const pd__pending *given = at->pending;
  if (!given) return true;
  bool claimed =
      given->negated || pd__flag_def(pd__resolve_alias(given->node)); /* waits for a validator */
  return !given->ignore_undefined && !claimed;
}

/* The suggestion for each one costs a search through all names. */
#define UNCLAIMED_SHOWN 100

pd_status pd_pending_check(pd_error_list *errors, pd_error *err) {
  pd__report report = {.list = errors, .first = err};
  waiting_value at = {.node = NULL};
  size_t count = 0;
  pd__platform_lock();
  while (advance_to_next_waiting(&at)) {
    if (is_reported_undefined(&at) && count++ < UNCLAIMED_SHOWN)
      report_undefined_flag(&at, &report);
  }
  if (count > UNCLAIMED_SHOWN) {
    pd__report_fail(&report, PD_ERR_UNDEFINED,
                    "%zu more values are pending for flags that are not defined",
                    count - UNCLAIMED_SHOWN);
  }
  if (pd__report_waiting) pd__report_waiting(&report);
  pd__platform_unlock();
  return report.status;
}
