/* Flags and variables that members have differently, from their documents. As
 * paddle_flags/fleet/_difference.py. */
#ifndef PD_FLEET_DIFFERENCE_H
#define PD_FLEET_DIFFERENCE_H

#include "json.h"

/* A line of text for each flag that differs between members for which the fleet wants the same, as
 * an array. With `among`, only the flags in this set, and no variables. You own it. */
json_t *pd__differences(json_t *documents, const json_t *among);

#endif /* PD_FLEET_DIFFERENCE_H */
