/* SHA-256 as FIPS 180-4 defines it: the names are those of its section 6.2. */
#include <stdio.h>
#include <string.h>

#include "text.h"

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes (4.2.2). */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate_word(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void prepare_schedule(const unsigned char block[64], uint32_t w[64]) {
  for (size_t t = 0; t < 16; t++) {
    const unsigned char *at = block + 4 * t;
    w[t] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
  }
  for (int t = 16; t < 64; t++) {
    uint32_t low = rotate_word(w[t - 15], 7) ^ rotate_word(w[t - 15], 18) ^ w[t - 15] >> 3;
    uint32_t high = rotate_word(w[t - 2], 17) ^ rotate_word(w[t - 2], 19) ^ w[t - 2] >> 10;
    w[t] = high + w[t - 7] + low + w[t - 16];
  }
}

static void hash_block(uint32_t hash[8], const unsigned char block[64]) {
  uint32_t w[64], s[8]; /* s: a to h */
  prepare_schedule(block, w);
  memcpy(s, hash, sizeof s);
  for (int t = 0; t < 64; t++) {
    uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    uint32_t t1 = s[7] + (rotate_word(s[4], 6) ^ rotate_word(s[4], 11) ^ rotate_word(s[4], 25)) +
                  choice + k[t] + w[t];
    uint32_t t2 = (rotate_word(s[0], 2) ^ rotate_word(s[0], 13) ^ rotate_word(s[0], 22)) + majority;
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += t1;
    s[0] = t1 + t2;
  }
  for (int i = 0; i < 8; i++) hash[i] += s[i];
}

void pd__sha256_write_hex(const char *bytes, size_t length, char out[65]) {
  uint32_t hash[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  unsigned char last[128] = {0};
  size_t whole = length / 64 * 64, rest = length - whole, end = rest < 56 ? 64 : 128;
  for (size_t at = 0; at < whole; at += 64) hash_block(hash, (const unsigned char *)bytes + at);
  memcpy(last, bytes + whole, rest);
  last[rest] = 0x80;
  for (size_t i = 0; i < 8; i++) last[end - 1 - i] = (unsigned char)((uint64_t)length * 8 >> 8 * i);
  for (size_t at = 0; at < end; at += 64) hash_block(hash, last + at);
  for (size_t i = 0; i < 8; i++) snprintf(out + 8 * i, 9, "%08x", (unsigned)hash[i]);
}
