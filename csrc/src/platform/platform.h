/* Everything that depends on the operating system: locks, images, files, the environment. Each
 * system has one implementation; no other code checks which system it runs on. This layer may use
 * base. */
#ifndef PD__PLATFORM_H
#define PD__PLATFORM_H

#include "../base/arena.h"
#include "../base/error.h"

/* The registry's lock, which guards all of its state. Not recursive. fork acquires it, so that it
 * is free in the child; the thread that forks may acquire it once more, in the handlers of others.
 * While you hold it, don't call into the loader (dlopen, dlclose, dladdr, walking images): the lock
 * order is Python's GIL, the loader's locks, this lock. */
void pd__platform_lock(void);
void pd__platform_unlock(void);

/* A fork of this thread, whose lock may be released meanwhile. */
typedef struct pd__fork_state {
  bool released;   /* false: this thread isn't forking */
  bool in_child;   /* the registry has become that of the child */
  unsigned nested; /* forks of its handlers */
  int64_t process;
} pd__fork_state;

/* Enclose a call of the loader or of a callback. If a handler of fork needs it, fork releases the
 * lock meanwhile: the call may wait for threads that need the lock. The caller must not hold the
 * lock. */
void pd__platform_release_fork_lock(pd__fork_state *out);
void pd__platform_reacquire_fork_lock(const pd__fork_state *released);

/* A loaded image: the program or a shared library. */
typedef struct pd__platform_image {
  const char *path; /* as the loader knows it; borrowed, valid during the call */
  uintptr_t low;    /* first address */
  uintptr_t high;   /* one past its last */
  bool stays;       /* known never to be unloaded: the program, loaded at startup, or linked so */
  void *record;     /* the record being visited, or NULL */
  struct pd__platform_image *next; /* the next in a list of copies */
} pd__platform_image;

/* What to visit: images only, the records of modules, or the records of copies of the registry. */
typedef enum pd__records {
  PD__NO_RECORDS,
  PD__RECORDS_OF_MODULES = PD_NOTE_MODULE,
  PD__RECORDS_OF_COPIES = PD_NOTE_COPY
} pd__records;

/* The sizes of the first versions of records. A longer record states its own size. */
#define PD__SMALLEST_RECORD (offsetof(pd_module_record, state) + sizeof(void *))

static inline size_t pd__record_min_size(pd__records kind) {
  return kind == PD__RECORDS_OF_MODULES ? PD__SMALLEST_RECORD : PD_COPY_RECORD_LEAST;
}

/* Calls `visit` for each record of that kind in the image that contains `inside`, or in every image
 * if that is NULL. Only records that lie completely in writable memory of their image are visited.
 * No image is unloaded during the walk, so `visit` must not take a lock or call the loader. fork
 * waits until the walk is over. */
typedef void pd__visitor(const pd__platform_image *image, void *context);
void pd__platform_visit_records(pd__records kind, const void *inside, pd__visitor *visit,
                                void *context);

/* Returns a copy of the image that contains `address` and has records of that kind; the caller
 * frees it with free(). NULL if there is none or memory runs out. */
pd__platform_image *pd__platform_find_image(pd__records kind, const void *address);

/* Copies an image and its path; the caller frees it with free(). NULL if memory runs out. */
pd__platform_image *pd__platform_copy_image(const pd__platform_image *image);

/* Keeps the image with that path loaded, if it is still the one between these addresses. Returns a
 * reference for pd__platform_close_library, or NULL if the image has been or is being unloaded.
 * Preserves errno. */
void *pd__platform_retain_image(const char *path, uintptr_t low, uintptr_t high);

/* Opens a shared library with local symbols, all bound immediately. *inside is an address in its
 * image. Set *handle to NULL before the call: if it isn't NULL afterwards, close it, even after an
 * error. */
pd_status pd__platform_open_library(const char *path, void **handle, const void **inside,
                                    pd_error *err);
void pd__platform_close_library(void *handle);

