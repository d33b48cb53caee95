#include "argosy/kernels/cpu/rows.h"

#include <algorithm>
#include <memory>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/elementwise.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/simd/copy.h"
#include "argosy/kernels/cpu/simd/rows.h"

namespace argosy::cpu {
namespace {

// Those over vectors of double, where they are.
SoftmaxKernels joined(const SoftmaxKernels& kernels, const SoftmaxKernels* vectors) {
  constexpr int kDouble = kFloatings - 1;
  SoftmaxKernels k = kernels;
  if (!vectors) return k;
  k.softmax[kDouble] = vectors->softmax[kDouble];
  k.log_softmax[kDouble] = vectors->log_softmax[kDouble];
  k.log_softmax_grad[kDouble] = vectors->log_softmax_grad[kDouble];
  k.loss[kDouble] = vectors->loss[kDouble];
  k.loss_columns[kDouble] = vectors->loss_columns[kDouble];
  return k;
}
const SoftmaxKernels& softmax_kernels() {
  static const SoftmaxKernels kAvx2 = joined(avx2::softmax_kernels, &avx2::double_softmax_kernels);
  static const SoftmaxKernels kAvx512 =
      joined(avx512::softmax_kernels, &avx512::double_softmax_kernels);
  return isa() == Isa::avx512 ? kAvx512 : kAvx2;
}
const NormKernels& norm_kernels() {
  return isa() == Isa::avx512 ? avx512::norm_kernels : avx2::norm_kernels;
}

int computing_size(DType t) {
  return t == DType::float64 ? 8 : 4;
}

// Three rows of the computing type, where a kernel needs them (16-bit floats).
class Scratch {
 public:
  Scratch(DType t, int64_t n) {
    if (item_size(t) == 2) room_.reset(new float[3 * n]);
  }
  void* get() { return room_.get(); }

 private:
  std::unique_ptr<float[]> room_;
};

int64_t rows_at_once(int64_t n, double cost) {
  return std::max<int64_t>(1, static_cast<int64_t>(32768 / (cost * static_cast<double>(n) + 20)));
}

// The grain for `rows` of which a chunk has `most` at most: chunks as large as each other, and two,
// four, .. of them, which as many threads share evenly.
int64_t even_grain(int64_t rows, int64_t most) {
  if (rows <= most) return std::max<int64_t>(rows, 1);
  const int64_t chunks = 2 * ((rows + 2 * most - 1) / (2 * most));
  return (rows + chunks - 1) / chunks;
}

// Calls row(inputs, output, scratch) for each of the outer * inner rows along n. Rows that are not
// contiguous are transposed by tiles and back.
template <int inputs, class F>
void for_rows(DType type, const void* const (&x)[inputs], void* y, int64_t outer, int64_t n,
              int64_t inner, F&& row) {
  if (outer * n * inner == 0) return;
  const int size = item_size(type);
  if (inner == 1) {
    const int64_t grain = rows_at_once(n, 1);
    auto body = [&](int64_t begin, int64_t end) {
      Scratch scratch(type, n);
      const void* in[inputs];
      for (int64_t r = begin; r < end; ++r) {
        for (int k = 0; k < inputs; ++k) in[k] = static_cast<const char*>(x[k]) + r * n * size;
        row(in, static_cast<char*>(y) + r * n * size, scratch.get());
      }
    };
    if (outer <= grain) return body(0, outer);
    return parallel_for(outer, even_grain(outer, grain), body);
  }
  const Transpose transpose = transpose_kernel(size);
  const int64_t width = std::min(inner, std::clamp<int64_t>(65536 / n, 16, 64));
  const int64_t tiles = (inner + width - 1) / width;
  parallel_for(outer * tiles, rows_at_once(n * width, 2), [&](int64_t begin, int64_t end) {
    Scratch scratch(type, n);
    std::unique_ptr<char[]> room(new char[inputs * width * n * size]);
    const void* in[inputs];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiles * width, w = std::min(width, inner - first);
      const int64_t start = (i / tiles * n * inner + first) * size;
      char* tile[inputs];
      for (int k = 0; k < inputs; ++k) {
        tile[k] = room.get() + k * width * n * size;
        transpose(tile[k], n, static_cast<const char*>(x[k]) + start, inner, n, w);
      }
      for (int64_t r = 0; r < w; ++r) {
        for (int k = 0; k < inputs; ++k) in[k] = tile[k] + r * n * size;
        row(in, tile[0] + r * n * size, scratch.get());
      }
      transpose(static_cast<char*>(y) + start, inner, tile[0], n, w, n);
    }
  });
}

template <class F>
void with_label(DType type, const void* labels, int64_t i, F&& body) {
  body(type == DType::int32 ? static_cast<const int32_t*>(labels)[i]
                            : static_cast<const int64_t*>(labels)[i]);
}

double read(DType type, const void* p, int64_t i) {
  switch (type) {
    case DType::float16:
      return static_cast<const float16*>(p)[i];
    case DType::bfloat16:
      return static_cast<const bfloat16*>(p)[i];
    case DType::float32:
      return static_cast<const float*>(p)[i];
    default:
      return static_cast<const double*>(p)[i];
  }
}
void write(DType type, void* p, int64_t i, double value) {
  switch (type) {
    case DType::float16:
      static_cast<float16*>(p)[i] = float16(static_cast<float>(value));
      break;
    case DType::bfloat16:
      static_cast<bfloat16*>(p)[i] = bfloat16(static_cast<float>(value));
      break;
    case DType::float32:
      static_cast<float*>(p)[i] = static_cast<float>(value);
      break;
    default:
      static_cast<double*>(p)[i] = value;
  }
}

// gamma or beta in the computing type: itself, or widened.
class Widened {
 public:
  Widened(DType from, DType to, const void* p, int64_t n) : data_(p) {
    if (!p || from == to) return;
    room_.reset(new char[n * item_size(to)]);
    const Operand operands[] = {{const_cast<void*>(p), nullptr, item_size(from)},
                                {room_.get(), nullptr, item_size(to)}};
    run_loop_flat(cast_loop(from, to), n, operands);
    data_ = room_.get();
  }
  const void* get() const { return data_; }

