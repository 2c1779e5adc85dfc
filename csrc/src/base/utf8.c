#include "utf8.h"

size_t pd__utf8_decode(const char *text, uint32_t *code) {
  static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const unsigned char *at = (const unsigned char *)text;
  size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : at[0] >= 0x80 ? 2 : 1;
  uint32_t found = length == 1 ? at[0] : at[0] & (0x7fu >> length);
  *code = at[0];
  if (at[0] >= 0xf8 || (at[0] >= 0x80 && at[0] < 0xc0)) return 0;
  for (size_t i = 1; i < length; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    found = found << 6 | (at[i] & 0x3f);
  }
  if (found < least[length] || (found >= 0xd800 && found < 0xe000) || found >= 0x110000) return 0;
  *code = found;
  return length;
}
