#include "scope.h"

#include <algorithm>

#include "failure.h"

namespace fluid {

void Tensor::resize(const std::string &dtype, int64_t rows, int64_t columns) {
  if (dtype != "f32" && dtype != "f64") throw Failure("no tensor has the dtype '" + dtype + "'");
  item_ = dtype == "f64" ? sizeof(double) : sizeof(float);
  const size_t bytes = static_cast<size_t>(rows * columns) * item_;
  const size_t needed = bytes / sizeof(double) + 1;
  if (needed > capacity_) data_.reset(new double[needed]), capacity_ = needed;
  rows_ = rows;
  columns_ = columns;
}

Scope *Scope::new_scope() {
  kids_.push_back(std::make_unique<Scope>(this));
  return kids_.back().get();
}

void Scope::drop(Scope *kid) {
  const auto found = std::find_if(kids_.begin(), kids_.end(),
                                  [kid](const auto &each) { return each.get() == kid; });
  if (found != kids_.end()) kids_.erase(found);
}

Variable *Scope::var(const std::string &name) {
  auto &found = vars_[name];
  if (!found) found.reset(new Variable{name, {}});
  return found.get();
}

Variable *Scope::find(const std::string &name) const {
  for (const Scope *scope = this; scope; scope = scope->parent_) {
    const auto found = scope->vars_.find(name);
    if (found != scope->vars_.end()) return found->second.get();
  }
  return nullptr;
}

}  // namespace fluid
