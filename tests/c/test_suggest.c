/* Suggestions: the name or value that a user may have meant.
 *
 * Built with: -I$SOURCES $LIBRARY
 */
#include "check.h"

#include <registry/registry.h>

static char out[PD__SUGGESTION_SIZE];

static const char *suggest_flag(const char *name) {
  pd__suggest_name(name, strlen(name), NULL, out);
  return out;
}

static const char *suggest_option(const char *name) {
  pd__suggest_name(name, strlen(name), "--", out);
  return out;
}

static const char *suggest_letters(const char *name) {
  pd__suggest_for_short_option(name, out);
  return out;
}

/* ---- The number of edits ---- */

static unsigned distance(const char *a, const char *b) {
  return pd__edit_distance(a, strlen(a), b, strlen(b));
}

static unsigned least_of(unsigned a, unsigned b) { return a < b ? a : b; }

/* The same by plain recursion over what is left of both. */
static unsigned count_edits(const char *a, const char *b) {
  if (!*a || !*b) return (unsigned)(strlen(a) + strlen(b));
  unsigned best = count_edits(a + 1, b + 1) + (*a != *b);
  best = least_of(best, count_edits(a + 1, b) + 1);
  best = least_of(best, count_edits(a, b + 1) + 1);
  bool swapped = a[1] && b[1] && a[0] == b[1] && a[1] == b[0];
  return swapped ? least_of(best, count_edits(a + 2, b + 2) + 1) : best;
}

/* Writes the text of that number over the letters a, b and c. */
static void write_text(unsigned number, char text[8]) {
  size_t length = 0;
  for (; number > 0; number = (number - 1) / 3) text[length++] = (char)('a' + (number - 1) % 3);
  text[length] = '\0';
}

TEST(the_number_of_edits_of_all_short_texts_is_right) {
  enum { TEXTS = 1 + 3 + 9 + 27 + 81 }; /* of at most 4 letters */
  char a[8], b[8];
  for (unsigned i = 0; i < TEXTS; i++) {
    write_text(i, a);
    for (unsigned k = 0; k < TEXTS; k++) {
      write_text(k, b);
      unsigned expected = least_of(count_edits(a, b), PD__TOO_FAR);
      unsigned got = least_of(distance(a, b), PD__TOO_FAR);
      if (got != expected) check_fail(__FILE__, __LINE__, "%s and %s are %u apart", a, b, got);
    }
  }
}

TEST(two_edits_are_near_and_three_too_far) {
  CHECK(distance("abcdefgh", "abXdefgh") == 1);
  CHECK(distance("abcdefgh", "badcefgh") == 2);
  CHECK(distance("abcdefgh", "abcdefghij") == 2);
  CHECK(distance("abcdefgh", "defgh") >= PD__TOO_FAR);
  CHECK(distance("abcdefgh", "zyxwvuts") >= PD__TOO_FAR);
  CHECK(distance("abcdefgh", "abcdeXYZ") >= PD__TOO_FAR);
  CHECK(distance("", "ab") == 2 && distance("ab", "") == 2 && distance("", "") == 0);
}

TEST(case_and_kind_of_dash_are_no_edits_and_other_signs_are) {
  CHECK(distance("A-Z_m", "a_z-M") == 0);
  CHECK(distance("@", "`") == 1);
  CHECK(distance("[", "{") == 1);
  CHECK(distance("ABcd", "bacd") == 1); /* swapped */
}

TEST(names_as_long_as_they_may_be_are_compared) {
  char a[PD_NAME_MAX + 1], b[PD_NAME_MAX + 1];
  memset(a, 'x', PD_NAME_MAX);
  a[PD_NAME_MAX] = '\0';
  memcpy(b, a, sizeof b);
  b[0] = b[PD_NAME_MAX - 1] = 'y';
  CHECK(distance(a, b) == 2);
  CHECK(distance(a, a + 2) == 2);
}

/* ---- Names ---- */

