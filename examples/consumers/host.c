// A program with flags of its own that loads a plugin: host [PLUGIN] --flag=value ...
#include <pd_flags.h>
#include <stdio.h>

PD_DEFINE_int32(host_level, 6, "How hard to try", .min = 1, .max = 9);

int main(int argc, char **argv) {
  pd_error error;
  if (argc > 1 && argv[1][0] != '-' && pd_module_load(argv[1], NULL, NULL, &error) != PD_OK) {
    return fprintf(stderr, "host: %s\n", error.message), 1;
  }
  if (pd_parse_argv(&argc, argv, NULL, &error) != PD_OK) {
    return fprintf(stderr, "host: %s\n", error.message), 2;
  }
  int32_t factor = 0;
  pd_flag *flag;
  if (pd_flag_find("plugin_factor", &flag, NULL) == PD_OK) {
    pd_flag_get_int32(flag, &factor, NULL);
  }
  printf("paddle_flags %s, level %d, factor %d\n", pd_version(), (int)FLAGS_host_level,
         (int)factor);
  return 0;
}
