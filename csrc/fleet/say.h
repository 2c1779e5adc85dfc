/* Errors of the module. */
#ifndef PD_LIVE_SAY_H
#define PD_LIVE_SAY_H

#include <pd_flags.h>

/* Fill `err` (NULL allowed) and return `status`. */
__attribute__((format(printf, 3, 4))) pd_status pd__say(pd_error *err, pd_status status,
                                                        const char *format, ...);

/* The same with PD_ERR_FILE and the text of errno. */
pd_status pd__say_errno(pd_error *err, const char *what, const char *path);

/* Warn through pd_warning_report, which the program may handle; it never prints by itself. */
__attribute__((format(printf, 1, 2))) void pd__warn(const char *format, ...);

#endif /* PD_LIVE_SAY_H */
