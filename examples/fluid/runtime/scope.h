// Variables have names, and scopes hold them. A scope finds the names of its parents too.
#ifndef FLUID_SCOPE_H
#define FLUID_SCOPE_H

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace fluid {

// A matrix, one row after the other, in memory of its own.
class Tensor {
 public:
  // Give it another shape; the elements are then undefined. Throws Failure for an unknown dtype.
  void resize(const std::string &dtype, int64_t rows, int64_t columns);

  void *data() const { return data_.get(); }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }
  bool is_f64() const { return item_ == sizeof(double); }

 private:
  std::unique_ptr<double[]> data_;  // of doubles, for the alignment
  size_t item_ = 0;                 // bytes of an element
  size_t capacity_ = 0;             // doubles
  int64_t rows_ = 0, columns_ = 0;
};

struct Variable {
  std::string name;
  Tensor tensor;
};

class Scope {
 public:
  explicit Scope(Scope *parent) : parent_(parent) {}

  // A scope within this one, which ends with it if drop has not ended it before.
  Scope *new_scope();
  void drop(Scope *kid);

  Scope *parent() const { return parent_; }
  Scope *outermost() { return parent_ ? parent_->outermost() : this; }

  // The variable of this name in this scope; it is made if it isn't there.
  Variable *var(const std::string &name);

  // In this scope, then in its parents; nullptr if no scope has it.
  Variable *find(const std::string &name) const;

 private:
  Scope *parent_;
  std::unordered_map<std::string, std::unique_ptr<Variable>> vars_;
  std::vector<std::unique_ptr<Scope>> kids_;
};

}  // namespace fluid

#endif  // FLUID_SCOPE_H
