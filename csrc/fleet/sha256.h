/* SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for digests of flags. */
#ifndef PD_FLEET_SHA256_H
#define PD_FLEET_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct pd__sha256 {
  uint32_t state[8];
  uint64_t length; /* bytes so far */
  unsigned char block[64];
} pd__sha256;

void pd__sha256_init(pd__sha256 *sha);
void pd__sha256_add(pd__sha256 *sha, const void *data, size_t length);
void pd__sha256_end(pd__sha256 *sha, unsigned char digest[32]);

/* Write the first `digits` hexadecimal digits, up to 64, and a NUL. */
void pd__sha256_hex(pd__sha256 *sha, char *text, size_t digits);

/* HMAC of two texts with "=" between, keyed by `key`: 32 hexadecimal digits and a NUL. */
void pd__hmac_hex(const char *key, const char *name, const char *text, char *out);

#endif /* PD_FLEET_SHA256_H */
