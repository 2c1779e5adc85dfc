/* absl::CommandLineFlag, as in Abseil; see absl/flags/flag.h beside this file. */
#ifdef PD_WITH_ABSEIL_FLAGS
#include_next <absl/flags/commandlineflag.h>
#elif !defined(ABSL_FLAGS_COMMANDLINEFLAG_H_)
#define ABSL_FLAGS_COMMANDLINEFLAG_H_

#include <pd_flags/language.h>

#if __cplusplus < 201703L
#error "absl/flags/commandlineflag.h needs C++17 or newer"
#endif

#include <pd_flags/names_push.h>

#include <pd_flags/absl_reflection.hpp>

#include <pd_flags/names_pop.h>

#endif /* ABSL_FLAGS_COMMANDLINEFLAG_H_ */
