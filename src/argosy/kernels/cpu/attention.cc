#include "argosy/kernels/cpu/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/bits.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/attention.h"

namespace argosy::cpu {
namespace {

constexpr int64_t kQueries = 128, kKeys = 256;  // sides of a block of scores

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

template <class T>
void multiply(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha, const T* a,
              int64_t lda, const T* b, int64_t ldb, double beta, T* c, int64_t ldc) {
  if constexpr (std::is_same_v<T, float>) {
    if (small_sgemm(trans_a, trans_b, m, n, k, static_cast<float>(alpha), a, lda, b, ldb,
                    static_cast<float>(beta), c, ldc))
      return;
  }
  blas_gemm(sizeof(T) == 4 ? DType::float32 : DType::float64, trans_a, trans_b, m, n, k, alpha, a,
            lda, b, ldb, beta, c, ldc);
}

#define ARGOSY_BY_ISA(name, ...) \
  (isa() == Isa::avx512 ? avx512::name(__VA_ARGS__) : avx2::name(__VA_ARGS__))

// Rows of S as computing type T: itself, or copies in `room`.
template <class T>
struct Rows {
  const T* data;
  int64_t ld;
};

void widen(const float16* from, float* to, int64_t n) {
  half_to_float(DType::float16, from, to, n);
}
void widen(const bfloat16* from, float* to, int64_t n) {
  half_to_float(DType::bfloat16, from, to, n);
}
void narrow(const float* from, float16* to, int64_t n) {
  float_to_half(DType::float16, from, to, n);
}
void narrow(const float* from, bfloat16* to, int64_t n) {
  float_to_half(DType::bfloat16, from, to, n);
}

template <class S>
using Computing = std::conditional_t<sizeof(S) == 8, double, float>;
template <class S>
inline constexpr bool kWide = std::is_same_v<S, Computing<S>>;

template <class S, class T>
Rows<T> rows_of(const S* from, int64_t ld, int64_t rows, int64_t columns, T* room) {
  if constexpr (kWide<S>) {
    return {from, ld};
  } else {
    for (int64_t r = 0; r < rows; ++r) widen(from + r * ld, room + r * columns, columns);
    return {room, columns};
  }
}
template <class S, class T>
Rows<T> rows_of(const HeadMatrices& m, int64_t batch, int64_t head, int64_t first, int64_t rows,
                int64_t columns, T* room) {
  const S* from = static_cast<const S*>(m.data) + batch * m.batch + head * m.head + first * m.row;
  return rows_of<S, T>(from, m.row, rows, columns, room);
}

template <class T, class M>
void mask_row(T* scores, const M* mask, int64_t step, int64_t n) {
  auto masked = [](T score, M m) {
    if constexpr (std::is_same_v<M, bool>)
      return m ? score : -std::numeric_limits<T>::infinity();
    else
      return score + static_cast<T>(m);
  };
  if (step == 1) {
    for (int64_t j = 0; j < n; ++j) scores[j] = masked(scores[j], mask[j]);
  } else {
    for (int64_t j = 0; j < n; ++j) scores[j] = masked(scores[j], mask[j * step]);
  }
}

// The scores of queries [i, i + m) and keys [j, j + n) of one head.
template <class S>
class Block {
 public:
  using T = Computing<S>;
  Block(const Attention& a, int64_t batch, int64_t head) : a_(a), batch_(batch), head_(head) {}

  // Is there a pair in it that the causal mask lets through?
  bool any(int64_t i, int64_t m, int64_t j) const { return !a_.causal || j < i + m; }
  // How many of n keys from j on the last query sees.
  int64_t seen(int64_t i, int64_t m, int64_t j, int64_t n) const {
    return a_.causal ? std::min(n, i + m - j) : n;
  }

  void scores(int64_t i, int64_t m, int64_t j, int64_t n, Rows<T> q, Rows<T> k, T* out) const {
    multiply(false, true, m, n, a_.size, a_.scale, q.data, q.ld, k.data, k.ld, 0, out, n);
    for (int64_t r = 0; a_.mask && r < m; ++r) {
      const int64_t* s = a_.mask_strides;
      const int64_t at = batch_ * s[0] + head_ * s[1] + (i + r) * s[2] + j * s[3];
      if (a_.mask_is_bool)
        mask_row(out + r * n, static_cast<const bool*>(a_.mask) + at, s[3], n);
      else
        mask_row(out + r * n, static_cast<const S*>(a_.mask) + at, s[3], n);
    }
    for (int64_t r = 0; a_.causal && r < m; ++r) {
      const int64_t seen = std::clamp<int64_t>(i + r + 1 - j, 0, n);
      std::fill(out + r * n + seen, out + (r + 1) * n, -std::numeric_limits<T>::infinity());
    }
  }

  // Row r of the block: dropped weights become 0, the others grow.
  void drop(int64_t query, int64_t j, int64_t n, T* row) const {
    if (!a_.kept) return;
    const int64_t first = ((batch_ * a_.heads + head_) * a_.queries + query) * a_.keys + j;
    keep_by_bits(sizeof(T) == 4 ? DType::float32 : DType::float64, row, a_.kept, first, n,
                 a_.batch * a_.heads * a_.queries * a_.keys, a_.factor, row);
  }

