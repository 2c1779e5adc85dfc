/* Pair-multiply-shift: M. Thorup, "High Speed Hashing for Integers and Strings",
 * https://arxiv.org/abs/1504.06804. */
#include "hash.h"

#include <string.h>

#define BLOCK 12u /* 8-byte words that have a key of their own */

static uint64_t keys[2 * (BLOCK + 1)]; /* the first two: for the length or the previous block */

/* SplitMix64: https://doi.org/10.1145/2714064.2660195 */
void pd__hash_seed(const uint64_t seed[2]) {
  uint64_t state = seed[0];
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    uint64_t mixed = state += seed[1] | 1;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    keys[i] = mixed ^ mixed >> 31;
  }
}

static inline uint64_t read_word(const char *at) {
  uint64_t word;
  memcpy(&word, at, sizeof word);
  return word;
}

/* Reads one to seven bytes without a loop. Bytes may be read twice; none is skipped. */
static inline uint64_t read_partial_word(const char *at, size_t length) {
  uint32_t low, high;
  if (length >= sizeof low) {
    memcpy(&low, at, sizeof low);
    memcpy(&high, at + length - sizeof high, sizeof high);
    return low | (uint64_t)high << 32;
  }
  return (uint64_t)((unsigned char)at[0] | (unsigned char)at[length / 2] << 8 |
                    (unsigned char)at[length - 1] << 16);
}

static inline uint64_t multiply_word_by_key(const uint64_t *key, uint64_t word) {
  return (key[0] + (uint32_t)word) * (key[1] + (word >> 32));
}

/* The upper half is the hash. Tables probe adjacent slots, so a bijection scatters the hashes of
 * similar texts. */
static inline uint32_t finish_hash(uint64_t sum) {
  uint32_t hash = (uint32_t)(sum >> 32);
  hash = (hash ^ hash >> 16) * 0x85ebca6bu;
  return hash ^ hash >> 13;
}

uint32_t pd__hash_text(const char *text, size_t length) {
  uint64_t sum = multiply_word_by_key(keys, length);
  const uint64_t *key = keys + 2;
  if (length < 8)
    return finish_hash(sum +
                       multiply_word_by_key(key, length ? read_partial_word(text, length) : 0));
  const char *last = text + length - 8; /* may overlap the previous word */
  for (; text < last; text += 8) {
    sum += multiply_word_by_key(key, read_word(text));
    key += 2;
    if (key < keys + sizeof keys / sizeof *keys) continue;
    sum = multiply_word_by_key(keys, sum);
    key = keys + 2;
  }
  return finish_hash(sum + multiply_word_by_key(key, read_word(last)));
}
