/* The live API: what clients outside of the process may see and change. This layer reads requests
 * that a server hands over and writes the responses; it knows nothing of sockets. It may use base,
 * platform, value, registry and report.
 *
 * A pd_live is what one server allows. A pd__call is one request with its response. A pd__kept is a
 * change that a client has made: changes are kept for listing them and for undoing them, and the
 * temporary ones until they end. docs/reference/live-api.md describes the API. */
#ifndef PD__LIVE_H
#define PD__LIVE_H

#include "../report/json.h"

typedef struct pd__token {
  char text[513]; /* padded with NULs, so that comparing takes the same time for all */
  char *label;    /* or NULL */
  uint32_t may;
} pd__token;

struct pd_live {
  char *settable; /* or NULL */
  char *hosts;    /* or NULL */
  pd__token *tokens;
  size_t token_count;
  pd_live_audit audit;
  void *context;
  char *program; /* or NULL */
  bool polls;
  bool fleet;     /* the server answers requests of the fleet */
  size_t holders; /* the opener, and temporary changes that aren't over */
};

/* ---- Errors ---- */

/* X(name, status, end of the type, title) */
#define PD__PROBLEM_MAP(X)                                                                         \
  X(MALFORMED, 400, "malformed", "the request is malformed")                                       \
  X(TOKEN, 401, "token", "a token is needed")                                                      \
  X(FORBIDDEN, 403, "forbidden", "not allowed")                                                    \
  X(UNKNOWN, 404, "unknown", "not found")                                                          \
  X(METHOD, 405, "method", "the method is not allowed here")                                       \
  X(TIMEOUT, 408, "timeout", "the request took too long")                                          \
  X(CONFLICT, 409, "conflict", "something has changed meanwhile")                                  \
  X(TOO_LARGE, 413, "too-large", "the body is too large")                                          \
  X(MEDIA_TYPE, 415, "media-type", "the body must be JSON")                                        \
  X(HOST, 421, "host", "the host is not one of this server")                                       \
  X(REJECTED, 422, "rejected", "a value was rejected")                                             \
  X(CONFIRM, 428, "confirm", "a confirmation is needed")                                           \
  X(HEADERS, 431, "headers", "the headers are too large")                                          \
  X(INTERNAL, 500, "internal", "out of memory")                                                    \
  X(BUSY, 503, "busy", "the server is busy")                                                       \
  X(UNREACHABLE, 504, "unreachable", "the engine of the fleet does not answer")

#define PD__PROBLEM_ENUM(name, status, end, title) PD__PROBLEM_##name = status,
typedef enum pd__problem { PD__PROBLEM_MAP(PD__PROBLEM_ENUM) } pd__problem;

/* ---- Requests (call.c) ---- */

#define PD__HEADERS_MAX 12
#define PD__PARAMETERS_MAX 4

typedef struct pd__parameter {
  const char *name;
  const char *value;
} pd__parameter;

/* One request, with its response. Everything is in the arena, which moves to the response. */
typedef struct pd__call {
  pd_live *live; /* NULL: the server refuses the request itself */
  const pd_live_request *request;
  pd__arena *arena;
  pd_live_response *response;
  pd_live_header *headers;
  const char *path; /* decoded, without the query; "/v1/flags/a%2fb" stays encoded */
  pd__parameter parameters[PD__PARAMETERS_MAX];
  size_t parameter_count;
  uint32_t may;      /* PD_LIVE_READ, PD_LIVE_CHANGE */
  const char *label; /* of the token */
  pd__out out;       /* the body */
  pd__json json;     /* writes to it */
} pd__call;

/* Adds a header to the response; both texts are borrowed until it is freed. */
void pd__call_header(pd__call *call, const char *name, const char *value);

/* Ends the call with the status and with what was written to call->json. */
void pd__call_finish(pd__call *call, uint32_t status, const char *type);

/* Ends the call with a problem without errors of flags. */
PD__PRINTF(3, 4) void pd__call_fail(pd__call *call, pd__problem problem, const char *format, ...);

/* Returns who asks, with the label of the token. */
pd_live_who pd__call_who(const pd__call *call);

/* Prepare a response that the caller gives, with an arena of its own as its owner, and end it:
 * frees everything and fails if memory was out. */
pd_status pd__response_begin(pd_live_response *response, pd_error *err);
pd_status pd__response_end(pd_live_response *response, pd_error *err);

/* Begin a problem in call->json, to which members can be added before pd__problem_end. */
void pd__problem_begin(pd__call *call, pd__problem problem, const char *detail);
void pd__problem_end(pd__call *call, pd__problem problem);

/* Returns the only value of a header, in any case of its name; NULL if there is none. *count is how
 * often it is there. */
const char *pd__call_find_header(const pd__call *call, const char *name, size_t *count);

const char *pd__call_parameter(const pd__call *call, const char *name);

/* Decodes %XX in the arena. NULL: it isn't well-formed, has a NUL, or memory is out. */
char *pd__call_decode(pd__call *call, const char *text, size_t length);

/* Checks that a request may be answered at all: target, host, site, token (guard.c). Returns false
 * after it has ended the call. `open` is for what everybody may read. */
bool pd__guard_parse(pd__call *call);
bool pd__guard_site(pd__call *call);
bool pd__guard_token(pd__call *call, bool open, uint32_t needed);

/* ---- Changes that were made (kept.c). The caller holds the lock. ---- */

