#include "argosy/ops/optim/update.h"

// adam_ (with AdamW and AMSGrad), adamax_, nadam_, radam_.
namespace argosy::ops {
namespace {

using optim::Slice;
using optim::Update;

struct AdamCoefficients {
  double beta1, beta2, rate, epsilon, keep;  // keep: 1 - lr * decay
};

template <class T, bool largest>
void adam_loop(const Slice& s) {
  const auto& c = *static_cast<const AdamCoefficients*>(s.coefficients);
  const T b1 = static_cast<T>(c.beta1), a1 = static_cast<T>(1 - c.beta1);
  const T b2 = static_cast<T>(c.beta2), a2 = static_cast<T>(1 - c.beta2);
  const T rate = static_cast<T>(c.rate), epsilon = static_cast<T>(c.epsilon);
  const T keep = static_cast<T>(c.keep);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict m = static_cast<T*>(s.states[0]);
  T* __restrict v = static_cast<T*>(s.states[1]);
  T* __restrict top = largest ? static_cast<T*>(s.states[2]) : nullptr;
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    m[i] = b1 * m[i] + a1 * g[i];
    v[i] = b2 * v[i] + a2 * g[i] * g[i];
    T under = v[i];
    if constexpr (largest) under = top[i] = top[i] > under ? top[i] : under;
    p[i] = keep * p[i] - rate * (m[i] / (std::sqrt(under) + epsilon));
  }
}
template <class T>
void adam_step(const Slice& s) {
  adam_loop<T, false>(s);
}
template <class T>
void amsgrad_step(const Slice& s) {
  adam_loop<T, true>(s);
}

// Multiplies a power of beta by beta, rounded as its dtype says.
void advance(const Update& update, int k, size_t i, double beta) {
  if (update.state(k, i).dtype() == DType::float32)
    update.set_scalar(k, i, static_cast<float>(update.scalar(k, i)) * static_cast<float>(beta));
  else
    update.set_scalar(k, i, update.scalar(k, i) * beta);
}

// states: moment1s, moment2s, moment2_maxs (none without AMSGrad), beta1_pows, beta2_pows.
void adam(op::KernelFrame& f, const AdamAttrs& a) {
  Update update(f, 5, a.common());
  update.check("decays", a.decays);
  std::vector<AdamCoefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) {
    // The powers are those of this step; for a row-sparse gradient those of the next. [= Paddle, on
    // CPUs] The rate that a split Program pushes with such a gradient is corrected so, too.
    const bool ahead = f.in.list(1)[i].layout() == Layout::row_sparse;
    const double power1 = update.scalar(3, i) * (ahead ? a.beta1 : 1);
    const double power2 = update.scalar(4, i) * (ahead ? a.beta2 : 1);
    const double correction = std::sqrt(1 - power2);
    const double rate = update.lr(i) * correction / (1 - power1);
    c[i] = {a.beta1, a.beta2, rate, a.epsilon * correction,
            1 - update.lr(i) * Update::at(a.decays, i, 0)};
  }
  update.rows_only = a.lazy;
  if (update.has_state(2))
    update.run(ARGOSY_OPTIM_RULE(amsgrad_step), {0, 1, 2}, c.data(), sizeof c[0]);
  else
    update.run(ARGOSY_OPTIM_RULE(adam_step), {0, 1}, c.data(), sizeof c[0]);
  for (size_t i = 0; i < c.size(); ++i) {
    advance(update, 3, i, a.beta1);
    advance(update, 4, i, a.beta2);
  }
}

void adam_rule(op::UpdateRule& rule, const AdamAttrs& a) {
  rule.name = "adam";
  rule.rows = "adam_lazy";
  rule.numbers = {{"beta1", a.beta1}, {"beta2", a.beta2}, {"epsilon", a.epsilon}};
  rule.switches = {{"amsgrad", "moment2_maxs"}};
  rule.powers = {{"beta1", "beta1_pows"}, {"beta2", "beta2_pows"}};
}

ARGOSY_OP(adam_, AdamAttrs)
    .doc("Adam for all parameters; decays shrink the parameter first (AdamW).")
    .paper("https://arxiv.org/abs/1412.6980")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("moment1s", kFloating)
    .list_input("moment2s", kFloating)
    .list_input("moment2_maxs", kFloating)
    .list_input("beta1_pows", kFloating)
    .list_input("beta2_pows", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5, 6, 7})
    .update_rule(adam_rule)
    .kernel("fused", adam)
    .strided()
    .per_parameter()
    .done();

template <class T>
void adamax_step(const Slice& s) {
  const auto& c = *static_cast<const AdamCoefficients*>(s.coefficients);
  const T b1 = static_cast<T>(c.beta1), a1 = static_cast<T>(1 - c.beta1);
  const T b2 = static_cast<T>(c.beta2), rate = static_cast<T>(c.rate);
  const T epsilon = static_cast<T>(c.epsilon);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict m = static_cast<T*>(s.states[0]);
  T* __restrict u = static_cast<T*>(s.states[1]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    m[i] = b1 * m[i] + a1 * g[i];
    const T size = g[i] < 0 ? -g[i] : g[i], old = b2 * u[i] + epsilon;
    u[i] = size > old ? size : old;
    p[i] -= rate * (m[i] / u[i]);
  }
}

void adamax(op::KernelFrame& f, const AdamaxAttrs& a) {
  Update update(f, 3, a.common());
  std::vector<AdamCoefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i)
    c[i] = {a.beta1, a.beta2, update.lr(i) / (1 - update.scalar(2, i)), a.epsilon, 1};
  update.run(ARGOSY_OPTIM_RULE(adamax_step), {0, 1}, c.data(), sizeof c[0]);
  for (size_t i = 0; i < c.size(); ++i) advance(update, 2, i, a.beta1);
}

