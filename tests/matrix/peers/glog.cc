/* A user of glog, whose flags are gflags'. */
#include <gflags/gflags.h>
#include <glog/logging.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int a_set(const char *name, const char *text, char *) {
  return gflags::SetCommandLineOption(name, text).empty();
}

EXPORT int a_verbosity() {
  if (!google::IsGoogleLoggingInitialized()) google::InitGoogleLogging("coexistence");
  LOG(INFO) << "verbosity " << FLAGS_v;
  return FLAGS_v;
}
