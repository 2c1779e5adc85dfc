/* paddle_flags for C++11 and up: typed flags as objects. Nothing to link, as in C.
 *
 *     #include <pd_flags.hpp>
 *
 *     static pd::flag<int> level{"alpha_level", 6, "Compression level", pd::range(1, 9)};
 *     static pd::flag<std::vector<std::string>> paths{"alpha_paths", {"."}, "Where to look"};
 *
 *     int f() { return level; }              // one atomic load
 *     for (const std::string &path : *paths) // a vector that nobody changes
 *
 * Types: bool; integers of any width; double and float; std::string, const char * and
 * std::string_view; enums with pd_names; std::chrono durations, as seconds; std::vector of
 * these; std::optional of these; and types with pd_parse and pd_format in their namespace.
 *
 * A flag is a static object: at namespace scope, in a class, or in a function. It belongs to
 * the module that constructs it, as those of PD_DEFINE do, with a namespace, a load and an
 * end; unlike these it has its value from its constructor on. Names and text are literals, or
 * stay as long. What it allocates (default, choices, functions, values of objects) stays.
 *
 * Errors are values: pd::status and pd::result<T>. `.or_throw()` and `.value_or_throw()` make
 * exceptions of them; this header compiles with -fno-exceptions and -fno-rtti.
 *
 * Threads: as in pd_flags.h. */
#ifndef PD_FLAGS_HPP
#define PD_FLAGS_HPP

#include <pd_flags/names_push.h>

#if !defined(__cplusplus) || __cplusplus < 201103L
#error "pd_flags.hpp needs C++11 or newer; pd_flags.h is for C too"
#endif

#include <pd_flags/hosting.hpp>

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_HPP */
