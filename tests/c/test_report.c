#include "written.h"

static const char *report(pd_help_kind kind, const char *pattern, uint32_t width) {
  pd_help help = {.size = sizeof help, .kind = kind, .pattern = pattern};
  pd_report_options options = {.size = sizeof options, .help = &help, .width = width};
  options.program = "/usr/bin/prog";
  length = 0;
  CHECK_OK(pd_report_help(&options, collect, written, &err));
  return written;
}

static const char *flags_help(uint32_t width) {
  pd_report_options options = {.size = sizeof options, .width = width, .usage = ""};
  length = 0;
  written[0] = '\0';
  CHECK_OK(pd_report_help(&options, collect, written, &err));
  return written;
}

static const char *flagfile(bool all) {
  length = 0;
  written[0] = '\0';
  CHECK_OK(pd_report_flagfile(all, collect, written, &err));
  return written;
}

static pd_flag *add(pd_flag_def def) {
  if (!def.module) def.module = "prog";
  return register_flag(&def);
}

static pd_flag_def with_help(pd_type type, const char *name, const char *help) {
  pd_flag_def def = definition(type, name);
  def.help = help;
  return def;
}

/* Define a flag of the program with help and further attributes. */
#define ADD(type, name, text, ...)                                                                 \
  DEFINE(type, name, def.module = "prog", def.help = text, __VA_ARGS__)

static pd_flag_def in(const char *module, const char *category, const char *name) {
  pd_flag_def def = with_help(PD_TYPE_bool, name, "x");
  def.module = module;
  def.category = category;
  return def;
}

static pd_flag_def from(const char *file, const char *name) {
  pd_flag_def def = with_help(PD_TYPE_bool, name, "x");
  def.file = file;
  return def;
}

/* ---- Help ---- */

TEST(help_groups_flags_by_module_and_category_the_program_first) {
  add(in("/lib/libalpha.so", "Memory", "cache"));
  add(in("/lib/libalpha.so", NULL, "check"));
  add(in("/home/me/prog", NULL, "own"));
  add(in("some.module", NULL, "other"));
  add(in("/lib/libalpha.so", "Memory", "arena"));
  CHECK_STR(report(PD_HELP_ALL, "", 80),
            "usage: prog [--flag=value ...] [argument ...]\n"
            "\n"
            "prog:\n"
            "  --[no]own            x [default: false]\n"
            "\n"
            "libalpha.so:\n"
            "  --[no]check          x [default: false]\n"
            "\n"
            "libalpha.so, Memory:\n"
            "  --[no]cache          x [default: false]\n"
            "  --[no]arena          x [default: false]\n"
            "\n"
            "some.module:\n"
            "  --[no]other          x [default: false]\n"
            "\n"
            "common:\n"
            "  -h, --help           Show this help and exit.\n"
            "  --helpfull           Show all flags, hidden ones too.\n"
            "  --helpshort          Show the flags of the program itself.\n"
            "  --version            Show the version of the program and exit.\n"
            "  --flagfile=FILE,...  Read flags from files.\n");
}

TEST(help_wraps_text_behind_the_names_and_keeps_its_line_breaks) {
  add(with_help(PD_TYPE_int32, "level",
                "Compression level, from fast to small:\n  1: fast\n\nlast"));
  CHECK_STR(flags_help(40), "prog:\n"
                            "  --level=INT32  Compression level, from\n"
                            "                 fast to small:\n"
                            "                   1: fast\n"
                            "\n"
                            "                 last\n"
                            "                 [default: 0]\n");
}

TEST(help_hangs_the_rest_of_a_line_below_its_text) {
  add(with_help(PD_TYPE_int32, "level",
                "How:\n  a  does this and that and more\n     (only here, and only on Mondays)\n"
                "1. first step of them all\n   of two\n"
                "- an item that is too long\n-x is no item, but it is long\n"
                "2024\n3)\n  \xc3\xa9t\xc3\xa9  summer, with the sun"));
  CHECK_STR(flags_help(40), "prog:\n"
                            "  --level=INT32  How:\n"
                            "                   a  does this and that\n"
                            "                      and more\n"
                            "                      (only here, and\n"
                            "                      only on Mondays)\n"
                            "                 1. first step of them\n"
                            "                    all\n"
                            "                    of two\n"
                            "                 - an item that is too\n"
                            "                   long\n"
                            "                 -x is no item, but it\n"
                            "                 is long\n"
                            "                 2024\n"
                            "                 3)\n"
                            "                   \xc3\xa9t\xc3\xa9  summer, with the\n"
                            "                        sun\n"
                            "                 [default: 0]\n");
}

