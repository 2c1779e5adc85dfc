/* What the fuzz targets share: a reader of the fuzzer's bytes, a registry of varied
 * flags, and the check that an error has changed none of them. */
#ifndef FUZZ_H
#define FUZZ_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PD_NO_MODULE_RECORD
#include <pd_flags.h>

/* Longer inputs find nothing that shorter ones don't. */
#define FUZZ_MOST 2048

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold. The sanitizers show where it didn't, the fuzzer with which bytes. */
#define REQUIRE(condition)                                                                         \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "%s:%d: doesn't hold: %s\n", __FILE__, __LINE__, #condition);                \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* ---- Reading ---- */

typedef struct fuzz_bytes {
  const uint8_t *at, *end;
} fuzz_bytes;

static inline uint8_t fuzz_byte(fuzz_bytes *in) { return in->at < in->end ? *in->at++ : 0; }

/* The bytes up to the next `separator` or the end, as text of malloc's: what overruns
 * it is found. A NUL ends text for everybody. */
static inline char *fuzz_text(fuzz_bytes *in, char separator) {
  size_t left = (size_t)(in->end - in->at);
  const uint8_t *found = left ? memchr(in->at, separator, left) : NULL;
  size_t length = found ? (size_t)(found - in->at) : left;
  char *text = malloc(length + 1);
  if (length) memcpy(text, in->at, length);
  text[length] = '\0';
  in->at += length + (found != NULL);
  return text;
}

/* Files live in memory, at names that inputs can hold. */
#define FUZZ_FILES "/dev/fd/6" /* and 0 to 3 behind it */

static inline int fuzz_file(int number) {
  int made = memfd_create("flags", 0), file = dup2(made, 60 + number);
  REQUIRE(made >= 0 && file >= 0 && close(made) == 0);
  return file;
}

static inline void fuzz_write(int file, const void *bytes, size_t size) {
  REQUIRE(ftruncate(file, 0) == 0 && pwrite(file, bytes, size, 0) == (ssize_t)size);
}

/* ---- Flags ---- */

/* X(name, type, what is set in its definition besides) */
#define FUZZ_FLAGS(X)                                                                              \
  X(b, bool, )                                                                                     \
  X(i, int32, )                                                                                    \
  X(u, uint32, )                                                                                   \
  X(l, int64, )                                                                                    \
  X(ul, uint64, )                                                                                  \
  X(d, double, )                                                                                   \
  X(s, string, )                                                                                   \
  X(i_range, int32, def.default_value.i64 = def.min.i64 = -5; def.max.i64 = 4096;)                 \
  X(u_range, uint64, def.max.u64 = 7; def.aliases = "u_alias|U";)                                  \
  X(d_range, double, def.min.f64 = -1.5; def.max.f64 = 1e300;)                                     \
  X(i_choice, int32, def.choices = "0|0x10|-3";)                                                   \
  X(d_choice, double, def.choices = "0|0.5|inf";)                                                  \
  X(s_choice, string, def.default_value.str = "fast"; def.choices = "fast|best||a,b";)             \
  X(bytes, uint64, def.unit = "bytes";)                                                            \
  X(bytes32, int32, def.unit = "bytes"; def.max.i64 = 1 << 20;)                                    \
  X(bytes_real, double, def.unit = "bytes";)                                                       \
  X(time, double, def.unit = "seconds";)                                                           \
  X(time_whole, int64, def.unit = "seconds"; def.choices = "0|90|1h30m";)                          \
  X(list, string, def.list = PD_TYPE_string;)                                                      \
  X(list_b, string, def.list = PD_TYPE_bool;)                                                      \
  X(list_i, string, def.list = PD_TYPE_int32;)                                                     \
  X(list_ul, string, def.list = PD_TYPE_uint64;)                                                   \
  X(list_d, string, def.list = PD_TYPE_double;)                                                    \
  X(list_choice, string, def.list = PD_TYPE_string; def.choices = "fast|best|\"";)                 \
  X(hidden, bool, def.hidden = true; def.old_names = "veiled";)                                    \
  X(secret, string, def.sensitive = true; def.aliases = "S";)                                      \
  X(fixed, int32, def.read_only = true;)                                                           \
  X(early, int32, def.startup_only = true;)                                                        \
  X(old, double, def.deprecated = "use 'd'";)                                                      \
  X(gone, string, def.retired = "nobody needs it";)                                                \
  X(space.name, int32, def.old_names = "space.old";)                                               \
  X(run, int32, def.runtime = true;)                                                               \
  X(danger, int32, def.runtime = def.unsafe = true;)

