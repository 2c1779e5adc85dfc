/* Parses a command line and tells the outcome, the errors, and the values of its flags:
 *
 *     bad_input words <word>...                         these words
 *     bad_input many <flags> <count> <word>...          the words in turn, <count> in all,
 *                                                       with so many more flags defined
 *     bad_input long <bytes>                            one value of that length
 *
 * "unprivileged" in front gives up the rights of root; "waiting" lets values for unknown
 * flags wait, and tells what pd_pending_check says.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

static bool waiting;

static void define(pd_type type, const char *name) {
  pd_flag_def def;
  pd_flag_def_init(&def, sizeof def, type);
  def.name = name;
  if (pd_flag_register(&def, NULL, NULL) != PD_OK) exit(9);
}

static void show_value(const char *name) {
  char text[32];
  size_t length;
  pd_flag *flag;
  if (pd_flag_find(name, &flag, NULL) != PD_OK) exit(9);
  if (pd_flag_get_text(flag, text, sizeof text, &length, NULL) != PD_OK) exit(9);
  if (length < sizeof text) {
    printf("%s=%s\n", name, text);
  } else {
    printf("%s: %zu bytes\n", name, length);
  }
}

static void parse(int argc, char **argv) {
  pd_error err;
  pd_error_list *errors = pd_error_list_new();
  pd_parse_options options = {.size = sizeof options, .errors = errors};
  options.allow_pending = waiting;
  pd_status status = pd_parse_argv(&argc, argv, &options, &err);
  if (status == PD_OK) printf("%d arguments\n", argc - 1);
  if (status == PD_OK && waiting) status = pd_pending_check(errors, &err);
  if (status != PD_OK) {
    size_t count = pd_error_list_count(errors);
    const pd_error *last = pd_error_list_at(errors, count - 1);
    printf("%s: %s\n", pd_status_name(status), err.message);
    if (count > 1) printf("%zu errors, then: %s\n", count, last->message);
  }
  show_value("count");
  show_value("text");
  show_value("on");
  pd_error_list_free(errors);
}

/* Memory of the process that the system gives back at its end. */
static void *take(size_t size) {
  void *memory = malloc(size);
  if (!memory) exit(9);
  return memory;
}

static void parse_many(char **words, int count_of_words) {
  int more = atoi(words[0]), count = atoi(words[1]);
  for (int i = 0; i < more; i++) {
    char *name = take(24);
    snprintf(name, 24, "another_%d", i);
    define(PD_TYPE_int32, name);
    free(name);
  }
  char **argv = take(((size_t)count + 2) * sizeof *argv);
  argv[0] = words[0];
  for (int i = 0; i < count; i++) argv[i + 1] = words[2 + i % (count_of_words - 2)];
  argv[count + 1] = NULL;
  parse(count + 1, argv);
  free(argv);
}

static void parse_long(char *program, size_t bytes) {
  char *word = take(bytes + 8), *argv[] = {program, word, NULL};
  memcpy(word, "--text=", 8);
  memset(word + 7, 'x', bytes);
  word[bytes + 7] = '\0';
  parse(2, argv);
  free(word);
}

int main(int argc, char **argv) {
  define(PD_TYPE_int32, "count");
  define(PD_TYPE_string, "text");
  define(PD_TYPE_bool, "on");
  if (argc > 1 && !strcmp(argv[1], "unprivileged")) {
    if (geteuid() == 0 && setuid(65534) != 0) return 9;
    argv++;
    argc--;
  } else if (argc > 1 && !strcmp(argv[1], "waiting")) {
    waiting = true;
    argv++;
    argc--;
  }
  if (argc > 2 && !strcmp(argv[1], "words")) {
    parse(argc - 1, argv + 1);
  } else if (argc > 4 && !strcmp(argv[1], "many")) {
    parse_many(argv + 2, argc - 2);
  } else if (argc > 2 && !strcmp(argv[1], "long")) {
    parse_long(argv[0], (size_t)atoll(argv[2]));
  } else {
    return 2;
  }
  return 0;
}
