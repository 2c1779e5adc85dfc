/* Texts that grow, JSON written to them, and errors. */
#ifndef PD_LIVE_TEXT_H
#define PD_LIVE_TEXT_H

#include <pd_flags/live.h>

/* Longer values are shown by their length and digest, except to who asks for one flag. */
enum { PD__PLAIN_TEXT_MAX = 4096 };

typedef struct pd__text {
  char *data; /* NULL while it is empty; else with a NUL at its end */
  size_t length, capacity;
  bool failed; /* memory was out: something is missing */
} pd__text;

void pd__text_free(pd__text *text);

/* Append. */
void pd__text_add(pd__text *text, const char *bytes, size_t length);
__attribute__((format(printf, 2, 3))) void pd__text_add_format(pd__text *text, const char *format,
                                                               ...);

/* ---- JSON. Commas come by themselves. ---- */

/* Values. Each has the name of a member, or NULL as an item of an array or the whole. */
void pd__json_begin(pd__text *to, const char *name, char sign); /* '{' or '[' */
void pd__json_end(pd__text *to, const char *signs);

/* A text NULL is null; bytes that aren't UTF-8 are written as Python reads them, \udc80 to \udcff.
 */
void pd__json_put_text(pd__text *to, const char *name, const char *text);
void pd__json_put_nonempty_text(pd__text *to, const char *name,
                                const char *text); /* unless NULL or "" */
void pd__json_put_number(pd__text *to, const char *name, int64_t number);
void pd__json_put_bool(pd__text *to, const char *name, bool value);
void pd__json_put_time(pd__text *to, const char *name, int64_t at); /* ms since 1970; 0: null */
void pd__json_put_raw(pd__text *to, const char *name, const char *json);

/* A text, or what stands for it if it is long: its length and SHA-256. */
void pd__json_put_text_or_digest(pd__text *to, const char *name, const char *text);

/* The name alone: what follows is its value. */
void pd__json_put_name(pd__text *to, const char *name);

/* Returns a text as pd__json_put_text_or_digest writes it, which you free; NULL of NULL, or without
 * memory. */
char *pd__text_to_json_or_digest(const char *text);

/* ---- sha256.c ---- */

/* 64 hexadecimal digits (FIPS 180-4). */
void pd__sha256_write_hex(const char *bytes, size_t length, char out[65]);

/* ---- Errors ---- */

/* Fills `err` (NULL allowed) and returns `status`. */
__attribute__((format(printf, 3, 4))) pd_status pd__live_fail(pd_error *err, pd_status status,
                                                              const char *format, ...);
pd_status pd__live_fail_memory(pd_error *err);

/* The same with PD_ERR_FILE and the text of errno. */
pd_status pd__live_fail_errno(pd_error *err, const char *what, const char *path);

/* Warns through pd_warning_report, which the program may handle: the library never prints. */
__attribute__((format(printf, 1, 2))) void pd__live_warn(const char *format, ...);

#endif /* PD_LIVE_TEXT_H */
