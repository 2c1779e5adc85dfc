/* The interface of every contestant; work.c times it. Each contestant is one source file, linked
 * with work.c into a program. */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts of `count` flags of type int, all distinct. They are never freed. */
typedef struct bench_texts {
  size_t count;
  char **names; /* "sync_0003f1_queue" */
  char **helps;
  char **words; /* "--sync_0003f1_queue=17" */
} bench_texts;

/* Allocates and touches what the compiler would emit for definitions in a source file. Neither its
 * time nor its memory counts. */
void subject_prepare(const bench_texts *texts);

/* Defines all flags. */
void subject_register(const bench_texts *texts);

/* Returns the bytes of heap for definitions and texts that subject_register had to copy: they
 * aren't the cost of the registry. */
size_t subject_copied(const bench_texts *texts);

/* Returns the bytes that the compiler emits for a flag, without its texts. */
size_t subject_definition(void);

/* Sets a flag by its name from text. Returns false on an error, as the others do. */
bool subject_set(const char *name, const char *text);

/* Parses a command line; argv[argc] is NULL. */
bool subject_parse(int argc, char **argv);

/* Returns true if the flag at `index` has this value. */
bool subject_holds(const bench_texts *texts, size_t index, int value);

/* Reads one flag `rounds` times, in a function of its own so that its instructions can be shown. */
void bench_read_int(size_t rounds);
void bench_read_string(size_t rounds);

/* Makes every round read the value anew, into a register. */
#define BENCH_USE(value) __asm__ volatile("" : : "r"(value) : "memory")

#ifdef __cplusplus
}
#endif

#endif
