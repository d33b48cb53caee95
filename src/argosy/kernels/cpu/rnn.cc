#include "argosy/kernels/cpu/rnn.h"

#include <algorithm>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/gemm.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/copy.h"
#include "argosy/kernels/cpu/simd/rnn.h"

// Sequences do not meet but in the weights' gradients: so the batch is cut into blocks, each of
// which runs through all steps on one thread without waiting for others. Inputs of all steps are
// multiplied ahead, and gradients of the weights at the end, as single large products.
namespace argosy::cpu {
namespace {

// Rows of x, y and the reserve are numbered as x lies in memory.
struct Rows {
  explicit Rows(const RnnShape& s)
      : total(s.steps * s.batch),
        step(s.time_major ? s.batch : 1),
        sequence(s.time_major ? 1 : s.steps) {}
  int64_t at(int64_t t, int64_t b) const { return t * step + b * sequence; }
  int64_t total, step, sequence;
};

// What forward keeps, each with one row for each step of each sequence.
template <class T>
struct Reserve {
  Reserve(const RnnShape& s, T* memory) {
    int64_t rows = s.steps * s.batch;
    gates = memory;                // activated; [G]
    h = gates + rows * s.gates();  // the state before the step; [hidden]
    c = h + rows * s.hidden;       // lstm: the cell before the step; gru: u of gate n
  }
  T *gates, *h, *c;
};

bool wide() {
  return isa() == Isa::avx512;
}

// Calls the build of a step function that this machine runs.
#define ARGOSY_RNN_CALL(function, ...) \
  (wide() ? avx512::function(__VA_ARGS__) : avx2::function(__VA_ARGS__))

int64_t sequences_in_block(const RnnShape& s) {
  // Products of fewer than 8 rows waste the register tiles; 16 make them efficient.
  return s.batch >= 32   ? 16
         : s.batch >= 16 ? 8
                         : std::max<int64_t>(1, std::min<int64_t>(s.batch, 8));
}

template <class T>
void multiply(bool ta, bool tb, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
              const T* b, int64_t ldb, T beta, T* c, int64_t ldc) {
  if (m == 0 || n == 0 || k == 0) return;
  blas_gemm(dtype_of<T>, ta, tb, m, n, k, 1, a, lda, b, ldb, beta, c, ldc);
}

template <class T>
void copy_or_zero(const T* from, int64_t n, T* to) {
  if (from)
    std::copy(from, from + n, to);
  else
    std::fill(to, to + n, T(0));
}

template <class T>
class Forward {
 public:
  Forward(const RnnShape& s, const RnnForward& args)
      : s_(s),
        args_(args),
        rows_(s),
        reserve_(s, static_cast<T*>(args.reserve)),
        w_hh_(static_cast<size_t>(s.gates() * s.hidden) * sizeof(T)) {}

  void run() {
    int64_t g = s_.gates();
    project_input();
    transpose_kernel(sizeof(T))(w_hh_.as<T>(), g, args_.w_hh, s_.hidden, g, s_.hidden);
    parallel_for(s_.batch, sequences_in_block(s_),
                 [&](int64_t begin, int64_t end) { block(begin, end - begin); });
  }

 private:
  // Both biases go into the sums ahead, except for gate n of a gru, where r scales u's.
  void project_input() {
    int64_t g = s_.gates(), plain = s_.mode == RnnMode::gru ? 2 * s_.hidden : g;
    Scratch scratch(static_cast<size_t>(g) * sizeof(T));
    T* bias = scratch.as<T>();
    copy_or_zero(static_cast<const T*>(args_.b_ih), g, bias);
    if (auto* b_hh = static_cast<const T*>(args_.b_hh))
      for (int64_t j = 0; j < plain; ++j) bias[j] += b_hh[j];
    gemm(dtype_of<T>, false, true, rows_.total, g, s_.input, 1, args_.x, s_.input, args_.w_ih,
         s_.input, 0, reserve_.gates, g, {bias});
  }

  void block(int64_t first, int64_t count) {
    const int64_t n = s_.hidden, g = s_.gates();
    Scratch scratch(static_cast<size_t>(2 * count * n) * sizeof(T));
    T *h = scratch.as<T>(), *c = h + count * n;
    copy_or_zero(args_.h0 ? static_cast<const T*>(args_.h0) + first * n : nullptr, count * n, h);
    copy_or_zero(args_.c0 ? static_cast<const T*>(args_.c0) + first * n : nullptr, count * n, c);
    const T* w = w_hh_.as<T>();
    for (int64_t i = 0; i < s_.steps; ++i) {
      int64_t t = s_.reverse ? s_.steps - 1 - i : i, row = rows_.at(t, first);
      T* gates = reserve_.gates + row * g;
      int64_t gates_row = rows_.sequence * g;
      if (s_.mode == RnnMode::gru) {
        multiply(false, false, count, 2 * n, n, h, n, w, g, T(1), gates, gates_row);
        T* u_n = reserve_.c + row * n;
        for (int64_t b = 0; b < count; ++b)
          copy_or_zero(args_.b_hh ? static_cast<const T*>(args_.b_hh) + 2 * n : nullptr, n,
                       u_n + b * rows_.sequence * n);
        multiply(false, false, count, n, n, h, n, w + 2 * n, g, T(1), u_n, rows_.sequence * n);
      } else {
        multiply(false, false, count, g, n, h, n, w, g, T(1), gates, gates_row);
      }
      for (int64_t b = 0; b < count; ++b) step(t, first + b, h + b * n, c + b * n);
    }
    if (args_.h_last) std::copy(h, h + count * n, static_cast<T*>(args_.h_last) + first * n);
    if (args_.c_last) std::copy(c, c + count * n, static_cast<T*>(args_.c_last) + first * n);
  }

