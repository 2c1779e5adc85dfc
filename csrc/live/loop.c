/* The clients' thread. It ends when there is nothing to serve and no temporary change is on. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "client.h"

static bool loop_thread_runs; /* guarded by pd__lock */

static bool open_wake_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  pd__descriptor_adopt(&pd__wake_in, ends[0]);
  pd__descriptor_adopt(&pd__wake_out, ends[1]);
  return true;
}

/* ---- One round ---- */

typedef struct poll_round {
  struct pollfd *fds; /* the descriptor that wakes, the servers', the clients' */
  size_t count, room, servers;
} poll_round;

static void add_polled_descriptor(poll_round *round, int fd, short events) {
  if (round->count == round->room) {
    size_t room = 2 * round->room + 16;
    struct pollfd *fds = realloc(round->fds, room * sizeof *fds);
    if (!fds) return;
    round->fds = fds;
    round->room = room;
  }
  round->fds[round->count++] = (struct pollfd){.fd = fd, .events = events};
}

static void add_polled_descriptors(poll_round *round) {
  round->count = round->servers = 0;
  add_polled_descriptor(round, pd__wake_in.fd, POLLIN);
  pthread_mutex_lock(&pd__lock);
  for (pd_live_server *each = pd__servers; each; each = each->next) {
    add_polled_descriptor(round, each->stopped ? -1 : each->socket.listening.fd, POLLIN);
    round->servers++;
  }
  pthread_mutex_unlock(&pd__lock);
  for (pd__client *each = pd__clients; each; each = each->next) {
    bool reads = !each->closing && each->out.length < PD__ANSWER_MAX;
    add_polled_descriptor(round, each->descriptor.fd,
                          (short)((reads ? POLLIN : 0) | (each->out.length > 0 ? POLLOUT : 0)));
  }
}

/* New connections go to the front of the list of clients, behind which the order stays. */
static void handle_client_events(const poll_round *round) {
  size_t index = 1 + round->servers;
  for (pd__client *each = pd__clients; each && index < round->count; each = each->next, index++) {
    short events = round->fds[index].revents;
    if (events & (POLLHUP | POLLERR | POLLNVAL)) each->dead |= !(events & POLLIN);
    if (events & POLLIN) pd__client_handle_input(each);
    if (events & POLLOUT) pd__client_send_output(each);
  }
}

/* A server whose descriptor the program has closed is closed, too. */
static void handle_server_events(const poll_round *round) {
  pthread_mutex_lock(&pd__lock);
  pd_live_server *each = pd__servers;
  for (size_t index = 1; each && index <= round->servers && index < round->count; index++) {
    short events = round->fds[index].revents;
    pd__server_retain(each);
    pthread_mutex_unlock(&pd__lock);
    bool own = pd__descriptor_is_unchanged(&each->socket.listening);
    if (own && (events & POLLIN)) pd__clients_accept(each);
    pthread_mutex_lock(&pd__lock);
    if (!own) pd__socket_close(&each->socket, true);
    pd_live_server *next = each->next;
    pd__server_release(each);
    each = next;
  }
  pthread_mutex_unlock(&pd__lock);
}

/* Does what clients wait for, and what is due. Returns how many ms nothing else is. */
static int work_and_get_timeout(void) {
  int64_t ends = pd__changes_end_expired(), answers = pd__jobs_answer_and_expire(),
          steps = pd__steps_answer_waiting_jobs();
  int64_t most = pd__subscribers_notify() ? PD__POLL_TIME : 1000;
  for (pd__client *each = pd__clients; each; each = each->next) {
    if (each->out.length > 0) pd__client_send_output(each);
  }
  pd__clients_remove_finished();
  pthread_mutex_lock(&pd__lock);
  pd__servers_remove_stopped();
  pthread_mutex_unlock(&pd__lock);
  if (pd_callbacks_are_waiting()) pd__callbacks_start_thread();
  if (steps < answers) answers = steps;
  int64_t left = (ends < answers ? ends : answers) - pd__get_steady_ms();
  if (left > most) left = most;
  return left < 0 ? 0 : (int)left;
}

/* Returns true, once, if there is nothing left to do. */
static bool finish_loop_if_idle(void) {
  pthread_mutex_lock(&pd__lock);
  bool done = !pd__servers && !pd__clients && pd__changes_count_temporary() == 0 &&
              !pd__jobs_has_unfinished();
  if (done) loop_thread_runs = false;
  pthread_mutex_unlock(&pd__lock);
  return done;
}

static void *run_loop(void *unused) {
  poll_round round = {.fds = NULL};
  char waste[64];
  pd_callbacks_postpone(true);
  while (!finish_loop_if_idle()) {
    int timeout = work_and_get_timeout();
    if (!pd__descriptor_is_unchanged(&pd__wake_in))
      open_wake_pipe(); /* the program has closed it */
    add_polled_descriptors(&round);
    if (poll(round.fds, round.count, timeout) <= 0 || !round.fds) continue;
    if ((round.fds[0].revents & POLLIN) && pd__descriptor_is_unchanged(&pd__wake_in)) {
      (void)!read(pd__wake_in.fd, waste, sizeof waste);
    }
    handle_client_events(&round);
    handle_server_events(&round);
  }
  free(round.fds);
  return unused;
}

/* ---- Starting ---- */

bool pd__loop_start(void) {
  bool open = pd__descriptor_is_unchanged(&pd__wake_in) || open_wake_pipe();
  if (!loop_thread_runs) loop_thread_runs = open && pd__thread_start(run_loop, NULL);
  if (loop_thread_runs) pd__loop_wake();
  return loop_thread_runs;
}

bool pd__loop_is_running(void) { return loop_thread_runs; }

void pd__loop_reset_in_child(void) {
  loop_thread_runs = false;
  for (pd__client *each = pd__clients; each; each = each->next) {
    pd__descriptor_close(&each->descriptor);
  }
  pd__clients_reset_in_child();
  pd__descriptor_close(&pd__wake_in);
  pd__descriptor_close(&pd__wake_out);
}