#define FUZZ_COUNT(name, type, more) +1
enum { FUZZ_FLAG_COUNT = 0 FUZZ_FLAGS(FUZZ_COUNT) };

static pd_flag *fuzz_flags[FUZZ_FLAG_COUNT];

static inline void fuzz_define(void) {
  pd_flag_def def;
  size_t count = 0;
#define FUZZ_DEFINE(flag_name, flag_type, more)                                                    \
  pd_flag_def_init(&def, sizeof def, PD_TYPE_##flag_type);                                         \
  def.name = #flag_name;                                                                           \
  def.help = "A flag of the fuzzer";                                                               \
  more REQUIRE(pd_flag_register(&def, &fuzz_flags[count++], NULL) == PD_OK);
  FUZZ_FLAGS(FUZZ_DEFINE)
}

/* ---- States ---- */

typedef struct fuzz_state {
  const char *text[FUZZ_FLAG_COUNT]; /* of malloc's */
  pd_source source[FUZZ_FLAG_COUNT];
} fuzz_state;

static inline char *fuzz_value(const pd_flag *flag) {
  size_t length;
  REQUIRE(pd_flag_get_text(flag, NULL, 0, &length, NULL) == PD_OK);
  char *text = malloc(length + 1);
  REQUIRE(pd_flag_get_text(flag, text, length + 1, NULL, NULL) == PD_OK);
  REQUIRE(strlen(text) == length);
  return text;
}

static inline fuzz_state fuzz_take(void) {
  fuzz_state state;
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    pd_flag_entry entry = {.size = sizeof entry};
    REQUIRE(pd_flag_get_entry(fuzz_flags[i], 0, &entry, NULL) == PD_OK);
    state.source[i] = entry.origin.source;
    state.text[i] = fuzz_value(fuzz_flags[i]);
  }
  return state;
}

static inline bool fuzz_same(const fuzz_state *a, const fuzz_state *b) {
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    if (a->source[i] == b->source[i] && !strcmp(a->text[i], b->text[i])) continue;
    fprintf(stderr, "flag %zu: '%s' of %s, then '%s' of %s\n", i, a->text[i],
            pd_source_name(a->source[i]), b->text[i], pd_source_name(b->source[i]));
    return false;
  }
  return true;
}

static inline void fuzz_drop(fuzz_state *state) {
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) free((char *)state->text[i]);
}

static inline bool fuzz_unchanged(const fuzz_state *before) {
  fuzz_state now = fuzz_take();
  bool same = fuzz_same(before, &now);
  fuzz_drop(&now);
  return same;
}

static inline void fuzz_reset(void) {
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) pd_flag_reset(fuzz_flags[i], NULL);
}

/* The text of every value is read back as the same value. */
static inline void fuzz_read_back(void) {
  for (size_t i = 0; i < FUZZ_FLAG_COUNT; i++) {
    pd_flag_info info = {.size = sizeof info};
    REQUIRE(pd_flag_get_info(fuzz_flags[i], &info, NULL) == PD_OK);
    if (info.source == PD_SOURCE_DEFAULT || info.frozen) continue;
    char *text = fuzz_value(fuzz_flags[i]);
    REQUIRE(pd_flag_set_from_string(fuzz_flags[i], text, NULL) == PD_OK);
    char *again = fuzz_value(fuzz_flags[i]);
    REQUIRE(!strcmp(text, again));
    free(text);
    free(again);
  }
}

/* ---- Errors ---- */

/* One line that can be shown at a terminal. */
static inline void fuzz_check_message(const pd_error *err, pd_status status) {
  REQUIRE(err->status == status && *err->message);
  REQUIRE(memchr(err->message, '\0', sizeof err->message) != NULL);
  for (const char *c = err->message; *c; c++) REQUIRE((unsigned char)*c >= ' ' && *c != 0x7f);
}

/* The errors of an operation: the first tells its status. */
static inline void fuzz_check_errors(pd_status status, const pd_error_list *errors,
                                     const pd_error *err) {
  size_t count = pd_error_list_count(errors);
  if (status == PD_OK) {
    REQUIRE(count == 0);
    return;
  }
  fuzz_check_message(err, status);
  for (size_t i = 0; i < count; i++) {
    const pd_error *each = pd_error_list_at(errors, i);
    fuzz_check_message(each, each->status);
  }
  REQUIRE(status == PD_HELP || count > 0);
  REQUIRE(status == PD_HELP || pd_error_list_at(errors, 0)->status == status);
}

#endif /* FUZZ_H */
