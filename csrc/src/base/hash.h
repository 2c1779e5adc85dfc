/* A keyed hash of text, and text read eight bytes at a time.
 *
 * Names and values may come from somebody who wants the tables to be slow. The hash is strongly
 * universal within blocks of 96 bytes: under a random key, any two texts collide with a
 * probability of 2^-32 for each block, whoever chose them. */
#ifndef PD__HASH_H
#define PD__HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All 32 bits are equally good. Hashes never leave the process. Any thread. */
uint32_t pd__hash_text(const char *text, size_t length);

/* Make the keys: before the first hash. */
void pd__hash_seed(const uint64_t seed[2]);

static inline uint64_t pd__hash_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* One to seven bytes, each of them at least once, without a loop; up to three in the three
 * lowest bytes. */
static inline uint64_t pd__hash_rest(const char *at, size_t length) {
  uint32_t low, high;
  if (length >= sizeof low) {
    memcpy(&low, at, sizeof low);
    memcpy(&high, at + length - sizeof high, sizeof high);
    return low | (uint64_t)high << 32;
  }
  return (uint64_t)((unsigned char)at[0] | (unsigned char)at[length / 2] << 8 |
                    (unsigned char)at[length - 1] << 16);
}

#endif /* PD__HASH_H */
