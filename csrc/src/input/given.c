#include "given.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../definition/pending.h"

/* A line of a million wrong words must not fill the memory with their errors. */
#define ERRORS_SHOWN 100

struct pd__finding {
  pd_error *error; /* malloc'ed; NULL: no flag has the item's name */
  pd__item item;
};

/* ---- Findings ---- */

static pd__finding *find(pd__given *given) {
  if (given->count == given->capacity) {
    size_t capacity = given->capacity ? 2 * given->capacity : 8;
    pd__finding *findings = realloc(given->findings, capacity * sizeof *findings);
    if (!findings) {
      given->out_of_memory = true;
      return NULL;
    }
    given->findings = findings;
    given->capacity = capacity;
  }
  return &given->findings[given->count++];
}

static void find_error(pd__given *given, const pd_error *err) {
  if (given->errors++ >= ERRORS_SHOWN) return;
  pd__finding *finding = find(given);
  if (!finding) return;
  *finding = (pd__finding){.error = malloc(sizeof *err)};
  if (finding->error) {
    *finding->error = *err;
  } else {
    given->out_of_memory = true;
    given->count--;
  }
}

void pd__given_fail(pd__given *given, pd_status status, const char *format, ...) {
  char message[sizeof(((pd_error *)0)->message)];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  pd_error err;
  pd__fail(&err, status, "%s", message);
  find_error(given, &err);
}

/* ---- Items ---- */

pd__item pd__item_split(const char *word) {
  pd__item item = {.dashes = word[1] == '-' ? "--" : "-"};
  item.name = word + (word[1] == '-' ? 2 : 1);
  const char *equals = strchr(item.name, '=');
  item.length = equals ? (size_t)(equals - item.name) : strlen(item.name);
  if (equals) item.text = equals + 1;
  return item;
}

pd__meaning pd__item_resolve(const pd__item *item) {
  pd_flag *node = pd__names_resolve(item->name, item->length);
  if (node) return (pd__meaning){pd__flag_meant(node), node, false};
  pd__meaning none = {NULL, NULL, false};
  if (!*item->dashes || item->length < 3 || strncmp(item->name, "no", 2) != 0) return none;
  node = pd__names_resolve(item->name + 2, item->length - 2);
  bool dash = item->name[2] == '-' || item->name[2] == '_';
  if (!node && dash) node = pd__names_resolve(item->name + 3, item->length - 3);
  pd_flag *flag = node ? pd__flag_meant(node) : NULL;
  return (pd__meaning){flag, flag, flag != NULL};
}

const char *pd__item_shown(const pd__item *item, char out[PD__SOURCE_SIZE]) {
  char place[PD__PLACE_SIZE], name[PD__QUOTE_SIZE], shown[PD_NAME_MAX + 2];
  size_t length = item->length <= PD_NAME_MAX ? item->length : PD_NAME_MAX + 1;
  snprintf(shown, sizeof shown, "%.*s", (int)length, item->name);
  pd__quote(name, shown);
  if (!strcmp(item->dashes, "--")) return pd__source_of(name, &item->origin, out);
  snprintf(out, PD__SOURCE_SIZE, "%s%s%s", pd__place_of(&item->origin, place), item->dashes, name);
  return out;
}

void pd__given_text(pd__given *given, pd_flag *node, const char *text, const pd_origin *origin) {
  pd_error err;
  pd_status status = pd__changes_try(&given->changes, node, text, (pd_value){0}, origin, &err);
  if (status != PD_OK) find_error(given, &err);
}

static void add(pd__given *given, pd_flag *node, const pd__item *item, const char *text) {
  pd_error err;
  if (item->literal && pd__literal_check(node, text, item->literal, &item->origin, &err) != PD_OK) {
    find_error(given, &err);
  } else {
    pd__given_text(given, node, text, &item->origin);
  }
}