ARGOSY_OP(adamax_, AdamaxAttrs)
    .doc("Adam with the infinity norm, for all parameters.")
    .paper("https://arxiv.org/abs/1412.6980")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("moments", kFloating)
    .list_input("inf_norms", kFloating)
    .list_input("beta1_pows", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5})
    .kernel("fused", adamax)
    .strided()
    .per_parameter()
    .done();

// p -= m_rate * m / d + g_rate * g / d, d = sqrt(v) * v_scale + epsilon; or d = 1 if flat.
struct MixCoefficients {
  double beta1, beta2, m_rate, g_rate, v_scale, epsilon;
  bool flat;
};

template <class T>
void mix_step(const Slice& s) {
  const auto& c = *static_cast<const MixCoefficients*>(s.coefficients);
  const T b1 = static_cast<T>(c.beta1), a1 = static_cast<T>(1 - c.beta1);
  const T b2 = static_cast<T>(c.beta2), a2 = static_cast<T>(1 - c.beta2);
  const T m_rate = static_cast<T>(c.m_rate), g_rate = static_cast<T>(c.g_rate);
  const T v_scale = static_cast<T>(c.v_scale), epsilon = static_cast<T>(c.epsilon);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict m = static_cast<T*>(s.states[0]);
  T* __restrict v = static_cast<T*>(s.states[1]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    m[i] = b1 * m[i] + a1 * g[i];
    v[i] = b2 * v[i] + a2 * g[i] * g[i];
    const T move = m_rate * m[i] + g_rate * g[i];
    p[i] -= c.flat ? move : move / (std::sqrt(v[i]) * v_scale + epsilon);
  }
}

// states: 0.96^t, beta2^t, the product of all mu, moment1s, moment2s.
void nadam(op::KernelFrame& f, const NadamAttrs& a) {
  Update update(f, 5, a.common());
  std::vector<MixCoefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) {
    const double decay = update.scalar(0, i) * 0.96, beta2_pow = update.scalar(1, i) * a.beta2;
    const double slow = std::pow(decay, a.momentum_decay);
    const double mu = a.beta1 * (1 - 0.5 * slow);
    const double next_mu = a.beta1 * (1 - 0.5 * slow * std::pow(0.96, a.momentum_decay));
    const double product = update.scalar(2, i) * mu;
    const double lr = update.lr(i);
    c[i] = {a.beta1,
            a.beta2,
            lr * next_mu / (1 - product * next_mu),
            lr * (1 - mu) / (1 - product),
            1 / std::sqrt(1 - beta2_pow),
            a.epsilon,
            false};
    update.set_scalar(0, i, decay);
    update.set_scalar(1, i, beta2_pow);
    update.set_scalar(2, i, product);
  }
  update.run(ARGOSY_OPTIM_RULE(mix_step), {3, 4}, c.data(), sizeof c[0]);
}

ARGOSY_OP(nadam_, NadamAttrs)
    .doc("Adam with Nesterov momentum, for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("momentum_decay_pows", kFloating)
    .list_input("beta2_pows", kFloating)
    .list_input("mu_products", kFloating)
    .list_input("moment1s", kFloating)
    .list_input("moment2s", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5, 6, 7})
    .kernel("fused", nadam)
    .strided()
    .per_parameter()
    .done();

// states: beta1^t, beta2^t, rho = t beta2^t / (1 - beta2^t), moment1s, moment2s.
void radam(op::KernelFrame& f, const RadamAttrs& a) {
  Update update(f, 5, a.common());
  std::vector<MixCoefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) {
    // NOTE: limit - 2 rho is a small difference of large numbers, so a saved rho fits only the
    // beta2 that made it: rounded to float32 with float32 states, as in Paddle's files.
    const bool wide = update.state(2, i).dtype() == DType::float64;
    const double beta2 = wide ? a.beta2 : static_cast<float>(a.beta2);
    const double beta1_pow = update.scalar(0, i) * a.beta1;
    const double beta2_pow = update.scalar(1, i) * beta2;
    const double rho = (update.scalar(2, i) * (beta2 - beta2_pow) + beta2_pow) / (1 - beta2_pow);
    const double limit = 2 / (1 - beta2) - 1, length = limit - 2 * rho;
    double rate = update.lr(i) / (1 - beta1_pow);
    const bool flat = length <= 5;  // the variance of the denominator is not bounded yet
    if (!flat)
      rate *= std::sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length) *
                        (1 - beta2_pow));
    c[i] = {a.beta1, a.beta2, rate, 0, 1, a.epsilon, flat};
    update.set_scalar(0, i, beta1_pow);
    update.set_scalar(1, i, beta2_pow);
    update.set_scalar(2, i, rho);
  }
  update.run(ARGOSY_OPTIM_RULE(mix_step), {3, 4}, c.data(), sizeof c[0]);
}

ARGOSY_OP(radam_, RadamAttrs)
    .doc("Adam with a rectified denominator, for all parameters.")
    .paper("https://arxiv.org/abs/1908.03265")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("beta1_pows", kFloating)
    .list_input("beta2_pows", kFloating)
    .list_input("rhos", kFloating)
    .list_input("moment1s", kFloating)
    .list_input("moment2s", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5, 6, 7})
    .kernel("fused", radam)
    .strided()
    .per_parameter()
    .done();

}  // namespace
}  // namespace argosy::ops
