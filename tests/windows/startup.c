/* How a DLL of Microsoft's ABI starts and ends, for systems without Microsoft's C library: this is
 * the part of it that is linked into each DLL. With UCRT, exit functions are kept by ucrtbase.dll,
 * as with /MD; otherwise the DLL needs no C library. */
#include <stddef.h>
#include <stdint.h>

typedef void (*function)(void);

/* The linker sorts what constructors leave in .CRT$XC? between these. */
__attribute__((section(".CRT$XCA"), used)) static const function first = NULL;
__attribute__((section(".CRT$XCZ"), used)) static const function last = NULL;

int _fltused = 0; /* objects that use floating point refer to it */

/* With /GS, which is the default, functions with arrays check this. */
uintptr_t __security_cookie = 0x2B992DDFA232;
void __security_check_cookie(uintptr_t cookie);
void __security_check_cookie(uintptr_t cookie) {
  if (cookie != __security_cookie) __builtin_trap();
}

#ifdef UCRT
typedef struct exit_table {
  function *first, *last, *end;
} exit_table;
int _initialize_onexit_table(exit_table *table);
int _register_onexit_function(exit_table *table, function added);
int _execute_onexit_table(exit_table *table);

static exit_table exits;

static void begin_exits(void) { _initialize_onexit_table(&exits); }
static void run_exits(void) { _execute_onexit_table(&exits); }
int atexit(function added) { return _register_onexit_function(&exits, added); }
#else
static function exits[32];
static size_t exit_count;

static void begin_exits(void) {}
static void run_exits(void) {
  while (exit_count > 0) exits[--exit_count]();
}
int atexit(function added);
int atexit(function added) {
  if (exit_count == sizeof exits / sizeof *exits) return -1;
  exits[exit_count++] = added;
  return 0;
}

int memcmp(const void *a, const void *b, size_t size) {
  const unsigned char *left = a, *right = b;
  for (; size > 0; size--, left++, right++) {
    if (*left != *right) return *left - *right;
  }
  return 0;
}
#endif

/* The entry that lld-link looks for. */
int __stdcall _DllMainCRTStartup(void *image, unsigned long reason, void *reserved);
int __stdcall _DllMainCRTStartup(void *image, unsigned long reason, void *reserved) {
  enum { DETACH, ATTACH };
  (void)image, (void)reserved;
  if (reason == ATTACH) {
    begin_exits();
    for (const function *each = &first + 1; each < &last; each++) {
      if (*each) (*each)();
    }
  }
  if (reason == DETACH) run_exits();
  return 1;
}