TEST(help_hangs_nothing_where_no_room_is_left_for_it) {
  add(with_help(PD_TYPE_int32, "level",
                "  a_name_of_some_length  with words behind it\n"
                "            deep inside of a page\n"
                "Two  blanks in.  Or at ends of sentences."));
  CHECK_STR(flags_help(40), "prog:\n"
                            "  --level=INT32    a_name_of_some_length\n"
                            "                   with words behind it\n"
                            "                             deep inside\n"
                            "                 of a page\n"
                            "                 Two  blanks in.  Or at\n"
                            "                 ends of sentences.\n"
                            "                 [default: 0]\n");
}

TEST(help_counts_columns_not_bytes) {
#define WIDE "\xe6\x97\xa5\xe6\x9c\xac" /* 4 columns */
#define MARKED                                                                                     \
  "e\xcc\x81"                                                                                      \
  "e\xcc\x81"                                                                                      \
  "e\xcc\x81"                                                                                      \
  "e\xcc\x81" /* 4 columns as well */
#define NARROW "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9"
  add(with_help(PD_TYPE_bool, "a_flag",
                WIDE WIDE WIDE " " WIDE WIDE " " WIDE "\n" MARKED MARKED MARKED " " NARROW NARROW
                               "xxx x"));
  CHECK_STR(flags_help(40), "prog:\n"
                            "  --[no]a_flag  " WIDE WIDE WIDE " " WIDE WIDE "\n"
                            "                " WIDE "\n"
                            "                " MARKED MARKED MARKED " " NARROW NARROW "xxx\n"
                            "                x\n"
                            "                [default: false]\n");
}

TEST(a_name_that_leaves_no_room_has_a_line_of_its_own) {
  add(with_help(PD_TYPE_string, "a_name_that_is_much_too_long_for_the_left_side", "Text"));
  CHECK_STR(flags_help(40), "prog:\n"
                            "  --a_name_that_is_much_too_long_for_the\n"
                            "      _left_side=STRING\n"
                            "        Text [default: \"\"]\n");
}

/* Columns of the widest line, for text of ASCII alone. */
static size_t widest(const char *text) {
  size_t most = 0;
  for (; *text; text += strcspn(text, "\n") + (strchr(text, '\n') != NULL)) {
    size_t columns = strcspn(text, "\n");
    if (columns > most) most = columns;
  }
  return most;
}

TEST(no_line_is_wider_than_the_page_and_none_ends_with_a_blank) {
  pd_flag_def def = with_help(PD_TYPE_string, "mode", NULL);
  char help[600];
  for (size_t i = 0; i < sizeof help - 1; i++) help[i] = (i * i / 7) % 11 == 0 ? ' ' : 'x';
  help[sizeof help - 1] = '\0';
  def.help = help;
  def.aliases = "m|the_mode|the_other_mode_which_is_quite_long_for_an_alias";
  def.deprecated = help + 300;
  def.default_value.str = help + 400;
  add(def);
  for (uint32_t width = 40; width < 220; width++) {
    CHECK(widest(report(PD_HELP_ALL, "", width)) <= width);
    CHECK(!strstr(written, " \n"));
  }
  CHECK(widest(report(PD_HELP_ALL, "", 1)) <= 40);
  CHECK(widest(report(PD_HELP_ALL, "", 0)) <= 80);
}

TEST(names_of_one_letter_come_first_and_other_aliases_are_noted) {
  ADD(PD_TYPE_int32, "level", "Level", def.aliases = "lvl|l|alpha_lvl|n");
  ADD(PD_TYPE_bool, "verbose", "Say more", def.aliases = "v");
  add(with_help(PD_TYPE_double, "x", "X"));
  add(with_help(PD_TYPE_bool, "q", "Q"));
  add(with_help(PD_TYPE_bool, "long_name", "L"));
  CHECK_STR(flags_help(100),
            "prog:\n"
            "  -l, -n, --level=INT32  Level [default: 0] [also: --lvl, --alpha_lvl]\n"
            "  -v, --[no]verbose      Say more [default: false]\n"
            "  -x=DOUBLE              X [default: 0]\n"
            "  -q                     Q [default: false]\n"
            "      --[no]long_name    L [default: false]\n");
}

