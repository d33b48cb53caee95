#include "argosy/kernels/cpu/conv.h"

#include <algorithm>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/conv_impl.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

void check(DType dtype) {
  ARGOSY_CHECK(kFloating.has(dtype), type)
      << "[conv] has no kernel for " << dtype
      << ": expected float16, bfloat16, float32 or float64. Do this: cast the operands first.";
}

// Matrix products read the tensors as they lie; nothing to gain from a library's layouts.
bool is_pointwise(const ConvShape& s) {
  if (s.groups != 1) return false;
  for (int d = 0; d < s.dims; ++d)
    if (s.kernel[d] != 1 || s.stride[d] != 1 || s.pad[d] != 0 || s.in[d] != s.out[d]) return false;
  return true;
}

// Kernels of one element that step over some of the input: the same as a pointwise convolution of
// what they meet.
bool is_thinned(const ConvShape& s) {
  if (s.groups != 1 || s.channels_last) return false;
  for (int d = 0; d < s.dims; ++d)
    if (s.kernel[d] != 1 || s.pad[d] != 0 || (s.out[d] - 1) * s.stride[d] >= s.in[d]) return false;
  return !is_pointwise(s);
}

ConvShape thinned(const ConvShape& s) {
  ConvShape t = s;
  for (int d = 0; d < s.dims; ++d) {
    t.in[d] = s.out[d];
    t.stride[d] = t.dilation[d] = 1;
  }
  return t;
}

int64_t planes_at_once(int64_t size) {
  return std::max<int64_t>(1, 32768 / std::max<int64_t>(size, 1));
}

// Calls row(begin of a row of the input, of the output, its length there, step in the input) for
// each plane in [plane, end).
template <class F>
void for_thinned_rows(const ConvShape& s, int64_t plane, int64_t end, F&& row) {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, stride[3] = {1, 1, 1};
  for (int d = 0; d < s.dims; ++d) {
    in[3 - s.dims + d] = s.in[d];
    out[3 - s.dims + d] = s.out[d];
    stride[3 - s.dims + d] = s.stride[d];
  }
  for (; plane < end; ++plane)
    for (int64_t z = 0; z < out[0]; ++z)
      for (int64_t y = 0; y < out[1]; ++y)
        row(((plane * in[0] + z * stride[0]) * in[1] + y * stride[1]) * in[2],
            ((plane * out[0] + z) * out[1] + y) * out[2], out[2], stride[2]);
}

// The elements of x that a thinned convolution meets.
class Thin {
 public:
  Thin(const ConvShape& s, const ConvSizes& z, const float* x)
      : room_(static_cast<size_t>(s.batch * s.in_channels * z.out) * sizeof(float)) {
    const int64_t planes = s.batch * s.in_channels;
    parallel_for(planes, planes_at_once(z.out), [&](int64_t begin, int64_t end) {
      for_thinned_rows(s, begin, end, [&](int64_t i, int64_t o, int64_t n, int64_t step) {
        for (int64_t k = 0; k < n; ++k) data()[o + k] = x[i + k * step];
      });
    });
  }
  float* data() const { return room_.as<float>(); }

 private:
  const Scratch room_;
};

// Are there instructions for convolutions of this 16-bit dtype?
bool computes_in(DType dtype) {
  return dtype == DType::bfloat16 && (features().avx512_bf16 || features().amx_bf16);
}

// float32 copies of 16-bit tensors, and the way back.
class Widened {
 public:
  Widened(DType dtype, int64_t n) : dtype_(dtype), n_(n), scratch_(static_cast<size_t>(n) * 4) {}
  Widened(DType dtype, const void* from, int64_t n) : Widened(dtype, from ? n : 0) {
    if (!from) return;
    empty_ = false;
    parallel_for(n, kGrain, [&](int64_t begin, int64_t end) {
      half_to_float(dtype_, static_cast<const char*>(from) + 2 * begin, data() + begin,
                    end - begin);
    });
  }
  float* data() const { return scratch_.as<float>(); }
  float* or_null() const { return empty_ ? nullptr : data(); }
  void round_to(void* to) const {
    parallel_for(n_, kGrain, [&](int64_t begin, int64_t end) {
      float_to_half(dtype_, data() + begin, static_cast<char*>(to) + 2 * begin, end - begin);
    });
  }

 private:
  static constexpr int64_t kGrain = 1 << 16;
  DType dtype_;
  int64_t n_;
  bool empty_ = true;
  Scratch scratch_;
};

void forward(const ConvShape& s, const float* x, const float* w, const float* bias, float* y) {
  if (is_thinned(s))
    return gemm_conv_forward(thinned(s), Thin(s, ConvSizes(s), x).data(), w, bias, y);
  if (is_pointwise(s) || !onednn_conv_forward(s, false, x, w, bias, y))
    gemm_conv_forward(s, x, w, bias, y);
}

