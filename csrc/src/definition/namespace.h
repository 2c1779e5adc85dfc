/* Namespaces: a plugin's flags under a name in front of theirs. */
#ifndef PD__NAMESPACE_H
#define PD__NAMESPACE_H

#include "../base/error.h"

/* PD_OK, or PD_ERR_NAME: it can't stand in front of a flag's name. */
pd_status pd__namespace_check(const char *name_space, pd_error *err);

/* With the lock. Put name and aliases of a definition under `name_space`; they
 * are stored for good. */
pd_status pd__namespace_apply(const char *name_space, pd_flag_def *def, pd_error *err);

#endif /* PD__NAMESPACE_H */
