/* The build profile, as shown in the version: PD_WITHOUT_REPORT and PD_WITHOUT_INPUT leave out
 * whole layers. */
#ifndef PD__PROFILE_H
#define PD__PROFILE_H

#if defined(PD_WITHOUT_INPUT)
#define PD__VERSION PD_VERSION "+no-input"
#elif defined(PD_WITHOUT_REPORT)
#define PD__VERSION PD_VERSION "+no-report"
#else
#define PD__VERSION PD_VERSION
#endif

#endif /* PD__PROFILE_H */
