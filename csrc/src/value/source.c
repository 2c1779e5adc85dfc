/* Names and ranks of the sources of values. */
#include "value.h"

#define NAME(name, number, rank, text)                                                             \
  case PD_SOURCE_##name:                                                                           \
    return text;
const char *pd_source_name(pd_source source) {
  switch (source) { PD_SOURCE_MAP(NAME) }
  return "unknown";
}

#define RANK(name, number, rank, text)                                                             \
  case PD_SOURCE_##name:                                                                           \
    return rank;
uint32_t pd_source_rank(pd_source source) {
  switch (source) { PD_SOURCE_MAP(RANK) } /* NOLINT(bugprone-branch-clone): two may have one rank */
  return 0;
}
