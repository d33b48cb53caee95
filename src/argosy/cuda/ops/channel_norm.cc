#include "argosy/kernels/cuda/channel_norm.h"

#include <algorithm>

#include "argosy/cuda/call.h"
#include "argosy/cuda/channels_last.h"
#include "argosy/cuda/ops/norms.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::as_dtype;
using ops::raw_or_null;

Image image_of(const Tensor& x, bool channel_last) {
  const int64_t channels = x.dim(ops::channel_axis(x, channel_last));
  return {x.dtype(), x.dim(0), channels, x.numel() / std::max<int64_t>(1, x.dim(0) * channels),
          channel_last && x.rank() > 2};
}
bool is_lone(const Tensor& x, bool channel_last) {
  return x.numel() == x.dim(ops::channel_axis(x, channel_last));
}

// --- batch norm ---

// Does y get the memory of x, which lies so?
bool goes_last(const Tensor& x, const Tensor& y, bool channel_last) {
  return !channel_last && lies_last(x) && may_lie_last(y);
}
Image last_image(const Tensor& x) {
  return {x.dtype(), x.dim(0), x.dim(1), x.dim(2) * x.dim(3), true};
}

bool lays_y(const op::Inputs& in, const void* attrs, const Tensor&) {
  return !static_cast<const ops::BatchNormAttrs*>(attrs)->channel_last && lies_last(in[0]);
}
bool lays_dx(const op::Inputs& in, const void* attrs, const Tensor&) {
  return !static_cast<const ops::BatchNormGradAttrs*>(attrs)->channel_last && lies_last(in[0]) &&
         in[4].dtype() == in[0].dtype();
}

// Running statistics, which the kernel updates: themselves, or a contiguous copy.
Tensor writable(const Tensor& t) {
  if (t.is_contiguous()) return t;
  Tensor copy = Tensor::empty(t.shape(), t.dtype(), t.place());
  op::copy_into(copy, t);
  return copy;
}

void run_batch(KernelFrame& f, const ops::BatchNormAttrs& a) {
  const bool last = goes_last(f.in[0], f.out[0], a.channel_last);
  const Tensor x = last ? f.in[0] : op::contiguous(f.in[0]);
  const Tensor &mean = f.out[1], &variance = f.out[2];
  if (x.numel() == 0) return;
  const cudaStream_t stream = stream_of(f);
  const Image image = last ? last_image(x) : image_of(x, a.channel_last);
  const bool lone = (a.batch_stats || a.given_own) && is_lone(x, a.channel_last);
  if (lone) {
    if (a.batch_stats) {
      batch_statistics(stream, image, x.raw(), mean.raw(), variance.raw(), {});
    } else {
      op::copy_into(mean, f.in[1]);
      op::copy_into(variance, f.in[2]);
    }
    return op::copy_into(f.out[0], x);
  }
  const Tensor weight = as_dtype(f.in[3], mean.dtype()), bias = as_dtype(f.in[4], mean.dtype());
  const auto normalize = [&](const Running* running) {
    batch_norm(stream, image, x.raw(), running, mean.raw(), variance.raw(), a.epsilon,
               raw_or_null(weight), raw_or_null(bias), f.out[0].raw());
  };
  if (a.batch_stats) {
    const Tensor to_mean = writable(f.in[1]), to_variance = writable(f.in[2]);
    const Running running{to_mean.raw(), to_variance.raw(), to_mean.dtype(), to_variance.dtype(),
                          a.momentum};
    normalize(&running);
    for (const auto& [made, own] : {std::pair{&to_mean, &f.in[1]}, {&to_variance, &f.in[2]}}) {
      if (!made->is(*own)) op::copy_into(*own, *made);
      own->wrote(f.name());
    }
  } else {
    op::copy_into(mean, f.in[1]);
    op::copy_into(variance, f.in[2]);
    normalize(nullptr);
  }
  if (last) lay_last(f.out[0]);
}

// True where x has no elements: gradients of parameters are zeros then.
bool cleared(KernelFrame& f) {
  if (f.in[0].numel()) return false;
  for (size_t i = 1; i < 3; ++i) clear(stream_of(f), f.out[i]);
  return true;
}