 private:
  const Attention& a_;
  int64_t batch_, head_;
};

template <class S>
void forward_block(const Attention& a, int64_t batch, int64_t head, int64_t i, S* out,
                   Computing<S>* log_sum) {
  using T = Computing<S>;
  const Block<S> block(a, batch, head);
  const int64_t m = std::min(kQueries, a.queries - i), width = std::min(kKeys, a.keys);
  const int64_t d = a.size, e = a.value_size, group = head / (a.heads / a.key_heads);
  const int64_t widened = kWide<S> ? 0 : m * d + width * (d + e);
  Scratch scratch(static_cast<size_t>(m * (width + e + 2) + widened) * sizeof(T));
  T* scores = scratch.as<T>();
  T *mixed = scores + m * width, *high = mixed + m * e, *sum = high + m;
  T *room_q = sum + m, *room_k = room_q + m * d, *room_v = room_k + width * d;
  std::fill_n(high, m, -std::numeric_limits<T>::infinity());
  std::fill_n(sum, m, T(0));
  const Rows<T> q = rows_of<S, T>(a.query, batch, head, i, m, d, room_q);
  for (int64_t j = 0; j < a.keys && block.any(i, m, j); j += width) {
    const int64_t n = block.seen(i, m, j, std::min(width, a.keys - j));
    const Rows<T> k = rows_of<S, T>(a.key, batch, group, j, n, d, room_k);
    const Rows<T> v = rows_of<S, T>(a.value, batch, group, j, n, e, room_v);
    block.scores(i, m, j, n, q, k, scores);
    for (int64_t r = 0; r < m; ++r) {
      const T factor = ARGOSY_BY_ISA(exp_scores, n, scores + r * n, high + r, sum + r);
      block.drop(i + r, j, n, scores + r * n);
      for (int64_t c = 0; j > 0 && factor != 1 && c < e; ++c) mixed[r * e + c] *= factor;
    }
    multiply(false, false, m, e, n, 1, scores, n, v.data, v.ld, j > 0 ? 1 : 0, mixed, e);
  }
  for (int64_t r = 0; r < m; ++r) {
    log_sum[r] = high[r] + std::log(sum[r]);
    T* row = mixed + r * e;
    S* to = out + ((batch * a.queries + i + r) * a.heads + head) * e;
    const T factor = 1 / sum[r];
    if constexpr (kWide<S>) {
      for (int64_t c = 0; c < e; ++c) to[c] = row[c] * factor;
    } else {
      for (int64_t c = 0; c < e; ++c) row[c] *= factor;
      narrow(row, to, e);
    }
  }
}

template <class S>
void forward(const Attention& a, S* out, Computing<S>* log_sum) {
  const int64_t blocks = divide_up(a.queries, kQueries);
  parallel_for(a.batch * a.heads * blocks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t i = t % blocks * kQueries, h = t / blocks % a.heads;
      const int64_t b = t / blocks / a.heads;
      forward_block<S>(a, b, h, i, out, log_sum + (b * a.heads + h) * a.queries + i);
    }
  });
}

// Where a sum over blocks is collected: in place, or in `room` until it is stored.
template <class S>
struct Target {
  using T = Computing<S>;
  Target(S* to, int64_t ld, int64_t columns, T* room) : to_(to), ld_(ld), columns_(columns) {
    if constexpr (kWide<S>) {
      data = to;
      step = ld;
    } else {
      data = room;
      step = columns;
    }
  }
  void store(int64_t rows) const {
    if constexpr (!kWide<S>)
      for (int64_t r = 0; r < rows; ++r) narrow(data + r * columns_, to_ + r * ld_, columns_);
  }
  T* data;
  int64_t step;

 private:
  S* to_;
  int64_t ld_, columns_;
};

template <class T>
void clear(T* to, int64_t ld, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) std::fill_n(to + r * ld, columns, T(0));
}

struct Gradients {
  const void *out, *log_sum, *dout;
  void *dquery, *dkey, *dvalue;
};

