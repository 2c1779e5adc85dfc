/* HMAC over libmd, which has the digests alone. */
#include "hmac.h"

#include <sha2.h>
#include <stdio.h>
#include <string.h>

static void add(SHA2_CTX *sha, const char *text) {
  SHA256Update(sha, (const uint8_t *)text, strlen(text));
}

/* Begin with the key, of which each byte is changed by `pad`. */
static void begin(SHA2_CTX *sha, const uint8_t key[SHA256_BLOCK_LENGTH], uint8_t pad) {
  uint8_t block[SHA256_BLOCK_LENGTH];
  for (size_t at = 0; at < sizeof block; at++) block[at] = key[at] ^ pad;
  SHA256Init(sha);
  SHA256Update(sha, block, sizeof block);
}

void pd__hmac_hex(const char *key, const char *name, const char *text, char out[PD__HMAC_SIZE]) {
  uint8_t block[SHA256_BLOCK_LENGTH] = "", inner[SHA256_DIGEST_LENGTH];
  char digits[SHA256_DIGEST_STRING_LENGTH];
  SHA2_CTX sha;
  size_t length = strlen(key);
  if (length > sizeof block) {
    SHA256Init(&sha);
    add(&sha, key);
    SHA256Final(block, &sha);
  } else {
    /* Bytes, no text. NOLINTNEXTLINE(bugprone-not-null-terminated-result) */
    memcpy(block, key, length);
  }
  begin(&sha, block, 0x36);
  add(&sha, name);
  add(&sha, "=");
  add(&sha, text);
  SHA256Final(inner, &sha);
  begin(&sha, block, 0x5c);
  SHA256Update(&sha, inner, sizeof inner);
  snprintf(out, PD__HMAC_SIZE, "%.32s", SHA256End(&sha, digits));
}
