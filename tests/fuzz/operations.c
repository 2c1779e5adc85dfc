/* Operations: records with hostile texts, names and codes, values of impl.<name>, what a definition
 * says of arrays, and arrays against that. */
#include "fuzz.h"

enum { RECORDS = 8, TEXTS = 16 };

typedef double function(double x);
static double one(double x) { return x; }
static double two(double x) { return x + x; }
static double own(double x) { return -x; }

int LLVMFuzzerInitialize(int *argc, char ***argv) {
  (void)argc;
  (void)argv;
  return 0;
}

typedef struct texts {
  size_t count;
  char *at[TEXTS];
} texts;

static const char *choose(fuzz_bytes *in, const texts *from) {
  uint8_t byte = fuzz_byte(in);
  return byte == 0 || from->count == 0 ? NULL : from->at[byte % from->count];
}

/* ---- Records ---- */

static const char *answer; /* of `usable` */
static const char *usable(void) { return answer; }

typedef struct given {
  pd_op_def def;
  pd_op_signature signature;
  pd_scoped_slot slot;
  pd_impl number; /* 0: refused */
} given;

static void read_record(fuzz_bytes *in, const texts *from, given *out) {
  uint8_t bits = fuzz_byte(in);
  const char *names[] = {"pow", "sum", choose(in, from)};
  void (*functions[])(void) = {NULL, (void (*)(void))one, (void (*)(void))two};
  *out = (given){.slot = {(void (*)(void))own, NULL, NULL}};
  out->signature.name = names[bits % 3];
  out->signature.text = bits & 128 ? choose(in, from) : "double (double)";
  for (size_t i = 0; i < sizeof out->signature.types; i++) {
    out->signature.types[i] = bits & 64 ? fuzz_byte(in) : i < 2 ? PD_CODE_DOUBLE : 0;
  }
  out->def = (pd_op_def){.size = fuzz_byte(in) == 1 ? 24 : sizeof(pd_op_def),
                         .kind = 2 + fuzz_byte(in) % 4,
                         .scoped = bits & 8,
                         .line = fuzz_byte(in),
                         .name = choose(in, from),
                         .file = choose(in, from),
                         .signature = fuzz_byte(in) == 7 ? NULL : &out->signature};
  out->def.slot = bits & 16 ? &out->slot.function : NULL;
  out->def.choice.function = functions[fuzz_byte(in) % 3];
  out->def.choice.rank = (int8_t)fuzz_byte(in);
  out->def.choice.usable = bits & 32 ? usable : NULL;
  out->def.about.help = choose(in, from);
  out->def.about.arrays = choose(in, from);
}

static void add(given *of) {
  pd_error err;
  pd_status status = pd_impl_register(&of->def, &of->number, &err);
  if (status == PD_OK) {
    REQUIRE(of->number != 0);
  } else {
    fuzz_check_message(&err, status);
  }
}

/* A slot with a function of its own always has one. */
static void check_slots(const given *all, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!all[i].number || !all[i].def.slot || !all[i].def.choice.function) continue;
    function *runs = (function *)all[i].slot.function;
    REQUIRE(runs == one || runs == two);
    if (all[i].slot.find) {
      runs = (function *)all[i].slot.find(&all[i].slot);
      REQUIRE(runs == one || runs == two);
    }
  }
}

/* ---- Choosing ---- */

static void set(pd_op *op, const char *text) {
  pd_error err;
  pd_scope scope = 0;
  pd_op_info info = {.size = sizeof info};
  REQUIRE(pd_op_get_info(op, &info, NULL) == PD_OK);
  if (!info.flag) return;
  pd_status status = pd_flag_set_from_string(info.flag, text, &err);
  if (status != PD_OK) fuzz_check_message(&err, status);
  pd_assignment item = {.flag = info.flag, .text = text};
  status = pd_scope_push(&item, 1, NULL, NULL, &scope, &err);
  if (status != PD_OK) fuzz_check_message(&err, status);
}

