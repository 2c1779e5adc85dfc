/* Completion of a command line by the program itself, as gflags does it: who has set
 * --tab_completion_word gets the flags that it may become, and the program ends. */
/* Paddle and c10 ask for a real gflags, which is farther down the include path; its guard skips
 * the rest. */
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
