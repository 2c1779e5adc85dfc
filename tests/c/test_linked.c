/* A plugin that the program is linked with: the loader doesn't unload it before the process ends,
 * and what is read of it after its destructors is there.
 *
 * Built with: -I$SOURCES $LIBRARY -Wl,--no-as-needed $PLUGINS/libalpha.so -Wl,-rpath,$PLUGINS
 */
#define _GNU_SOURCE
#include "plugged.h"

#include <link.h>
#include <platform/platform.h>

static bool is_known_to_stay(void *handle) {
  struct link_map *map = NULL;
  CHECK(dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
  pd__platform_image *image = pd__platform_find_image(PD__NO_RECORDS, map->l_ld);
  if (!image) return false; /* it is in another namespace of the loader */
  bool stays = image->stays;
  free(image);
  return stays;
}

TEST(a_plugin_that_the_program_is_linked_with_is_known_to_stay) {
  begin();
  void *handle = open_plugin("alpha");
  CHECK(is_known_to_stay(handle));
  close_plugin(handle);
  dlclose(handle); /* once more than it was opened */
  CHECK(is_loaded("alpha"));
}

/* Of other C libraries none is ever unloaded. */
TEST(a_plugin_that_is_opened_later_is_not) {
#ifdef __GLIBC__
  begin();
  void *handle = open_plugin("half");
  CHECK(!is_known_to_stay(handle));
  close_plugin(handle);
  CHECK(!is_loaded("half"));
#endif
}

/* Sanitizers allow no other namespace. */
TEST(no_plugin_of_a_namespace_of_the_loader_is) {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  begin();
  void *handle = dlmopen(LM_ID_NEWLM, plugin_path("half"), RTLD_NOW);
  CHECK(handle && !is_known_to_stay(handle));
  dlclose(handle);
#endif
}

/* As when the process ends: handles may be used after the destructors of the plugin. */
TEST(the_flags_of_a_linked_plugin_keep_their_names_after_its_destructors) {
  begin();
  pd_flag *level, *again, *alias;
  CHECK_OK(pd_flag_find("alpha_level", &level, &err));
  CHECK_OK(pd_flag_set_from_string(level, "7", &err));
  pd__platform_image *image =
      pd__platform_find_image(PD__RECORDS_OF_MODULES, symbol_in("alpha", "spare_cell"));
  CHECK(image);
  pd_module_record *record = image->record;
  const pd_host *host = record->host;
  host->module_leave(record);
  CHECK_STATUS(pd_flag_set_int32(level, 8, &err), PD_ERR_UNDEFINED,
               "alpha_level: the module that defined it has been unloaded");
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
