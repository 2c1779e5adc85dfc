/* Completion by the program itself, as in gflags: with --tab_completion_word, the program prints
 * the flags that match, and ends. */
/* Paddle and c10 want a real gflags here, which comes later on the include path; its include guard
 * skips the rest. */
#if defined(PADDLE_WITH_GFLAGS) || defined(C10_USE_GFLAGS)
#pragma GCC system_header /* #include_next is an extension */
#include_next <gflags/gflags_completions.h>
#endif

#ifndef GFLAGS_COMPLETIONS_H_
#define GFLAGS_COMPLETIONS_H_

#include <pd_flags/names_push.h>

#include <gflags/gflags.h>

#include <pd_flags/names_pop.h>

#endif /* GFLAGS_COMPLETIONS_H_ */
