/* The plugins of the stress program, for those of its sources that are about them. */
#ifndef STRESS_MODULES_H
#define STRESS_MODULES_H

#include "stress.h"

#define PLUGIN_FLAGS 4

typedef struct plugin {
  const char *file;                /* name of its library */
  const char *flags[PLUGIN_FLAGS]; /* that it defines */
  bool can_conflict;               /* others define its first flag, in another way, and stop */
  bool may_reject;                 /* a pending value, by its validator */
  bool named;                      /* it is loaded with a namespace */
  bool changes;                    /* defines more flags while it runs */
  int rank;                        /* of its implementation; 0: none */
  char path[4096];
  pd_flag *handles[PLUGIN_FLAGS]; /* NULL: not known yet */
  unsigned held;                  /* by how many threads, and how often */
  unsigned opened;                /* likewise, by the loader alone */
  unsigned conflicts;             /* odd while another definition is there or on its way */
} plugin;

extern plugin plugins[];
extern const size_t plugin_count;

size_t count_plugin_flags(const plugin *of);

/* The name that a flag of the plugin has now, with its namespace. */
void name_plugin_flag(const hold *held, size_t index, char name[TEXT_SIZE]);

/* The hold of a random plugin that the thread has; NULL: it has none. */
hold *pick_hold(actor *who);

/* Call a function `int name(void)` of a loaded plugin. */
int call_plugin(const actor *who, const plugin *of, const char *name);

/* All that must be true of a plugin while somebody holds it. */
void check_hold(const actor *who, const hold *held);

#endif /* STRESS_MODULES_H */