void run_batch_grad(KernelFrame& f, const ops::BatchNormGradAttrs& a) {
  if (cleared(f)) return;
  const cudaStream_t stream = stream_of(f);
  if (!a.fixed && is_lone(f.in[0], a.channel_last)) {
    for (size_t i = 1; i < 3; ++i) clear(stream, f.out[i]);
    return op::copy_into(f.out[0], f.in[4]);
  }
  const bool last =
      goes_last(f.in[0], f.out[0], a.channel_last) && f.in[4].dtype() == f.in[0].dtype();
  const Tensor x = last ? f.in[0] : op::contiguous(f.in[0]);
  const Tensor dy = last ? lying_last(f.in[4]) : as_dtype(op::contiguous(f.in[4]), x.dtype());
  const DType wide = ops::statistics_dtype(x.dtype());
  const auto row = [&](size_t i) {
    return f.in[i].defined() ? as_dtype(op::contiguous(f.in[i]), wide) : f.in[i];
  };
  const Tensor weight = row(1), mean = row(2), variance = row(3);
  batch_norm_grad(stream, last ? last_image(x) : image_of(x, a.channel_last), x.raw(), mean.raw(),
                  variance.raw(), a.epsilon, raw_or_null(weight), dy.raw(), a.fixed, f.out[0].raw(),
                  weight.defined() ? f.out[1].raw() : nullptr, a.bias ? f.out[2].raw() : nullptr);
  if (last) lay_last(f.out[0]);
}

// --- group norm ---

// groups 0: one for each channel.
int64_t groups_of(const Image& image, int64_t groups) {
  return groups == 0 ? image.channels : groups;
}

void run_groups(KernelFrame& f, int64_t groups, double epsilon, bool channel_last) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  const DType wide = f.out[1].dtype();
  const Tensor weight = as_dtype(f.in[1], wide), bias = as_dtype(f.in[2], wide);
  const Image image = image_of(x, channel_last);
  group_norm(stream_of(f), image, groups_of(image, groups), epsilon, x.raw(), raw_or_null(weight),
             raw_or_null(bias), f.out[0].raw(), f.out[1].raw(), f.out[2].raw());
}
void run_group(KernelFrame& f, const ops::GroupNormAttrs& a) {
  run_groups(f, a.num_groups, a.epsilon, a.channel_last);
}
void run_instance(KernelFrame& f, const ops::InstanceNormAttrs& a) {
  run_groups(f, 0, a.epsilon, a.channel_last);
}

void run_group_grad(KernelFrame& f, const ops::GroupNormGradAttrs& a) {
  const Tensor& x = f.in[0];
  if (cleared(f)) return;
  const DType wide = ops::statistics_dtype(x.dtype());
  const Tensor weight = as_dtype(f.in[1], wide), mean = as_dtype(f.in[2], wide),
               variance = as_dtype(f.in[3], wide), dy = as_dtype(f.in[4], x.dtype());
  const Image image = image_of(x, a.channel_last);
  group_norm_grad(stream_of(f), image, groups_of(image, a.num_groups), a.epsilon, x.raw(),
                  mean.raw(), variance.raw(), raw_or_null(weight), dy.raw(), f.out[0].raw(),
                  weight.defined() ? f.out[1].raw() : nullptr, a.bias ? f.out[2].raw() : nullptr);
}

[[maybe_unused]] const bool laid[] = {
    register_lays_last("batch_norm", lays_y),
    register_lays_last("batch_norm_grad", lays_dx),
};
[[maybe_unused]] const bool added[] = {
    add_kernel<ops::BatchNormAttrs>("batch_norm", run_batch, /*strided=*/true),
    add_kernel<ops::BatchNormGradAttrs>("batch_norm_grad", run_batch_grad, /*strided=*/true),
    add_kernel<ops::GroupNormAttrs>("group_norm", run_group),
    add_kernel<ops::GroupNormGradAttrs>("group_norm_grad", run_group_grad),
    add_kernel<ops::InstanceNormAttrs>("instance_norm", run_instance),
};

}  // namespace
}  // namespace argosy::cuda
