/* A host of what is released: host PLUGIN --level=7 --plugin_rate=2 */
#include <pd_flags.h>
#include <stdio.h>
PD_DEFINE_int32(level, 6, "Level", .min = 1, .max = 9);
int main(int argc, char **argv) {
  pd_error error;
  pd_module *plugin = NULL;
  if (pd_module_load(argv[1], NULL, &plugin, &error)) return printf("%s\n", error.message), 1;
  if (pd_parse_argv(&argc, argv, NULL, &error)) return printf("%s\n", error.message), 1;
  pd_flag *rate = NULL;
  double now = 0;
  if (pd_flag_find("plugin_rate", &rate, &error) || pd_flag_get_double(rate, &now, &error)) {
    return printf("%s\n", error.message), 1;
  }
  return printf("%s %d %g\n", pd_version(), (int)FLAGS_level, now), 0;
}