TEST(a_name_of_255_bytes_gets_a_suggestion_and_a_longer_one_none) {
  char name[PD_NAME_MAX + 2];
  memset(name, 'n', PD_NAME_MAX + 1);
  name[PD_NAME_MAX] = '\0';
  define_flag(PD_TYPE_bool, name);
  name[9] = 'm';
  CHECK(strlen(suggest_flag(name)) > PD_NAME_MAX);
  name[9] = 'n';
  name[PD_NAME_MAX] = 'n';
  name[PD_NAME_MAX + 1] = '\0';
  CHECK_STR(suggest_flag(name), "");
}

TEST(a_beginning_of_three_letters_is_enough_and_one_of_two_is_not) {
  define_flag(PD_TYPE_bool, "beta_mode");
  CHECK_STR(suggest_flag("bet"), "; did you mean 'beta_mode'?");
  CHECK_STR(suggest_flag("be"), "");
  CHECK_STR(suggest_flag(""), "");
}

TEST(the_shorter_a_name_the_fewer_edits_are_allowed) {
  define_flag(PD_TYPE_bool, "ab");
  define_flag(PD_TYPE_bool, "pqrst");
  define_flag(PD_TYPE_bool, "uvwxyz");
  CHECK_STR(suggest_flag("ax"), "");
  CHECK_STR(suggest_flag("axb"), "; did you mean 'ab'?");
  CHECK_STR(suggest_flag("xaby"), "");
  CHECK_STR(suggest_flag("pqrxy"), "");
  CHECK_STR(suggest_flag("pqrxt"), "; did you mean 'pqrst'?");
  CHECK_STR(suggest_flag("uvwxab"), "; did you mean 'uvwxyz'?");
  CHECK_STR(suggest_flag("uvwabc"), "");
}

TEST(of_names_that_are_equally_near_the_first_is_suggested) {
  define_flag(PD_TYPE_bool, "level_1");
  define_flag(PD_TYPE_bool, "level_2");
  CHECK_STR(suggest_flag("level_x"), "; did you mean 'level_1'?");
}

TEST(a_flag_that_has_left_is_not_suggested) {
  CHECK_OK(pd_flag_unregister(define_flag(PD_TYPE_bool, "departed"), &err));
  CHECK_OK(pd_pending_set("awaited", "1", NULL, &err));
  CHECK_STR(suggest_flag("departe"), "");
  CHECK_STR(suggest_flag("awaite"), "");
}

TEST(an_option_is_suggested_on_a_line_only_and_never_instead_of_itself) {
  CHECK_STR(suggest_flag("flagfil"), "");
  CHECK_STR(suggest_option("flagfil"), "; did you mean '--flagfile'?");
  CHECK_STR(suggest_option("undefo"), "; did you mean '--undefok'?");
  CHECK_STR(suggest_option("undefok"), "");
  CHECK_STR(suggest_option("fromenv"), "");
  CHECK_STR(suggest_option("help"), "");
  CHECK_STR(suggest_option("Fromenv"), "; did you mean '--fromenv'?");
}

TEST(a_negation_is_suggested_on_a_line_if_no_name_is_near) {
  define_flag(PD_TYPE_int32, "nobody");
  define_flag(PD_TYPE_bool, "bodz");
  define_flag(PD_TYPE_bool, "think");
  define_flag(PD_TYPE_int32, "number");
  CHECK_STR(suggest_option("nobodx"), "; did you mean '--nobody'?");
  CHECK_STR(suggest_option("no-thinj"), "; did you mean '--nothink'?");
  CHECK_STR(suggest_option("no_Think"), "; did you mean '--nothink'?");
  CHECK_STR(suggest_option("no-humber"), ""); /* no bool */
  CHECK_STR(suggest_option("yesthinj"), "");
  CHECK_STR(suggest_flag("no-thinj"), "");
  CHECK_STR(suggest_option("no"), "");
  CHECK_STR(suggest_option("no-"), "");
  CHECK_STR(suggest_option("no-helpfull"), ""); /* is no flag */
}

