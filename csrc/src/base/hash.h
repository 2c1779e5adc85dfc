/* A keyed hash of text.
 *
 * Names and values may come from somebody who wants the tables to be slow. The hash is strongly
 * universal within blocks of 96 bytes: under a random key, any two texts collide with a
 * probability of 2^-32 for each block, whoever chose them. */
#ifndef PD__HASH_H
#define PD__HASH_H

#include <stddef.h>
#include <stdint.h>

/* All 32 bits are equally good. Hashes never leave the process. Any thread. */
uint32_t pd__hash_text(const char *text, size_t length);

/* Make the keys: before the first hash. */
void pd__hash_seed(const uint64_t seed[2]);

#endif /* PD__HASH_H */
