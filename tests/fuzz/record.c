/* The module record, as docs/reference/abi.md tells it. The first byte chooses between a record
 * with hostile definitions, an image with hostile notes, and a file with a hostile ELF
 * header. What a pointer leads to is sound, as nobody could check that. */
#define _GNU_SOURCE
#include <link.h>

#include "fuzz.h"
#include "module/module.h"
#include "platform/platform.h"
#include "platform/posix.h"

#define DEFS_MOST 6
#define TEXTS_MOST 24

static int file;

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  file = fuzz_file(0);
  return 0;
}

/* ---- A record with definitions ---- */

static pd_module_record record; /* in the image of this program */
static uint64_t cells[DEFS_MOST];

typedef struct texts {
  size_t count;
  char *at[TEXTS_MOST];
} texts;

static bool accept_some(const pd_flag_entry *const *entries, void *context, char *why,
                        size_t size) {
  (void)context;
  (void)why;
  (void)size;
  /* Of a text its length: the address differs when a sensitive one is given again. */
  bool text = entries[0]->type == PD_TYPE_string;
  return (text ? strlen(entries[0]->value.str) : entries[0]->value.u64) % 7 != 3;
}

static void watch(pd_flag *flag, void *context) {
  (void)context;
  free(fuzz_value(flag));
}

static const char *choose(fuzz_bytes *in, const texts *from) {
  uint8_t byte = fuzz_byte(in);
  return byte == 0 || from->count == 0 ? NULL : from->at[byte % from->count];
}

static pd_value value_of(fuzz_bytes *in, uint8_t type, const texts *from) {
  pd_value value = {.u64 = 0};
  if (type == PD_TYPE_string) {
    value.str = choose(in, from);
  } else if (type == PD_TYPE_bool) {
    value.b = fuzz_byte(in) & 1;
  } else {
    for (uint8_t left = fuzz_byte(in) % 9; left > 0; left--) {
      value.u64 = value.u64 << 8 | fuzz_byte(in);
    }
  }
  return value;
}

static void read_use(fuzz_bytes *in, pd_flag_def *def, const texts *from) {
  uint8_t bits = fuzz_byte(in);
  def->hidden = bits & 1;
  def->read_only = bits & 2;
  def->startup_only = bits & 4;
  def->sensitive = bits & 8;
  def->experimental = bits & 16;
  def->required = bits & 32;
  def->validate = bits & 64 ? accept_some : NULL;
  def->watch = bits & 128 ? watch : NULL;
  def->help = choose(in, from);
  def->file = choose(in, from);
  def->category = choose(in, from);
  def->module = choose(in, from);
  def->deprecated = choose(in, from);
  def->retired = choose(in, from);
}

/* ---- Operations ---- */

static pd_op_signature signatures[DEFS_MOST];
static pd_scoped_slot slots[DEFS_MOST];
static const char *reason; /* that `usable` gives */

static void own(void) {}
static void other(void) {}
static const char *usable(void) { return reason; }

static void *in_block(const void *from, uint32_t size, size_t most) {
  size_t held = size < 4 ? 4 : size < most ? size : most;
  return memcpy(malloc(held), from, held);
}

static void *read_op(fuzz_bytes *in, const texts *from, pd_op_def def, int number) {
  pd_op_signature *signature = &signatures[number];
  uint8_t bits = fuzz_byte(in);
  *signature = (pd_op_signature){bits & 1 ? "pow" : choose(in, from),
                                 bits & 2 ? "double (double)" : choose(in, from),
                                 {PD_CODE_DOUBLE, PD_CODE_DOUBLE}};
  for (size_t i = 0; bits & 4 && i < sizeof signature->types; i++) {
    signature->types[i] = fuzz_byte(in);
  }
  def.scoped = bits & 8;
  def.line = fuzz_byte(in);
  def.name = bits & 16 ? "native" : choose(in, from);
  def.file = choose(in, from);
  def.signature = bits & 32 ? NULL : signature;
  if (fuzz_byte(in)) def.slot = &slots[number].function;
  bits = fuzz_byte(in);
  def.choice.function = bits & 1 ? NULL : bits & 2 ? other : own;
  def.choice.rank = (int8_t)fuzz_byte(in);
  def.choice.usable = bits & 4 ? usable : NULL;
  def.about.help = choose(in, from);
  def.about.arrays = choose(in, from);
  slots[number] = (pd_scoped_slot){def.choice.function, NULL, NULL};
  return in_block(&def, def.size, sizeof def);
}

