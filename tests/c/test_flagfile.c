#include "check.h"

#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

static pd_flag *count, *text, *dry_run;
static pd_error_list *errors;
static const char *program = "/usr/bin/server";

static void start(void) {
  char directory[] = "flagfile-XXXXXX"; /* in the directory of the test run */
  CHECK(mkdtemp(directory) && chdir(directory) == 0);
  count = DEFINE(PD_TYPE_int32, "count", def.max.i64 = 100);
  text = define_flag(PD_TYPE_string, "text");
  dry_run = define_flag(PD_TYPE_bool, "dry_run");
  errors = pd_error_list_new();
}

static void write_bytes(const char *path, const char *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  CHECK(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0);
}

static void write_file(const char *path, const char *content) {
  write_bytes(path, content, strlen(content));
}

__attribute__((sentinel)) static pd_status parse(const char *word, ...) {
  static char copies[8][256], *argv[10];
  int argc = 1;
  va_list words;
  argv[0] = (char *)program;
  va_start(words, word);
  for (; word; word = va_arg(words, const char *)) {
    snprintf(copies[argc], sizeof copies[argc], "%s", word);
    argv[argc] = copies[argc];
    argc++;
  }
  va_end(words);
  argv[argc] = NULL;
  pd_parse_options options = {.size = sizeof options, .errors = errors};
  return pd_parse_argv(&argc, argv, &options, &err);
}

/* A flagfile of this content is refused, with one error, and nothing changes. */
static void refuses(const char *content, pd_status status, const char *message) {
  pd_error_list_free(errors);
  errors = pd_error_list_new();
  write_file("f", content);
  CHECK_STATUS(parse("--count=1", "--flagfile=f", NULL), status, message);
  CHECK(pd_error_list_count(errors) == 1);
  CHECK_STR(text_of(count), "0");
}

/* The value that a line gives --text. */
static const char *text_from(const char *line) {
  write_file("f", line);
  CHECK_OK(parse("--text=none", "--flagfile=f", NULL));
  return text_of(text);
}

TEST(a_file_gives_flags_one_a_line) {
  start();
  write_file("f", "# comment\n\n--count=5\n  -text=two words  \r\n--dry_run");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "5");
  CHECK_STR(text_of(text), "two words");
  CHECK_STR(text_of(dry_run), "true");
  write_file("f", "\xef\xbb\xbf--nodry-run\r\n");
  CHECK_OK(parse("-flagfile", "f", NULL));
  CHECK_STR(text_of(dry_run), "false");
}

TEST(a_file_acts_in_its_place_on_the_line) {
  start();
  write_file("f", "--count=5\n");
  CHECK_OK(parse("--count=1", "--flagfile=f", NULL));
  CHECK_STR(text_of(count), "5");
  CHECK_OK(parse("--flagfile=f", "--count=1", NULL));
  CHECK_STR(text_of(count), "1");
}

