/* A keyed hash of text, and texts compared eight bytes at a time.
 *
 * Names and values may come from somebody who wants the tables to be slow. The hash is
 * SipHash-1-3 with a key that this process alone knows, as in Rust and in Python: it was made
 * for short texts, and nobody has found a way to texts of one hash without the key. wyhash
 * and rapidhash take half of the time, 15 ns for 20 bytes, but promise no such thing: sets of
 * texts that collide under every key are known for hashes of their kind. */
#ifndef PD__HASH_H
#define PD__HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All 64 bits are equally good. Hashes never leave the process. Any thread. */
uint64_t pd__hash_text(const char *text, size_t length);

/* Use another key: before the first hash is stored. Until then the key stems from
 * addresses, which most systems choose at random. */
void pd__hash_seed(const uint64_t key[2]);

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