static void look(pd_op *op) {
  pd_error err;
  pd_impl_info runs = {.size = sizeof runs};
  pd_op_info info = {.size = sizeof info};
  REQUIRE(pd_op_get_info(op, &info, NULL) == PD_OK);
  for (size_t i = 0; i < info.impls; i++) {
    pd_impl_info impl = {.size = sizeof impl};
    REQUIRE(pd_op_get_impl(op, i, &impl, NULL) == PD_OK);
    REQUIRE(impl.chosen == (i == info.winner) && (!impl.chosen || impl.function));
  }
  if (pd_op_choose(op, &runs, &err) == PD_OK) REQUIRE(runs.index < info.impls);
}

/* ---- Arrays ---- */

typedef struct tensor {
  void *data;
  int32_t device, device_number, dimensions;
  uint8_t type, bits;
  uint16_t lanes;
  const int64_t *shape, *strides;
  uint64_t offset;
} tensor;

static void check_arrays(fuzz_bytes *in, pd_op *op) {
  int64_t shape[3][4], strides[3][4];
  tensor tensors[3];
  const void *at[3];
  pd_error err;
  for (int i = 0; i < 3; i++) {
    for (int j = 0; j < 4; j++) shape[i][j] = fuzz_byte(in) % 4, strides[i][j] = fuzz_byte(in);
    uint8_t bits = fuzz_byte(in);
    tensors[i] = (tensor){.device = 1 + (bits & 1),
                          .dimensions = fuzz_byte(in) % 5,
                          .type = fuzz_byte(in) % 8,
                          .bits = (uint8_t)(8U << bits % 5),
                          .lanes = 1,
                          .shape = shape[i],
                          .strides = bits & 64 ? strides[i] : NULL};
    at[i] = bits & 128 ? &tensors[i] : i ? &tensors[i] : NULL;
  }
  pd_status status = pd_op_check_arrays(op, at, fuzz_byte(in) % 4, &err);
  if (status != PD_OK) fuzz_check_message(&err, status);
}

static void use(fuzz_bytes *in, const texts *from, const given *all, size_t count) {
  for (pd_op *op = NULL; (op = pd_op_next(op));) {
    look(op);
    const char *text = choose(in, from);
    if (text) set(op, text);
    answer = choose(in, from);
    if (fuzz_byte(in) % 3 == 0) pd_op_check_again(op, NULL);
    check_arrays(in, op);
    check_slots(all, count);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size > FUZZ_MOST) return -1;
  fuzz_bytes in = {data, data + size};
  texts from = {0};
  given all[RECORDS];
  size_t count = fuzz_byte(&in) % (RECORDS + 1);
  fuzz_bytes numbers = {in.at, in.at + (size > 200 ? 160 : size / 2)};
  if (numbers.end > in.end) numbers.end = in.end;
  in.at = numbers.end;
  while (from.count < TEXTS && in.at < in.end) from.at[from.count++] = fuzz_text(&in, '\0');
  answer = NULL;
  for (size_t i = 0; i < count; i++) {
    read_record(&numbers, &from, &all[i]);
    add(&all[i]);
    check_slots(all, i + 1);
  }
  use(&numbers, &from, all, count);
  for (size_t i = 0; i < count; i++) {
    if (all[i].number) REQUIRE(pd_impl_unregister(all[i].number, NULL) == PD_OK);
    REQUIRE(!all[i].number || (function *)all[i].slot.function == own || all[i].def.slot);
  }
  for (pd_op *op = NULL; (op = pd_op_next(op));) {
    pd_op_info info = {.size = sizeof info};
    REQUIRE(pd_op_get_info(op, &info, NULL) == PD_OK && info.impls == 0);
  }
  answer = NULL; /* it was one of the texts */
  for (size_t i = 0; i < from.count; i++) free(from.at[i]);
  return 0;
}
