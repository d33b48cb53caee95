#include "argosy/kernels/cuda/conv.h"

#include <memory>
#include <vector>

#include "argosy/kernels/cuda/blas.h"
#include "argosy/kernels/cuda/conv_dnn.h"
#include "argosy/kernels/cuda/conv_route.h"
#include "argosy/kernels/cuda/runtime.h"

// Which way a convolution goes, and how its operands become what cuDNN takes.
namespace argosy::cuda {
namespace {

constexpr int64_t kMost = (int64_t{1} << 31) - 1;  // elements of a tensor for cuDNN

bool fits(const ConvShape& s) {
  return s.x_size() <= kMost && s.y_size() <= kMost && s.w_size() <= kMost;
}

bool goes_direct(const ConvShape& s) {
  const bool depthwise = s.groups > 1 && s.in_channels == s.groups;
  return depthwise || !fits(s) || s.x_size() == 0 || s.y_size() == 0 || s.w_size() == 0;
}

// With channels first a window of one element is a product for each image as they lie, where cuDNN
// turns 16-bit images to channels last and back. Odd numbers of places are slow as rows.
bool is_product(DType dtype, const ConvShape& s) {
  bool one = !s.channels_last && s.groups == 1 && item_size(dtype) == 2;
  for (int d = 0; d < 3; ++d)
    one = one && s.kernel[d] == 1 && s.stride[d] == 1 && s.pad[d] == 0 && s.in[d] == s.out[d];
  return one && s.in_places() % 4 == 0 && s.in_places() >= 64 && s.in_channels % 8 == 0 &&
         s.out_channels % 8 == 0 && s.x_size() > 0 && s.y_size() > 0;
}

// [images, rows of w or of its transpose, places] from [images, .., places].
Product product_of(DType dtype, const ConvShape& s, const void* w, const void* from, void* to,
                   bool transposed) {
  Product p;
  p.dtype = dtype;
  p.transpose_a = transposed;
  p.m = transposed ? s.in_channels : s.out_channels;
  p.k = transposed ? s.out_channels : s.in_channels;
  p.n = s.in_places();
  p.a = w;
  p.lda = s.in_channels;
  p.b = from;
  p.ldb = p.ldc = p.n;
  p.c = to;
  p.batch = s.batch;
  p.b_stride = p.k * p.n;
  p.c_stride = p.m * p.n;
  return p;
}
constexpr int64_t kWidened = 8;  // channels

// Operands as cuDNN takes them, in memory that lives until the call is enqueued.
class Operands {
 public:
  Operands(cudaStream_t stream, DType dtype, const ConvShape& s, ConvRoute route)
      : stream_(stream), dtype_(dtype), given_(s), inner_(s) {
    // cuDNN computes float64 with channels first only.
    if (dtype == DType::float64) inner_.channels_last = false;
    widened_ = route == ConvRoute::widened;
    if (route == ConvRoute::turned || widened_) inner_.channels_last = !s.channels_last;
    if (widened_) inner_.in_channels = kWidened;
    padded_ = !is_even(s);
    if (!padded_) return;
    // Exactly what the windows cover, padding written out.
    for (int d = 0; d < 3; ++d) {
      inner_.in[d] = (s.out[d] - 1) * s.stride[d] + s.dilation[d] * (s.kernel[d] - 1) + 1;
      inner_.pad[d] = 0;
    }
  }

  const ConvShape& shape() const { return inner_; }
  bool takes() const { return fits(inner_); }
  // Is the padding the same on both sides?
  static bool is_even(const ConvShape& s) {
    bool even = true;
    for (int d = 0; d < 3; ++d) even = even && reached(s, d, s.in[d] + 2 * s.pad[d]) == s.out[d];
    return even;
  }

  const void* x(const void* given) {
    if (widened_) return widened(given, given_.batch, given_.in_places());
    if (padded_) {
      void* to = make(given_.batch * given_.in_channels * inner_.in_places());
      int64_t offset[3];
      for (int d = 0; d < 3; ++d) offset[d] = -given_.pad[d];
      shift_places(stream_, dtype_, given, given_.in, to, inner_.in, offset, outer(), lanes());
      given = to;
    }
    return to_inner(given, given_.in_channels, inner_.in_places());
  }
  const void* y(const void* given) {
    return to_inner(given, given_.out_channels, given_.out_places());
  }
  const void* w(const void* given) {
    if (widened_) return widened(given, given_.out_channels, given_.taps());
    if (!turns_weights()) return given;
    void* to = make(given_.w_size());
    transpose_batched(stream_, dtype_, given, to, given_.out_channels, in_group(), given_.taps());
    return to;
  }

  // Memory for a result: the given one where it is as cuDNN writes it.
  void* result_x(void* given) {
    return padded_ || turns() ? make(inner_.batch * inner_.in_channels * inner_.in_places())
                              : given;
  }
  void* result_y(void* given) { return turns() ? make(given_.y_size()) : given; }
  void* result_w(void* given) {
    return turns_weights() || widened_ ? make(inner_.w_size()) : given;
  }

