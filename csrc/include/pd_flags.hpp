/* paddle_flags for C++11 and later: typed flags as objects. As in C, nothing needs to be linked.
 *
 *     #include <pd_flags.hpp>
 *     #include <string>
 *     #include <vector>
 *
 *     static pd::flag<int> level{"alpha_level", 6, "Compression level", pd::range(1, 9)};
 *     static pd::flag<std::vector<std::string>> paths{"alpha_paths", {"."}, "Where to look"};
 *
 *     int f() { return level; }              // one atomic load
 *     for (const std::string &path : *paths) // an immutable vector
 *
 * Types: bool; integers of any width; double and float; std::string, const char * and
 * std::string_view; enums with pd_names; std::chrono durations, as seconds; std::vector of these;
 * std::optional of these; and types with pd_parse and pd_format in their namespace. This header
 * includes none of <string>, <vector>, <chrono> and <optional>: include what your flags' types
 * need, and <string> for flags of enums and of other objects, and for message() and text().
 *
 * A flag is a static object: at namespace scope, in a class, or in a function. It belongs to the
 * module that constructs it, as flags of PD_DEFINE do: it gets the module's namespace and leaves
 * with the module. Unlike those, it has its value only once its constructor has run. Names and
 * texts must live as long as the module: use literals. Memory that a flag allocates (default,
 * choices, functions, values of objects) is never freed.
 *
 * Errors are values: pd::status and pd::result<T>. `.or_throw()` and `.value_or_throw()` turn them
 * into exceptions. This header compiles with -fno-exceptions and -fno-rtti.
 *
 * pd_flags/scope.hpp: per-thread values of flags of PD_DEFINE_SCOPED_<type>, pd::scoped_value.
 *
 * Threads: as in pd_flags.h. */
#ifndef PD_FLAGS_HPP
#define PD_FLAGS_HPP

#include <pd_flags/names_push.h>

#include <pd_flags/language.h>

#if !defined(__cplusplus) || __cplusplus < 201103L
#error "pd_flags.hpp needs C++11 or newer; pd_flags.h is for C too"
#endif

#include <pd_flags/hosting.hpp>
#include <pd_flags/op.hpp>
#include <pd_flags/scope.hpp>

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_HPP */
