#include "argosy/ops/optim/norm.h"
#include "argosy/ops/optim/update.h"

namespace argosy::ops {
namespace {

using optim::Slice;
using optim::Update;

struct Coefficients {
  double beta1, beta2, correction1, correction2, epsilon, decay, rate;
};

// states: the moments, and the direction that this step finds.
template <class T>
void direction_step(const Slice& s) {
  const auto& c = *static_cast<const Coefficients*>(s.coefficients);
  const T b1 = static_cast<T>(c.beta1), a1 = static_cast<T>(1 - c.beta1);
  const T b2 = static_cast<T>(c.beta2), a2 = static_cast<T>(1 - c.beta2);
  const T c1 = static_cast<T>(c.correction1), c2 = static_cast<T>(c.correction2);
  const T epsilon = static_cast<T>(c.epsilon), decay = static_cast<T>(c.decay);
  const T* __restrict p = static_cast<const T*>(s.param);
  T* __restrict m = static_cast<T*>(s.states[0]);
  T* __restrict v = static_cast<T*>(s.states[1]);
  T* __restrict r = static_cast<T*>(s.states[2]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    m[i] = b1 * m[i] + a1 * g[i];
    v[i] = b2 * v[i] + a2 * g[i] * g[i];
    r[i] = m[i] * c1 / (std::sqrt(v[i] * c2) + epsilon) + decay * p[i];
  }
}

template <class T>
void move_step(const Slice& s) {
  const T rate = static_cast<T>(static_cast<const Coefficients*>(s.coefficients)->rate);
  T* __restrict p = static_cast<T*>(s.param);
  const T* __restrict r = static_cast<const T*>(s.states[0]);
  for (int64_t i = 0; i < s.n; ++i) p[i] -= rate * r[i];
}

double norm(const Tensor& t) {
  return std::sqrt(optim::sum_of_squares(op::contiguous(t)));
}

// states: moment1s, moment2s, beta1_pows, beta2_pows.
void lamb(op::KernelFrame& f, const LambAttrs& a) {
  // The directions take the place of beta1_pows in a second frame, as states of full size.
  Tensors flat;
  for (const Tensor& t : f.in.flat()) flat.push_back(t);
  op::KernelFrame with_directions{f.op, op::Inputs(flat, f.in.ends()), f.out};
  Update update(f, 4, a.common());
  update.check("decays", a.decays);
  std::vector<Coefficients> c(update.size());
  std::vector<Tensor> directions(update.size());
  for (size_t i = 0; i < c.size(); ++i) {
    c[i] = {a.beta1,
            a.beta2,
            1 / (1 - update.scalar(2, i)),
            1 / (1 - update.scalar(3, i)),
            a.epsilon,
            Update::at(a.decays, i, 0),
            0};
    const Tensor& to = update.target(i);
    const DType dtype = to.dtype() == DType::float64 ? DType::float64 : DType::float32;
    directions[i] = Tensor::empty(to.shape(), dtype, to.place());
    flat[f.in.place_of(4) + i] = directions[i];
  }
  Update second(with_directions, 4, a.common());
  second.run(ARGOSY_OPTIM_RULE(direction_step), {0, 1, 2}, c.data(), sizeof c[0]);
  for (size_t i = 0; i < c.size(); ++i) {
    double trust = 1;
    if (c[i].decay != 0 || a.always_adapt) {
      const double size = norm(update.target(i)), step = norm(directions[i]);
      if (size > 0 && step > 0) trust = size / step;
    }
    c[i].rate = update.lr(i) * trust;
  }
  second.run(ARGOSY_OPTIM_RULE(move_step), {2}, c.data(), sizeof c[0]);
  for (size_t i = 0; i < c.size(); ++i) {
    const double betas[] = {a.beta1, a.beta2};
    for (int k = 0; k < 2; ++k) {
      double power = update.scalar(2 + k, i) * betas[k];
      if (update.state(2 + k, i).dtype() == DType::float32)
        power = static_cast<float>(update.scalar(2 + k, i)) * static_cast<float>(betas[k]);
      update.set_scalar(2 + k, i, power);
    }
  }
}

ARGOSY_OP(lamb_, LambAttrs)
    .doc("Adam whose step is scaled to the parameter's norm, for all parameters.")
    .paper("https://arxiv.org/abs/1904.00962")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("moment1s", kFloating)
    .list_input("moment2s", kFloating)
    .list_input("beta1_pows", kFloating)
    .list_input("beta2_pows", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5, 6})
    .kernel("fused", lamb)
    .strided()
    .per_parameter()
    .done();

}  // namespace
}  // namespace argosy::ops
