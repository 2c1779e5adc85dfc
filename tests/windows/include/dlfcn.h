/* <dlfcn.h> for the tests' programs on Windows, as far as they use it. */
#ifndef TESTS_DLFCN_H
#define TESTS_DLFCN_H

#include <stdio.h>
#include <stdlib.h>
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
/* behind it */
#include <psapi.h>

#define RTLD_LAZY 0
#define RTLD_NOW 0
#define RTLD_LOCAL 0
#define RTLD_GLOBAL 0 /* no scopes: every name is looked up in a DLL of its own */
#define RTLD_DEEPBIND 0
#define RTLD_NOLOAD 1
#define RTLD_DEFAULT NULL

static inline void *dlopen(const char *path, int flags) {
  HMODULE module = NULL;
  if (flags & RTLD_NOLOAD) {
    GetModuleHandleExA(0, path, &module);
  } else {
    module = LoadLibraryA(path);
  }
  return module;
}

static inline int dlclose(void *handle) { return !FreeLibrary((HMODULE)handle); }

static inline char *dlerror(void) {
  static char text[32];
  snprintf(text, sizeof text, "error %lu", GetLastError());
  return text;
}

static inline void *dlsym(void *handle, const char *name) {
  HMODULE all[256];
  DWORD size = 0;
  FARPROC found = NULL;
  if (handle) {
    found = GetProcAddress((HMODULE)handle, name);
  } else {
    K32EnumProcessModules(GetCurrentProcess(), all, sizeof all, &size);
  }
  for (DWORD i = 0; !found && i < size / sizeof *all; i++) found = GetProcAddress(all[i], name);
  return *(void **)&found;
}

/* Of <stdlib.h>. */
static inline char *realpath(const char *path, char *out) { return _fullpath(out, path, 0); }

#endif /* TESTS_DLFCN_H */
