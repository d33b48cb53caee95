#include <algorithm>
#include <optional>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/blas.h"
#include "argosy/kernels/cuda/int_products.h"
#include "argosy/op/define.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/linalg/matrices.h"

// Products of matrices.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using ops::GatedAttrs;
using ops::MatmulAttrs;

// --- matmul ---

void matmul_run(KernelFrame& f, const MatmulAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  const ops::Matrices s = ops::matrices(f.name(), f.in[0].shape(), f.in[1].shape(), a);
  const ops::Stored x = ops::stored(f.in[0], s.x, s.batch, a.transpose_x && !s.x_vector);
  const ops::Stored y = ops::stored(f.in[1], s.y, s.batch, a.transpose_y && !s.y_vector);
  Product p;
  p.dtype = out.dtype();
  p.transpose_a = x.transposed;
  p.transpose_b = y.transposed;
  p.m = s.m;
  p.n = s.n;
  p.k = s.k;
  p.a = x.tensor.raw();
  p.lda = x.ld;
  p.b = y.tensor.raw();
  p.ldb = y.ld;
  p.c = out.raw();
  p.ldc = s.n;
  if (is_integral(p.dtype))
    integer_products(stream_of(f), p, x.batch_strides, y.batch_strides, s.batch);
  else
    gemm_batched(stream_of(f), p, x.batch_strides, y.batch_strides, s.batch);
}

[[maybe_unused]] const bool matmul_added =
    add_kernel<MatmulAttrs>("matmul", matmul_run, /*strided=*/true);

// --- linear ---

const char* linear_match(const Inputs& in, const NoAttrs&) {
  if (!kFloating.has(in[0].dtype())) return "integers or complex numbers";
  return ops::is_usual_linear(in[1].shape(), in[2]) ? nullptr
                                                    : "not a matrix and one bias for each output";
}

void linear_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  const Tensor x = op::contiguous(f.in[0]);
  const ops::Stored w = ops::stored(f.in[1], f.in[1].shape(), {}, false);
  Tensor bias;
  Product p;
  p.dtype = out.dtype();
  p.k = f.in[1].dim(0);
  p.n = f.in[1].dim(1);
  p.m = out.numel() / p.n;
  p.a = x.raw();
  p.lda = std::max<int64_t>(p.k, 1);
  p.transpose_b = w.transposed;
  p.b = w.tensor.raw();
  p.ldb = w.ld;
  p.c = out.raw();
  p.ldc = p.n;
  if (f.in[2].defined()) {
    bias = op::contiguous(f.in[2]);
    p.bias = bias.raw();
  }
  gemm(stream_of(f), p);
}

[[maybe_unused]] const bool linear_added =
    add_kernel<NoAttrs>("linear", linear_match, linear_run, /*strided=*/true);

// --- gated products ---

void gated_run(KernelFrame& f, const GatedAttrs& a) {
  const Tensor &gate = f.in[0], &x = f.in[1], &y = f.in[2], &out = f.out[0];
  if (out.numel() == 0) return;
  const cudaStream_t stream = stream_of(f);
  Product p;
  p.dtype = out.dtype();
  p.transpose_b = a.transpose_y;
  p.k = x.dim(-1);
  p.n = out.dim(-1);
  p.m = out.numel() / p.n;
  p.a = x.raw();
  p.lda = std::max<int64_t>(p.k, 1);
  p.b = y.raw();
  p.ldb = std::max<int64_t>(y.dim(-1), 1);
  p.ldc = p.n;
  // The product goes where the gate is not, which may be the result's memory.
  const bool in_place = out.raw() == gate.raw();
  const auto bytes = static_cast<size_t>(out.numel()) * static_cast<size_t>(item_size(out.dtype()));
  std::optional<Scratch> apart;
  if (in_place) apart.emplace(stream, bytes);
  p.c = in_place ? apart->data() : out.raw();
  gemm(stream, p);
  open_gate(stream, p.dtype, out.raw(), p.c, gate.raw(), a.factor, out.numel());
}

[[maybe_unused]] const bool gated_added = add_kernel<GatedAttrs>("gated_matmul", gated_run);

}  // namespace
}  // namespace argosy::cuda
