/* The flags of a running process, for clients outside of it: everything that a server needs but the
 * transport. The server reads a request from its connection, hands it over, and sends the response;
 * which requests there are, who may make them, and all JSON are made here, so all servers answer
 * alike. docs/reference/live-api.md describes requests and answers.
 *
 * pd_flags.h includes this header. The functions work on Linux; elsewhere pd_live_open returns
 * PD_ERR_UNSUPPORTED. */
#ifndef PD_FLAGS_H
#include <pd_flags.h> /* which includes this one */
#elif !defined(PD_FLAGS_LIVE_H)
#define PD_FLAGS_LIVE_H

/* What one server allows. Different servers of a process share the registry, the revisions and the
 * list of changes. */
typedef struct pd_live pd_live;

/* What a client may do. */
#define PD_LIVE_READ 1
#define PD_LIVE_CHANGE 2

/* Requests of the fleet. */
#define PD_LIVE_FLEET 1

/* A token of clients on TCP. */
typedef struct pd_live_token {
  const char *text;  /* 16 to 512 bytes of printable ASCII without blanks */
  const char *label; /* what is shown of the client; NULL: none */
  uint32_t may;      /* PD_LIVE_READ, or PD_LIVE_READ | PD_LIVE_CHANGE */
} pd_live_token;

/* Called for each change by a client, each undo, each change that was refused, and each temporary
 * change that ends; `event` is one JSON object in one line, without a line break, borrowed during
 * the call. It runs without any lock, on the thread of the request or, for an end, on a thread of
 * the library; it may be called until the last temporary change that was made through this pd_live
 * has ended. */
typedef void (*pd_live_audit)(const char *event, size_t length, void *context);

typedef struct pd_live_options {
  size_t size;                 /* sizeof(pd_live_options) */
  const char *settable;        /* names and patterns (*, ?) with commas between: flags that may be
                                  changed besides those with the attribute `runtime`; or NULL */
  const char *hosts;           /* allowed values of Host, without a port, with commas between; NULL:
                                  Host isn't checked, as on a Unix socket */
  const pd_live_token *tokens; /* or NULL */
  size_t token_count;
  pd_live_audit audit;         /* or NULL */
  void *context;               /* of `audit` */
  bool polls;                  /* the server can't keep a stream open: events end at once */
  const char *program;         /* name of the program; NULL: the system is asked */
  bool resumes;                /* hooks and audits need a runtime that a fork breaks: in a forked
                                  child, no temporary change ends before the next call of
                                  pd_live_revision, which repairs that */
  uint64_t answers;            /* requests that the server answers itself, as `fleet` of
                                  pd_live_response says: PD_LIVE_FLEET, or 0, and they are 404 */
} pd_live_options;

/* All text is copied. PD_ERR_ARGUMENT: a token or a pattern isn't as described. */
PD_API pd_status pd_live_open(const pd_live_options *options, pd_live **out, pd_error *err);

/* No other thread may be using it. What it has changed stays; temporary changes end in time. NULL is
 * allowed. */
PD_API void pd_live_close(pd_live *live);

typedef struct pd_live_header {
  const char *name; /* in any case */
  const char *value;
} pd_live_header;

/* What stands at one place of a JSON body. */
typedef enum pd_live_kind {
  PD_LIVE_NULL,
  PD_LIVE_BOOL,   /* text "true" or "false" */
  PD_LIVE_NUMBER, /* text as JSON writes it */
  PD_LIVE_TEXT,
  PD_LIVE_OBJECT, /* an object or an array of its own entry; what is in it follows */
  PD_LIVE_ARRAY
} pd_live_kind;

/* The values of a body, in their order, each container before what is in it. */
typedef struct pd_live_field {
  const char *path; /* a JSON pointer (RFC 6901): "" for the whole body, "/set/alpha_level" */
  uint32_t kind;    /* pd_live_kind */
  const char *text; /* UTF-8 without NUL; NULL for null, objects and arrays */
} pd_live_field;

/* Who asks. Numbers are -1 and texts NULL where unknown. */
typedef struct pd_live_who {
  int64_t uid;
  int64_t pid;
  const char *command; /* of that process */
  const char *host;    /* of TCP: the address */
  const char *label;   /* of whoever the server itself has authenticated */
} pd_live_who;

typedef struct pd_live_request {
  size_t size;                   /* sizeof(pd_live_request) */
  const char *method;            /* "GET" */
  const char *target;            /* "/v1/flags?since=..." */
  const pd_live_header *headers; /* all of them, also repeated ones */
  size_t header_count;
  uint32_t may;                  /* what the transport grants without a token: PD_LIVE_READ and
                                    PD_LIVE_CHANGE on a Unix socket, 0 on TCP */
  pd_live_who who;
  bool has_body;                 /* the body has been read, and the rest says what is in it */
  const char *body_error;        /* why it isn't JSON; NULL: it is */
  const pd_live_field *fields;
  size_t field_count;
} pd_live_request;

/* A response; released by pd_live_response_free. */
typedef struct pd_live_response {
  size_t size;                   /* set by the caller: sizeof(pd_live_response) */
  uint32_t status;               /* of HTTP; 0: read the body and ask again with it */
  const pd_live_header *headers; /* all that are to be sent but Content-Length, Date, Connection */
  size_t header_count;
  const char *body;              /* NULL: `asset` is the body */
  size_t length;
  const char *asset;             /* the file to send: "page.html", "schemas/flags.json"; NULL: none.
                                    If there is no such file, the response is that of
                                    pd_live_missing */
  bool streams;                  /* after the body, events follow from `revision` on */
  uint64_t revision;
  void *owner;                   /* of all this */
  const char *label;             /* with `fleet`: whose token it is; NULL: nobody's */
  int64_t duration_ms;           /* with `fleet`: how long its change is for; 0: for good */
  bool fleet;                    /* the request is about the fleet and may be answered: the server
                                    makes the body. All that can be judged here has been: who asks,
                                    the form of the body, and whether its flags may be changed */
} pd_live_response;

/* The largest body of a request, in bytes. */
#define PD_LIVE_BODY_MAX 1048576

/* Answer a request. First ask without a body: the response may refuse the request, answer it, or
 * want the body. Every wrong request has a response; the status is only about the call:
 * PD_ERR_ARGUMENT, PD_ERR_MEMORY. */
PD_API pd_status pd_live_answer(pd_live *live, const pd_live_request *request,
                                pd_live_response *response, pd_error *err);

/* The response to a request that the transport refuses: 404 for a missing asset, 413 for a body that
 * is too large, 431, 503, or 400 for what isn't HTTP. `detail` says what is wrong. */
PD_API pd_status pd_live_refuse(uint32_t status, const char *detail, pd_live_response *response,
                                pd_error *err);

PD_API void pd_live_response_free(pd_live_response *response);

/* The revision now. Look every 50 ms while a client waits for events: it takes no lock unless a
 * module may assign to its variables. 0 before the first pd_live_open. */
PD_API uint64_t pd_live_revision(void);

/* What happened after the revision `since`, as server-sent events: response->body, and in
 * response->revision where to go on. No body: nothing happened. */
PD_API pd_status pd_live_events(uint64_t since, pd_live_response *response, pd_error *err);

#endif /* PD_FLAGS_LIVE_H */
