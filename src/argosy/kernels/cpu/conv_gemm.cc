#include <algorithm>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/conv_impl.h"
#include "argosy/kernels/cpu/gemm.h"
#include "argosy/kernels/cpu/scratch.h"

// A convolution as one product for each image and group: W [O, C*K] times the patches [C*K, out],
// where O and C count within the group. Channels-last tensors are the same matrices transposed.
namespace argosy::cpu {
namespace {

// Positions of x that an image's channel contributes: strides in elements.
struct Walk {
  explicit Walk(const ConvShape& s) {
    ConvSizes z(s);
    channel = s.channels_last ? 1 : z.in;
    int64_t step = s.channels_last ? s.in_channels : 1;
    for (int d = s.dims - 1; d >= 0; --d) {
      along[3 - s.dims + d] = step;
      step *= s.in[d];
    }
    for (int d = 0; d < s.dims; ++d) {
      int at = 3 - s.dims + d;
      in[at] = s.in[d];
      out[at] = s.out[d];
      kernel[at] = s.kernel[d];
      stride[at] = s.stride[d];
      dilation[at] = s.dilation[d];
      pad[at] = s.pad[d];
    }
  }
  int64_t channel;
  int64_t along[3] = {0, 0, 0};
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, pad[3] = {0, 0, 0};

  // The outputs [first, last) along d whose input at tap k is not padding.
  void inside(int d, int64_t k, int64_t* first, int64_t* last) const {
    int64_t shift = k * dilation[d] - pad[d];
    *first = shift >= 0 ? 0 : (-shift + stride[d] - 1) / stride[d];
    *last = shift >= in[d] ? 0 : (in[d] - shift + stride[d] - 1) / stride[d];
    *last = std::min(*last, out[d]);
    *first = std::min(*first, *last);
  }
};

// Calls row(column of patches, element of x, count, step) for the runs of one channel and tap that
// lie inside; step: elements of x between neighbours.
template <class F>
void for_runs(const Walk& w, int64_t tap, F&& row) {
  int64_t k[3] = {tap / (w.kernel[1] * w.kernel[2]), tap / w.kernel[2] % w.kernel[1],
                  tap % w.kernel[2]};
  int64_t first[3], last[3];
  for (int d = 0; d < 3; ++d) w.inside(d, k[d], &first[d], &last[d]);
  auto position = [&](int d, int64_t o) {
    return (o * w.stride[d] + k[d] * w.dilation[d] - w.pad[d]) * w.along[d];
  };
  if (first[2] == last[2]) return;
  for (int64_t z = first[0]; z < last[0]; ++z)
    for (int64_t y = first[1]; y < last[1]; ++y)
      row((z * w.out[1] + y) * w.out[2] + first[2],
          position(0, z) + position(1, y) + position(2, first[2]), last[2] - first[2],
          w.stride[2] * w.along[2]);
}

template <class T>
void gather_patches(const Walk& w, int64_t channels, int64_t taps, int64_t out, const T* x,
                    T* patches) {
  std::fill(patches, patches + channels * taps * out, T(0));
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap) {
      T* to = patches + (c * taps + tap) * out;
      const T* from = x + c * w.channel;
      for_runs(w, tap, [&](int64_t column, int64_t at, int64_t count, int64_t step) {
        for (int64_t i = 0; i < count; ++i) to[column + i] = from[at + i * step];
      });
    }
}

template <class T>
void scatter_patches(const Walk& w, int64_t channels, int64_t taps, int64_t out, const T* patches,
                     T* dx) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const T* from = patches + (c * taps + tap) * out;
      T* to = dx + c * w.channel;
      for_runs(w, tap, [&](int64_t column, int64_t at, int64_t count, int64_t step) {
        for (int64_t i = 0; i < count; ++i) to[at + i * step] += from[column + i];
      });
    }
}

// Whether patches are the input itself.
bool is_plain(const ConvShape& s) {
  for (int d = 0; d < s.dims; ++d)
    if (s.kernel[d] != 1 || s.stride[d] != 1 || s.pad[d] != 0 || s.in[d] != s.out[d]) return false;
  return true;
}

constexpr int64_t kMaxPartials = 8;

// [images, channels, size] as [channels, images * size].
template <class T>
void channels_first(const T* from, int64_t images, int64_t channels, int64_t size, T* to) {
  parallel_for(
      channels, std::max<int64_t>(1, 65536 / (images * size)), [&](int64_t c, int64_t end) {
        for (; c < end; ++c)
          for (int64_t n = 0; n < images; ++n)
            std::copy_n(from + (n * channels + c) * size, size, to + (c * images + n) * size);
      });
}

int64_t images_per_chunk(const ConvShape& s, const ConvSizes& z, int64_t most_chunks) {
  int64_t each = s.out_channels * (s.in_channels / s.groups) * z.kernel * z.out;
  int64_t enough = std::max<int64_t>(1, 2000000 / std::max<int64_t>(each, 1));
  return std::max(enough, (s.batch + most_chunks - 1) / most_chunks);
}

}  // namespace

