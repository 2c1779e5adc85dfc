/* A library without flags. */
#include <stdint.h>

int32_t spare_cell; /* for pd_flag_register */

const char *spare_no_luck(void); /* for pd_impl_register */
const char *spare_no_luck(void) { return "no luck"; }