void backward_data(const ConvShape& s, const float* dy, const float* w, float* dx) {
  if (is_thinned(s)) {
    const ConvSizes z(s);
    const Scratch room(static_cast<size_t>(s.batch * s.in_channels * z.out) * sizeof(float));
    auto* from = room.as<float>();
    gemm_conv_backward_data(thinned(s), dy, w, from);
    const int64_t planes = s.batch * s.in_channels;
    return parallel_for(planes, planes_at_once(z.in), [&](int64_t begin, int64_t end) {
      std::fill(dx + begin * z.in, dx + end * z.in, 0.0f);
      for_thinned_rows(s, begin, end, [&](int64_t i, int64_t o, int64_t n, int64_t step) {
        for (int64_t k = 0; k < n; ++k) dx[i + k * step] = from[o + k];
      });
    });
  }
  if (is_pointwise(s) || !onednn_conv_backward_data(s, false, dy, w, dx))
    gemm_conv_backward_data(s, dy, w, dx);
}

void backward_weights(const ConvShape& s, const float* x, const float* dy, float* dw,
                      float* dbias) {
  if (is_thinned(s)) {
    gemm_conv_backward_weights(thinned(s), Thin(s, ConvSizes(s), x).data(), dy, dw);
    if (dbias) conv_bias_gradient(s, dy, dbias);
    return;
  }
  if (!is_pointwise(s) && onednn_conv_backward_weights(s, false, x, dy, dw, dbias)) return;
  gemm_conv_backward_weights(s, x, dy, dw);
  if (dbias) conv_bias_gradient(s, dy, dbias);
}

template <class T>
T* as(void* p) {
  return static_cast<T*>(p);
}
template <class T>
const T* as(const void* p) {
  return static_cast<const T*>(p);
}

}  // namespace

void conv_forward(DType dtype, const ConvShape& s, const void* x, const void* w, const void* bias,
                  void* y) {
  check(dtype);
  ConvSizes sizes(s);
  if (sizes.y == 0) return;
  if (dtype == DType::float32)
    return forward(s, as<float>(x), as<float>(w), as<float>(bias), as<float>(y));
  if (dtype == DType::float64)
    return gemm_conv_forward(s, as<double>(x), as<double>(w), as<double>(bias), as<double>(y));
  const Widened wb(dtype, bias, s.out_channels);
  if (computes_in(dtype) && onednn_conv_forward(s, true, x, w, wb.or_null(), y)) return;
  const Widened wx(dtype, x, sizes.x), ww(dtype, w, sizes.weights), wy(dtype, sizes.y);
  forward(s, wx.data(), ww.data(), wb.or_null(), wy.data());
  wy.round_to(y);
}

void conv_backward_data(DType dtype, const ConvShape& s, const void* dy, const void* w, void* dx) {
  check(dtype);
  ConvSizes sizes(s);
  if (sizes.x == 0) return;
  if (dtype == DType::float32) return backward_data(s, as<float>(dy), as<float>(w), as<float>(dx));
  if (dtype == DType::float64)
    return gemm_conv_backward_data(s, as<double>(dy), as<double>(w), as<double>(dx));
  if (computes_in(dtype) && onednn_conv_backward_data(s, true, dy, w, dx)) return;
  Widened wy(dtype, dy, sizes.y), ww(dtype, w, sizes.weights), wx(dtype, sizes.x);
  backward_data(s, wy.data(), ww.data(), wx.data());
  wx.round_to(dx);
}

void conv_backward_weights(DType dtype, const ConvShape& s, const void* x, const void* dy,
                           void* dweights, void* dbias) {
  check(dtype);
  ConvSizes sizes(s);
  if (s.out_channels == 0) return;
  if (dtype == DType::float32)
    return backward_weights(s, as<float>(x), as<float>(dy), as<float>(dweights), as<float>(dbias));
  if (dtype == DType::float64) {
    gemm_conv_backward_weights(s, as<double>(x), as<double>(dy), as<double>(dweights));
    if (dbias) conv_bias_gradient(s, as<double>(dy), as<double>(dbias));
    return;
  }
  const Widened ww(dtype, sizes.weights), wb(dtype, s.out_channels);
  float* sums = dbias ? wb.data() : nullptr;
  if (!computes_in(dtype) || !onednn_conv_backward_weights(s, true, x, dy, ww.data(), sums)) {
    const Widened wx(dtype, x, sizes.x), wy(dtype, dy, sizes.y);
    backward_weights(s, wx.data(), wy.data(), ww.data(), sums);
  }
  ww.round_to(dweights);
  if (dbias) wb.round_to(dbias);
}

}  // namespace argosy::cpu