  // From the sums of one step of sequence b to its new state.
  void step(int64_t t, int64_t b, T* h, T* c) {
    const int64_t n = s_.hidden, row = rows_.at(t, b);
    T* gates = reserve_.gates + row * s_.gates();
    T* y = static_cast<T*>(args_.y) + row * s_.y_row;
    std::copy(h, h + n, reserve_.h + row * n);
    if (s_.mode == RnnMode::lstm) std::copy(c, c + n, reserve_.c + row * n);
    if (args_.lengths && t >= args_.lengths[b]) return std::fill(y, y + n, T(0)), void();
    switch (s_.mode) {
      case RnnMode::lstm:
        ARGOSY_RNN_CALL(lstm_step, n, gates, c, c, h);
        break;
      case RnnMode::gru:
        ARGOSY_RNN_CALL(gru_step, n, gates, reserve_.c + row * n, h, h);
        break;
      case RnnMode::tanh:
        ARGOSY_RNN_CALL(tanh_step, n, gates);
        break;
      case RnnMode::relu:
        ARGOSY_RNN_CALL(relu_step, n, gates);
        break;
    }
    if (s_.mode == RnnMode::tanh || s_.mode == RnnMode::relu) std::copy(gates, gates + n, h);
    std::copy(h, h + n, y);
  }

  const RnnShape& s_;
  const RnnForward& args_;
  const Rows rows_;
  const Reserve<T> reserve_;
  const Scratch w_hh_;  // transposed, [hidden, G]: the products run faster so
};

// sums[j] = sum over rows of m[r * cols + j], by blocks of rows.
template <class T>
void column_sums(const T* m, int64_t rows, int64_t cols, int64_t ld, T* sums) {
  int64_t grain = std::max<int64_t>(64, (rows + 15) / 16), blocks = (rows + grain - 1) / grain;
  Scratch scratch(static_cast<size_t>(blocks * cols) * sizeof(T));
  T* partial = scratch.as<T>();
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    T* to = partial + begin / grain * cols;
    std::fill(to, to + cols, T(0));
    for (int64_t r = begin; r < end; ++r)
      for (int64_t j = 0; j < cols; ++j) to[j] += m[r * ld + j];
  });
  std::fill(sums, sums + cols, T(0));
  for (int64_t b = 0; b < blocks; ++b)
    for (int64_t j = 0; j < cols; ++j) sums[j] += partial[b * cols + j];
}

template <class T>
class Backward {
 public:
  Backward(const RnnShape& s, const RnnBackward& args)
      : s_(s),
        args_(args),
        rows_(s),
        saved_(s, const_cast<T*>(static_cast<const T*>(args.reserve))),
        gates_(static_cast<size_t>(rows_.total * s.gates()) * sizeof(T)),
        u_n_(static_cast<size_t>(s.mode == RnnMode::gru ? rows_.total * s.hidden : 0) * sizeof(T)) {
  }

  void run() {
    parallel_for(s_.batch, sequences_in_block(s_),
                 [&](int64_t begin, int64_t end) { block(begin, end - begin); });
    const int64_t g = s_.gates(), n = s_.hidden, in = s_.input, rows = rows_.total;
    const DType t = dtype_of<T>;
    const T *dgates = gates_.as<T>(), *du_n = u_n_.as<T>();
    if (args_.dx) gemm(t, false, false, rows, in, g, 1, dgates, g, args_.w_ih, in, 0, args_.dx, in);
    if (args_.dw_ih)
      gemm(t, true, false, g, in, rows, 1, dgates, g, args_.x, in, 0, args_.dw_ih, in);
    if (args_.db_ih) column_sums(dgates, rows, g, g, static_cast<T*>(args_.db_ih));
    int64_t same = s_.mode == RnnMode::gru ? 2 * n : g;  // gates whose a and u are added
    if (auto* dw = static_cast<T*>(args_.dw_hh)) {
      gemm(t, true, false, same, n, rows, 1, dgates, g, saved_.h, n, 0, dw, n);
      if (same < g) gemm(t, true, false, n, n, rows, 1, du_n, n, saved_.h, n, 0, dw + same * n, n);
    }
    if (auto* db = static_cast<T*>(args_.db_hh)) {
      if (args_.db_ih)
        std::copy(static_cast<T*>(args_.db_ih), static_cast<T*>(args_.db_ih) + same, db);
      else
        column_sums(dgates, rows, same, g, db);
      if (same < g) column_sums(du_n, rows, n, n, db + same);
    }
  }

