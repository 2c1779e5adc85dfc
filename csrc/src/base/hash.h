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

static inline uint64_t pd__hash_mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u; /* 2^64 / golden ratio */
  return hash ^ hash >> 32;
}

/* Whether two texts of this length are the same. */
static inline int pd__hash_same(const char *a, const char *b, size_t length) {
  if (length == 0) return 1;
  if (length < 8) return pd__hash_rest(a, length) == pd__hash_rest(b, length);
  size_t last = length - 8;
  for (size_t at = 0; at < last; at += 8) {
    if (pd__hash_word(a + at) != pd__hash_word(b + at)) return 0;
  }
  return pd__hash_word(a + last) == pd__hash_word(b + last);
}

/* The highest bits are the best. The last word of a long text overlaps the one before it. */
static inline uint64_t pd__hash_text(const char *text, size_t length) {
  uint64_t hash = length;
  if (length == 0) return 0;
  if (length < 8) return pd__hash_mix(hash, pd__hash_rest(text, length));
  const char *last = text + length - 8;
  for (; text < last; text += 8) hash = pd__hash_mix(hash, pd__hash_word(text));
  return pd__hash_mix(hash, pd__hash_word(last));
}

#endif /* PD__HASH_H */