typedef enum pd__kept_state { PD__KEPT, PD__ON, PD__ENDED, PD__UNDONE } pd__kept_state;

typedef struct pd__kept_flag {
  pd_flag *flag;
  uint32_t generation; /* of the definition that was changed */
  bool drops;          /* it took back what clients had set */
  bool sensitive;
  const char *old_text; /* NULL: sensitive, or no value */
  const char *new_text;
  const char *live_before; /* what clients had set before; NULL: nothing, or sensitive */
  bool had_live;
  pd_value set; /* the value that it gave, with text that is stored for good */
} pd__kept_flag;

typedef struct pd__kept {
  pd__arena arena; /* owns all that follows, and the struct itself is in malloc */
  uint64_t number;
  int64_t at;      /* milliseconds since 1970 */
  uint64_t undoes; /* the number of a change; 0: it sets */
  pd_live_who who;
  const char *reason; /* or NULL */
  int64_t until;      /* milliseconds since 1970; 0: it stays */
  int64_t deadline;   /* the same in steady time */
  pd_override override;
  pd__kept_state state;
  pd_live *live; /* held while the change is on */
  size_t count;
  pd__kept_flag *flags;
} pd__kept;

pd__kept *pd__kept_new(size_t count, const pd_live_who *who, const char *reason);
void pd__kept_free(pd__kept *kept);

/* Gives the change its number and keeps it. Returns false if memory is out. */
bool pd__kept_add(pd__kept *kept);
/* Takes back pd__kept_add for a change that failed. */
void pd__kept_remove(pd__kept *kept);

/* pd__kept_after and pd__kept_before iterate in the order of numbers, from `number` on. */
pd__kept *pd__kept_find(uint64_t number);
pd__kept *pd__kept_after(uint64_t number);
pd__kept *pd__kept_of_override(pd_override override);
pd__kept *pd__kept_before(uint64_t number);
size_t pd__kept_on(void); /* how many temporary changes are on */

/* Marks a temporary change as over. */
void pd__kept_end(pd__kept *kept, pd__kept_state state);

/* Frees old changes that are over. */
void pd__kept_trim(void);

/* Makes the background thread end temporary changes in time (timer.c). Returns false if there can
 * be no thread. */
bool pd__timer_start(void);

/* ---- Texts (write.c) ---- */

#define PD__TIME_SIZE 32
const char *pd__time_text(int64_t at, char out[PD__TIME_SIZE]);    /* "2026-11-25T16:30:00.000Z" */
void pd__json_add_time(pd__json *to, const char *key, int64_t at); /* null for 0 */
void pd__json_add_who(pd__json *to, const pd_live_who *who);       /* the value of "who" */

/* Writes an event of the journal, as an object. The caller holds the lock. */
struct pd__event;
void pd__event_write(pd__json *to, const struct pd__event *event);

/* Writes the members of a change, as in /v1/changes. */
void pd__kept_write(pd__json *to, const pd__kept *kept);

/* The same in two parts, for the audit of its end: all but the flags, with the time of the event;
 * and one flag. */
void pd__kept_write_head(pd__json *to, const pd__kept *kept, int64_t at);
void pd__step_write(pd__json *to, const pd__kept_flag *each, const char *old_text,
                    const char *new_text);

/* ---- What may be changed (settable.c) ---- */

/* Returns why clients of the server may not change a flag; NULL if they may. */
const char *pd__settable_refusal(const pd_live *live, const pd_flag_info *info);
const char *pd__settable_refusal_of(const pd_live *live, const pd_flag *flag);

/* Checks names and patterns with commas between. */
bool pd__patterns_valid(const char *patterns);

/* ---- The resources ---- */

void pd__get_process(pd__call *call);
void pd__process_write(pd__call *call);
void pd__get_flags(pd__call *call);
void pd__get_flag(pd__call *call, const char *name);
void pd__get_changes(pd__call *call);
void pd__get_events(pd__call *call);
void pd__post_changes(pd__call *call);
void pd__post_undo(pd__call *call);

/* Requests of the fleet are judged here, and answered by the server (fleet.c). */
void pd__get_fleet(pd__call *call);
void pd__post_fleet(pd__call *call);

/* ---- The audit (audit.c) ---- */

/* Holds and releases a pd_live; the caller holds the lock. */
void pd__live_hold(pd_live *live);
void pd__live_release(pd_live *live);

/* Begins an event: "set", "undo", "ended" or "refused"; its result and its time follow. pd__audit
 * hands it over; the caller doesn't hold the lock. */
void pd__audit_begin(pd__json *to, const char *event);
void pd__audit(pd_live *live, pd__operation *operation, const char *text, size_t length);

/* ---- Revisions (revision.c) ---- */

/* Parses "EPOCH-REVISION". PD__SINCE_LOST: another epoch, or what came after it isn't kept. The
 * caller holds the lock. */
typedef enum pd__since { PD__SINCE_WRONG, PD__SINCE_LOST, PD__SINCE_KNOWN } pd__since;
pd__since pd__since_parse(const char *text, uint64_t *revision);

/* Adds "epoch" and "revision". The caller holds the lock. */
void pd__head_write(pd__json *to, uint64_t revision);

/* Writes the id "EPOCH-REVISION". */
void pd__id_write(pd__out *out, uint64_t revision);

/* Adopts what modules have assigned, looks at what was overlooked, and returns the revision. The
 * caller doesn't hold the lock. */
uint64_t pd__revision_now(void);

#endif /* PD__LIVE_H */
