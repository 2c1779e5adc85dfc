/* UTF-8, one character at a time. */
#ifndef PD__UTF8_H
#define PD__UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Give the length of the character at `text` and its code. 0: the byte there begins
 * none (also overlong forms and surrogates); it is the code then. */
size_t pd__utf8_length(const char *text, uint32_t *code);

#endif /* PD__UTF8_H */
