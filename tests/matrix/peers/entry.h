/* What a module with a copy of the library offers to driver.c: X is a, b or host. */
#ifndef PEER_ENTRY_H
#define PEER_ENTRY_H

#include PEER_HEADER

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define NAME(suffix) JOIN(X, suffix)
#define EXPORT extern "C" __attribute__((visibility("default")))

EXPORT int NAME(_parse)(int argc, char **argv, char *) {
  peer_parse(argc, argv);
  return 0;
}

EXPORT int NAME(_set)(const char *name, const char *text, char *message) {
  static const char refused[] = "no such flag, or the value is refused";
  if (peer_set(name, text)) return 0;
  for (unsigned i = 0; i < sizeof refused; i++) message[i] = refused[i];
  return 1;
}

EXPORT void NAME(_again)() { peer_again(); }

#endif