// Of one key head and all heads that use it.
template <class S>
void backward_group(const Attention& a, const Gradients& g, int64_t batch, int64_t group) {
  using T = Computing<S>;
  const int64_t d = a.size, e = a.value_size, times = a.heads / a.key_heads;
  const int64_t height = std::min(kQueries, a.queries), width = std::min(kKeys, a.keys);
  const int64_t queries = times * a.queries;
  const int64_t widened = kWide<S> ? 0 : queries * d + height * (d + 2 * e) + 2 * width * (d + e);
  Scratch scratch(static_cast<size_t>(2 * height * width + queries + widened) * sizeof(T));
  T* scores = scratch.as<T>();
  T *weights_grad = scores + height * width, *delta = weights_grad + height * width;
  T *room_dq = delta + queries, *room_q = room_dq + queries * d, *room_do = room_q + height * d;
  T *room_o = room_do + height * e, *room_k = room_o + height * e, *room_v = room_k + width * d;
  T *room_dk = room_v + width * e, *room_dv = room_dk + width * d;

  const int64_t row = a.heads * e;  // of out and dout
  auto rows_in = [&](const void* x, int64_t head, int64_t i, int64_t m, T* room) {
    return rows_of<S, T>(static_cast<const S*>(x) + (batch * a.queries + i) * row + head * e, row,
                         m, e, room);
  };
  auto target_of = [&](int64_t t) {
    const int64_t head = group * times + t;
    return Target<S>(static_cast<S*>(g.dquery) + (batch * a.queries * a.heads + head) * d,
                     a.heads * d, d, room_dq + t * a.queries * d);
  };
  for (int64_t t = 0; t < times; ++t) {
    for (int64_t i = 0; i < a.queries; i += height) {
      const int64_t m = std::min(height, a.queries - i), head = group * times + t;
      const Rows<T> o = rows_in(g.out, head, i, m, room_o),
                    dy = rows_in(g.dout, head, i, m, room_do);
      for (int64_t r = 0; r < m; ++r)
        delta[t * a.queries + i + r] =
            ARGOSY_BY_ISA(dot_rows, e, o.data + r * o.ld, dy.data + r * dy.ld);
    }
  }
  for (int64_t j = 0; j < a.keys; j += width) {
    const int64_t keys = std::min(width, a.keys - j);
    const Rows<T> k = rows_of<S, T>(a.key, batch, group, j, keys, d, room_k);
    const Rows<T> v = rows_of<S, T>(a.value, batch, group, j, keys, e, room_v);
    const int64_t at = (batch * a.keys + j) * a.key_heads + group;
    const Target<S> dk(static_cast<S*>(g.dkey) + at * d, a.key_heads * d, d, room_dk);
    const Target<S> dv(static_cast<S*>(g.dvalue) + at * e, a.key_heads * e, e, room_dv);
    bool first = true;
    for (int64_t t = 0; t < times; ++t) {
      const int64_t head = group * times + t;
      const Block<S> block(a, batch, head);
      const Target<S> dq = target_of(t);
      const T* log_sum = static_cast<const T*>(g.log_sum) + (batch * a.heads + head) * a.queries;
      for (int64_t i = 0; i < a.queries; i += height) {
        const int64_t m = std::min(height, a.queries - i);
        if (!block.any(i, m, j)) continue;
        const int64_t n = block.seen(i, m, j, keys);
        const Rows<T> q = rows_of<S, T>(a.query, batch, head, i, m, d, room_q);
        const Rows<T> dy = rows_in(g.dout, head, i, m, room_do);
        block.scores(i, m, j, n, q, k, scores);
        multiply(false, true, m, n, e, 1, dy.data, dy.ld, v.data, v.ld, 0, weights_grad, n);
        for (int64_t r = 0; r < m; ++r) {
          T *s = scores + r * n, *ds = weights_grad + r * n;
          block.drop(i + r, j, n, ds);
          ARGOSY_BY_ISA(scores_backward, n, s, ds, log_sum[i + r], delta[t * a.queries + i + r],
                        static_cast<T>(a.scale));
          block.drop(i + r, j, n, s);
        }
        if (first && n < keys) {
          clear(dk.data, dk.step, keys, d);
          clear(dv.data, dv.step, keys, e);
          first = false;
        }
        const double more = first ? 0 : 1;
        first = false;
        multiply(true, false, n, e, m, 1, scores, n, dy.data, dy.ld, more, dv.data, dv.step);
        multiply(true, false, n, d, m, 1, weights_grad, n, q.data, q.ld, more, dk.data, dk.step);
        multiply(false, false, m, d, n, 1, weights_grad, n, k.data, k.ld, j > 0 ? 1 : 0,
                 dq.data + i * dq.step, dq.step);
      }
    }
    if (first) {  // keys after every query
      clear(dk.data, dk.step, keys, d);
      clear(dv.data, dv.step, keys, e);
    }
    dk.store(keys);
    dv.store(keys);
  }
  for (int64_t t = 0; t < times; ++t) target_of(t).store(a.queries);
}

template <class S>
void backward(const Attention& a, const Gradients& g) {
  parallel_for(a.batch * a.key_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) backward_group<S>(a, g, t / a.key_heads, t % a.key_heads);
  });
}

}  // namespace

void attention(const Attention& a, void* out, void* log_sum) {
  dispatch_floating(a.type, [&]<class S>(S) {
    forward<S>(a, static_cast<S*>(out), static_cast<Computing<S>*>(log_sum));
  });
}

void attention_grad(const Attention& a, const void* out, const void* log_sum, const void* dout,
                    void* dquery, void* dkey, void* dvalue) {
  const Gradients g{out, log_sum, dout, dquery, dkey, dvalue};
  dispatch_floating(a.type, [&]<class S>(S) { backward<S>(a, g); });
}

}  // namespace argosy::cpu
