// Kernels for every processor. Each is a template for both types of arrays, and KERNEL defines an
// operation of the registry with two signatures. Nothing is linked for that.
#include <pd_flags.h>

#include <cmath>

#include "kernels.h"

namespace {

template <class A>
int64_t count(const A *x) {
  return x->rows * x->columns;
}

template <class A>
using real = decltype(+*A::data);

template <class A>
void mul(cpu *, A *out, const A *x, const A *y) {
  for (int64_t i = 0; i < out->rows; i++) {
    for (int64_t j = 0; j < out->columns; j++) {
      real<A> sum = 0;
      for (int64_t k = 0; k < x->columns; k++) {
        sum += x->data[i * x->columns + k] * y->data[k * y->columns + j];
      }
      out->data[i * out->columns + j] = sum;
    }
  }
}

// dx = dout yT, dy = xT dout
template <class A>
void mul_grad(cpu *, A *dx, A *dy, const A *x, const A *y, const A *dout) {
  for (int64_t i = 0; dx->data && i < x->rows; i++) {
    for (int64_t k = 0; k < x->columns; k++) {
      real<A> sum = 0;
      for (int64_t j = 0; j < y->columns; j++) {
        sum += dout->data[i * y->columns + j] * y->data[k * y->columns + j];
      }
      dx->data[i * x->columns + k] = sum;
    }
  }
  for (int64_t k = 0; dy->data && k < y->rows; k++) {
    for (int64_t j = 0; j < y->columns; j++) {
      real<A> sum = 0;
      for (int64_t i = 0; i < x->rows; i++) {
        sum += x->data[i * x->columns + k] * dout->data[i * y->columns + j];
      }
      dy->data[k * y->columns + j] = sum;
    }
  }
}

// y has the shape of x, or is one row, which is added to each row of x.
template <class A>
void add(cpu *, A *out, const A *x, const A *y) {
  const int64_t period = count(y);
  for (int64_t i = 0; i < count(x); i++) out->data[i] = x->data[i] + y->data[i % period];
}

template <class A>
void add_grad(cpu *, A *dx, A *dy, const A *dout) {
  for (int64_t i = 0; dx->data && i < count(dout); i++) dx->data[i] = dout->data[i];
  if (!dy->data) return;
  const int64_t period = count(dy);
  for (int64_t i = 0; i < period; i++) dy->data[i] = 0;
  for (int64_t i = 0; i < count(dout); i++) dy->data[i % period] += dout->data[i];
}

// NaN stays NaN: a comparison the other way round would hide it.
template <class A>
void relu(cpu *, A *out, const A *x) {
  for (int64_t i = 0; i < count(x); i++) out->data[i] = x->data[i] < 0 ? 0 : x->data[i];
}

template <class A>
void relu_grad(cpu *, A *dx, const A *out, const A *dout) {
  for (int64_t i = 0; i < count(out); i++) dx->data[i] = out->data[i] > 0 ? dout->data[i] : 0;
}

template <class A>
void scale(cpu *, A *out, const A *x, double factor) {
  for (int64_t i = 0; i < count(x); i++) out->data[i] = x->data[i] * static_cast<real<A>>(factor);
}

template <class A>
void sgd(cpu *, A *param_out, const A *param, const A *grad, const A *rate) {
  for (int64_t i = 0; i < count(param); i++) {
    param_out->data[i] = param->data[i] - rate->data[0] * grad->data[i];
  }
}

// Each row of `label` has a one in the column of its class.
template <class A>
void softmax_with_cross_entropy(cpu *, A *softmax, A *loss, const A *logits, const A *label) {
  const int64_t width = logits->columns;
  for (int64_t i = 0; i < logits->rows; i++) {
    const auto *in = logits->data + i * width, *expected = label->data + i * width;
    auto *out = softmax->data + i * width;
    real<A> largest = in[0], sum = 0, lost = 0;
    for (int64_t j = 1; j < width; j++) largest = in[j] > largest ? in[j] : largest;
    for (int64_t j = 0; j < width; j++) sum += out[j] = std::exp(in[j] - largest);
    for (int64_t j = 0; j < width; j++) {
      out[j] /= sum;
      lost += expected[j] * (largest + std::log(sum) - in[j]);
    }
    loss->data[i] = lost;
  }
}

template <class A>
void softmax_with_cross_entropy_grad(cpu *, A *dlogits, const A *softmax, const A *label,
                                     const A *dloss) {
  for (int64_t i = 0; i < count(softmax); i++) {
    dlogits->data[i] = (softmax->data[i] - label->data[i]) * dloss->data[i / softmax->columns];
  }
}

template <class A>
void mean(cpu *, A *out, const A *x) {
  real<A> sum = 0;
  for (int64_t i = 0; i < count(x); i++) sum += x->data[i];
  out->data[0] = sum / static_cast<real<A>>(count(x));
}

template <class A>
void mean_grad(cpu *, A *dx, const A *dout) {
  for (int64_t i = 0; i < count(dx); i++) {
    dx->data[i] = dout->data[0] / static_cast<real<A>>(count(dx));
  }
}

template <class A>
void fill_constant(cpu *, A *out, double value) {
  for (int64_t i = 0; i < count(out); i++) out->data[i] = static_cast<real<A>>(value);
}

// Uniform in (-bound, bound): the same numbers for the same seed on every machine.
template <class A>
void uniform_random(cpu *, A *out, double bound, double seed) {
  auto state = static_cast<uint64_t>(seed) * 2654435769u + 1;
  for (int64_t i = 0; i < count(out); i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state >> 11) / 9007199254740992.0;
    out->data[i] = static_cast<real<A>>(bound * (2 * unit - 1));
  }
}

