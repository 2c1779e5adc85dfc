/* UTF-8, one character at a time. */
#ifndef PD__UTF8_H
#define PD__UTF8_H

#include <stddef.h>
#include <stdint.h>

/* Returns the length of the character at `text` and sets *code to its code point. Returns 0, with
 * *code set to the byte, if the byte begins no valid character; overlong forms and surrogates are
 * invalid. */
size_t pd__utf8_decode(const char *text, uint32_t *code);

#endif /* PD__UTF8_H */
