/* absl::FindCommandLineFlag, GetAllFlags and FlagSaver, as in Abseil; see absl/flags/flag.h beside this file. */
#ifdef PD_WITH_ABSEIL_FLAGS
#include_next <absl/flags/reflection.h>
#elif !defined(ABSL_FLAGS_REFLECTION_H_)
#define ABSL_FLAGS_REFLECTION_H_

#include <pd_flags/language.h>

#if __cplusplus < 201703L
#error "absl/flags/reflection.h needs C++17 or newer"
#endif

#include <pd_flags/names_push.h>

#include <pd_flags/absl_reflection.hpp>

#include <pd_flags/names_pop.h>

#endif /* ABSL_FLAGS_REFLECTION_H_ */
