/* The file to which each change appends one line of JSON. */
#ifndef PD_LIVE_AUDIT_H
#define PD_LIVE_AUDIT_H

#include <pd_flags/live_server.h>

typedef struct pd__audit pd__audit;

/* Never closed: temporary changes may end after their server, and are written too. */
pd_status pd__audit_open(const char *path, bool sync, pd__audit **out, pd_error *err);

/* A pd_live_audit, whose context is the pd__audit. */
void pd__audit_write(const char *event, size_t length, void *context);

/* In the child of a fork: another thread may have held the locks. */
void pd__audits_forked(void);

#endif /* PD_LIVE_AUDIT_H */
