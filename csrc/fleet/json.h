/* JSON of a fleet, over jansson, with the limits of paddle_flags/fleet/_json.py. */
#ifndef PD_FLEET_JSON_H
#define PD_FLEET_JSON_H

#include <jansson.h>
#include <pd_flags/fleet.h>

/* Read a value. Returns NULL if it isn't JSON, or two readers could take it differently. */
json_t *pd__json_read(const char *data, size_t length);

/* A number as text and back, whatever the locale of the program. Returns -1 for another text. */
char *pd__number_text(double number);
double pd__number_read(const char *text, size_t length);

/* Text as JSON; bytes that aren't UTF-8 are shown as \xNN. */
json_t *pd__json_text(const char *text);

/* A member that may be missing. */
double pd__json_number(const json_t *object, const char *name, double otherwise);
int64_t pd__json_integer(const json_t *object, const char *name, int64_t otherwise);
const char *pd__json_string(const json_t *object, const char *name, const char *otherwise);
bool pd__json_has(const json_t *object, const char *name); /* and it isn't null */

/* An object with the same members; these may be changed. An empty one for NULL. */
json_t *pd__json_copy(json_t *object);

/* Sets of names are objects. */
void pd__names_add(json_t *names, const char *name);
bool pd__names_have(const json_t *names, const char *name);
/* The names, sorted, with ", " between. Returns PD__WHY bytes at most, and all of `text`. */
char *pd__names_list(const json_t *names, char *text, size_t size);

/* Keys of an object, sorted, with a NULL behind them; free the array. NULL: memory is out. */
const char **pd__json_sorted(const json_t *object);

#endif /* PD_FLEET_JSON_H */
