#include "argosy/kernels/cpu/conv.h"

#include <algorithm>

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
  if (is_pointwise(s) || !onednn_conv_forward(s, x, w, bias, y))
    gemm_conv_forward(s, x, w, bias, y);
}

void backward_data(const ConvShape& s, const float* dy, const float* w, float* dx) {
  if (is_pointwise(s) || !onednn_conv_backward_data(s, dy, w, dx))
    gemm_conv_backward_data(s, dy, w, dx);
}

void backward_weights(const ConvShape& s, const float* x, const float* dy, float* dw,
                      float* dbias) {
  if (!is_pointwise(s) && onednn_conv_backward_weights(s, x, dy, dw, dbias)) return;
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
  Widened wx(dtype, x, sizes.x), ww(dtype, w, sizes.weights), wb(dtype, bias, s.out_channels);
  Widened wy(dtype, sizes.y);
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
  Widened wx(dtype, x, sizes.x), wy(dtype, dy, sizes.y), ww(dtype, sizes.weights);
  Widened wb(dtype, s.out_channels);
  backward_weights(s, wx.data(), wy.data(), ww.data(), dbias ? wb.data() : nullptr);
  ww.round_to(dweights);
  if (dbias) wb.round_to(dbias);
}

}  // namespace argosy::cpu
