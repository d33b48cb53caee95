#include "argosy/kernels/cuda/clip.h"

#include <cmath>
#include <utility>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/ops/common/common.h"
#include "argosy/ops/optim/optim.h"

// Norms of gradients and what is scaled by them.
namespace argosy::cuda {
namespace {

using clip::Piece;
using op::Inputs;
using op::KernelFrame;

const char* dense(std::span<const Tensor> list) {
  for (const Tensor& t : list)
    if (t.layout() != Layout::strided) return "row-sparse gradients";
  return nullptr;
}

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
  return dense(in.list(0));
}
void by_norm(KernelFrame& f, const ops::ClipByNormAttrs& a) {
  const Tensor& x = f.in[0];
  const Piece piece{x.raw(), f.out[0].raw(), x.numel(), x.dtype()};
  clip_to(stream_of(f), {&piece, 1}, a.max_norm);
}

const char* by_global_norm_fits(const Inputs& in, const ops::ClipByGlobalNormAttrs&) {
  return dense(in.list(0));
}
void by_global_norm(KernelFrame& f, const ops::ClipByGlobalNormAttrs& a) {
  const auto grads = f.in.list(0);
  std::vector<Piece> pieces;
  for (size_t i = 0; i < grads.size(); ++i)
    pieces.push_back({grads[i].raw(), f.out[i].raw(), grads[i].numel(), grads[i].dtype()});
  if (!pieces.empty()) clip_to(stream_of(f), pieces, a.clip_norm);
}

const char* by_value_fits(const Inputs& in, const ops::ClipByValueAttrs&) {
  return dense(in.list(0));
}
void by_value(KernelFrame& f, const ops::ClipByValueAttrs& a) {
  const Tensor& x = f.in[0];
  clip::by_value(stream_of(f), x.raw(), f.out[0].raw(), x.dtype(), x.numel(), a.min, a.max);
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
