/* Copies of the library: the first to arrive hosts the registry of the process,
 * the others forward to it. Every public function that works on the registry
 * stands here, and nothing else of the registry is public. */
#include <string.h>

#include "../api.h"
#include "../platform/platform.h"
#include "../base/profile.h"
#include "../registry/registry.h"
#include "../base/sized.h"
#include "../base/text.h"

#define OWN_S(name, parameters, arguments) PD__ROW(name),
#define OWN_R(result, name, parameters, arguments) PD__ROW(name),
#define OWN_V(name, parameters, arguments) PD__ROW(name),
static const pd_table own_table = {
    {PD_ABI_VERSION, sizeof(pd_table), pd__module_join, pd__module_leave},
    PD_TABLE_MAP(OWN_S, OWN_R, OWN_V)};

const pd_host *const pd__own_host = &own_table.host;

/* Modules and other copies find this one by its note. */
extern pd_copy_record pd__copy_v1;
PD__HIDDEN __attribute__((used))
pd_copy_record pd__copy_v1 = {PD_ABI_VERSION, sizeof(pd_copy_record), NULL, PD__VERSION, 0};
PD__PLATFORM_ANNOUNCE(pd__copy_v1);

/* ---- Election ---- */

/* What a copy finds when it looks at the others. */
typedef struct others {
  const pd_host *host; /* the elected one, or NULL */
  bool foreign;        /* a host of another ABI is there */
  bool lower;          /* a candidate stands before us in memory */
  bool higher;         /* a candidate stands behind us */
} others;

