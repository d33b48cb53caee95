#include "argosy/kernels/cuda/layer_norm.h"

#include "argosy/cuda/call.h"
#include "argosy/cuda/ops/norms.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/norm/parts.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::as_dtype;
using ops::raw_or_null;

// x's dtype, or float32 beside a 16-bit x.
DType weight_dtype(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  for (const Tensor* t : {&weight, &bias})
    if (t->defined() && t->dtype() != x.dtype()) return ops::statistics_dtype(x.dtype());
  return x.dtype();
}

RowNorm row_norm(const Tensor& x, int64_t begin, double epsilon, bool rms, DType weight) {
  int64_t rows = 1, n = 1;
  for (int i = 0; i < x.rank(); ++i) (i < begin ? rows : n) *= x.dim(i);
  return {x.dtype(), weight, rows, n, epsilon, rms};
}

template <bool kRms>
void run(KernelFrame& f, const ops::LayerNormAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  const DType kind = weight_dtype(x, f.in[1], f.in[2]);
  const Tensor weight = as_dtype(f.in[1], kind), bias = as_dtype(f.in[2], kind);
  layer_norm(stream_of(f), row_norm(x, a.begin_norm_axis, a.epsilon, kRms, kind), x.raw(),
             raw_or_null(weight), raw_or_null(bias), f.out[0].raw(), f.out[1].raw(),
             f.out[2].raw());
}

void run_grad(KernelFrame& f, const ops::LayerNormGradAttrs& a) {
  const Tensor &x = f.in[0], &dweight = f.out[1], &dbias = f.out[2];
  const cudaStream_t stream = stream_of(f);
  if (x.numel() == 0) {
    clear(stream, dweight);
    return clear(stream, dbias);
  }
  const DType kind = weight_dtype(x, f.in[1], dbias);
  const Tensor weight = as_dtype(f.in[1], kind), dy = as_dtype(f.in[4], x.dtype());
  const Tensor to_weight = in_dtype(dweight, kind), to_bias = in_dtype(dbias, kind);
  layer_norm_grad(stream, row_norm(x, a.begin_norm_axis, a.epsilon, a.rms, kind), x.raw(),
                  raw_or_null(weight), a.rms ? nullptr : f.in[2].raw(), f.in[3].raw(), dy.raw(),
                  f.out[0].raw(), weight.defined() ? to_weight.raw() : nullptr,
                  a.bias ? to_bias.raw() : nullptr);
  if (!to_weight.is(dweight)) op::copy_into(dweight, to_weight);
  if (!to_bias.is(dbias)) op::copy_into(dbias, to_bias);
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::LayerNormAttrs>("layer_norm", run<false>),
    add_kernel<ops::LayerNormAttrs>("rms_norm", run<true>),
    add_kernel<ops::LayerNormGradAttrs>("layer_norm_grad", run_grad),
};

}  // namespace
}  // namespace argosy::cuda
