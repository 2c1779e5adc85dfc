/* A plugin whose flags are defined in flags.yaml. It includes the generated header. */
#include <stdio.h>

#include "pump_flags.h"

int pump_describe(char *text, size_t size) {
  return snprintf(text, size, "%d %s %s", (int)FLAGS_pump_rate, (const char *)FLAGS_pump_direction,
                  FLAGS_pump_dry ? "dry" : "wet");
}
