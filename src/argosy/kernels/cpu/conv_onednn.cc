#include <algorithm>
#include <cstring>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/conv_impl.h"
#include "argosy/kernels/cpu/conv_plan.h"
#include "argosy/kernels/cpu/scratch.h"

// oneDNN on one thread at a time, over chunks of images and slices of channels. Activations are
// converted to its layouts and back within a chunk, while they are in the cache.
namespace argosy::cpu {
namespace {

struct Grid {
  int64_t images, chunks;  // images of a chunk (the last may have fewer), how many chunks
  int64_t slice, slices;   // channels of a slice, how many (all equal)
  int64_t count() const { return chunks * slices; }
};

int64_t round_up(int64_t v, int64_t to) {
  return (v + to - 1) / to * to;
}

// The most equal slices of whole blocks of 16 channels, at most `wanted`, none below `least`.
int64_t slices_of(int64_t channels, int64_t wanted, int64_t least) {
  for (int64_t n = std::min(wanted, channels / least); n > 1; --n)
    if (channels % (16 * n) == 0) return n;
  return 1;
}

Grid cut(const ConvShape& s, ConvKind kind) {
  ConvSizes z(s);
  // Kernels work on blocks of 16 channels, filled or not.
  int64_t oc = round_up(s.out_channels / s.groups, 16), ic = s.in_channels / s.groups;
  if (s.groups == s.in_channels && s.groups == s.out_channels) oc = 1;
  if (ic > 4) ic = round_up(ic, 16);
  double flops = 2.0 * static_cast<double>(s.batch * z.out * s.groups) *
                 static_cast<double>(oc * ic * z.kernel);
  if (oc == 1) flops *= 4;  // bound by memory
  int64_t wanted = std::max<int64_t>(1, static_cast<int64_t>(flops / 10e6));
  if (wanted > 8) wanted = std::clamp<int64_t>(static_cast<int64_t>(flops / 60e6), 8, 64);

  bool heavy = z.weights > z.x + z.y;
  int64_t channels = kind == ConvKind::backward_data ? s.in_channels : s.out_channels;
  int64_t slices = 1;
  if (s.groups == 1 && !s.channels_last) {
    if (kind == ConvKind::backward_weights)
      slices = slices_of(channels, wanted, 32);
    else if (heavy)
      slices = slices_of(channels, wanted, 32);
    else if (s.batch < wanted)
      slices = slices_of(channels, wanted / s.batch, 32);
  }
  int64_t chunks = std::clamp<int64_t>(wanted / slices, 1, s.batch);
  // Each slice of large weights is packed by the one task that uses it.
  if (heavy && slices >= 8) chunks = 1;
  if (kind == ConvKind::backward_weights) {
    // Each chunk of images leaves a partial sum as large as the weights.
    int64_t most = 2 * (z.x + z.y) / std::max<int64_t>(z.weights, 1);
    chunks = std::min({chunks, std::max<int64_t>(most, 1), int64_t{16}});
  }
  int64_t images = (s.batch + chunks - 1) / chunks;
  return {images, (s.batch + images - 1) / images, channels / slices, slices};
}

ConvTask task_of(const ConvShape& s, bool half, ConvKind kind, const Grid& grid, int64_t images,
                 bool bias) {
  ConvTask t;
  std::memset(&t, 0, sizeof(t));
  t.kind = kind;
  t.half = half;
  // One spatial dim runs as two, the first of size one.
  int shift = s.dims == 1 ? 1 : 0;
  t.dims = s.dims + shift;
  t.channels_last = s.channels_last;
  t.images = images;
  t.slice = grid.slice;
  t.bias = bias;
  t.in_channels = s.in_channels;
  t.out_channels = s.out_channels;
  t.groups = s.groups;
  for (int d = 0; d < 3; ++d) t.in[d] = t.out[d] = t.kernel[d] = t.stride[d] = t.dilation[d] = 1;
  for (int d = 0; d < s.dims; ++d) {
    t.in[d + shift] = s.in[d];
    t.out[d + shift] = s.out[d];
    t.kernel[d + shift] = s.kernel[d];
    t.stride[d + shift] = s.stride[d];
    t.dilation[d + shift] = s.dilation[d];
    t.pad[d + shift] = s.pad[d];
  }
  return t;
}

// The grid and the plans of its full and its last chunks.
struct Work {
  Work(const ConvShape& shape, bool half, ConvKind k, bool bias)
      : kind(k), item(half ? 2 : 4), grid(cut(shape, k)), sizes(shape) {
    full = conv_plan(task_of(shape, half, kind, grid, grid.images, bias));
    int64_t left = shape.batch - (grid.chunks - 1) * grid.images;
    last = left == grid.images ? full : conv_plan(task_of(shape, half, kind, grid, left, bias));
    bool data = kind == ConvKind::backward_data;
    int64_t x = shape.in_channels * sizes.in, y = shape.out_channels * sizes.out;
    whole_image = data ? y : x;
    sliced_image = data ? x : y;
    slice_step = grid.slice * (shape.channels_last ? 1 : data ? sizes.in : sizes.out);
    weights_step = grid.slice * sizes.kernel * (data ? 1 : shape.in_channels / shape.groups);
  }
  // Both plans must agree on the weights' layout, as slices share them.
  bool usable() const {
    return full && last &&
           full->is_packed(ConvRole::weights) == last->is_packed(ConvRole::weights) &&
           full->packed_bytes(ConvRole::weights) == last->packed_bytes(ConvRole::weights);
  }
  const ConvPlan& plan(int64_t chunk) const { return chunk + 1 == grid.chunks ? *last : *full; }

