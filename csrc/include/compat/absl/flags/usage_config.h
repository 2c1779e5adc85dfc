/* absl::FlagsUsageConfig, as in Abseil; see absl/flags/flag.h beside this file. */
#ifdef PD_WITH_ABSEIL_FLAGS
#include_next <absl/flags/usage_config.h>
#elif !defined(ABSL_FLAGS_USAGE_CONFIG_H_)
#define ABSL_FLAGS_USAGE_CONFIG_H_

#include <pd_flags/language.h>

#if __cplusplus < 201703L
#error "absl/flags/usage_config.h needs C++17 or newer"
#endif

#include <pd_flags/names_push.h>

#include <pd_flags/absl_usage.hpp>

#include <pd_flags/names_pop.h>

#endif /* ABSL_FLAGS_USAGE_CONFIG_H_ */
