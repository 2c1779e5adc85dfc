/* Uses up the memory for text that is kept, for programs with failing.h. */
#ifndef USED_UP_H
#define USED_UP_H

#include "failing.h"

/* Text that is kept comes in chunks: use up what is left of this one. */
__attribute__((unused)) static void use_up_text(void) {
  bool lasts = to_the_end;
  char usage[120];
  pd_program program = {.size = sizeof program, .usage = ""};
  CHECK_OK(pd_program_set(&program, &err)); /* each load has this text */
  program.usage = usage;
  to_the_end = true;
  left = 0;
  for (int width = 100; width > 0; width -= 98) { /* all but the last bytes, then these */
    for (int i = 0; i < 1000; i++) {
      snprintf(usage, sizeof usage, "%0*d", width, i);
      if (pd_program_set(&program, &err) != PD_OK) break;
    }
    CHECK(failed);
  }
  left = -1;
  to_the_end = lasts;
  failed = false;
  CHECK_OK(pd_environment_enable(NULL, NULL, &err));
}

#endif /* USED_UP_H */
