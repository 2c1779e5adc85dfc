/* Readers of a string flag while another thread sets it, or sets the flag that is defined next to
 * it: the same measurement for every library. An including file defines LIBRARY, a name, before it,
 * and after it
 *
 *   read_it            reads the flag and returns ends_of its text
 *
 *   set_it, set_next   set the flag, or its neighbour
 *
 * The program prints a line of JSON for each case:
 *
 *   program [MILLISECONDS [RUNS]]
 *
 * Reads are counted per processor time of the readers, so that the number of processors hardly
 * matters. */
#ifndef THREADS_H
#define THREADS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TEXT_SIZE 32 /* longer than the text that std::string stores inline */
#define LETTERS 16   /* different texts */
#define MOST_READERS 4
#define MOST_RUNS 99

static unsigned read_it(void);
static void set_it(const char *text);
static void set_next(const char *text);

/* Each worker writes to a cache line of its own, followed by an empty one. */
typedef struct worker {
  pthread_t thread;
  uint64_t count;
  uint64_t wrong;
  double seconds; /* of processor time */
  char apart[96];
} worker;

static struct {
  char before[64];
  int go, stop;
  char behind[64];
} signs;

static int load(const int *sign) { return __atomic_load_n(sign, __ATOMIC_ACQUIRE); }
static void store(int *sign, int value) { __atomic_store_n(sign, value, __ATOMIC_RELEASE); }

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* One loop for all cases: its address alone may make it twice as fast. */
static void *run_reader(void *context) {
  worker *own = (worker *)context;
  uint64_t count = 0, wrong = 0;
  while (!load(&signs.go)) {
  }
  double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
  for (; !load(&signs.stop); count += 256) {
    for (int i = 0; i < 256; i++) {
      unsigned seen = read_it();
      wrong += (seen >> 8) != (seen & 255);
    }
  }
  own->seconds = seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
  own->count = count;
  own->wrong = wrong;
  return NULL;
}

typedef void (*setter)(const char *text);

static void run_writer(worker *own, setter set) {
  char texts[LETTERS][TEXT_SIZE + 1];
  memset(texts, 0, sizeof texts);
  for (int i = 0; i < LETTERS; i++) memset(texts[i], 'a' + i, TEXT_SIZE);
  while (!load(&signs.go)) {
  }
  for (; !load(&signs.stop); own->count++) set(texts[own->count % LETTERS]);
}

static void *run_it(void *context) {
  run_writer((worker *)context, set_it);
  return NULL;
}

static void *run_next(void *context) {
  run_writer((worker *)context, set_next);
  return NULL;
}

static unsigned ends_of(const char *text) {
  return (unsigned)(unsigned char)text[0] << 8 | (unsigned char)text[TEXT_SIZE - 1];
}

/* ---- Cases ---- */

typedef struct result {
  double reads;   /* per second of a reader's processor time */
  double sets;    /* per second */
  uint64_t count; /* of all reads */
  uint64_t wrong;
} result;

typedef struct test_case {
  const char *name;
  void *(*writer)(void *);
  int readers;
  result runs[MOST_RUNS];
} test_case;

static worker workers[MOST_READERS + 1];

static void measure(test_case *one, long milliseconds, result *out) {
  struct timespec pause = {milliseconds / 1000, milliseconds % 1000 * 1000000};
  uint64_t reads = 0;
  double cpu = 0;
  memset(workers, 0, sizeof workers);
  store(&signs.go, 0);
  store(&signs.stop, 0);
  for (int i = 0; i < one->readers; i++) {
    pthread_create(&workers[i].thread, NULL, run_reader, &workers[i]);
  }
  worker *writer = &workers[one->readers];
  if (one->writer) pthread_create(&writer->thread, NULL, one->writer, writer);
  double start = seconds_of(CLOCK_MONOTONIC);
  store(&signs.go, 1);
  nanosleep(&pause, NULL);
  store(&signs.stop, 1);
  double wall = seconds_of(CLOCK_MONOTONIC) - start;
  for (int i = 0; i < one->readers + (one->writer != NULL); i++) {
    pthread_join(workers[i].thread, NULL);
    if (i == one->readers) continue;
    reads += workers[i].count;
    cpu += workers[i].seconds;
    out->wrong += workers[i].wrong;
  }
  out->count = reads;
  out->reads = (double)reads / cpu * one->readers;
  out->sets = (double)writer->count / wall;
}

static int compare(const void *a, const void *b) {
  double left = ((const result *)a)->reads, right = ((const result *)b)->reads;
  return (left > right) - (left < right);
}

static void print(test_case *one, int runs) {
  uint64_t count = 0, wrong = 0;
  for (int i = 0; i < runs; i++) {
    count += one->runs[i].count;
    wrong += one->runs[i].wrong;
  }
  qsort(one->runs, (size_t)runs, sizeof *one->runs, compare);
  const result *median = &one->runs[runs / 2];
  printf("{\"library\": \"%s\", \"case\": \"%s\", \"readers\": %d, \"reads_per_s\": %.0f, "
         "\"lowest\": %.0f, \"highest\": %.0f, \"sets_per_s\": %.0f, ",
         LIBRARY, one->name, one->readers, median->reads, one->runs[0].reads,
         one->runs[runs - 1].reads, median->sets);
  printf("\"reads\": %llu, \"torn\": %llu}\n", (unsigned long long)count,
         (unsigned long long)wrong);
}

int main(int argc, char **argv) {
  long milliseconds = argc > 1 ? atol(argv[1]) : 50;
  int runs = argc > 2 ? atoi(argv[2]) : 7;
  static test_case cases[] = {
#define CASES(readers)                                                                             \
  {"no writer", NULL, readers, {}}, {"writer of this flag", run_it, readers, {}}, {                \
    "writer of the flag beside", run_next, readers, {}                                             \
  }
      CASES(1), CASES(2), CASES(4)};
  int count = (int)(sizeof cases / sizeof *cases);
  if (milliseconds < 1 || runs < 1 || runs > MOST_RUNS) return 2;
  for (int run = 0; run < runs; run++) {
    for (int i = 0; i < count; i++) measure(&cases[i], milliseconds, &cases[i].runs[run]);
  }
  for (int i = 0; i < count; i++) print(&cases[i], runs);
  return 0;
}

#endif /* THREADS_H */
