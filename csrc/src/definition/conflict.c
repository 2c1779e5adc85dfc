#include "definition.h"

#include <stdio.h>
#include <string.h>

/* "int32 at alpha.c:12 in libalpha.so", or the parts of it that are known. */
#define PLACE_SIZE 320

static const char *write_cell_location(const pd__cell *cell, char out[PLACE_SIZE]) {
  const pd_flag_def *def = cell->def;
  const pd_module *image = pd__cell_module(cell);
  const char *module = def->module;
  if (!module) module = image ? pd__module_path(image) : "";
  snprintf(out, PLACE_SIZE, "%s", pd_type_name(def->type));
  if (def->file) pd__append_format(out, PLACE_SIZE, " at %s", pd__path_tail(def->file, 100));
  if (def->file && def->line) pd__append_format(out, PLACE_SIZE, ":%u", def->line);
  if (*module) pd__append_format(out, PLACE_SIZE, " in %s", pd__path_tail(module, 160));
  return out;
}

/* ---- How two definitions differ ---- */

static bool is_equal_text(const char *a, const char *b) {
  return !a || !b ? (!a || !*a) && (!b || !*b) : !strcmp(a, b);
}

/* ": default 6, not 5; hidden": the differences of two definitions from one line of source, whose
 * places look alike. */
#define DIFFERENCES_SIZE 420

static const char *get_separator(const char *found) { return *found ? "; " : ": "; }

static void append_difference(char found[DIFFERENCES_SIZE], const char *what, const char *mine,
                              const char *theirs) {
  pd__append_format(found, DIFFERENCES_SIZE, "%s%s %s, not %s", get_separator(found), what, mine,
                    theirs);
}

static const char *quoted_or_none(const char *text, char out[PD__ESCAPED_SIZE + 2]) {
  char escaped[PD__ESCAPED_SIZE];
  if (!text || !*text) return "none";
  snprintf(out, PD__ESCAPED_SIZE + 2, "'%s'", pd__escape_text(escaped, text));
  return out;
}

static void append_text_difference(char found[DIFFERENCES_SIZE], const char *what, const char *mine,
                                   const char *theirs) {
  char own[PD__ESCAPED_SIZE + 2], other[PD__ESCAPED_SIZE + 2];
  if (is_equal_text(mine, theirs)) return;
  append_difference(found, what, quoted_or_none(mine, own), quoted_or_none(theirs, other));
}

static void append_mark_difference(char found[DIFFERENCES_SIZE], const char *what, bool mine,
                                   bool theirs) {
  if (mine != theirs)
    pd__append_format(found, DIFFERENCES_SIZE, "%s%s%s", get_separator(found), mine ? "" : "not ",
                      what);
}

static void append_default_difference(char found[DIFFERENCES_SIZE], const pd_flag_def *mine,
                                      const pd_flag_def *theirs) {
  char own[PD__DEFAULT_SIZE], other[PD__DEFAULT_SIZE];
  if (pd__value_is_equal(mine->type, mine->default_value, theirs->default_value)) return;
  if (mine->sensitive || theirs->sensitive) {
    pd__append_format(found, DIFFERENCES_SIZE, "%sanother default", get_separator(found));
  } else {
    append_difference(found, "default", pd__def_format_default(mine, own),
                      pd__def_format_default(theirs, other));
  }
}

static const char *write_range(const pd_flag_def *def, char out[2 * PD__NUMBER_SIZE]) {
  char min[PD__NUMBER_SIZE], max[PD__NUMBER_SIZE];
  snprintf(out, (size_t)2 * PD__NUMBER_SIZE, "[%s, %s]",
           pd__value_get_text(def->type, def->min, min),
           pd__value_get_text(def->type, def->max, max));
  return out;
}

static void append_range_difference(char found[DIFFERENCES_SIZE], const pd_flag_def *mine,
                                    const pd_flag_def *theirs) {
  char own[2 * PD__NUMBER_SIZE], other[2 * PD__NUMBER_SIZE];
  bool same = pd__value_is_equal(mine->type, mine->min, theirs->min) &&
              pd__value_is_equal(mine->type, mine->max, theirs->max);
  if (same || !pd__type_has_range(pd__type_of(mine->type))) return;
  append_difference(found, "range", write_range(mine, own), write_range(theirs, other));
}

static const char *get_item_type_name(const pd_flag_def *def) {
  return def->list ? pd_type_name((pd_type)def->list) : "none";
}