TEST(help_tells_what_a_value_may_be) {
  ADD(PD_TYPE_int32, "level", "Level", def.min.i64 = 1, def.max.i64 = 9, def.default_value.i64 = 6);
  ADD(PD_TYPE_double, "ratio", "Ratio", def.min.f64 = 0);
  ADD(PD_TYPE_uint64, "top", "Top", def.max.u64 = 99);
  ADD(PD_TYPE_string, "mode", "Mode", def.choices = "fast|best", def.default_value.str = "best");
  ADD(PD_TYPE_string, "hash", "Hash", def.choices = "|adler32|blake2b|blake2s|crc32|md5|sha1");
  CHECK_STR(
      flags_help(100),
      "prog:\n"
      "  --level=INT32       Level [1 to 9] [default: 6]\n"
      "  --ratio=DOUBLE      Ratio [at least 0] [default: 0]\n"
      "  --top=UINT64        Top [at most 99] [default: 0]\n"
      "  --mode={fast,best}  Mode [default: best]\n"
      "  --hash=STRING       Hash [one of: \"\", adler32, blake2b, blake2s, crc32, md5, sha1] "
      "[default: \"\"]\n");
}

TEST(help_tells_the_marks_of_a_flag) {
  ADD(PD_TYPE_bool, "a", "A", def.experimental = def.required = true);
  ADD(PD_TYPE_bool, "b", NULL, def.read_only = true, def.deprecated = "use --a");
  ADD(PD_TYPE_bool, "c", "C", def.startup_only = true);
  ADD(PD_TYPE_bool, "d", "D", def.runtime = def.unsafe = true);
  CHECK_STR(flags_help(100), "prog:\n"
                             "  -a    A [required] [experimental]\n"
                             "  -b    [default: false] [read-only] [deprecated: use --a]\n"
                             "  -c    C [default: false] [startup only]\n"
                             "  -d    D [default: false] [runtime] [unsafe]\n");
}

TEST(units_are_shown_as_people_write_them) {
  static const struct {
    uint64_t bytes;
    const char *shown;
  } sizes[] = {{0, "0]"},
               {1023, "1023]"},
               {1024, "1KiB]"},
               {1536, "1.5KiB]"},
               {1000000, "1000000]"},
               {(uint64_t)25 << 18, "6.25MiB]"},
               {64 << 20, "64MiB]"},
               {(uint64_t)3 << 60, "3EiB]"},
               {UINT64_MAX, "18446744073709551615]"}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char name[16];
    snprintf(name, sizeof name, "size%zu", i);
    ADD(PD_TYPE_uint64, name, sizes[i].shown, def.unit = "bytes",
        def.default_value.u64 = sizes[i].bytes);
    char expected[64];
    snprintf(expected, sizeof expected, "%s [default: %s", sizes[i].shown, sizes[i].shown);
    CHECK(strstr(flags_help(80), expected));
  }
  CHECK(strstr(written, "--size0=BYTES"));
}

TEST(times_are_shown_as_people_write_them) {
  static const struct {
    double seconds;
    const char *shown;
  } times[] = {{0, "0]"},          {-0.0, "-0]"},      {0.2, "200ms]"},
               {3e-4, "300us]"},   {2.5e-3, "2.5ms]"}, {5e-9, "5ns]"},
               {1.5e-9, "1.5ns]"}, {1e-10, "1e-10]"},  {0.1 + 0.2, "300.00000000000004ms]"},
               {1.5, "1.5s]"},     {-2.5, "-2.5s]"},   {90, "1m30s]"},
               {90.5, "1m30.5s]"}, {120.5, "2m0.5s]"}, {-3600, "-1h]"},
               {86461, "1d1m1s]"}, {9e15, "9e+15]"},   {1e300, "1e+300]"}};
  for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
    char name[16];
    snprintf(name, sizeof name, "time%zu", i);
    ADD(PD_TYPE_double, name, times[i].shown, def.unit = "seconds",
        def.default_value.f64 = times[i].seconds);
    char expected[64];
    snprintf(expected, sizeof expected, "%s [default: %s", times[i].shown, times[i].shown);
    CHECK(strstr(flags_help(80), expected));
  }
}

