/* A C host: it loads plugins, parses one command line with its own flags and
 * theirs, and runs every plugin over every file.
 *
 *     host PLUGIN.so… [--flag=value…] FILE…
 *
 * The plugins come first, so that their flags are defined when the rest of the
 * command line is parsed. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <locale.h>
#include <pd_flags.h>
#include <stdio.h>
#include <string.h>

PD_DEFINE_int64(max_bytes, 0, "Bytes to read of each file, 0 for all", .min = 0,
                .category = "host");
PD_DEFINE_bool(keep_going, true, "Go on with the next file after an error", .category = "host");
PD_DEFINE_bool(show_flags, false, "Show every flag, its value and its source at the end",
               .category = "host");

enum { EXIT_OK = 0, EXIT_FILE = 1, EXIT_USAGE = 2, MAX_TOOLS = 16, RESULT_SIZE = 256 };

/* The functions that a plugin of this host exports. */
typedef int run_function(const char *path, char *result, size_t size);
typedef const char *name_function(void);

typedef struct tool {
  const char *name;
  run_function *run;
} tool;

static void print_errors(const pd_error_list *errors, const pd_error *first) {
  for (size_t i = 0; i < pd_error_list_count(errors); i++) {
    fprintf(stderr, "host: %s\n", pd_error_list_at(errors, i)->message);
  }
  if (pd_error_list_count(errors) == 0) fprintf(stderr, "host: %s\n", first->message);
}

/* The module is loaded already, so dlopen only returns a handle to it. C has no
 * cast from the result of dlsym to a function pointer: copy the bytes. */
static bool find_functions(const char *path, tool *out) {
  void *image = dlopen(path, RTLD_NOW);
  void *run = image ? dlsym(image, "plugin_run") : NULL;
  void *name = image ? dlsym(image, "plugin_name") : NULL;
  if (!run || !name) {
    fprintf(stderr, "host: %s: expected a plugin with plugin_run and plugin_name\n", path);
    return false;
  }
  name_function *get_name;
  memcpy(&get_name, &name, sizeof get_name);
  memcpy(&out->run, &run, sizeof out->run);
  out->name = get_name();
  return true;
}

static bool load_tool(const char *path, tool *out) {
  pd_error error;
  pd_error_list *errors = pd_error_list_new();
  pd_module *module = NULL;
  pd_status status = pd_module_load(path, errors, &module, &error);
  if (status != PD_OK) print_errors(errors, &error);
  pd_error_list_free(errors);
  if (status != PD_OK) return false;
  pd_module_info info = {.size = sizeof info};
  pd_module_get_info(module, &info, NULL);
  return find_functions(info.path, out);
}

static bool is_plugin(const char *argument) {
  size_t length = strlen(argument);
  return argument[0] != '-' && length > 3 && strcmp(argument + length - 3, ".so") == 0;
}

static void print_help(void) {
  printf("usage: host PLUGIN.so... [--flag=value...] FILE...\n\nflags:\n");
  for (pd_flag *flag = pd_flag_next(NULL); flag; flag = pd_flag_next(flag)) {
    pd_flag_info info = {.size = sizeof info};
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK || info.hidden) continue;
    printf("  --%s (%s)%s%s\n      %s\n", info.name, pd_type_name(info.type),
           info.choices[0] ? ": " : "", info.choices, info.help);
  }
}

static const char *file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

static void print_flags(void) {
  for (pd_flag *flag = pd_flag_next(NULL); flag; flag = pd_flag_next(flag)) {
    pd_flag_info info = {.size = sizeof info};
    char value[64];
    if (pd_flag_get_info(flag, &info, NULL) != PD_OK || info.hidden) continue;
    if (pd_flag_get_text(flag, value, sizeof value, NULL, NULL) != PD_OK) continue;
    printf("%-20s %-12s %-12s %s\n", info.name, value, pd_source_name(info.source),
           file_name(info.module));
  }
}

static bool run_tools(const tool *tools, int count, const char *path) {
  char line[MAX_TOOLS * RESULT_SIZE] = "";
  size_t used = 0;
  for (int i = 0; i < count; i++) {
    char result[RESULT_SIZE];
    if (tools[i].run(path, result, sizeof result) != 0) {
      fprintf(stderr, "host: %s: %s: %s\n", path, tools[i].name, result);
      return false;
    }
    used += (size_t)snprintf(line + used, sizeof line - used, " %s", result);
  }
  printf("%s:%s\n", path, line);
  return true;
}

/* Prints the help before it returns PD_HELP, and the errors before it returns an error. */
static pd_status parse(int *argc, char **argv) {
  pd_error error;
  pd_error_list *errors = pd_error_list_new();
  pd_parse_options options = {.size = sizeof options, .env_prefix = "FLAGS_", .errors = errors};
  pd_status status = pd_parse_argv(argc, argv, &options, &error);
  if (status == PD_HELP) {
    print_help();
  } else if (status != PD_OK) {
    print_errors(errors, &error);
  }
  pd_error_list_free(errors);
  return status;
}

int main(int argc, char **argv) {
  setlocale(LC_CTYPE, ""); /* the search plugin compares letters */
  tool tools[MAX_TOOLS];
  int count = 0;
  while (count + 1 < argc && is_plugin(argv[count + 1])) {
    if (count == MAX_TOOLS) {
      fprintf(stderr, "host: at most %d plugins\n", MAX_TOOLS);
      return EXIT_USAGE;
    }
    if (!load_tool(argv[count + 1], &tools[count])) return EXIT_USAGE;
    count++;
  }

  argv[count] = argv[0]; /* the rest is the command line */
  argv += count;
  argc -= count;
  pd_status status = parse(&argc, argv);
  if (status == PD_HELP) return EXIT_OK;
  if (status != PD_OK) return EXIT_USAGE;

  bool good = true;
  for (int i = 1; i < argc && (good || FLAGS_keep_going); i++) {
    good &= run_tools(tools, count, argv[i]);
  }
  if (FLAGS_show_flags) print_flags();
  return good ? EXIT_OK : EXIT_FILE;
}