 private:
  const void* data_;
  std::unique_ptr<char[]> room_;
};

DType computing_type(DType t) {
  return t == DType::float64 ? t : DType::float32;
}

}  // namespace

void softmax(DType type, const void* x, void* y, int64_t outer, int64_t n, int64_t inner) {
  auto kernel = softmax_kernels().softmax[floating_index(type)];
  for_rows<1>(type, {x}, y, outer, n, inner,
              [&](const void** in, void* out, void* scratch) { kernel(in[0], out, n, scratch); });
}

void log_softmax(DType type, const void* x, void* y, int64_t outer, int64_t n, int64_t inner) {
  auto kernel = softmax_kernels().log_softmax[floating_index(type)];
  for_rows<1>(type, {x}, y, outer, n, inner,
              [&](const void** in, void* out, void* scratch) { kernel(in[0], out, n, scratch); });
}

void softmax_grad(DType type, const void* y, const void* dy, void* dx, int64_t outer, int64_t n,
                  int64_t inner) {
  auto kernel = softmax_kernels().softmax_grad[floating_index(type)];
  for_rows<2>(type, {y, dy}, dx, outer, n, inner, [&](const void** in, void* out, void* scratch) {
    kernel(in[0], in[1], out, n, scratch);
  });
}

void log_softmax_grad(DType type, const void* y, const void* dy, void* dx, int64_t outer, int64_t n,
                      int64_t inner) {
  auto kernel = softmax_kernels().log_softmax_grad[floating_index(type)];
  for_rows<2>(type, {y, dy}, dx, outer, n, inner, [&](const void** in, void* out, void* scratch) {
    kernel(in[0], in[1], out, n, scratch);
  });
}

void cross_entropy(DType type, const void* x, DType label_type, const void* labels,
                   const void* weight, int64_t rows, int64_t n, int64_t ignore_index, void* loss,
                   void* probability) {
  auto kernel = softmax_kernels().loss[floating_index(type)];
  const int64_t row_bytes = n * item_size(type);
  parallel_for(rows, rows_at_once(n, 1), [&](int64_t begin, int64_t end) {
    Scratch scratch(type, n);
    for (int64_t r = begin; r < end; ++r) {
      with_label(label_type, labels, r, [&](int64_t label) {
        const bool ignored = label == ignore_index;
        if (ignored && !probability) return write(type, loss, r, 0);
        void* y = probability ? static_cast<char*>(probability) + r * row_bytes : nullptr;
        double value = kernel(static_cast<const char*>(x) + r * row_bytes, ignored ? -1 : label, y,
                              n, scratch.get());
        if (!ignored && weight) value *= read(type, weight, label);
        write(type, loss, r, ignored ? 0 : value);
      });
    }
  });
}