/* What the help shows as the current value of the flag `t`. */
static const char *shown_now(void) {
  static char shown[64];
  const char *now = strstr(flags_help(200), "[now: ");
  CHECK(now && sscanf(now, "[now: %63s set", shown) == 1);
  return shown;
}

TEST(every_time_that_is_shown_reads_back_as_the_same) {
  pd_flag *flag = ADD(PD_TYPE_double, "t", "T", def.unit = "seconds");
  uint64_t random = 1;
  for (int i = 0; i < 3000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    double number = (double)(random >> 20) / (double)(1 << (random % 30)), found;
    for (int tens = i % 30; tens > 0; tens--) number /= 10;
    CHECK_OK(pd_flag_set_double(flag, number, &err));
    CHECK_OK(pd_flag_set_from_string(flag, shown_now(), &err));
    CHECK_OK(pd_flag_get_double(flag, &found, &err));
    if (memcmp(&found, &number, sizeof found)) {
      check_fail(__FILE__, __LINE__, "%.17g is shown as %s", number, shown_now());
    }
  }
}

TEST(help_tells_the_current_value_and_where_it_comes_from) {
  static const struct {
    pd_origin origin;
    const char *text;
  } given[] = {{{PD_SOURCE_ARGV, 2, NULL, 0}, "[now: 7 from argv[2]]"},
               {{PD_SOURCE_ARGV, 2, "a.flags", 0}, "[now: 7 from a.flags:2]"},
               {{PD_SOURCE_FILE, 3, "a.toml", 5}, "[now: 7 from a.toml:3]"},
               {{PD_SOURCE_ENVIRONMENT, 0, "FLAGS_n", 0}, "[now: 7 from $FLAGS_n]"},
               {{PD_SOURCE_RUNTIME, 9, "main.py", 0}, "[now: 7 set at main.py:9]"},
               {{PD_SOURCE_RUNTIME, 0, NULL, 0}, "[now: 7 set at run time]"},
               {{PD_SOURCE_LIVE, 0, "pid 4312", 0}, "[now: 7 set live by pid 4312]"},
               {{PD_SOURCE_LIVE, 0, NULL, 0}, "[now: 7 set live]"},
               {{PD_SOURCE_FLEET, 12, "dir:///a", 0}, "[now: 7 from dir:///a revision 12]"},
               {{PD_SOURCE_FLEET, 0, NULL, 0}, "[now: 7 from the fleet]"}};
  pd_flag *flag = define_flag(PD_TYPE_int32, "n");
  CHECK(!strstr(flags_help(80), "[now:"));
  pd_assignment item = {.flag = flag, .text = "7"};
  for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
    CHECK_OK(pd_flag_reset(flag, &err));
    CHECK_OK(pd_batch_set(&item, 1, &given[i].origin, NULL, &err));
    CHECK(strstr(flags_help(80), given[i].text));
  }
  pd_override override;
  pd_origin place = {PD_SOURCE_RUNTIME, 4, "x.py", 0};
  CHECK_OK(pd_override_push(&item, 1, &place, NULL, &override, &err));
  CHECK(strstr(flags_help(80), "[now: 7 by an override at x.py:4]"));
}

TEST(hidden_flags_are_in_the_full_help_alone_and_retired_ones_in_none) {
  ADD(PD_TYPE_bool, "secret", "x", def.hidden = true);
  ADD(PD_TYPE_bool, "gone", "x", def.retired = "it has no effect");
  CHECK(!strstr(report(PD_HELP_ALL, "", 80), "secret"));
  CHECK(strstr(written, "There are no flags."));
  CHECK(!strstr(report(PD_HELP_XML, "", 80), "secret"));
  CHECK(!strstr(report(PD_HELP_MATCH, "", 80), "secret"));
  CHECK(strstr(report(PD_HELP_FULL, "", 80), "--[no]secret"));
  CHECK(strstr(written, "--helppackage"));
  for (pd_help_kind kind = PD_HELP_ALL; kind <= PD_HELP_VERSION; kind++) {
    CHECK(!strstr(report(kind, "", 80), "gone"));
  }
}

