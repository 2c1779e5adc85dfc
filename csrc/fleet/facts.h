/* What a member says of its flags and of itself. As paddle_flags/fleet/_document.py and _role.py.
 */
#ifndef PD_FLEET_FACTS_H
#define PD_FLEET_FACTS_H

#include "json.h"

/* ---- facts.c ---- */

/* The flags to compare: [text, source, place] by name, without those that are each process's own. A
 * sensitive flag has a digest that only who has the key can compute; with `key` NULL it is left
 * out. You own them. */
json_t *pd__facts(const char *key);
/* Add "sensitive" and "unsafe", all names of such flags, and "aliases", the name of a flag by each
 * other name of it. */
void pd__add_names(json_t *document);
/* Those that don't have their defaults. */
json_t *pd__facts_changed(json_t *facts);
/* Text as others may see it: of long text its beginning and a digest. */
json_t *pd__short_text(const char *text);
/* The environment variables that patterns with commas between match, without secrets. */
json_t *pd__variables(const char *patterns);

/* A digest of names and texts, 16 hexadecimal digits and a NUL: of both with a NUL behind each,
 * sorted by name. `values` has texts, or arrays that begin with one; names in `without` are left
 * out. */
enum { PD__DIGEST_SIZE = 17 };
void pd__digest(const json_t *values, const json_t *without, char out[PD__DIGEST_SIZE]);

/* A document of at most 3/4 of what an engine stores; what is too long is left out. Free it. */
char *pd__document_text(json_t *document);

/* ---- role.c ---- */

enum { PD__NAME_SIZE = 129 };

typedef struct pd__place {
  char role[PD__NAME_SIZE]; /* "": nothing says it */
  char host[PD__NAME_SIZE];
  int64_t rank, world; /* -1: nothing says it */
} pd__place;

/* What the environment says: Paddle's variables, then those of torchrun and others.
 * PD_ERR_ARGUMENT: one isn't a number. */
pd_status pd__place_find(pd__place *out, pd_error *err);
/* The name of a member that was given none: "trainer-3", or "host-4711". */
void pd__name_for(const pd__place *place, char *out);
bool pd__name_is_valid(const char *name);

#endif /* PD_FLEET_FACTS_H */
