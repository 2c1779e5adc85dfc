/* Paddle's sources also include its flags by this name. */
#include <paddle/common/flags.h>
