/* What does the work behind the table of functions by which modules and other copies of
 * the library reach this one: the copy that hosts the registry does the work, all others
 * forward to it. */
#ifndef PD__API_H
#define PD__API_H

#include "base/error.h"

#include <pd_flags/table.h>

/* Called through the table alone, when this copy is the host. */
#define PD__WORK_S(name, parameters, arguments) pd_status pd__do_##name parameters;
#define PD__WORK_R(result, name, parameters, arguments) result pd__do_##name parameters;
#define PD__WORK_V(name, parameters, arguments) void pd__do_##name parameters;
PD_TABLE_MAP(PD__WORK_S, PD__WORK_R, PD__WORK_V)

#endif /* PD__API_H */
