/* What files say, collected first and applied together. */
#ifndef PD__SETTINGS_H
#define PD__SETTINGS_H

#include "words.h"

/* With the lock. Give all that the files say, and drop the values of source file that
 * they don't say. */
void pd__settings_give(const pd_config *config, pd__words *words);

/* Add a copy of the item, with source file. No lock. */
pd_status pd__settings_append(pd_config *config, const pd__item *item, pd_error *err);

#endif /* PD__SETTINGS_H */
