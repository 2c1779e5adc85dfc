/* The functions of the host, for modules that don't link against libpd_flags: a module finds the
 * host through its record, and the functions in the host's table.
 *
 * The order is part of the binary contract (docs/reference/abi.md): new functions go to the end,
 * and none is ever removed or changed. A host of an older version has a shorter table, and a small
 * build has 0 instead of functions that it lacks: check host.size and the pointer before you
 * call. */
#ifndef PD_FLAGS_TABLE_H
#define PD_FLAGS_TABLE_H

#include <pd_flags/names_push.h>

PD__BEGIN_C

/* The public functions that work on the registry, without their pd_, each with its parameters and
 * with the arguments that pass them on. STATUS(name, parameters, arguments) returns a pd_status and
 * takes a pd_error last, RESULT(result, name, parameters, arguments) returns a pointer or a number,
 * 0 if there is no such function, and VOID returns nothing. So one list makes the fields of the
 * table, and the functions that call through it: pass three macros, one for each kind of row.
 *
 * Made by tools/lists.py from the declarations of pd_flags.h. Rows stay where they are; functions
 * that are new in pd_flags.h go to the end. */
#define PD_TABLE_MAP(STATUS, RESULT, VOID)                                                         \
  RESULT(pd_error_list *, error_list_new, (void), ())                                              \
  VOID(error_list_free, (pd_error_list *list), (list))                                             \
  RESULT(size_t, error_list_count, (const pd_error_list *list), (list))                            \
  RESULT(const pd_error *, error_list_at, (const pd_error_list *list, size_t index),               \
    (list, index))                                                                                 \
  RESULT(const char *, version, (void), ())                                                        \
  STATUS(flag_register, (const pd_flag_def *def, pd_flag **out, pd_error *err), (def, out, err))   \
  STATUS(flag_find, (const char *name, pd_flag **out, pd_error *err), (name, out, err))            \
  RESULT(pd_flag *, flag_next, (const pd_flag *previous), (previous))                              \
  STATUS(flag_get_info, (const pd_flag *flag, pd_flag_info *info, pd_error *err),                  \
    (flag, info, err))                                                                             \
  STATUS(flag_get_entry, (const pd_flag *flag, size_t index, pd_flag_entry *entry, pd_error *err), \
    (flag, index, entry, err))                                                                     \
  STATUS(flag_get_bool, (const pd_flag *flag, bool *out, pd_error *err), (flag, out, err))         \
  STATUS(flag_get_int32, (const pd_flag *flag, int32_t *out, pd_error *err), (flag, out, err))     \
  STATUS(flag_get_uint32, (const pd_flag *flag, uint32_t *out, pd_error *err), (flag, out, err))   \
  STATUS(flag_get_int64, (const pd_flag *flag, int64_t *out, pd_error *err), (flag, out, err))     \
  STATUS(flag_get_uint64, (const pd_flag *flag, uint64_t *out, pd_error *err), (flag, out, err))   \
  STATUS(flag_get_double, (const pd_flag *flag, double *out, pd_error *err), (flag, out, err))     \
  STATUS(flag_get_string, (const pd_flag *flag, const char **out, pd_error *err),                  \
    (flag, out, err))                                                                              \
  STATUS(flag_get_text, (const pd_flag *flag, char *buffer, size_t size, size_t *length,           \
    pd_error *err), (flag, buffer, size, length, err))                                             \
  RESULT(const void *, flag_get_address, (const pd_flag *flag), (flag))                            \
  STATUS(flag_set_bool, (pd_flag *flag, bool value, pd_error *err), (flag, value, err))            \
  STATUS(flag_set_int32, (pd_flag *flag, int32_t value, pd_error *err), (flag, value, err))        \
  STATUS(flag_set_uint32, (pd_flag *flag, uint32_t value, pd_error *err), (flag, value, err))      \
  STATUS(flag_set_int64, (pd_flag *flag, int64_t value, pd_error *err), (flag, value, err))        \
  STATUS(flag_set_uint64, (pd_flag *flag, uint64_t value, pd_error *err), (flag, value, err))      \
  STATUS(flag_set_double, (pd_flag *flag, double value, pd_error *err), (flag, value, err))        \
  STATUS(flag_set_string, (pd_flag *flag, const char *value, pd_error *err), (flag, value, err))   \
  STATUS(flag_set_from_string, (pd_flag *flag, const char *text, pd_error *err),                   \
    (flag, text, err))                                                                             \
  STATUS(flag_reset, (pd_flag *flag, pd_error *err), (flag, err))                                  \
  STATUS(flag_freeze, (pd_flag *flag, pd_error *err), (flag, err))                                 \
  STATUS(flag_unfreeze, (pd_flag *flag, pd_error *err), (flag, err))                               \
  STATUS(batch_set, (const pd_assignment *items, size_t count, const pd_origin *origin,            \
    pd_error_list *errors, pd_error *err), (items, count, origin, errors, err))                    \
  STATUS(override_push, (const pd_assignment *items, size_t count, const pd_origin *origin,        \
    pd_error_list *errors, pd_override *out, pd_error *err),                                       \
    (items, count, origin, errors, out, err))                                                      \
  STATUS(override_pop, (pd_override override, pd_error *err), (override, err))                     \
  STATUS(environment_enable, (const char *prefix, pd_error_list *errors, pd_error *err),           \
    (prefix, errors, err))                                                                         \
  STATUS(parse_argv, (int *argc, char **argv, const pd_parse_options *options, pd_error *err),     \
    (argc, argv, options, err))                                                                    \
  STATUS(module_load, (const char *path, pd_error_list *errors, pd_module **out, pd_error *err),   \
    (path, errors, out, err))                                                                      \
  STATUS(module_unload, (pd_module *module, pd_error *err), (module, err))                         \
  RESULT(pd_module *, module_next, (const pd_module *previous), (previous))                        \
  STATUS(module_get_info, (const pd_module *module, pd_module_info *info, pd_error *err),          \
    (module, info, err))                                                                           \
  STATUS(module_get_flag, (const pd_module *module, size_t index, pd_flag **out, pd_error *err),   \
    (module, index, out, err))                                                                     \
  STATUS(module_get_errors, (const pd_module *module, pd_error_list *errors, pd_error *err),       \
    (module, errors, err))                                                                         \
  STATUS(pending_set, (const char *name, const char *text, const pd_origin *origin,                \
    pd_error *err), (name, text, origin, err))                                                     \
  STATUS(pending_get, (size_t index, pd_pending_info *info, pd_error *err), (index, info, err))    \
  STATUS(pending_check, (pd_error_list *errors, pd_error *err), (errors, err))                     \
  STATUS(module_load_as, (const char *path, const char *name_space, pd_error_list *errors,         \
    pd_module **out, pd_error *err), (path, name_space, errors, out, err))                         \
  STATUS(flag_get_cell, (const pd_flag *flag, size_t index, pd_cell_info *info, pd_error *err),    \
    (flag, index, info, err))                                                                      \
  STATUS(copy_get_info, (size_t index, pd_copy_info *info, pd_error *err), (index, info, err))     \
  RESULT(const uint8_t *, flag_get_state, (const pd_flag *flag), (flag))                           \
  STATUS(flag_drop, (pd_flag *flag, pd_source source, pd_error *err), (flag, source, err))         \
  STATUS(validator_add, (pd_flag *const *flags, size_t count, pd_validator function,               \
    void *context, void (*release)(void *context), pd_hook *out, pd_error *err),                   \
    (flags, count, function, context, release, out, err))                                          \
  STATUS(group_add, (pd_group group, pd_flag *const *flags, size_t count, pd_hook *out,            \
    pd_error *err), (group, flags, count, out, err))                                               \
  STATUS(watcher_add, (pd_flag *flag, pd_watcher function, void *context,                          \
    void (*release)(void *context), pd_hook *out, pd_error *err),                                  \
    (flag, function, context, release, out, err))                                                  \
  STATUS(hook_remove, (pd_hook hook, pd_error *err), (hook, err))                                  \
  STATUS(flags_validate, (pd_error_list *errors, pd_error *err), (errors, err))                    \
  STATUS(warning_handle, (pd_warning_handler handler, void *context, pd_error *err),               \
    (handler, context, err))                                                                       \
  STATUS(config_new, (pd_source source, pd_config **out, pd_error *err), (source, out, err))       \
  VOID(config_free, (pd_config *config), (config))                                                 \
  STATUS(config_add, (pd_config *config, const char *name, const char *text, uint32_t literal,     \
    const pd_origin *origin, pd_error *err), (config, name, text, literal, origin, err))           \
  STATUS(config_add_flagfile, (pd_config *config, const char *path, const char *program,           \
    pd_error_list *errors, pd_error *err), (config, path, program, errors, err))                   \
  STATUS(config_fail, (pd_config *config, const pd_error *error, pd_error *err),                   \
    (config, error, err))                                                                          \
  STATUS(config_apply, (const pd_config *config, bool allow_pending, pd_error_list *errors,        \
    pd_error *err), (config, allow_pending, errors, err))                                          \
  STATUS(report_help, (const pd_report_options *options, pd_writer write, void *context,           \
    pd_error *err), (options, write, context, err))                                                \
  STATUS(report_flagfile, (bool all, pd_writer write, void *context, pd_error *err),               \
    (all, write, context, err))                                                                    \
  STATUS(flag_set_by_name, (const char *name, const char *text, pd_error *err), (name, text, err)) \
  STATUS(flag_set_default, (pd_flag *flag, const char *text, pd_error *err), (flag, text, err))    \
  STATUS(program_set, (const pd_program *program, pd_error *err), (program, err))                  \
  STATUS(program_get, (pd_program *program, pd_error *err), (program, err))                        \
  STATUS(flag_wipe, (pd_flag *flag, pd_error *err), (flag, err))                                   \
  STATUS(warning_report, (const char *message, pd_error *err), (message, err))                     \
  STATUS(hook_defer, (pd_hook hook, pd_error *err), (hook, err))                                   \
  STATUS(deferred_run, (pd_error_list *errors, pd_error *err), (errors, err))                      \
  STATUS(deferred_handle, (pd_deferred_handler handler, void *context, pd_error *err),             \
    (handler, context, err))                                                                       \
  STATUS(report_json, (const pd_report_options *options, pd_writer write, void *context,           \
    pd_error *err), (options, write, context, err))                                                \
  STATUS(flag_unregister, (pd_flag *flag, pd_error *err), (flag, err))                             \
  STATUS(flag_replace, (const pd_flag_def *def, const pd_hook *hooks, size_t count, pd_flag **out, \
    pd_error *err), (def, hooks, count, out, err))                                                 \
  STATUS(modules_check, (pd_error_list *errors, pd_error *err), (errors, err))                     \
  STATUS(snapshot_take, (pd_snapshot **out, pd_error *err), (out, err))                            \
  STATUS(snapshot_restore, (const pd_snapshot *snapshot, pd_error *err), (snapshot, err))          \
  VOID(snapshot_free, (pd_snapshot *snapshot), (snapshot))                                         \
  RESULT(pd_flag *, snapshot_next_change, (const pd_snapshot *snapshot, const pd_flag *previous),  \
    (snapshot, previous))                                                                          \
  RESULT(pd_flag *, snapshot_next_definition, (const pd_snapshot *snapshot,                        \
    const pd_flag *previous), (snapshot, previous))                                                \
  RESULT(const uint32_t *, flag_get_generation, (const pd_flag *flag), (flag))                     \
  STATUS(scope_push, (const pd_assignment *items, size_t count, const pd_origin *origin,           \
    pd_error_list *errors, pd_scope *out, pd_error *err),                                          \
    (items, count, origin, errors, out, err))                                                      \
  STATUS(scope_pop, (pd_scope scope, pd_error *err), (scope, err))                                 \
  STATUS(scope_capture, (pd_scope_context **out, pd_error *err), (out, err))                       \
  VOID(scope_release, (pd_scope_context *context), (context))                                      \
  STATUS(scope_attach, (pd_scope_context *context, pd_scope *out, pd_error *err),                  \
    (context, out, err))                                                                           \
  STATUS(scope_detach, (pd_scope attached, pd_error *err), (attached, err))                        \
  STATUS(scope_switch, (pd_scope_context *context, pd_scope_context **out, pd_error *err),         \
    (context, out, err))                                                                           \
  RESULT(pd_op *, op_next, (const pd_op *previous), (previous))                                    \
  STATUS(op_find, (const char *name, const uint8_t *types, pd_op **out, pd_error *err),            \
    (name, types, out, err))                                                                       \
  STATUS(op_get_info, (const pd_op *operation, pd_op_info *info, pd_error *err),                   \
    (operation, info, err))                                                                        \
  STATUS(op_get_impl, (const pd_op *operation, size_t index, pd_impl_info *info, pd_error *err),   \
    (operation, index, info, err))                                                                 \
  STATUS(op_check_again, (pd_op *operation, pd_error *err), (operation, err))                      \
  STATUS(impl_register, (const pd_op_def *def, pd_impl *out, pd_error *err), (def, out, err))      \
  STATUS(impl_unregister, (pd_impl impl, pd_error *err), (impl, err))                              \
  STATUS(op_choose, (const pd_op *operation, pd_impl_info *info, pd_error *err),                   \
    (operation, info, err))                                                                        \
  RESULT(const uint64_t *, op_revision, (void), ())                                                \
  STATUS(op_check_arrays, (const pd_op *operation, const void *const *tensors, size_t count,       \
    pd_error *err), (operation, tensors, count, err))                                              \
  STATUS(config_check, (const pd_config *config, bool allow_pending, pd_error_list *errors,        \
    pd_error *err), (config, allow_pending, errors, err))                                          \
  RESULT(bool, startup_over, (void), ())                                                           \
  RESULT(struct pd_flag *, error_list_get_flag, (const pd_error_list *list, size_t index),         \
    (list, index))                                                                                 \
  STATUS(value_get_text, (pd_type type, pd_value value, char *buffer, size_t size, size_t *length, \
    pd_error *err), (type, value, buffer, size, length, err))                                      \
  RESULT(const char *, flag_get_name, (const pd_flag *flag), (flag))                               \
  STATUS(value_parse, (pd_type type, const char *unit, const char *text, pd_value *out,            \
    pd_error *err), (type, unit, text, out, err))                                                  \
  STATUS(flag_compare_text, (pd_flag *flag, const char *text, bool *same, pd_error *err),          \
    (flag, text, same, err))                                                                       \
  STATUS(batch_apply, (const pd_batch_change *changes, size_t count,                               \
    const pd_batch_options *options, pd_error *err), (changes, count, options, err))               \
  VOID(callbacks_postpone, (bool postpone), (postpone))                                            \
  RESULT(bool, callbacks_are_waiting, (void), ())                                                  \
  VOID(callbacks_run, (void), ())                                                                  \
  STATUS(journal_start, (pd_error *err), (err))                                                    \
  RESULT(uint64_t, journal_get_revision, (void), ())                                               \
  RESULT(uint64_t, flag_get_revision, (const pd_flag *flag), (flag))                               \
  RESULT(const char *, journal_get_epoch, (void), ())                                              \
  STATUS(journal_get, (uint64_t since, pd_journal_event *event, pd_error *err),                    \
    (since, event, err))                                                                           \
  RESULT(uint64_t, config_count_dropped, (pd_source source), (source))                             \
  VOID(environment_hold, (bool always), (always))                                                  \
  VOID(environment_release, (void), ())                                                            \
  STATUS(config_set_environment, (pd_config *config, const char *env_prefix,                       \
    bool env_ignore_empty, bool env_files, pd_error *err),                                         \
    (config, env_prefix, env_ignore_empty, env_files, err))
/* end of PD_TABLE_MAP */

/* `name` is a pointer to a function; its parameters include their parentheses. */
#define PD__MEMBER_STATUS(name, parameters, arguments) pd_status(*name) parameters;
#define PD__MEMBER_RESULT(result, name, parameters, arguments) result(*name) parameters;
#define PD__MEMBER_VOID(name, parameters, arguments) void(*name) parameters;

/* The host pointer of a module's record points to this. Immutable; valid until the
 * process ends. */
typedef struct pd_table {
  pd_host host; /* host.size is the size of the whole table */
  PD_TABLE_MAP(PD__MEMBER_STATUS, PD__MEMBER_RESULT, PD__MEMBER_VOID)
} pd_table;

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_TABLE_H */
