/* A library without flags. */
#include <stdint.h>

int32_t spare_cell; /* for pd_flag_register */
