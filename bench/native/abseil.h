/* Debian builds abseil without NDEBUG, so its mutexes look for deadlocks, which takes most of the
 * time of functions that lock. Released programs don't do that. */
#ifndef BENCH_ABSEIL_H
#define BENCH_ABSEIL_H

#include <absl/synchronization/mutex.h>

[[maybe_unused]] static const bool bench_released = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

#endif
