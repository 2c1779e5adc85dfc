/* Parsing of a command line of one or two tokens. */
#ifndef TOKENS_H
#define TOKENS_H

#include "check.h"

/* Either token may be NULL. Arguments stay where they are. */
static inline pd_status parse(const char *token, const char *next, pd_parse_options options) {
  char program[] = "program", first[64] = "", second[64] = "";
  char *argv[] = {program, token ? first : NULL, next ? second : NULL, NULL};
  int argc = 1 + !!token + !!next;
  if (token) snprintf(first, sizeof first, "%s", token);
  if (next) snprintf(second, sizeof second, "%s", next);
  options.size = sizeof options;
  options.arrange = PD_ARRANGE_LEAVE;
  return pd_parse_argv(&argc, argv, &options, &err);
}

#endif /* TOKENS_H */
