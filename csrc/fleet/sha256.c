/* SHA-256, as FIPS 180-4 writes it. */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t word, unsigned bits) { return word >> bits | word << (32 - bits); }

static void mix(uint32_t *state, const uint32_t *words) {
  uint32_t v[8];
  memcpy(v, state, sizeof v);
  for (size_t at = 0; at < 64; at++) {
    uint32_t big1 = turn(v[4], 6) ^ turn(v[4], 11) ^ turn(v[4], 25);
    uint32_t big0 = turn(v[0], 2) ^ turn(v[0], 13) ^ turn(v[0], 22);
    uint32_t first = v[7] + big1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + constants[at] + words[at];
    uint32_t second = big0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    memmove(v + 1, v, 7 * sizeof *v);
    v[4] += first;
    v[0] = first + second;
  }
  for (size_t at = 0; at < 8; at++) state[at] += v[at];
}

static void add_block(pd__sha256 *sha) {
  uint32_t words[64];
  for (size_t at = 0; at < 16; at++) {
    const unsigned char *from = sha->block + 4 * at;
    words[at] =
        (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
  }
  for (size_t at = 16; at < 64; at++) {
    uint32_t a = words[at - 15], b = words[at - 2];
    words[at] = words[at - 16] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) + words[at - 7] +
                (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
  }
  mix(sha->state, words);
}

void pd__sha256_init(pd__sha256 *sha) {
  *sha = (pd__sha256){.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void pd__sha256_add(pd__sha256 *sha, const void *data, size_t length) {
  const unsigned char *from = data;
  while (length > 0) {
    size_t at = sha->length % 64, size = length < 64 - at ? length : 64 - at;
    memcpy(sha->block + at, from, size);
    sha->length += size;
    from += size;
    length -= size;
    if (sha->length % 64 == 0) add_block(sha);
  }
}

void pd__sha256_end(pd__sha256 *sha, unsigned char digest[32]) {
  unsigned char size[8];
  uint64_t bits = sha->length * 8;
  for (int at = 0; at < 8; at++) size[at] = (unsigned char)(bits >> (56 - 8 * at));
  pd__sha256_add(sha, "\x80", 1);
  while (sha->length % 64 != 56) pd__sha256_add(sha, "", 1);
  pd__sha256_add(sha, size, sizeof size);
  for (size_t at = 0; at < 32; at++) {
    digest[at] = (unsigned char)(sha->state[at / 4] >> (24 - 8 * (at % 4)));
  }
}

void pd__sha256_hex(pd__sha256 *sha, char *text, size_t digits) {
  unsigned char digest[32];
  char all[65];
  pd__sha256_end(sha, digest);
  for (size_t at = 0; at < 32; at++) snprintf(all + 2 * at, 3, "%02x", digest[at]);
  memcpy(text, all, digits);
  text[digits] = '\0';
}

void pd__hmac_hex(const char *key, const char *name, const char *text, char *out) {
  unsigned char block[64] = "", inner[32];
  pd__sha256 sha;
  size_t length = strlen(key);
  pd__sha256_init(&sha);
  pd__sha256_add(&sha, key, length);
  if (length > sizeof block) {
    pd__sha256_end(&sha, block);
  } else {
    /* Bytes, no text. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(block, key, length);
  }
  for (size_t at = 0; at < sizeof block; at++) block[at] ^= 0x36;
  pd__sha256_init(&sha);
  pd__sha256_add(&sha, block, sizeof block);
  pd__sha256_add(&sha, name, strlen(name));
  pd__sha256_add(&sha, "=", 1);
  pd__sha256_add(&sha, text, strlen(text));
  pd__sha256_end(&sha, inner);
  for (size_t at = 0; at < sizeof block; at++) block[at] ^= 0x36 ^ 0x5c;
  pd__sha256_init(&sha);
  pd__sha256_add(&sha, block, sizeof block);
  pd__sha256_add(&sha, inner, sizeof inner);
  pd__sha256_hex(&sha, out, 32);
}
