/* Units: quantities such as 64MiB and 1m30s, read exactly. */
#ifndef PD__UNIT_H
#define PD__UNIT_H

#include <stdbool.h>

/* Room for a plain number that pd__unit_convert_to_base writes. */
#define PD__UNIT_SIZE 256

/* Writes the plain number that `text` means in `unit` ("1.5KiB" of bytes is "1536") to `out`, with
 * all of its digits. Returns false if the text isn't a quantity of that unit. */
bool pd__unit_convert_to_base(const char *unit, const char *text, char out[PD__UNIT_SIZE]);

#endif /* PD__UNIT_H */
