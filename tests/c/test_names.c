#include "check.h"

/* Defining a flag of this name is refused; the message goes on with `why`. */
static void refuses(const char *name, const char *message) {
  pd_flag_def def = definition(PD_TYPE_bool, name);
  pd_flag *flag = NULL;
  CHECK_STATUS(pd_flag_register(&def, &flag, &err), PD_ERR_NAME, message);
  CHECK(!flag);
}

TEST(names_have_letters_digits_and_some_signs) {
  static const char *const good[] = {"a", "_", "A9", "_x", "a.b", "x-y", "beta.gamma-ray_2", "h"};
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) define_flag(PD_TYPE_bool, good[i]);
}

TEST(other_names_are_refused) {
#define REFUSED(text)                                                                              \
  "definition of '" text                                                                           \
  "': expected a name of letters, digits, _ . - that begins with a letter or _"
  refuses("", REFUSED(""));
  refuses("9a", REFUSED("9a"));
  refuses("-a", REFUSED("-a"));
  refuses(".a", REFUSED(".a"));
  refuses("a b", REFUSED("a b"));
  refuses("a=b", REFUSED("a=b"));
  refuses("a|b", REFUSED("a|b"));
  refuses("a\n", REFUSED("a\\x0a"));
  refuses("gr\xc3\xbc\xc3\x9f", REFUSED("gr\xc3\xbc\xc3\x9f"));
  refuses(NULL, "definition: the name is NULL");
}

TEST(a_name_of_255_bytes_is_taken_and_one_of_256_refused) {
  char name[10001];
  memset(name, 'n', sizeof name);
  name[PD_NAME_MAX] = '\0';
  pd_flag *flag = define_flag(PD_TYPE_bool, name);
  pd_flag *found = find_flag(name);
  CHECK(found == flag);
  name[PD_NAME_MAX] = 'n';
  name[PD_NAME_MAX + 1] = '\0';
#define N44 "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
  refuses(name, "definition of '" N44 N44 "...': the name has 256 bytes, expected at most 255");
  name[PD_NAME_MAX + 1] = 'n';
  name[10000] = '\0';
  refuses(name, "definition of '" N44 N44 "...': the name has 10000 bytes, expected at most 255");
  CHECK_STATUS(pd_flag_find(name, &found, &err), PD_ERR_UNDEFINED,
               "no flag is named '" N44 N44 "...'");
}

TEST(dash_and_underscore_are_alike_and_case_is_not) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "dry-run_now"), *found;
  CHECK(find_flag("dry_run-now") == flag);
  CHECK_STATUS(pd_flag_find("Dry-run_now", &found, &err), PD_ERR_UNDEFINED,
               "no flag is named 'Dry-run_now'; did you mean 'dry-run_now'?");
  CHECK_STATUS(pd_flag_find("by-run", &found, &err), PD_ERR_UNDEFINED, "no flag is named 'by-run'");
  CHECK_STATUS(pd_flag_find("", &found, &err), PD_ERR_UNDEFINED, "no flag is named ''");
}

TEST(dashes_are_alike_wherever_they_stand_in_names_of_any_length) {
  char dashed[41], plain[41];
  pd_flag *found;
  for (size_t length = 1; length <= 40; length++) {
    for (size_t at = 1; at < length; at++) {
      memset(plain, 'a' + (int)(length % 26), length);
      plain[length] = '\0';
      plain[at] = '_';
      strcpy(dashed, plain);
      dashed[at] = '-';
      pd_flag *flag = define_flag(PD_TYPE_int32, at % 2 ? dashed : plain);
      CHECK_OK(pd_flag_find(at % 2 ? plain : dashed, &found, &err));
      CHECK(found == flag);
    }
  }
}

TEST(a_sign_that_names_lack_is_found_wherever_it_stands) {
  char name[25];
  for (int sign = 1; sign < 256; sign++) {
    bool inner = strchr("._-", sign) || (sign >= '0' && sign <= '9') ||
                 (sign >= 'A' && sign <= 'Z') || (sign >= 'a' && sign <= 'z');
    for (size_t length = 1; length < sizeof name; length += 5) {
      for (size_t at = 0; at < length; at++) {
        pd_flag_def def = definition(PD_TYPE_int32, name);
        memset(name, 'x', length);
        name[length] = '\0';
        name[at] = (char)sign;
        bool good = inner && (at > 0 || sign >= 'A');
        bool refused = pd_flag_register(&def, NULL, &err) == PD_ERR_NAME; /* x-x and x_x collide */
        CHECK(refused == !good);
      }
    }
  }
}

/* What pd_flag_find says about an unknown name. */
static void hints(const char *name, const char *hint) {
  char message[256];
  pd_flag *found;
  snprintf(message, sizeof message, "no flag is named '%s'%s", name, hint);
  CHECK_STATUS(pd_flag_find(name, &found, &err), PD_ERR_UNDEFINED, message);
}

