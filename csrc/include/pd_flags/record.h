/* The binary contract between modules and the registry; docs/reference/abi.md describes it for
 * other languages. Everything here is fixed for PD_ABI_VERSION 1: structs grow only at their end,
 * and contain their size.
 *
 * A module carries ELF notes. Each holds, in its descriptor, the distance in bytes from there
 * to a record: a pd_module_record that lists the module's definitions, or the
 * pd_copy_record of code that can host the registry. Whichever is loaded second, module or
 * registry, finds the other by walking the notes of the loaded images. */
#ifndef PD_FLAGS_RECORD_H
#define PD_FLAGS_RECORD_H

#include <pd_flags/language.h>

#define PD_NOTE_NAME "pd_flags"
#define PD_NOTE_MODULE 1
#define PD_NOTE_COPY 2

PD__BEGIN_C

struct pd_module_record;
struct pd_index;

/* What the elected copy of the registry offers to modules; the functions that it
 * offers to other copies follow this struct. Immutable; valid until the process
 * ends. You may call both functions from constructors and destructors, from any
 * thread, and more than once for one record. */
typedef struct pd_host {
  uint32_t abi;  /* PD_ABI_VERSION */
  uint32_t size; /* of this struct, in bytes */
  void (*module_join)(struct pd_module_record *record);
  void (*module_leave)(struct pd_module_record *record);
} pd_host;

/* A definition that is made while the module runs, as the constructors of static C++ objects do. It
 * and everything that it points to are in static memory of the module: module_leave removes it. The
 * module fills the upper part and zeros the lower one, which then belongs to the host. */
typedef struct pd_late_def {
  uint32_t size;            /* of this struct, in bytes */
  uint32_t seen;            /* 1: the host has processed it */
  struct pd_late_def *next; /* the definition made before this one, or 0 */
  const pd_flag_def *def;
  struct pd_flag *flag; /* once it is defined; 0 for an import */
  const char *why;      /* why it was refused, or 0; valid until the process ends */
  uint32_t status;      /* pd_status of the refusal, if there is a `why`; the module sets it to a
                           number other than 0 when it adds this to its list */
} pd_late_def;

/* One per module, in writable memory of the module. */
typedef struct pd_module_record {
  uint32_t abi;  /* PD_ABI_VERSION */
  uint32_t size; /* of this struct, in bytes */
  const pd_flag_def *const *defs;     /* first pointer; NULL pointers are skipped */
  const pd_flag_def *const *defs_end; /* one past the last */
  const pd_host *host; /* initially 0; the host sets it while the module is joined */
  void *state;         /* initially 0; belongs to the host */
  struct pd_late_def *late; /* the newest one, or 0. The module puts a new one in front of it
                               and calls module_join again, if there is a host */
} pd_module_record;

/* One per registry copy, in writable memory. */
typedef struct pd_copy_record {
  uint32_t abi;  /* PD_ABI_VERSION */
  uint32_t size; /* of this struct, in bytes */
  const pd_host *host; /* 0 until the copy is initialized, then the elected copy's */
  const char *version; /* of the copy; readable once `host` is set */
  uint32_t candidate;  /* 1 while the copy stands for election */
  const struct pd_index *index; /* pd_flags/index.h; of the elected copy, 0 in the others */
} pd_copy_record;

/* The size of the first version of copies' records. */
#define PD_COPY_RECORD_LEAST offsetof(pd_copy_record, index)

PD__END_C

#endif /* PD_FLAGS_RECORD_H */