/* Slots of nobody hold what they held at first. */
static void check_slots(pd_flag_def *const *defs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    const pd_op_def *def = (const pd_op_def *)(const void *)defs[i];
    bool is_op = def->size >= sizeof *def && def->kind >= PD_KIND_OP && def->kind <= PD_KIND_IMPL;
    if (!is_op || !def->slot) continue;
    REQUIRE(*def->slot == def->choice.function && !slots[i].find);
  }
}

static void choose_some(const texts *from) {
  pd_error err;
  for (pd_op *op = NULL; (op = pd_op_next(op));) {
    pd_op_info info = {.size = sizeof info};
    REQUIRE(pd_op_get_info(op, &info, NULL) == PD_OK);
    for (size_t i = 0; info.flag && i < from->count; i++) {
      pd_status status = pd_flag_set_from_string(info.flag, from->at[i], &err);
      if (status != PD_OK) fuzz_check_message(&err, status);
    }
    REQUIRE(info.winner <= info.impls);
  }
}

/* ---- A definition ---- */

/* Of any size, in a block of no more than that. */
static pd_flag_def *read_def(fuzz_bytes *in, const texts *from, int number) {
  uint64_t *cell = &cells[number];
  pd_flag_def def = {.size = sizeof def};
  uint8_t size = fuzz_byte(in);
  def.type = fuzz_byte(in);
  def.kind = fuzz_byte(in);
  bool is_op = def.kind >= PD_KIND_OP && def.kind <= PD_KIND_IMPL;
  if (is_op) def.size = sizeof(pd_op_def);
  if (size >= 0xfe) def.size = size == 0xff ? 0xfffffff8U : def.size + 24;
  if (size > 0 && size < 0xfe) def.size = size;
  if (is_op) {
    pd_op_def op = {.size = def.size, .type = def.type, .kind = def.kind};
    return read_op(in, from, op, number);
  }
  def.list = fuzz_byte(in);
  def.line = fuzz_byte(in);
  def.name = choose(in, from);
  def.aliases = choose(in, from);
  def.old_names = choose(in, from);
  def.choices = choose(in, from);
  def.unit = choose(in, from);
  def.default_value = value_of(in, def.type, from);
  def.min = value_of(in, def.type == PD_TYPE_string ? PD_TYPE_int64 : def.type, from);
  def.max = value_of(in, def.type == PD_TYPE_string ? PD_TYPE_int64 : def.type, from);
  read_use(in, &def, from);
  def.cell = fuzz_byte(in) & 1 ? NULL : cell;
  return in_block(&def, def.size, sizeof def);
}

static pd_flag *find(const char *name) {
  pd__platform_lock();
  pd_flag *flag = pd__names_find_defined_node(name, strlen(name));
  pd__platform_unlock();
  return flag;
}

/* A refused module has nothing defined, and its cells are as they were. */
static void check_refused(void) {
  static const uint64_t zeros[DEFS_MOST];
  REQUIRE(!memcmp(cells, zeros, sizeof cells));
}

/* Flags of a module that joined: give them values; unloaded and loaded again, they
 * have them again. */
