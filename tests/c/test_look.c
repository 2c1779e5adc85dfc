/* Looking at a command line before it is parsed: which argument is the command, and what value the
 * line gives one flag. */
#include "check.h"

static pd_flag *count, *files, *quick, *secret;
static char *argv[32];
static int argc;

static void start(void) {
  count = define_flag(PD_TYPE_int32, "count");
  quick = define_flag(PD_TYPE_bool, "quick");
  files = DEFINE(PD_TYPE_string, "files", def.list = PD_TYPE_string, def.aliases = "f");
  secret = DEFINE(PD_TYPE_string, "secret", def.sensitive = true);
}

static pd_status parse(const char *line, pd_parse_options *options) {
  static char words[1024];
  snprintf(words, sizeof words, "program %s", line);
  argc = 0;
  for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) argv[argc++] = word;
  argv[argc] = NULL;
  options->size = sizeof *options;
  return pd_parse_argv(&argc, argv, options, &err);
}

static pd_parse_look look_for(const char *line, int argument, const pd_flag *flag) {
  pd_parse_look look = {.size = sizeof look, .argument = argument, .flag = flag};
  pd_parse_options options = {.look = &look, .env_prefix = "LOOK_"};
  int before = 1;
  for (const char *at = line; *at; at++) before += *at != ' ' && (at == line || at[-1] == ' ');
  CHECK_OK(parse(line, &options));
  CHECK(argc == before);
  return look;
}

static int argument_of(const char *line, int argument) {
  return look_for(line, argument, NULL).index;
}

static const char *files_of(const char *line) {
  pd_parse_look look = look_for(line, 0, files);
  return look.text ? look.text : "(none)";
}

TEST(a_look_finds_each_argument) {
  start();
  CHECK(argument_of("train", 0) == 1);
  CHECK(argument_of("--count 3 --quick train --count=4 data", 0) == 4);
  CHECK(argument_of("--count 3 --quick train --count=4 data", 1) == 6);
  CHECK(argument_of("--count 3 --quick train --count=4 data", 2) == 7);
  CHECK(argument_of("-- train", 0) == 2);
  CHECK(argument_of("", 0) == 1);
}

TEST(a_look_changes_nothing_and_reports_no_errors) {
  start();
  CHECK(argument_of("--count=x --nobody --help train", 0) == 4);
  CHECK(argument_of("--count=5 --flagfile=/nowhere train", 0) == 3);
  CHECK_STR(text_of(count), "0");
  CHECK_STR(files_of("--files=a --count=x --nobody"), "a");
  CHECK_STR(text_of(files), "");
}

TEST(an_undefined_flag_takes_no_value_from_the_next_token) {
  start();
  CHECK(argument_of("--lr 0.1 train", 0) == 2);
  CHECK(argument_of("--lr=0.1 train", 0) == 2);
}

TEST(a_look_joins_the_values_that_the_line_gives_a_list) {
  start();
  CHECK_STR(files_of("train"), "(none)");
  CHECK_STR(files_of("--files=a.toml,b.toml train -f c.toml --count 1"), "a.toml,b.toml,c.toml");
  CHECK_STR(files_of("--files= --files=a"), "a");
  CHECK_STR(files_of("train -- --files=a"), "(none)");
}

TEST(a_look_reads_flagfiles_and_the_environment) {
  start();
  char path[] = "look.flags";
  FILE *file = fopen(path, "w");
  CHECK(file);
  fputs("--files=b\n", file);
  fclose(file);
  CHECK_STR(files_of("--files=a --flagfile=look.flags"), "a,b");
  remove(path);
  setenv("LOOK_FILES", "e", 1);
  pd_parse_look look = look_for("train", 0, files);
  CHECK_STR(look.text, "e");
  CHECK(look.origin.source == PD_SOURCE_ENVIRONMENT);
  CHECK_STR(look.origin.place, "LOOK_FILES");
  CHECK_STR(files_of("--files=a"), "a");
}

TEST(a_value_of_higher_rank_hides_what_a_look_finds) {
  start();
  CHECK_OK(pd_flag_set_string(files, "now", &err));
  CHECK_STR(files_of("--files=a"), "(none)");
}

