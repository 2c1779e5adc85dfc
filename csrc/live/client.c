/* The list of clients, and answers to those that have waited. */
#include "client.h"

pd__client *pd__clients;

pd__client *pd__client_find(uint64_t number) {
  pd__client *at = pd__clients;
  while (at && at->number != number) at = at->next;
  return at;
}

void pd__client_finish_job(pd__job *job) {
  pd__client *client = pd__client_find(job->client);
  if (client) {
    client->waiting--;
    pd__job_write_answer(job, &client->out);
  }
  pd__job_free(job);
}
