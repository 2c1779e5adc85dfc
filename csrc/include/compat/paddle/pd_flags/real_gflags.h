/* The gflags that the include path has behind compat/, whose gflags/gflags.h is ours. */
#ifndef PD_COMPAT_PADDLE_REAL_GFLAGS_H
#define PD_COMPAT_PADDLE_REAL_GFLAGS_H

#pragma GCC system_header /* #include_next is an extension */
#include_next <gflags/gflags.h>

#endif /* PD_COMPAT_PADDLE_REAL_GFLAGS_H */
