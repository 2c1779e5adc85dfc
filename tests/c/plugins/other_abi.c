/* Its constructor takes its record back and marks it as one of another ABI. */
#include <pd_flags.h>

PD_DEFINE_bool(other_abi, false, "Never defined");

__attribute__((constructor)) static void change_abi(void) {
  const pd_host *host = pd__module_v1.host;
  if (host) host->module_leave(&pd__module_v1);
  pd__module_v1.abi = 99;
}
