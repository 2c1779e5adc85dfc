/* Debian builds abseil without NDEBUG, and then its mutexes look for deadlocks, which
 * takes most of the time of what locks: not what a released program has. */
#ifndef BENCH_ABSEIL_H
#define BENCH_ABSEIL_H

#include <absl/synchronization/mutex.h>

[[maybe_unused]] static const bool bench_released = [] {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  return true;
}();

#endif
