/* Command lines: three bytes choose the options, the rest are words with NULs between.
 * After an error nothing has changed; after success the line has the words that it had,
 * and every value is read back from its text. */
#include "fuzz.h"
#include "registry/registry.h"

#define WORDS_MOST 64

static unsigned told;

static bool refuse(const pd_flag_entry *const *entries, void *context, char *why, size_t size) {
  (void)context;
  if (entries[0]->value.i64 <= entries[1]->value.i64) return true;
  snprintf(why, size, "expected i <= l");
  return false;
}

/* It gives another flag a value as it is told of one. */
static void watch(pd_flag *flag, void *context) {
  told++;
  if (flag != context) pd_flag_set_int64(context, (int64_t)(told % 100), NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  fuzz_define();
  pd_flag *pair[] = {fuzz_flags[7], fuzz_flags[10]}; /* i_range, i_choice */
  REQUIRE(pd_validator_add(pair, 2, refuse, NULL, NULL, NULL, NULL) == PD_OK);
  REQUIRE(pd_watcher_add(fuzz_flags[2], watch, fuzz_flags[3], NULL, NULL, NULL) == PD_OK);
  setenv("FZ_i", "12", 1);
  setenv("FZ_d", "1e400", 1);
  setenv("FZ_s", "a b", 1);
  setenv("FLAGS_l", "-1", 1);
  setenv("FLAGS_fromenv", "fromenv", 1);
  setenv("FLAGS_undefok", "x,y", 1);
  static const char text[] = "--b\n--i=3\n--x=1\n";
  fuzz_write(fuzz_file(0), text, sizeof text - 1);
  return 0;
}

typedef struct line {
  int argc;
  char *words[WORDS_MOST + 1], *argv[WORDS_MOST + 1];
} line;

static void read_line(fuzz_bytes *in, line *made) {
  for (made->argc = 0; made->argc < WORDS_MOST && in->at < in->end; made->argc++) {
    made->words[made->argc] = made->argv[made->argc] = fuzz_text(in, '\0');
  }
  made->words[made->argc] = made->argv[made->argc] = NULL;
}

static void check_line(const line *now, int argc, uint8_t arrange, pd_status status, int first) {
  bool left = status != PD_OK || arrange == PD_ARRANGE_LEAVE;
  REQUIRE(left ? argc == now->argc : argc <= now->argc);
  if (left) REQUIRE(!memcmp(now->words, now->argv, sizeof *now->argv * (size_t)(argc + 1)));
  if (status == PD_OK && arrange == PD_ARRANGE_REORDER) REQUIRE(argc == now->argc);
  if (!left && argc > 0) REQUIRE(first >= 1 && first <= argc);
  REQUIRE(!now->argv[argc]);
  for (int i = 0; i < argc; i++) { /* each word once; the arguments in their order */
    int at = 0;
    while (at < now->argc && now->words[at] != now->argv[i]) at++;
    REQUIRE(at < now->argc);
    for (int j = i + 1; j < argc; j++) REQUIRE(now->argv[i] != now->argv[j]);
  }
}

/* What nobody claims is kept for good: a thousand of them are enough. */
static bool may_wait(void) {
  pd_pending_info info = {.size = sizeof info};
  return pd_pending_get(1000, &info, NULL) != PD_OK;
}

static pd_parse_options options_of(fuzz_bytes *in, pd_help *help, int *first) {
  uint8_t bits = fuzz_byte(in), values = fuzz_byte(in);
  pd_parse_options options = {.size = sizeof options};
  options.arrange = bits & 3;
  options.stop_at_argument = bits & 4;
  options.keep_startup = bits & 8;
  options.allow_pending = (bits & 16) && may_wait();
  options.env_prefix = bits & 32 ? "FZ_" : NULL;
  options.help = bits & 64 ? help : NULL;
  options.first = first;
  if (!(values & 1)) return options;
  pd_config *config;
  REQUIRE(pd_config_new(PD_SOURCE_FILE, &config, NULL) == PD_OK);
  pd_config_add(config, "i", values & 2 ? "77" : "x", 0, NULL, NULL);
  pd_config_add(config, values & 4 ? "list" : "s", "1,2", values & 8 ? PD_TYPE_string : 0, NULL,
                NULL);
  if (values & 16) pd_config_add(config, "unheard", "1", 0, NULL, NULL);
  options.config = config;
  return options;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  pd_error err;
  pd_help help = {.size = sizeof help};
  line now;
  int first = 0;
  pd_parse_options options = options_of(&in, &help, &first);
  options.errors = pd_error_list_new();
  read_line(&in, &now);
  fuzz_state before = fuzz_take();
  int argc = now.argc;
  pd_status status = pd_parse_argv(&argc, now.argv, &options, &err);
  if (status != PD_OK) REQUIRE(fuzz_unchanged(&before));
  if (options.arrange <= PD_ARRANGE_REORDER) {
    fuzz_check_errors(status, options.errors, &err);
    check_line(&now, argc, options.arrange, status, first);
  }
  if (status == PD_OK) fuzz_read_back();
  pd__startup_over = false;
  pd_environment_enable(NULL, NULL, NULL);
  fuzz_reset();
  fuzz_drop(&before);
  for (int i = 0; i < now.argc; i++) free(now.words[i]);
  pd_error_list_free(options.errors);
  pd_config_free((pd_config *)options.config);
  return 0;
}
