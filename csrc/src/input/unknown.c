/* Variables of the environment that have the prefix of flags and name none: perhaps misspelt. */
#include <string.h>

#include "input.h"

/* A variable, and the flag that it may mean. */
typedef struct guess {
  const char *name; /* behind the prefix */
  size_t length;
  bool known; /* it is the variable of a flag, or of a name that values wait for */
  bool upper; /* all of its letters are capitals */
  unsigned edits;
  char nearest[PD__VARIABLE_SIZE]; /* or "" */
} guess;

typedef struct search {
  const pd__variable_rules *rules;
  bool all;
  const char *known;
} search;

static bool is_upper(const char *name, size_t length) {
  size_t i = 0;
  while (i < length && !(name[i] >= 'a' && name[i] <= 'z')) i++;
  return i == length;
}

static bool has_file_suffix(const char *name, size_t length) {
  size_t tail = sizeof PD__FILE_SUFFIX - 1;
  return length > tail && !memcmp(name + length - tail, PD__FILE_SUFFIX, tail);
}

/* The options of a command line have a meaning for --fromenv. */
static bool is_option_variable(const char *name, size_t length) {
  static const char *const options[] = {
#define HELP_NAME(name, number, text) text,
      PD_HELP_MAP(HELP_NAME) "flagfile", "fromenv", "tryfromenv", "undefok"};
  size_t i = 0, count = sizeof options / sizeof *options;
  while (i < count && !pd__variable_is_of_name(options[i], name, length)) i++;
  return i < count;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* shard_1 is not shard_2 misspelt: returns true if the names differ in digits alone. */
static bool is_equal_except_digits(const char *a, size_t length, const char *b) {
  const char *end = a + length;
  for (;;) {
    while (a < end && is_digit(*a)) a++;
    while (is_digit(*b)) b++;
    if (a == end || !*b || *a != *b) break;
    a++;
    b++;
  }
  return a == end && !*b;
}

static void update_nearest_variable(guess *about, const pd_flag *node) {
  char spelling[PD__VARIABLE_SIZE];
  const char *name = pd__flag_name(node);
  size_t length = strlen(name);
  const pd_flag *flag = pd__resolve_alias((pd_flag *)node);
  about->known |= pd__variable_is_of_name(name, about->name, about->length);
  if (about->known || !pd__flag_def(flag)) return;
  pd__variable_write_name("", name, length, about->upper, spelling);
  unsigned edits = pd__edit_distance(about->name, about->length, spelling, length);
  if (edits >= about->edits || is_equal_except_digits(about->name, about->length, spelling)) return;
  about->edits = edits;
  strcpy(about->nearest, spelling);
}

/* A name of one or two letters is near to many others: only its case may differ. */
static unsigned get_edit_limit(size_t length, bool all) {
  if (length < 3) return 1;
  return !all || length < 6 ? 2 : PD__TOO_FAR;
}

static void warn_of_unknown(const char *variable, size_t length, const char *prefix,
                            const char *nearest) {
  char escaped[PD__ESCAPED_SIZE];
  pd__fail(pd__warning_add(PD_WARNING_UNKNOWN), PD_OK,
           "environment variable %s names no flag%s%s%s%s",
           pd__escape_part(escaped, variable, length), *nearest ? "; did you mean " : "",
           *nearest ? prefix : "", nearest, *nearest ? "?" : "");
}

static void warn_if_variable_unknown(const char *variable, void *context) {
  const search *of = context;
  const char *prefix = of->rules->prefix;
  size_t before = strlen(prefix), length = strcspn(variable, "=");
  if (length <= before || !pd__platform_is_same_variable(variable, prefix, before)) return;
  size_t known = of->known ? strlen(of->known) : 0;
  if (length == known && pd__platform_is_same_variable(of->known, variable, length)) return;
  guess about = {.name = variable + before, .length = length - before};
  bool names_file = of->rules->read_files && has_file_suffix(about.name, about.length);
  if (names_file) about.length -= sizeof PD__FILE_SUFFIX - 1;
  if (about.length > PD_NAME_MAX || is_option_variable(about.name, about.length)) return;
  about.upper = is_upper(about.name, about.length);
  about.edits = get_edit_limit(about.length, of->all);
  for (const pd_flag *node = NULL; (node = pd__names_next(node)) && !about.known;) {
    if (pd__name_can_have_variable(node)) update_nearest_variable(&about, node);
  }
  if (about.known || (!of->all && !*about.nearest)) return;
  if (names_file && *about.nearest) strcat(about.nearest, PD__FILE_SUFFIX);
  warn_of_unknown(variable, length, prefix, about.nearest);
}

void pd__environment_warn_of_unknown(const pd__variable_rules *rules, bool all, const char *known) {
  search of = {rules, all, known};
  if (*rules->prefix) pd__environment_visit(warn_if_variable_unknown, &of);
}
