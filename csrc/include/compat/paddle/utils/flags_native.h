/* Paddle's sources also include its flags by this name. */
#include <paddle/common/flags.h>

#ifndef PD_COMPAT_PADDLE_COMMON_FLAGS_H
#error "this is Paddle's own paddle/common/flags.h: put compat/ in front of Paddle's directory"
#endif
