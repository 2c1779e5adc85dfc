#include "definition.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool same_text(const char *a, const char *b) {
  return !a || !b ? (!a || !*a) && (!b || !*b) : !strcmp(a, b);
}

static const char *base_name(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path;
}

static bool same_range(const pd_flag_def *a, const pd_flag_def *b) {
  if (!pd__type_has_range(pd__type_of(a->type))) return true;
  return pd__value_equal(a->type, a->min, b->min) && pd__value_equal(a->type, a->max, b->max);
}

#define SAME_MARK(name, words, about) &&a->name == b->name
#define SAME_TEXT(name, words, kind, about) &&same_text(a->name, b->name)

static bool same_attributes(const pd_flag_def *a, const pd_flag_def *b) {
  return a->list == b->list PD_MARK_MAP(SAME_MARK) PD_TEXT_MAP(SAME_TEXT);
}

bool pd__def_same(const pd_flag_def *a, const pd_flag_def *b) {
  return a->type == b->type && !strcmp(a->name, b->name) &&
         pd__value_equal(a->type, a->default_value, b->default_value) && same_range(a, b) &&
         same_text(a->help, b->help) && same_text(base_name(a->file), base_name(b->file)) &&
         same_attributes(a, b);
}

static const char *module_of(const pd__cell *cell) {
  if (cell->def->module) return cell->def->module;
  return cell->module ? cell->module->path : "";
}

/* The end of a path tells more than its beginning. */
static const char *tail(const char *path, size_t most) {
  size_t length = strlen(path);
  return length > most ? path + length - most : path;
}

/* "int32 at alpha.c:12 in libalpha.so", as much of it as is known. */
#define PLACE_SIZE 320
static void place_of(const pd_flag_def *def, const char *module, char out[PLACE_SIZE]) {
  size_t used = (size_t)snprintf(out, PLACE_SIZE, "%s", pd__type_name(def->type));
  if (def->file) {
    used += (size_t)snprintf(out + used, PLACE_SIZE - used, " at %s", tail(def->file, 100));
    if (def->line) used += (size_t)snprintf(out + used, PLACE_SIZE - used, ":%u", def->line);
  }
  if (*module) snprintf(out + used, PLACE_SIZE - used, " in %s", tail(module, 160));
}

static bool is_among(const char *aliases, const pd_flag *node) {
  bool found = false;
  for (const char *cursor = pd__list_begin(aliases); !found && cursor;) {
    const char *alias = cursor;
    found = pd__names_find(alias, pd__list_next(&cursor)) == node;
  }
  return found;
}

static bool names(const pd_flag_def *def, const pd_flag *node) {
  return pd__names_find(def->name, strlen(def->name)) == node || is_among(def->aliases, node) ||
         is_among(def->old_names, node);
}

static void place_of_cell(const pd__cell *cell, char out[PLACE_SIZE]) {
  place_of(cell->def, module_of(cell), out);
}

static bool is_alias(const pd_flag *node) { return node->extra && node->extra->alias_of; }

/* The definition that has `node` already: of the registry or of the batch. */
static const pd__cell *holder_of(const pd_flag *node, const pd__batch *batch) {
  const pd_flag *flag = pd__flag_meant((pd_flag *)node);
  const pd__cell *cell = pd__flag_def(flag) ? flag->cells : batch->cells;
  if (flag->defined) {
    while (cell->def != pd__flag_def(flag)) cell = cell->next;
  } else {
    while (cell->def->kind == PD_KIND_IMPORT || !names(cell->def, node)) cell++;
  }
  return cell;
}

/* Add ": default 6, not 5; another help text": how two definitions of one line of
 * source differ, whose places look alike. */
#define DIFFERENCES_SIZE 420
typedef struct differences {
  size_t used;
  char text[DIFFERENCES_SIZE];
} differences;

__attribute__((format(printf, 2, 3))) static void differ(differences *found, const char *format,
                                                         ...) {
  size_t room = DIFFERENCES_SIZE - found->used;
  va_list arguments;
  int joint = snprintf(found->text + found->used, room, "%s", found->used ? "; " : ": ");
  if ((size_t)joint >= room) return;
  va_start(arguments, format);
  int more = vsnprintf(found->text + found->used + joint, room - (size_t)joint, format, arguments);
  va_end(arguments);
  size_t whole = found->used + (size_t)joint + (size_t)more;
  found->used = whole < DIFFERENCES_SIZE ? whole : DIFFERENCES_SIZE - 1;
}

