/* Windows. This library uses UTF-8 for paths, messages and the environment. */
#ifdef _WIN32
#define _CRT_RAND_S /* declares rand_s */
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#endif

#include "platform.h"

#ifdef _WIN32

#include <locale.h>
#include <pd_flags/image_pe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "../base/text.h"

#if !__USE_MINGW_ANSI_STDIO
#error "compile with -D__USE_MINGW_ANSI_STDIO=1: Microsoft's printf lacks what C asks for"
#endif

/* Returns a function of ntdll, which isn't linked. */
static pd__procedure get_ntdll_function(const char *name) {
  return pd__get_procedure(pd__get_module("ntdll.dll"), name);
}

/* ---- Lock ---- */

static SRWLOCK lock = SRWLOCK_INIT;

/* RtlDllShutdownInProgress; NULL in copies that don't host the registry. */
static BOOLEAN(NTAPI *is_ending)(void);

/* When the process exits, Windows has killed all threads but one; a killed thread may have held the
 * lock. */
void pd__platform_lock(void) {
  if (!is_ending || !is_ending()) AcquireSRWLockExclusive(&lock);
}

void pd__platform_unlock(void) {
  if (!is_ending || !is_ending()) ReleaseSRWLockExclusive(&lock);
}

void pd__platform_release_fork_lock(pd__fork_state *out) {
  *out = (pd__fork_state){.released = false};
}
void pd__platform_reacquire_fork_lock(const pd__fork_state *released) { (void)released; }

uintptr_t pd__platform_thread_id(void) { return GetCurrentThreadId(); }

void pd__platform_yield(void) { Sleep(0); }

#define TO_1970 116444736000000000 /* from 1601, in units of 100 ns */

int64_t pd__platform_get_wall_ms(void) {
  FILETIME now;
  GetSystemTimeAsFileTime(&now);
  uint64_t ticks = (uint64_t)now.dwHighDateTime << 32 | now.dwLowDateTime;
  return ((int64_t)ticks - TO_1970) / 10000;
}

/* Windows has no fork, so `in_child` is never called. */
void pd__platform_pin_and_watch_forks(const pd_copy_record *own, void (*in_child)(void)) {
  (void)in_child;
  HMODULE image;
  DWORD how = GET_MODULE_HANDLE_EX_FLAG_PIN | GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS;
  GetModuleHandleExW(how, (const wchar_t *)(const void *)own, &image);
  is_ending = (BOOLEAN(NTAPI *)(void))get_ntdll_function("RtlDllShutdownInProgress");
}

/* The loader's lock is recursive. */
uintptr_t pd__platform_acquire_loader_lock(void) {
  ULONG_PTR cookie = 0;
  pd__procedure found = get_ntdll_function("LdrLockLoaderLock");
  ((LONG(NTAPI *)(ULONG, ULONG *, ULONG_PTR *))found)(0, NULL, &cookie);
  return cookie;
}

void pd__platform_release_loader_lock(uintptr_t entered) {
  pd__procedure found = get_ntdll_function("LdrUnlockLoaderLock");
  ((LONG(NTAPI *)(ULONG, ULONG_PTR))found)(0, entered);
}

/* ---- Text ---- */

/* The caller frees the result. NULL if memory is out. */
static char *to_utf8(const wchar_t *text, int length) {
  int size = WideCharToMultiByte(CP_UTF8, 0, text, length, NULL, 0, NULL, NULL);
  char *out = malloc((size_t)size + 1);
  if (!out) return NULL;
  WideCharToMultiByte(CP_UTF8, 0, text, length, out, size, NULL, NULL);
  out[size] = '\0';
  return out;
}

/* The caller frees the result. NULL if memory is out or the text isn't UTF-8. */
static wchar_t *to_wide(const char *text) {
  int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
  wchar_t *out = size ? malloc((size_t)size * sizeof *out) : NULL;
  if (out) MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, out, size);
  return out;
}

/* Returns the absolute path; the caller frees it. NULL if memory is out or the path isn't UTF-8. */
static wchar_t *get_full_path(const char *path) {
  wchar_t *given = to_wide(path);
  DWORD size = given ? GetFullPathNameW(given, 0, NULL, NULL) : 0;
  wchar_t *out = size ? malloc(size * sizeof *out) : NULL;
  if (out) GetFullPathNameW(given, size, out, NULL);
  free(given);
  return out;
}

/* ---- Images ---- */

typedef struct walk {
  pd__records kind;
  const void *inside; /* NULL means every image */
  pd__visitor *visit;
  void *context;
} walk;

