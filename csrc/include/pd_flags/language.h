/* Brackets for parts of the headers that stay C in a C++ program: C linkage, and no C++
 * warnings about C idioms. */
#ifndef PD_FLAGS_LANGUAGE_H
#define PD_FLAGS_LANGUAGE_H

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

#endif /* PD_FLAGS_LANGUAGE_H */