/* ---- Letters ---- */

static void define_letters(void) {
  DEFINE(PD_TYPE_int32, "port", def.aliases = "prt");
  DEFINE(PD_TYPE_int32, "token", def.sensitive = true);
  define_flag(PD_TYPE_string, "path");
  define_flag(PD_TYPE_string, "s");
  define_flag(PD_TYPE_double, "ratio");
  define_flag(PD_TYPE_bool, "v");
  define_flag(PD_TYPE_bool, "q");
}

#define FORM "; flags are written --name=value, did you mean "

TEST(a_number_belongs_to_the_only_flag_that_takes_it) {
  define_letters();
  CHECK_STR(suggest_letters("p0"), FORM "'--port=0'?");
  CHECK_STR(suggest_letters("p9"), FORM "'--port=9'?");
  CHECK_STR(suggest_letters("p"), "");
  CHECK_STR(suggest_letters("p-5"), "");
  CHECK_STR(suggest_letters("p0.5"), "");
  CHECK_STR(suggest_letters("r0.5"), FORM "'--ratio=0.5'?");
  CHECK_STR(suggest_letters("rinf"), "");
  CHECK_STR(suggest_letters("t5"), ""); /* may be a secret */
  define_flag(PD_TYPE_int32, "priority");
  CHECK_STR(suggest_letters("p9"), "");
}

TEST(a_hidden_or_undefined_flag_takes_no_number) {
  DEFINE(PD_TYPE_int32, "hidden", def.hidden = true);
  CHECK_OK(pd_pending_set("later", "1", NULL, &err));
  CHECK_STR(suggest_letters("h9"), "");
  CHECK_STR(suggest_letters("l9"), "");
}

TEST(a_value_of_60_bytes_is_shown_and_a_longer_one_is_not) {
  char name[63] = "s";
  define_letters();
  memset(name + 1, 'x', 61);
  name[61] = '\0';
  CHECK(strstr(suggest_letters(name), "did you mean '--s=xxxx"));
  name[61] = 'x';
  CHECK_STR(suggest_letters(name), "");
}

#define APART "; each flag is written by itself, "

TEST(joined_letters_are_bools_of_which_one_may_be_unknown) {
  static const char unknown[] = "azAZ", signs[] = "`{@[-";
  char name[] = "v?", expected[128];
  define_letters();
  CHECK_STR(suggest_letters("vq"), APART "did you mean '-v -q'?");
  for (const char *at = unknown; *at; at++) {
    name[1] = *at;
    snprintf(expected, sizeof expected, APART "as in '-v -%c', and no flag is named %c", *at, *at);
    CHECK_STR(suggest_letters(name), expected);
  }
  for (const char *at = signs; *at; at++) {
    name[1] = *at;
    CHECK_STR(suggest_letters(name), "");
  }
  CHECK_STR(suggest_letters("vs"), "");
  CHECK_STR(suggest_letters("qhv"), APART "did you mean '-q -h -v'?");
  CHECK_STR(suggest_letters("hh"), "");
  CHECK_STR(suggest_letters("hx"), "");
  CHECK_STR(suggest_letters("xq"), APART "as in '-x -q', and no flag is named x");
  CHECK_STR(suggest_letters("xyq"), "");
}

TEST(at_most_nine_letters_are_told_apart) {
  define_letters();
  CHECK_STR(suggest_letters("vqvqvqvqv"), APART "did you mean '-v -q -v -q -v -q -v -q -v'?");
  CHECK_STR(suggest_letters("vqvqvqvqvq"), "");
}

TEST(a_letter_that_only_has_a_pending_value_is_unknown) {
  define_letters();
  CHECK_OK(pd_pending_set("w", "1", NULL, &err));
  CHECK_STR(suggest_letters("vw"), APART "as in '-v -w', and no flag is named w");
}