bool cross_entropy_goes_by_columns(DType type, int64_t n, int64_t inner) {
  return softmax_kernels().loss_columns[floating_index(type)] && n > 0 && n <= 4096 &&
         (inner == 1 ? n < 32 : inner >= 8);
}

void cross_entropy_columns(DType type, const void* x, DType label_type, const void* labels,
                           const void* weight, int64_t outer, int64_t n, int64_t inner,
                           int64_t ignore_index, void* loss, void* probability) {
  auto kernel = softmax_kernels().loss_columns[floating_index(type)];
  const int size = item_size(type);
  const Transpose transpose = transpose_kernel(size);
  // Rows that are contiguous are turned first.
  const bool turned = inner == 1;
  const int64_t positions = turned ? outer : inner;
  const int64_t tiles = (positions + kLossColumns - 1) / kLossColumns;
  const int64_t grain = rows_at_once(n, 1) / kLossColumns + 1;
  parallel_for((turned ? 1 : outer) * tiles, grain, [&](int64_t begin, int64_t end) {
    std::unique_ptr<char[]> room(new char[2 * kLossColumns * n * size]);
    char *before = room.get(), *after = before + kLossColumns * n * size;
    double base[kLossColumns];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % tiles * kLossColumns, o = i / tiles;
      const int64_t width = std::min<int64_t>(kLossColumns, positions - first);
      const int64_t row = o * positions + first;
      const char* tile =
          static_cast<const char*>(x) + (turned ? row * n : o * n * inner + first) * size;
      int64_t stride = inner;
      if (turned) {
        transpose(before, width, tile, n, width, n);
        tile = before;
        stride = width;
      }
      kernel(tile, stride, after, n, width, base);
      transpose(static_cast<char*>(probability) + row * n * size, n, after, width, n, width);
      for (int64_t j = 0; j < width; ++j) {
        with_label(label_type, labels, row + j, [&](int64_t label) {
          if (label == ignore_index) return write(type, loss, row + j, 0);
          double value = base[j] - read(type, tile, label * stride + j);
          if (weight) value *= read(type, weight, label);
          write(type, loss, row + j, value);
        });
      }
    }
  });
}

void cross_entropy_grad(DType type, const void* probability, DType label_type, const void* labels,
                        const void* weight, const void* dloss, int64_t dloss_stride, int64_t rows,
                        int64_t n, int64_t ignore_index, void* dx) {
  auto kernel = softmax_kernels().loss_grad[floating_index(type)];
  const int64_t row_bytes = n * item_size(type);
  parallel_for(rows, rows_at_once(n, 0.3), [&](int64_t begin, int64_t end) {
    Scratch scratch(type, n);
    for (int64_t r = begin; r < end; ++r) {
      with_label(label_type, labels, r, [&](int64_t label) {
        char* to = static_cast<char*>(dx) + r * row_bytes;
        if (label == ignore_index) {
          std::fill_n(to, row_bytes, 0);
          return;
        }
        double scale = read(type, dloss, r * dloss_stride);
        if (weight) scale *= read(type, weight, label);
        kernel(static_cast<const char*>(probability) + r * row_bytes, label, scale, to, n,
               scratch.get());
      });
    }
  });
}

void narrow_cross_entropy(DType type, const void* x, DType label_type, const void* labels,
                          DType loss_type, const void* weight, int64_t rows, int64_t n,
                          int64_t ignore_index, void* loss, float* statistics) {
  auto kernel = softmax_kernels().narrow_loss[floating_index(type)];
  parallel_for(rows, rows_at_once(n, 1), [&](int64_t begin, int64_t end) {
    Scratch scratch(type, n);
    for (int64_t r = begin; r < end; ++r) {
      with_label(label_type, labels, r, [&](int64_t label) {
        if (label == ignore_index) {
          statistics[2 * r] = statistics[2 * r + 1] = 0;
          return write(loss_type, loss, r, 0);
        }
        double value = kernel(static_cast<const char*>(x) + r * n * item_size(type), label,
                              statistics + 2 * r, n, scratch.get());
        if (weight) value *= read(loss_type, weight, label);
        write(loss_type, loss, r, value);
      });
    }
  });
}

