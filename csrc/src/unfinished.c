/* Functions of the header that are being written; each moves to its own file. */
#include "api.h"

#define UNFINISHED(name) return pd__fail(err, PD_ERR_UNSUPPORTED, "pd_" #name ": not written yet")

pd_status pd__do_settings_add_flagfile(pd_settings *settings, const char *path, const char *program,
                                       pd_error_list *errors, pd_error *err) {
  (void)settings, (void)path, (void)program, (void)errors;
  UNFINISHED(settings_add_flagfile);
}
