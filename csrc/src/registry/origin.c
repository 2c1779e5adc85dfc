/* Where a value came from, as messages show it. */
#include <stdio.h>
#include <string.h>

#include "registry.h"

bool pd__startup_over;

bool pd_startup_over(void) {
  pd__platform_lock();
  bool over = pd__startup_over;
  pd__platform_unlock();
  return over;
}

const pd_origin pd__at_run_time = {PD_SOURCE_RUNTIME, 0, NULL, 0};

/* Returns whether the name of an environment variable ends with the flag's name, perhaps in upper
 * case and with `_` for `-` and `.`; messages then don't repeat the flag's name. */
static bool has_name_at_end(const char *variable, const char *name) {
  size_t length = strlen(variable), tail = strlen(name);
  if (length < tail) return false;
  for (const char *at = variable + length - tail; *at; at++, name++) {
    char c = *name == '-' || *name == '.' ? '_' : *name;
    bool lower = c >= 'a' && c <= 'z';
    if (*at != *name && *at != c && !(lower && *at == c - 'a' + 'A')) return false;
  }
  return true;
}

bool pd__origin_is_env_variable(const pd_origin *origin) {
  return origin->source == PD_SOURCE_ENVIRONMENT ||
         (origin->source == PD_SOURCE_ARGV && origin->place && !origin->line);
}

bool pd__origin_is_same_input(const pd_origin *first, const pd_origin *second) {
  if (first->source != second->source) return false;
  if (first->source == PD_SOURCE_ARGV) return true;
  bool same = first->place && second->place && !strcmp(first->place, second->place);
  return same && (first->source == PD_SOURCE_FILE || first->source == PD_SOURCE_ENVIRONMENT);
}

const char *pd__origin_line_separator(const pd_origin *origin) {
  return origin->source == PD_SOURCE_FLEET ? " revision " : ":";
}

const char *pd__origin_write_message_prefix(const pd_origin *origin, char out[PD__PREFIX_SIZE]) {
  bool variable = pd__origin_is_env_variable(origin);
  strcpy(out, variable ? "environment: " : "");
  /* Who sets a flag gets the message, and knows from where. */
  bool known = origin->source == PD_SOURCE_RUNTIME || origin->source == PD_SOURCE_LIVE;
  if (variable || !origin->place || known) return out;
  const char *tail = pd__path_tail(origin->place, 255);
  if (tail != origin->place) tail = pd__path_tail(tail, 252);
  pd__append_format(out, PD__PREFIX_SIZE, "%s%s", tail == origin->place ? "" : "...", tail);
  const char *separator = pd__origin_line_separator(origin);
  if (origin->line) pd__append_format(out, PD__PREFIX_SIZE, "%s%u", separator, origin->line);
  if (origin->line && origin->column)
    pd__append_format(out, PD__PREFIX_SIZE, ":%u", origin->column);
  pd__append_format(out, PD__PREFIX_SIZE, ": ");
  return out;
}

const char *pd__origin_write_description(const pd_origin *origin, char out[PD__ESCAPED_SIZE]) {
  bool placed = origin->place && *origin->place && origin->source != PD_SOURCE_DEFAULT;
  const char *place = placed ? origin->place : pd_source_name(origin->source);
  const char *separator = pd__origin_line_separator(origin);
  const char *tail = pd__path_tail(place, PD__ESCAPED_SIZE - 15 - strlen(separator));
  const char *before = placed && pd__origin_is_env_variable(origin) ? "$" : "";
  snprintf(out, PD__ESCAPED_SIZE, "%s%s%s", before, tail == place ? "" : "...", tail);
  bool numbered = origin->line && !placed && origin->source == PD_SOURCE_ARGV;
  if (origin->line && placed)
    pd__append_format(out, PD__ESCAPED_SIZE, "%s%u", separator, origin->line);
  if (numbered) pd__append_format(out, PD__ESCAPED_SIZE, "[%u]", origin->line);
  return out;
}

const char *pd__origin_write_message_subject(const char *name, const pd_origin *origin,
                                             char out[PD__SOURCE_SIZE]) {
  const char *variable = origin->place ? origin->place : "";
  pd__origin_write_message_prefix(origin, out);
  if (!pd__origin_is_env_variable(origin)) {
    bool dashes = origin->source == PD_SOURCE_ARGV || origin->source == PD_SOURCE_FILE;
    pd__append_format(out, PD__SOURCE_SIZE, "%s%s", dashes ? "--" : "", name);
  } else if (strchr(variable, '=')) { /* it names a file */
    pd__append_format(out, PD__SOURCE_SIZE, "%.512s: %s", variable, name);
  } else if (has_name_at_end(variable, name)) {
    pd__append_format(out, PD__SOURCE_SIZE, "%s", variable);
  } else {
    pd__append_format(out, PD__SOURCE_SIZE, "%.512s%s(%s)", variable, *variable ? " " : "", name);
  }
  return out;
}

/* Returns whether callers may give values from the source; defaults and overrides have functions of
 * their own. */
static bool is_settable_source(pd_source source) {
  return pd_source_rank(source) > 0 && pd_source_rank(source) <= pd_source_rank(PD_SOURCE_RUNTIME);
}

#define LISTED(name, number, rank, text) PD_SOURCE_##name,

/* "file, environment, argv, fleet, run time or live" */
static void write_settable_sources(char *out, size_t size) {
  static const pd_source all[] = { PD_SOURCE_MAP(LISTED) };
  size_t left = 0;
  out[0] = '\0';
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) left += is_settable_source(all[i]);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    if (!is_settable_source(all[i])) continue;
    const char *separator = !*out ? "" : left > 1 ? ", " : " or ";
    pd__append_format(out, size, "%s%s", separator, pd_source_name(all[i]));
    left--;
  }
}

pd_status pd__origin_check_settable(const pd_origin *origin, pd_error *err) {
  char expected[256];
  if (!origin || is_settable_source(origin->source)) return PD_OK;
  write_settable_sources(expected, sizeof expected);
  return pd__fail(err, PD_ERR_ARGUMENT, "origin->source is %d, expected %s", (int)origin->source,
                  expected);
}

bool pd__origin_is_same(const pd_origin *a, const pd_origin *b) {
  return a->line == b->line && a->place == b->place && a->column == b->column &&
         a->source == b->source;
}