TEST(sensitive_values_are_in_no_report) {
  pd_flag *flag =
      ADD(PD_TYPE_string, "token", "x", def.sensitive = true, def.default_value.str = "hunter2");
  CHECK_OK(pd_flag_set_string(flag, "hunter3", &err));
  for (pd_help_kind kind = PD_HELP_ALL; kind <= PD_HELP_VERSION; kind++) {
    CHECK(!strstr(report(kind, "", 80), "hunter"));
  }
  CHECK(strstr(report(PD_HELP_ALL, "", 80), "[default: <redacted>]"));
  CHECK(strstr(written, "[now: <redacted> set at run time]"));
  CHECK(strstr(report(PD_HELP_XML, "", 80), "<default>&lt;redacted></default>"));
  CHECK_STR(flagfile(false), "# prog\n# --token: left out, sensitive\n");
}

TEST(text_that_a_terminal_would_obey_is_escaped) {
  ADD(PD_TYPE_string, "a_flag", "red \x1b[31m \xff \xe2\x80\xae \xc2\x9b x\tx",
      def.default_value.str = "a\nb \"\x1b\" \\");
  CHECK_STR(flags_help(120), "prog:\n"
                             "  --a_flag=STRING  red \\x1b[31m \\xff \\xe2\\x80\\xae \\xc2\\x9b x "
                             "x [default: \"a\\nb \\\"\\x1b\\\" \\\\\"]\n");
}

TEST(long_values_are_cut_at_a_character) {
  static char text[100001];
  for (size_t i = 0; i < 100000; i += 2) memcpy(text + i, "\xc3\xa9", 2);
  pd_flag_def def = with_help(PD_TYPE_string, "a_flag", "x");
  text[0] = text[1] = 'x';
  text[3] = 'x';
  memmove(text + 1, text + 2, 99998);
  def.default_value.str = text;
  add(def);
  flags_help(80);
  CHECK(length < 400);
  CHECK(strstr(written, "\xc3\xa9...]\n"));
}

/* Drop the escapes of colour. */
static void strip(char *text) {
  char *out = text;
  for (; *text; text++) {
    if (*text == '\x1b') {
      text = strchr(text, 'm');
    } else {
      *out++ = *text;
    }
  }
  *out = '\0';
}

TEST(colour_changes_nothing_but_colour) {
  pd_flag *flag = ADD(PD_TYPE_int32, "level", "Level of \x1b that is quite long and wraps",
                      def.deprecated = "it is old");
  CHECK_OK(pd_flag_set_int32(flag, 3, &err));
  char *plain = strdup(report(PD_HELP_ALL, "", 60));
  CHECK(!strchr(plain, '\x1b'));
  pd_report_options options = {.size = sizeof options, .width = 60, .color = true};
  options.program = "prog";
  length = 0;
  CHECK_OK(pd_report_help(&options, collect, written, &err));
  CHECK(strstr(written, "\x1b[1;36m--level\x1b[0m=\x1b[36mINT32\x1b[0m"));
  CHECK(strstr(written, "\x1b[33m[now: 3 set at run time]\x1b[0m"));
  CHECK(strstr(written, "\x1b[31m[deprecated: it is old]\x1b[0m\n"));
  strip(written);
  CHECK_STR(written, plain);
  free(plain);
}

TEST(a_usage_of_ones_own_stands_above_the_flags) {
  define_flag(PD_TYPE_bool, "b");
  pd_report_options options = {.size = sizeof options, .usage = "prog: copies FILES"};
  CHECK_OK(pd_report_help(&options, collect, written, &err));
  CHECK(!strncmp(written, "prog: copies FILES\n\n", 20));
  CHECK(strstr(written, "common:"));
  CHECK_OK(pd_report_help(NULL, collect, written, &err));
  CHECK(strstr(written, "usage: program [--flag=value ...]"));
}

/* ---- Which flags ---- */

TEST(helpshort_shows_flags_of_files_named_as_the_program) {
  add(from("src/prog.c", "a"));
  add(from("/x/prog-main.cc", "b"));
  add(from("prog_main.cc", "c"));
  add(from("src/prog_util.c", "d"));
  add(from("src/myprog.c", "e"));
  add(from("C:\\src\\prog.c", "f"));
  const char *text = report(PD_HELP_SHORT, "", 80);
  CHECK(strstr(text, "  -a ") && strstr(text, "  -b ") && strstr(text, "  -c "));
  CHECK(!strstr(text, "  -d ") && !strstr(text, "  -e ") && strstr(text, "  -f "));
  CHECK(!strstr(text, "common:"));
}