static void add_negated(pd__given *given, pd_flag *flag, const pd__item *item) {
  char source[PD__SOURCE_SIZE];
  if (pd__flag_def(flag)->type != PD_TYPE_bool) {
    pd__given_fail(given, PD_ERR_ARGV, "%s: %s is %s, and only a bool can be negated",
                   pd__item_shown(item, source), pd__flag_def(flag)->name,
                   pd_type_name(flag->type));
  } else if (item->text) {
    pd__given_fail(given, PD_ERR_ARGV, "%s: takes no value; write --%s=true or --%s=false",
                   pd__item_shown(item, source), pd__flag_def(flag)->name,
                   pd__flag_def(flag)->name);
  } else {
    add(given, flag, item, "false");
  }
}

static void fail_missing(pd__given *given, const pd_flag *flag, const char *name,
                         const pd__item *item) {
  char expected[256], quoted[PD__QUOTE_SIZE], source[PD__SOURCE_SIZE];
  pd__value_expected(pd__flag_def(flag), expected, sizeof expected);
  pd__source_of(name, &item->origin, source);
  if (item->next && !pd__flag_def(flag)->sensitive) {
    pd__given_fail(given, PD_ERR_ARGV,
                   "%s: the value is missing before %s, expected %s; a value that begins with a "
                   "dash is written --%s=VALUE",
                   source, pd__quote(quoted, item->next), expected, name);
  } else {
    pd__given_fail(given, PD_ERR_ARGV, "%s: the value is missing, expected %s", source, expected);
  }
}

void pd__given_take(pd__given *given, const pd__item *item, const pd__meaning *meaning) {
  pd_flag *flag = meaning->flag;
  if (item->status != PD_OK) {
    pd__given_fail(given, item->status, "%s", item->text);
  } else if (!flag) {
    pd__finding *finding = find(given);
    if (finding) *finding = (pd__finding){.item = *item};
  } else if (meaning->negated) {
    add_negated(given, flag, item);
  } else if (item->text) {
    add(given, meaning->node, item, item->text);
  } else if (pd__flag_def(flag)->type == PD_TYPE_bool) {
    add(given, meaning->node, item, "true");
  } else {
    fail_missing(given, flag, meaning->node->name, item);
  }
}

/* The place is where the value stood: nothing is wrong there now. */
static void fail_kept(pd__given *given, const pd_flag *flag, const pd_origin *origin) {
  char place[PD__PLACE_SIZE];
  size_t length = strlen(pd__place_of(origin, place));
  if (length > 2) length -= 2; /* ": " */
  pd__given_fail(given, PD_ERR_FROZEN, "--%s: %s, and the file no longer gives its value%s%.*s%s",
                 pd__flag_def(flag)->name,
                 flag->frozen ? "is frozen" : "can be set at startup only", length ? " (" : "",
                 (int)length, place, length ? ")" : "");
}

void pd__given_drop_source(pd__given *given, pd_flag *flag, pd_source source) {
  pd_error err;
  pd__report wrong = {.first = &err};
  pd__entry room;
  const pd__entry *entry = pd__flag_entry_of(flag, source, &room);
  if (!entry) return;
  pd_origin origin = pd__entry_origin(entry);
  if (pd__flag_check_open(flag, &origin, NULL) != PD_OK) {
    fail_kept(given, flag, &origin);
    return;
  }
  given->changes.report = &wrong;
  pd__changes_drop(&given->changes, flag, source);
  if (wrong.status != PD_OK) find_error(given, &err);
}

/* ---- The end ---- */

static void report_unknown(pd__given *given, const pd__item *item) {
  char hint[PD__HINT_SIZE], source[PD__SOURCE_SIZE];
  size_t before = strlen(item->dashes);
  bool word = before && item->dashes[before - 1] == '-'; /* or what --fromenv= lists, or a key */
  pd__names_hint(item->name, item->length, word ? "--" : NULL, hint);
  bool number = *item->name == '.' || (*item->name >= '0' && *item->name <= '9');
  if (!*hint && number && word && !item->origin.place) {
    snprintf(hint, sizeof hint, "; arguments that begin with a dash go after --");
  }
  pd__report_fail(&given->report, PD_ERR_UNDEFINED, "%s: no such flag%s",
                  pd__item_shown(item, source), hint);
}

