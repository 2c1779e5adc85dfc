/* What a build leaves out: whole layers, by PD_WITHOUT_REPORT and PD_WITHOUT_INPUT. */
#ifndef PD__PROFILE_H
#define PD__PROFILE_H

#if defined(PD_WITHOUT_INPUT)
#define PD__VERSION PD_VERSION "+no-input"
#elif defined(PD_WITHOUT_REPORT)
#define PD__VERSION PD_VERSION "+no-report"
#else
#define PD__VERSION PD_VERSION
#endif

#define PD__LACKS_SHORTCUTS 0
#define PD__LACKS_ARGV 0
#define PD__LACKS_HOOKS 0
#define PD__LACKS_READINGS 0
#define PD__LACKS_BATCH 0
#define PD__LACKS_LOADS 0
#define PD__LACKS_WAY 0
#define PD__INLINE static inline __attribute__((always_inline))
#define PD__ASIDE static __attribute__((noinline))
#define PD__ROW(name) pd__do_##name

#endif /* PD__PROFILE_H */