static const char *quoted_or_none(const char *text, char out[PD__QUOTE_SIZE + 2]) {
  char quoted[PD__QUOTE_SIZE];
  if (!text || !*text) return "none";
  snprintf(out, PD__QUOTE_SIZE + 2, "'%s'", pd__quote(quoted, text));
  return out;
}

static void differ_in_text(differences *found, const char *what, const char *mine,
                           const char *theirs) {
  char own[PD__QUOTE_SIZE + 2], other[PD__QUOTE_SIZE + 2];
  if (same_text(mine, theirs)) return;
  differ(found, "%s %s, not %s", what, quoted_or_none(mine, own), quoted_or_none(theirs, other));
}

static void differ_in_default(differences *found, const pd_flag_def *mine,
                              const pd_flag_def *theirs) {
  char own[PD__QUOTE_SIZE], other[PD__QUOTE_SIZE], number[PD__NUMBER_SIZE];
  pd_type type = mine->type;
  const char *quote = type == PD_TYPE_string ? "'" : "";
  if (pd__value_equal(type, mine->default_value, theirs->default_value)) return;
  if (mine->sensitive || theirs->sensitive) {
    differ(found, "another default");
    return;
  }
  pd__quote(own, pd__value_text(type, mine->default_value, number));
  pd__quote(other, pd__value_text(type, theirs->default_value, number));
  differ(found, "default %s%s%s, not %s%s%s", quote, own, quote, quote, other, quote);
}

static void differ_in_range(differences *found, const pd_flag_def *mine,
                            const pd_flag_def *theirs) {
  char text[4][PD__NUMBER_SIZE];
  pd_type type = mine->type;
  differ(found, "range [%s, %s], not [%s, %s]", pd__value_text(type, mine->min, text[0]),
         pd__value_text(type, mine->max, text[1]), pd__value_text(type, theirs->min, text[2]),
         pd__value_text(type, theirs->max, text[3]));
}

static const char *item_type(const pd_flag_def *def) {
  return def->list ? pd__type_name((pd_type)def->list) : "none";
}

#define DIFFER_IN_TEXT(name, words, kind, about)                                                   \
  differ_in_text(found, words, mine->name, theirs->name);
#define DIFFER_IN_MARK(name, words, about)                                                         \
  if (mine->name != theirs->name) differ(found, mine->name ? words : "not " words);

static void compare(const pd_flag_def *mine, const pd_flag_def *theirs, differences *found) {
  bool same_file = same_text(base_name(mine->file), base_name(theirs->file));
  if (!same_file || theirs->type != mine->type) return; /* the places tell */
  differ_in_text(found, "name", mine->name, theirs->name);
  differ_in_default(found, mine, theirs);
  if (!same_range(mine, theirs)) differ_in_range(found, mine, theirs);
  if (mine->list != theirs->list) {
    differ(found, "list items %s, not %s", item_type(mine), item_type(theirs));
  }
  PD_TEXT_MAP(DIFFER_IN_TEXT)
  PD_MARK_MAP(DIFFER_IN_MARK)
  differ_in_text(found, "help", mine->help, theirs->help);
}

pd_status pd__conflict(const pd__cell *cell, const pd_flag *node, const pd__batch *batch,
                       pd_error *err) {
  const pd__cell *holder = holder_of(node, batch);
  char mine[PLACE_SIZE], theirs[PLACE_SIZE], as[PD__QUOTE_SIZE + 32] = "";
  char quoted[PD__QUOTE_SIZE], other[PD__QUOTE_SIZE];
  differences found = {0, ""};
  place_of_cell(cell, mine);
  place_of_cell(holder, theirs);
  if (pd__names_find(cell->def->name, strlen(cell->def->name)) != node) {
    snprintf(as, sizeof as, "as an alias of '%s', ", pd__quote(quoted, cell->def->name));
  }
  pd__quote(quoted, node->name);
  if (holder == cell) {
    return pd__fail(err, PD_ERR_CONFLICT, "'%s' is named twice in one definition: %s%s", quoted, as,
                    mine);
  }
  if (pd__names_find(holder->def->name, strlen(holder->def->name)) == node) {
    if (!*as) compare(cell->def, holder->def, &found);
    return pd__fail(err, PD_ERR_CONFLICT, "'%s' is defined already, %s; refused: %s%s%s", quoted,
                    theirs, as, mine, found.text);
  }
  return pd__fail(err, PD_ERR_CONFLICT, "'%s' is an alias of '%s' already, %s; refused: %s%s",
                  quoted, pd__quote(other, holder->def->name), theirs, as, mine);
}