TEST(a_value_tells_its_file_and_line) {
  start();
  write_file("f", "\n\n--count=5\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  pd_flag_entry entry = flag_entry(count, 0);
  CHECK(entry.origin.source == PD_SOURCE_ARGV && entry.origin.line == 3);
  CHECK_STR(entry.origin.place, "f");
}

TEST(the_environment_names_files_for_a_line_that_asks_for_them) {
  start();
  write_file("f", "--count=5\n");
  write_file("g", "--tryfromenv=flagfile\n--text=g\n");
  setenv("FLAGS_flagfile", "f", 1);
  CHECK_OK(parse("--fromenv=flagfile", NULL));
  CHECK_STR(text_of(count), "5");
  CHECK_OK(parse("--count=1", "--tryfromenv", "count,flagfile", NULL));
  CHECK_STR(text_of(count), "5");
  CHECK_OK(parse("--count=1", "--flagfile=g", NULL));
  CHECK_STR(text_of(count), "5");
  unsetenv("FLAGS_flagfile");
  CHECK_OK(parse("--count=1", "--tryfromenv=flagfile", NULL));
  CHECK_STR(text_of(count), "1");
}

TEST(several_files_and_nested_ones_are_read_in_order) {
  start();
  write_file("a", "--count=1\n--flagfile=b,c\n");
  write_file("b", "--count=2\n--text=b");
  write_file("c", "--count=3\n");
  CHECK_OK(parse("--flagfile=a", NULL));
  CHECK_STR(text_of(count), "3");
  CHECK_OK(parse("--flagfile=a,b", NULL));
  CHECK_STR(text_of(count), "2");
}

TEST(flags_below_patterns_are_for_the_programs_that_they_match) {
  start();
  write_file("f", "--text=all\n"
                  "other\n--count=1\n"
                  "# between\n"
                  "client /opt/*\nserv??\n\n--count=2\n--dry_run\n"
                  "/usr/*\n--count=3\n"
                  "/usr/*/[a-s]erver\n--text=server\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "2");
  CHECK_STR(text_of(text), "server");
  CHECK_STR(text_of(dry_run), "true");
}

TEST(tabs_may_stand_between_patterns) {
  start();
  write_file("f", "other\t/usr/*/server\tclient\n--count=6\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "6");
}

TEST(a_set_in_a_pattern_has_no_named_classes) {
  start();
  write_file("f", "serve[[:alpha:]]\n--count=6\nserve[a-z]\n--text=range\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "0");
  CHECK_STR(text_of(text), "range");
}

TEST(a_slash_behind_a_backslash_is_a_slash_of_a_pattern) {
  start();
  write_file("f", "/usr/*\\/server\n--count=1\n*\\/server\n--count=2\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "1");
}

TEST(a_quoted_value_has_every_byte) {
  start();
  CHECK_STR(text_from("--text=$'a\\nb\\t\\r\\\\\\'\\x41\\101\\xff '\n"), "a\nb\t\r\\'AA\xff ");
  CHECK_STR(text_from("--text=$''"), "");
  CHECK_STR(text_from("--text='quoted'"), "'quoted'");
  CHECK_STR(text_from("--text= lead\t"), " lead");
  CHECK_STR(text_from("--text=\xff\xfe"), "\xff\xfe");
  CHECK_STR(text_from("--text=a=b"), "a=b");
}

TEST(a_wrongly_quoted_value_is_an_error) {
  start();
  refuses("--text=$'a", PD_ERR_FILE, "f:1: --text: expected a ' at the end of $'");
  refuses("--text=$'a'b", PD_ERR_FILE, "f:1: --text: expected nothing after the ' that ends $'");
  refuses("--text=$'\\q'", PD_ERR_FILE,
          "f:1: --text: after \\, expected n, t, r, \\, ', xHH or NNN, and no NUL");
  refuses("--text=$'\\0'", PD_ERR_FILE,
          "f:1: --text: after \\, expected n, t, r, \\, ', xHH or NNN, and no NUL");
}

TEST(every_error_tells_file_and_line) {
  start();
  refuses("\n--count=x\n", PD_ERR_VALUE, "f:2: --count=x: expected an integer <= 100");
  refuses("--cuont=5", PD_ERR_UNDEFINED, "f:1: --cuont: no such flag; did you mean '--count'?");
  refuses("-cuont=5", PD_ERR_UNDEFINED, "f:1: -cuont: no such flag; did you mean '--count'?");
  refuses("--count", PD_ERR_ARGV, "f:1: --count: the value is missing, expected an integer <= 100");
  refuses("--nocount", PD_ERR_ARGV,
          "f:1: --nocount: count is int32, and only a bool can be negated");
  refuses("--count 5", PD_ERR_FILE,
          "f:1: --count: expected = before the value, as in --name=value");
  refuses("--count = 5", PD_ERR_FILE,
          "f:1: --count: expected = before the value, as in --name=value");
  refuses("count=5", PD_ERR_FILE, "f:1: count: expected --name=value, or names of programs");
  refuses("--", PD_ERR_ARGV, "f:1: --: expected the name of a flag");
  refuses("---count=5", PD_ERR_ARGV,
          "f:1: ---count: expected one or two dashes before the name of a flag");
  refuses("\n--fromenv=nothing_there", PD_ERR_UNDEFINED,
          "f:2: --fromenv=nothing_there: no such flag");
  refuses("\n--fromenv=count", PD_ERR_ARGV, "f:2: --fromenv: the environment has no FLAGS_count");
  refuses("a\x01", PD_ERR_FILE, "f:1: a: isn't text");
}

TEST(a_line_that_is_no_name_of_a_program_silences_nothing) {
  start();
  refuses("\n\ndry_run\n--count=2", PD_ERR_FILE,
          "f:3: dry_run: expected --dry_run, or names of programs");
  refuses("nodry-run", PD_ERR_FILE, "f:1: nodry-run: expected --nodry-run, or names of programs");
  refuses("text secret words", PD_ERR_FILE, "f:1: text: expected --text, or names of programs");
  refuses("set count 5", PD_ERR_FILE, "f:1: count: expected --count, or names of programs");
  refuses("flagfile other", PD_ERR_FILE,
          "f:1: flagfile: expected --flagfile, or names of programs");
  refuses("; --count=5", PD_ERR_FILE, "f:1: ;: expected # before a comment");
  refuses("// see below", PD_ERR_FILE, "f:1: //: expected # before a comment");
  refuses("[server]", PD_ERR_FILE,
          "f:1: [server]: sections begin with names of programs, without brackets");
  write_file("f", "other\ndry_ru[n] nocount\n[c-t]erver [s]erver\n--count=4\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "4");
  program = "count";
  write_file("f", "count\n--count=5\n");
  CHECK_OK(parse("--flagfile=f", NULL));
  CHECK_STR(text_of(count), "5");
}

TEST(undefok_in_a_file_and_for_a_file_holds) {
  start();
  write_file("f", "--foo=1\n--undefok=bar\n--nobar\n");
  CHECK_OK(parse("--flagfile=f", "--undefok=foo", "--bar", NULL));
}

TEST(help_in_a_file_asks_for_help) {
  start();
  write_file("f", "--help\n");
  CHECK_STATUS(parse("--flagfile=f", NULL), PD_HELP, "help was asked for");
  CHECK_OK(parse("--flagfile=f", "--nohelp", NULL));
}

TEST(a_nul_byte_is_an_error_with_its_line) {
  start();
  write_bytes("f", "--count=1\n--text=a\0b\n", 21);
  CHECK_STATUS(parse("--flagfile=f", NULL), PD_ERR_FILE, "f:2: holds a NUL byte, expected text");
}

TEST(what_cannot_be_read_is_told_with_the_reason) {
  start();
  CHECK_STATUS(parse("--flagfile=none", NULL), PD_ERR_FILE, "--flagfile=none: no such file");
  CHECK_STATUS(parse("--flagfile=/tmp", NULL), PD_ERR_FILE,
               "--flagfile=/tmp: is a directory, expected a regular file");
  CHECK(mkfifo("pipe", 0600) == 0);
  CHECK_STATUS(parse("--flagfile=pipe", NULL), PD_ERR_FILE,
               "--flagfile=pipe: is a FIFO, expected a regular file");
  CHECK_STATUS(parse("--flagfile=/dev/zero", NULL), PD_ERR_FILE,
               "--flagfile=/dev/zero: is a device or a socket, expected a regular file");
  refuses("\n--flagfile=none", PD_ERR_FILE, "f:2: --flagfile=none: no such file");
  refuses("\n--flagfile=f/x", PD_ERR_FILE, "f:2: --flagfile=f/x: Not a directory");
}

TEST(a_file_that_includes_itself_is_an_error) {
  start();
  refuses("--flagfile=f", PD_ERR_DEPTH, "f:1: --flagfile=f: includes itself");
  write_file("g", "--flagfile=f");
  refuses("\n--flagfile=g", PD_ERR_DEPTH, "g:1: --flagfile=f: includes itself");
}

TEST(files_nest_sixteen_deep) {
  start();
  for (int i = 1; i <= 16; i++) {
    char path[8], line[40];
    snprintf(path, sizeof path, "f%d", i);
    snprintf(line, sizeof line, i < 16 ? "--flagfile=f%d" : "--undefok=a\n--a\n--count=%d", i + 1);
    write_file(path, line);
  }
  CHECK_OK(parse("--flagfile=f1", NULL));
  CHECK_STR(text_of(count), "17");
  write_file("f0", "--flagfile=f1");
  CHECK_STATUS(
      parse("--flagfile=f0", NULL), PD_ERR_DEPTH,
      "f15:1: --flagfile: nested more than 16 files and variables deep, perhaps in a circle");
  CHECK(pd_error_list_count(errors) == 1);
}

TEST(a_thousand_files_are_read_and_not_one_more) {
  static char line[1001 * 2 + 1];
  start();
  write_file("e", "");
  for (int i = 0; i < 1000; i++) memcpy(line + 2 * i, "e,", 3);
  write_file("f", "--flagfile=");
  FILE *file = fopen("f", "ab");
  fputs(line, file);
  fclose(file);
  CHECK_STATUS(parse("--flagfile=f", NULL), PD_ERR_DEPTH,
               "f:1: --flagfile=e: more than 1000 flagfiles");
  CHECK(pd_error_list_count(errors) == 1);
}

TEST(the_environment_names_files_in_upper_case_too) {
  start();
  write_file("f", "--count=5\n");
  setenv("FLAGS_FLAGFILE", "f", 1);
  CHECK_OK(parse("--fromenv=flagfile", NULL));
  CHECK_STR(text_of(count), "5");
  setenv("FLAGS_flagfile", "g", 1);
  CHECK_STATUS(parse("--tryfromenv=flagfile", NULL), PD_ERR_CONFLICT,
               "environment: FLAGS_flagfile and FLAGS_FLAGFILE are set to different values, "
               "expected one of them");
  CHECK(pd_error_list_count(errors) == 1);
}

TEST(settings_take_flagfiles_too) {
  start();
  setenv("FLAGS_text", "from the environment", 1);
  write_file("f", "--count=5\n--fromenv=text\n--dry_run\n--tryfromenv=other\n");
  write_file("g", "--flagfile=f\nserver\n--count=6\n--undefok=foo\n--foo=1\n");
  pd_config *config = new_config();
  CHECK_OK(pd_config_add_flagfile(config, "g", program, errors, &err));
  CHECK_OK(pd_config_apply(config, false, errors, &err));
  CHECK_STR(text_of(count), "6");
  CHECK_STR(text_of(text), "from the environment");
  CHECK_STR(text_of(dry_run), "true");
  pd_flag_entry entry = flag_entry(text, 0);
  CHECK(entry.origin.source == PD_SOURCE_FILE && entry.origin.line == 2);
  CHECK_STR(entry.origin.place, "f");
  config = new_config();
  CHECK_OK(pd_config_add_flagfile(config, "g", NULL, errors, &err));
  CHECK_OK(pd_config_apply(config, false, errors, &err));
  CHECK_STR(text_of(count), "5");
}

TEST(a_flagfile_of_settings_reads_the_variables_that_its_program_reads) {
  start();
  setenv("APP_text", "", 1);
  setenv("APP_count_FILE", "number", 1);
  write_file("number", "7\n");
  write_file("f", "--fromenv=count\n--tryfromenv=text\n");
  pd_config *config = new_config();
  CHECK_STATUS(pd_config_add_flagfile(config, "f", NULL, NULL, &err), PD_ERR_ARGV,
               "f:1: --fromenv: the environment has no FLAGS_count");
  CHECK_OK(pd_config_set_environment(config, "APP_", true, true, &err));
  CHECK_OK(pd_config_add_flagfile(config, "f", NULL, NULL, &err));
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(count), "7");
  CHECK_STATUS(pd_config_set_environment(config, "A=", false, false, &err), PD_ERR_ARGUMENT,
               "environment prefix 'A=': expected at most 255 bytes without '='");
  CHECK_STATUS(pd_config_set_environment(NULL, "A", false, false, &err), PD_ERR_ARGUMENT,
               "config is NULL");
  unsetenv("APP_text");
  unsetenv("APP_count_FILE");
}

TEST(a_wrong_flagfile_adds_nothing_to_settings) {
  start();
  write_file("good", "--count=5\n");
  write_file("bad", "--count=6\n--text=$'\n--version\n--count 7\n");
  pd_config *config = new_config();
  CHECK_OK(pd_config_add_flagfile(config, "good", NULL, NULL, &err));
  CHECK_STATUS(pd_config_add_flagfile(config, "bad", NULL, errors, &err), PD_ERR_FILE,
               "bad:2: --text: expected a ' at the end of $'");
  CHECK(pd_error_list_count(errors) == 2);
  CHECK_STATUS(pd_config_add_flagfile(config, "none", NULL, NULL, &err), PD_ERR_FILE,
               "none: no such file");
  CHECK_STATUS(pd_config_add_flagfile(config, "", NULL, NULL, &err), PD_ERR_FILE,
               "the path is empty");
  CHECK_OK(pd_config_apply(config, false, NULL, &err));
  CHECK_STR(text_of(count), "5");
  CHECK_STATUS(pd_config_add_flagfile(NULL, "f", NULL, NULL, &err), PD_ERR_ARGUMENT,
               "config is NULL");
  CHECK_STATUS(pd_config_add_flagfile(config, NULL, NULL, NULL, &err), PD_ERR_ARGUMENT,
               "path is NULL");
}

TEST(the_words_of_a_settings_file_are_judged_when_they_are_applied) {
  start();
  write_file("f", "--version\n--cuont=1\n--nodry_run\n");
  pd_config *config = new_config();
  CHECK_OK(pd_config_add_flagfile(config, "f", NULL, NULL, &err));
  CHECK_STATUS(pd_config_apply(config, false, errors, &err), PD_ERR_UNDEFINED,
               "f:1: --version: no such flag");
  CHECK(pd_error_list_count(errors) == 2);
}
