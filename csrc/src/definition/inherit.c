/* The values of the fleet that whoever started the process has left in a file, for flags that no
 * module has defined yet. The variable PADDLE_FLAGS_FLEET_SNAPSHOT has its path.
 *
 * The file is a list of fields, each ended by a NUL, which no text can contain:
 *
 *     paddle_flags fleet 1
 *     the address of the fleet
 *     for each value: its name, its revision as a decimal number, its text
 *     an empty field, which is the last one
 *
 * It is read as a whole or not at all. */
#include <string.h>

#include "definition.h"
#include "pending.h"

#define VARIABLE "PADDLE_FLAGS_FLEET_SNAPSHOT"
#define BYTES_MOST 67108864u

/* ---- Reading ---- */

typedef struct snapshot_file {
  const char *path, *start, *at, *end;
  const char *place;   /* the address of the fleet */
  pd__pending *values; /* prepared */
  pd_error why;        /* of the first error, with its status */
} snapshot_file;

static bool fail_snapshot_at(snapshot_file *from, const char *at, const char *expected) {
  pd__fail(&from->why, PD_ERR_FILE, "byte %zu: expected %s", (size_t)(at - from->start), expected);
  return false;
}

static bool read_snapshot_field(snapshot_file *from, const char **out, const char *expected) {
  const char *end = memchr(from->at, '\0', (size_t)(from->end - from->at));
  *out = from->at;
  if (!end) return fail_snapshot_at(from, from->at, expected);
  from->at = end + 1;
  return true;
}

static bool read_snapshot_head(snapshot_file *from) {
  static const char head[] = "paddle_flags fleet 1";
  const char *field;
  if (!read_snapshot_field(from, &field, head)) return false;
  if (strcmp(field, head) != 0) return fail_snapshot_at(from, field, head);
  return read_snapshot_field(from, &from->place, "the address of a fleet");
}

/* Appends to `end`. */
static bool read_snapshot_value(snapshot_file *from, const char *name, pd__pending **end) {
  pd__pending given = {.name = name, .length = strlen(name)};
  const char *number;
  pd_value revision;
  if (!read_snapshot_field(from, &number, "a revision")) return false;
  pd_status status = pd__value_parse(PD_TYPE_uint32, number, &revision);
  if (status != PD_OK || revision.u64 == 0) {
    return fail_snapshot_at(from, number, "a revision, a number from 1 on");
  }
  if (!read_snapshot_field(from, &given.text, "the text of a value")) return false;
  given.origin = (pd_origin){PD_SOURCE_FLEET, (uint32_t)revision.u64, from->place, 0};
  pd_error err;
  if (pd__pending_make_unlisted(&given, end, &err) == PD_OK) return true;
  pd__fail(&from->why, err.status, "byte %zu: %s", (size_t)(name - from->start), err.message);
  return false;
}

static bool read_snapshot_values(snapshot_file *from) {
  pd__pending **end = &from->values;
  const char *name;
  if (!read_snapshot_head(from)) return false;
  while (
      read_snapshot_field(from, &name, "the name of a flag, or an empty field as the last one")) {
    if (!*name)
      return from->at == from->end || fail_snapshot_at(from, from->at, "the end of the file");
    if (!read_snapshot_value(from, name, end)) return false;
    end = &(*end)->following;
  }
  return false;
}

/* ---- Giving the values ---- */

static void parse_and_queue_snapshot(snapshot_file *from) {
  bool whole = from->start && read_snapshot_values(from);
  while (from->values) {
    pd__pending *each = from->values;
    from->values = each->following;
    if (whole) pd__pending_store(each);
    if (!whole) pd__pending_discard_unlisted(each);
  }
  if (whole) return;
  pd__fail(pd__warning_add(PD_WARNING_DROPPED), PD_OK,
           "environment: " VARIABLE ": %.500s: %.400s; no value of the fleet is taken", from->path,
           from->why.message);
}

/* Returns a copy; NULL if the variable isn't set, or empty. */
static const char *find_snapshot_path(pd__operation *operation) {
  pd__operation_lock(operation);
  const char *path = pd__platform_getenv(VARIABLE);
  if (path && !*path) path = NULL;
  if (path) path = pd__arena_copy_text(&operation->arena, path, strlen(path));
  pd__operation_unlock(operation);
  return path;
}

void pd__inherit_fleet_snapshot(void) {
  PD__OPERATION(operation);
  snapshot_file from = {.path = find_snapshot_path(&operation)};
  char *text = NULL;
  size_t length = 0;
  if (!from.path) return;
  const char *why = pd__platform_read_file(&operation.arena, from.path, BYTES_MOST, &text, &length);
  if (why || !text) {
    pd__fail(&from.why, PD_ERR_FILE, "%s", why ? why : "out of memory");
  } else {
    from.start = from.at = text;
    from.end = text + length;
  }
  pd__operation_lock(&operation);
  parse_and_queue_snapshot(&from);
  pd__operation_end(&operation);
}