static void visit_image(const pd__image *image, void *context, unsigned char *stop) {
  walk *run = context;
  uint32_t least = (uint32_t)pd__record_min_size(run->kind);
  const pd__note *note = NULL;
  uintptr_t low = (uintptr_t)image->base, high = low + image->size;
  if (run->inside && ((uintptr_t)run->inside < low || (uintptr_t)run->inside >= high)) return;
  char *path = to_utf8(image->path, image->path_size / (int)sizeof(wchar_t));
  pd__platform_image described = {.path = path ? path : "", .low = low, .high = high};
  if (run->kind == PD__NO_RECORDS) run->visit(&described, run->context);
  while (run->kind && (note = pd__next_note(image, note, run->kind, least))) {
    described.record = note->record;
    run->visit(&described, run->context);
  }
  free(path);
  *stop = run->inside != NULL;
}

void pd__platform_visit_records(pd__records kind, const void *inside, pd__visitor *visit,
                                void *context) {
  walk run = {.kind = kind, .inside = inside, .visit = visit, .context = context};
  pd__each_image(visit_image, &run);
}

static void (*at_thread_exit)(void *argument);
static _Thread_local void *exit_argument;

static void NTAPI run_thread_exit(void *argument) {
  exit_argument = NULL;
  if (argument) at_thread_exit(argument);
}

bool pd__platform_at_thread_exit(void (*function)(void *argument), void *argument) {
  static DWORD slot = FLS_OUT_OF_INDEXES;
  at_thread_exit = function;
  if (slot == FLS_OUT_OF_INDEXES) slot = FlsAlloc(run_thread_exit);
  bool set = slot != FLS_OUT_OF_INDEXES && FlsSetValue(slot, argument);
  if (set) exit_argument = argument;
  return set;
}

void *pd__platform_get_exit_argument(void) { return exit_argument; }

void *pd__platform_retain_image(const char *path, uintptr_t low, uintptr_t high) {
  HMODULE image = NULL;
  DWORD error = GetLastError();
  (void)path;
  GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const wchar_t *)low, &image);
  if (image && ((uintptr_t)image < low || (uintptr_t)image >= high)) {
    FreeLibrary(image);
    image = NULL;
  }
  SetLastError(error);
  return image;
}

/* ---- Files ---- */

/* Returns the system's one-line text for an error, or `instead`. Valid until the next call on this
 * thread. */
static const char *get_system_message(DWORD code, const char *instead) {
  static _Thread_local char why[400];
  wchar_t words[400] = L"";
  DWORD how = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS;
  DWORD length = FormatMessageW(how, NULL, code, 0, words, 400, NULL);
  while (length > 0 && wcschr(L"\r\n .", words[length - 1])) length--;
  char *text = to_utf8(words, (int)length);
  snprintf(why, sizeof why, "%s", text && *text ? text : instead);
  free(text);
  return why;
}

/* Returns INVALID_HANDLE_VALUE and sets *why if the file can't be opened; *why is `directory` if it
 * is a directory. */
static HANDLE open_for_reading(const wchar_t *full, const char *directory, const char **why) {
  DWORD share = FILE_SHARE_READ | FILE_SHARE_DELETE | FILE_SHARE_WRITE;
  DWORD attributes = GetFileAttributesW(full);
  bool there = attributes != INVALID_FILE_ATTRIBUTES;
  HANDLE file = INVALID_HANDLE_VALUE;
  *why = there && attributes & FILE_ATTRIBUTE_DIRECTORY ? directory : NULL;
  if (*why) return file;
  if (there) file = CreateFileW(full, GENERIC_READ, share, NULL, OPEN_EXISTING, 0, NULL);
  if (file != INVALID_HANDLE_VALUE) return file;
  DWORD code = GetLastError();
  bool missing = code == ERROR_FILE_NOT_FOUND || code == ERROR_PATH_NOT_FOUND;
  *why = missing ? "no such file" : get_system_message(code, "can't be read");
  return file;
}

/* ---- Opening ---- */

static bool read_at(HANDLE file, uint32_t offset, void *out, uint32_t size) {
  OVERLAPPED place = {.Offset = offset};
  DWORD got = 0;
  return ReadFile(file, out, size, &got, &place) && got == size;
}

static bool is_pe_file_truncated(HANDLE file, uint32_t sections, unsigned count) {
  LARGE_INTEGER size;
  if (!GetFileSizeEx(file, &size)) return false;
  for (unsigned i = 0; i < count; i++) {
    IMAGE_SECTION_HEADER section;
    uint32_t at = sections + i * (uint32_t)sizeof section;
    if (!read_at(file, at, &section, sizeof section)) return true;
    if ((LONGLONG)section.PointerToRawData + section.SizeOfRawData > size.QuadPart) return true;
  }
  return false;
}

