/* Names and texts that somebody made so that their hashes are equal cost no more than others. The
 * hash of csrc/src/base/hash.h as it was without a key is the measure: blocks of 16 letters that
 * bring it from one state to the same next one, chosen one of two each time, give 2^n texts. */
#include "plugged.h"

#define BLOCKS 15 /* of 16 bytes: what fits in a name */
#define TEXTS 12000

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

static uint64_t state_of_random = 88172645463325252u;
static uint64_t next_random(void) {
  state_of_random ^= state_of_random << 13;
  state_of_random ^= state_of_random >> 7;
  state_of_random ^= state_of_random << 17;
  return state_of_random;
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789__";

static uint64_t random_word(void) {
  char bytes[8];
  uint64_t word, random = next_random();
  for (int i = 0; i < 8; i++) bytes[i] = letters[(random >> (8 * i)) % (i ? 64 : 52)];
  memcpy(&word, bytes, sizeof word);
  return word;
}

static bool is_inner(uint64_t word) {
  for (int i = 0; i < 8; i++, word >>= 8) {
    unsigned char c = (unsigned char)word;
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (!letter && !(c >= '0' && c <= '9') && c != '_') return false;
  }
  return true;
}

/* Two blocks that lead from `from` to mix(joint, 0). */
static uint64_t find_blocks(uint64_t from, char blocks[2][16]) {
  uint64_t joint = mix(from, random_word()) ^ random_word();
  for (int found = 0; found < 2;) {
    uint64_t first = random_word(), second = mix(from, first) ^ joint;
    if (!is_inner(second)) continue;
    if (found == 1 && !memcmp(blocks[0], &first, 8)) continue;
    memcpy(blocks[found], &first, 8);
    memcpy(blocks[found++] + 8, &second, 8);
  }
  return mix(joint, 0);
}

static char texts[TEXTS][BLOCKS * 16 + 1];

static void make_texts(bool crafted) {
  char blocks[BLOCKS][2][16];
  uint64_t at = BLOCKS * 16; /* the hash begins with the length */
  for (int i = 0; i < BLOCKS; i++) at = find_blocks(at, blocks[i]);
  for (int n = 0; n < TEXTS; n++) {
    for (int i = 0; i < BLOCKS; i++) memcpy(texts[n] + 16 * i, blocks[i][n >> i & 1], 16);
    for (int i = 0; !crafted && i < 2; i++) { /* of the same length, and as alike */
      uint64_t word = random_word();
      memcpy(texts[n] + 8 * i, &word, 8);
    }
  }
}

static double processor_time(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* What the processor does for the crafted ones, in units of what it does for others. Both are
 * measured in this run: only their ratio is looked at, which is in the hundreds where it isn't
 * about 1, or some more on a busy machine. */
static void check_alike(void (*act)(const char *text)) {
  double spent[2];
  begin();
  alarm(240);
  for (int crafted = 0; crafted < 2; crafted++) {
    make_texts(crafted);
    double start_time = processor_time();
    for (int i = 0; i < TEXTS; i++) act(texts[i]);
    spent[crafted] = processor_time() - start_time;
  }
  if (spent[1] > 50 * spent[0]) {
    check_fail(__FILE__, __LINE__, "crafted texts cost %.0f times what others do",
               spent[1] / spent[0]);
  }
}

TEST(the_crafted_texts_are_all_different_and_of_one_hash) {
  make_texts(true);
  CHECK(strcmp(texts[0], texts[1]) && strcmp(texts[0], texts[TEXTS - 1]));
  for (int n = 0; n < TEXTS; n++) {
    uint64_t hash = BLOCKS * 16;
    for (int i = 0; i < 2 * BLOCKS; i++) {
      uint64_t word;
      memcpy(&word, texts[n] + 8 * i, 8);
      hash = mix(hash, word);
    }
    static uint64_t first;
    if (n == 0) first = hash;
    CHECK(hash == first);
  }
}

static void define(const char *name) { define_flag(PD_TYPE_bool, name); }
TEST(names_of_flags_that_are_made_to_collide_cost_no_more_than_others) { check_alike(define); }

static void wait_for_name(const char *name) { CHECK_OK(pd_pending_set(name, "1", NULL, &err)); }
TEST(pending_names_that_are_made_to_collide_cost_no_more_than_others) {
  check_alike(wait_for_name);
}

static pd_flag *flag;
static void set_text(const char *text) { CHECK_OK(pd_flag_set_string(flag, text, &err)); }
TEST(texts_that_are_made_to_collide_cost_no_more_than_others) {
  flag = define_flag(PD_TYPE_string, "text");
  check_alike(set_text);
}

static pd_config *config;
static void collect(const char *name) {
  CHECK_OK(pd_config_add(config, name, "1", 0, &(pd_origin){.source = PD_SOURCE_FILE}, &err));
}
TEST(names_in_files_that_are_made_to_collide_cost_no_more_than_others) {
  config = new_config();
  check_alike(collect);
}

static void excuse(const char *name) {
  char argument[300];
  snprintf(argument, sizeof argument, "--undefok=%s", name);
  CHECK_OK(parse_line(argument, NULL));
}
TEST(excused_names_that_are_made_to_collide_cost_no_more_than_others) { check_alike(excuse); }
