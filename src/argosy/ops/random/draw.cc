#include <algorithm>
#include <cmath>

#include "argosy/base/random.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/random/random.h"

// Ops that draw from the seeded generator; what is drawn in which order is in base/random.h.
namespace argosy::ops {
namespace {

using op::Effect;
using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::NoAttrs;

// The generator of a call: the default one, or a fresh one for an op with a seed of its own.
template <class F>
void with_generator(int64_t seed, F&& draw) {
  if (seed == 0) {
    draw(random::default_generator({}));
    return;
  }
  random::Generator own;
  own.seed_for_op(static_cast<uint64_t>(seed));
  draw(own);
}

Shape shape_of(const char* op, const IntArray& a) {
  Shape shape;
  for (size_t i = 0; i < a.size(); ++i) {
    bool symbol = std::any_of(a.symbols.begin(), a.symbols.end(),
                              [&](const IntArray::Symbol& s) { return s.position == i; });
    ARGOSY_CHECK(a[i] >= 0 || symbol, invalid_argument)
        << '[' << op << "] shape must not be negative, got " << a[i]
        << ". Do this: check how the size was computed.";
    shape.push_back(a[i]);
  }
  return shape;
}

void check_floating(const char* op, DType t) {
  ARGOSY_CHECK(kFloating.has(t), type) << '[' << op << "] dtype must be floating, got " << t
                                       << ". Do this: pass 'float32' and cast the result.";
}

// --- uniform, normal ---

void uniform_infer(InferContext& c, const UniformAttrs& a) {
  DType t = a.dtype.value_or(op::default_dtype());
  check_floating(c.name(), t);
  c.out[0] = {shape_of(c.name(), a.shape), t};
}
void uniform_fill(const Tensor& out, double low, double high, int64_t seed) {
  with_generator(seed, [&](random::Generator& g) {
    // Bounds are floats for every dtype, as in Paddle.
    const float lo = static_cast<float>(low), hi = static_cast<float>(high);
    dispatch_floating(out.dtype(),
                      [&]<class T>(T) { g.uniform(out.data<T>(), out.numel(), lo, hi); });
  });
}
void uniform_run(KernelFrame& f, const UniformAttrs& a) {
  uniform_fill(f.out[0], a.min.real(), a.max.real(), a.seed);
}

std::optional<double> uniform_range(const UniformAttrs& a) {
  if (a.min.tensor.defined() || a.max.tensor.defined()) return {};
  return std::max(std::abs(a.min.real()), std::abs(a.max.real()));
}

ARGOSY_OP(uniform, UniformAttrs)
    .doc("Numbers drawn evenly from [min, max). seed 0: from the global generator.")
    .shape("-> [*s']")
    .output("out")
    .infer(uniform_infer)
    .kernel("draw", uniform_run)
    .effect(Effect::random)
    .initial_range(uniform_range)
    .done();

// A uniform distribution with this spread ends at sqrt(3) deviations.
template <class A>
std::optional<double> normal_range(const A& a) {
  return a.std * std::sqrt(3.0);
}

void gaussian_infer(InferContext& c, const GaussianAttrs& a) {
  DType t = a.dtype.value_or(op::default_dtype());
  ARGOSY_CHECK((kFloating | kComplex).has(t), type)
      << '[' << c.name() << "] dtype must be floating or complex, got " << t << '.';
  c.out[0] = {shape_of(c.name(), a.shape), t};
}
void gaussian_fill(const Tensor& out, double mean, double std, int64_t seed) {
  with_generator(seed, [&](random::Generator& g) {
    const float m = static_cast<float>(mean), s = static_cast<float>(std);
    dispatch_floating(out.dtype(), [&]<class T>(T) { g.normal(out.data<T>(), out.numel(), m, s); });
    // Complex numbers are pairs, with the variance shared.
    const float half = static_cast<float>(static_cast<double>(s) * std::sqrt(0.5));
    if (out.dtype() == DType::complex64) g.normal(out.data<float>(), 2 * out.numel(), m, half);
    if (out.dtype() == DType::complex128) g.normal(out.data<double>(), 2 * out.numel(), m, half);
  });
}
void gaussian_run(KernelFrame& f, const GaussianAttrs& a) {
  gaussian_fill(f.out[0], a.mean, a.std, a.seed);
}

ARGOSY_OP(gaussian, GaussianAttrs)
    .doc("Numbers drawn from the normal distribution. seed 0: from the global generator.")
    .shape("-> [*s']")
    .output("out")
    .infer(gaussian_infer)
    .kernel("draw", gaussian_run)
    .effect(Effect::random)
    .initial_range(normal_range)
    .done();

void truncated_infer(InferContext& c, const TruncatedGaussianAttrs& a) {
  DType t = a.dtype.value_or(op::default_dtype());
  check_floating(c.name(), t);
  c.out[0] = {shape_of(c.name(), a.shape), t};
}
void truncated_run(KernelFrame& f, const TruncatedGaussianAttrs& a) {
  const Tensor& out = f.out[0];
  with_generator(a.seed, [&](random::Generator& g) {
    if (out.dtype() == DType::float64) {
      g.truncated_normal(out.data<double>(), out.numel(), a.mean, a.std, a.a, a.b);
      return;
    }
    Tensor wide = out.dtype() == DType::float32 ? out : Tensor::empty(out.shape(), DType::float32);
    g.truncated_normal(wide.data<float>(), out.numel(), a.mean, a.std, a.a, a.b);
    if (!wide.is(out)) op::copy_into(out, wide);
  });
}

ARGOSY_OP(truncated_gaussian_random, TruncatedGaussianAttrs)
    .doc("Numbers drawn from the normal distribution between the values a and b.")
    .shape("-> [*s']")
    .output("out")
    .infer(truncated_infer)
    .kernel("draw", truncated_run)
    .effect(Effect::random)
    .initial_range(normal_range)
    .done();

// --- integers, permutations ---

void randint_infer(InferContext& c, const RandintAttrs& a) {
  ARGOSY_CHECK(a.low < a.high, invalid_argument)
      << "[randint] low must be less than high, got " << a.low << " and " << a.high
      << ". Do this: swap them; randint(high) counts from 0.";
  DType t = a.dtype.value_or(DType::int64);
  c.out[0] = {shape_of(c.name(), a.shape), t};
}
void randint_run(KernelFrame& f, const RandintAttrs& a) {
  const Tensor& out = f.out[0];
  random::Generator& g = random::default_generator({});
  if (out.dtype() == DType::int32) {
    g.integers(out.data<int32_t>(), out.numel(), static_cast<int32_t>(a.low),
               static_cast<int32_t>(a.high));
    return;
  }
  Tensor wide = out.dtype() == DType::int64 ? out : Tensor::empty(out.shape(), DType::int64);
  g.integers(wide.data<int64_t>(), out.numel(), a.low, a.high);
  if (!wide.is(out)) op::copy_into(out, wide);
}

ARGOSY_OP(randint, RandintAttrs)
    .doc("Integers drawn evenly from [low, high).")
    .shape("-> [*s']")
    .output("out")
    .infer(randint_infer)
    .kernel("draw", randint_run)
    .effect(Effect::random)
    .done();

void randperm_infer(InferContext& c, const RandpermAttrs& a) {
  ARGOSY_CHECK(a.n >= 0, invalid_argument) << "[randperm] n must be 0 or more, got " << a.n << '.';
  c.out[0] = {{a.n}, a.dtype};
}
void randperm_run(KernelFrame& f, const RandpermAttrs& a) {
  random::Generator& g = random::default_generator({});
  bool known = dispatch_types<int32_t, int64_t, float, double>(
      a.dtype, [&]<class T>(T) { g.permutation(f.out[0].data<T>(), a.n); });
  ARGOSY_CHECK(known, type) << "[randperm] dtype must be int32, int64, float32 or float64, got "
                            << a.dtype << '.';
}

ARGOSY_OP(randperm, RandpermAttrs)
    .python(
        "randperm(n, dtype=\"int64\", name=None, *, out=None, device=None, requires_grad=False, "
        "pin_memory=False)")
    .doc("The integers 0 to n - 1 in random order.")
    .shape("-> [n]")
    .example(R"(>>> sorted(argosy.randperm(4).tolist())
[0, 1, 2, 3])")
    .output("out")
    .infer(randperm_infer)
    .kernel("draw", randperm_run)
    .effect(Effect::random)
    .done();

// --- drawn from given probabilities ---

// Runs draw(p, out, n) in float or double over contiguous x; 16-bit types go through float.
template <class F>
void from_parameters(const Tensor& x, const Tensor& out, F&& draw) {
  if (x.dtype() == DType::float64) {
    draw(x.data<double>(), out.data<double>(), x.numel());
    return;
  }
  Tensor p = Tensor::empty(x.shape(), DType::float32), wide = p;
  op::copy_into(p, x);
  wide = out.dtype() == DType::float32 ? out : Tensor::empty(x.shape(), DType::float32);
  draw(p.data<float>(), wide.data<float>(), x.numel());
  if (!wide.is(out)) op::copy_into(out, wide);
}

Tensors no_grad_flow(const GradCall& c, const NoAttrs&) {
  return zeros_like(c.dy());
}

void bernoulli_run(KernelFrame& f, const BernoulliAttrs& a) {
  Tensor x = f.in[0];
  if (a.p) x = full_like(x, *a.p);
  from_parameters(x, f.out[0], [](const auto* p, auto* out, int64_t n) {
    random::default_generator({}).bernoulli(out, p, n);
  });
}
Tensors bernoulli_grad(const GradCall& c, const BernoulliAttrs&) {
  return zeros_like(c.dy());
}

ARGOSY_OP(bernoulli, BernoulliAttrs)
    .python("bernoulli(x, p=None, name=None)")
    .method("bernoulli")
    .alias("input", "x")
    .doc("1 with probability x (or p, the same for all), else 0.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.bernoulli(argosy.to_tensor([0.0, 1.0])).tolist()
[0.0, 1.0])")
    .input("x", kFloating)
    .output("out")
    .kernel("draw", bernoulli_run)
    .gradient(bernoulli_grad)
    .effect(Effect::random)
    .done();

void poisson_run(KernelFrame& f, const NoAttrs&) {
  from_parameters(f.in[0], f.out[0], [](const auto* p, auto* out, int64_t n) {
    random::default_generator({}).poisson(out, p, n);
  });
}

ARGOSY_OP(poisson, NoAttrs)
    .python("poisson(x, name=None)")
    .alias("input", "x")
    .doc("Numbers drawn from the Poisson distributions of mean x.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.poisson(argosy.zeros([3])).tolist()
[0.0, 0.0, 0.0])")
    .input("x", kFloating)
    .output("out")
    .kernel("draw", poisson_run)
    .gradient(no_grad_flow)
    .effect(Effect::random)
    .done();

void gamma_run(KernelFrame& f, const NoAttrs&) {
  from_parameters(f.in[0], f.out[0], [](const auto* p, auto* out, int64_t n) {
    random::default_generator({}).gamma(out, p, n);
  });
}

ARGOSY_OP(standard_gamma, NoAttrs)
    .python("standard_gamma(x, name=None)")
    .doc("Numbers drawn from the gamma distributions of shape x and scale 1.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.standard_gamma(argosy.ones([3])).shape
paddle.Size([3]))")
    .input("x", kFloating)
    .output("out")
    .kernel("draw", gamma_run)
    .effect(Effect::random)
    .done();

void binomial_infer(InferContext& c, const NoAttrs&) {
  c.out[0].dtype = DType::int64;
}
void binomial_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  Tensor count = Tensor::empty(out.shape(), DType::int64);
  op::copy_into(count, f.in[0]);
  Tensor p = Tensor::empty(out.shape(), f.in[1].dtype());
  op::copy_into(p, f.in[1]);
  random::Generator& g = random::default_generator({});
  dispatch_types<float, double>(p.dtype(), [&]<class T>(T) {
    g.binomial(out.data<int64_t>(), count.data<int64_t>(), p.data<T>(), out.numel());
  });
}

ARGOSY_OP(binomial, NoAttrs)
    .python("binomial(count, prob, name=None)")
    .doc("How many of `count` trials succeed, each with probability `prob`.")
    .example(
        R"(>>> argosy.binomial(argosy.to_tensor([10, 10]), argosy.to_tensor([0.0, 1.0])).tolist()
[0, 10])")
    .input("count", kNumeric)
    .input("prob", only(DType::float32) | only(DType::float64))
    .index_output("out")
    .elementwise()
    .infer(binomial_infer)
    .kernel("draw", binomial_run)
    .strided()
    .effect(Effect::random)
    .done();

void multinomial_infer(InferContext& c, const MultinomialAttrs& a) {
  Shape out = c.in[0].shape();
  ARGOSY_CHECK(out.rank() == 1 || out.rank() == 2, invalid_argument)
      << "[multinomial] x must have 1 or 2 dimensions, got " << c.in[0]
      << ". Do this: flatten the leading dimensions.";
  ARGOSY_CHECK(a.num_samples.integer() > 0 || a.num_samples.tensor.defined(), invalid_argument)
      << "[multinomial] num_samples must be 1 or more, got " << a.num_samples.integer() << '.';
  out[out.rank() - 1] = a.num_samples.tensor.defined() ? kUnknown : a.num_samples.integer();
  c.out[0] = {out, DType::int64};
}
void multinomial_run(KernelFrame& f, const MultinomialAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.shape().back(), rows = n ? x.numel() / n : 0;
  random::Generator& g = random::default_generator({});
  dispatch_types<float, double>(x.dtype(), [&]<class T>(T) {
    g.multinomial(f.out[0].data<int64_t>(), x.data<T>(), rows, n, a.num_samples.integer(),
                  a.replacement);
  });
}

ARGOSY_OP(multinomial, MultinomialAttrs)
    .python("multinomial(x, num_samples=1, replacement=False, name=None, *, out=None)")
    .method("multinomial")
    .alias("input", "x")
    .doc("num_samples indices of each row of x, drawn with probability proportional to its values.")
    .shape("x [*b,n] -> [*b,k']")
    .example(
        R"(>>> argosy.multinomial(argosy.to_tensor([0.0, 1.0, 0.0]), 3, replacement=True).tolist()
[1, 1, 1])")
    .input("x", only(DType::float32) | only(DType::float64))
    .index_output("out")
    .infer(multinomial_infer)
    .kernel("draw", multinomial_run)
    .effect(Effect::random)
    .done();

// --- in place ---

void uniform_inplace_run(KernelFrame& f, const UniformInplaceAttrs& a) {
  uniform_fill(f.out[0], a.min, a.max, a.seed);
}
Tensors uniform_inplace_grad(const GradCall& c, const UniformInplaceAttrs&) {
  return zeros_like(c.dy());
}

ARGOSY_OP(uniform_like, UniformInplaceAttrs)
    .doc("Numbers drawn evenly from [min, max), in x's form.")
    .shape("x [*s] -> [*s]")
    .inplace("uniform_")
    .input("x", kFloating)
    .output("out")
    .kernel("draw", uniform_inplace_run)
    .gradient(uniform_inplace_grad)
    .effect(Effect::random)
    .done();

void normal_inplace_run(KernelFrame& f, const NormalInplaceAttrs& a) {
  gaussian_fill(f.out[0], a.mean, a.std, 0);
}
Tensors normal_inplace_grad(const GradCall& c, const NormalInplaceAttrs&) {
  return zeros_like(c.dy());
}

ARGOSY_OP(normal_like, NormalInplaceAttrs)
    .doc("Numbers drawn from the normal distribution, in x's form.")
    .shape("x [*s] -> [*s]")
    .inplace("normal_")
    .input("x", kFloating | kComplex)
    .output("out")
    .kernel("draw", normal_inplace_run)
    .gradient(normal_inplace_grad)
    .effect(Effect::random)
    .done();

void exponential_run(KernelFrame& f, const ExponentialAttrs& a) {
  const Tensor& out = f.out[0];
  const float rate = static_cast<float>(a.lam);
  random::Generator& g = random::default_generator({});
  if (out.dtype() == DType::float64) {
    g.exponential(out.data<double>(), out.numel(), rate);
    return;
  }
  Tensor wide = out.dtype() == DType::float32 ? out : Tensor::empty(out.shape(), DType::float32);
  g.exponential(wide.data<float>(), out.numel(), rate);
  if (!wide.is(out)) op::copy_into(out, wide);
}
Tensors exponential_grad(const GradCall& c, const ExponentialAttrs&) {
  return zeros_like(c.dy());
}

ARGOSY_OP(exponential_like, ExponentialAttrs)
    .doc("Numbers drawn from the exponential distribution of rate lam, in x's form.")
    .shape("x [*s] -> [*s]")
    .inplace("exponential_")
    .input("x", kFloating)
    .output("out")
    .kernel("draw", exponential_run)
    .gradient(exponential_grad)
    .effect(Effect::random)
    .done();

}  // namespace
}  // namespace argosy::ops
