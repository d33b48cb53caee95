#include "argosy/kernels/cuda/random.h"

#include <cmath>

#include "argosy/base/device.h"
#include "argosy/base/random.h"
#include "argosy/cuda/call.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/attention/attention.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/random/random.h"

// Random numbers on GPUs: other values than the CPU's, from the same seed.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using random::Places;

// Places for n elements: of the generator whose states programs keep, which all devices share, or
// those of an op with a seed of its own.
Places places_for(int64_t n, int64_t seed = 0) {
  if (seed != 0) return {static_cast<uint64_t>(seed), 0};
  const auto taken = argosy::random::default_generator({}).take_places(static_cast<uint64_t>(n));
  return {taken.seed, taken.first};
}

// The result itself, or a tensor of another dtype that is copied into it by finish().
class Result {
 public:
  Result(const Tensor& out, DType drawn)
      : out_(out),
        drawn_(out.dtype() == drawn ? out : Tensor::empty(out.shape(), drawn, out.place())) {}
  void* data() const { return drawn_.raw(); }
  void finish() const {
    if (!drawn_.is(out_)) op::copy_into(out_, drawn_);
  }

 private:
  const Tensor& out_;
  const Tensor drawn_;
};

void draw_uniform(KernelFrame& f, double low, double high, int64_t seed) {
  const Tensor& out = f.out[0];
  const int64_t n = out.numel();
  random::uniform(stream_of(f), places_for(n, seed), out.raw(), out.dtype(), n,
                  static_cast<float>(low), static_cast<float>(high));
}
void uniform(KernelFrame& f, const ops::UniformAttrs& a) {
  draw_uniform(f, a.min.real(), a.max.real(), a.seed);
}
void uniform_like(KernelFrame& f, const ops::UniformInplaceAttrs& a) {
  draw_uniform(f, a.min, a.max, a.seed);
}

void draw_normal(KernelFrame& f, double mean, double std, int64_t seed) {
  const Tensor& out = f.out[0];
  const int64_t n = out.numel();
  // Complex numbers are pairs, with the variance shared.
  const float s = static_cast<float>(std), m = static_cast<float>(mean);
  const float of_part = is_complex(out.dtype()) ? static_cast<float>(s * std::sqrt(0.5)) : s;
  random::normal(stream_of(f), places_for(2 * n, seed), out.raw(), out.dtype(), n, m, of_part);
}
void gaussian(KernelFrame& f, const ops::GaussianAttrs& a) {
  draw_normal(f, a.mean, a.std, a.seed);
}
void normal_like(KernelFrame& f, const ops::NormalInplaceAttrs& a) {
  draw_normal(f, a.mean, a.std, 0);
}

void truncated(KernelFrame& f, const ops::TruncatedGaussianAttrs& a) {
  const Tensor& out = f.out[0];
  const int64_t n = out.numel();
  random::truncated_normal(stream_of(f), places_for(n, a.seed), out.raw(), out.dtype(), n, a.mean,
                           a.std, a.a, a.b);
}

void exponential(KernelFrame& f, const ops::ExponentialAttrs& a) {
  const Tensor& out = f.out[0];
  const int64_t n = out.numel();
  random::exponential(stream_of(f), places_for(n), out.raw(), out.dtype(), n,
                      static_cast<float>(a.lam));
}

void randint(KernelFrame& f, const ops::RandintAttrs& a) {
  const Tensor& out = f.out[0];
  const int64_t n = out.numel();
  const DType drawn = out.dtype() == DType::int32 ? DType::int32 : DType::int64;
  const Result result(out, drawn);
  random::integers(stream_of(f), places_for(n), result.data(), drawn, n, a.low, a.high);
  result.finish();
}

const char* permutation_fits(const Inputs&, const ops::RandpermAttrs& a) {
  const DType t = a.dtype;
  if (t != DType::int32 && t != DType::int64 && t != DType::float32 && t != DType::float64)
    return "dtypes other than int32, int64, float32 and float64";
  return a.n < int64_t{1} << 31 ? nullptr : "2^31 numbers or more";
}
void randperm(KernelFrame& f, const ops::RandpermAttrs& a) {
  random::permutation(stream_of(f), places_for(a.n), f.out[0].raw(), a.dtype, a.n);
}

// --- from given probabilities ---

void bernoulli(KernelFrame& f, const ops::BernoulliAttrs& a) {
  Tensor x = f.in[0];
  const Tensor& out = f.out[0];
  const cudaStream_t stream = stream_of(f);
  if (a.p) {  // a common probability, rounded as x is
    x = Tensor::empty(x.shape(), x.dtype(), x.place());
    const float p = static_cast<float>(*a.p);
    random::uniform(stream, {}, x.raw(), x.dtype(), x.numel(), p, p);
  }
  random::bernoulli(stream, places_for(out.numel()), x.raw(), out.raw(), out.dtype(), out.numel());
}

void poisson(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  random::poisson(stream_of(f), places_for(out.numel()), f.in[0].raw(), out.raw(), out.dtype(),
                  out.numel());
}
void gamma(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  random::gamma(stream_of(f), places_for(out.numel()), f.in[0].raw(), out.raw(), out.dtype(),
                out.numel());
}

void binomial(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  const Tensor count = Tensor::empty(out.shape(), DType::int64, out.place());
  op::copy_into(count, f.in[0]);
  const Tensor p = Tensor::empty(out.shape(), f.in[1].dtype(), out.place());
  op::copy_into(p, f.in[1]);
  random::binomial(stream_of(f), places_for(out.numel()), static_cast<const int64_t*>(count.raw()),
                   p.raw(), p.dtype(), static_cast<int64_t*>(out.raw()), out.numel());
}

