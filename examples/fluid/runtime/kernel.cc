#include "executor.h"

#define PD_HEADER_ONLY  // the functions of the registry, without linking it
#include <pd_flags.h>

#include <array>
#include <utility>

#include "../kernels/kernels.h"

namespace fluid {
namespace {

// What the slot holds while no module brings a kernel. It is compared and never called.
void no_kernel() {}

constexpr size_t kOutputs = 4, kInputs = 5, kAttributes = 3;  // one more than kernels have

template <class T, size_t>
using repeat = T;

template <class A, size_t... O, size_t... I, size_t... D>
void call(Function function, A *arrays, const double *attributes, std::index_sequence<O...>,
          std::index_sequence<I...>, std::index_sequence<D...>) {
  using Typed = void (*)(cpu *, repeat<A *, O>..., repeat<const A *, I>..., repeat<double, D>...);
  reinterpret_cast<Typed>(function)(nullptr, &arrays[O]..., &arrays[sizeof...(O) + I]...,
                                    attributes[D]...);
}

template <class A>
using Caller = void (*)(Function, A *, const double *);

template <class A, size_t N>
void call_shape(Function function, A *arrays, const double *attributes) {
  call<A>(function, arrays, attributes, std::make_index_sequence<N / (kInputs * kAttributes)>(),
          std::make_index_sequence<N / kAttributes % kInputs>(),
          std::make_index_sequence<N % kAttributes>());
}

template <class A, size_t... N>
constexpr std::array<Caller<A>, sizeof...(N)> callers(std::index_sequence<N...>) {
  return {{&call_shape<A, N>...}};
}

template <class A>
void call_on(size_t shape, Function function, const std::vector<Tensor *> &tensors,
             const double *attributes) {
  static constexpr auto table =
      callers<A>(std::make_index_sequence<kOutputs * kInputs * kAttributes>());
  A arrays[kOutputs + kInputs] = {};
  for (size_t i = 0; i < tensors.size(); i++) {
    if (!tensors[i]) continue;
    arrays[i] = {static_cast<decltype(A::data)>(tensors[i]->data()), tensors[i]->rows(),
                 tensors[i]->columns()};
  }
  table[shape](function, arrays, attributes);
}

struct Signature {
  std::string text;  // "void (cpu *, f32 *, const f32 *)"
  std::vector<uint8_t> codes;

  void add(size_t count, const std::string &type, uint8_t code) {
    for (size_t i = 0; i < count; i++) text += ", " + type, codes.push_back(code);
  }
};

Signature signature_of(const OpDesc &op, const std::string &dtype) {
  Signature made = {"void (" + op.place + " *", {PD_CODE_VOID, PD_CODE_POINTER + PD_CODE_STRUCT}};
  made.add(op.outputs.size(), dtype + " *", PD_CODE_POINTER + PD_CODE_STRUCT);
  made.add(op.inputs.size(), "const " + dtype + " *", PD_CODE_CONST_POINTER + PD_CODE_STRUCT);
  made.add(op.attributes.size(), "double", PD_CODE_DOUBLE);
  made.text += ")";
  return made;
}

}  // namespace

Kernel::Kernel(const OpDesc &op, const std::string &dtype)
    : shape_((op.outputs.size() * kInputs + op.inputs.size()) * kAttributes + op.attributes.size()),
      is_f64_(dtype == "f64"),
      type_(op.type) {
  if (op.outputs.size() >= kOutputs || op.inputs.size() >= kInputs ||
      op.attributes.size() >= kAttributes) {
    throw Failure(type_ + ": no kernel has so many parameters");
  }
  const Signature wanted = signature_of(op, dtype);
  pd_op_signature signature = {type_.c_str(), wanted.text.c_str(), {}};
  for (size_t i = 0; i < wanted.codes.size(); i++) signature.types[i] = wanted.codes[i];
  pd_op_def def = {};
  def.size = sizeof def;
  def.kind = PD_KIND_OP_IMPORT;
  def.name = "executor";
  def.file = __FILE__;
  def.line = __LINE__;
  def.signature = &signature;
  def.slot = &slot_;
  def.choice.function = no_kernel;
  pd_error error = {};
  pd_op *known = nullptr;
  if (pd_op_find(type_.c_str(), nullptr, &known, &error) != PD_OK ||
      pd_impl_register(&def, &number_, &error) != PD_OK) {
    throw Failure(type_ + " on " + op.place + " with " + dtype + ": " + error.message);
  }
}

Kernel::~Kernel() {
  if (number_) pd_impl_unregister(number_, nullptr);
}

void Kernel::run(const std::vector<Tensor *> &tensors,
                 const std::vector<double> &attributes) const {
  const Function function = __atomic_load_n(&slot_, __ATOMIC_ACQUIRE);
  if (function == no_kernel) throw Failure(type_ + ": the module of its kernels is gone");
  (is_f64_ ? call_on<f64> : call_on<f32>)(shape_, function, tensors, attributes.data());
}

}  // namespace fluid
