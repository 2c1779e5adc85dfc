/* In a directory whose name isn't ASCII: one file by several names, and a namespace. */
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  pd_module *first, *second;
  pd_flag *flag;
  pd_module_info info = {.size = sizeof info};
  if (pd_module_load_as("LEVEL.dll", "beta", NULL, &first, NULL) != PD_OK) return 1;
  if (pd_flag_find("beta.join_level", &flag, NULL) != PD_OK) return 2;
  if (pd_module_load_as(".\\level.DLL", "beta", NULL, &second, NULL) != PD_OK) return 3;
  if (first != second || pd_module_get_info(first, &info, NULL) != PD_OK) return 4;
  if (!strstr(info.path, "na\xc3\xafve \xe6\xbc\xa2\xe5\xad\x97")) return 5;
  if (pd_module_load("\xff.dll", NULL, &second, NULL) != PD_ERR_LOAD) return 6;
  puts("ok");
  return 0;
}