// Rows of x from `begin` on, as many as `out` has.
template <class A>
void slice_rows(cpu *, A *out, const A *x, double begin) {
  const int64_t from = static_cast<int64_t>(begin) * x->columns;
  for (int64_t i = 0; i < count(out); i++) out->data[i] = x->data[from + i];
}

// The other way: the rows of x into those of `out`, from `begin` on.
template <class A>
void assign_rows(cpu *, A *out, const A *x, double begin) {
  const int64_t from = static_cast<int64_t>(begin) * out->columns;
  for (int64_t i = 0; i < count(x); i++) out->data[from + i] = x->data[i];
}

}  // namespace

#define KERNEL(op, takes, help)                                                                    \
  PD_DEFINE_OP_AS(op##_f32, #op, void, TAKES_##takes(f32), op<f32>, help);                         \
  PD_DEFINE_OP_AS(op##_f64, #op, void, TAKES_##takes(f64), op<f64>, help)

KERNEL(mul, 1_2_0, "out = x y, a product of matrices");
KERNEL(mul_grad, 2_3_0, "dx = dout yT, dy = xT dout");
KERNEL(add, 1_2_0, "out = x + y; y may be one row");
KERNEL(add_grad, 2_1_0, "dx = dout, dy = dout or the sum of its rows");
KERNEL(relu, 1_1_0, "out = max(x, 0)");
KERNEL(relu_grad, 1_2_0, "dx = dout where out > 0");
KERNEL(scale, 1_1_1, "out = x * factor");
KERNEL(sgd, 1_3_0, "param_out = param - rate * grad");
KERNEL(softmax_with_cross_entropy, 2_2_0, "Softmax of each row, and its loss");
KERNEL(softmax_with_cross_entropy_grad, 1_3_0, "dlogits = (softmax - label) * dloss");
KERNEL(mean, 1_1_0, "out = the mean of x");
KERNEL(mean_grad, 1_1_0, "dx = dout / the size of x");
KERNEL(fill_constant, 1_0_1, "out = value");
KERNEL(uniform_random, 1_0_2, "out is uniform in (-bound, bound), by a seed");
KERNEL(slice_rows, 1_1_1, "out = rows of x from begin on");
KERNEL(assign_rows, 1_1_1, "rows of out from begin on = x");
