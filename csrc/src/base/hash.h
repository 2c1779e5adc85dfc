/* A keyed hash of text.
 *
 * An attacker may choose names and values to make the tables slow. The hash is strongly universal
 * within blocks of 96 bytes: under a random key, any two texts collide with a probability of 2^-32
 * per block, whoever chose them. */
#ifndef PD__HASH_H
#define PD__HASH_H

#include <stddef.h>
#include <stdint.h>

/* All 32 bits are equally good. Don't store hashes outside the process: its keys are random. Any
 * thread. */
uint32_t pd__hash_text(const char *text, size_t length);

/* Derives the keys. Call it before the first hash. */
void pd__hash_seed(const uint64_t seed[2]);

#endif /* PD__HASH_H */
