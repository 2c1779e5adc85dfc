/* How a module calls the functions of its host without linking against libpd_flags. */
#ifndef PD_FLAGS_HOST_H
#define PD_FLAGS_HOST_H

#include <pd_flags/names_push.h>

#ifdef PD_NO_MODULE_RECORD
#error "PD_HEADER_ONLY needs the module record that PD_NO_MODULE_RECORD leaves out"
#endif

#include <pd_flags/table.h>

PD__BEGIN_C

/* ---- Messages, without the C library ---- */

static inline char *pd__add_text(char *at, const char *end, const char *text) {
  while (*text && at < end - 1) *at++ = *text++;
  *at = '\0';
  return at;
}

static inline char *pd__add_number(char *at, const char *end, size_t number) {
  char digits[24], *first = digits + sizeof digits - 1;
  *first = '\0';
  do *--first = (char)('0' + number % 10);
  while (number /= 10);
  return pd__add_text(at, end, first);
}

/* Concatenate three texts into `err` (NULL allowed), and return `status`. */
static inline pd_status pd__refuse(pd_error *err, pd_status status, const char *a, const char *b,
                                   const char *c) {
  if (!err) return status;
  const char *end = err->message + sizeof err->message;
  err->status = status;
  pd__add_text(pd__add_text(pd__add_text(err->message, end, a), end, b), end, c);
  return status;
}

/* ---- The way to the host ---- */

/* The table of the host, or NULL if this process has no registry. A host joins the modules
 * that were loaded before it; this also finds a host that hasn't done so yet. */
static inline const pd_table *pd__table(void) {
  const pd_host *host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (!host) host = pd__look_for_host();
  return (const pd_table *)(const void *)host;
}

/* The same if the table has the function at `offset`, or NULL: an older version has a shorter
 * table, and a small build has 0 instead of functions that it lacks. */
static inline const pd_table *pd__table_with(size_t offset) {
  const pd_table *table = pd__table();
  if (!table || table->host.size <= offset) return NULL;
  /* The field at `offset`, a pointer to a function. */
  return *(void (*const *)(void))(const void *)((const char *)table + offset) ? table : NULL;
}

static inline pd_status pd__refuse_missing(pd_error *err, const char *name) {
  const pd_table *table = pd__table_with(offsetof(pd_table, version));
  char text[64];
  if (!table) {
    return pd__refuse(err, PD_ERR_UNSUPPORTED, name, ": no registry is in this process: ",
                      "load libpd_flags, or what brings it, first");
  }
  pd__add_text(pd__add_text(text, text + sizeof text, table->version()), text + sizeof text,
               ", which lacks it");
  return pd__refuse(err, PD_ERR_UNSUPPORTED, name,
                    ": the registry of this process is hosted by version ", text);
}

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_HOST_H */