static const char *find_pe_fault(HANDLE file) {
  IMAGE_DOS_HEADER dos = {.e_magic = 0};
  struct {
    DWORD signature;
    IMAGE_FILE_HEADER file;
  } header;
  bool whole = read_at(file, 0, &dos, sizeof dos);
  if (dos.e_magic != IMAGE_DOS_SIGNATURE) return "is not a shared library";
  uint32_t at = (uint32_t)dos.e_lfanew;
  if (!whole || !read_at(file, at, &header, sizeof header)) return "is cut short";
  if (header.signature != IMAGE_NT_SIGNATURE) return "is not a shared library";
  if (header.file.Machine != IMAGE_FILE_MACHINE_AMD64) return "was built for another architecture";
  if (!(header.file.Characteristics & IMAGE_FILE_DLL)) {
    return "is a program or an object file, expected a shared library";
  }
  uint32_t sections = at + (uint32_t)sizeof header + header.file.SizeOfOptionalHeader;
  return is_pe_file_truncated(file, sections, header.file.NumberOfSections) ? "is cut short" : NULL;
}

/* Returns the path where the loader searches for the imports of the DLL at `full`: its directory,
 * then PATH, which includes the system directories. The caller frees it. NULL if memory is out. */
static wchar_t *build_search_path(const wchar_t *full) {
  size_t directory = (size_t)(wcsrchr(full, L'\\') - full);
  DWORD size = GetEnvironmentVariableW(L"PATH", NULL, 0);
  wchar_t *out = malloc((directory + size + 2) * sizeof *out);
  if (!out) return NULL;
  wmemcpy(out, full, directory);
  out[directory] = L';';
  out[directory + 1] = L'\0';
  if (size) GetEnvironmentVariableW(L"PATH", out + directory + 1, size);
  return out;
}

static bool is_library_found(const char *name, const wchar_t *directories) {
  wchar_t *wide = to_wide(name), found[4]; /* only the length is needed */
  bool there =
      !wide || GetModuleHandleW(wide) || SearchPathW(directories, wide, NULL, 4, found, NULL) > 0;
  free(wide);
  return there;
}

/* Returns the first import of a mapped image that can't be found, or NULL. */
static const char *find_missing_import(const char *base, const wchar_t *directories) {
  const IMAGE_NT_HEADERS64 *header =
      (const void *)(base + ((const IMAGE_DOS_HEADER *)(const void *)base)->e_lfanew);
  DWORD at = header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT].VirtualAddress;
  const IMAGE_IMPORT_DESCRIPTOR *import = (const void *)(base + at);
  for (; at && import->Name; import++) {
    if (!is_library_found(base + import->Name, directories)) return base + import->Name;
  }
  return NULL;
}

/* The loader doesn't say which DLL is missing, so search for the imports one by one. */
static pd_status fail_missing_import(const char *path, const wchar_t *full, pd_error *err) {
  char escaped[PD__ESCAPED_SIZE];
  char why[PD__ESCAPED_SIZE + 64] = "a library that it needs was not found";
  HMODULE mapped = LoadLibraryExW(full, NULL, LOAD_LIBRARY_AS_IMAGE_RESOURCE);
  wchar_t *directories = build_search_path(full);
  if (mapped && directories) {
    const char *base = (const char *)((uintptr_t)mapped & ~(uintptr_t)3); /* low bits are flags */
    const char *missing = find_missing_import(base, directories);
    if (missing) {
      snprintf(why, sizeof why, "needs %s, which was not found", pd__escape_text(escaped, missing));
    }
  }
  free(directories);
  if (mapped) FreeLibrary(mapped);
  return pd__fail_load(path, why, err);
}

