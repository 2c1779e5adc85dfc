/* SipHash-1-3: https://131002.net/siphash/ */
#include "hash.h"

#include <stdlib.h>

/* The loader puts two addresses in: one of this library, and one of the C library, which
 * stands elsewhere. */
static union {
  struct {
    const void *own;
    void (*others)(void *);
  } addresses;
  uint64_t words[2];
} key = {.addresses = {&key, free}};

void pd__hash_seed(const uint64_t fresh[2]) { memcpy(key.words, fresh, sizeof key.words); }

static inline uint64_t rotate(uint64_t word, unsigned bits) {
  return word << bits | word >> (64 - bits);
}

typedef struct state {
  uint64_t a, b, c, d;
} state;

static inline void turn(state *s) {
  s->a += s->b;
  s->c += s->d;
  s->b = rotate(s->b, 13) ^ s->a;
  s->d = rotate(s->d, 16) ^ s->c;
  s->a = rotate(s->a, 32) + s->d;
  s->c += s->b;
  s->d = rotate(s->d, 21) ^ s->a;
  s->b = rotate(s->b, 17) ^ s->c;
  s->c = rotate(s->c, 32);
}

static inline void take(state *s, uint64_t word) {
  s->d ^= word;
  turn(s);
  s->a ^= word;
}

/* Eight bytes, the first of them the lowest. */
static inline uint64_t word_at(const char *at) {
  uint64_t word = pd__hash_word(at);
  return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? __builtin_bswap64(word) : word;
}

/* The last `rest` bytes of the text, fewer than eight; above them the length. A long text
 * is read from eight bytes before its end, which needs no loop. */
static inline uint64_t last_word(const char *text, size_t length, size_t rest) {
  uint64_t word = (uint64_t)length << 56;
  if (rest == 0) return word;
  if (length >= 8) return word | word_at(text + length - 8) >> (64 - 8 * rest);
  for (size_t i = 0; i < rest; i++) word |= (uint64_t)(unsigned char)text[i] << 8 * i;
  return word;
}

uint64_t pd__hash_text(const char *text, size_t length) {
  state s = {key.words[0] ^ 0x736f6d6570736575u, key.words[1] ^ 0x646f72616e646f6du,
             key.words[0] ^ 0x6c7967656e657261u, key.words[1] ^ 0x7465646279746573u};
  size_t rest = length % 8;
  uint64_t last = last_word(text, length, rest);
  for (const char *end = text + length - rest; text < end; text += 8) take(&s, word_at(text));
  take(&s, last);
  s.c ^= 0xff;
  for (int i = 0; i < 3; i++) turn(&s);
  return s.a ^ s.b ^ s.c ^ s.d;
}
