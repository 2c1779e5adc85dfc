/* Truth values and numbers, from text and to text, whatever the type of the flag. */
#ifndef PD__NUMBER_H
#define PD__NUMBER_H

#include "value.h"

/* PD_OK, PD_ERR_VALUE: it isn't one, PD_ERR_RANGE: C's widest type can't hold it. */
pd_status pd__read_bool(const char *text, bool *out);
pd_status pd__read_double(const char *text, double *out);

/* Read [+-]digits or [+-]0xdigits as sign and magnitude. */
pd_status pd__read_magnitude(const char *text, bool *negative, uint64_t *out);

/* The shortest text that reads back equal. */
void pd__print_double(double value, char out[PD__NUMBER_SIZE]);

#endif /* PD__NUMBER_H */
