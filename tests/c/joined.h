/* The record of the program, which leaves and joins again with the definitions of a test. */
#ifndef JOINED_H
#define JOINED_H

#define CHECK_DEFINES_FLAGS
#include "check.h"

PD_DEFINE_bool(of_program, false, "So that the program has a record");

static pd_flag_def joined_copies[64];
static const pd_flag_def *joined[64];
static pd_error_list *join_errors; /* of the last join */

static inline const pd_host *get_host(void) {
  static const pd_host *host;
  pd_flag_next(NULL); /* the first call joins the record */
  if (!host) host = pd__module_v1.host;
  CHECK(host);
  return host;
}

static inline void leave_record(void) { get_host()->module_leave(&pd__module_v1); }

/* The module of the program, the only one with a record. */
static inline pd_module *own_module(void) {
  for (pd_module *each = NULL; (each = pd_module_next(each));) {
    pd_module_info info = {.size = sizeof info};
    CHECK_OK(pd_module_get_info(each, &info, &err));
    if (strstr(info.path, "/program")) return each;
  }
  return NULL;
}

static inline pd_status read_join_errors(void) {
  pd_module_info info = {.size = sizeof info};
  pd_error_list_free(join_errors);
  join_errors = pd_error_list_new();
  CHECK_OK(pd_module_get_errors(own_module(), join_errors, &err));
  CHECK_OK(pd_module_get_info(own_module(), &info, &err));
  return info.status;
}

/* Returns the status of the join. The definitions are copied: the record needs them to the end. */
static inline pd_status join_count(const pd_flag_def *const *defs, size_t count) {
  const pd_host *host = get_host();
  leave_record();
  for (size_t i = 0; i < count; i++) {
    if (defs[i]) joined_copies[i] = *defs[i];
    joined[i] = defs[i] ? &joined_copies[i] : NULL;
  }
  pd__module_v1.defs = joined;
  pd__module_v1.defs_end = joined + count;
  host->module_join(&pd__module_v1);
  return read_join_errors();
}

#define JOIN(...)                                                                                  \
  join_count((const pd_flag_def *const[]){__VA_ARGS__},                                            \
             sizeof((const pd_flag_def *const[]){__VA_ARGS__}) / sizeof(pd_flag_def *))

/* The message of an error of the last join. */
static inline const char *join_error(size_t index) {
  const pd_error *found = pd_error_list_at(join_errors, index);
  return found ? found->message : "none";
}

#endif /* JOINED_H */
