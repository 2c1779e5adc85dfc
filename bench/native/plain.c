/* Plain global variables: what a read costs without any flag library. */
#include "subject.h"

int plain_int = 3;
const char *plain_string = "fast";

void bench_read_int(size_t rounds) {
  for (size_t i = 0; i < rounds; i++) BENCH_USE(plain_int);
}

void bench_read_string(size_t rounds) {
  for (size_t i = 0; i < rounds; i++) BENCH_USE(plain_string);
}

/* The other kinds of work need a library. */
void subject_prepare(const bench_texts *texts) { (void)texts; }
void subject_register(const bench_texts *texts) { (void)texts; }

size_t subject_copied(const bench_texts *texts) {
  (void)texts;
  return 0;
}

size_t subject_definition(void) { return 0; }
bool subject_set(const char *name, const char *text) { return name && text && false; }
bool subject_parse(int argc, char **argv) { return argc && argv && false; }

bool subject_holds(const bench_texts *texts, size_t index, int value) {
  (void)texts, (void)index, (void)value;
  return false;
}