TEST(helpshort_shows_what_the_image_defines_where_no_file_has_its_name) {
  pd_flag_def def = from("src/main.c", "a");
  def.module = "/usr/bin/prog";
  add(def);
  def = from("src/main.c", "b");
  def.module = "/lib/libx.so";
  add(def);
  CHECK(strstr(report(PD_HELP_SHORT, "", 80), "  -a "));
  CHECK(!strstr(written, "  -b "));
}

TEST(helpon_shows_flags_of_files_of_that_name) {
  add(from("src/alpha.c", "a"));
  add(from("src/alpha_more.c", "b"));
  add(from("alpha.py", "c"));
  const char *text = report(PD_HELP_ON, "alpha", 80);
  CHECK(strstr(text, "  -a ") && !strstr(text, "  -b ") && strstr(text, "  -c "));
  CHECK(strstr(report(PD_HELP_ON, "src/alpha", 80), "  -a "));
  CHECK_STR(report(PD_HELP_ON, "beta", 80),
            "usage: prog [--flag=value ...] [argument ...]\n"
            "\n"
            "No source file 'beta.*' defines flags; --help shows all.\n");
}

TEST(helpmatch_shows_flags_of_paths_that_hold_the_text) {
  add(from("src/alpha.c", "a"));
  add(from("lib/beta.c", "b"));
  const char *text = report(PD_HELP_MATCH, "c/al", 80);
  CHECK(strstr(text, "  -a ") && !strstr(text, "  -b "));
  CHECK(strstr(report(PD_HELP_MATCH, "none", 80),
               "No source file with 'none' in its path defines flags; --help shows all.\n"));
}

TEST(helppackage_shows_flags_of_the_programs_directory) {
  add(from("src/prog.c", "a"));
  add(from("src/util.c", "b"));
  add(from("src/deep/util.c", "c"));
  add(from("lib/src/util.c", "d"));
  add(from("srcs/util.c", "e"));
  const char *text = report(PD_HELP_PACKAGE, "", 80);
  CHECK(strstr(text, "  -a ") && strstr(text, "  -b ") && strstr(text, "  -c "));
  CHECK(!strstr(text, "  -d ") && !strstr(text, "  -e "));
}

TEST(helppackage_and_helpshort_say_where_there_is_nothing) {
  pd_flag_def def = from("lib/x.c", "a");
  def.module = "libx.so";
  add(def);
  CHECK(strstr(report(PD_HELP_PACKAGE, "", 80), "The program itself defines no flags; --help "));
  CHECK(strstr(report(PD_HELP_SHORT, "", 80), "The program itself defines no flags; --help "));
}

/* ---- XML and version ---- */

TEST(helpxml_is_gflags_form_sorted_by_file_and_name) {
  ADD(PD_TYPE_string, "b", "a<b & c>d ]]> \"q\"", def.file = "src/b.c",
      def.default_value.str = "\x01\xff\r\n\xc3\xa9\xef\xbf\xbf");
  CHECK_OK(pd_flag_set_int32(ADD(PD_TYPE_int32, "z", "Z", def.file = "src/a.c"), 5, &err));
  ADD(PD_TYPE_bool, "y", NULL, def.file = "src/a.c");
  CHECK_STR(
      report(PD_HELP_XML, "", 80),
      "<?xml version=\"1.0\"?>\n"
      "<AllFlags>\n"
      "<program>prog</program>\n"
      "<usage></usage>\n"
      "<flag><file>src/a.c</file><name>y</name><meaning></meaning><default>false</default>"
      "<current>false</current><type>bool</type></flag>\n"
      "<flag><file>src/a.c</file><name>z</name><meaning>Z</meaning><default>0</default>"
      "<current>5</current><type>int32</type></flag>\n"
      "<flag><file>src/b.c</file><name>b</name><meaning>a&lt;b &amp; c>d ]]&gt; \"q\"</meaning>"
      "<default>\xef\xbf\xbd\xef\xbf\xbd&#13;\n\xc3\xa9\xef\xbf\xbd</default>"
      "<current>\xef\xbf\xbd\xef\xbf\xbd&#13;\n\xc3\xa9\xef\xbf\xbd</current>"
      "<type>string</type></flag>\n"
      "</AllFlags>\n");
}

