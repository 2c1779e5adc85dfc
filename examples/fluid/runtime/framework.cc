#include "framework.h"

#include <algorithm>
#include <sstream>

namespace fluid {

void Tensor::resize(const std::string &dtype, int64_t rows, int64_t columns) {
  if (dtype != "f32" && dtype != "f64") throw Failure("no tensor has the dtype '" + dtype + "'");
  item_ = dtype == "f64" ? sizeof(double) : sizeof(float);
  const size_t needed = static_cast<size_t>(rows * columns) * item_ / sizeof(double) + 1;
  if (needed > capacity_) data_.reset(new double[needed]), capacity_ = needed;
  rows_ = rows;
  columns_ = columns;
}

Scope *Scope::new_scope() {
  kids_.push_back(std::make_unique<Scope>(this));
  return kids_.back().get();
}

void Scope::drop(Scope *kid) {
  const auto is_it = [kid](const auto &each) { return each.get() == kid; };
  kids_.erase(std::remove_if(kids_.begin(), kids_.end(), is_it), kids_.end());
}

Tensor *Scope::find(const std::string &name) {
  const auto found = vars_.find(name);
  if (found != vars_.end()) return &found->second;
  return parent_ ? parent_->find(name) : nullptr;
}

ProgramDesc ProgramDesc::parse(const std::string &text) {
  ProgramDesc made;
  std::istringstream in(text);
  const auto names = [&in](size_t count) {
    std::vector<std::string> read(count);
    for (auto &name : read) in >> name, name = name == "-" ? "" : name;
    return read;
  };
  for (std::string kind, name; in >> kind;) {
    if (kind == "block") {
      made.blocks.emplace_back();
      in >> made.blocks.back().parent;
    } else if (kind == "var") {
      VarDesc &var = (in >> name, made.blocks.back().vars[name]);
      in >> var.dtype >> var.rows >> var.columns >> var.persistable;
    } else {
      OpDesc op;
      size_t outputs = 0, inputs = 0, attributes = 0;
      in >> op.type >> op.place >> outputs >> inputs >> attributes;
      op.outputs = names(outputs);
      op.inputs = names(inputs);
      op.attributes.resize(attributes);
      for (double &attribute : op.attributes) in >> attribute;
      made.blocks.back().ops.push_back(op);
    }
  }
  return made;
}

const VarDesc *ProgramDesc::find(int32_t block, const std::string &name) const {
  for (; block >= 0; block = blocks[static_cast<size_t>(block)].parent) {
    const auto &vars = blocks[static_cast<size_t>(block)].vars;
    const auto found = vars.find(name);
    if (found != vars.end()) return &found->second;
  }
  return nullptr;
}

}  // namespace fluid
