/* How the nodes of names are kept, for names.c and index.c. */
#ifndef PD__NAMES_H
#define PD__NAMES_H

#include "../base/table.h"
#include "flag.h"

#define PD__CHUNK 512u /* nodes per allocation */

/* Nodes that are allocated together, and never freed. */
typedef struct pd__chunk {
  pd_flag *nodes; /* begin with a line of the cache */
  void *memory;   /* of calloc; holds `nodes` */
} pd__chunk;

typedef struct pd__names {
  pd__table table;
  pd__chunk *chunks;
  uint32_t chunk_room;
  uint32_t count;        /* nodes ever made */
  pd_flag *released;     /* free nodes, linked by next_listed */
  uint32_t first_listed; /* index + 1; 0: none */
  pd_flag *last_listed;
} pd__names;

/* The last number that pd__names_reserve_visit_marks gave. */
extern uint32_t pd__last_visit_mark;

/* For the index: where the names and the modules (a pd__numbered) are. */
extern const void *const pd__names_place;
extern const void *const pd__modules_place;

#endif /* PD__NAMES_H */
