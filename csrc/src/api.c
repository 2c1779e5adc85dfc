/* The exported functions that need no registry. */
#include "base/error.h"
#include "value/value.h"

const char *pd_status_name(pd_status status) { return pd__status_name(status); }
const char *pd_status_text(pd_status status) { return pd__status_text(status); }
const char *pd_type_name(pd_type type) { return pd__type_name(type); }
const char *pd_source_name(pd_source source) { return pd__source_name(source); }
uint32_t pd_source_rank(pd_source source) { return pd__source_rank(source); }

pd_status pd_list_get(const char *list, size_t index, char *buffer, size_t size, size_t *length,
                      pd_error *err) {
  return pd__list_get(list, index, buffer, size, length, err);
}