static void use_module(const pd_module *module, const texts *from, size_t flags) {
  pd_error err;
  char *text[DEFS_MOST] = {NULL};
  pd_flag *flag;
  for (size_t i = 0; i < flags; i++) {
    REQUIRE(pd_module_get_flag(module, i, &flag, NULL) == PD_OK);
    for (size_t j = 0; j < from->count; j++) {
      pd_status status = pd_flag_set_from_string(flag, from->at[j], &err);
      if (status != PD_OK) fuzz_check_message(&err, status);
    }
    text[i] = fuzz_value(flag);
  }
  pd_module_info info = {.size = sizeof info};
  pd__module_leave(&record);
  REQUIRE(!record.host && !record.state);
  pd__module_join(&record);
  REQUIRE(pd_module_get_info(module, &info, NULL) == PD_OK);
  REQUIRE(info.status == PD_OK && info.flags == flags);
  for (size_t i = 0; i < flags; i++) {
    REQUIRE(pd_module_get_flag(module, i, &flag, NULL) == PD_OK);
    char *again = fuzz_value(flag);
    REQUIRE(!strcmp(text[i], again));
    pd_flag_reset(flag, NULL);
    free(text[i]);
    free(again);
  }
}

static void check_gone(pd_flag_def *const *defs, size_t count) {
  for (size_t i = 0; i < count; i++) {
    bool named = defs[i]->size >= offsetof(pd_flag_def, help) && defs[i]->name;
    if (named) REQUIRE(!find(defs[i]->name));
  }
}

static void check_record(fuzz_bytes *in) {
  texts from = {0};
  pd_flag_def *defs[DEFS_MOST];
  size_t count = fuzz_byte(in) % (DEFS_MOST + 1);
  fuzz_bytes numbers = {in->at, in->at};
  uint8_t length = fuzz_byte(in);
  numbers.at = in->at;
  while (length-- > 0 && in->at < in->end) in->at++;
  numbers.end = in->at;
  while (from.count < TEXTS_MOST && in->at < in->end) from.at[from.count++] = fuzz_text(in, '\0');
  for (size_t i = 0; i < count; i++) defs[i] = read_def(&numbers, &from, (int)i);
  memset(cells, 0, sizeof cells);
  record = (pd_module_record){PD_ABI_VERSION, sizeof record, NULL, NULL, NULL, NULL, NULL};
  record.defs = (const pd_flag_def *const *)defs;
  record.defs_end = record.defs + count;
  pd__module_join(&record);
  REQUIRE(record.state && record.host);
  pd_module_info info = {.size = sizeof info};
  REQUIRE(pd_module_get_info(record.state, &info, NULL) == PD_OK);
  reason = choose(&numbers, &from);
  choose_some(&from);
  if (info.status == PD_OK) {
    use_module(record.state, &from, info.flags);
  } else {
    check_refused();
    check_slots(defs, count);
  }
  pd__module_leave(&record);
  pd__module_leave(&record);
  check_gone(defs, count);
  check_slots(defs, count);
  reason = NULL; /* it was one of the texts */
  for (size_t i = 0; i < count; i++) free(defs[i]);
  for (size_t i = 0; i < from.count; i++) free(from.at[i]);
}

/* ---- An image with notes ---- */

#define WRITABLE 128
#define PLACE 64 /* of a sound record in it; all else is zeros */

static struct dl_phdr_info *image; /* that the loader knows too; NULL: none */
static char *writable;

int __real_dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *);
int __wrap_dl_iterate_phdr(int (*)(struct dl_phdr_info *, size_t, void *), void *);
int __wrap_dl_iterate_phdr(int (*visit)(struct dl_phdr_info *, size_t, void *), void *context) {
  int result = image ? visit(image, sizeof *image, context) : 0;
  return result ? result : __real_dl_iterate_phdr(visit, context);
}

/* A record lies whole in the writable memory of its image. */
static void check_place(const pd__platform_image *of, void *size) {
  if (strcmp(of->path, "hostile.so") != 0) return;
  uintptr_t offset = (uintptr_t)of->record - (uintptr_t)writable;
  REQUIRE(offset <= WRITABLE - *(size_t *)size && offset % sizeof(void *) == 0);
}

