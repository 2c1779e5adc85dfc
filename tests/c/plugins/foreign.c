/* Its constructor joins again with a record of another ABI. */
#include <pd_flags.h>

PD_DEFINE_bool(foreign, false, "Never defined");

__attribute__((constructor)) static void join_again(void) {
  const pd_host *host = pd__module_v1.host;
  if (!host) return;
  host->module_leave(&pd__module_v1);
  pd__module_v1.abi = 99;
  host->module_join(&pd__module_v1);
}
