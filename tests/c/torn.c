/* Readers of FLAGS_x look at every value while a writer sets it through the API, C and
 * C++ alike:
 *
 *   torn READS
 *
 * prints "READS reads, N torn". Each value has a form that a mixture of two, or text
 * that isn't written yet, would not have. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pd_flags.h>

#define READERS 2
#define TEXTS 16
#define LONGEST 48

PD_DEFINE_bool(torn_bool, false, "False or true");
PD_DEFINE_int32(torn_int32, 0, "Both halves of it are equal");
PD_DEFINE_uint32(torn_uint32, 0, "Both halves of it are equal");
PD_DEFINE_int64(torn_int64, 0, "Both halves of it are equal");
PD_DEFINE_uint64(torn_uint64, 0, "Both halves of it are equal");
PD_DEFINE_double(torn_double, 0, "Both halves of it are equal");
PD_DEFINE_string(torn_text, "a", "All letters of it are equal");

enum { FLAGS_READ = 7 }; /* in each round */

/* All flags are set as often at least, while they are read: a reader may be fast. */
#define LEAST_SETS 10000

typedef struct reader {
  pthread_t thread;
  uint64_t rounds;
  uint64_t torn;
} reader;

static int stop;
static uint32_t sets; /* of each flag */

static uint64_t bits_of(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static bool halves_differ(uint64_t value) { return value >> 32 != (value & 0xffffffff); }
static bool parts_differ(uint32_t value) { return value >> 16 != (value & 0xffff); }

static bool letters_differ(const char *text) {
  const char first = *text;
  size_t length = 0;
  while (text[length] == first) length++;
  return text[length] != '\0' || length == 0 || length > LONGEST;
}

static void *read_all(void *context) {
  reader *own = (reader *)context;
  uint64_t torn = 0, round = 0;
  for (; round < own->rounds || __atomic_load_n(&sets, __ATOMIC_RELAXED) < LEAST_SETS; round++) {
    const bool truth = FLAGS_torn_bool;
    unsigned char byte;
    memcpy(&byte, &truth, 1);
    torn += byte > 1;
    torn += parts_differ((uint32_t)(int32_t)FLAGS_torn_int32);
    torn += parts_differ(FLAGS_torn_uint32);
    torn += halves_differ((uint64_t)(int64_t)FLAGS_torn_int64);
    torn += halves_differ(FLAGS_torn_uint64);
    torn += halves_differ(bits_of(FLAGS_torn_double));
    torn += letters_differ(FLAGS_torn_text);
  }
  own->rounds = round;
  own->torn = torn;
  return NULL;
}

static pd_flag *find(const char *name) {
  pd_flag *flag;
  if (pd_flag_find(name, &flag, NULL) != PD_OK) abort();
  return flag;
}

static void *set_all(void *unused) {
  pd_flag *truth = find("torn_bool"), *i32 = find("torn_int32"), *u32 = find("torn_uint32");
  pd_flag *i64 = find("torn_int64"), *u64 = find("torn_uint64");
  pd_flag *f64 = find("torn_double"), *text = find("torn_text");
  for (uint32_t i = 0; !__atomic_load_n(&stop, __ATOMIC_ACQUIRE); i++) {
    const uint32_t half = i & 0x7fff;
    const uint64_t whole = (uint64_t)i << 32 | i;
    const uint64_t finite = whole & 0x7f7fffff7f7fffff;
    double number;
    char letters[LONGEST + 1] = "";
    memcpy(&number, &finite, sizeof number);
    memset(letters, 'a' + (int)(i % TEXTS), 1 + i % TEXTS * 3);
    pd_status status[] = {pd_flag_set_bool(truth, i & 1, NULL),
                          pd_flag_set_int32(i32, (int32_t)(half << 16 | half), NULL),
                          pd_flag_set_uint32(u32, half << 16 | half, NULL),
                          pd_flag_set_int64(i64, (int64_t)(whole & 0x7fffffff7fffffff), NULL),
                          pd_flag_set_uint64(u64, whole, NULL),
                          pd_flag_set_double(f64, number, NULL),
                          pd_flag_set_string(text, letters, NULL)};
    for (size_t k = 0; k < sizeof status / sizeof *status; k++) {
      if (status[k] != PD_OK) abort();
    }
    __atomic_store_n(&sets, i, __ATOMIC_RELAXED);
  }
  return unused;
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const uint64_t rounds = strtoull(argv[1], NULL, 10) / READERS / FLAGS_READ + 1;
  reader readers[READERS];
  pthread_t writer;
  uint64_t count = 0, torn = 0;
  if (pthread_create(&writer, NULL, set_all, NULL)) return 2;
  for (int i = 0; i < READERS; i++) {
    readers[i].rounds = rounds;
    if (pthread_create(&readers[i].thread, NULL, read_all, &readers[i])) return 2;
  }
  for (int i = 0; i < READERS; i++) {
    pthread_join(readers[i].thread, NULL);
    count += readers[i].rounds * FLAGS_READ;
    torn += readers[i].torn;
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
  pthread_join(writer, NULL);
  printf("%llu reads, %llu torn\n", (unsigned long long)count, (unsigned long long)torn);
  return torn != 0;
}
