/* Linux with glibc or musl. */
#define _GNU_SOURCE
#include "platform.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- Lock ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void pd__platform_lock(void) { pthread_mutex_lock(&lock); }
void pd__platform_unlock(void) { pthread_mutex_unlock(&lock); }

__attribute__((constructor)) static void prepare_for_fork(void) {
  pthread_atfork(pd__platform_lock, pd__platform_unlock, pd__platform_unlock);
}

uintptr_t pd__platform_thread(void) { return (uintptr_t)pthread_self(); }

/* ---- Images ---- */

static void image_of(const struct dl_phdr_info *info, char program[PATH_MAX],
                     pd__platform_image *image) {
  image->path = info->dlpi_name;
  if (!*image->path) { /* the program itself */
    ssize_t length = readlink("/proc/self/exe", program, PATH_MAX - 1);
    program[length > 0 ? length : 0] = '\0';
    image->path = program;
  }
  image->low = UINTPTR_MAX;
  image->high = 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD) continue;
    uintptr_t low = info->dlpi_addr + segment->p_vaddr;
    if (low < image->low) image->low = low;
    if (low + segment->p_memsz > image->high) image->high = low + segment->p_memsz;
  }
}

/* The module record that a note leads to, or NULL for other people's notes. */
static pd_module_record *record_of(const ElfW(Nhdr) *note, const char *body) {
  if (note->n_type != PD_NOTE_MODULE || note->n_descsz != 4 ||
      note->n_namesz != sizeof PD_NOTE_NAME ||
      memcmp(note + 1, PD_NOTE_NAME, sizeof PD_NOTE_NAME) != 0) {
    return NULL;
  }
  return (pd_module_record *)(body + *(const int32_t *)body);
}

static size_t round_up(size_t size, size_t align) { return (size + align - 1) & ~(align - 1); }

static void visit_notes(const char *at, size_t size, size_t align, pd__platform_visit *visit,
                        const pd__platform_image *image) {
  const char *end = at + size;
  while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
    const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
    size_t head = round_up(sizeof *note + note->n_namesz, align);
    size_t whole = head + round_up(note->n_descsz, align);
    if (whole > (size_t)(end - at)) return;
    pd_module_record *record = record_of(note, at + head);
    if (record) visit(record, image);
    at += whole;
  }
}

static int visit_image(struct dl_phdr_info *info, size_t size, void *visit) {
  (void)size;
  char program[PATH_MAX];
  pd__platform_image image = {.path = NULL};
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_NOTE) continue;
    if (!image.path) image_of(info, program, &image);
    visit_notes((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz,
                segment->p_align == 8 ? 8 : 4, *(pd__platform_visit **)visit, &image);
  }
  return 0;
}

void pd__platform_visit_modules(pd__platform_visit *visit) { dl_iterate_phdr(visit_image, &visit); }

struct search {
  uintptr_t address;
  pd__platform_use *use;
  void *context;
};

static int use_if_it_holds(struct dl_phdr_info *info, size_t size, void *context) {
  (void)size;
  const struct search *search = context;
  char program[PATH_MAX];
  pd__platform_image image;
  image_of(info, program, &image);
  if (search->address < image.low || search->address >= image.high) return 0;
  search->use(&image, search->context);
  return 1;
}

bool pd__platform_with_image(const void *address, pd__platform_use *use, void *context) {
  struct search search = {(uintptr_t)address, use, context};
  return dl_iterate_phdr(use_if_it_holds, &search) != 0;
}

/* ---- Opening ---- */

#if defined(__x86_64__)
#define OUR_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OUR_MACHINE EM_AARCH64
#else
#define OUR_MACHINE EM_NONE /* unknown: the loader decides */
#endif

/* What is wrong with the file in a user's words, or NULL where only the loader
 * can tell. */
static const char *complaint_about(const char *path) {
  struct stat status;
  if (stat(path, &status) != 0) return errno == ENOENT ? "no such file" : strerror(errno);
  if (S_ISDIR(status.st_mode)) return "is a directory, expected a shared library";
  if (!S_ISREG(status.st_mode)) return "is not a file, expected a shared library";
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return strerror(errno);
  ElfW(Ehdr) header;
  ssize_t length = read(fd, &header, sizeof header);
  close(fd);
  if (length < EI_NIDENT || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return "is not a shared library";
  }
  if (header.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      (OUR_MACHINE != EM_NONE && header.e_machine != OUR_MACHINE)) {
    return "was built for another architecture";
  }
  return length == sizeof header ? NULL : "is cut short";
}

/* The loader's words without the path that they often begin with. */
static const char *loader_words(const char *path) {
  const char *words = dlerror();
  if (!words) return "the loader refused it";
  size_t length = strlen(path);
  return strncmp(words, path, length) == 0 && !strncmp(words + length, ": ", 2)
             ? words + length + 2
             : words;
}

static pd_status fail_load(const char *path, const char *why, pd_error *err) {
  char shown[PD__QUOTE_SIZE], reason[PD__QUOTE_SIZE * 4];
  size_t used = 0;
  for (; *why && used < sizeof reason - 1; why++) reason[used++] = *why == '\n' ? ' ' : *why;
  reason[used] = '\0';
  bool fits = strlen(path) < 512 && !strpbrk(path, "\n\r\t");
  return pd__fail(err, PD_ERR_LOAD, "%s: %s", fits ? path : pd__quote(shown, path), reason);
}

/* dlopen takes a name without a slash for a search. */
static void *open_file(const char *path) {
  if (strchr(path, '/')) return dlopen(path, RTLD_NOW | RTLD_LOCAL);
  char *here = malloc(strlen(path) + 3);
  if (!here) return NULL;
  void *handle = dlopen(strcat(strcpy(here, "./"), path), RTLD_NOW | RTLD_LOCAL);
  free(here);
  return handle;
}

pd_status pd__platform_open(const char *path, void **handle, const void **inside, pd_error *err) {
  const char *complaint = complaint_about(path);
  if (complaint) return fail_load(path, complaint, err);
  *handle = open_file(path);
  if (!*handle) return fail_load(path, loader_words(path), err);
  struct link_map *map;
  if (dlinfo(*handle, RTLD_DI_LINKMAP, &map) != 0) {
    fail_load(path, loader_words(path), err);
    dlclose(*handle);
    return PD_ERR_LOAD;
  }
  *inside = map->l_ld;
  return PD_OK;
}

void pd__platform_close(void *handle) { dlclose(handle); }

/* ---- Environment and locale ---- */

const char *pd__platform_getenv(const char *variable) { return secure_getenv(variable); }

double pd__platform_strtod(const char *text) {
  static locale_t c_locale;
  locale_t locale = __atomic_load_n(&c_locale, __ATOMIC_ACQUIRE);
  if (!locale) {
    locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t none = (locale_t)0;
    if (!__atomic_compare_exchange_n(&c_locale, &none, locale, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE)) {
      freelocale(locale);
      locale = none;
    }
  }
  return strtod_l(text, NULL, locale);
}