/* Make what is to wait. False: no flag can ever have the name. */
static bool let_wait(pd__given *given, const pd__item *item, bool excused) {
  pd__pending *made;
  pd_error err;
  pd_status status = pd__pending_prepare(item->name, item->length, item->text, item->next,
                                         &item->origin, &made, &err);
  if (status == PD_ERR_NAME) return false;
  if (status == PD_OK) {
    made->literal = item->literal;
    made->excused = excused;
    made->following = given->pending;
    given->pending = made;
  } else {
    pd__report_add(&given->report, &err);
  }
  return true;
}

/* Unloading a module takes its flags from those who have files with values for them. */
static bool has_gone(const pd__given *given, const pd__item *item) {
  if (!given->renews_files || item->origin.source != PD_SOURCE_FILE) return false;
  const pd_flag *node = pd__names_find(item->name, item->length);
  return node && node->was_flag;
}

/* Whether the unknown name is no error. */
static bool pass(pd__given *given, const pd__item *item) {
  bool excused = pd__undefok_has(&given->undefok, item->name, item->length);
  bool waits = given->allow_pending || has_gone(given, item);
  return (waits && let_wait(given, item, excused)) || excused;
}

/* Without memory nothing that was found is sure. */
static void report_findings(pd__given *given) {
  size_t shown = 0, unknown = 0;
  if (given->out_of_memory) {
    pd_error err;
    pd__fail_memory(&err);
    pd__report_add(&given->report, &err);
    return;
  }
  pd__undefok_close(&given->undefok);
  for (size_t i = 0; i < given->count; i++) {
    pd__finding *finding = &given->findings[i];
    if (!finding->error && pass(given, &finding->item)) continue;
    unknown += !finding->error;
    if (shown == ERRORS_SHOWN) continue;
    shown++;
    if (finding->error) {
      pd__report_add(&given->report, finding->error);
    } else {
      report_unknown(given, &finding->item);
    }
  }
  size_t more = given->errors + unknown - shown;
  if (more > 0) {
    pd__report_fail(&given->report, PD_ERR_ARGV, "%zu more errors aren't shown", more);
  }
}

static void free_all(pd__given *given) {
  for (size_t i = 0; i < given->count; i++) free(given->findings[i].error);
  free(given->findings);
  pd__undefok_free(&given->undefok);
  given->findings = NULL;
  given->count = given->capacity = 0;
}

/* A flag that another thread has defined while the validators were asked didn't
 * find its value. */
static void keep(pd__pending *pending) {
  pd__item item = {.dashes = "--", .name = pending->name, .length = strlen(pending->name)};
  pd__pending_keep(pending);
  pd_flag *flag = pd__item_resolve(&item).flag;
  pd__report nobody = {.first = NULL};
  if (flag) pd__pending_apply(flag, &nobody);
}

/* Keep what waits in the order of the line, or drop it. */
static void finish_pending(pd__given *given, bool kept) {
  pd__pending *ordered = NULL;
  while (given->pending) {
    pd__pending *each = given->pending;
    given->pending = each->following;
    each->following = ordered;
    ordered = each;
  }
  while (ordered) {
    pd__pending *each = ordered;
    ordered = each->following;
    if (kept) {
      keep(each);
    } else {
      free(each);
    }
  }
}

pd_status pd__given_finish(pd__given *given) {
  report_findings(given);
  given->changes.report = &given->report;
  pd_status status = pd__changes_finish(&given->changes);
  if (status == PD_OK && given->renews_files) pd__pending_forget(PD_SOURCE_FILE);
  finish_pending(given, status == PD_OK);
  free_all(given);
  return status;
}

void pd__given_drop(pd__given *given) {
  pd__report dropped = {.status = PD_HELP};
  given->changes.report = &dropped;
  pd__changes_finish(&given->changes);
  free_all(given);
}
