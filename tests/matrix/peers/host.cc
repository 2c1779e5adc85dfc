/* What driver.c needs to be a host with a copy of the library. */
#include "entry.h"
