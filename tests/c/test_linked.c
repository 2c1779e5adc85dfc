/* A plugin that the program is linked with: the loader doesn't unload it before the process ends,
 * and what is read of it after its destructors is there.
 *
 * Built with: -I$SOURCES $LIBRARY -Wl,--no-as-needed $PLUGINS/libalpha.so -Wl,-rpath,$PLUGINS
 */
#define _GNU_SOURCE
#include "plugged.h"

#include <platform/platform.h>

static bool is_known_to_stay(const char *plugin) {
  pd__platform_image *image =
      pd__platform_image_at(PD__NO_RECORDS, symbol_in(plugin, "spare_cell"));
  CHECK(image);
  bool stays = image->stays;
  free(image);
  return stays;
}

TEST(a_plugin_that_the_program_is_linked_with_is_known_to_stay) {
  begin();
  CHECK(is_known_to_stay("alpha"));
  close_plugin(open_plugin("alpha"));
  void *handle = dlopen(plugin_path("alpha"), RTLD_NOW | RTLD_NOLOAD);
  while (handle && dlclose(handle) == 0) handle = NULL;
  CHECK(is_loaded("alpha"));
  CHECK(is_known_to_stay("alpha"));
}

#ifdef __GLIBC__ /* others unload nothing */

TEST(a_plugin_that_is_opened_later_is_not) {
  begin();
  void *handle = open_plugin("plain");
  CHECK(!is_known_to_stay("plain"));
  close_plugin(handle);
  CHECK(!is_loaded("plain"));
}

#ifdef LM_ID_NEWLM
TEST(no_plugin_of_a_namespace_of_the_loader_is) {
  begin();
  void *handle = dlmopen(LM_ID_NEWLM, plugin_path("plain"), RTLD_NOW);
  if (!handle) return; /* sanitizers allow none */
  pd__platform_image *image = pd__platform_image_at(PD__NO_RECORDS, symbol(handle, "spare_cell"));
  CHECK(!image || !image->stays);
  free(image);
  dlclose(handle);
}
#endif

#endif

/* As when the process ends: handles may be used after the destructors of the plugin. */
TEST(the_flags_of_a_linked_plugin_keep_their_names_after_its_destructors) {
  begin();
  pd_flag *level, *again, *alias;
  CHECK_OK(pd_flag_find("alpha_level", &level, &err));
  CHECK_OK(pd_flag_set_from_string(level, "7", &err));
  pd__platform_image *image =
      pd__platform_image_at(PD__RECORDS_OF_MODULES, symbol_in("alpha", "spare_cell"));
  CHECK(image);
  pd_module_record *record = image->record;
  const pd_host *host = record->host;
  host->module_leave(record);
  CHECK_STATUS(pd_flag_set_int32(level, 8, &err), PD_ERR_UNDEFINED,
               "alpha_level: the module that defined it is gone");
  CHECK_STATUS(pd_flag_find("alpha_level", &again, &err), PD_ERR_UNDEFINED,
               "no flag is named 'alpha_level'");
  host->module_join(record);
  free(image);
  CHECK_OK(pd_flag_find("alpha-level", &again, &err));
  CHECK_OK(pd_flag_find("alpha_lvl", &alias, &err));
  CHECK(again == level && alias == level);
  int32_t value = 0;
  CHECK_OK(pd_flag_get_int32(level, &value, &err));
  CHECK(value == 7);
}