/* ---- Negation ---- */

/* The flag that has the name: of the registry, or a definition under way. */
static const pd__cell *holder_of_name(const char *name, size_t length, const pd__batch *batch) {
  const pd_flag *node = pd__names_find(name, length);
  if (!node) return NULL;
  bool taken = node->defined || is_alias(node) || node->claim == batch->claim;
  return taken ? holder_of(node, batch) : NULL;
}

static pd_status ambiguous(const pd__cell *cell, const char *whole, const char *negated,
                           const pd__cell *holder, pd_error *err) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE], quoted[PD__QUOTE_SIZE], other[PD__QUOTE_SIZE];
  place_of_cell(cell, mine);
  place_of_cell(holder, theirs);
  return pd__fail(err, PD_ERR_CONFLICT,
                  "--%s would be the flag '%s' and turn the flag '%s' off; defined already: %s; "
                  "refused: %s",
                  pd__quote(quoted, whole), quoted, pd__quote(other, negated), theirs, mine);
}

/* A flag that the bool's --nox or --no_x would be. */
static pd_status check_negations(const pd__cell *cell, const char *name, size_t length,
                                 const pd__batch *batch, pd_error *err) {
  char text[PD_NAME_MAX + 4];
  memcpy(text, "no_", 3);
  memcpy(text + 3, name, length);
  text[3 + length] = '\0';
  for (size_t more = 3; more > 1; more--) {
    char *negated = text + 3 - more;
    memcpy(negated, "no", 2);
    const pd__cell *holder = holder_of_name(negated, length + more, batch);
    if (holder) return ambiguous(cell, negated, text + 3, holder, err);
  }
  return PD_OK;
}

/* A bool that the name, which begins with no, would turn off. */
static pd_status check_negated(const pd__cell *cell, const char *name, size_t length,
                               const pd__batch *batch, pd_error *err) {
  char own[PD_NAME_MAX + 1];
  memcpy(own, name, length);
  own[length] = '\0';
  bool dash = own[2] == '-' || own[2] == '_';
  for (size_t skip = 2; skip < length && skip < 3 + (size_t)dash; skip++) {
    const pd__cell *holder = holder_of_name(own + skip, length - skip, batch);
    if (holder && holder->def->type == PD_TYPE_bool) {
      return ambiguous(cell, own, own + skip, holder, err);
    }
  }
  return PD_OK;
}

pd_status pd__conflict_negation(const pd__cell *cell, const char *name, size_t length,
                                const pd__batch *batch, pd_error *err) {
  pd_status status = PD_OK;
  if (cell->def->type == PD_TYPE_bool) status = check_negations(cell, name, length, batch, err);
  bool negates = length > 2 && name[0] == 'n' && name[1] == 'o';
  return status == PD_OK && negates ? check_negated(cell, name, length, batch, err) : status;
}

/* ---- Imports ---- */

pd_status pd__conflict_import(const pd__cell *cell, const pd_flag *node, pd_error *err) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE];
  const pd__cell *import = node->cells;
  if (node->defined || !import || is_alias(node)) {
    return PD_OK; /* its imports were checked */
  }
  for (; import; import = import->next) {
    if (import->def->type == cell->def->type) continue;
    place_of_cell(cell, mine);
    place_of_cell(import, theirs);
    return pd__fail(err, PD_ERR_TYPE, "'%s' is imported already, as %s; expected %s, refused: %s",
                    import->def->name, theirs, pd__type_name(import->def->type), mine);
  }
  return PD_OK;
}

pd_status pd__conflict_of_import(const pd__cell *cell, const pd__batch *batch, pd_error *err) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE];
  const pd__cell *holder = holder_of_name(cell->def->name, strlen(cell->def->name), batch);
  if (!holder || holder->def->type == cell->def->type) return PD_OK;
  place_of_cell(cell, mine);
  place_of_cell(holder, theirs);
  return pd__fail(err, PD_ERR_TYPE, "'%s' is %s; refused: import as %s", cell->def->name, theirs,
                  mine);
}
