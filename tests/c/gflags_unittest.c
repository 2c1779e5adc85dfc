/* gflags' own gflags_unittest.cc as a program of ours: the flags of its command-line
 * cases; it prints and exits as gflags does. The tests build it under gflags' names of
 * source files, beside sources of a few flags that stand for gflags' own. */
#include <stdio.h>
#include <stdlib.h>

#include <pd_flags.h>

#ifdef OTHER_SOURCE
#define DEFINE_OTHER(name) PD_DEFINE_bool(name, false, "stands for the flags of gflags' own source")
DEFINE_OTHER(OTHER_SOURCE);
#else

static bool is_false(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (entries[0]->value.b) snprintf(why, size, "expected false, always");
  return !entries[0]->value.b;
}

/* Who asks validators must not stand in the way of what they ask. */
static bool looks_at_all(const pd_flag_entry *const *entries, void *context, char *why,
                         size_t size) {
  char text[400];
  (void)entries, (void)context, (void)why, (void)size;
  for (pd_flag *flag = pd_flag_next(NULL); flag; flag = pd_flag_next(flag)) {
    if (pd_flag_get_text(flag, text, sizeof text, NULL, NULL) != PD_OK) return false;
  }
  return true;
}

PD_DEFINE_string(test_tmpdir, "", "Dir we use for temp files");
PD_DEFINE_string(srcdir, ".", "Source-dir root, needed to find gflags_unittest_flagfile");
PD_DEFINE_bool(test_bool, false, "tests bool-ness");
PD_DEFINE_string(test_tryfromenv, "initial", "");
PD_DEFINE_bool(unused_bool, true, "unused bool-ness");
PD_DEFINE_bool(changed_bool2, false, "changed");
PD_DEFINE_bool(long_helpstring, false,
               "This helpstring goes on forever and ever and ever and ever and ever and ever and "
               "ever and ever and ever and ever and ever and ever and ever and ever and ever and "
               "ever and ever and ever and ever and ever and ever and ever and ever and ever and "
               "ever.  This is the end of a long helpstring");
PD_DEFINE_bool(always_fail, false, "will fail to validate when you set it", .validate = is_false);
PD_DEFINE_bool(deadlock_if_cant_lock, false, "will deadlock if locking in validators fails",
               .validate = looks_at_all);
PD_DEFINE_bool(stripped, false, "This text should be stripped out", .hidden = true);

static void must(pd_status status, const pd_error *err) {
  if (status == PD_OK) return;
  fprintf(stderr, "%s\n", err->message);
  exit(9);
}

static void define(pd_type type, const char *name, pd_value value, const char *help,
                   const char *file) {
  pd_error err;
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  def.default_value = value;
  def.help = help;
  def.file = file;
  must(pd_flag_register(&def, NULL, &err), &err);
}

static void write_out(const char *text, size_t length, void *context) {
  (void)context;
  fwrite(text, 1, length, stdout);
}

/* gflags ends with 1 for help and errors, and with 0 for the version. */
static int end(pd_status status, const pd_help *help, const char *program,
               const pd_error_list *errors) {
  pd_error err;
  if (status == PD_HELP) {
    pd_report_options options = {.size = sizeof options, .help = help, .program = program};
    options.version = "test_version";
    must(pd_report_help(&options, write_out, NULL, &err), &err);
    return help->kind != PD_HELP_VERSION;
  }
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    fprintf(stderr, "ERROR: %s\n", pd_error_list_at(errors, i)->message);
  }
  return 1;
}

int main(int argc, char **argv) {
  static char program[] = "/test/argv/for/gflags_unittest", from[] = "--tryfromenv=test_tryfromenv";
  pd_error err;
  pd_flag *flag;
  define(PD_TYPE_int32, "tldflag1", (pd_value){.i64 = 12}, "should show up in --helpshort",
         "gflags_unittest.cc");
  define(PD_TYPE_int32, "tldflag2", (pd_value){.i64 = 23}, "should show up in --helpshort",
         "gflags_unittest.");
  define(PD_TYPE_bool, "changed_bool1", (pd_value){.b = true}, "changed", __FILE__);
  define(PD_TYPE_string, "changeable_string_var", (pd_value){.str = "1"}, "", __FILE__);
  must(pd_flag_find("changed_bool2", &flag, &err), &err);
  must(pd_flag_set_bool(flag, true, &err), &err);

  /* What gflags' program writes to FLAGS_tryfromenv is a word in front. */
  char **words = calloc((size_t)argc + 2, sizeof *words);
  pd_error_list *errors = pd_error_list_new();
  if (!words || !errors) return 9;
  words[0] = program;
  words[1] = from;
  for (int i = 1; i < argc; i++) words[i + 1] = argv[i];
  argc++;
  setenv("FLAGS_test_tryfromenv", "pre-set", 1);
  pd_help help = {.size = sizeof help};
  pd_parse_options options = {.size = sizeof options, .errors = errors, .help = &help};
  pd_status status = pd_parse_argv(&argc, words, &options, &err);
  int result = status == PD_OK ? 0 : end(status, &help, program, errors);
  if (status == PD_OK) fprintf(stderr, "\n\nPASS\n");
  pd_error_list_free(errors);
  free(words);
  return result;
}
#endif