template <class T>
void gemm_conv_forward(const ConvShape& s, const T* x, const T* w, const T* bias, T* y) {
  ConvSizes z(s);
  DType t = dtype_of<T>;
  int64_t oc = s.out_channels / s.groups, ic = s.in_channels / s.groups, depth = ic * z.kernel;
  if (s.channels_last && s.groups == 1 && is_plain(s)) {
    return gemm(t, false, true, s.batch * z.in, oc, ic, 1, x, ic, w, ic, 0, y, oc, {bias});
  }
  if (!s.channels_last) {
    int64_t planes = s.batch * s.out_channels;
    parallel_for(bias ? planes : 0, std::max<int64_t>(1, 65536 / z.out), [&](int64_t p, int64_t e) {
      for (; p < e; ++p) std::fill(y + p * z.out, y + (p + 1) * z.out, bias[p % s.out_channels]);
    });
    if (s.groups == 1 && is_plain(s)) {
      int64_t none[] = {0}, from[] = {ic * z.in}, to[] = {oc * z.out}, batch[] = {s.batch};
      return gemm_batched(t, false, false, oc, z.out, ic, 1, w, ic, none, x, z.in, from,
                          bias ? 1 : 0, y, z.out, to, batch);
    }
  }
  Walk walk(s);
  auto image = [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(depth * z.out) * sizeof(T));
    T* patches = scratch.as<T>();
    for (int64_t n = begin; n < end; ++n)
      for (int64_t g = 0; g < s.groups; ++g) {
        gather_patches(walk, ic, z.kernel, z.out,
                       x + n * s.in_channels * z.in + g * ic * walk.channel, patches);
        const T* wg = w + g * oc * depth;
        T* out = y + n * s.out_channels * z.out;
        if (s.channels_last)
          gemm(t, true, true, z.out, oc, depth, 1, patches, z.out, wg, depth, 0, out + g * oc,
               s.out_channels, {bias ? bias + g * oc : nullptr});
        else
          gemm(t, false, false, oc, z.out, depth, 1, wg, depth, patches, z.out, bias ? 1 : 0,
               out + g * oc * z.out, z.out);
      }
  };
  if (s.batch < 2) return image(0, s.batch);
  parallel_for(s.batch, images_per_chunk(s, z, 64), image);
}

template <class T>
void gemm_conv_backward_data(const ConvShape& s, const T* dy, const T* w, T* dx) {
  ConvSizes z(s);
  DType t = dtype_of<T>;
  int64_t oc = s.out_channels / s.groups, ic = s.in_channels / s.groups, depth = ic * z.kernel;
  if (s.groups == 1 && is_plain(s)) {
    if (s.channels_last)
      return gemm(t, false, false, s.batch * z.in, ic, oc, 1, dy, oc, w, ic, 0, dx, ic);
    int64_t none[] = {0}, from[] = {oc * z.out}, to[] = {ic * z.in}, batch[] = {s.batch};
    return gemm_batched(t, true, false, ic, z.in, oc, 1, w, ic, none, dy, z.out, from, 0, dx, z.in,
                        to, batch);
  }
  Walk walk(s);
  auto image = [&](int64_t begin, int64_t end) {
    Scratch scratch(static_cast<size_t>(depth * z.out) * sizeof(T));
    T* patches = scratch.as<T>();
    for (int64_t n = begin; n < end; ++n) {
      T* to = dx + n * s.in_channels * z.in;
      std::fill(to, to + s.in_channels * z.in, T(0));
      for (int64_t g = 0; g < s.groups; ++g) {
        const T* wg = w + g * oc * depth;
        const T* from = dy + n * s.out_channels * z.out + g * oc * (s.channels_last ? 1 : z.out);
        gemm(t, true, s.channels_last, depth, z.out, oc, 1, wg, depth, from,
             s.channels_last ? s.out_channels : z.out, 0, patches, z.out);
        scatter_patches(walk, ic, z.kernel, z.out, patches, to + g * ic * walk.channel);
      }
    }
  };
  if (s.batch < 2) return image(0, s.batch);
  parallel_for(s.batch, images_per_chunk(s, z, 64), image);
}