/* If the type or the file differs, the places in the message show it already. */
static bool is_same_type_and_file(const pd_flag_def *a, const pd_flag_def *b) {
  return a->type == b->type && is_equal_text(pd__base_name(a->file), pd__base_name(b->file));
}

#define DIFFER_IN_TEXT(name, words, kind, about)                                                   \
  append_text_difference(found, words, mine->name, theirs->name);
#define DIFFER_IN_MARK(name, words, about)                                                         \
  append_mark_difference(found, words, mine->name, theirs->name);

static void list_definition_differences(const pd_flag_def *mine, const pd_flag_def *theirs,
                                        char found[DIFFERENCES_SIZE]) {
  found[0] = '\0';
  append_text_difference(found, "name", mine->name, theirs->name);
  append_default_difference(found, mine, theirs);
  append_range_difference(found, mine, theirs);
  if (mine->list != theirs->list)
    append_difference(found, "list items", get_item_type_name(mine), get_item_type_name(theirs));
  PD_TEXT_MAP(DIFFER_IN_TEXT)
  PD_MARK_MAP(DIFFER_IN_MARK)
  append_text_difference(found, "help", mine->help, theirs->help);
}

bool pd__def_is_same(const pd_flag_def *a, const pd_flag_def *b) {
  char found[DIFFERENCES_SIZE];
  if (!is_same_type_and_file(a, b)) return false;
  list_definition_differences(a, b, found);
  return !*found;
}

/* ---- Names ---- */

/* Returns the definition that already has the name `node`, from the registry or from the batch. */
static const pd__cell *find_holder(const pd__definition_batch *batch, const pd_flag *node) {
  const pd_flag *flag = pd__resolve_alias((pd_flag *)node);
  if (pd__flag_def(flag) && flag != batch->names.replaced) return pd__flag_get_first_cell(flag);
  const pd__cell *cell = batch->cells;
  while (cell->def->kind == PD_KIND_IMPORT || !pd__def_has_name(cell->def, node)) cell++;
  return cell;
}

pd_status pd__fail_conflict(pd__definition_batch *batch, const pd_flag *node) {
  const pd__cell *cell = batch->cell, *holder = find_holder(batch, node);
  char mine[PLACE_SIZE], theirs[PLACE_SIZE], as[PD__ESCAPED_SIZE + 32] = "";
  char escaped[PD__ESCAPED_SIZE], other[PD__ESCAPED_SIZE], found[DIFFERENCES_SIZE] = "";
  write_cell_location(cell, mine);
  write_cell_location(holder, theirs);
  if (pd__cell_flag(cell) != node) {
    snprintf(as, sizeof as, "as an alias of '%s', ", pd__escape_text(escaped, cell->def->name));
  }
  pd__escape_text(escaped, pd__flag_name(node));
  if (holder == cell) {
    return pd__fail(&batch->err, PD_ERR_CONFLICT, "'%s' is named twice in one definition: %s%s",
                    escaped, as, mine);
  }
  if (pd__cell_flag(holder) == node) {
    if (!*as && is_same_type_and_file(cell->def, holder->def))
      list_definition_differences(cell->def, holder->def, found);
    return pd__fail(&batch->err, PD_ERR_CONFLICT, "'%s' is already defined, %s; refused: %s%s%s",
                    escaped, theirs, as, mine, found);
  }
  return pd__fail(&batch->err, PD_ERR_CONFLICT,
                  "'%s' is already an alias of '%s', %s; refused: %s%s", escaped,
                  pd__escape_text(other, holder->def->name), theirs, as, mine);
}

pd_status pd__flag_check_can_unregister(const pd_flag *flag, pd_error *err) {
  char place[PLACE_SIZE], escaped[PD__ESCAPED_SIZE];
  const pd__cell *cell = pd__flag_get_first_cell(flag);
  while (cell && (cell->def->kind == PD_KIND_IMPORT || cell->registered)) cell = cell->next;
  if (!cell) return PD_OK;
  return pd__fail(err, PD_ERR_CONFLICT, "'%s' stays defined until its module is unloaded: %s",
                  pd__escape_text(escaped, pd__flag_name(flag)), write_cell_location(cell, place));
}

/* ---- Negation ---- */

/* Returns the definition that has the name, from the registry or from the batch; NULL if the name
 * is free. */
static const pd__cell *find_name_holder(const pd__definition_batch *batch, const char *name,
                                        size_t length) {
  pd_flag *node = pd__names_find(name, length);
  bool taken = node && pd__name_is_reserved(&batch->names, node);
  return taken ? find_holder(batch, node) : NULL;
}