TEST(version_is_written_as_gflags_writes_it) {
  CHECK_STR(report(PD_HELP_VERSION, "", 80), "prog\n");
  pd_help help = {.size = sizeof help, .kind = PD_HELP_VERSION};
  pd_report_options options = {.size = sizeof options, .help = &help};
  options.program = "prog";
  options.version = "1.2";
  length = 0;
  CHECK_OK(pd_report_help(&options, collect, written, &err));
  CHECK_STR(written, "prog version 1.2\n");
}

/* ---- Flagfiles ---- */

TEST(a_flagfile_gives_the_values_that_were_given_by_groups) {
  pd_flag *level = define_flag(PD_TYPE_int32, "level");
  pd_flag_def def = in("/lib/libx.so", "Net\nwork", "check");
  pd_flag *check = add(def);
  define_flag(PD_TYPE_double, "ratio");
  def = with_help(PD_TYPE_bool, "fixed", NULL);
  def.read_only = true;
  add(def);
  CHECK_STR(flagfile(false), "");
  CHECK_OK(pd_flag_set_int32(level, 0, &err)); /* the default, but given */
  CHECK_OK(pd_flag_set_bool(check, true, &err));
  CHECK(strstr(flagfile(false), "\n--level=0\n"));
  CHECK(strstr(written, "# libx.so, Net work\n--check=true\n"));
  CHECK(!strstr(written, "ratio") && !strstr(written, "fixed"));
  CHECK(strstr(flagfile(true), "--ratio=0\n"));
  CHECK(strstr(written, "# --fixed: left out, read-only\n"));
}

TEST(values_that_a_line_cannot_hold_are_quoted_in_a_flagfile) {
  static const char *const cases[][2] = {{"", ""},
                                         {"plain 'text' $x", "plain 'text' $x"},
                                         {"\xc3\xa9", "\xc3\xa9"},
                                         {"a\nb", "$'a\\nb'"},
                                         {" x", "$' x'"},
                                         {"x\t", "$'x\\t'"},
                                         {"$'x", "$'$\\'x'"},
                                         {"back\\slash", "back\\slash"},
                                         {"\\\r\x01\xff\xc3", "$'\\\\\\r\\x01\\xff\\xc3'"}};
  pd_flag *flag = define_flag(PD_TYPE_string, "s");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char expected[64];
    CHECK_OK(pd_flag_set_string(flag, cases[i][0], &err));
    snprintf(expected, sizeof expected, "\n--s=%s\n", cases[i][1]);
    CHECK(strstr(flagfile(false), expected));
  }
}

/* ---- The call ---- */

static void reenter(const char *text, size_t size, void *context) {
  (void)text, (void)size;
  CHECK_OK(pd_flag_set_bool(context, true, &err));
}

TEST(a_writer_may_call_every_function) {
  pd_flag *flag = define_flag(PD_TYPE_bool, "b");
  CHECK_OK(pd_report_help(NULL, reenter, flag, &err));
  CHECK_OK(pd_report_flagfile(true, reenter, flag, &err));
  CHECK_STR(text_of(flag), "true");
}

TEST(wrong_options_are_refused_and_nothing_is_written) {
  pd_help help = {.size = sizeof help, .kind = (pd_help_kind)99};
  pd_report_options options = {.size = sizeof options, .help = &help};
  CHECK_STATUS(pd_report_help(NULL, NULL, NULL, &err), PD_ERR_ARGUMENT, "write is NULL");
  CHECK_STATUS(pd_report_flagfile(true, NULL, NULL, &err), PD_ERR_ARGUMENT, "write is NULL");
  CHECK_STATUS(pd_report_help(&options, collect, NULL, &err), PD_ERR_ARGUMENT,
               "help->kind is 99, expected 7 or less");
  help.size = 1;
  CHECK_STATUS(pd_report_help(&options, collect, NULL, &err), PD_ERR_ARGUMENT,
               "help->size is 1, expected 24 or more");
  options.size = 8;
  CHECK_STATUS(pd_report_help(&options, collect, NULL, &err), PD_ERR_ARGUMENT,
               "options->size is 8, expected 45 or more");
}
