/* The functions of pd_flags.h without linking against libpd_flags: with PD_HEADER_ONLY, each is an
 * inline function that calls through the table of the host that this module has joined. Unused
 * functions add no code to the module. */
#ifndef PD_FLAGS_UNLINKED_H
#define PD_FLAGS_UNLINKED_H

#include <pd_flags/host.h>
#include <pd_flags/items.h>

PD__BEGIN_C

/* The body of each function: `name` is also the field of the table, and `arguments` includes its
 * parentheses. */
#define PD__CALL_STATUS(name, parameters, arguments)                                \
  PD_API pd_status pd_##name parameters {                                      \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));          \
    return table ? table->name arguments : pd__refuse_missing(err, "pd_" #name); \
  }
#define PD__CALL_RESULT(result, name, parameters, arguments)                        \
  PD_API result pd_##name parameters {                                         \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));          \
    return table ? table->name arguments : (result)0;                          \
  }
#define PD__CALL_VOID(name, parameters, arguments)                                \
  PD_API void pd_##name parameters {                                           \
    const pd_table *table = pd__table_with(offsetof(pd_table, name));          \
    if (table) table->name arguments;                                          \
  }
PD_TABLE_MAP(PD__CALL_STATUS, PD__CALL_RESULT, PD__CALL_VOID)

/* ---- What needs no registry ---- */

/* What X turns a row of a list into. `name` must be used with ## and # directly, because bool may
 * be a macro. */
/* clang-format off */
#define PD__STATUS_NAME(name, number, text) case PD_##name: return "PD_" #name;
#define PD__STATUS_TEXT(name, number, text) case PD_##name: return text;
#define PD__TYPE_NAME(name, number, ctype, member) case PD_TYPE_##name: return #name;
#define PD__SOURCE_NAME(name, number, rank, text) case PD_SOURCE_##name: return text;
#define PD__SOURCE_RANK(name, number, rank, text) case PD_SOURCE_##name: return rank;
#define PD__TYPE_RANGE(name, number, ctype, member)                            \
  if (type == PD_TYPE_##name) {                                                \
    fresh.min.member = PD__LOW_##name;                                         \
    fresh.max.member = PD__HIGH_##name;                                        \
  }
/* clang-format on */
/* A function that looks one column of a list up. */
#define PD__COLUMN(result, function, of, map, row, unknown)                                       \
  PD_API result pd_##function(pd_##of of) {                                                       \
    switch (of) { map(row) }                                                                      \
    return unknown;                                                                               \
  }
/* NOLINTBEGIN(bugprone-branch-clone): two rows may have the same answer */
PD__COLUMN(const char *, status_name, status, PD_STATUS_MAP, PD__STATUS_NAME, "unknown")
PD__COLUMN(const char *, status_text, status, PD_STATUS_MAP, PD__STATUS_TEXT, "unknown")
PD__COLUMN(const char *, type_name, type, PD_TYPE_MAP, PD__TYPE_NAME, "unknown")
PD__COLUMN(const char *, source_name, source, PD_SOURCE_MAP, PD__SOURCE_NAME, "unknown")
PD__COLUMN(uint32_t, source_rank, source, PD_SOURCE_MAP, PD__SOURCE_RANK, 0)
/* NOLINTEND(bugprone-branch-clone) */

PD_API void pd_flag_def_init(pd_flag_def *def, size_t size, pd_type type) {
  pd_flag_def fresh;
  if (!def) return;
  __builtin_memset(&fresh, 0, sizeof fresh);
  fresh.size = (uint32_t)size;
  fresh.type = (uint8_t)type;
  PD_TYPE_MAP(PD__TYPE_RANGE)
  if (type == PD_TYPE_string) fresh.default_value.str = "";
  __builtin_memset(def, 0, size);
  __builtin_memcpy(def, &fresh, size < sizeof fresh ? size : sizeof fresh);
}

PD_API pd_status pd_list_get(const char *list, size_t index, char *buffer, size_t size,
                             size_t *length, pd_error *err) {
  const char *found = NULL, *cursor = list && *list ? list : NULL;
  size_t count = 0, whole = 0;
  char text[96], *end = text + sizeof text;
  if (!list) return pd__refuse(err, PD_ERR_ARGUMENT, "list", " is NULL", "");
  if (!buffer && size > 0) return pd__refuse(err, PD_ERR_ARGUMENT, "buffer", " is NULL", "");
  for (; cursor; count++) {
    if (count == index) found = cursor;
    if (!pd__item_read(&cursor, NULL, 0, &whole)) {
      pd__add_text(pd__add_number(text, end, count + 1), end, ": expected ");
      return pd__refuse(err, PD_ERR_VALUE, "item ", text, PD__ITEM_EXPECTED);
    }
  }
  if (!found) {
    char *at = pd__add_number(text, end, index);
    pd__add_number(pd__add_text(at, end, " is out of range: the list has "), end, count);
    return pd__refuse(err, PD_ERR_ARGUMENT, "index ", text, " items");
  }
  pd__item_read(&found, buffer, size, &whole);
  if (length) *length = whole;
  return PD_OK;
}

PD__END_C

#endif /* PD_FLAGS_UNLINKED_H */
