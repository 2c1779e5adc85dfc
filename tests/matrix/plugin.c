/* A plugin of the matrix, compiled twice: X is a or b, Y the other one. With
 * COPY it links the library, and can parse and set like a host; with SCOPES that isn't an older
 * version, which lacks them. */
#include <pd_flags.h>
#if COPY
#include <stdio.h>
#endif
#ifdef _MSC_VER /* without Microsoft's headers; 0: not set, else the length with its NUL */
unsigned long GetEnvironmentVariableA(const char *name, char *buffer, unsigned long size);
#define MUST_LEAVE (GetEnvironmentVariableA("MATRIX_UNLOADS", NULL, 0) > 1)
#else
#include <stdlib.h>
#define MUST_LEAVE (getenv("MATRIX_UNLOADS") && *getenv("MATRIX_UNLOADS"))
#endif

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define NAME(suffix) JOIN(X, suffix)
#if defined(_WIN32) && defined(__cplusplus)
#define EXPORT extern "C" __declspec(dllexport)
#elif defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* The macros of the header take names as they are, so X is written out. */
#if IS_A
PD_DEFINE_int32(a_level, 1, "Level of a", .min = 0, .max = 99);
PD_DEFINE_string(a_mode, "none", "Mode of a", .choices = "none|am|am2");
PD_IMPORT_int32(b_level, -1);
PD_DEFINE_SCOPED_int32(a_scoped, 1, "Another value in one thread");
static int32_t native(int32_t n) { return n + 1; }
PD_DEFINE_OP(a_step, int32_t, (int32_t), native, "The number after n, by whoever does it best");
#define SCOPED PD_SCOPED(a_scoped)
#define SCOPED_FLAG PD_SCOPED_FLAG(a_scoped)
#define OWN_LEVEL FLAGS_a_level
#define OWN_MODE FLAGS_a_mode
#define OTHER_LEVEL FLAGS_b_level
#else
PD_DEFINE_int32(b_level, 1, "Level of b", .min = 0, .max = 99);
PD_DEFINE_string(b_mode, "none", "Mode of b", .choices = "none|bm|bm2");
PD_IMPORT_int32(a_level, -1);
PD_IMPORT_SCOPED_int32(a_scoped, 1);
static int32_t fallback(int32_t n) { return n - 1; }
static int32_t better(int32_t n) { return n + 2; }
/* A module stays loaded once another one can call it: not in a case that is to unload it. */
static const char *usable(void) { return MUST_LEAVE ? "b must leave" : NULL; }
PD_IMPORT_OP(a_step, int32_t, (int32_t), fallback);
PD_IMPL(a_step, better, better, .rank = 100, .usable = usable);
#define SCOPED PD_SCOPED(a_scoped)
#define SCOPED_FLAG PD_SCOPED_FLAG(a_scoped)
#define OWN_LEVEL FLAGS_b_level
#define OWN_MODE FLAGS_b_mode
#define OTHER_LEVEL FLAGS_a_level
#endif

/* From common.c, which is compiled into both, or into a alone. */
#if HAS_COMMON
PD_DECLARE_int32(common_n);
#else
PD_IMPORT_int32(common_n, -1);
#endif

EXPORT int NAME(_own_level)(void);
EXPORT int NAME(_own_level)(void) { return OWN_LEVEL; }
EXPORT const char *NAME(_own_mode)(void);
EXPORT const char *NAME(_own_mode)(void) { return OWN_MODE; }
EXPORT int NAME(_other_level)(void);
EXPORT int NAME(_other_level)(void) { return OTHER_LEVEL; }
EXPORT int NAME(_common)(void);
EXPORT int NAME(_common)(void) { return FLAGS_common_n; }

EXPORT int NAME(_scoped)(void);
EXPORT int NAME(_scoped)(void) { return SCOPED; }
EXPORT int NAME(_step)(int n);
EXPORT int NAME(_step)(int n) { return PD_CALL(a_step)(n); }

#if COPY && SCOPES
/* With a text, opens a scope of this thread; with NULL, ends it. */
EXPORT int NAME(_scope)(const char *text, char *message);
EXPORT int NAME(_scope)(const char *text, char *message) {
  static pd_scope scope;
  pd_error err = {PD_OK, ""};
  pd_assignment item = {SCOPED_FLAG, text, PD_TYPE_int32, {0}};
  pd_status status =
      text ? pd_scope_push(&item, 1, NULL, NULL, &scope, &err) : pd_scope_pop(scope, &err);
  snprintf(message, 1020, "%s", err.message);
  return status;
}
#endif

#if COPY
EXPORT int NAME(_parse)(int argc, char **argv, char *message);
EXPORT int NAME(_parse)(int argc, char **argv, char *message) {
  pd_error err = {PD_OK, ""};
  pd_parse_options options = {.size = sizeof options, .allow_pending = true};
  pd_status status = pd_parse_argv(&argc, argv, &options, &err);
  snprintf(message, 1020, "%s", err.message);
  return status;
}

EXPORT int NAME(_set)(const char *name, const char *text, char *message);
EXPORT int NAME(_set)(const char *name, const char *text, char *message) {
  pd_error err = {PD_OK, ""};
  pd_flag *flag;
  pd_status status = pd_flag_find(name, &flag, &err);
  if (status == PD_OK) status = pd_flag_set_from_string(flag, text, &err);
  snprintf(message, 1020, "%s", err.message);
  return status;
}
#endif
