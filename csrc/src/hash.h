/* Hashes of text, eight bytes at a time. They are not the same on every machine, and
 * never leave the process. */
#ifndef PD__HASH_H
#define PD__HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t pd__hash_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* Up to seven bytes, without a loop. */
static inline uint64_t pd__hash_rest(const char *at, size_t length) {
  uint32_t low, high;
  if (length >= sizeof low) {
    memcpy(&low, at, sizeof low);
    memcpy(&high, at + length - sizeof high, sizeof high);
    return low | (uint64_t)high << 32;
  }
  if (length == 0) return 0;
  return (uint64_t)((unsigned char)at[0] | (unsigned char)at[length / 2] << 8 |
                    (unsigned char)at[length - 1] << 16);
}

/* Each `-` of a word as `_`. A byte is 0 below where it was a dash; the sum sets the
 * high bit of all others. Most words have none, which is quicker to see. */
static inline uint64_t pd__hash_fold(uint64_t word) {
  const uint64_t ones = 0x0101010101010101u, low = 0x7f * ones;
  uint64_t below = word ^ '-' * ones;
  if (!((below - ones) & ~below & ~low)) return word;
  uint64_t dashes = ~(((below & low) + low) | below | low);
  return word ^ (dashes >> 7) * ('-' ^ '_');
}

static inline uint64_t pd__hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
  return hash ^ hash >> 32;
}

/* Of a name, in which `-` and `_` are alike. */
static inline uint32_t pd__hash_folded(const char *name, size_t length) {
  uint64_t hash = length;
  for (; length >= 8; length -= 8, name += 8) {
    hash = pd__hash_mix(hash, pd__hash_fold(pd__hash_word(name)));
  }
  return (uint32_t)pd__hash_mix(hash, pd__hash_fold(pd__hash_rest(name, length)));
}

static inline uint32_t pd__hash_text(const char *text, size_t length) {
  uint64_t hash = length;
  for (; length >= 8; length -= 8, text += 8) hash = pd__hash_mix(hash, pd__hash_word(text));
  return (uint32_t)pd__hash_mix(hash, pd__hash_rest(text, length));
}

#endif /* PD__HASH_H */
