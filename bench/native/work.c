/* Measures one contestant once, in a process of its own:
 *
 *     work register|set|parse|parse-random COUNT
 *     work read-int|read-string ROUNDS
 *
 * Prints one line of JSON: nanoseconds per flag, argument or read, and for `register` the bytes of
 * heap and of resident memory per flag. */
#define _GNU_SOURCE
#include "subject.h"

#include <inttypes.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define SETS_AT_LEAST 100000
enum { NAME_ROOM = 24, HELP_ROOM = 48, WORD_ROOM = 32 };

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

/* Processor time of this thread, user and system: other processes don't count. */
static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

/* Subtracts the time of reading the clock, which is that of a few flags. */
static double since_ns(double begin) {
  double end = now_ns(), shortest = 1e9;
  for (int i = 0; i < 100; i++) {
    double again = now_ns(), taken = now_ns() - again;
    if (taken < shortest) shortest = taken;
  }
  return end - begin > shortest ? end - begin - shortest : 0;
}

/* Memory outside the heap, touched, so that neither its growth nor its page faults count. */
static void *outside_heap(size_t size) {
  void *at = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) fail("out of memory");
  return memset(at, 0, size + 1);
}

/* A bijection on 24 bits, so that the names are in no particular order. */
static uint32_t mixed(size_t index) {
  uint32_t bits = (uint32_t)index;
  bits = (bits * 0x9E3779u) & 0xFFFFFF;
  bits ^= bits >> 11;
  return (bits * 0x85EBCBu) & 0xFFFFFF;
}

static bench_texts make_texts(size_t count) {
  static const char *const firsts[] = {"sync", "check", "gpu", "allocator"};
  static const char *const lasts[] = {"queue", "mode", "limit", "threads"};
  bench_texts texts = {.count = count};
  texts.names = outside_heap((count + 1) * sizeof(char *));
  texts.helps = outside_heap((count + 1) * sizeof(char *));
  texts.words = outside_heap((count + 2) * sizeof(char *));
  char *room = outside_heap(count * (NAME_ROOM + HELP_ROOM + WORD_ROOM));
  for (size_t i = 0; i < count; i++) {
    uint32_t bits = mixed(i);
    texts.names[i] = room;
    texts.helps[i] = room + NAME_ROOM;
    texts.words[i] = room + NAME_ROOM + HELP_ROOM;
    room += NAME_ROOM + HELP_ROOM + WORD_ROOM;
    snprintf(texts.names[i], NAME_ROOM, "%s_%06" PRIx32 "_%s", firsts[bits % 4], bits,
             lasts[bits / 4 % 4]);
    snprintf(texts.helps[i], HELP_ROOM, "What %s is for", texts.names[i]);
    snprintf(texts.words[i], WORD_ROOM, "--%s=17", texts.names[i]);
  }
  return texts;
}

static void shuffle(char **items, size_t count) {
  uint64_t state = 88172645463325252u;
  for (size_t i = count; i > 1; i--) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    size_t other = state % i;
    char *kept = items[i - 1];
    items[i - 1] = items[other];
    items[other] = kept;
  }
}

typedef struct memory {
  size_t used;     /* from malloc, and mapped by others */
  size_t resident; /* of the whole process */
} memory;

/* Reads /proc/self/statm, in pages: size, resident, shared, text, library, data. */
static memory memory_now(void) {
  struct mallinfo2 info = mallinfo2();
  size_t resident, data, page = (size_t)sysconf(_SC_PAGESIZE);
  FILE *file = fopen("/proc/self/statm", "r");
  if (!file || fscanf(file, "%*u %zu %*u %*u %*u %zu", &resident, &data) != 2) {
    fail("/proc/self/statm can't be read");
  }
  fclose(file);
  size_t mapped = data * page - info.arena - info.hblkhd;
  return (memory){info.uordblks + info.hblkhd + mapped, resident * page};
}