/* Fails unless `holder` is NULL: as an argument, the name would turn off the flag whose name is
 * what remains after the first `skip` bytes. */
static pd_status check_no_negation_holder(pd__definition_batch *batch, const char *name,
                                          size_t length, size_t prefix, const pd__cell *holder) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE], escaped[PD__ESCAPED_SIZE], other[PD__ESCAPED_SIZE];
  if (!holder) return PD_OK;
  return pd__fail(&batch->err, PD_ERR_CONFLICT,
                  "--%s would be the flag '%s' and turn the flag '%s' off; already defined: %s; "
                  "refused: %s",
                  pd__escape_part(escaped, name, length), escaped,
                  pd__escape_part(other, name + prefix, length - prefix),
                  write_cell_location(holder, theirs), write_cell_location(batch->cell, mine));
}

/* Fails if the negation of the bool, --nox or --no_x, is already the name of a flag. */
static pd_status check_negations_free(pd__definition_batch *batch, const pd__naming *of) {
  char text[PD_NAME_MAX + 4];
  pd_status status = PD_OK;
  for (size_t skip = 3; status == PD_OK && skip > 1; skip--) {
    size_t length = skip + of->length;
    snprintf(text, sizeof text, "%.*s%.*s", (int)skip, "no_", (int)of->length, of->name);
    status =
        check_no_negation_holder(batch, text, length, skip, find_name_holder(batch, text, length));
  }
  return status;
}

/* Fails if the name, which begins with "no", is the negation of a bool that exists. */
static pd_status check_not_negation(pd__definition_batch *batch, const pd__naming *of) {
  size_t most = of->name[2] == '-' || of->name[2] == '_' ? 3 : 2;
  pd_status status = PD_OK;
  for (size_t skip = 2; status == PD_OK && skip < of->length && skip <= most; skip++) {
    const pd__cell *holder = find_name_holder(batch, of->name + skip, of->length - skip);
    if (holder && holder->def->type != PD_TYPE_bool) continue;
    status = check_no_negation_holder(batch, of->name, of->length, skip, holder);
  }
  return status;
}

/* ---- Imports ---- */

static pd_status check_earlier_import_types(pd__definition_batch *batch, const pd_flag *node) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE];
  const pd__cell *cell = batch->cell, *import = pd__flag_get_first_cell(node);
  bool checked = pd__flag_def(node) || pd__resolve_alias((pd_flag *)node) != node;
  if (checked && node != batch->names.replaced) return PD_OK;
  while (import && (import->def->kind == PD_KIND_DEFINE || import->def->type == cell->def->type)) {
    import = import->next;
  }
  if (!import) return PD_OK;
  return pd__fail(&batch->err, PD_ERR_TYPE,
                  "'%s' is already imported, as %s; expected %s, refused: %s", import->def->name,
                  write_cell_location(import, theirs), pd_type_name(import->def->type),
                  write_cell_location(cell, mine));
}

pd_status pd__check_new_name(pd__definition_batch *batch, const pd__naming *of,
                             const pd_flag *node) {
  pd_status status = PD_OK;
  bool negates = of->length > 2 && of->name[0] == 'n' && of->name[1] == 'o';
  if (batch->cell->def->type == PD_TYPE_bool) status = check_negations_free(batch, of);
  if (status == PD_OK && negates) status = check_not_negation(batch, of);
  if (status != PD_OK || !pd__flag_get_first_cell(node)) return status;
  return check_earlier_import_types(batch, node);
}

pd_status pd__check_import_matches_definition(pd__definition_batch *batch) {
  char mine[PLACE_SIZE], theirs[PLACE_SIZE];
  const pd_flag_def *def = batch->cell->def;
  const pd__cell *holder = find_name_holder(batch, def->name, strlen(def->name));
  if (!holder) return PD_OK;
  if (holder->def->type == def->type && holder->def->scoped && def->cell && !def->scoped_cell) {
    return pd__fail(&batch->err, PD_ERR_TYPE,
                    "'%s' is scoped, defined in %s; refused: import in %s, expected "
                    "PD_IMPORT_SCOPED_%s",
                    def->name, write_cell_location(holder, theirs),
                    write_cell_location(batch->cell, mine), pd_type_name(def->type));
  }
  if (holder->def->type == def->type) return PD_OK;
  return pd__fail(&batch->err, PD_ERR_TYPE, "'%s' is %s; refused: import as %s", def->name,
                  write_cell_location(holder, theirs), write_cell_location(batch->cell, mine));
}
