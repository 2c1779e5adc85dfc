/* Its constructor takes its record back and marks it as one of another ABI, which may have anything
 * behind the first two fields. */
#include <pd_flags.h>

PD_DEFINE_bool(other_abi, false, "Never defined");

__attribute__((constructor)) static void change_abi(void) {
  const pd_host *host = pd__module_v1.host;
  if (host) host->module_leave(&pd__module_v1);
  pd__module_v1.abi = 99;
  pd__module_v1.state = &pd__module_v1.abi;
}