  ConvKind kind;
  int64_t item;  // bytes of an element of what is read
  Grid grid;
  ConvSizes sizes;
  std::shared_ptr<const ConvPlan> full, last;
  int64_t whole_image, sliced_image, slice_step, weights_step;
};

// A packed copy where the plan wants one.
struct Packed {
  Packed(const ConvPlan& plan, ConvRole role, int64_t copies = 1)
      : wanted(plan.is_packed(role)),
        step(wanted ? round_up(plan.packed_bytes(role), 64) : 0),
        scratch(static_cast<size_t>(step * copies)) {}
  char* at(int64_t copy = 0) const { return scratch.as(copy * step); }

  bool wanted;
  int64_t step;
  Scratch scratch;
};

// forward and backward_data: `to` = `from` with `weights`.
bool run_dense(const ConvShape& s, bool half, ConvKind kind, const void* from, const void* weights,
               const float* bias, void* to) {
  Work work(s, half, kind, bias != nullptr);
  if (!work.usable()) return false;
  const Grid& grid = work.grid;
  auto weights_at = [&](int64_t slice) {
    return static_cast<const char*>(weights) + work.item * slice * work.weights_step;
  };
  auto from_at = [&](int64_t chunk) {
    return static_cast<const char*>(from) + work.item * chunk * grid.images * work.whole_image;
  };

  // What several chunks share is packed ahead, unless that is too little to wait for.
  bool ahead = grid.chunks > 1, share = grid.slices > 1;
  Packed shared_weights(*work.full, ConvRole::weights, ahead ? grid.slices : 0);
  Packed shared_from(*work.full, ConvRole::whole, share ? grid.chunks : 0);
  int64_t packings = ahead && shared_weights.wanted ? grid.slices : 0;
  int64_t sharings = share && shared_from.wanted ? grid.chunks : 0;
  auto prepare = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (i < packings)
        work.full->pack(ConvRole::weights, weights_at(i), shared_weights.at(i));
      else
        work.plan(i - packings)
            .pack(ConvRole::whole, from_at(i - packings), shared_from.at(i - packings));
    }
  };
  if (sharings == 0 && work.sizes.weights < 32768)
    prepare(0, packings);
  else
    parallel_for(packings + sharings, 1, prepare);

  parallel_for(grid.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t chunk = i / grid.slices, slice = i % grid.slices;
      const ConvPlan& plan = work.plan(chunk);
      void* w = const_cast<char*>(weights_at(slice));
      Packed own_weights(plan, ConvRole::weights, ahead ? 0 : 1);
      if (plan.is_packed(ConvRole::weights)) {
        if (!ahead) plan.pack(ConvRole::weights, weights_at(slice), own_weights.at());
        w = ahead ? shared_weights.at(slice) : own_weights.at();
      }
      void* whole = const_cast<char*>(from_at(chunk));
      Packed own_from(plan, ConvRole::whole, share ? 0 : 1);
      if (plan.is_packed(ConvRole::whole)) {
        if (!share) plan.pack(ConvRole::whole, from_at(chunk), own_from.at());
        whole = share ? shared_from.at(chunk) : own_from.at();
      }
      char* out = static_cast<char*>(to) +
                  work.item * (chunk * grid.images * work.sliced_image + slice * work.slice_step);
      Packed own_out(plan, ConvRole::sliced);
      float* b = bias ? const_cast<float*>(bias) + slice * grid.slice : nullptr;
      plan.run(whole, w, b, own_out.wanted ? static_cast<void*>(own_out.at()) : out);
      if (own_out.wanted) plan.unpack(ConvRole::sliced, own_out.at(), out);
    }
  });
  return true;
}

}  // namespace