// Without replacement each sample is a pass over the weights.
const char* multinomial_fits(const Inputs& in, const ops::MultinomialAttrs& a) {
  const int64_t samples = a.num_samples.integer();
  const bool few = a.replacement || samples <= 64 || in[0].numel() <= (int64_t{1} << 30) / samples;
  return few ? nullptr : "many samples without replacement";
}

// What is wrong with weights is known to the host when this returns.
void refuse_bad_weights(cudaStream_t stream, const Tensor& x, int64_t rows, int64_t n,
                        int64_t samples, bool replacement) {
  const Scratch status(stream, sizeof(int));
  random::check_weights(stream, x.raw(), x.dtype(), rows, n, replacement ? 0 : samples,
                        status.data<int>());
  int found = 0;
  {
    device::HostWait wait;
    ARGOSY_CUDA(
        cudaMemcpyAsync(&found, status.data(), sizeof(found), cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  ARGOSY_CHECK(found != 1, invalid_argument)
      << "[multinomial] expected weights >= 0 that are finite, got others in " << x
      << ". Do this: look for them with isfinite(x) and x < 0.";
  ARGOSY_CHECK(found != 2, invalid_argument)
      << "[multinomial] expected a weight > 0, got " << n << " zeros.";
  ARGOSY_CHECK(found != 3, invalid_argument)
      << "[multinomial] cannot draw " << samples << " samples without replacement from fewer "
      << "categories of weight > 0. Do this: draw fewer, or pass replacement=True.";
}

void multinomial(KernelFrame& f, const ops::MultinomialAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.shape().back(), rows = n ? x.numel() / n : 0;
  const int64_t samples = a.num_samples.integer();
  if (rows == 0) return;
  const cudaStream_t stream = stream_of(f);
  refuse_bad_weights(stream, x, rows, n, samples, a.replacement);
  random::multinomial(stream, places_for(a.replacement ? rows * samples : rows * n), x.raw(),
                      x.dtype(), rows, n, samples, a.replacement,
                      static_cast<int64_t*>(f.out[0].raw()));
}

// --- dropout ---

void dropout_mask(KernelFrame& f, const ops::DropoutMaskAttrs& a) {
  const Tensor& out = f.out[0];
  random::kept(stream_of(f), places_for(out.numel()), static_cast<uint8_t*>(out.raw()), out.numel(),
               a.p.real());
}
void draw_bits(KernelFrame& f, int64_t n, double p) {
  random::kept_bits(stream_of(f), places_for(n), static_cast<uint8_t*>(f.out[0].raw()), n, p);
}
void dropout_bits(KernelFrame& f, const ops::DropoutBitsAttrs& a) {
  draw_bits(f, f.in[0].numel(), a.p.real());
}
void attention_bits(KernelFrame& f, const ops::AttentionBitsAttrs& a) {
  const Tensor &q = f.in[0], &k = f.in[1];
  draw_bits(f, q.dim(0) * q.dim(2) * q.dim(1) * k.dim(1), a.p.real());
}
void apply_bits(KernelFrame& f, const ops::ApplyDropoutAttrs& a) {
  const Tensor& x = f.in[0];
  random::keep_by_bits(stream_of(f), x.raw(), static_cast<const uint8_t*>(f.in[1].raw()),
                       f.out[0].raw(), x.dtype(), x.numel(), a.factor);
}

// --- activations ---

void rrelu(KernelFrame& f, const ops::RreluAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  random::rrelu(stream_of(f), a.training ? places_for(n) : Places{}, x.raw(), f.out[0].raw(),
                f.out[1].raw(), x.dtype(), n, a.lower, a.upper, a.training);
}

void gumbel_softmax(KernelFrame& f, const ops::GumbelAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  const int axis = static_cast<int>(a.axis < 0 ? a.axis + x.rank() : a.axis);
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < x.rank(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.dim(i);
  random::gumbel_softmax(stream_of(f), places_for(x.numel()), x.raw(), f.out[0].raw(),
                         f.out[1].raw(), x.dtype(), outer, x.dim(axis), inner, a.temperature,
                         a.hard);
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::UniformAttrs>("uniform", uniform),
    add_kernel<ops::GaussianAttrs>("gaussian", gaussian),
    add_kernel<ops::TruncatedGaussianAttrs>("truncated_gaussian_random", truncated),
    add_kernel<ops::RandintAttrs>("randint", randint),
    add_kernel<ops::RandpermAttrs>("randperm", permutation_fits, randperm),
    add_kernel<ops::BernoulliAttrs>("bernoulli", bernoulli),
    add_kernel<NoAttrs>("poisson", poisson),
    add_kernel<NoAttrs>("standard_gamma", gamma),
    add_kernel<NoAttrs>("binomial", binomial, true),
    add_kernel<ops::MultinomialAttrs>("multinomial", multinomial_fits, multinomial),
    add_kernel<ops::UniformInplaceAttrs>("uniform_like", uniform_like),
    add_kernel<ops::NormalInplaceAttrs>("normal_like", normal_like),
    add_kernel<ops::ExponentialAttrs>("exponential_like", exponential),
    add_kernel<ops::DropoutMaskAttrs>("dropout_mask", dropout_mask, true),
    add_kernel<ops::DropoutBitsAttrs>("dropout_bits", dropout_bits, true),
    add_kernel<ops::AttentionBitsAttrs>("attention_bits", attention_bits, true),
    add_kernel<ops::ApplyDropoutAttrs>("dropout_apply_bits", apply_bits),
    add_kernel<ops::RreluAttrs>("rrelu", rrelu),
    add_kernel<ops::GumbelAttrs>("gumbel_softmax", gumbel_softmax),
};

}  // namespace
}  // namespace argosy::cuda
