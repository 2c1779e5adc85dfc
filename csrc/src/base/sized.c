#include "sized.h"

#include <string.h>

/* The size is the first field. */
static size_t read_size(const void *sized) { return *(const size_t *)sized; }

pd_status pd__sized_check(const void *theirs, size_t least, const char *what, pd_error *err) {
  if (!theirs) return pd__fail_null(err, what);
  size_t size = read_size(theirs);
  if (size >= least) return PD_OK;
  return pd__fail(err, PD_ERR_ARGUMENT, "%s->size is %zu, expected %zu or more", what, size, least);
}

void pd__sized_copy_out(void *theirs, const void *ours, size_t size) {
  size_t theirs_size = read_size(theirs);
  size_t common = theirs_size < size ? theirs_size : size;
  memcpy(theirs, ours, common);
  memset((char *)theirs + common, 0, theirs_size - common);
  memcpy(theirs, &theirs_size, sizeof theirs_size);
}

pd_status pd__sized_copy_in(const void *theirs, size_t least, void *ours, size_t size,
                            const char *what, pd_error *err) {
  pd_status status = pd__sized_check(theirs, least, what, err);
  if (status != PD_OK) return status;
  const char *bytes = theirs;
  size_t theirs_size = read_size(theirs);
  for (size_t i = size; i < theirs_size; i++) {
    if (!bytes[i]) continue;
    return pd__fail(err, PD_ERR_UNSUPPORTED,
                    "%s asks for something that version %s of the library doesn't know", what,
                    PD_VERSION);
  }
  memset(ours, 0, size);
  memcpy(ours, theirs, theirs_size < size ? theirs_size : size);
  return PD_OK;
}

pd_status pd__record_check_and_copy(const void *record, size_t least, void *ours, uint32_t size,
                                    const char *what, pd_error *err) {
  uint32_t theirs = *(const uint32_t *)record;
  if (theirs < least) {
    return pd__fail(err, PD_ERR_ABI, "%s has %u bytes, expected %zu or more", what, theirs, least);
  }
  if (theirs % _Alignof(void *)) {
    return pd__fail(err, PD_ERR_ABI, "%s has %u bytes, expected a multiple of %zu", what, theirs,
                    _Alignof(void *));
  }
  size_t known = theirs < size ? theirs : size;
  memcpy(ours, record, known);
  memset((char *)ours + known, 0, size - known);
  memcpy(ours, &size, sizeof size);
  return PD_OK;
}
