/* The signatures of operations: which are equal, and their hash. */
#include <string.h>

#include "../base/hash.h"
#include "op.h"

/* Reads the types in the text of a signature. */
typedef struct reader {
  const char *at;
  unsigned depth; /* of < */
  bool begun;     /* the name of a type */
  bool inside;    /* a word of it */
} reader;

static bool is_word_byte(char byte) {
  unsigned char lower = (unsigned char)byte | 0x20;
  return (lower >= 'a' && lower <= 'z') || (byte >= '0' && byte <= '9') || byte == '_';
}

/* Returns the length of what doesn't belong to the name, at the cursor. */
static size_t measure_type_decoration(const reader *in) {
  static const char *const words[] = {"const", "volatile",   "struct",       "class",
                                      "enum",  "__restrict", "__restrict__", "restrict"};
  static const char *const others[] = {"{anonymous}::", "(anonymous namespace)::"};
  for (size_t i = 0; i < sizeof words / sizeof *words && !in->inside; i++) {
    size_t length = strlen(words[i]);
    if (!strncmp(in->at, words[i], length) && !is_word_byte(in->at[length])) return length;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (!strncmp(in->at, others[i], strlen(others[i]))) return strlen(others[i]);
  }
  if (!in->begun && !strncmp(in->at, "::", 2)) return 2;
  return *in->at == ' ' || *in->at == '*';
}

/* Returns the next byte of the name of a type; 0 at its end. */
static char read_type_byte(reader *in) {
  for (size_t length; (length = measure_type_decoration(in)) > 0; in->at += length)
    in->inside = false;
  char byte = *in->at;
  if (!byte || (in->depth == 0 && strchr("(,)", byte))) return '\0';
  in->depth += byte == '<';
  in->depth -= byte == '>' && in->depth > 0;
  in->inside = is_word_byte(byte);
  in->begun = true;
  in->at++;
  return byte;
}

static void skip_type_name(reader *in) {
  while (read_type_byte(in)) continue;
  in->at += *in->at ? 1 : 0;
  in->begun = in->inside = false;
}

static bool is_struct(uint8_t code) { return code % PD_CODE_POINTER == PD_CODE_STRUCT; }

/* Structs have one code; the names in the texts tell them apart. */
static bool has_same_structs(const uint8_t *types, const char *a, const char *b) {
  reader one = {.at = a}, other = {.at = b};
  for (; *types; types++) {
    char byte = '1', other_byte = '1';
    while (is_struct(*types) && byte && byte == other_byte) {
      byte = read_type_byte(&one);
      other_byte = read_type_byte(&other);
    }
    if (byte != other_byte) return false;
    skip_type_name(&one);
    skip_type_name(&other);
  }
  return true;
}

static bool has_foreign_objects(const uint8_t *types) {
  return strchr((const char *)types, PD_CODE_OBJECT) != NULL;
}

/* Objects of another language are told apart by the text. */
bool pd__signature_is_same(const pd__op *op, const pd_op_signature *of) {
  if (strcmp((const char *)op->types, (const char *)of->types) != 0) return false;
  if (has_foreign_objects(of->types)) return !strcmp(op->text, of->text);
  return has_same_structs(op->types, op->text, of->text);
}

/* ---- The hash ---- */

/* Collects bytes; those that find no room are replaced by their hash. */
typedef struct digest {
  char bytes[96];
  size_t used;
} digest;

static void digest_byte(digest *to, char byte) {
  if (to->used == sizeof to->bytes) {
    uint32_t hash = pd__hash_text(to->bytes, to->used);
    memcpy(to->bytes, &hash, sizeof hash);
    to->used = sizeof hash;
  }
  to->bytes[to->used++] = byte;
}

static digest digest_types(uint32_t family, const uint8_t *types) {
  digest made = {.used = sizeof family};
  memcpy(made.bytes, &family, sizeof family);
  for (; *types; types++) digest_byte(&made, (char)*types);
  return made;
}

uint32_t pd__signature_hash_types(uint32_t family, const uint8_t *types) {
  digest made = digest_types(family, types);
  return pd__hash_text(made.bytes, made.used);
}

/* What pd__signature_is_same finds equal must have one hash. */
uint32_t pd__signature_hash(uint32_t family, const pd_op_signature *of) {
  digest made = digest_types(family, of->types);
  reader in = {.at = of->text};
  for (const char *at = of->text; has_foreign_objects(of->types) && *at; at++)
    digest_byte(&made, *at);
  for (const uint8_t *type = of->types; !has_foreign_objects(of->types) && *type; type++) {
    for (char byte = '1'; is_struct(*type) && byte;) digest_byte(&made, byte = read_type_byte(&in));
    skip_type_name(&in);
  }
  return pd__hash_text(made.bytes, made.used);
}
