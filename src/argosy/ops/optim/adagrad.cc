#include "argosy/ops/optim/update.h"

// adagrad_, adadelta_, rmsprop_.
namespace argosy::ops {
namespace {

using optim::Slice;
using optim::Update;

struct Coefficients {
  double lr, rho, epsilon, momentum;
};

template <class T>
void adagrad_step(const Slice& s) {
  const auto& c = *static_cast<const Coefficients*>(s.coefficients);
  const T lr = static_cast<T>(c.lr), epsilon = static_cast<T>(c.epsilon);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict m = static_cast<T*>(s.states[0]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    m[i] += g[i] * g[i];
    p[i] -= lr * g[i] / (std::sqrt(m[i]) + epsilon);
  }
}

void adagrad(op::KernelFrame& f, const AdagradAttrs& a) {
  Update update(f, 1, a.common());
  std::vector<Coefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) c[i] = {update.lr(i), 0, a.epsilon, 0};
  update.rows_only = true;
  update.run(ARGOSY_OPTIM_RULE(adagrad_step), {0}, c.data(), sizeof c[0]);
}

void adagrad_rule(op::UpdateRule& rule, const AdagradAttrs& a) {
  rule.name = "adagrad";
  rule.rows = "adagrad_lazy";
  rule.numbers = {{"initial_g2sum", 1e-30},  // the least that tables take
                  {"epsilon", a.epsilon}};
}

ARGOSY_OP(adagrad_, AdagradAttrs)
    .doc("moment += grad^2; param -= lr * grad / (sqrt(moment) + epsilon), for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("moments", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3})
    .update_rule(adagrad_rule)
    .kernel("fused", adagrad)
    .strided()
    .per_parameter()
    .done();

template <class T>
void adadelta_step(const Slice& s) {
  const auto& c = *static_cast<const Coefficients*>(s.coefficients);
  const T lr = static_cast<T>(c.lr), epsilon = static_cast<T>(c.epsilon);
  const T rho = static_cast<T>(c.rho), rest = static_cast<T>(1 - c.rho);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict square = static_cast<T*>(s.states[0]);
  T* __restrict moved = static_cast<T*>(s.states[1]);
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    square[i] = rho * square[i] + rest * g[i] * g[i];
    const T move = std::sqrt((moved[i] + epsilon) / (square[i] + epsilon)) * g[i];
    moved[i] = rho * moved[i] + rest * move * move;
    p[i] -= lr * move;
  }
}

void adadelta(op::KernelFrame& f, const AdadeltaAttrs& a) {
  Update update(f, 2, a.common());
  std::vector<Coefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) c[i] = {update.lr(i), a.rho, a.epsilon, 0};
  update.run(ARGOSY_OPTIM_RULE(adadelta_step), {0, 1}, c.data(), sizeof c[0]);
}

ARGOSY_OP(adadelta_, AdadeltaAttrs)
    .doc("Adadelta for all parameters.")
    .paper("https://arxiv.org/abs/1212.5701")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("avg_squared_grads", kFloating)
    .list_input("avg_squared_updates", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4})
    .kernel("fused", adadelta)
    .strided()
    .per_parameter()
    .done();

template <class T, bool centered>
void rmsprop_loop(const Slice& s) {
  const auto& c = *static_cast<const Coefficients*>(s.coefficients);
  const T lr = static_cast<T>(c.lr), epsilon = static_cast<T>(c.epsilon);
  const T rho = static_cast<T>(c.rho), rest = static_cast<T>(1 - c.rho);
  const T momentum = static_cast<T>(c.momentum);
  T* __restrict p = static_cast<T*>(s.param);
  T* __restrict v = static_cast<T*>(s.states[0]);
  T* __restrict square = static_cast<T*>(s.states[1]);
  T* __restrict mean = centered ? static_cast<T*>(s.states[2]) : nullptr;
  const T* __restrict g = static_cast<const T*>(s.grad);
  for (int64_t i = 0; i < s.n; ++i) {
    square[i] = rho * square[i] + rest * g[i] * g[i];
    T variance = square[i];
    if constexpr (centered) {
      mean[i] = rho * mean[i] + rest * g[i];
      variance -= mean[i] * mean[i];
    }
    v[i] = momentum * v[i] + lr * g[i] / std::sqrt(variance + epsilon);
    p[i] -= v[i];
  }
}
template <class T>
void rmsprop_step(const Slice& s) {
  rmsprop_loop<T, false>(s);
}
template <class T>
void centered_rmsprop_step(const Slice& s) {
  rmsprop_loop<T, true>(s);
}

void rmsprop(op::KernelFrame& f, const RmspropAttrs& a) {
  Update update(f, 3, a.common());
  std::vector<Coefficients> c(update.size());
  for (size_t i = 0; i < c.size(); ++i) c[i] = {update.lr(i), a.rho, a.epsilon, a.momentum};
  if (a.centered)
    update.run(ARGOSY_OPTIM_RULE(centered_rmsprop_step), {0, 1, 2}, c.data(), sizeof c[0]);
  else
    update.run(ARGOSY_OPTIM_RULE(rmsprop_step), {0, 1}, c.data(), sizeof c[0]);
}

void rmsprop_rule(op::UpdateRule& rule, const RmspropAttrs& a) {
  if (a.centered) rule.refused = "it is centered";
  rule.name = "rmsprop";
  rule.numbers = {{"rho", a.rho}, {"epsilon", a.epsilon}, {"momentum", a.momentum}};
}

ARGOSY_OP(rmsprop_, RmspropAttrs)
    .doc("RMSProp for all parameters.")
    .list_input("params", kFloating)
    .list_input("grads", kFloating)
    .layouts(op::kDenseOrRows)
    .list_input("momentums", kFloating)
    .list_input("mean_squares", kFloating)
    .list_input("mean_grads", kFloating)
    .list_input("masters", kFloating)
    .list_output("out")
    .writes({0, 2, 3, 4, 5})
    .update_rule(rmsprop_rule)
    .kernel("fused", rmsprop)
    .strided()
    .per_parameter()
    .done();

}  // namespace
}  // namespace argosy::ops