bool onednn_conv_forward(const ConvShape& s, bool half, const void* x, const void* w,
                         const float* bias, void* y) {
  ConvSizes z(s);
  if (z.x == 0 || z.weights == 0) return false;
  return run_dense(s, half, ConvKind::forward, x, w, bias, y);
}

bool onednn_conv_backward_data(const ConvShape& s, bool half, const void* dy, const void* w,
                               void* dx) {
  ConvSizes z(s);
  if (z.y == 0 || z.weights == 0) return false;
  return run_dense(s, half, ConvKind::backward_data, dy, w, nullptr, dx);
}

bool onednn_conv_backward_weights(const ConvShape& s, bool half, const void* x, const void* dy,
                                  float* dw, float* dbias) {
  ConvSizes z(s);
  if (z.x == 0 || z.y == 0 || z.weights == 0) return false;
  Work work(s, half, ConvKind::backward_weights, dbias != nullptr);
  if (!work.usable()) return false;
  const Grid& grid = work.grid;
  constexpr auto kWhole = ConvRole::whole, kSliced = ConvRole::sliced, kWeights = ConvRole::weights;

  bool share = grid.slices > 1;
  Packed shared_x(*work.full, kWhole, share ? grid.chunks : 0);
  auto x_at = [&](int64_t chunk) {
    return static_cast<const char*>(x) + work.item * chunk * grid.images * work.whole_image;
  };
  if (share && shared_x.wanted)
    parallel_for(grid.chunks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) work.plan(i).pack(kWhole, x_at(i), shared_x.at(i));
    });

  // Partial sums of each chunk of images, in the plan's layout, weights first and then the bias.
  bool alone = grid.chunks == 1;
  int64_t w_bytes = round_up(work.full->packed_bytes(kWeights), 64);
  int64_t step = w_bytes + round_up(grid.slice * 4, 64);
  Scratch partials(static_cast<size_t>(alone ? 0 : step * grid.count()));
  auto partial = [&](int64_t chunk, int64_t slice) {
    return partials.as((chunk * grid.slices + slice) * step);
  };
  auto deliver = [&](int64_t slice, const void* sum) {
    float* to = dw + slice * work.weights_step;
    if (work.full->is_packed(kWeights))
      work.full->unpack(kWeights, sum, to);
    else
      std::memcpy(to, sum, static_cast<size_t>(work.weights_step) * 4);
  };
  parallel_for(grid.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t chunk = i / grid.slices, slice = i % grid.slices;
      const ConvPlan& plan = work.plan(chunk);
      const char* from =
          static_cast<const char*>(dy) +
          work.item * (chunk * grid.images * work.sliced_image + slice * work.slice_step);
      void* py = const_cast<char*>(from);
      Packed own_y(plan, kSliced);
      if (own_y.wanted) {
        plan.pack(kSliced, from, own_y.at());
        py = own_y.at();
      }
      void* px = const_cast<char*>(x_at(chunk));
      Packed own_x(plan, kWhole, share ? 0 : 1);
      if (own_x.wanted) {
        if (!share) plan.pack(kWhole, x_at(chunk), own_x.at());
        px = share ? shared_x.at(chunk) : own_x.at();
      }
      bool direct = alone && !plan.is_packed(kWeights);
      Scratch own(static_cast<size_t>(alone && !direct ? w_bytes : 0));
      char* to = direct  ? reinterpret_cast<char*>(dw + slice * work.weights_step)
                 : alone ? own.as()
                         : partial(chunk, slice);
      float* b = !dbias  ? nullptr
                 : alone ? dbias + slice * grid.slice
                         : reinterpret_cast<float*>(to + w_bytes);
      plan.run(px, to, b, py);
      if (alone && !direct) deliver(slice, to);
    }
  });
  if (alone) return true;
  int64_t numbers = w_bytes / 4;
  int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(1, numbers * grid.chunks));
  parallel_for(grid.slices, grain, [&](int64_t begin, int64_t end) {
    for (int64_t slice = begin; slice < end; ++slice) {
      auto* sum = reinterpret_cast<float*>(partial(0, slice));
      for (int64_t chunk = 1; chunk < grid.chunks; ++chunk) {
        const auto* part = reinterpret_cast<const float*>(partial(chunk, slice));
        for (int64_t i = 0; i < step / 4; ++i) sum[i] += part[i];
      }
      deliver(slice, sum);
      if (dbias) std::copy(sum + numbers, sum + numbers + grid.slice, dbias + slice * grid.slice);
    }
  });
  return true;
}

}  // namespace argosy::cpu