static void look_at(void *record, const pd__platform_image *image, void *context) {
  (void)image;
  const pd_copy_record *copy = record;
  others *seen = context;
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

static void set_candidate(uint32_t candidate) {
  __atomic_store_n(&pd__copy_v1.candidate, candidate, __ATOMIC_SEQ_CST);
}

/* Two copies may arrive at once, on two threads. Each says that it stands, then
 * looks at the others: who sees a candidate at a lower address steps back, and
 * the lowest waits until nobody else stands. So whoever finds itself alone has
 * been seen by all that look later. Gives NULL when a host of another ABI is
 * there: a second registry must not come to be. */
static const pd_host *elect(void) {
  for (;;) {
    others seen = {NULL, false, false, false};
    set_candidate(1);
    pd__platform_visit(PD__RECORDS_OF_COPIES, NULL, look_at, &seen);
    if (seen.lower) set_candidate(0);
    if (seen.host || seen.foreign) {
      set_candidate(0);
      return seen.host;
    }
    if (!seen.lower && !seen.higher) return &own_table.host;
    pd__platform_yield();
  }
}

/* Where this copy's calls go, once it has arrived. */
static const pd_table *destination;
static const pd_table *complete; /* the same, if it lacks no function */

/* The functions, as the table has them: a row of pointers of one size. */
#define FIRST offsetof(pd_table, error_list_new)
typedef void (*row)(void);

/* A host of an older version has a shorter table, and that of a small build has holes. */
static bool has(const pd_table *table, size_t offset) {
  row found = NULL;
  if (offset < table->host.size) memcpy(&found, (const char *)table + offset, sizeof found);
  return found != NULL;
}

static bool has_all(const pd_table *table) {
  size_t offset = FIRST;
  while (offset < sizeof *table && has(table, offset)) offset += sizeof(row);
  return offset == sizeof *table;
}

/* Only one thread at a time arrives. Modules look for the host that the record
 * tells, so it is told before those that are there already are joined. */
static const pd_table *arrive(void) {
  static uint32_t busy;
  uintptr_t entered = pd__platform_enter_loader();
  while (__atomic_exchange_n(&busy, 1, __ATOMIC_ACQUIRE)) pd__platform_yield();
  const pd_table *table = __atomic_load_n(&destination, __ATOMIC_ACQUIRE);
  if (!table) {
    const pd_host *host = elect();
    if (host == &own_table.host) pd__platform_settle(&pd__copy_v1);
    __atomic_store_n(&pd__copy_v1.host, host, __ATOMIC_SEQ_CST);
    set_candidate(0);
    if (host == &own_table.host) pd__join_those_before();
    table = (const pd_table *)(const void *)host;
    __atomic_store_n(&destination, table, __ATOMIC_RELEASE);
    bool whole = !PD__LACKS_WAY && table && has_all(table);
    __atomic_store_n(&complete, whole ? table : NULL, __ATOMIC_RELEASE);
  }
  __atomic_store_n(&busy, 0, __ATOMIC_RELEASE);
  pd__platform_leave_loader(entered);
  return table;
}

static const pd_table *find_host(void) {
  const pd_table *table = __atomic_load_n(&destination, __ATOMIC_ACQUIRE);
  return table ? table : arrive();
}

extern void pd__copy_enter(void);
PD__HIDDEN __attribute__((used)) void pd__copy_enter(void) { find_host(); }
PD__PLATFORM_AT_START(pd__copy_enter);

/* ---- For hosts ---- */

typedef struct search {
  size_t left;
  bool found;
  pd_copy_info info;
} search;

static void look_for(void *record, const pd__platform_image *image, void *context) {
  const pd_copy_record *copy = record;
  search *run = context;
  const pd_host *host = __atomic_load_n(&copy->host, __ATOMIC_ACQUIRE);
  if (run->found || copy->abi != PD_ABI_VERSION || !host || run->left-- > 0) return;
  pd__platform_lock();
  run->info.path = pd__intern(image->path);
  run->info.version = pd__intern(copy->version);
  pd__platform_unlock();
  run->info.hosting = copy == &pd__copy_v1;
  run->found = true;
}

pd_status pd__do_copy_get_info(size_t index, pd_copy_info *info, pd_error *err) {
  search run = {.left = index, .info = {.size = sizeof run.info}};
  pd_status status = pd__sized_check(info, PD__SIZE_UP_TO(pd_copy_info, hosting), "info", err);
  if (status != PD_OK) return status;
  pd__platform_visit(PD__RECORDS_OF_COPIES, NULL, look_for, &run);
  if (!run.found) {
    return pd__fail(err, PD_ERR_ARGUMENT, "there are not more than %zu copies", index);
  }
  if (!run.info.path || !run.info.version) return pd__fail_memory(err);
  pd__sized_give(info, &run.info, sizeof run.info);
  return PD_OK;
}

/* ---- Forwarding ---- */

#define NAME_S(name, parameters, arguments) #name "\0"
#define NAME_R(result, name, parameters, arguments) #name "\0"
#define NAME_V(name, parameters, arguments) #name "\0"
static const char names[] = PD_TABLE_MAP(NAME_S, NAME_R, NAME_V);

static const char *name_at(size_t offset) {
  const char *name = names;
  for (; offset > FIRST; offset -= sizeof(row)) name += strlen(name) + 1;
  return name;
}

/* The host's table; or NULL, and why it has no function at an offset. */
typedef struct way {
  const pd_table *table;
  pd_status status;
} way;

static pd_status fail_missing(const pd_table *table, size_t offset, pd_error *err) {
  const char *name = name_at(offset);
  if (!table) {
    return pd__fail(err, PD_ERR_ABI,
                    "pd_%s: the registry of this process has another ABI version, expected %d",
                    name, PD_ABI_VERSION);
  }
  return pd__fail(err, PD_ERR_UNSUPPORTED,
                  "pd_%s: the registry of this process is hosted by version %s, which lacks it",
                  name, table->version());
}

static way find_way(size_t offset, pd_error *err) {
  const pd_table *table = find_host();
  if (table && has(table, offset)) return (way){table, PD_OK};
  return (way){NULL, fail_missing(table, offset, err)};
}

/* One of these for each function: mostly it is in the table, and what else there is to
 * do is done in find_way, once. */
#define WAY(name, err)                                                                             \
  const pd_table *table = PD__LACKS_WAY ? NULL : __atomic_load_n(&complete, __ATOMIC_ACQUIRE);     \
  const way to = table ? (way){table, PD_OK} : find_way(offsetof(pd_table, name), err)
#define FORWARD_S(name, parameters, arguments)                                                     \
  pd_status pd_##name parameters {                                                                 \
    WAY(name, err);                                                                                \
    return to.table ? to.table->name arguments : to.status;                                        \
  }
#define FORWARD_R(result, name, parameters, arguments)                                             \
  result pd_##name parameters {                                                                    \
    WAY(name, NULL);                                                                               \
    return to.table ? to.table->name arguments : (result)0;                                        \
  }
#define FORWARD_V(name, parameters, arguments)                                                     \
  void pd_##name parameters {                                                                      \
    WAY(name, NULL);                                                                               \
    if (to.table) to.table->name arguments;                                                        \
  }
PD_TABLE_MAP(FORWARD_S, FORWARD_R, FORWARD_V)
