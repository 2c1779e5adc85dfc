/* The engine dir:///path, as paddle_flags/fleet/_directory.py describes it: a member's part. */
#ifndef PD_FLEET_STORE_H
#define PD_FLEET_STORE_H

#include "json.h"

enum { PD__MAX_RECORD = 1 << 20 }; /* bytes of a record, base, member's document or decision */

typedef struct pd__store {
  char *url, *root;
  double poll;   /* seconds between two looks at the log */
  int64_t known; /* the last record that was seen */
} pd__store;

/* Content of a file. */
typedef struct pd__data {
  char *text; /* with a NUL behind `length` bytes; free it */
  size_t length;
  double stamped; /* when the file was changed last, in seconds of its file system */
} pd__data;

/* Errors are PD_ERR_FILE: the folder can't be read or written now. */
pd_status pd__store_open(const char *url, pd__store *out, pd_error *err);
void pd__store_close(pd__store *store);

/* The number of the last record, or of the base if none follows it. */
pd_status pd__store_last(pd__store *store, int64_t *out, pd_error *err);
/* Read a record. PD_ERR_UNDEFINED: there is none yet. PD_ERR_RANGE: a base has replaced it. */
pd_status pd__store_read(const pd__store *store, int64_t number, pd__data *out, pd_error *err);
/* The base and the number of the last record that it replaces; 0: there is none. */
pd_status pd__store_base(const pd__store *store, int64_t *number, pd__data *out, pd_error *err);
/* A decision; out->text is NULL if there is none. */
pd_status pd__store_decision(const pd__store *store, int64_t revision, pd__data *out,
                             pd_error *err);
/* Decide on a proposal, unless somebody has. */
pd_status pd__store_decide(const pd__store *store, int64_t revision, const char *value,
                           pd_error *err);

/* Write a member's document. Does nothing if this user may not write there. */
pd_status pd__store_announce(const pd__store *store, const char *name, const char *document,
                             double ttl, pd_error *err);
/* Renew a lease. PD_ERR_UNDEFINED: the document is gone. */
pd_status pd__store_keep_alive(const pd__store *store, const char *name, pd_error *err);
void pd__store_withdraw(const pd__store *store, const char *name);
/* The documents of the members whose lease runs, by name. You own the object. */
pd_status pd__store_members(const pd__store *store, json_t **out, pd_error *err);
/* The document of one member, or NULL. You own it. */
json_t *pd__store_member(const pd__store *store, const char *name);

/* ---- files.c ---- */

/* Read a file. PD_ERR_UNDEFINED: there is none. */
pd_status pd__file_read(const char *path, pd__data *out, pd_error *err);
/* Create a durable file with its content at once; *made is false if there is one of that name. */
pd_status pd__file_create(const char *folder, const char *name, const char *data, size_t length,
                          bool *made, pd_error *err);
/* Create or replace a file at once. */
pd_status pd__file_replace(const char *folder, const char *name, const char *data, size_t length,
                           pd_error *err);
/* The time by which the file system stamps files, in seconds; else of this machine. */
double pd__file_clock(const char *folder);

#endif /* PD_FLEET_STORE_H */
