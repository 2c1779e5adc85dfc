#include "fluid.h"

#include <cstdio>
#include <exception>
#include <iterator>
#include <sstream>

#include "executor.h"

using fluid::Scope;

struct fluid_executor {
  fluid::Executor executor;
};

namespace {

// Handles of scopes are the scopes themselves.
Scope *scope_of(fluid_scope *handle) { return reinterpret_cast<Scope *>(handle); }
fluid_scope *handle_of(Scope *scope) { return reinterpret_cast<fluid_scope *>(scope); }

void describe(const fluid::Tensor &tensor, fluid_tensor *out) {
  *out = {tensor.data(), tensor.rows(), tensor.columns(), tensor.is_f64()};
}

// Call a function; exceptions become an error.
template <class Call>
int32_t settle(fluid_error *error, const Call &call) {
  try {
    call();
    return 1;
  } catch (const fluid::Failure &failure) {
    *error = {};
    std::snprintf(error->message, sizeof error->message, "%s", failure.message.c_str());
    std::snprintf(error->variable, sizeof error->variable, "%s", failure.variable.c_str());
    error->not_finite = failure.not_finite;
    error->op = failure.op;
    error->row = failure.row;
    error->column = failure.column;
  } catch (const std::exception &exception) {
    *error = {};
    std::snprintf(error->message, sizeof error->message, "%s", exception.what());
  }
  return 0;
}

}  // namespace

extern "C" {

fluid_scope *fluid_scope_new(fluid_scope *parent) {
  return handle_of(parent ? scope_of(parent)->new_scope() : new Scope(nullptr));
}

void fluid_scope_free(fluid_scope *scope) {
  Scope *ended = scope_of(scope);
  if (ended && ended->parent()) {
    ended->parent()->drop(ended);
  } else {
    delete ended;
  }
}

int32_t fluid_scope_find(fluid_scope *scope, const char *name, fluid_tensor *out) {
  const fluid::Tensor *found = scope_of(scope)->find(name);
  if (found) describe(*found, out);
  return found != nullptr;
}

int32_t fluid_scope_var(fluid_scope *scope, const char *name, const char *dtype, int64_t rows,
                        int64_t columns, fluid_tensor *out, fluid_error *error) {
  return settle(error, [=] {
    fluid::Tensor *tensor = scope_of(scope)->var(name);
    tensor->resize(dtype, rows, columns);
    describe(*tensor, out);
  });
}

fluid_executor *fluid_executor_new(const char *program, int32_t block, const char *hosted,
                                   fluid_host *host, fluid_error *error) {
  fluid_executor *made = nullptr;
  settle(error, [&] {
    std::istringstream words(hosted);
    const std::vector<std::string> types{std::istream_iterator<std::string>(words), {}};
    made = new fluid_executor{{fluid::ProgramDesc::parse(program), block, types, host}};
  });
  return made;
}

void fluid_executor_free(fluid_executor *executor) { delete executor; }

int32_t fluid_executor_run(fluid_executor *executor, fluid_scope *scope, int64_t batch,
                           fluid_error *error) {
  return settle(error, [=] { executor->executor.run(scope_of(scope), batch); });
}

}  // extern "C"
