#include "executor.h"

#include <pd_flags.h>

#include <algorithm>
#include <cmath>

PD_DEFINE_bool(
    check_nan_inf, false,
    "After each operator, look for NaN and infinity in its outputs, and stop at the first",
    .runtime = true);

namespace fluid {

Executor::Executor(ProgramDesc program, int32_t block, const std::vector<std::string> &hosted,
                   Host host)
    : program_(std::move(program)), block_(block), host_(std::move(host)) {
  for (const OpDesc &op : program_.blocks.at(static_cast<size_t>(block)).ops) {
    steps_.push_back({&op, nullptr});
    if (std::find(hosted.begin(), hosted.end(), op.type) != hosted.end()) continue;
    if (op.outputs.empty()) throw Failure(op.type + ": neither a kernel nor the host runs it");
    const std::string &first = op.outputs.at(op.outputs.at(0).empty() ? 1 : 0);
    const VarDesc *desc = program_.find(block, first);
    if (!desc) throw Failure(op.type + ": no block has the variable '" + first + "'");
    steps_.back().kernel = std::make_unique<Kernel>(op, desc->dtype);
  }
}

void Executor::run(Scope *scope, int64_t batch) {
  for (size_t i = 0; i < steps_.size(); i++) {
    run_step(i, scope, batch);
#ifndef FLUID_WITHOUT_CHECK  // bench.py compares a build without these two lines
    if (FLAGS_check_nan_inf) check(i, scope);
#endif
  }
}

Tensor *Executor::prepare(const std::string &name, bool output, Scope *scope, int64_t batch) const {
  if (name.empty()) return nullptr;
  const VarDesc *desc = program_.find(block_, name);
  Tensor *tensor = desc ? scope->find(name) : nullptr;
  if (desc && output && !desc->persistable) tensor = scope->var(name);
  if (desc && output && !tensor) tensor = scope->outermost()->var(name);
  if (!tensor) throw Failure("no scope has the variable '" + name + "'");
  const int64_t rows = desc->rows < 0 ? batch : desc->rows;
  if (output) {
    tensor->resize(desc->dtype, rows, desc->columns);
  } else if (tensor->rows() != rows || tensor->columns() != desc->columns ||
             tensor->is_f64() != (desc->dtype == "f64")) {
    throw Failure("variable '" + name + "' has another shape or dtype than the program says");
  }
  return tensor;
}

void Executor::run_step(size_t index, Scope *scope, int64_t batch) {
  const Step &step = steps_[index];
  if (!step.kernel) {
    if (!host_(static_cast<int32_t>(index))) throw Failure(step.op->type + " failed");
    return;
  }
  tensors_.clear();
  for (const auto &name : step.op->outputs) tensors_.push_back(prepare(name, true, scope, batch));
  for (const auto &name : step.op->inputs) tensors_.push_back(prepare(name, false, scope, batch));
  step.kernel->run(tensors_, step.op->attributes);
}

namespace {

template <class T>
int64_t first_bad(const Tensor &tensor) {
  const T *data = static_cast<const T *>(tensor.data());
  const int64_t count = tensor.rows() * tensor.columns();
  for (int64_t i = 0; i < count; i++) {
    if (!std::isfinite(data[i])) return i;
  }
  return -1;
}

Failure found(const OpDesc &op, size_t index, const std::string &name, const Tensor &tensor,
              int64_t at) {
  const double value = tensor.is_f64() ? static_cast<const double *>(tensor.data())[at]
                                       : static_cast<const float *>(tensor.data())[at];
  const int64_t row = at / tensor.columns(), column = at % tensor.columns();
  Failure failure("operator " + std::to_string(index) + " (" + op.type + "): " + name + "[" +
                  std::to_string(row) + ", " + std::to_string(column) + "] is " +
                  (std::isnan(value) ? "NaN" : "infinite"));
  failure.not_finite = true;
  failure.op = static_cast<int32_t>(index);
  failure.variable = name;
  failure.row = row;
  failure.column = column;
  return failure;
}

}  // namespace

void Executor::check(size_t index, Scope *scope) const {
  const OpDesc &op = *steps_[index].op;
  for (const auto &name : op.outputs) {
    const Tensor *tensor = name.empty() ? nullptr : scope->find(name);
    if (!tensor) continue;
    const int64_t at = tensor->is_f64() ? first_bad<double>(*tensor) : first_bad<float>(*tensor);
    if (at >= 0) throw found(op, index, name, *tensor, at);
  }
}

}  // namespace fluid