TEST(the_letter_h_is_that_of_a_flag_if_there_is_one) {
  define_letters();
  define_flag(PD_TYPE_string, "h");
  CHECK_STR(suggest_letters("vh"), "");
}

TEST(a_letter_is_sensitive_as_long_as_its_flag_is_defined) {
  pd_flag *flag = DEFINE(PD_TYPE_string, "key", def.aliases = "k", def.sensitive = true);
  define_letters();
  CHECK(pd__letter_has_sensitive_flag('k') && !pd__letter_has_sensitive_flag('v'));
  CHECK(!pd__letter_has_sensitive_flag('x'));
  CHECK_STR(suggest_letters("kv"), "");
  CHECK_OK(pd_flag_set_string(flag, "secret", &err));
  CHECK_OK(pd_flag_unregister(flag, &err));
  CHECK(!pd__letter_has_sensitive_flag('k'));
}

/* ---- Values ---- */

static const char *suggest_value(const pd_flag *flag, const char *text, const char *one,
                                 const char *two) {
  char *arguments[] = {(char *)(uintptr_t)one, (char *)(uintptr_t)two};
  pd__suggest_arguments_as_value(flag, text, arguments, one ? two ? 2 : 1 : 0, out);
  return out;
}

TEST(a_bool_without_a_value_may_have_the_next_argument) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "quick"), *number = define_flag(PD_TYPE_int32, "port");
  CHECK_STR(suggest_value(flag, NULL, "no", NULL),
            "; a bool takes its value after =, as in --quick=no");
  CHECK_STR(suggest_value(flag, NULL, NULL, NULL), "");
  CHECK_STR(suggest_value(flag, NULL, "x", NULL), "");
  CHECK_STR(suggest_value(flag, "true", "no", NULL), "");
  CHECK_STR(suggest_value(number, NULL, "5", NULL), "");
  CHECK_STR(suggest_value(number, "4", "5", NULL), "");
}

#define ITEMS "; items of a list are separated by commas"

TEST(items_are_joined_up_to_60_bytes) {
  char text[62], expected[160];
  pd_flag *flag = DEFINE(PD_TYPE_string, "names", def.list = PD_TYPE_string);
  CHECK_STR(suggest_value(flag, "a", "b", "c"), ITEMS ", as in --names=a,b,c");
  CHECK_STR(suggest_value(flag, "a b", "c", NULL), ITEMS);
  CHECK_STR(suggest_value(flag, NULL, "b", NULL), "");
  CHECK_STR(suggest_value(flag, "", "b", NULL), ITEMS);
  memset(text, 'x', 61);
  for (size_t length = 57; length <= 61; length++) {
    text[length] = '\0';
    snprintf(expected, sizeof expected, ITEMS ", as in --names=%s,b", text);
    CHECK_STR(suggest_value(flag, text, "b", NULL), length <= 58 ? expected : ITEMS);
    text[length] = 'x';
  }
  text[59] = '\0';
  CHECK_STR(suggest_value(flag, text, "b", "c"), ITEMS);
  text[59] = 'x';
  text[56] = '\0';
  CHECK(strlen(suggest_value(flag, text, "b", "c")) == strlen(ITEMS ", as in --names=") + 60);
  text[56] = 'x';
  text[57] = '\0';
  CHECK_STR(suggest_value(flag, text, "b", "c"), ITEMS);
}

TEST(a_text_of_any_length_is_left_out) {
  static char text[20000];
  memset(text, 'x', sizeof text - 1);
  CHECK_STR(
      suggest_value(DEFINE(PD_TYPE_string, "names", def.list = PD_TYPE_string), text, "b", NULL),
      ITEMS);
}

TEST(a_value_of_a_sensitive_list_is_not_shown) {
  CHECK_STR(
      suggest_value(DEFINE(PD_TYPE_string, "keys", def.list = PD_TYPE_string, def.sensitive = true),
                    "a", "b", NULL),
      "");
}
