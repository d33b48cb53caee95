#include "argosy/kernels/cpu/simd/skip_gram.h"

#include "argosy/kernels/cpu/simd/math.h"
#include "argosy/kernels/cpu/simd/vector.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

using V = Vector<float>;
constexpr int kL = kLanes<float>;

ARGOSY_INLINE void store(float* p, V v) {
  __builtin_memcpy(p, &v, sizeof(v));
}
ARGOSY_INLINE float across(V v) {
  float sum = 0;
  for (int l = 0; l < kL; ++l) sum += v[l];
  return sum;
}

}  // namespace

void skip_gram_logits(int64_t dim, const float* input, float* const* targets, int n,
                      float* logits) {
  const int64_t whole = dim - dim % kL;
  int k = 0;
  // Three targets at a time hide the latency of the sums.
  for (; k + 3 <= n; k += 3) {
    const float* t0 = targets[k];
    const float* t1 = targets[k + 1];
    const float* t2 = targets[k + 2];
    V a{}, b{}, c{};
    for (int64_t i = 0; i < whole; i += kL) {
      const V x = load(input + i);
      a += x * load(t0 + i);
      b += x * load(t1 + i);
      c += x * load(t2 + i);
    }
    float s0 = across(a), s1 = across(b), s2 = across(c);
    for (int64_t i = whole; i < dim; ++i) {
      s0 += input[i] * t0[i];
      s1 += input[i] * t1[i];
      s2 += input[i] * t2[i];
    }
    logits[k] = s0;
    logits[k + 1] = s1;
    logits[k + 2] = s2;
  }
  for (; k < n; ++k) {
    V a{};
    for (int64_t i = 0; i < whole; i += kL) a += load(input + i) * load(targets[k] + i);
    float s = across(a);
    for (int64_t i = whole; i < dim; ++i) s += input[i] * targets[k][i];
    logits[k] = s;
  }
}

float skip_gram_steps(const float* logits, int n, float rate, float* steps) {
  float lost[64];
  for (int k = 0; k < n; ++k) {
    const float x = logits[k];
    const double e = exp_core(-double{abs_of(x)});
    const double positive = x < 0 ? e / (1 + e) : 1 / (1 + e);
    const float label = k == 0 ? 1.0f : 0.0f;
    steps[k] = rate * (label - static_cast<float>(positive));
    // softplus(-x) for the positive, softplus(x) for negatives.
    const float against = k == 0 ? -x : x;
    lost[k] = (against > 0 ? against : 0) + static_cast<float>(log1p_core(e));
  }
  float loss = 0;
  for (int k = 0; k < n; ++k) loss += lost[k];
  return loss;
}

void skip_gram_update(int64_t dim, float* input, float* const* targets, const float* steps, int n) {
  const int64_t whole = dim - dim % kL;
  for (int64_t i = 0; i < whole; i += kL) {
    const V x = load(input + i);
    V moved = x;
    for (int k = 0; k < n; ++k) {
      const V t = load(targets[k] + i);
      moved += steps[k] * t;
      store(targets[k] + i, t + steps[k] * x);
    }
    store(input + i, moved);
  }
  for (int64_t i = whole; i < dim; ++i) {
    const float x = input[i];
    float moved = x;
    for (int k = 0; k < n; ++k) {
      const float t = targets[k][i];
      moved += steps[k] * t;
      targets[k][i] = t + steps[k] * x;
    }
    input[i] = moved;
  }
}

}  // namespace argosy::cpu::ARGOSY_ISA
