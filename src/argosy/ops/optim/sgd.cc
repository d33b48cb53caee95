#include "argosy/ops/optim/update.h"

#include <limits>

// sgd_, momentum_, asgd_, rprop_.
namespace argosy::ops {
namespace {

using optim::Slice;
using optim::Update;

template <class T>
void sgd_step(const Slice& s) {
  const T lr = static_cast<T>(*static_cast<const double*>(s.coefficients));
  T* __restrict p = static_cast<T*>(s.param);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) p[i] -= lr * g[i];
}

void sgd(op::KernelFrame& f, const SgdAttrs& a) {
  Update update(f, 0, a.common());
  std::vector<double> lr(update.size());
  for (size_t i = 0; i < lr.size(); ++i) lr[i] = update.lr(i);
  update.rows_only = true;
  update.run(ARGOSY_OPTIM_RULE(sgd_step), {}, lr.data(), sizeof(double));
}

void sgd_rule(op::UpdateRule& rule, const SgdAttrs&) {
  rule.name = "sgd";
}

ARGOSY_OP(sgd_, SgdAttrs)
    .doc("param -= lr * grad, for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2})
    .update_rule(sgd_rule)
    .kernel("fused", sgd)
    .strided()
    .per_parameter()
    .done();

struct MomentumCoefficients {
  double lr, mu;
  bool nesterov;
};

template <class T>
void momentum_step(const Slice& s) {
  const auto& c = *static_cast<const MomentumCoefficients*>(s.coefficients);
  const T lr = static_cast<T>(c.lr), mu = static_cast<T>(c.mu);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict v = static_cast<T*>(s.states[0]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  if (c.nesterov) {
    for (int64_t i = 0; i < s.n; ++i) {
      v[i] = mu * v[i] + g[i];
      p[i] -= (g[i] + mu * v[i]) * lr;
    }
    return;
  }
  for (int64_t i = 0; i < s.n; ++i) {
    v[i] = mu * v[i] + g[i];
    p[i] -= lr * v[i];
  }
}

void momentum(op::KernelFrame& f, const MomentumAttrs& a) {
  Update update(f, 1, a.common());
  std::vector<MomentumCoefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) c[i] = {update.lr(i), a.mu, a.use_nesterov};
  update.grad_scale = a.rescale_grad;
  update.run(ARGOSY_OPTIM_RULE(momentum_step), {0}, c.data(), sizeof c[0]);
}

void momentum_rule(op::UpdateRule& rule, const MomentumAttrs& a) {
  if (a.rescale_grad != 1) rule.refused = "it rescales gradients";
  rule.name = "momentum";
  rule.numbers = {{"momentum", a.mu}, {"nesterov", a.use_nesterov}};
}

ARGOSY_OP(momentum_, MomentumAttrs)
    .doc("velocity = mu * velocity + grad; param -= lr * velocity, for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("velocitys", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3})
    .update_rule(momentum_rule)
    .kernel("fused", momentum)
    .strided()
    .per_parameter()
    .done();

// states: the sum d, and the gradient y that this batch gave last time.
template <class T>
void asgd_step(const Slice& s) {
  const T rate = static_cast<T>(*static_cast<const double*>(s.coefficients));
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict d = static_cast<T*>(s.states[0]);
  T* __restrict y = static_cast<T*>(s.states[1]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    d[i] = d[i] - y[i] + g[i];
    y[i] = g[i];
    p[i] -= rate * d[i];
  }
}

void asgd(op::KernelFrame& f, const AsgdAttrs& a) {
  // y of all batches is [batch_num, *shape]: the op runs on the slice of the batch whose turn it
  // is.
  Tensors flat;
  for (const Tensor& t : f.in.flat()) flat.push_back(t);
  op::KernelFrame sliced{f.op, op::Inputs(flat, f.in.ends()), f.out};
  Update whole(f, 3, a.common());
  std::vector<double> rate(whole.size());
  ARGOSY_CHECK(a.batch_num > 0, invalid_argument)
      << "[asgd_] batch_num is out of range: expected > 0, got " << a.batch_num << '.';
  for (size_t i = 0; i < rate.size(); ++i) {
    const Tensor& y = whole.state(1, i);
    const Tensor& to = whole.target(i);
    ARGOSY_CHECK(y.is_contiguous() && y.numel() == a.batch_num * to.numel(), invalid_argument)
        << "[asgd_] ys " << i << " has the wrong shape: expected " << a.batch_num
        << " times that of its parameter, " << to << ", got " << y << '.';
    const int64_t step = static_cast<int64_t>(whole.scalar(2, i));
    ARGOSY_CHECK(0 <= step && step < std::numeric_limits<int64_t>::max(), invalid_argument)
        << "[asgd_] ms " << i << " must be a number of steps, got " << step
        << ". Do this: load a state_dict that this optimizer gave.";
    flat[f.in.place_of(3) + i] =
        y.view(to.shape(), to.shape().contiguous_strides(), step % a.batch_num * to.numel());
    rate[i] = whole.lr(i) / static_cast<double>(std::min(step + 1, a.batch_num));
    whole.set_scalar(2, i, static_cast<double>(step + 1));
  }
  Update(sliced, 3, a.common())
      .run(ARGOSY_OPTIM_RULE(asgd_step), {0, 1}, rate.data(), sizeof(double));
}

ARGOSY_OP(asgd_, AsgdAttrs)
    .doc(
        "d += grad - y[m % batch_num]; param -= lr * d / min(m + 1, batch_num), for all "
        "parameters.")
    .paper("https://arxiv.org/abs/1309.2388")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("ds", kFloating)
    .list_input("ys", kFloating)
    .list_input("ms", only(DType::int64))
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5})
    .kernel("fused", asgd)
    .strided()
    .per_parameter()
    .done();

template <class T>
void rprop_step(const Slice& s) {
  const auto& a = *static_cast<const RpropAttrs*>(s.coefficients);
  const T low = static_cast<T>(a.lr_min), high = static_cast<T>(a.lr_max);
  const T shrink = static_cast<T>(a.eta_negative), grow = static_cast<T>(a.eta_positive);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict previous = static_cast<T*>(s.states[0]);
  T* __restrict rate = static_cast<T*>(s.states[1]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    const T product = previous[i] * g[i];
    const T grad = product < 0 ? T{0} : g[i];
    const T r = rate[i] * (product > 0 ? grow : product < 0 ? shrink : T{1});
    rate[i] = r < low ? low : r > high ? high : r;
    p[i] -= grad > 0 ? rate[i] : grad < 0 ? -rate[i] : T{0};
    previous[i] = grad;
  }
}

void rprop(op::KernelFrame& f, const RpropAttrs& a) {
  Update update(f, 2, a.common());
  // The same coefficients for all: blocks of 0 bytes.
  update.run(ARGOSY_OPTIM_RULE(rprop_step), {0, 1}, &a, 0);
}

ARGOSY_OP(rprop_, RpropAttrs)
    .doc("Each element moves against its gradient's sign by a rate of its own, for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("prevs", kFloating)
    .list_input("learning_rates", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4})
    .kernel("fused", rprop)
    .strided()
    .per_parameter()
    .done();

}  // namespace
}  // namespace argosy::ops
