/* Abseil's flags on the registry of the process: sources that are compiled with this header instead
 * of Abseil's own join it.
 *
 *     c++ -I<include>/compat -I<include> program.cc -lpd_flags
 *
 * ABSL_FLAG and GetFlag need no library, so plugins can use them. Every other function calls the
 * library or, with PD_HEADER_ONLY, the registry of the process. docs/how-to/migrate-from-abseil.md
 * says what is the same and what differs. Names and meanings are Abseil's; the code is ours. */
#ifdef PD_WITH_ABSEIL_FLAGS
#include_next <absl/flags/flag.h>
#elif !defined(ABSL_FLAGS_FLAG_H_)
#define ABSL_FLAGS_FLAG_H_

#include <pd_flags/language.h>

#if __cplusplus < 201703L
#error "absl/flags/flag.h needs C++17 or newer"
#endif

#include <pd_flags/names_push.h>

#include <pd_flags/absl_flag.hpp>

#define ABSL_FLAG(Type, name, default_value, help) PD__ABSL_FLAG(Type, name, default_value, help)

/* A name that command lines may still give, without effect. */
#define ABSL_RETIRED_FLAG(Type, name, default_value, reason) PD__ABSL_RETIRED_FLAG(Type, name, reason)

#include <pd_flags/names_pop.h>

#endif /* ABSL_FLAGS_FLAG_H_ */