  // From that memory to the given one.
  void finish_x(void* made, void* given) {
    if (widened_)
      return narrow_channels(stream_, made, given, given_.batch, given_.in_channels,
                             given_.in_places());
    if (turns()) {
      void* to = padded_ ? make(inner_.x_size()) : given;
      from_inner(made, to, given_.in_channels, inner_.in_places());
      made = to;
    }
    if (padded_)
      shift_places(stream_, dtype_, made, inner_.in, given, given_.in, given_.pad, outer(),
                   lanes());
  }
  void finish_y(void* made, void* given) {
    if (turns()) from_inner(made, given, given_.out_channels, given_.out_places());
  }
  void finish_w(void* made, void* given) {
    if (widened_)
      return narrow_channels(stream_, made, given, given_.out_channels, given_.in_channels,
                             given_.taps());
    if (turns_weights())
      transpose_batched(stream_, dtype_, made, given, given_.out_channels, given_.taps(),
                        in_group());
  }

 private:
  static int64_t reached(const ConvShape& s, int d, int64_t size) {
    const int64_t room = size - s.dilation[d] * (s.kernel[d] - 1) - 1;
    return room < 0 ? 0 : room / s.stride[d] + 1;
  }
  int64_t in_group() const { return given_.in_channels / given_.groups; }
  bool turns() const { return given_.channels_last != inner_.channels_last; }
  bool turns_weights() const { return inner_.channels_last && in_group() > 1 && given_.taps() > 1; }
  int64_t outer() const {
    return given_.channels_last ? given_.batch : given_.batch * given_.in_channels;
  }
  int64_t lanes() const { return given_.channels_last ? given_.in_channels : 1; }

  void* make(int64_t elements) {
    for (auto& slot : made_)
      if (!slot) {
        slot = std::make_unique<Scratch>(
            stream_, static_cast<size_t>(elements) * static_cast<size_t>(item_size(dtype_)));
        return slot->data();
      }
    return nullptr;
  }
  const void* widened(const void* given, int64_t outer, int64_t places) {
    void* to = make(outer * places * kWidened);
    widen_channels(stream_, given, to, outer, given_.in_channels, places);
    return to;
  }
  const void* to_inner(const void* given, int64_t channels, int64_t places) {
    if (!turns()) return given;
    void* to = make(given_.batch * channels * places);
    if (given_.channels_last)
      transpose_batched(stream_, dtype_, given, to, given_.batch, places, channels);
    else
      transpose_batched(stream_, dtype_, given, to, given_.batch, channels, places);
    return to;
  }
  void from_inner(const void* made, void* to, int64_t channels, int64_t places) {
    if (given_.channels_last)
      transpose_batched(stream_, dtype_, made, to, given_.batch, channels, places);
    else
      transpose_batched(stream_, dtype_, made, to, given_.batch, places, channels);
  }

