/* JSON bodies as the flat list of values that pd_live_answer takes. */
#ifndef PD_LIVE_BODY_H
#define PD_LIVE_BODY_H

#include <pd_flags/live_server.h>

typedef struct pd__body {
  pd_live_field *fields;
  size_t count, room;
  struct pd__piece *text; /* of the fields */
  const char *error;      /* why it isn't JSON; NULL: it is */
  char message[256];
} pd__body;

/* Read `length` bytes into `body`, which is zeroed. */
void pd__body_read(pd__body *body, const char *text, size_t length);
void pd__body_free(pd__body *body);

#endif /* PD_LIVE_BODY_H */