static void see_that_all_hold(const bench_texts *texts, int value) {
  for (size_t i = 0; i < texts->count; i++) {
    if (!subject_holds(texts, i, value)) fail("a flag has another value than it was given");
  }
}

/* Returns the growth since `before` per flag, without the definitions themselves. */
static double growth(size_t now, size_t before, const bench_texts *texts) {
  return ((double)now - (double)before - (double)subject_copied(texts)) / (double)texts->count;
}

static void set_all(const bench_texts *texts, char *const *names, const char *value) {
  for (size_t i = 0; i < texts->count; i++) {
    if (!subject_set(names[i], value)) fail("a flag can't be set");
  }
}

/* Parses an empty command line before it counts memory: some libraries do work there that others do
 * in each definition. */
static void do_register(const bench_texts *texts) {
  char *argv[] = {(char[]){"program"}, NULL};
  memory before = memory_now();
  double begin = now_ns();
  subject_register(texts);
  double taken = since_ns(begin);
  if (!subject_parse(1, argv)) fail("an empty command line was refused");
  memory registered = memory_now();
  set_all(texts, texts->names, "17");
  memory set = memory_now();
  printf("{\"ns\": %.2f, \"heap\": %.1f, ", taken / (double)texts->count,
         growth(registered.used, before.used, texts));
  printf("\"resident\": %.1f, ", growth(registered.resident, before.resident, texts));
  printf("\"heap_set\": %.1f, ", growth(set.used, before.used, texts));
  printf("\"definition\": %zu}\n", subject_definition());
}

/* Few flags are set many times over, as in a long-running process. */
static void do_set(const bench_texts *texts) {
  size_t passes = texts->count < SETS_AT_LEAST ? SETS_AT_LEAST / texts->count : 1;
  char value[] = "10";
  subject_register(texts);
  char **names = outside_heap(texts->count * sizeof *names);
  memcpy(names, texts->names, texts->count * sizeof *names);
  shuffle(names, texts->count);
  double begin = now_ns();
  for (size_t pass = 0; pass < passes; pass++) {
    value[1] = (char)('0' + pass % 10);
    set_all(texts, names, value);
  }
  double taken = since_ns(begin);
  see_that_all_hold(texts, 10 + (int)((passes - 1) % 10));
  printf("{\"ns\": %.2f}\n", taken / (double)(passes * texts->count));
}

/* A process parses its command line once, so the first time counts. */
static void do_parse(const bench_texts *texts, bool in_order) {
  subject_register(texts);
  char **argv = outside_heap((texts->count + 2) * sizeof *argv);
  argv[0] = (char[]){"program"};
  memcpy(argv + 1, texts->words, texts->count * sizeof *argv);
  if (!in_order) shuffle(argv + 1, texts->count);
  double begin = now_ns();
  if (!subject_parse((int)texts->count + 1, argv)) fail("the command line was refused");
  double taken = since_ns(begin);
  see_that_all_hold(texts, 17);
  printf("{\"ns\": %.2f}\n", taken / (double)texts->count);
}

static void do_read(size_t rounds, bool string) {
  double begin = now_ns();
  if (string) {
    bench_read_string(rounds);
  } else {
    bench_read_int(rounds);
  }
  double taken = since_ns(begin);
  printf("{\"ns\": %.4f}\n", taken / (double)rounds);
}

int main(int argc, char **argv) {
  if (argc != 3) fail("usage: work WHAT COUNT");
  const char *what = argv[1];
  size_t count = strtoul(argv[2], NULL, 10);
  if (strncmp(what, "read-", 5) == 0) {
    do_read(count, strcmp(what, "read-string") == 0);
    return 0;
  }
  bench_texts texts = make_texts(count);
  subject_prepare(&texts);
  if (strcmp(what, "register") == 0) {
    do_register(&texts);
  } else if (strcmp(what, "set") == 0) {
    do_set(&texts);
  } else if (strncmp(what, "parse", 5) == 0) {
    do_parse(&texts, strcmp(what, "parse") == 0);
  } else {
    fail("no such work");
  }
  return 0;
}
