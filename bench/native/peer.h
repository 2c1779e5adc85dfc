/* Code shared by the peers' sources. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <sys/mman.h>

#include <cstring>
#include <string>

#include "subject.h"

/* Allocates zeroed memory for `count` objects outside the heap, with all pages touched. */
template <typename T>
T *outside_heap(size_t count) {
  void *at =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : static_cast<T *>(std::memset(at, 0, count * sizeof(T)));
}

/* The peers keep the pointers that they are passed, and copy nothing. */
size_t subject_copied(const bench_texts *) { return 0; }

/* Reads an int, and a string as the library returns it, which may be a copy. */
#define BENCH_READS(read_int, read_string)                                                         \
  void bench_read_int(size_t rounds) {                                                             \
    for (size_t i = 0; i < rounds; i++) BENCH_USE(read_int);                                       \
  }                                                                                                \
  void bench_read_string(size_t rounds) {                                                          \
    for (size_t i = 0; i < rounds; i++) {                                                          \
      std::string value = (read_string);                                                           \
      BENCH_USE(value.data());                                                                     \
    }                                                                                              \
  }

#endif
