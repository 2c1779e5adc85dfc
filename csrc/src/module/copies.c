/* Copies of the library: the first one in the process hosts the registry, the others forward to
 * it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/hash.h"
#include "../base/profile.h"
#include "../base/sized.h"
#include "../base/text.h"
#include "module.h"

/* The record by whose note modules and other copies find this one. */
extern pd_copy_record pd__copy_v1;
PD__HIDDEN __attribute__((used))
pd_copy_record pd__copy_v1 = {PD_ABI_VERSION, sizeof(pd_copy_record), NULL, PD__VERSION, 0, NULL};
PD__PLATFORM_ANNOUNCE(pd__copy_v1);

static const pd_table *own_table; /* set by the first call into this copy */

/* ---- Election ---- */

/* What a copy sees of the others. */
typedef struct other_copies {
  const pd_host *host; /* the elected one, or NULL */
  bool foreign;        /* a host of another ABI is there */
  bool lower;          /* a candidate at a lower address */
  bool higher;         /* a candidate at a higher address */
} other_copies;

static void note_host_or_candidate(const pd__platform_image *image, void *context) {
  const pd_copy_record *copy = image->record;
  other_copies *seen = context;
  if (copy == &pd__copy_v1) return;
  const pd_host *host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
  if (copy->abi != PD_ABI_VERSION) {
    seen->foreign |= host != NULL;
  } else if (host) {
    seen->host = host;
  } else if (__atomic_load_n(&copy->candidate, __ATOMIC_SEQ_CST)) {
    *((uintptr_t)copy < (uintptr_t)&pd__copy_v1 ? &seen->lower : &seen->higher) = true;
  }
}

static void set_own_candidacy(uint32_t candidate) {
  __atomic_store_n(&pd__copy_v1.candidate, candidate, __ATOMIC_SEQ_CST);
}

/* Elects the host. Two copies may arrive at once, on two threads. Each marks itself a candidate,
 * then looks at the others: one that sees a candidate at a lower address steps back, and the lowest
 * waits until no other candidate is left. So a copy that finds itself alone has been seen by every
 * copy that looks later. Returns NULL if there is a host of another ABI: a second registry must not
 * start. */
static const pd_host *elect_host(void) {
  for (;;) {
    other_copies seen = {NULL, false, false, false};
    set_own_candidacy(1);
    pd__platform_visit_records(PD__RECORDS_OF_COPIES, NULL, note_host_or_candidate, &seen);
    if (seen.lower) set_own_candidacy(0);
    if (seen.host || seen.foreign) {
      set_own_candidacy(0);
      return seen.host;
    }
    if (!seen.lower && !seen.higher) return &own_table->host;
    pd__platform_yield();
  }
}

/* ---- Arriving ---- */

static const pd_table
    *destination; /* where this copy forwards its calls; NULL before it has arrived */
const pd_table *pd__complete_table;

/* The functions in the table: a row of pointers of one size. */
#define FIRST offsetof(pd_table, error_list_new)
typedef void (*row)(void);

bool pd__table_has_function(const pd_table *table, size_t offset) {
  row found = NULL;
  if (offset < table->host.size) memcpy(&found, (const char *)table + offset, sizeof found);
  return found != NULL;
}

static bool has_all_functions(const pd_table *table) {
  size_t offset = FIRST;
  while (offset < sizeof *table && pd__table_has_function(table, offset)) offset += sizeof(row);
  return offset == sizeof *table;
}

/* The forked child has one thread, so nothing can be in the middle of a read. */
static void reset_in_child(void) {
  pd__flag_readers_reset_in_child();
  pd__operations_reset_in_child();
  pd__impls_reset_in_child();
}

static void become_host(void) {
  uint64_t seed[2] = {(uintptr_t)seed,
                      (uintptr_t)own_table}; /* the stack's address is random on most systems */
  pd__platform_fill_random(seed, sizeof seed);
  pd__hash_seed(seed);
  pd__platform_pin_and_watch_forks(&pd__copy_v1, reset_in_child);
  pd__members_set_host(&own_table->host);
  pd__loads_set_close_handler();
  pd__copy_v1.index = &pd__index;
  pd__inherit_fleet_snapshot();
}

/* Modules find the host through the record, so it names the host before the modules that are
 * already loaded join. */
static const pd_table *find_host(void) {
  const pd_host *host = elect_host();
  if (host == &own_table->host) become_host();
  __atomic_store_n(&pd__copy_v1.host, host, __ATOMIC_SEQ_CST);
  set_own_candidacy(0);
  if (host == &own_table->host) pd__members_join_loaded(NULL);
  const pd_table *table = (const pd_table *)(const void *)host;
  __atomic_store_n(&destination, table, __ATOMIC_RELEASE);
  __atomic_store_n(&pd__complete_table, table && has_all_functions(table) ? table : NULL,
                   __ATOMIC_RELEASE);
  return table;
}

/* One thread at a time arrives. */
const pd_table *pd__copies_find_or_elect_host(const pd_table *own) {
  static uint32_t busy;
  const pd_table *table = __atomic_load_n(&destination, __ATOMIC_ACQUIRE);
  if (table) return table;
  uintptr_t entered = pd__platform_acquire_loader_lock();
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) pd__platform_yield();
  own_table = own;
  table = __atomic_load_n(&destination, __ATOMIC_ACQUIRE);
  if (!table) table = find_host();
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  pd__platform_release_loader_lock(entered);
  return table;
}

/* ---- Public functions ---- */

typedef struct search {
  size_t left;
  bool found;
  pd_copy_info info;
  pd__platform_image *image;
  char version[64];
} search;

static void fill_indexed_copy_info(const pd__platform_image *image, void *context) {
  const pd_copy_record *copy = image->record;
  search *run = context;
  const pd_host *host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
  if (run->found || copy->abi != PD_ABI_VERSION || !host || run->left-- > 0) return;
  run->image = pd__platform_copy_image(image);
  snprintf(run->version, sizeof run->version, "%s", copy->version);
  run->info.hosting = copy == &pd__copy_v1;
  run->found = true;
}

pd_status pd_copy_get_info(size_t index, pd_copy_info *info, pd_error *err) {
  search run = {.left = index, .info = {.size = sizeof run.info}};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_copy_info, hosting), "info", err);
  if (status != PD_OK) return status;
  pd__platform_visit_records(PD__RECORDS_OF_COPIES, NULL, fill_indexed_copy_info, &run);
  if (!run.found) {
    return pd__fail(err, PD_ERR_ARGUMENT, "there is no copy %zu", index);
  }
  pd__platform_lock(); /* the copy may leave, so its texts are interned */
  run.info.path = run.image ? pd__intern_text(run.image->path) : NULL;
  run.info.version = pd__intern_text(run.version);
  pd__platform_unlock();
  free(run.image);
  if (!run.info.path || !run.info.version) return pd__fail_memory(err);
  pd__sized_copy_out(info, &run.info, sizeof run.info);
  return PD_OK;
}