template <class T>
void gemm_conv_backward_weights(const ConvShape& s, const T* x, const T* dy, T* dw) {
  ConvSizes z(s);
  DType t = dtype_of<T>;
  int64_t oc = s.out_channels / s.groups, ic = s.in_channels / s.groups, depth = ic * z.kernel;
  if (s.batch == 0 || z.out == 0) {
    std::fill(dw, dw + z.weights, T(0));
    return;
  }
  bool plain = is_plain(s);
  if (plain && s.groups == 1 && s.channels_last) {
    return gemm(t, true, false, oc, ic, s.batch * z.in, 1, dy, oc, x, ic, 0, dw, ic);
  }
  Walk walk(s);
  auto sum = [&](int64_t begin, int64_t end, T* to) {
    Scratch scratch(static_cast<size_t>(plain && !s.channels_last ? 0 : depth * z.out) * sizeof(T));
    for (int64_t n = begin; n < end; ++n)
      for (int64_t g = 0; g < s.groups; ++g) {
        const T* patches = x + n * s.in_channels * z.in + g * ic * walk.channel;
        if (!plain || s.channels_last) {
          gather_patches(walk, ic, z.kernel, z.out, patches, scratch.as<T>());
          patches = scratch.as<T>();
        }
        const T* from = dy + n * s.out_channels * z.out + g * oc * (s.channels_last ? 1 : z.out);
        gemm(t, s.channels_last, true, oc, depth, z.out, 1, from,
             s.channels_last ? s.out_channels : z.out, patches, z.out, n == begin ? 0 : 1,
             to + g * oc * depth, depth);
      }
  };
  int64_t grain = images_per_chunk(s, z, kMaxPartials);
  int64_t chunks = (s.batch + grain - 1) / grain;
  if (chunks == 1) return sum(0, s.batch, dw);
  if (plain && s.groups == 1 && (chunks - 1) * z.weights > z.x + z.y) {
    // Large weights, small images: one product over all images, of what is rearranged for it, takes
    // less memory than sums of parts, and less time.
    Scratch rearranged(static_cast<size_t>(z.x + z.y) * sizeof(T));
    T *all_x = rearranged.as<T>(), *all_dy = rearranged.as<T>(z.x);
    channels_first(x, s.batch, ic, z.in, all_x);
    channels_first(dy, s.batch, oc, z.out, all_dy);
    const int64_t k = s.batch * z.out;
    return gemm(t, false, true, oc, ic, k, 1, all_dy, k, all_x, k, 0, dw, ic);
  }
  Scratch partials(static_cast<size_t>((chunks - 1) * z.weights) * sizeof(T));
  parallel_for(s.batch, grain, [&](int64_t begin, int64_t end) {
    int64_t chunk = begin / grain;
    sum(begin, end, chunk == 0 ? dw : partials.as<T>((chunk - 1) * z.weights));
  });
  parallel_for(z.weights, 1 << 15, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      const T* from = partials.as<T>((chunk - 1) * z.weights);
      for (int64_t i = begin; i < end; ++i) dw[i] += from[i];
    }
  });
}

template <class T>
void conv_bias_gradient(const ConvShape& s, const T* dy, T* dbias) {
  ConvSizes z(s);
  int64_t channels = s.out_channels;
  if (s.channels_last) {
    int64_t rows = s.batch * z.out, blocks = std::min<int64_t>(64, (rows + 255) / 256);
    if (blocks == 0) return std::fill(dbias, dbias + channels, T(0)), void();
    int64_t grain = (rows + blocks - 1) / blocks;
    blocks = (rows + grain - 1) / grain;
    Scratch partials(static_cast<size_t>(blocks * channels) * sizeof(T));
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      T* to = partials.as<T>(begin / grain * channels);
      std::fill(to, to + channels, T(0));
      for (int64_t r = begin; r < end; ++r)
        for (int64_t c = 0; c < channels; ++c) to[c] += dy[r * channels + c];
    });
    std::fill(dbias, dbias + channels, T(0));
    for (int64_t b = 0; b < blocks; ++b)
      for (int64_t c = 0; c < channels; ++c) dbias[c] += partials.as<T>()[b * channels + c];
    return;
  }
  int64_t each = std::max<int64_t>(1, s.batch * z.out);
  parallel_for(channels, std::max<int64_t>(1, 65536 / each), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T total = 0;
      for (int64_t n = 0; n < s.batch; ++n) {
        const T* from = dy + (n * channels + c) * z.out;
        T lanes[16] = {};
        int64_t i = 0;
        for (; i + 16 <= z.out; i += 16)
          for (int l = 0; l < 16; ++l) lanes[l] += from[i + l];
        for (; i < z.out; ++i) lanes[i % 16] += from[i];
        T sum = 0;
        for (T v : lanes) sum += v;
        total += sum;
      }
      dbias[c] = total;
    }
  });
}

template void gemm_conv_forward(const ConvShape&, const float*, const float*, const float*, float*);
template void gemm_conv_forward(const ConvShape&, const double*, const double*, const double*,
                                double*);
template void gemm_conv_backward_data(const ConvShape&, const float*, const float*, float*);
template void gemm_conv_backward_data(const ConvShape&, const double*, const double*, double*);
template void gemm_conv_backward_weights(const ConvShape&, const float*, const float*, float*);
template void gemm_conv_backward_weights(const ConvShape&, const double*, const double*, double*);
template void conv_bias_gradient(const ConvShape&, const float*, float*);
template void conv_bias_gradient(const ConvShape&, const double*, double*);

}  // namespace argosy::cpu