  cudaStream_t stream_;
  DType dtype_;
  ConvShape given_, inner_;
  bool padded_ = false, widened_ = false;
  std::unique_ptr<Scratch> made_[8];  // each call makes at most two of each operand
};

// The same of some images of the batch, calls(first image, shape).
template <class F>
void by_halves(const ConvShape& s, F&& calls) {
  ConvShape part = s;
  part.batch = s.batch / 2;
  calls(int64_t{0}, part);
  part.batch = s.batch - part.batch;
  calls(s.batch / 2, part);
}
const void* image(const void* base, DType dtype, int64_t first, int64_t each) {
  return static_cast<const char*>(base) + first * each * item_size(dtype);
}
void* image(void* base, DType dtype, int64_t first, int64_t each) {
  return static_cast<char*>(base) + first * each * item_size(dtype);
}

void* writable(const void* p) {
  return const_cast<void*>(p);  // cuDNN's operands and results have one type here
}

// 16 bits with channels first may be faster otherwise.
std::vector<ConvRoute> routes_of(DType dtype, const ConvShape& s, bool product) {
  std::vector<ConvRoute> routes{ConvRoute::given};
  if (item_size(dtype) != 2 || s.channels_last) return routes;
  routes.push_back(ConvRoute::turned);
  if (product) routes.push_back(ConvRoute::product);
  if (s.groups == 1 && s.in_channels < kWidened && s.out_channels % 8 == 0 && Operands::is_even(s))
    routes.push_back(ConvRoute::widened);
  return routes;
}

// Each of these is false where cuDNN has no algorithm.
bool forward_by(ConvRoute route, cudaStream_t stream, DType dtype, const ConvShape& s,
                const ConvOptions& options, const void* x, const void* w, const void* bias,
                void* y) {
  if (route == ConvRoute::product) {
    gemm(stream, product_of(dtype, s, w, x, y, false));
    return true;
  }
  Operands operands(stream, dtype, s, route);
  if (!operands.takes()) return false;
  const void *from = operands.x(x), *weights = operands.w(w);
  void* to = operands.result_y(y);
  const auto convolve = [&](const void* with) {
    return dnn_conv(ConvKind::forward, stream, dtype, operands.shape(), options, writable(from),
                    writable(weights), to, with);
  };
  // 16 bits are to be rounded once, if that does not cost much.
  const bool once = bias && item_size(dtype) == 2, whole = once && convolve(bias);
  if (once && !whole && s.is_light()) return false;
  if (!whole && !convolve(nullptr)) return false;
  operands.finish_y(to, y);
  if (whole || !bias) return true;
  if (s.channels_last)
    add_channel_bias(stream, dtype, bias, s.batch * s.out_places(), s.out_channels, 1, y);
  else
    add_channel_bias(stream, dtype, bias, s.batch, s.out_channels, s.out_places(), y);
  return true;
}

bool data_by(ConvRoute route, cudaStream_t stream, DType dtype, const ConvShape& s,
             const ConvOptions& options, const void* dy, const void* w, void* dx) {
  if (route == ConvRoute::product) {
    gemm(stream, product_of(dtype, s, w, dy, dx, true));
    return true;
  }
  Operands operands(stream, dtype, s, route);
  if (!operands.takes()) return false;
  const void *from = operands.y(dy), *weights = operands.w(w);
  void* to = operands.result_x(dx);
  if (!dnn_conv(ConvKind::data, stream, dtype, operands.shape(), options, to, writable(weights),
                writable(from)))
    return false;
  operands.finish_x(to, dx);
  return true;
}

bool weight_by(ConvRoute route, cudaStream_t stream, DType dtype, const ConvShape& s,
               const ConvOptions& options, const void* x, const void* dy, void* dw) {
  Operands operands(stream, dtype, s, route);
  if (!operands.takes()) return false;
  const void *from = operands.x(x), *outer = operands.y(dy);
  void* to = operands.result_w(dw);
  if (!dnn_conv(ConvKind::weight, stream, dtype, operands.shape(), options, writable(from), to,
                writable(outer)))
    return false;
  operands.finish_w(to, dw);
  return true;
}

// run(the fastest route).
template <class F>
bool by_fastest(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
                const ConvOptions& options, bool product, F&& run) {
  return run(fastest_route(kind, stream, dtype, s, options, routes_of(dtype, s, product), run));
}

}  // namespace

void conv_forward(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
                  const void* x, const void* w, const void* bias, void* y) {
  if (!fits(s) && s.batch > 1) {
    const int64_t each_x = s.x_size() / s.batch, each_y = s.y_size() / s.batch;
    return by_halves(s, [&](int64_t first, const ConvShape& part) {
      conv_forward(stream, dtype, part, options, image(x, dtype, first, each_x), w, bias,
                   image(y, dtype, first, each_y));
    });
  }
  if (takes_depthwise(s)) return depthwise_forward(stream, dtype, s, x, w, bias, y);
  const auto run = [&](ConvRoute route) {
    return forward_by(route, stream, dtype, s, options, x, w, bias, y);
  };
  const bool product = !bias && is_product(dtype, s);
  if (goes_direct(s) || !by_fastest(ConvKind::forward, stream, dtype, s, options, product, run))
    direct_forward(stream, dtype, s, x, w, bias, y);
}

void conv_data(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
               const void* dy, const void* w, void* dx) {
  if (!fits(s) && s.batch > 1) {
    const int64_t each_x = s.x_size() / s.batch, each_y = s.y_size() / s.batch;
    return by_halves(s, [&](int64_t first, const ConvShape& part) {
      conv_data(stream, dtype, part, options, image(dy, dtype, first, each_y), w,
                image(dx, dtype, first, each_x));
    });
  }
  if (takes_depthwise(s)) return depthwise_data(stream, dtype, s, dy, w, dx);
  const auto run = [&](ConvRoute route) {
    return data_by(route, stream, dtype, s, options, dy, w, dx);
  };
  if (goes_direct(s) ||
      !by_fastest(ConvKind::data, stream, dtype, s, options, is_product(dtype, s), run))
    direct_data(stream, dtype, s, dy, w, dx);
}

void conv_weight(cudaStream_t stream, DType dtype, const ConvShape& s, const ConvOptions& options,
                 const void* x, const void* dy, void* dw) {
  if (takes_depthwise(s)) return depthwise_weight(stream, dtype, s, x, dy, dw);
  const auto run = [&](ConvRoute route) {
    return weight_by(route, stream, dtype, s, options, x, dy, dw);
  };
  if (goes_direct(s) || !by_fastest(ConvKind::weight, stream, dtype, s, options, false, run))
    direct_weight(stream, dtype, s, x, dy, dw);
}

}  // namespace argosy::cuda
