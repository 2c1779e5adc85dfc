/* Reads the body of a change or of an undo. */
#include "order.h"

#include <string.h>

#define REASON_MAX 1000
#define SET_MAX 1000
#define LONGEST (30.0 * 24 * 3600) /* seconds */
#define SHORTEST 0.1

static bool fail(pd__call *call, const char *path, const char *expected) {
  char shown[PD__QUOTE_SIZE];
  pd__call_fail(call, PD__PROBLEM_MALFORMED, "%s: expected %s",
                *path ? pd__quote_text(shown, path) : "the body", expected);
  return false;
}

/* ---- Members ---- */

/* Decodes one token of a JSON pointer. */
static char *decode_name(pd__call *call, const char *token) {
  char *out = pd__arena_copy_text(call->arena, token, strlen(token)), *to = out;
  for (const char *at = token; out && *at; at++) {
    bool escaped = at[0] == '~' && (at[1] == '0' || at[1] == '1');
    *to++ = !escaped ? *at : at[1] == '0' ? '~' : '/';
    at += escaped;
  }
  if (out) *to = '\0';
  return out;
}

static uint32_t literal_of(const pd_live_field *field) {
  if (field->kind == PD_LIVE_BOOL) return PD_TYPE_bool;
  if (field->kind != PD_LIVE_NUMBER) return 0;
  return strpbrk(field->text, ".eE") ? PD_TYPE_double : PD_TYPE_int64;
}

/* Other readers of JSON would round a larger integer. */
static bool is_exact(const pd_live_field *field) {
  pd_value value;
  return literal_of(field) != PD_TYPE_int64 ||
         pd__value_parse(PD_TYPE_int64, field->text, &value) == PD_OK;
}

static bool add_wish(pd__call *call, pd__wishes *wishes, const pd_live_field *field,
                     const char *name) {
  pd__wish *items = pd__arena_make_room(call->arena, wishes->items, wishes->count,
                                        &wishes->capacity, sizeof *items);
  if (!items || !name) {
    pd__call_fail(call, PD__PROBLEM_INTERNAL, "out of memory");
    return false;
  }
  wishes->items = items;
  items[wishes->count++] = (pd__wish){
      .name = name, .text = field->text, .literal = literal_of(field), .index = SIZE_MAX};
  return true;
}

static bool read_value(pd__call *call, pd__wishes *wishes, const pd_live_field *field,
                       const char *name) {
  if (field->kind == PD_LIVE_OBJECT || field->kind == PD_LIVE_ARRAY) {
    return fail(call, field->path, "text, a number, true, false or null");
  }
  if (!is_exact(field)) return fail(call, field->path, "a larger integer as text");
  if (wishes->count == SET_MAX) return fail(call, "set and expect", "at most 1000 flags");
  return add_wish(call, wishes, field, decode_name(call, name));
}

static bool read_reason(pd__call *call, pd__order *order, const pd_live_field *field) {
  if (field->kind == PD_LIVE_NULL) return true;
  if (field->kind != PD_LIVE_TEXT || strlen(field->text) > REASON_MAX) {
    return fail(call, field->path, "text of at most 1000 bytes");
  }
  order->reason = field->text;
  return true;
}

static bool read_duration(pd__call *call, pd__order *order, const pd_live_field *field) {
  pd_flag_def def = {.type = PD_TYPE_double, .unit = "seconds"};
  pd_value value = {.f64 = 0};
  if (field->kind == PD_LIVE_NULL) return true;
  bool given = field->kind == PD_LIVE_TEXT || field->kind == PD_LIVE_NUMBER;
  bool read = given && pd__value_read(&def, field->text, &value) == PD_OK;
  if (!read || !(value.f64 >= SHORTEST && value.f64 <= LONGEST)) {
    return fail(call, field->path,
                "seconds, or a quantity as 90s, 10m or 1h30m, from 0.1 s to 30 d");
  }
  order->duration = (int64_t)(value.f64 * 1000);
  return true;
}

static bool read_dry_run(pd__call *call, pd__order *order, const pd_live_field *field) {
  if (field->kind != PD_LIVE_BOOL) return fail(call, field->path, "true or false");
  order->dry_run = !strcmp(field->text, "true");
  return true;
}

static bool read_confirm(pd__call *call, pd__order *order, const pd_live_field *field) {
  if (field->kind != PD_LIVE_TEXT) return fail(call, field->path, "the name of a flag");
  return add_wish(call, &order->confirm, field, field->text);
}

static bool read_undo(pd__call *call, pd__order *order, const pd_live_field *field) {
  pd_value value;
  if (field->kind == PD_LIVE_NULL) return true;
  bool whole = field->kind == PD_LIVE_NUMBER &&
               pd__value_parse(PD_TYPE_uint64, field->text, &value) == PD_OK && value.u64 > 0;
  if (!whole) return fail(call, field->path, "the number of a change");
  order->undo = value.u64;
  return true;
}

/* ---- Bodies ---- */

