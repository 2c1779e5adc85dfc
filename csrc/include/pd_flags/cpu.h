/* Whether the processor, and the system, have what an implementation needs:
 *
 *     PD_USABLE_WITH_CPU(has_avx2, "avx2")
 *     PD_IMPL(pow, fast, pow_fast, .usable = has_avx2); */
#ifndef PD_FLAGS_CPU_H
#define PD_FLAGS_CPU_H

#include <pd_flags/language.h>

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

PD__BEGIN_C

/* `feature` is a literal: __builtin_cpu_supports accepts nothing else. */
#define PD__CPU_HAS(name)                                                      \
  if (!__builtin_strcmp(feature, name)) return __builtin_cpu_supports(name) ? 1 : 0;

/* 1, 0, or -1 if no feature of this kind of processor has the name. */
static inline int pd__cpu_has(const char *feature) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  PD__CPU_HAS("sse2") PD__CPU_HAS("sse3") PD__CPU_HAS("ssse3") PD__CPU_HAS("sse4.1")
  PD__CPU_HAS("sse4.2") PD__CPU_HAS("popcnt") PD__CPU_HAS("avx") PD__CPU_HAS("avx2")
  PD__CPU_HAS("fma") PD__CPU_HAS("bmi") PD__CPU_HAS("bmi2") PD__CPU_HAS("avx512f")
  PD__CPU_HAS("avx512bw") PD__CPU_HAS("avx512dq") PD__CPU_HAS("avx512vl") PD__CPU_HAS("avx512cd")
  PD__CPU_HAS("avx512vnni")
#elif defined(__aarch64__)
  if (!__builtin_strcmp(feature, "neon")) return 1;
#ifdef __linux__
  if (!__builtin_strcmp(feature, "sve")) return getauxval(AT_HWCAP) >> 22 & 1;
  if (!__builtin_strcmp(feature, "sve2")) return getauxval(AT_HWCAP2) >> 1 & 1;
#endif
#endif
  (void)feature;
  return -1;
}

/* NULL if the processor has the feature, or why not, for `.usable`. */
#define PD_CPU_LACKS(feature)                                                  \
  (pd__cpu_has(feature) > 0    ? (const char *)0                               \
   : pd__cpu_has(feature) == 0 ? "the CPU lacks " feature                      \
                               : "no feature of this CPU is known as " feature)

/* Defines the function `name` for `.usable`. */
#define PD_USABLE_WITH_CPU(name, feature)                                      \
  static inline const char *name(void) { return PD_CPU_LACKS(feature); }

PD__END_C

#endif /* PD_FLAGS_CPU_H */
