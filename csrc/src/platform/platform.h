/* What differs between systems: locks, images, files, the environment. One
 * implementation a system; nothing else asks which system it is. This layer may use base.
 *
 * A pd__platform_image is a loaded image: the program or a shared library. */
#ifndef PD__PLATFORM_H
#define PD__PLATFORM_H

#include "../base/arena.h"
#include "../base/error.h"

/* The registry's lock, which guards all of its state. Not recursive. Fork takes
 * it, so a child starts with it free. Whoever holds it must not call into the
 * loader (dlopen, dlclose, dladdr, walking images): the order of locks is Python's GIL, those of
 * the loader, this one. */
void pd__platform_lock(void);
void pd__platform_unlock(void);

/* A loaded image: the program or a shared library. */
typedef struct pd__platform_image {
  const char *path; /* as the loader knows it; borrowed for the time of the call */
  uintptr_t low;    /* its first address */
  uintptr_t high;   /* one past its last */
  bool stays;       /* it is known never to leave: the program, what it was started with,
                       or linked so */
  void *record;     /* of a visit; or NULL */
  struct pd__platform_image *next; /* for lists of copies */
} pd__platform_image;

/* What to visit: each image alone, the records that modules leave, or those of registry copies. */
typedef enum pd__records {
  PD__NO_RECORDS,
  PD__RECORDS_OF_MODULES = PD_NOTE_MODULE,
  PD__RECORDS_OF_COPIES = PD_NOTE_COPY
} pd__records;

/* The size that module records had first; a longer one says so. */
#define PD__SMALLEST_RECORD (offsetof(pd_module_record, state) + sizeof(void *))

static inline size_t pd__record_least(pd__records kind) {
  return kind == PD__RECORDS_OF_MODULES ? PD__SMALLEST_RECORD : sizeof(pd_copy_record);
}

/* Call `visit` with each record of that kind in the image that holds `inside`
 * (NULL: in every image). Only records that lie whole in writable memory of
 * their image are shown. No image leaves meanwhile; so `visit` takes no lock, and calls
 * nothing of the loader. A fork waits until the walk is over. */
typedef void pd__visitor(const pd__platform_image *image, void *context);
void pd__platform_visit(pd__records kind, const void *inside, pd__visitor *visit, void *context);

/* The image with records of a kind that holds `address`, in memory of malloc with its path; NULL:
 * there is none, or memory is out. */
pd__platform_image *pd__platform_image_at(pd__records kind, const void *address);

/* The same of an image that is described. */
pd__platform_image *pd__platform_copy_image(const pd__platform_image *image);

/* Keep the image with that path in the process, if it is still the one between these addresses: a
 * reference for pd__platform_close. NULL: it has left, or is leaving. errno stays. */
void *pd__platform_hold(const char *path, uintptr_t low, uintptr_t high);

/* Open a shared library, symbols local, all of them bound now. `inside`
 * receives an address in its image. Whoever finds a handle closes it, also after an error. */
pd_status pd__platform_open(const char *path, void **handle, const void **inside, pd_error *err);
void pd__platform_close(void *handle);

/* NULL where the variable isn't set, and in a setuid or setgid process. Needs the
 * registry's lock. The text may change when the program changes the variable. */
const char *pd__platform_getenv(const char *variable);

/* Read a regular file of at most `most` bytes into the arena, and wait for nobody who might write
 * to it: *out has a NUL behind. Gives what is wrong, or NULL: all is well, or the arena has
 * failed. */
#define PD__TOO_BIG "is too big, files may have 64 MiB together"
const char *pd__platform_read(pd__arena *arena, const char *path, size_t most, char **out,
                              size_t *length);

/* Fill `out`, of at most 256 bytes, with bytes that nobody can foretell. False: the system has
 * none at hand, and nobody waits until it has. */
bool pd__platform_random(void *out, size_t size);

/* strtod in the C locale, for text that is known to be a number. */
double pd__platform_strtod(const char *text);

/* Let another thread go first. */
void pd__platform_yield(void);

/* Prepare the copy whose record this is for hosting the registry: its image
 * stays in the process for good, and the lock is free in forked children, which call
 * `in_child` first. */
void pd__platform_settle(const pd_copy_record *own, void (*in_child)(void));

/* Around what waits for other threads that may be walking images: where the
 * loader runs constructors with the lock that a walk takes, take it first. */
uintptr_t pd__platform_enter_loader(void);
void pd__platform_leave_loader(uintptr_t entered);

/* Whether the path of a loaded image is that of the library which somebody asked
 * to open by `asked`. */
bool pd__platform_is_path(const char *asked, const char *path);

/* PD__PLATFORM_ANNOUNCE(record), at file scope: let modules find the
 * pd_copy_record `record`.
 * PD__PLATFORM_AT_START(function), at file scope: run `function` before the module
 * record that may stand in the same image joins, and before everything else in it. */
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