TEST(a_look_finds_the_value_in_a_configuration) {
  start();
  pd_config *config = config_of(PD_SOURCE_FILE);
  pd_origin origin = {PD_SOURCE_FILE, 3, "app.toml", 0};
  CHECK_OK(pd_config_add(config, "files", "more", 0, &origin, &err));
  CHECK_OK(pd_config_add(config, "nobody", "1", 0, &origin, &err));
  pd_parse_look look = {.size = sizeof look, .flag = files};
  pd_parse_options options = {.look = &look, .config = config};
  CHECK_OK(parse("", &options));
  CHECK_STR(look.text, "more");
  CHECK_STR(look.origin.place, "app.toml");
  CHECK(look.origin.line == 3);
  pd_config_free(config);
}

TEST(a_look_at_a_sensitive_flag_is_refused) {
  start();
  pd_parse_look look = {.size = sizeof look, .flag = secret};
  pd_parse_options options = {.look = &look};
  CHECK_STATUS(parse("--secret=x", &options), PD_ERR_ARGUMENT,
               "options->look: secret is sensitive");
  look = (pd_parse_look){.size = 1};
  CHECK(parse("", &options) == PD_ERR_ARGUMENT);
}

TEST(a_look_leaves_startup_and_validators_alone) {
  pd_flag *late = DEFINE(PD_TYPE_int32, "late", def.startup_only = true);
  DEFINE(PD_TYPE_int32, "needed", def.required = true);
  CHECK(argument_of("--late=5 train", 0) == 2);
  pd_parse_options options = {.commands = 1};
  CHECK_OK(parse("--late=5 train --needed=1", &options));
  CHECK_STR(text_of(late), "5");
}

/* The program that a C host writes. */
static pd_flag *rate;

static void load(const char *command) {
  if (!strcmp(command, "train")) rate = define_flag(PD_TYPE_double, "rate");
}

TEST(a_host_defines_the_flags_of_a_command_and_parses_the_line_once) {
  start();
  int at = argument_of("--quick train --rate=0.5 --count=3 data", 0);
  load(argv[at]);
  pd_parse_options options = {.commands = 1};
  CHECK_OK(parse("--quick train --rate=0.5 --count=3 data", &options));
  CHECK(argc == 3);
  CHECK_STR(argv[1], "train");
  CHECK_STR(argv[2], "data");
  CHECK_STR(text_of(rate), "0.5");
  CHECK_STR(text_of(count), "3");
}

TEST(what_is_behind_the_commands_may_end_the_flags_or_be_refused) {
  start();
  pd_parse_options options = {.commands = 2, .stop_at_argument = true};
  CHECK_OK(parse("remote --count=1 add --count=2 name --count=3", &options));
  CHECK(argc == 5);
  CHECK_STR(text_of(count), "2");
  options = (pd_parse_options){.commands = 1, .no_arguments = true};
  CHECK_OK(parse("train --count=4", &options));
  CHECK_STATUS(parse("train --count=4 data", &options), PD_ERR_ARGV, "data: expected no argument");
}

static char page[8192];

static void keep(const char *text, size_t length, void *unused) {
  (void)unused;
  snprintf(page, sizeof page, "%.*s", (int)length, text);
}

static void define_in(const char *name, const char *module) {
  DEFINE(PD_TYPE_int32, name, def.module = module);
}

TEST(help_shows_some_modules_first_and_leaves_others_out) {
  define_in("one", "program");
  define_in("two", "tool.eval");
  define_in("three", "tool.train");
  define_in("four", "tool");
  pd_report_options options = {.size = sizeof options, .program = "program", .usage = ""};
  options.first = "tool.train";
  options.without = "tool.eval|tool.test";
  CHECK_OK(pd_report_help(&options, keep, NULL, &err));
  CHECK(strstr(page, "tool.train:") && strstr(page, "program:") && strstr(page, "tool:"));
  CHECK(strstr(page, "tool.train:") < strstr(page, "program:"));
  CHECK(strstr(page, "program:") < strstr(page, "tool:"));
  CHECK(!strstr(page, "two") && !strstr(page, "eval"));
  options.first = options.without = NULL;
  CHECK_OK(pd_report_help(&options, keep, NULL, &err));
  CHECK(strstr(page, "program:") < strstr(page, "tool.eval:"));
  CHECK(strstr(page, "tool.eval:") < strstr(page, "tool.train:"));
}
