/* Which compilers the headers can't use, and brackets for parts of the headers that stay C in a C++
 * program: C linkage, and no C++ warnings about C idioms. */
#ifndef PD_FLAGS_LANGUAGE_H
#define PD_FLAGS_LANGUAGE_H

#if defined(_MSC_VER) && !defined(__clang__)
#error "pd_flags needs what Microsoft's cl.exe lacks, such as __attribute__: use clang-cl"
#elif defined(_MSC_VER) && defined(__attribute__)
/* Headers do so for cl.exe, and take clang-cl for it: flags would be left out without an error. */
#error "a header included before pd_flags defines __attribute__ as a macro, which clang-cl doesn't need"
#endif

#ifdef __cplusplus
#define PD__BEGIN_C                                                            \
  _Pragma("GCC diagnostic push")                                               \
  _Pragma("GCC diagnostic ignored \"-Wold-style-cast\"")                       \
  _Pragma("GCC diagnostic ignored \"-Wzero-as-null-pointer-constant\"")        \
  extern "C" {
#define PD__END_C                                                              \
  }                                                                            \
  _Pragma("GCC diagnostic pop")
#else
#define PD__BEGIN_C
#define PD__END_C
#endif

/* With clang, a source file may see two definitions of what the headers define: that of a C++20
 * module, and its own. It merges them only if they are `inline` and not static. In the module's own
 * object file, clang leaves out functions that nothing refers to, and all assembly that isn't in a
 * function; static variables that are `used` are there. PD__HELPER is put before the functions of
 * the headers. */
#if defined(__clang__) && defined(__cplusplus) && __cplusplus >= 202002L
#define PD__MERGED
#define PD__HELPER PD__HIDDEN inline
#else
#define PD__HELPER static inline
#endif

#endif /* PD_FLAGS_LANGUAGE_H */