TEST(an_unknown_name_gets_the_nearest_known_one) {
  define_flag(PD_TYPE_bool, "batch_size");
  define_flag(PD_TYPE_bool, "threads");
  define_flag(PD_TYPE_bool, "v");
  hints("batchsize", "; did you mean 'batch_size'?");
  hints("bacth_size", "; did you mean 'batch_size'?");
  hints("batch_sizes", "; did you mean 'batch_size'?");
  hints("bathc-siez", "; did you mean 'batch_size'?");
  hints("thread", "; did you mean 'threads'?");
  hints("w", "");
  hints("threshold", "");
  hints("entirely_different", "");
}

TEST(another_case_is_nearer_than_a_beginning_and_that_than_a_few_edits) {
  define_flag(PD_TYPE_bool, "net_port");
  define_flag(PD_TYPE_bool, "net_port_range");
  define_flag(PD_TYPE_bool, "verbose");
  define_flag(PD_TYPE_bool, "verb_x");
  define_flag(PD_TYPE_bool, "beta_mode");
  define_flag(PD_TYPE_bool, "bet_");
  hints("NET-Port", "; did you mean 'net_port'?");
  hints("Net-ports", "; did you mean 'net_port'?");
  hints("net_port_", "; did you mean 'net_port_range'?");
  hints("verbo", "; did you mean 'verbose'?");
  hints("beta", "; did you mean 'beta_mode'?");
  hints("verb", "");     /* the beginning of two */
  hints("be", "");       /* too short */
  hints("noverbos", ""); /* a negation isn't the name of a flag */
}

TEST(a_flag_is_spelled_as_it_is_defined_whoever_mentioned_it_before) {
  CHECK_OK(pd_pending_set("my-flag", "3", NULL, &err));
  pd_pending_info info = {.size = sizeof info};
  CHECK_OK(pd_pending_get(0, &info, &err));
  const char *given = info.name;
  pd_flag *flag = define_flag(PD_TYPE_int32, "my_flag");
  CHECK_STR(flag_info(flag).name, "my_flag");
  CHECK_STR(given, "my-flag");
  CHECK_STATUS(pd_flag_set_from_string(flag, "x", &err), PD_ERR_VALUE,
               "my_flag=x: expected a 32-bit integer");
  CHECK_OK(pd_pending_set("other-name", "x", NULL, &err));
  pd_flag_def def = definition(PD_TYPE_int32, "another");
  def.aliases = "other_name";
  CHECK(pd_flag_register(&def, &flag, &err) == PD_ERR_VALUE);
  hints("other_nam", "; did you mean 'other_name'?");
}

TEST(flags_come_in_the_order_of_their_definitions) {
  CHECK_OK(pd_pending_set("third", "3", NULL, &err));
  CHECK_OK(pd_pending_set("second", "2", NULL, &err));
  pd_flag *first = define_flag(PD_TYPE_int32, "first"),
          *second = define_flag(PD_TYPE_int32, "second");
  pd_flag *third = define_flag(PD_TYPE_int32, "third");
  CHECK(pd_flag_next(NULL) == first && pd_flag_next(first) == second);
  CHECK(pd_flag_next(second) == third && !pd_flag_next(third));
}

TEST(hidden_and_retired_flags_are_not_suggested_and_aliases_are) {
  DEFINE(PD_TYPE_bool, "secret_mode", def.hidden = true);
  DEFINE(PD_TYPE_bool, "verbose", def.aliases = "talkative");
  DEFINE(PD_TYPE_bool, "fast_path", def.retired = "always on");
  hints("secret_mod", "");
  hints("fast_pat", "");
  hints("flagfil", ""); /* no flag */
  hints("talkativ", "; did you mean 'talkative'?");
}

TEST(ten_thousand_names_are_all_found) {
  static pd_flag *flags[10000];
  char name[32];
  for (int i = 0; i < 10000; i++) {
    snprintf(name, sizeof name, "flag_%d", i);
    flags[i] = define_flag(PD_TYPE_int32, name);
  }
  for (int i = 0; i < 10000; i++) {
    snprintf(name, sizeof name, "flag-%d", i);
    pd_flag *found = find_flag(name);
    CHECK(found == flags[i]);
  }
}

/* So many that some have the same hash, as far as the table keeps it. */
TEST(three_hundred_thousand_names_are_each_a_flag_of_its_own) {
  enum { MANY = 300000 };
  pd_flag *last = NULL;
  char name[32];
  for (int i = 0; i < MANY; i++) {
    snprintf(name, sizeof name, "flag_%06d_of_many", i);
    pd_flag *flag = DEFINE(PD_TYPE_int32, name, def.default_value.i64 = i);
    CHECK(flag != last);
    last = flag;
  }
  for (int i = 0; i < MANY; i++) {
    int32_t value;
    snprintf(name, sizeof name, "flag_%06d_of_many", i);
    pd_flag *found = find_flag(name);
    CHECK_OK(pd_flag_get_int32(found, &value, &err));
    CHECK(value == i);
  }
}

TEST(longer_names_may_be_more_edits_away) {
  define_flag(PD_TYPE_int64, "abc");
  define_flag(PD_TYPE_int64, "uvwxyz");
  hints("abd", "; did you mean 'abc'?");
  hints("uvwxab", "; did you mean 'uvwxyz'?");
  hints("uvwab", "");
}
