#include "executor.h"

#include <pd_flags.h>

#include <algorithm>
#include <cmath>

#include "failure.h"

PD_DEFINE_bool(
    check_nan_inf, false,
    "After each operator, look for NaN and infinity in its outputs, and stop at the first",
    .runtime = true);

namespace fluid {

Executor::Executor(const ProgramDesc *program, int32_t block,
                   const std::vector<std::string> &hosted, Host host)
    : program_(program), block_(block), host_(std::move(host)) {
  for (const OpDesc &op : program->blocks.at(static_cast<size_t>(block)).ops) {
    const bool is_hosted = std::find(hosted.begin(), hosted.end(), op.type) != hosted.end();
    if (is_hosted) {
      steps_.push_back({&op, nullptr});
      continue;
    }
    if (op.outputs.empty()) throw Failure(op.type + ": neither a kernel nor the host runs it");
    const std::string &first = op.outputs.at(op.outputs.at(0).empty() ? 1 : 0);
    const VarDesc *desc = program->find(block, first);
    if (!desc) throw Failure(op.type + ": no block has the variable '" + first + "'");
    steps_.push_back({&op, std::make_unique<Kernel>(op, desc->dtype)});
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
  const VarDesc *desc = program_->find(block_, name);
  Variable *variable = desc && !desc->persistable ? scope->find(name) : nullptr;
  if (desc && desc->persistable) {
    variable = scope->find(name);
    if (!variable && output) variable = scope->outermost()->var(name);
  } else if (desc && output) {
    variable = scope->var(name);
  }
  if (!variable) throw Failure("no scope has the variable '" + name + "'");
  const int64_t rows = desc->rows < 0 ? batch : desc->rows;
  Tensor &tensor = variable->tensor;
  if (output) {
    tensor.resize(desc->dtype, rows, desc->columns);
  } else if (tensor.rows() != rows || tensor.columns() != desc->columns ||
             tensor.is_f64() != (desc->dtype == "f64")) {
    throw Failure("variable '" + name + "' has another shape or dtype than the program says");
  }
  return &tensor;
}

void Executor::run_step(size_t index, Scope *scope, int64_t batch) {
  const Step &step = steps_[index];
  if (!step.kernel) {
    if (host_(static_cast<int32_t>(index), scope)) return;
    Failure failure(step.op->type + " failed");
    failure.of_host = true;
    throw failure;
  }
  tensors_.clear();
  for (const auto &name : step.op->outputs) tensors_.push_back(prepare(name, true, scope, batch));
  for (const auto &name : step.op->inputs) tensors_.push_back(prepare(name, false, scope, batch));
  step.kernel->run(tensors_, step.op->attributes, &scratch_);
}

// ---- What check_nan_inf switches on ----

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
    const Variable *variable = name.empty() ? nullptr : scope->find(name);
    if (!variable) continue;
    const Tensor &tensor = variable->tensor;
    const int64_t at = tensor.is_f64() ? first_bad<double>(tensor) : first_bad<float>(tensor);
    if (at >= 0) throw found(op, index, name, tensor, at);
  }
}

}  // namespace fluid
