/* Definitions that a module makes while it runs. They belong to the module, as those of
 * PD_DEFINE do. */
#ifndef PD_FLAGS_LATE_H
#define PD_FLAGS_LATE_H

#include <pd_flags/names_push.h>

#include <pd_flags/host.h>

PD__BEGIN_C

/* Marks a definition that isn't in the chain: its `next` is itself. */
static inline void pd__late_refuse(pd_late_def *late, pd_status status, const char *why) {
  late->next = late;
  late->why = why;
  late->status = (uint32_t)status;
  __atomic_store_n(&late->seen, 1, __ATOMIC_RELEASE);
}

/* PD_OK if the flag is defined or no host is there yet; otherwise why it was refused, or
 * PD_ERR_UNSUPPORTED if the host is too old. Any thread. */
static inline pd_status pd_late_check(const pd_late_def *late, pd_error *err) {
  const pd_table *table =
      (const pd_table *)(const void *)__atomic_load_n(&pd__module_v1.host, __ATOMIC_ACQUIRE);
  if (__atomic_load_n(&late->seen, __ATOMIC_ACQUIRE)) {
    const char *why = __atomic_load_n(&late->why, __ATOMIC_ACQUIRE);
    int ours = late->next == late;
    if (!why) return PD_OK;
    return pd__refuse(err, (pd_status)late->status, ours ? late->def->name : why,
                      ours ? ": " : "", ours ? why : "");
  }
  if (!table) return PD_OK;
  return pd__refuse(err, PD_ERR_UNSUPPORTED, late->def->name,
                    ": the registry of this process is hosted by a version that knows nothing "
                    "of definitions made while the program runs: ",
                    table->host.size > offsetof(pd_table, version) ? table->version() : "?");
}

/* As pd_late_define, which returns what became of the definition. A C++ flag asks for that only if
 * its program does, and each source file would pay for the texts. */
static inline void pd__late_add(pd_late_def *late) {
  pd_late_def *first = __atomic_load_n(&pd__module_v1.late, __ATOMIC_RELAXED);
  const pd_host *host;
  if (!pd__is_own(late)) {
    pd__late_refuse(late, PD_ERR_ARGUMENT, "is not a static object, as a flag must be");
    return;
  }
  /* The record may come from a source that was built with an older header. */
  if (pd__module_v1.size < sizeof(pd_module_record)) {
    pd__late_refuse(late, PD_ERR_UNSUPPORTED,
                    "a part of the module was built with an older pd_flags.h");
    return;
  }
  /* Any status but PD_OK marks what is in the list: a second entry would make the list circular. */
  if (__atomic_exchange_n(&late->status, PD_ERR_ARGUMENT, __ATOMIC_ACQ_REL) != PD_OK ||
      __atomic_load_n(&late->seen, __ATOMIC_ACQUIRE)) {
    return;
  }
  do late->next = first;
  while (!__atomic_compare_exchange_n(&pd__module_v1.late, &first, late, 0, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED));
  /* A host that is loaded now either sees the definition or is seen here. */
  host = __atomic_load_n(&pd__module_v1.host, __ATOMIC_SEQ_CST);
  if (host) host->module_join(&pd__module_v1);
}

/* Define `late->def` now, or when a host is loaded. `late` is zero except for its size and `def`.
 * Both are in static memory of this module and never change. Another call with the same `late`
 * defines nothing and returns what pd_late_check does. During pd_module_load, a refused definition
 * refuses its module; otherwise only the definition is refused. PD_ERR_ARGUMENT: not in static
 * memory of this module. */
static inline pd_status pd_late_define(pd_late_def *late, pd_error *err) {
  pd__late_add(late);
  return pd_late_check(late, err);
}

PD__END_C

#include <pd_flags/names_pop.h>

#endif /* PD_FLAGS_LATE_H */
