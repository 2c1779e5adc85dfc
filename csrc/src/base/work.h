/* Declares the functions behind the function table through which modules and other copies of the
 * library call this one. Each is defined in the layer that it belongs to, under its public name.
 * The symbol of the body is the hidden pd__do_<name>. The exported symbol is a forwarder in api.c,
 * which finds the copy of the library that hosts the registry. */
#ifndef PD__WORK_H
#define PD__WORK_H

#define PD_NO_MODULE_RECORD
#ifndef PD__EXPORTS
#define PD__BODIES
#endif
#include <pd_flags.h>
#include <pd_flags/table.h>

#ifdef PD__EXPORTS
#define PD__WORK_R(result, name, parameters, arguments) result pd__do_##name parameters;
#else
#define PD__WORK_R(result, name, parameters, arguments)                                            \
  result pd_##name parameters PD__SHARED_SYMBOL("pd__do_" #name);
#endif
#define PD__WORK_S(name, parameters, arguments) PD__WORK_R(pd_status, name, parameters, arguments)
#define PD__WORK_V(name, parameters, arguments) PD__WORK_R(void, name, parameters, arguments)
PD_TABLE_MAP(PD__WORK_S, PD__WORK_R, PD__WORK_V)

/* The exported functions that need no registry: each copy calls its own. */
/* clang-format off */
#define PD__PURE_MAP(S, R, V)                                                                      \
  R(const char *, status_name, (pd_status status), (status))                                       \
  R(const char *, status_text, (pd_status status), (status))                                       \
  R(const char *, type_name, (pd_type type), (type))                                               \
  R(const char *, source_name, (pd_source source), (source))                                       \
  R(uint32_t, source_rank, (pd_source source), (source))                                           \
  V(flag_def_init, (pd_flag_def *def, size_t size, pd_type type), (def, size, type))               \
  S(list_get,                                                                                      \
    (const char *list, size_t index, char *buffer, size_t size, size_t *length, pd_error *err),    \
    (list, index, buffer, size, length, err))
/* clang-format on */
PD__PURE_MAP(PD__WORK_S, PD__WORK_R, PD__WORK_V)

#endif /* PD__WORK_H */