/* Returns NULL if the variable isn't set, and always in a setuid or setgid process. The caller
 * holds the registry's lock. The text is borrowed; it may change when the program changes the
 * variable. */
const char *pd__platform_getenv(const char *variable);

/* Returns a copy of all variables, as "NAME=value", each ended by a NUL, up to an empty one; the
 * caller frees it, and keeps others from changing them meanwhile. NULL if memory is out, and in a
 * setuid or setgid process. */
char *pd__platform_copy_environment(void);

/* Compares the first bytes of two variables' names. On Windows, letters have no case there. */
bool pd__platform_is_same_variable(const char *a, const char *b, size_t length);

/* Reads a regular file of at most `most` bytes into the arena without ever waiting for a writer.
 * *out is NUL-terminated. Returns what is wrong, or NULL on success; check the arena for out of
 * memory. */
#define PD__TOO_BIG "is too big, files may have 64 MiB together"
const char *pd__platform_read_file(pd__arena *arena, const char *path, size_t most, char **out,
                                   size_t *length);

/* Fills `out`, of at most 256 bytes, with unpredictable bytes. Returns false, without waiting, if
 * the system has none yet. */
bool pd__platform_fill_random(void *out, size_t size);

/* strtod in the C locale. `text` must be a valid number. */
double pd__platform_strtod(const char *text);

/* Calls `function` with `argument`, which isn't NULL, when this thread ends; again at each later
 * call for the same thread, with its argument instead. There is one function. Call this with the
 * registry's lock held. Returns false if memory runs out. */
bool pd__platform_at_thread_exit(void (*function)(void *argument), void *argument);

/* Returns the argument that this thread will pass to that function; NULL if it won't call it. Also
 * in a signal handler: this needs neither a lock nor memory. */
void *pd__platform_get_exit_argument(void);

/* Milliseconds since 1970. */
int64_t pd__platform_get_wall_ms(void);

/* Returns a number of this thread, which a later thread may have after it has ended, and the thread
 * that forked in the child. */
uintptr_t pd__platform_thread_id(void);

/* Yields the processor to another thread. */
void pd__platform_yield(void);

/* Prepares the copy that owns this record to host the registry: its image is never unloaded, and a
 * forked child calls `in_child` while it still holds the lock, and then releases it. */
void pd__platform_pin_and_watch_forks(const pd_copy_record *own, void (*in_child)(void));

/* Enclose a wait for other threads that may be walking images. Where constructors run under the
 * lock that a walk needs, these functions acquire and release that lock, to avoid a deadlock. */
uintptr_t pd__platform_acquire_loader_lock(void);
void pd__platform_release_loader_lock(uintptr_t entered);

/* Returns whether a loaded image with this path is the library that was opened as `asked`. */
bool pd__platform_is_same_path(const char *asked, const char *path);

/* For use at file scope. PD__PLATFORM_ANNOUNCE(record) lets modules find the pd_copy_record
 * `record`. PD__PLATFORM_AT_START(function) runs `function` before a module record in the same
 * image joins, and before all other code in the image. */
#if defined(_WIN32)
#define PD__PLATFORM_ANNOUNCE(record) PD__NOTE(PD_NOTE_COPY, record)
#define PD__PLATFORM_AT_START(function) PD__START("C", function)
#elif defined(__APPLE__)
#define PD__PLATFORM_ANNOUNCE(record) PD__NOTE(PD_NOTE_COPY, record)
#define PD__PLATFORM_AT_START(function)                                                            \
  __attribute__((constructor(101), used)) static void pd__start_##function(void) { function(); }   \
  struct pd__start_##function
#else
#define PD__PLATFORM_ANNOUNCE(record) PD__NOTE("2", #record)
#define PD__PLATFORM_AT_START(function)                                                            \
  __asm__(".pushsection .init_array.00098,\"aw\",%init_array\n"                                    \
          ".balign 8\n"                                                                            \
          ".dc.a " #function "\n"                                                                  \
          ".popsection\n")
#endif

#endif /* PD__PLATFORM_H */
