/* Writing JSON (RFC 8259). Only ASCII is written: other characters are escaped, and a byte that
 * isn't UTF-8 is half a surrogate pair, "\udc80" to "\udcff", as Python reads it. */
#ifndef PD__JSON_H
#define PD__JSON_H

#include "report.h"

/* Initialize `out`, and `place.arena` with its arena; zero the rest. */
typedef struct pd__json {
  pd__out *out;
  bool started; /* the innermost object or array has an item */
  size_t depth; /* of those that are open */
  char *item;   /* room for an item of a list of values */
  size_t size;
  pd__out location; /* scratch */
} pd__json;

/* Opens or closes an object or array, with "{", "[", "}" or "]". */
void pd__json_open_bracket(pd__json *to, const char *sign);
void pd__json_close_bracket(pd__json *to, const char *sign);

/* Begins the next item of an array, or the next member of an object with its key; the value
 * follows. */
void pd__json_begin_item(pd__json *to);
void pd__json_begin_member(pd__json *to, const char *key);

/* Write a string: up to a NUL, or to `end`. */
void pd__json_write_text(pd__out *out, const char *text);
void pd__json_write_span(pd__out *out, const char *text, const char *end);

/* Add a member; pd__json_add_nullable writes null in place of NULL, pd__json_add_null_if_empty also
 * in place of an empty text. */
void pd__json_add_nullable(pd__json *to, const char *key, const char *text);
void pd__json_add_text(pd__json *to, const char *key, const char *text);
void pd__json_add_null_if_empty(pd__json *to, const char *key, const char *text);
void pd__json_add_bool(pd__json *to, const char *key, bool value);

/* Adds an array of the names in a list such as "fast|best". */
void pd__json_add_names(pd__json *to, const char *key, const char *names);

/* Write a value of a flag; <redacted> if the flag is sensitive. pd__json_write_entry_value writes
 * null if an optional flag has no value. */
void pd__json_write_value(pd__json *to, const pd_flag_info *info, pd_value value);
void pd__json_write_entry_value(pd__json *to, const pd_flag_info *info, const pd_flag_entry *entry);

/* Returns whether more than the type limits the value: `natural` is the bound of the type. */
bool pd__json_is_narrower_bound(const pd_flag_info *info, pd_value bound, pd_value natural);

/* Returns "flags.conf:3", "argv[2]", or "" if there is no place. Valid until the next call. */
const char *pd__json_format_location(pd__json *to, const pd_origin *origin);

#endif /* PD__JSON_H */