static const char *behind(const char *path, const char *start) {
  size_t length = strlen(start);
  return strncmp(path, start, length) == 0 ? path + length : NULL;
}

static bool read_container(pd__call *call, const pd_live_field *field, pd_live_kind kind) {
  if (field->kind == (uint32_t)kind) return true;
  return fail(call, field->path, kind == PD_LIVE_OBJECT ? "an object" : "an array");
}

static bool read_member(pd__call *call, pd__order *order, const pd_live_field *field) {
  const char *path = field->path, *name;
  if (!strcmp(path, "/reason")) return read_reason(call, order, field);
  if (!strcmp(path, "/set")) return read_container(call, field, PD_LIVE_OBJECT);
  if (!strcmp(path, "/expect")) return read_container(call, field, PD_LIVE_OBJECT);
  if (!strcmp(path, "/confirm")) return read_container(call, field, PD_LIVE_ARRAY);
  if ((name = behind(path, "/set/"))) return read_value(call, &order->set, field, name);
  if ((name = behind(path, "/expect/"))) return read_value(call, &order->expect, field, name);
  if (behind(path, "/confirm/")) return read_confirm(call, order, field);
  if (!strcmp(path, "/for")) return read_duration(call, order, field);
  if (!strcmp(path, "/dry_run")) return read_dry_run(call, order, field);
  return fail(call, path,
              "no such member: set, expect, reason, for, dry_run and confirm are known");
}

static bool read_undo_member(pd__call *call, pd__order *order, const pd_live_field *field) {
  if (!strcmp(field->path, "/reason")) return read_reason(call, order, field);
  if (!strcmp(field->path, "/change")) return read_undo(call, order, field);
  return fail(call, field->path, "no such member: change and reason are known");
}

/* What only the server understands of a change for the fleet: here, its kind is checked. */
static bool read_fleet_option(pd__call *call, const pd_live_field *field) {
  static const struct {
    const char *path, *expected;
    pd_live_kind kind;
  } rows[] = {
      {"/role", "text", PD_LIVE_TEXT},
      {"/host", "text", PD_LIVE_TEXT},
      {"/member", "text", PD_LIVE_TEXT},
      {"/at_step", "a number", PD_LIVE_NUMBER},
      {"/expect", "a number", PD_LIVE_NUMBER},
      {"/wait", "a number", PD_LIVE_NUMBER},
      {"/all_or_none", "true or false", PD_LIVE_BOOL},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(field->path, rows[i].path) != 0) continue;
    bool right = field->kind == PD_LIVE_NULL || field->kind == (uint32_t)rows[i].kind;
    return right || fail(call, field->path, rows[i].expected);
  }
  return fail(call, field->path,
              "no such member: set, reason, role, host, member, for, at_step, all_or_none, expect, "
              "dry_run, confirm and wait are known");
}

static bool read_fleet_member(pd__call *call, pd__order *order, const pd_live_field *field) {
  const char *path = field->path;
  bool same = !strcmp(path, "/reason") || !strcmp(path, "/set") || !strcmp(path, "/confirm") ||
              !strcmp(path, "/for") || !strcmp(path, "/dry_run") || behind(path, "/set/") ||
              behind(path, "/confirm/");
  return same ? read_member(call, order, field) : read_fleet_option(call, field);
}

/* Reads the members that follow the object of the whole body. */
static bool read_all(pd__call *call, pd__order *order,
                     bool (*read)(pd__call *, pd__order *, const pd_live_field *)) {
  const pd_live_request *request = call->request;
  if (request->body_error) {
    pd__call_fail(call, PD__PROBLEM_MALFORMED, "the body is not JSON: %s", request->body_error);
    return false;
  }
  bool object = request->field_count > 0 && request->fields[0].kind == PD_LIVE_OBJECT;
  if (!object || *request->fields[0].path) return fail(call, "", "a JSON object");
  for (size_t i = 1; i < request->field_count; i++) {
    if (!read(call, order, &request->fields[i])) return false;
  }
  return true;
}

static bool takes_back(const pd__order *order) {
  for (size_t i = 0; i < order->set.count; i++) {
    if (!order->set.items[i].text) return true;
  }
  return false;
}

bool pd__order_read(pd__call *call, pd__order *order) {
  if (!read_all(call, order, read_member)) return false;
  if (order->set.count == 0) return fail(call, "/set", "an object with 1 to 1000 flags");
  if (order->duration > 0 && takes_back(order)) {
    return fail(call, "/for", "no null in set, since taking a value back has no end");
  }
  return true;
}

bool pd__order_read_undo(pd__call *call, pd__order *order) {
  return read_all(call, order, read_undo_member);
}

bool pd__order_read_fleet(pd__call *call, pd__order *order) {
  if (!read_all(call, order, read_fleet_member)) return false;
  if (order->set.count == 0) return fail(call, "/set", "an object with 1 to 1000 flags");
  if (order->reason && *order->reason) return true;
  return fail(call, "/reason", "text: why flags of all these processes change");
}
