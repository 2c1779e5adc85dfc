/* Where a value came from, as messages say it. */
#include <stdio.h>
#include <string.h>

#include "registry.h"

const pd_origin pd__at_run_time = {PD_SOURCE_RUNTIME, 0, NULL, 0};

/* Whether a variable tells which flag it is for: it has no `-` and no dot. */
static bool ends_with_name(const char *variable, const char *name) {
  size_t length = strlen(variable), tail = strlen(name);
  if (length < tail) return false;
  for (const char *at = variable + length - tail; *at; at++, name++) {
    if (*at != *name && !(*at == '_' && (*name == '-' || *name == '.'))) return false;
  }
  return true;
}

/* A variable has no lines; --fromenv on a command line names one too. */
static bool is_variable(const pd_origin *origin) {
  return origin->source == PD_SOURCE_ENVIRONMENT ||
         (origin->source == PD_SOURCE_ARGV && origin->place && !origin->line);
}

const char *pd__place_of(const pd_origin *origin, char out[PD__PLACE_SIZE]) {
  bool variable = is_variable(origin);
  bool file = !variable && origin->place && origin->source != PD_SOURCE_RUNTIME;
  char line[12] = "", column[12] = "";
  if (origin->line) snprintf(line, sizeof line, "%u:", origin->line);
  if (origin->line && origin->column) snprintf(column, sizeof column, "%u:", origin->column);
  if (file) {
    snprintf(out, PD__PLACE_SIZE, "%.255s:%s%s ", origin->place, line, column);
  } else {
    strcpy(out, variable ? "environment: " : "");
  }
  return out;
}

const char *pd__source_of(const char *name, const pd_origin *origin, char out[PD__SOURCE_SIZE]) {
  char place[PD__PLACE_SIZE];
  const char *variable = origin->place ? origin->place : "";
  pd__place_of(origin, place);
  if (is_variable(origin) && !ends_with_name(variable, name)) {
    snprintf(out, PD__SOURCE_SIZE, "%s%.512s%s(%s)", place, variable, *variable ? " " : "", name);
  } else if (is_variable(origin)) {
    snprintf(out, PD__SOURCE_SIZE, "%s%s", place, variable);
  } else {
    bool dashes = origin->source == PD_SOURCE_ARGV || origin->source == PD_SOURCE_FILE;
    snprintf(out, PD__SOURCE_SIZE, "%s%s%s", place, dashes ? "--" : "", name);
  }
  return out;
}

pd_status pd__origin_check(const pd_origin *origin, pd_error *err) {
  if (!origin || (origin->source > PD_SOURCE_DEFAULT && origin->source < PD_SOURCE_OVERRIDE)) {
    return PD_OK;
  }
  return pd__fail(err, PD_ERR_ARGUMENT,
                  "origin->source is %d, expected file, environment, argv or run time",
                  (int)origin->source);
}
