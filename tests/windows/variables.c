/* Variables whose case is another one than that of the prefix and of the flag's name. */
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>
#include <windows.h>

PD_DEFINE_int32(ann_threads, 1, "Number of threads");

static char warned[1024];

static void append(const char *message, pd_warning kind, void *context) {
  (void)context;
  if (kind == PD_WARNING_UNKNOWN) strcat(strcat(warned, message), "\n");
}

static int read_threads(void) {
  pd_environment_hold(true);
  if (pd_environment_enable("App_", NULL, NULL) != PD_OK) return -1;
  pd_environment_release();
  return FLAGS_ann_threads;
}

int main(void) {
  if (pd_warning_handle(append, NULL, NULL) != PD_OK) return 1;
  SetEnvironmentVariableA("aPP_Ann_Threads", "4");
  if (read_threads() != 4 || *warned) return 2;
  SetEnvironmentVariableA("aPP_Ann_Treads", "5");
  if (read_threads() != 4) return 3;
  printf("%s", warned);
  return 0;
}
