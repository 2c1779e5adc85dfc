/* What every contestant does; work.c times it. Each is one source file, linked
 * with work.c into a program of its own. */
#ifndef BENCH_SUBJECT_H
#define BENCH_SUBJECT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Texts of `count` flags of type int, all distinct; they outlive everything. */
typedef struct bench_texts {
  size_t count;
  char **names; /* "sync_0003f1_queue" */
  char **helps;
  char **words; /* "--sync_0003f1_queue=17" */
} bench_texts;

/* Allot, and touch, what the compiler lays down for definitions in a source file;
 * neither its time nor its memory counts. */
void subject_prepare(const bench_texts *texts);

/* Define all flags. */
void subject_register(const bench_texts *texts);

/* What a flag's definition and texts take of the heap, where subject_register had to copy
 * them: they are no cost of the registry. */
size_t subject_copied(const bench_texts *texts);

/* Bytes that the compiler lays down for a flag, without its texts. */
size_t subject_definition(void);

/* Set a flag by its name from text. */
bool subject_set(const char *name, const char *text);

/* Read a command line; argv[argc] is NULL. */
bool subject_parse(int argc, char **argv);

/* Whether the flag at `index` has this value. */
bool subject_holds(const bench_texts *texts, size_t index, int value);

/* Read one flag `rounds` times, in a loop that stands alone so that its
 * instructions can be shown. */
void bench_read_int(size_t rounds);
void bench_read_string(size_t rounds);

/* The value arrives in a register, and every round reads it anew. */
#define BENCH_USE(value) __asm__ volatile("" : : "r"(value) : "memory")

#ifdef __cplusplus
}
#endif

#endif
