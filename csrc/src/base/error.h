/* Errors: a single one for the caller, or a list of all errors of an operation. */
#ifndef PD__ERROR_H
#define PD__ERROR_H

#include "work.h"

/* Size of the buffer for user text escaped by pd__escape_text. */
#define PD__ESCAPED_SIZE 96

/* On Windows, gcc reads "printf" as Microsoft's dialect. */
#if defined(__MINGW32__) && !defined(__clang__)
#define PD__PRINTF(text, first) __attribute__((format(gnu_printf, text, first)))
#else
#define PD__PRINTF(text, first) __attribute__((format(printf, text, first)))
#endif

/* Fills `err`, which may be NULL, and returns `status`. */
PD__PRINTF(3, 4) pd_status pd__fail(pd_error *err, pd_status status, const char *format, ...);

pd_status pd__fail_null(pd_error *err, const char *parameter);
pd_status pd__fail_memory(pd_error *err);

/* Writes `text` to `out` for use in a message: on one line, unprintable bytes escaped, long text
 * cut between characters and followed by "...". Returns `out`. */
const char *pd__escape_text(char out[PD__ESCAPED_SIZE], const char *text);

/* Like pd__escape_text, for the first `length` bytes. They must end with a whole character. */
const char *pd__escape_part(char out[PD__ESCAPED_SIZE], const char *text, size_t length);

/* Appends to the string in `buffer`, of `size` bytes with the NUL. Text that doesn't fit is cut
 * between characters and followed by "...". */
PD__PRINTF(3, 4) void pd__append_format(char *buffer, size_t size, const char *format, ...);

/* Cuts text to `size` bytes with the NUL, between characters, and ends it with "...". */
void pd__shorten_text(char *text, size_t size);

/* Returns the last `most` bytes of a path, or a little less so that no character is split: the end
 * of a path identifies it better than the beginning. */
const char *pd__path_tail(const char *path, size_t most);

/* Returns the last part of a path; both kinds of slash separate. NULL of NULL. */
const char *pd__base_name(const char *path);

/* Appends an item to a comma-separated list. If the item and a later "..." don't fit, appends "..."
 * instead and returns false; nothing may be appended after that. */
bool pd__append_item(char *buffer, size_t size, const char *item);

/* Fails with PD_ERR_LOAD. The path is shown as the caller gave it, the reason on one line. */
pd_status pd__fail_load(const char *path, const char *why, pd_error *err);

/* Collects the errors of an operation: all go to `list`, the first also to `first`. Both are
 * borrowed. */
typedef struct pd__report {
  pd_error_list *list; /* may be NULL */
  pd_error *first;     /* may be NULL */
  pd_status status;    /* that of the first error; PD_OK if there is none */
  pd_flag *flag;       /* the flag that the next errors are about; NULL: no single one */
} pd__report;

void pd__report_add(pd__report *report, const pd_error *err);
PD__PRINTF(3, 4)
void pd__report_fail(pd__report *report, pd_status status, const char *format, ...);
void pd__report_add_error_list(pd__report *report, const pd_error_list *errors);
void pd__report_fail_memory(pd__report *report);

#endif /* PD__ERROR_H */
