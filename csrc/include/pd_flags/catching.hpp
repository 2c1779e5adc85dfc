/* Catches what C++ callbacks throw: an exception must not pass through the registry's C code. */
#ifndef PD_FLAGS_CATCHING_HPP
#define PD_FLAGS_CATCHING_HPP

#include <pd_flags.h>

#include <new> /* std::exception, which is also in <exception>, with much else */

#if defined(__cpp_exceptions) || defined(__EXCEPTIONS)
#define PD__EXCEPTIONS 1
#else
#define PD__EXCEPTIONS 0
#endif

/* The exception that ends a thread (cancellation, pthread_exit) must pass through: if it is
 * swallowed, the process ends. With libraries other than GNU's, catch (...) doesn't see it. */
#ifdef __GLIBCXX__
#include <bits/cxxabi_forced.h> /* all that is needed of <cxxabi.h>, which costs much more */
#define PD__CATCH_END catch (::__cxxabiv1::__forced_unwind &) { throw; }
#else
#define PD__CATCH_END
#endif

namespace pd {
namespace detail {

PD__INLINE void write_why(char *why, size_t size, const char *text) {
  size_t length = __builtin_strlen(text);
  if (size == 0) return;
  if (length > size - 1) length = size - 1;
  __builtin_memcpy(why, text, length);
  why[length] = '\0';
}

/* Return what `asked` returns. If it throws, return false and write the exception's message to
 * `why`, or `unknown` if it isn't a std::exception. */
template <class Function>
PD__INLINE bool ask_catching(
    char *why, size_t size, const Function &asked,
    const char *unknown = "the validator threw something that is no std::exception") {
#if PD__EXCEPTIONS
  try {
    return asked();
  }
  PD__CATCH_END
  catch (const std::exception &e) {
    detail::write_why(why, size, e.what());
  }
  catch (...) {
    detail::write_why(why, size, unknown);
  }
  return false;
#else
  (void)why, (void)size, (void)unknown;
  return asked();
#endif
}

}  // namespace detail
}  // namespace pd

#endif /* PD_FLAGS_CATCHING_HPP */
