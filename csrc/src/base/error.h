/* Errors: one for the caller, or a list of all that an operation met. */
#ifndef PD__ERROR_H
#define PD__ERROR_H

#include "work.h"

/* Room for text that stems from a user, as pd__quote writes it. */
#define PD__QUOTE_SIZE 96

/* gcc for Windows takes printf for Microsoft's own. */
#if defined(__MINGW32__) && !defined(__clang__)
#define PD__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define PD__PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* "PD_ERR_RANGE", "value out of range"; "unknown". */
const char *pd__status_name(pd_status status);
const char *pd__status_text(pd_status status);

/* Fill `err` (NULL allowed) and return `status`. */
PD__PRINTF(3, 4) pd_status pd__fail(pd_error *err, pd_status status, const char *format, ...);

pd_status pd__fail_null(pd_error *err, const char *parameter);
pd_status pd__fail_memory(pd_error *err);

/* Write `text` for a message into `out`: on one line, unprintable bytes as
 * escapes, a long one cut at a character with "..." behind. Gives `out`. */
const char *pd__quote(char out[PD__QUOTE_SIZE], const char *text);

/* The same of the first `length` bytes, which end with a whole character. */
const char *pd__quote_part(char out[PD__QUOTE_SIZE], const char *text, size_t length);

/* Put text behind the text that `buffer` holds, as much of it as there is room for in `size` bytes
 * with the NUL; a text that is cut ends with a whole character and "...". */
PD__PRINTF(3, 4) void pd__append(char *buffer, size_t size, const char *format, ...);

/* Cut text to `size` bytes with the NUL, at a character, and end it with "...". */
void pd__shorten(char *text, size_t size);

/* The end of a path tells more than its beginning: returns its last `most` bytes, or a little less,
 * from a character on. */
const char *pd__tail(const char *path, size_t most);

/* Put an item behind those that `buffer` holds, with a comma between; where there is no room for it
 * and for more, "...": gives false, and nothing else may follow. */
bool pd__append_item(char *buffer, size_t size, const char *item);

/* PD_ERR_LOAD, with the path as it was given, and the reason on one line. */
pd_status pd__fail_load(const char *path, const char *why, pd_error *err);

/* Where the errors of an operation go: each to `list`, the first to `first`. */
typedef struct pd__report {
  pd_error_list *list; /* may be NULL */
  pd_error *first;     /* may be NULL */
  pd_status status;    /* PD_OK until there is an error */
} pd__report;

void pd__report_add(pd__report *report, const pd_error *err);
PD__PRINTF(3, 4)
void pd__report_fail(pd__report *report, pd_status status, const char *format, ...);
void pd__report_add_all(pd__report *report, const pd_error_list *errors);
void pd__report_memory(pd__report *report);

#endif /* PD__ERROR_H */
