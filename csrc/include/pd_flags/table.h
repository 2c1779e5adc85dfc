/* The functions of the host, for modules that don't link libpd_flags: a module finds the
 * host through its record, and the functions in the host's table.
 *
 * The order is part of the binary contract (docs/reference/abi.md): new functions go to
 * the end, and none is ever removed or changed. A host of an older version has a shorter
 * table, and a small build has 0 in place of functions that it lacks: check host.size and
 * the pointer before you call. */
#ifndef PD_FLAGS_TABLE_H
#define PD_FLAGS_TABLE_H

#include <pd_flags/names_push.h>

PD__BEGIN_C

/* The public functions that work on the registry, without their pd_. S(name,
 * parameters, arguments) returns a pd_status and takes a pd_error last, R(result, name,
 * parameters, arguments) returns a pointer or a number, 0 if there is no such function,
 * and V returns nothing. A row isn't a call, so clang-format leaves it alone. */
/* clang-format off */
#define PD_TABLE_MAP(S, R, V)                                                                      \
  R(pd_error_list *, error_list_new, (void), ())                                                   \
  V(error_list_free, (pd_error_list * list), (list))                                               \
  R(size_t, error_list_count, (const pd_error_list *list), (list))                                 \
  R(const pd_error *, error_list_at, (const pd_error_list *list, size_t index), (list, index))     \
  R(const char *, version, (void), ())                                                             \
  S(flag_register, (const pd_flag_def *def, pd_flag **out, pd_error *err), (def, out, err))        \
  S(flag_find, (const char *name, pd_flag **out, pd_error *err), (name, out, err))                 \
  R(pd_flag *, flag_next, (const pd_flag *previous), (previous))                                   \
  S(flag_get_info, (const pd_flag *flag, pd_flag_info *info, pd_error *err), (flag, info, err))    \
  S(flag_get_entry, (const pd_flag *flag, size_t index, pd_flag_entry *entry, pd_error *err),      \
    (flag, index, entry, err))                                                                     \
  S(flag_get_bool, (const pd_flag *flag, bool *out, pd_error *err), (flag, out, err))              \
  S(flag_get_int32, (const pd_flag *flag, int32_t *out, pd_error *err), (flag, out, err))          \
  S(flag_get_uint32, (const pd_flag *flag, uint32_t *out, pd_error *err), (flag, out, err))        \
  S(flag_get_int64, (const pd_flag *flag, int64_t *out, pd_error *err), (flag, out, err))          \
  S(flag_get_uint64, (const pd_flag *flag, uint64_t *out, pd_error *err), (flag, out, err))        \
  S(flag_get_double, (const pd_flag *flag, double *out, pd_error *err), (flag, out, err))          \
  S(flag_get_string, (const pd_flag *flag, const char **out, pd_error *err), (flag, out, err))     \
  S(flag_get_text,                                                                                 \
    (const pd_flag *flag, char *buffer, size_t size, size_t *length, pd_error *err),               \
    (flag, buffer, size, length, err))                                                             \
  R(const void *, flag_get_address, (const pd_flag *flag), (flag))                                 \
  S(flag_set_bool, (pd_flag * flag, bool value, pd_error *err), (flag, value, err))                \
  S(flag_set_int32, (pd_flag * flag, int32_t value, pd_error * err), (flag, value, err))           \
  S(flag_set_uint32, (pd_flag * flag, uint32_t value, pd_error * err), (flag, value, err))         \
  S(flag_set_int64, (pd_flag * flag, int64_t value, pd_error * err), (flag, value, err))           \
  S(flag_set_uint64, (pd_flag * flag, uint64_t value, pd_error * err), (flag, value, err))         \
  S(flag_set_double, (pd_flag * flag, double value, pd_error *err), (flag, value, err))            \
  S(flag_set_string, (pd_flag * flag, const char *value, pd_error *err), (flag, value, err))       \
  S(flag_set_from_string, (pd_flag * flag, const char *text, pd_error *err), (flag, text, err))    \
  S(flag_reset, (pd_flag * flag, pd_error * err), (flag, err))                                     \
  S(flag_freeze, (pd_flag * flag, pd_error * err), (flag, err))                                    \
  S(flag_unfreeze, (pd_flag * flag, pd_error * err), (flag, err))                                  \
  S(batch_set,                                                                                     \
    (const pd_assignment *items, size_t count, const pd_origin *origin, pd_error_list *errors,     \
     pd_error *err),                                                                               \
    (items, count, origin, errors, err))                                                           \
  S(override_push,                                                                                 \
    (const pd_assignment *items, size_t count, const pd_origin *origin, pd_error_list *errors,     \
     pd_override *out, pd_error *err),                                                             \
    (items, count, origin, errors, out, err))                                                      \
  S(override_pop, (pd_override override, pd_error * err), (override, err))                         \
  S(environment_enable, (const char *prefix, pd_error_list *errors, pd_error *err),                \
    (prefix, errors, err))                                                                         \
  S(parse_argv, (int *argc, char **argv, const pd_parse_options *options, pd_error *err),          \
    (argc, argv, options, err))                                                                    \
  S(module_load, (const char *path, pd_error_list *errors, pd_module **out, pd_error *err),        \
    (path, errors, out, err))                                                                      \
  S(module_unload, (pd_module * module, pd_error * err), (module, err))                            \
  R(pd_module *, module_next, (const pd_module *previous), (previous))                             \
  S(module_get_info, (const pd_module *module, pd_module_info *info, pd_error *err),               \
    (module, info, err))                                                                           \
  S(module_get_flag, (const pd_module *module, size_t index, pd_flag **out, pd_error *err),        \
    (module, index, out, err))                                                                     \
  S(module_get_errors, (const pd_module *module, pd_error_list *errors, pd_error *err),            \
    (module, errors, err))                                                                         \
  S(pending_set, (const char *name, const char *text, const pd_origin *origin, pd_error *err),     \
    (name, text, origin, err))                                                                     \
  S(pending_get, (size_t index, pd_pending_info *info, pd_error *err), (index, info, err))         \
  S(pending_check, (pd_error_list *errors, pd_error *err), (errors, err))                          \
  S(module_load_as,                                                                                \
    (const char *path, const char *name_space, pd_error_list *errors, pd_module **out,             \
     pd_error *err),                                                                               \
    (path, name_space, errors, out, err))                                                          \
  S(flag_get_cell,                                                                                 \
    (const pd_flag *flag, size_t index, pd_cell_info *info, pd_error *err),                        \
    (flag, index, info, err))                                                                      \
  S(copy_get_info, (size_t index, pd_copy_info *info, pd_error *err), (index, info, err))          \
  R(const uint8_t *, flag_get_state, (const pd_flag *flag), (flag))                                \
  S(flag_drop, (pd_flag *flag, pd_source source, pd_error *err), (flag, source, err))              \
  S(validator_add,                                                                                 \
    (pd_flag *const *flags, size_t count, pd_validator function, void *context,                    \
     void (*release)(void *), pd_hook *out, pd_error *err),                                        \
    (flags, count, function, context, release, out, err))                                          \
  S(group_add,                                                                                     \
    (pd_group group, pd_flag *const *flags, size_t count, pd_hook *out, pd_error *err),            \
    (group, flags, count, out, err))                                                               \
  S(watcher_add,                                                                                   \
    (pd_flag *flag, pd_watcher function, void *context, void (*release)(void *), pd_hook *out,     \
     pd_error *err),                                                                               \
    (flag, function, context, release, out, err))                                                  \
  S(hook_remove, (pd_hook hook, pd_error *err), (hook, err))                                       \
  S(flags_validate, (pd_error_list *errors, pd_error *err), (errors, err))                         \
  S(warning_handle, (pd_warning_handler handler, void *context, pd_error *err),                    \
    (handler, context, err))                                                                       \
  S(config_new, (pd_source source, pd_config **out, pd_error *err), (source, out, err))            \
  V(config_free, (pd_config * config), (config))                                                   \
  S(config_add,                                                                                    \
    (pd_config *config, const char *name, const char *text, uint32_t literal,                      \
     const pd_origin *origin, pd_error *err),                                                      \
    (config, name, text, literal, origin, err))                                                    \
  S(config_add_flagfile,                                                                           \
    (pd_config *config, const char *path, const char *program, pd_error_list *errors,              \
     pd_error *err),                                                                               \
    (config, path, program, errors, err))                                                          \
  S(config_fail, (pd_config * config, const pd_error *error, pd_error *err),                       \
    (config, error, err))                                                                          \
  S(config_apply,                                                                                  \
    (const pd_config *config, bool allow_pending, pd_error_list *errors, pd_error *err),           \
    (config, allow_pending, errors, err))                                                          \
  S(report_help,                                                                                   \
    (const pd_report_options *options, pd_writer write, void *context, pd_error *err),             \
    (options, write, context, err))                                                                \
  S(report_flagfile, (bool all, pd_writer write, void *context, pd_error *err),                    \
    (all, write, context, err))                                                                    \
  S(flag_set_by_name, (const char *name, const char *text, pd_error *err), (name, text, err))      \
  S(flag_set_default, (pd_flag *flag, const char *text, pd_error *err), (flag, text, err))         \
  S(program_set, (const pd_program *program, pd_error *err), (program, err))                       \
  S(program_get, (pd_program *program, pd_error *err), (program, err))                             \
  S(flag_wipe, (pd_flag * flag, pd_error * err), (flag, err))                                      \
  S(warning_report, (const char *message, pd_error *err), (message, err))                          \
  S(hook_defer, (pd_hook hook, pd_error *err), (hook, err))                                        \
  S(deferred_run, (pd_error_list *errors, pd_error *err), (errors, err))                           \
  S(deferred_handle, (pd_deferred_handler handler, void *context, pd_error *err),                  \
    (handler, context, err))                                                                       \
  S(report_json,                                                                                   \
    (const pd_report_options *options, pd_writer write, void *context, pd_error *err),             \
    (options, write, context, err))                                                                \
  S(flag_unregister, (pd_flag * flag, pd_error * err), (flag, err))                                \
  S(flag_replace,                                                                                  \
    (const pd_flag_def *def, const pd_hook *hooks, size_t count, pd_flag **out, pd_error *err),    \
    (def, hooks, count, out, err))                                                                 \
  S(modules_check, (pd_error_list *errors, pd_error *err), (errors, err))                          \
  S(snapshot_take, (pd_snapshot **out, pd_error *err), (out, err))                                 \
  S(snapshot_restore, (const pd_snapshot *snapshot, pd_error *err), (snapshot, err))               \
  V(snapshot_free, (pd_snapshot * snapshot), (snapshot))                                           \
  R(pd_flag *, snapshot_next_change, (const pd_snapshot *snapshot, const pd_flag *previous),       \
    (snapshot, previous))                                                                          \
  R(pd_flag *, snapshot_next_definition, (const pd_snapshot *snapshot, const pd_flag *previous),   \
    (snapshot, previous))                                                                          \
  R(const uint32_t *, flag_get_generation, (const pd_flag *flag), (flag))                          \
  S(scope_push,                                                                                    \
    (const pd_assignment *items, size_t count, const pd_origin *origin, pd_error_list *errors,     \
     pd_scope *out, pd_error *err),                                                                \
    (items, count, origin, errors, out, err))                                                      \
  S(scope_pop, (pd_scope scope, pd_error * err), (scope, err))                                     \
  S(scope_capture, (pd_scope_context * *out, pd_error *err), (out, err))                           \
  V(scope_release, (pd_scope_context * context), (context))                                        \
  S(scope_attach, (pd_scope_context * context, pd_scope *out, pd_error *err), (context, out, err)) \
  S(scope_detach, (pd_scope attached, pd_error * err), (attached, err))                            \
  S(scope_switch, (pd_scope_context * context, pd_scope_context **out, pd_error *err),             \
    (context, out, err))                                                                           \
  R(pd_op *, op_next, (const pd_op *previous), (previous))                                         \
  S(op_find,                                                                                       \
    (const char *name, const uint8_t *types, pd_op **out, pd_error *err), (name, types, out, err)) \
  S(op_get_info, (const pd_op *operation, pd_op_info *info, pd_error *err), (operation, info, err))\
  S(op_get_impl,                                                                                   \
    (const pd_op *operation, size_t index, pd_impl_info *info, pd_error *err),                     \
    (operation, index, info, err))                                                                 \
  S(op_check_again, (pd_op *operation, pd_error * err), (operation, err))                          \
  S(impl_register, (const pd_op_def *def, pd_impl *out, pd_error *err), (def, out, err))           \
  S(impl_unregister, (pd_impl impl, pd_error * err), (impl, err))                                  \
  S(op_choose, (const pd_op *operation, pd_impl_info *info, pd_error *err), (operation, info, err))\
  R(const uint64_t *, op_revision, (void), ())                                                     \
  S(op_check_arrays,                                                                               \
    (const pd_op *operation, const void *const *tensors, size_t count, pd_error *err),             \
    (operation, tensors, count, err))                                                              \
  S(live_open, (const pd_live_options *options, pd_live **out, pd_error *err),                     \
    (options, out, err))                                                                           \
  V(live_close, (pd_live * live), (live))                                                          \
  S(live_answer,                                                                                   \
    (pd_live *live, const pd_live_request *request, pd_live_response *response, pd_error *err),    \
    (live, request, response, err))                                                                \
  S(live_refuse,                                                                                   \
    (uint32_t status, const char *detail, pd_live_response *response, pd_error *err),              \
    (status, detail, response, err))                                                               \
  V(live_response_free, (pd_live_response * response), (response))                                 \
  R(uint64_t, live_revision, (void), ())                                                           \
  S(live_events, (uint64_t since, pd_live_response *response, pd_error *err),                      \
    (since, response, err))                                                                        \
  S(config_check,                                                                                  \
    (const pd_config *config, bool allow_pending, pd_error_list *errors, pd_error *err),           \
    (config, allow_pending, errors, err))                                                          \
  R(bool, startup_over, (void), ())
/* clang-format on */

#define PD__MEMBER_S(name, parameters, arguments) pd_status(*name) parameters;
#define PD__MEMBER_R(result, name, parameters, arguments) result(*name) parameters;
#define PD__MEMBER_V(name, parameters, arguments) void(*name) parameters;

/* The host pointer of a module's record points to this. Immutable; valid until the
 * process ends. */
typedef struct pd_table {
  pd_host host; /* host.size is the size of the whole table */
  PD_TABLE_MAP(PD__MEMBER_S, PD__MEMBER_R, PD__MEMBER_V)
} pd_table;

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_TABLE_H */