static pd_status open_library(const char *path, const wchar_t *full, void **handle, pd_error *err) {
  const char *why;
  HANDLE file = open_for_reading(full, "is a directory, expected a shared library", &why);
  if (!why) {
    why = find_pe_fault(file);
    CloseHandle(file);
  }
  if (why) return pd__fail_load(path, why, err);
  DWORD mode; /* return errors instead of showing a dialog */
  SetThreadErrorMode(SEM_FAILCRITICALERRORS | SEM_NOOPENFILEERRORBOX, &mode);
  *handle = LoadLibraryExW(full, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
  DWORD code = GetLastError();
  SetThreadErrorMode(mode, NULL);
  if (*handle) return PD_OK;
  if (code == ERROR_MOD_NOT_FOUND) return fail_missing_import(path, full, err);
  return pd__fail_load(path, get_system_message(code, "the loader refused it"), err);
}

pd_status pd__platform_open_library(const char *path, void **handle, const void **inside,
                                    pd_error *err) {
  if (!*path)
    return pd__fail_load(path, "the path is empty, expected that of a shared library", err);
  wchar_t *full = get_full_path(path);
  if (!full) return pd__fail_load(path, "the path is not UTF-8 text", err);
  pd_status status = open_library(path, full, handle, err);
  free(full);
  *inside = *handle;
  return status;
}

void pd__platform_close_library(void *handle) { FreeLibrary(handle); }

/* File names are case-insensitive. */
bool pd__platform_is_same_path(const char *asked, const char *path) {
  wchar_t *left = get_full_path(asked), *right = get_full_path(path);
  bool same = left && right && CompareStringOrdinal(left, -1, right, -1, TRUE) == CSTR_EQUAL;
  free(left);
  free(right);
  return same;
}

/* ---- Reading ---- */

static const char *read_whole_file(pd__arena *arena, HANDLE file, size_t most, char **out,
                                   size_t *length) {
  LARGE_INTEGER size;
  DWORD got;
  if (GetFileType(file) != FILE_TYPE_DISK) return "is a device or a pipe, expected a regular file";
  if (!GetFileSizeEx(file, &size)) return get_system_message(GetLastError(), "can't be read");
  if ((uint64_t)size.QuadPart > most) return PD__TOO_BIG;
  *out = pd__arena_alloc(arena, (size_t)size.QuadPart + 1);
  if (!*out) return NULL;
  if (!ReadFile(file, *out, (DWORD)size.QuadPart, &got, NULL)) {
    return get_system_message(GetLastError(), "can't be read");
  }
  *length = got;
  return NULL;
}

const char *pd__platform_read_file(pd__arena *arena, const char *path, size_t most, char **out,
                                   size_t *length) {
  const char *why;
  if (!*path) return "the path is empty";
  wchar_t *full = get_full_path(path);
  if (!full) return "the path isn't UTF-8";
  HANDLE file = open_for_reading(full, "is a directory, expected a regular file", &why);
  free(full);
  if (!why) {
    why = read_whole_file(arena, file, most, out, length);
    CloseHandle(file);
  }
  return why ? pd__arena_copy_text(arena, why, strlen(why)) : NULL;
}

/* ---- Random bytes ---- */

/* rand_s uses RtlGenRandom and spares this library an import of its DLL. */
bool pd__platform_fill_random(void *out, size_t size) {
  for (size_t i = 0; i < size; i++) {
    unsigned word;
    if (rand_s(&word) != 0) return false;
    ((unsigned char *)out)[i] = (unsigned char)word;
  }
  return true;
}

/* ---- Environment and locale ---- */

/* The text is interned, so it stays valid. */
const char *pd__platform_getenv(const char *variable) {
  wchar_t *name = to_wide(variable);
  DWORD size = name ? GetEnvironmentVariableW(name, NULL, 0) : 0;
  wchar_t *text = size ? malloc(size * sizeof *text) : NULL;
  bool whole = text && GetEnvironmentVariableW(name, text, size) < size;
  char *copy = whole ? to_utf8(text, -1) : NULL;
  const char *out = pd__intern_text(copy);
  free(copy);
  free(text);
  free(name);
  return out;
}

char *pd__platform_copy_environment(void) {
  wchar_t *variables = GetEnvironmentStringsW();
  const wchar_t *end = variables;
  while (end && *end) end += wcslen(end) + 1;
  char *copy = end ? to_utf8(variables, (int)(end - variables) + 1) : NULL;
  if (variables) FreeEnvironmentStringsW(variables);
  return copy;
}

static char lower_letter(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* Names of flags are ASCII. */
bool pd__platform_is_same_variable(const char *a, const char *b, size_t length) {
  size_t i = 0;
  while (i < length && a[i] && lower_letter(a[i]) == lower_letter(b[i])) i++;
  return i == length;
}

/* Like strtod, but with `point` in place of the decimal point, which `text` must have. Returns
 * false if not all of the text was read. */
static bool read_with_point(const char *text, const char *point, double *out) {
  size_t whole = strcspn(text, ".");
  char *end, *copy = malloc(strlen(text) + strlen(point) + 1);
  if (!copy) return false;
  sprintf(copy, "%.*s%s%s", (int)whole, text, point, text + whole + 1);
  *out = strtod(copy, &end);
  bool all = !*end;
  free(copy);
  return all;
}

/* Microsoft's _strtod_l takes a locale, but doesn't read hexadecimal numbers, inf or nan, and older
 * versions round wrongly. MinGW's strtod expects the decimal point of the process's locale, which
 * another thread may change at any time. */
double pd__platform_strtod(const char *text) {
  char *end;
  double value = strtod(text, &end);
  for (int tries = 0; *end && tries < 9; tries++) {
    if (read_with_point(text, localeconv()->decimal_point, &value)) break;
  }
  return value;
}

#endif /* _WIN32 */
