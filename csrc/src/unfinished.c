/* Functions of the header that are being written; each moves to its own file. */
#include "api.h"

#define UNFINISHED(name) return pd__fail(err, PD_ERR_UNSUPPORTED, "pd_" #name ": not written yet")

pd_status pd__do_settings_add_flagfile(pd_settings *settings, const char *path, const char *program,
                                       pd_error_list *errors, pd_error *err) {
  (void)settings, (void)path, (void)program, (void)errors;
  UNFINISHED(settings_add_flagfile);
}
pd_status pd__do_report_help(const pd_report_options *options, pd_writer write, void *context,
                             pd_error *err) {
  (void)options, (void)write, (void)context;
  UNFINISHED(report_help);
}
pd_status pd__do_report_flagfile(bool all, pd_writer write, void *context, pd_error *err) {
  (void)all, (void)write, (void)context;
  UNFINISHED(report_flagfile);
}
pd_status pd__do_validator_add(pd_flag *const *flags, size_t count, pd_validator function,
                               void *context, void (*release)(void *), pd_hook *out,
                               pd_error *err) {
  (void)flags, (void)count, (void)function, (void)context, (void)release, (void)out;
  UNFINISHED(validator_add);
}
pd_status pd__do_group_add(pd_group group, pd_flag *const *flags, size_t count, pd_hook *out,
                           pd_error *err) {
  (void)group, (void)flags, (void)count, (void)out;
  UNFINISHED(group_add);
}
pd_status pd__do_watcher_add(pd_flag *flag, pd_watcher function, void *context,
                             void (*release)(void *), pd_hook *out, pd_error *err) {
  (void)flag, (void)function, (void)context, (void)release, (void)out;
  UNFINISHED(watcher_add);
}
pd_status pd__do_hook_remove(pd_hook hook, pd_error *err) {
  (void)hook;
  UNFINISHED(hook_remove);
}
pd_status pd__do_flags_validate(pd_error_list *errors, pd_error *err) {
  (void)errors;
  UNFINISHED(flags_validate);
}
pd_status pd__do_warning_handle(pd_warning_handler handler, void *context, pd_error *err) {
  (void)handler, (void)context;
  UNFINISHED(warning_handle);
}
