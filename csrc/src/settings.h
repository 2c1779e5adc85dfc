/* What files say, collected first and applied together. */
#ifndef PD__SETTINGS_H
#define PD__SETTINGS_H

#include "given.h"

/* With the lock. Give all that the files say, and drop the values of source file that
 * they don't say. */
void pd__settings_give(const pd_settings *settings, pd__given *given);

#endif /* PD__SETTINGS_H */
