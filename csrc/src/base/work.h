/* Declares the functions behind the function table through which modules and other copies of the
 * library call this one. Each is defined in the layer that it belongs to, under its public name. */
#ifndef PD__WORK_H
#define PD__WORK_H

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>
#include <pd_flags/table.h>

#define PD__WORK_S(name, parameters, arguments) pd_status pd__do_##name parameters;
#define PD__WORK_R(result, name, parameters, arguments) result pd__do_##name parameters;
#define PD__WORK_V(name, parameters, arguments) void pd__do_##name parameters;
PD_TABLE_MAP(PD__WORK_S, PD__WORK_R, PD__WORK_V)

/* api.c defines the functions that are exported under these names. */
#if !defined(PD__EXPORTS)
#include "public_names.h"
#endif

#endif /* PD__WORK_H */
