/* What all systems need for walks over images. */
#include <stdlib.h>
#include <string.h>

#include "platform.h"

pd__platform_image *pd__platform_copy_image(const pd__platform_image *image) {
  size_t size = strlen(image->path) + 1;
  pd__platform_image *copy = malloc(sizeof *copy + size);
  if (!copy) return NULL;
  *copy = *image;
  copy->path = memcpy(copy + 1, image->path, size);
  return copy;
}

static void keep(const pd__platform_image *image, void *found) {
  *(pd__platform_image **)found = pd__platform_copy_image(image);
}

pd__platform_image *pd__platform_image_at(const void *address) {
  pd__platform_image *found = NULL;
  if (address) pd__platform_visit(PD__NO_RECORDS, address, keep, &found);
  return found;
}