static void visit_image(void) {
  size_t module = sizeof(pd_module_record), copy = sizeof(pd_copy_record);
  pd__platform_visit_records(PD__RECORDS_OF_MODULES, NULL, check_place, &module);
  pd__platform_visit_records(PD__RECORDS_OF_COPIES, NULL, check_place, &copy);
  pd__members_join_loaded(NULL);
}

static uint64_t wide(fuzz_bytes *in) {
  uint64_t number = 0;
  for (int i = 0; i < 8; i++) number = number << 8 | fuzz_byte(in);
  return number;
}

/* Of the program headers, those of notes may say anything. */
static ElfW(Phdr) read_segment(fuzz_bytes *in, uintptr_t text, uint64_t size) {
  uint8_t bits = fuzz_byte(in);
  ElfW(Phdr) segment = {.p_type = PT_NOTE, .p_align = bits & 1 ? 8 : 4, .p_flags = PF_R};
  segment.p_vaddr = text + (bits & 2 ? wide(in) : fuzz_byte(in) * 4U);
  segment.p_memsz = bits & 4 ? wide(in) : bits & 8 ? fuzz_byte(in) : size - fuzz_byte(in) * 4U;
  return segment;
}

static void check_image(fuzz_bytes *in) {
  static const pd_flag_def def = {.size = sizeof def,
                                  .type = PD_TYPE_bool,
                                  .name = "noted",
                                  .cell = &cells[0],
                                  .max = {.b = true}};
  static const pd_flag_def *const list[] = {&def, NULL};
  ElfW(Phdr) segments[5] = {{.p_type = PT_LOAD, .p_flags = PF_R},
                            {.p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_memsz = WRITABLE}};
  uint8_t notes = fuzz_byte(in) % 4, abi = fuzz_byte(in);
  const uint8_t *start = in->at;
  size_t head = (size_t)notes * 17 < (size_t)(in->end - start) ? notes * 17U : 0;
  fuzz_bytes numbers = {start, start + head};
  size_t size = (size_t)(in->end - start) - head;
  char *text = malloc(size + 1);
  if (size) memcpy(text, start + head, size);
  writable = calloc(1, WRITABLE);
  pd_module_record *sound = (void *)(writable + PLACE);
  *sound = (pd_module_record){abi ? abi : 1, sizeof *sound, list, list + 2, NULL, NULL, NULL};
  uintptr_t base = (uintptr_t)text & ~(uintptr_t)0xfff;
  segments[0].p_vaddr = (uintptr_t)text - base;
  segments[0].p_memsz = size;
  segments[1].p_vaddr = (uintptr_t)writable - base;
  for (int i = 0; i < notes; i++) {
    segments[2 + i] = read_segment(&numbers, (uintptr_t)text - base, size);
  }
  struct dl_phdr_info info = {.dlpi_addr = base, .dlpi_name = "hostile.so"};
  info.dlpi_phdr = segments;
  info.dlpi_phnum = (ElfW(Half))(2 + notes);
  image = &info;
  visit_image();
  image = NULL;
  if (sound->abi == PD_ABI_VERSION) pd__module_leave(sound);
  REQUIRE(!find("noted"));
  free(text);
  free(writable);
}

/* ---- A file ---- */

static void check_file(fuzz_bytes *in) {
  size_t size = (size_t)(in->end - in->at);
  fuzz_write(file, in->at, size);
  const char *complaint = pd__posix_find_library_fault(file, size);
  REQUIRE(complaint || size >= sizeof(ElfW(Ehdr)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  uint8_t mode = fuzz_byte(&in);
  if (mode % 4 == 3) {
    check_file(&in);
  } else if (mode % 4 == 2) {
    check_image(&in);
  } else {
    check_record(&in);
  }
  return 0;
}
