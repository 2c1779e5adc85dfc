// A program whose flags can be seen and changed from outside while it runs.
#include <pd_flags/live.h>
#include <stdio.h>

PD_DEFINE_int32(served_level, 6, "How hard to try", .runtime = true);

int main(int argc, char **argv) {
  pd_error err;
  pd_live_server *server;
  if (pd_parse_argv(&argc, argv, NULL, &err) != PD_OK ||
      pd_live_serve(NULL, &server, &err) != PD_OK) {
    fprintf(stderr, "served: %s\n", err.message);
    return 1;
  }
  printf("%s\n", pd_live_get_address(server));
  pd_live_stop(server);
  return 0;
}
