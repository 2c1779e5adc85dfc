/* Helpers for walks over images that all systems share. */
#include "../base/text.h"
#include "platform.h"

pd__platform_image *pd__platform_copy_image(const pd__platform_image *image) {
  static const size_t path = offsetof(pd__platform_image, path);
  size_t whole;
  return pd__copy_with_texts(image, sizeof *image, &path, 1, &whole);
}

static void copy_first_image(const pd__platform_image *image, void *found) {
  pd__platform_image **first = found;
  if (!*first) *first = pd__platform_copy_image(image);
}

pd__platform_image *pd__platform_find_image(pd__records kind, const void *address) {
  pd__platform_image *found = NULL;
  if (address) pd__platform_visit_records(kind, address, copy_first_image, &found);
  return found;
}
