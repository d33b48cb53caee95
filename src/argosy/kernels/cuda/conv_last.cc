#include "argosy/kernels/cuda/conv_last.h"

#include "argosy/kernels/cuda/conv_graph.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

// Weights lie as x and y do. By a graph, where nothing is to be added.
bool convolve(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& s,
              const ConvOptions& options, const void* x, const void* w, const void* y,
              const void* bias) {
#ifdef ARGOSY_CUDNN_GRAPHS
  if (!bias && graph_conv(kind, stream, dtype, s, options, x, w, y)) return true;
#endif
  const auto free = [](const void* p) { return const_cast<void*>(p); };  // cuDNN's have one type
  return dnn_conv(kind, stream, dtype, s, options, free(x), free(w), free(y), bias);
}

}  // namespace

bool takes_last(DType dtype, const ConvShape& s) {
  constexpr int64_t kMost = (int64_t{1} << 31) - 1;
  if (item_size(dtype) != 2 || s.dims != 2 || s.groups != 1) return false;
  // Tensor cores read channels in packs of eight.
  if (s.in_channels % 8 || s.out_channels % 8) return false;
  for (const int64_t size : {s.x_size(), s.y_size(), s.w_size()})
    if (size == 0 || size > kMost) return false;
  for (int d = 1; d < 3; ++d) {  // padding is the same on both sides
    const int64_t room = s.in[d] + 2 * s.pad[d] - s.dilation[d] * (s.kernel[d] - 1) - 1;
    if (room < 0 || room / s.stride[d] + 1 != s.out[d]) return false;
  }
  return true;
}

bool conv_last(ConvKind kind, cudaStream_t stream, DType dtype, const ConvShape& given,
               const ConvOptions& options, const void* x, const void* w, const void* y,
               const void* bias) {
  ConvShape s = given;
  s.channels_last = true;
  if (s.taps() == 1) return convolve(kind, stream, dtype, s, options, x, w, y, bias);
  const Scratch turned(stream, static_cast<size_t>(s.w_size() * item_size(dtype)));
  if (kind != ConvKind::weight)
    transpose_batched(stream, dtype, w, turned.data(), s.out_channels, s.in_channels, s.taps());
  if (!convolve(kind, stream, dtype, s, options, x, turned.data(), y, bias)) return false;
  if (kind == ConvKind::weight)
    transpose_batched(stream, dtype, turned.data(), const_cast<void*>(w), s.out_channels, s.taps(),
                      s.in_channels);
  return true;
}

}  // namespace argosy::cuda
