#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/optim_rate.cuh"

// Numbers of a step: they come from powers and counts that lie on the device, in float64 as the
// host would compute them.
namespace argosy::cuda::optim {
namespace {

enum class Word : uint8_t { none, f32, f64, i64 };

Word word_of(const Array& a) {
  if (!a.data) return Word::none;
  switch (a.dtype) {
    case DType::float32:
      return Word::f32;
    case DType::float64:
      return Word::f64;
    case DType::int64:
      return Word::i64;
    default:
      fail_dtype("optimizer", a.dtype);
  }
}

struct Counter {
  void* at[kMaxStates];
  int64_t n;
  double lr, decay;
  Word words[kMaxStates];
  bool ahead;
};
inline constexpr int kCounters = 64;
struct Counters {
  Counter list[kCounters];
  int count;
  double* made;
  Numbers numbers;
};
static_assert(sizeof(Counters) <= 4096);  // of kernel arguments

struct Scalar {
  void* at;
  Word word;
  __device__ double get() const {
    switch (word) {
      case Word::f32:
        return *static_cast<const float*>(at);
      case Word::f64:
        return *static_cast<const double*>(at);
      default:
        return static_cast<double>(*static_cast<const int64_t*>(at));
    }
  }
  __device__ void set(double value) const {
    switch (word) {
      case Word::f32:
        *static_cast<float*>(at) = static_cast<float>(value);
        break;
      case Word::f64:
        *static_cast<double*>(at) = value;
        break;
      default:
        *static_cast<int64_t*>(at) = static_cast<int64_t>(value);
    }
  }
  // Times beta, rounded as the dtype says.
  __device__ void advance(double beta) const {
    if (word == Word::f32)
      *static_cast<float*>(at) *= static_cast<float>(beta);
    else
      set(get() * beta);
  }
};

__device__ double rate_of(const Counter& c, const Numbers& n) {
  return c.lr * factor_of(n.rate);
}

__device__ void adam_steps(const Counter& c, const Scalar* s, const Numbers& n, double* made) {
  const double power1 = s[0].get() * (c.ahead ? n.beta1 : 1);
  const double power2 = s[1].get() * (c.ahead ? n.beta2 : 1);
  const double correction = sqrt(1 - power2);
  const double lr = rate_of(c, n);
  made[0] = lr * correction / (1 - power1);
  made[1] = n.epsilon * correction;
  made[2] = 1 - lr * c.decay;
  s[0].advance(n.beta1);
  s[1].advance(n.beta2);
}

__device__ void nadam_steps(const Counter& c, const Scalar* s, const Numbers& n, double* made) {
  const double decay = s[0].get() * 0.96, beta2_pow = s[1].get() * n.beta2;
  const double slow = pow(decay, n.momentum_decay);
  const double mu = n.beta1 * (1 - 0.5 * slow);
  const double next_mu = n.beta1 * (1 - 0.5 * slow * pow(0.96, n.momentum_decay));
  const double product = s[2].get() * mu;
  const double lr = rate_of(c, n);
  made[0] = lr * next_mu / (1 - product * next_mu);
  made[1] = lr * (1 - mu) / (1 - product);
  made[2] = 1 / sqrt(1 - beta2_pow);
  made[3] = 0;
  s[0].set(decay);
  s[1].set(beta2_pow);
  s[2].set(product);
}

__device__ void radam_steps(const Counter& c, const Scalar* s, const Numbers& n, double* made) {
  // NOTE: limit - 2 rho is a small difference of large numbers: beta2 must be rounded as rho is.
  const double beta2 = s[2].word == Word::f64 ? n.beta2 : static_cast<float>(n.beta2);
  const double beta1_pow = s[0].get() * n.beta1;
  const double beta2_pow = s[1].get() * beta2;
  const double rho = (s[2].get() * (beta2 - beta2_pow) + beta2_pow) / (1 - beta2_pow);
  const double limit = 2 / (1 - beta2) - 1, length = limit - 2 * rho;
  double rate = rate_of(c, n) / (1 - beta1_pow);
  const bool flat = length <= 5;  // the variance of the denominator is not bounded yet
  if (!flat)
    rate *= sqrt((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length) *
                 (1 - beta2_pow));
  made[0] = rate;
  made[1] = 0;
  made[2] = 1;
  made[3] = flat;
  s[0].set(beta1_pow);
  s[1].set(beta2_pow);
  s[2].set(rho);
}

// made[1]: where the batch whose turn it is begins in y.
__device__ void asgd_steps(const Counter& c, const Scalar* s, const Numbers& n, double* made) {
  int64_t& steps = *static_cast<int64_t*>(s[0].at);
  const int64_t turn = (steps % n.batch_num + n.batch_num) % n.batch_num;
  const int64_t seen = steps + 1 < n.batch_num ? steps + 1 : n.batch_num;
  made[0] = rate_of(c, n) / static_cast<double>(seen);
  made[1] = static_cast<double>(turn * c.n);
  ++steps;
}

__device__ void lamb_steps(const Scalar* s, const Numbers& n, double* made) {
  made[0] = 1 / (1 - s[0].get());
  made[1] = 1 / (1 - s[1].get());
  s[0].advance(n.beta1);
  s[1].advance(n.beta2);
}

template <Steps rule>
__global__ void step(const __grid_constant__ Counters counters) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= counters.count) return;
  const Counter& c = counters.list[i];
  const Scalar s[kMaxStates] = {
      {c.at[0], c.words[0]}, {c.at[1], c.words[1]}, {c.at[2], c.words[2]}};
  double* made = counters.made + i * kMade;
  const Numbers& n = counters.numbers;
  if constexpr (rule == Steps::adam) {
    adam_steps(c, s, n, made);
  } else if constexpr (rule == Steps::adamax) {
    made[0] = rate_of(c, n) / (1 - s[0].get());
    s[0].advance(n.beta1);
  } else if constexpr (rule == Steps::nadam) {
    nadam_steps(c, s, n, made);
  } else if constexpr (rule == Steps::radam) {
    radam_steps(c, s, n, made);
  } else if constexpr (rule == Steps::asgd) {
    asgd_steps(c, s, n, made);
  } else {
    lamb_steps(s, n, made);
  }
}

