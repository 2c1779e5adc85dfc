/* Suggestions: the name or value that a user may have meant. */
#include <stdio.h>
#include <string.h>

#include "../base/text.h"
#include "flag.h"
#include "registry.h"

#define TOO_FAR PD__TOO_FAR
#define LEAST_PREFIX 3

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

static char normalize_letter(char c) {
  if (c >= 'A' && c <= 'Z') return (char)(c + 'a' - 'A');
  return pd__normalize_dash(c);
}

/* By the Damerau-Levenshtein recurrence on three rows. */
unsigned pd__edit_distance(const char *a, size_t a_length, const char *b, size_t b_length) {
  unsigned rows[3][PD_NAME_MAX + 1];
  if ((a_length > b_length ? a_length - b_length : b_length - a_length) >= TOO_FAR) return TOO_FAR;
  for (size_t j = 0; j <= b_length; j++) rows[0][j] = (unsigned)j;
  for (size_t i = 1; i <= a_length; i++) {
    unsigned *row = rows[i % 3], *up = rows[(i + 2) % 3], *up2 = rows[(i + 1) % 3];
    unsigned least = row[0] = (unsigned)i;
    for (size_t j = 1; j <= b_length; j++) {
      unsigned best = up[j - 1] + (normalize_letter(a[i - 1]) != normalize_letter(b[j - 1]));
      if (up[j] + 1 < best) best = up[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      bool swapped = i > 1 && j > 1 && normalize_letter(a[i - 1]) == normalize_letter(b[j - 2]) &&
                     normalize_letter(a[i - 2]) == normalize_letter(b[j - 1]);
      if (swapped && up2[j - 2] + 1 < best) best = up2[j - 2] + 1;
      row[j] = best;
      if (best < least) least = best;
    }
    if (least >= TOO_FAR) return TOO_FAR;
  }
  return rows[a_length % 3][b_length];
}

/* Returns whether `name` begins with the `length` bytes of `start`. */
static bool has_prefix(const char *name, const char *start, size_t length) {
  for (size_t i = 0; i < length; i++) {
    if (normalize_letter(name[i]) != normalize_letter(start[i])) return false;
  }
  return true;
}

/* Returns whether the flag may be suggested under the name of `node`. */
static bool can_suggest(const pd_flag *node, bool bools) {
  const pd_flag *flag = pd__resolve_alias((pd_flag *)node);
  if (!flag->defined || pd__flag_def(flag)->hidden || pd__flag_def(flag)->retired) return false;
  return !bools || pd__flag_def(flag)->type == PD_TYPE_bool;
}

/* The options of a command line that aren't flags. */
static const char options[][12] = {
#define HELP_NAME(name, number, text) text,
    PD_HELP_MAP(HELP_NAME) "flagfile", "fromenv", "tryfromenv", "undefok"};

#define OPTIONS (sizeof options / sizeof *options)

/* Such an option is not misspelt; it just has no meaning where it was used. */
static bool is_builtin_option(const char *name, size_t length) {
  size_t i = 0;
  while (i < OPTIONS && (strncmp(options[i], name, length) != 0 || options[i][length])) i++;
  return i < OPTIONS;
}

typedef struct guess {
  const char *prefixed; /* the last name that begins with it, in any case */
  size_t prefixes;      /* how many names do */
  const char *near;     /* the name with the fewest edits */
  unsigned best;        /* its edits; initially the first number that is too many */
} guess;

static void update_nearest_guess(guess *so_far, const char *name, size_t length,
                                 const char *known) {
  size_t whole = strlen(known);
  if (has_prefix(known, name, length)) { /* not if it is shorter: its NUL differs */
    so_far->prefixed = known;
    so_far->prefixes++;
  }
  unsigned edits = pd__edit_distance(name, length, known, whole);
  if (edits >= so_far->best) return;
  so_far->best = edits;
  so_far->near = known;
}

/* Returns the only name that begins with it; or the name that is the fewest edits away, none of
 * them if only the case differs; or NULL. */
static const char *find_nearest_name(const char *name, size_t length, bool bools, bool line) {
  /* A short name is near to many others: allow it fewer edits. */
  guess so_far = {.best = length < 3 ? 1 : length < 6 ? 2 : TOO_FAR};
  if (length > PD_NAME_MAX) return NULL;
  for (const pd_flag *node = NULL; (node = pd__names_next(node));) {
    if (can_suggest(node, bools)) update_nearest_guess(&so_far, name, length, node->name);
  }
  if (line && !is_builtin_option(name, length)) {
    for (size_t i = 0; i < OPTIONS; i++) update_nearest_guess(&so_far, name, length, options[i]);
  }
  return so_far.prefixes == 1 && length >= LEAST_PREFIX ? so_far.prefixed : so_far.near;
}

void pd__suggest_name(const char *name, size_t length, const char *prefix,
                      char out[PD__SUGGESTION_SIZE]) {
  const char *found = find_nearest_name(name, length, false, prefix != NULL), *no = "";
  out[0] = '\0';
  if (!found && prefix && length > 2 && !strncmp(name, "no", 2)) { /* "no" or "no-" before a bool */
    size_t skip = normalize_letter(name[2]) == '_' ? 3 : 2;
    found = find_nearest_name(name + skip, length - skip, true, false);
    no = "no";
  }
  if (found)
    snprintf(out, PD__SUGGESTION_SIZE, "; did you mean '%s%s%s'?", prefix ? prefix : "", no, found);
}

/* ---- Misplaced values ---- */

#define LONGEST_VALUE 60 /* bytes; longer values aren't shown */

static bool is_valid_value_text(const pd_flag *flag, const char *text) {
  pd_value value;
  const pd_flag_def *def = pd__flag_def(flag);
  return pd__value_parse_with_unit(def, text, &value) == PD_OK &&
         pd__value_check(def, value) == PD_OK;
}

/* Returns the flag with that one-letter name; NULL if none may be suggested. */
static const pd_flag *find_letter_flag(char letter) {
  const pd_flag *node = pd__names_find(&letter, 1);
  return node && can_suggest(node, false) ? pd__resolve_alias((pd_flag *)node) : NULL;
}

/* Returns the only flag whose name begins with the letter and that takes the number; NULL if none
 * or several do. */
static const pd_flag *find_number_flag(char letter, const char *number) {
  const pd_flag *found = NULL;
  for (pd_flag *node = NULL; (node = pd__names_next(node));) {
    const pd_flag *flag = pd__resolve_alias(node);
    if (*node->name != letter || !can_suggest(node, false) || flag == found) continue;
    if (pd__type_is_text(flag->type) || !is_valid_value_text(flag, number)) continue;
    if (found) return NULL;
    found = flag;
  }
  return found;
}

bool pd__letter_has_sensitive_flag(char letter) {
  const pd_flag *node = pd__names_find(&letter, 1);
  const pd_flag *flag = node ? pd__resolve_alias((pd_flag *)node) : NULL;
  return flag && flag->defined && flag->sensitive;
}

/* Returns whether a letter may stand alone on a command line: it is a bool, or -h. */
static bool can_letter_lack_value(char letter, bool *is_flag) {
  const pd_flag *node = pd__names_find(&letter, 1);
  const pd_flag *flag = node ? find_letter_flag(letter) : NULL;
  *is_flag = node && pd__resolve_alias((pd_flag *)node)->defined;
  return *is_flag ? flag && pd__def_can_lack_value(pd__flag_def(flag)) : letter == 'h';
}

/* Suggests -v -q for -vq, if all letters are bools. One of them may be unknown. */
static void suggest_separate_letters(const char *letters, char out[PD__SUGGESTION_SIZE]) {
  char apart[32] = "", unknown = '\0';
  bool is_flag, any = false;
  for (const char *at = letters; *at; at++) {
    bool alone = can_letter_lack_value(*at, &is_flag);
    any |= is_flag;
    if (!alone && (is_flag || unknown || !is_letter(*at))) return;
    if (!alone) unknown = *at;
    if (strlen(apart) + 8 > sizeof apart) return;
    pd__append_format(apart, sizeof apart, "%s-%c", *apart ? " " : "", *at);
  }
  if (unknown && any) {
    snprintf(out, PD__SUGGESTION_SIZE,
             "; each flag is written by itself, as in '%s', and no flag is named %c", apart,
             unknown);
  } else if (any) {
    snprintf(out, PD__SUGGESTION_SIZE, "; each flag is written by itself, did you mean '%s'?",
             apart);
  }
}

void pd__suggest_for_short_option(const char *name, char out[PD__SUGGESTION_SIZE]) {
  const char *text = *name ? name + 1 : name;
  out[0] = '\0';
  if (!*text || strlen(text) > LONGEST_VALUE || pd__letter_has_sensitive_flag(*name)) return;
  const pd_flag *flag = find_letter_flag(*name);
  if (!flag && *text >= '0' && *text <= '9') flag = find_number_flag(*name, text);
  if (flag && !flag->sensitive && is_valid_value_text(flag, text)) {
    snprintf(out, PD__SUGGESTION_SIZE, "; flags are written --name=value, did you mean '--%s=%s'?",
             flag->name, text);
  } else {
    suggest_separate_letters(name, out);
  }
}

/* Joins the value and the arguments that are items, as in "1,2,3". The result is "" if it is too
 * long or would need quotes in a shell. */
static void join_items(const pd_flag *flag, const char *text, char *const *arguments, size_t count,
                       char joined[LONGEST_VALUE + 1]) {
  size_t most = LONGEST_VALUE + 1;
  joined[0] = '\0';
  if (!*text || strlen(text) >= most) return;
  strcpy(joined, text);
  for (size_t i = 0; i < count && is_valid_value_text(flag, arguments[i]); i++) {
    bool fits = strlen(joined) + strlen(arguments[i]) + 2 <= most;
    if (fits) pd__append_format(joined, most, ",%s", arguments[i]);
    if (!fits) joined[0] = '\0';
    if (!fits) return;
  }
  if (strpbrk(joined, " \t\r\n'\"\\$`;&|<>()[]{}*?!"))
    joined[0] = '\0'; /* needs quotes in a shell */
}

void pd__suggest_arguments_as_value(const pd_flag *flag, const char *text, char *const *arguments,
                                    size_t count, char out[PD__SUGGESTION_SIZE]) {
  const pd_flag_def *def = pd__flag_def(flag);
  char joined[LONGEST_VALUE + 1];
  out[0] = '\0';
  if (count == 0 || flag->sensitive || !is_valid_value_text(flag, arguments[0])) return;
  if (def->list && text) {
    join_items(flag, text, arguments, count, joined);
    snprintf(out, PD__SUGGESTION_SIZE, "; items of a list are separated by commas");
    if (*joined) pd__append_format(out, PD__SUGGESTION_SIZE, ", as in --%s=%s", flag->name, joined);
  } else if (pd__def_can_lack_value(def) && !text) {
    snprintf(out, PD__SUGGESTION_SIZE, "; %s takes its value after =, as in --%s=%s",
             def->count ? "a flag that counts" : "a bool", flag->name, arguments[0]);
  }
}
