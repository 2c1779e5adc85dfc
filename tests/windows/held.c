/* Ends while another thread is in a watcher of a DLL, which never returns: that thread is
 * killed, and the DLL, which leaves, doesn't wait for it. The argument is the DLL, which
 * is this file compiled with -DHELD. */
#include <windows.h>
/* behind it */
#include <pd_flags.h>
#include <stdio.h>

#ifdef HELD
static void wait_for_ever(pd_flag *flag, void *context) {
  (void)flag;
  (void)context;
  Sleep(INFINITE);
}

PD_DEFINE_int32(held_level, 0, "Its watcher never returns", .watch = wait_for_ever);
#else
static DWORD WINAPI set(void *flag) { return pd_flag_set_int32(flag, 1, NULL); }

int main(int argc, char **argv) {
  pd_flag *flag;
  int32_t value = 0;
  if (argc != 2 || pd_module_load(argv[1], NULL, NULL, NULL) != PD_OK) return 1;
  if (pd_flag_find("held_level", &flag, NULL) != PD_OK) return 1;
  CreateThread(NULL, 0, set, flag, 0, NULL);
  while (pd_flag_get_int32(flag, &value, NULL) == PD_OK && value == 0) Sleep(1);
  Sleep(20);
  puts("ends");
  return 0;
}
#endif