void launch(cudaStream_t stream, Steps rule, const Counters& counters) {
  switch (rule) {
#define ARGOSY_STEP(name)                                     \
  case Steps::name:                                           \
    step<Steps::name><<<1, kCounters, 0, stream>>>(counters); \
    break
    ARGOSY_STEP(adam);
    ARGOSY_STEP(adamax);
    ARGOSY_STEP(nadam);
    ARGOSY_STEP(radam);
    ARGOSY_STEP(asgd);
    ARGOSY_STEP(lamb);
#undef ARGOSY_STEP
  }
  ARGOSY_CUDA_LAUNCHED();
}

inline constexpr int kRanges = 96;
struct Ranges {
  NormRange list[kRanges];
  const double* sums;
  double* made;
  Array rate;
};
static_assert(sizeof(Ranges) <= 4096);

__global__ void trust_ratio(const __grid_constant__ Ranges ranges) {
  __shared__ double shared[kWarp];
  const NormRange& r = ranges.list[blockIdx.x];
  double p = 0, d = 0;
  for (int64_t i = r.begin + threadIdx.x; i < r.end; i += blockDim.x) {
    p += ranges.sums[2 * i];
    d += ranges.sums[2 * i + 1];
  }
  p = sqrt(block_reduce(p, 0.0, Sum(), shared));
  d = sqrt(block_reduce(d, 0.0, Sum(), shared));
  if (threadIdx.x == 0) {
    const double lr = r.lr * factor_of(ranges.rate);
    ranges.made[blockIdx.x * kMade + 2] = r.adapts && p > 0 && d > 0 ? lr * (p / d) : lr;
  }
}

}  // namespace

void advance(cudaStream_t stream, Steps rule, Params params, const Numbers& numbers, double* made) {
  Counters counters{};
  counters.numbers = numbers;
  for (size_t begin = 0; begin < params.size(); begin += kCounters) {
    counters.count = static_cast<int>(std::min<size_t>(kCounters, params.size() - begin));
    counters.made = made + begin * kMade;
    for (int i = 0; i < counters.count; ++i) {
      const Param& p = params[begin + i];
      Counter& c = counters.list[i];
      c.n = p.n;
      c.lr = p.lr;
      c.decay = p.decay;
      c.ahead = p.ahead;
      for (int k = 0; k < kMaxStates; ++k) {
        c.at[k] = p.scalars[k].data;
        c.words[k] = word_of(p.scalars[k]);
      }
    }
    launch(stream, rule, counters);
  }
}

void trust(cudaStream_t stream, std::span<const NormRange> ranges, const double* sums,
           const Array& rate, double* made) {
  Ranges table{};
  table.sums = sums;
  table.rate = rate;
  for (size_t begin = 0; begin < ranges.size(); begin += kRanges) {
    const size_t count = std::min<size_t>(kRanges, ranges.size() - begin);
    std::copy_n(ranges.begin() + static_cast<std::ptrdiff_t>(begin), count, table.list);
    table.made = made + begin * kMade;
    trust_ratio<<<static_cast<unsigned>(count), 256, 0, stream>>>(table);
    ARGOSY_CUDA_LAUNCHED();
  }
}

}  // namespace argosy::cuda::optim
