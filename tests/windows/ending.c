/* Ends while another thread sets a flag, as fast as it can: that thread is killed
 * wherever it is. The argument is a DLL with a flag join_level. */
#include <windows.h>
/* behind it */
#include <pd_flags.h>
#include <stdio.h>

static DWORD WINAPI set_forever(void *flag) {
  for (int32_t i = 0;; i = (i + 1) % 99) pd_flag_set_int32(flag, i, NULL);
  return 0;
}

int main(int argc, char **argv) {
  pd_flag *flag;
  if (argc != 2 || pd_module_load(argv[1], NULL, NULL, NULL) != PD_OK) return 1;
  if (pd_flag_find("join_level", &flag, NULL) != PD_OK) return 1;
  for (int i = 0; i < 4; i++) CreateThread(NULL, 0, set_forever, flag, 0, NULL);
  Sleep(20);
  puts("ends");
  return 0;
}
