#include "argosy/kernels/cuda/clip.h"

#include <cmath>
#include <utility>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/cuda/ops/sparse_rows.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/optim/optim.h"

// Norms of gradients and what is scaled by them.
namespace argosy::cuda {
namespace {

using clip::Piece;
using op::Inputs;
using op::KernelFrame;

const char* few_rows(std::span<const Tensor> list) {
  for (const Tensor& t : list)
    if (t.layout() == Layout::row_sparse && t.parts()[0].numel() >= INT32_MAX)
      return "more than 2^31 rows";
  return nullptr;
}

// The elements of x, each once, and where the results of them go: of rows, which add up first, a
// tensor of their own.
class Elements {
 public:
  Elements(cudaStream_t stream, const Tensor& x, Tensor& out) : x_(x), out_(out) {
    rows_ = x.layout() == Layout::row_sparse;
    if (rows_) x_ = merged_rows(stream, x);
    from_ = rows_ ? op::contiguous(x_.parts()[1]) : x_;
    to_ = rows_ ? Tensor::empty(from_.shape(), from_.dtype(), from_.place()) : out;
  }
  Piece piece() const { return {from_.raw(), to_.raw(), from_.numel(), from_.dtype()}; }
  void finish() const {
    if (rows_) out_ = Tensor::row_sparse(x_.parts()[0], to_, x_.dim(0));
  }

 private:
  Tensor x_, from_, to_;
  Tensor& out_;
  bool rows_;
};

// Tensors that are written in place; finish() writes strided ones back.
class InPlace {
 public:
  explicit InPlace(std::span<const Tensor> list) {
    for (const Tensor& t : list) {
      Tensor dense = t;
      if (!t.is_contiguous()) {
        dense = op::contiguous(t);
        copies_.emplace_back(t, dense);
      }
      pieces_.push_back({dense.raw(), dense.raw(), t.numel(), t.dtype()});
    }
  }
  clip::Pieces pieces() const { return pieces_; }
  void finish() const {
    for (const auto& [strided, copy] : copies_) op::copy_into(strided, copy);
  }

 private:
  std::vector<Piece> pieces_;
  std::vector<std::pair<Tensor, Tensor>> copies_;
};

// The norm in the first number of `numbers`, what to scale by in the second.
void clip_to(cudaStream_t stream, clip::Pieces pieces, double most) {
  const Scratch numbers(stream, 2 * sizeof(double));
  auto* norm = numbers.data<double>();
  clip::norm(stream, pieces, 2, norm);
  clip::factor_by_norm(stream, norm, most, norm + 1);
  clip::scale(stream, pieces, norm + 1);
}

const char* by_norm_fits(const Inputs& in, const ops::ClipByNormAttrs&) {
  return few_rows(in.list(0));
}
void by_norm(KernelFrame& f, const ops::ClipByNormAttrs& a) {
  const Elements x(stream_of(f), f.in[0], f.out[0]);
  const Piece piece = x.piece();
  clip_to(stream_of(f), {&piece, 1}, a.max_norm);
  x.finish();
}

const char* by_global_norm_fits(const Inputs& in, const ops::ClipByGlobalNormAttrs&) {
  return few_rows(in.list(0));
}
void by_global_norm(KernelFrame& f, const ops::ClipByGlobalNormAttrs& a) {
  const auto grads = f.in.list(0);
  std::vector<Elements> all;
  std::vector<Piece> pieces;
  all.reserve(grads.size());
  for (size_t i = 0; i < grads.size(); ++i)
    pieces.push_back(all.emplace_back(stream_of(f), grads[i], f.out[i]).piece());
  if (!pieces.empty()) clip_to(stream_of(f), pieces, a.clip_norm);
  for (const Elements& x : all) x.finish();
}

const char* by_value_fits(const Inputs& in, const ops::ClipByValueAttrs&) {
  return few_rows(in.list(0));
}
void by_value(KernelFrame& f, const ops::ClipByValueAttrs& a) {
  const Elements x(stream_of(f), f.in[0], f.out[0]);
  const Piece p = x.piece();
  clip::by_value(stream_of(f), p.from, p.to, p.dtype, p.n, a.min, a.max);
  x.finish();
}

// The norm is read on the host where one that is not finite is an error.
void check_finite(cudaStream_t stream, const double* norm, double order) {
  double total = 0;
  {
    device::HostWait wait;
    ARGOSY_CUDA(cudaMemcpyAsync(&total, norm, sizeof(total), cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  ARGOSY_CHECK(std::isfinite(total), runtime)
      << "The total norm of order " << order
      << " of the gradients is non-finite, so it cannot be clipped [clip_grad_norm_]. Do this: "
         "find the gradient that is infinite or no number, or set error_if_nonfinite=False.";
}

void grad_norm(KernelFrame& f, const ops::ClipGradNormAttrs& a) {
  const cudaStream_t stream = stream_of(f);
  const InPlace grads(f.in.list(0));
  const Scratch numbers(stream, 2 * sizeof(double));
  auto* norm = numbers.data<double>();
  clip::norm(stream, grads.pieces(), a.norm_type, norm);
  if (a.error_if_nonfinite) check_finite(stream, norm, a.norm_type);
  const Tensor& total = f.out[0];
  clip::factor_of_grads(stream, norm, a.max_norm, norm + 1, total.raw(), total.dtype());
  clip::scale(stream, grads.pieces(), norm + 1);
  grads.finish();
  for (const Tensor& g : f.in.list(0)) g.wrote("clip_grad_norm_");
}

void unscale(KernelFrame& f, const ops::UnscaleAttrs& a) {
  const InPlace grads(f.in.list(0));
  clip::unscale(stream_of(f), grads.pieces(), a.scale, static_cast<bool*>(f.out[0].raw()));
  grads.finish();
  for (const Tensor& g : f.in.list(0)) g.wrote("unscale_grads_");
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::ClipByNormAttrs>("clip_by_norm", by_norm_fits, by_norm),
    add_kernel<ops::ClipByGlobalNormAttrs>("clip_by_global_norm", by_global_norm_fits,
                                           by_global_norm),
    add_kernel<ops::ClipByValueAttrs>("clip_by_value", by_value_fits, by_value),
    add_kernel<ops::ClipGradNormAttrs>("clip_grad_norm_", grad_norm, true),
    add_kernel<ops::UnscaleAttrs>("unscale_grads_", unscale, true),
};

}  // namespace
}  // namespace argosy::cuda
