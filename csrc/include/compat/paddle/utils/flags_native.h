/* Paddle has its flags under this name as well. */
#include <paddle/common/flags.h>