void narrow_cross_entropy_grad(DType type, const void* x, const float* statistics, DType label_type,
                               const void* labels, DType loss_type, const void* weight,
                               const void* dloss, int64_t rows, int64_t n, int64_t ignore_index,
                               void* dx) {
  auto kernel = softmax_kernels().narrow_loss_grad[floating_index(type)];
  const int64_t row_bytes = n * item_size(type);
  parallel_for(rows, rows_at_once(n, 1), [&](int64_t begin, int64_t end) {
    Scratch scratch(type, n);
    for (int64_t r = begin; r < end; ++r) {
      with_label(label_type, labels, r, [&](int64_t label) {
        char* to = static_cast<char*>(dx) + r * row_bytes;
        if (label == ignore_index) {
          std::fill_n(to, row_bytes, 0);
          return;
        }
        double scale = read(loss_type, dloss, r);
        if (weight) scale *= read(loss_type, weight, label);
        kernel(static_cast<const char*>(x) + r * row_bytes, statistics + 2 * r, label, scale, to, n,
               scratch.get());
      });
    }
  });
}

void layer_norm(const RowNorm& a, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* rstd) {
  if (a.rows * a.n == 0) return;
  auto kernel = norm_kernels().row[floating_index(a.type)];
  const DType type = computing_type(a.type);
  const Widened g(a.weight_type, type, gamma, a.n), b(a.weight_type, type, beta, a.n);
  const int64_t row_bytes = a.n * item_size(a.type);
  parallel_for(a.rows, even_grain(a.rows, rows_at_once(a.n, 0.5)), [&](int64_t begin, int64_t end) {
    Scratch scratch(a.type, a.n);
    for (int64_t r = begin; r < end; ++r) {
      double m, s;
      kernel(static_cast<const char*>(x) + r * row_bytes, g.get(), b.get(),
             static_cast<char*>(y) + r * row_bytes, a.n, a.epsilon, a.rms, &m, &s, scratch.get());
      if (mean) write(type, mean, r, m);
      if (rstd) write(type, rstd, r, s);
    }
  });
}

void layer_norm_grad(const RowNorm& a, const void* x, const void* gamma, const void* mean,
                     const void* rstd, const void* dy, void* dx, void* dgamma, void* dbeta) {
  if (a.n == 0) return;
  auto kernel = norm_kernels().row_grad[floating_index(a.type)];
  const DType type = computing_type(a.type);
  const Widened g(a.weight_type, type, gamma, a.n);
  const int size = computing_size(a.type);
  const int64_t row_bytes = a.n * item_size(a.type);
  // Each chunk of rows sums its own dgamma and dbeta; at most 32 chunks.
  const int64_t grain = std::max(rows_at_once(a.n, 1), (a.rows + 31) / 32);
  const int64_t chunks = std::max<int64_t>(1, (a.rows + grain - 1) / grain);
  const int64_t partial_bytes = a.n * size;
  std::unique_ptr<char[]> partial;
  const int outputs = (dgamma != nullptr) + (dbeta != nullptr);
  if (outputs) partial.reset(new char[outputs * chunks * partial_bytes]());
  char* of_gamma = dgamma ? partial.get() : nullptr;
  char* of_beta = dbeta ? partial.get() + (dgamma ? chunks * partial_bytes : 0) : nullptr;
  parallel_for(a.rows, grain, [&](int64_t begin, int64_t end) {
    Scratch scratch(a.type, a.n);
    const int64_t chunk = begin / grain;
    for (int64_t r = begin; r < end; ++r) {
      kernel(static_cast<const char*>(x) + r * row_bytes, g.get(), mean ? read(type, mean, r) : 0,
             read(type, rstd, r), a.rms, static_cast<const char*>(dy) + r * row_bytes,
             dx ? static_cast<char*>(dx) + r * row_bytes : nullptr,
             of_gamma ? of_gamma + chunk * partial_bytes : nullptr,
             of_beta ? of_beta + chunk * partial_bytes : nullptr, a.n, scratch.get());
    }
  });
  auto add_up = [&](const char* from, void* to) {
    if (!to) return;
    for (int64_t i = 0; i < a.n; ++i) {
      double sum = 0;
      for (int64_t c = 0; c < chunks; ++c) sum += read(type, from, c * a.n + i);
      write(a.weight_type, to, i, sum);
    }
  };
  add_up(of_gamma, dgamma);
  add_up(of_beta, dbeta);
}

}  // namespace argosy::cpu