 private:
  void block(int64_t first, int64_t count) {
    const int64_t n = s_.hidden, g = s_.gates();
    Scratch scratch(static_cast<size_t>(2 * count * n) * sizeof(T));
    T *dh = scratch.as<T>(), *dc = dh + count * n;
    auto part = [&](const void* p) { return p ? static_cast<const T*>(p) + first * n : nullptr; };
    copy_or_zero(part(args_.dh_last), count * n, dh);
    copy_or_zero(part(args_.dc_last), count * n, dc);
    const T* w = static_cast<const T*>(args_.w_hh);
    for (int64_t i = s_.steps; i-- > 0;) {
      int64_t t = s_.reverse ? s_.steps - 1 - i : i, row = rows_.at(t, first);
      for (int64_t b = 0; b < count; ++b) step(t, first + b, dh + b * n, dc + b * n);
      // dh now holds what does not go through the products: all of it for a finished sequence.
      const T* dgates = gates_.as<T>(row * g);
      int64_t ld = rows_.sequence * g;
      if (s_.mode == RnnMode::gru) {
        multiply(false, false, count, n, 2 * n, dgates, ld, w, n, T(1), dh, n);
        multiply(false, false, count, n, n, u_n_.as<T>(row * n), rows_.sequence * n, w + 2 * n * n,
                 n, T(1), dh, n);
      } else {
        multiply(false, false, count, n, g, dgates, ld, w, n, T(1), dh, n);
      }
    }
    if (args_.dh0) std::copy(dh, dh + count * n, static_cast<T*>(args_.dh0) + first * n);
    if (args_.dc0) std::copy(dc, dc + count * n, static_cast<T*>(args_.dc0) + first * n);
  }

  void step(int64_t t, int64_t b, T* dh, T* dc) {
    const int64_t n = s_.hidden, g = s_.gates(), row = rows_.at(t, b);
    T *gates = gates_.as<T>(row * g), *u_n = u_n_.as<T>(s_.mode == RnnMode::gru ? row * n : 0);
    if (args_.lengths && t >= args_.lengths[b]) {
      std::fill(gates, gates + g, T(0));
      if (s_.mode == RnnMode::gru) std::fill(u_n, u_n + n, T(0));
      return;
    }
    if (auto* dy = static_cast<const T*>(args_.dy))
      for (int64_t j = 0; j < n; ++j) dh[j] += dy[row * s_.y_row + j];
    std::copy(saved_.gates + row * g, saved_.gates + (row + 1) * g, gates);
    switch (s_.mode) {
      case RnnMode::lstm:
        ARGOSY_RNN_CALL(lstm_step_backward, n, gates, saved_.c + row * n, dh, dc);
        break;
      case RnnMode::gru:
        std::copy(saved_.c + row * n, saved_.c + (row + 1) * n, u_n);
        ARGOSY_RNN_CALL(gru_step_backward, n, gates, u_n, saved_.h + row * n, dh);
        return;  // dh keeps the direct path
      case RnnMode::tanh:
        ARGOSY_RNN_CALL(tanh_step_backward, n, gates, dh);
        break;
      case RnnMode::relu:
        ARGOSY_RNN_CALL(relu_step_backward, n, gates, dh);
        break;
    }
    std::fill(dh, dh + n, T(0));
  }

  const RnnShape& s_;
  const RnnBackward& args_;
  const Rows rows_;
  const Reserve<T> saved_;
  const Scratch gates_;  // gradients of the gates' sums
  const Scratch u_n_;    // gru: of gate n's u
};

#undef ARGOSY_RNN_CALL

void check(DType dtype) {
  ARGOSY_CHECK(dtype == DType::float32 || dtype == DType::float64, type)
      << "[rnn] has no kernel for " << dtype
      << ": expected float32 or float64. Do this: cast input, states and weights first.";
}

}  // namespace

int64_t rnn_reserve_size(const RnnShape& s) {
  bool cell = s.mode == RnnMode::lstm || s.mode == RnnMode::gru;
  return s.steps * s.batch * (s.gates() + s.hidden * (cell ? 2 : 1));
}

void rnn_forward(DType dtype, const RnnShape& shape, const RnnForward& args) {
  check(dtype);
  if (dtype == DType::float32)
    Forward<float>(shape, args).run();
  else
    Forward<double>(shape, args).run();
}

void rnn_backward(DType dtype, const RnnShape& shape, const RnnBackward& args) {
  check(dtype);
  if (dtype == DType::float32)
    Backward<float>(shape, args).run();
  else
    Backward<double>(shape, args).run();
}

}  // namespace argosy::cpu
