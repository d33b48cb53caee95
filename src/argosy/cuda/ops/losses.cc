#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/class_paths.h"
#include "argosy/kernels/cuda/ctc.h"
#include "argosy/kernels/cuda/rnnt.h"
#include "argosy/ops/loss/loss.h"
#include "argosy/ops/norm/parts.h"

// Parts of losses that are no elementwise ops: CTC, RNN-T, trees and clusters of classes, margins.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using ops::as_dtype;

const int64_t* integers(const Tensor& t) {
  return static_cast<const int64_t*>(t.raw());
}
int64_t* integers_of(const Tensor& t) {
  return static_cast<int64_t*>(t.raw());
}

void run_ctc(KernelFrame& f, const ops::CtcRowsAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor labels = as_dtype(f.in[1], DType::int64), times = as_dtype(f.in[2], DType::int64),
               lengths = as_dtype(f.in[3], DType::int64);
  ctc(stream_of(f),
      {x.dtype(), x.dim(0), x.dim(1), x.dim(2), labels.dim(1), a.blank, a.norm_by_times,
       a.zero_infinity},
      x.raw(), integers(labels), integers(times), integers(lengths), f.out[0].raw(),
      f.out[1].raw());
}

void run_rnnt(KernelFrame& f, const ops::RnntRowsAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor labels = as_dtype(f.in[1], DType::int64), times = as_dtype(f.in[2], DType::int64),
               lengths = as_dtype(f.in[3], DType::int64);
  rnnt(stream_of(f),
       {x.dtype(), x.dim(0), x.dim(1), labels.dim(1), x.dim(3), a.blank, a.fastemit_lambda},
       x.raw(), integers(labels), integers(times), integers(lengths), f.out[0].raw(),
       f.out[1].raw());
}

void run_path(KernelFrame& f, const ops::HsigmoidPathAttrs& a) {
  const Tensor labels = as_dtype(f.in[0], DType::int64), &table = f.out[0];
  if (table.numel() == 0) return;
  hsigmoid_path(stream_of(f), integers(labels), labels.numel(), a.num_classes, table.dim(-1),
                integers_of(table), integers_of(f.out[1]));
}

const char* cluster_match(const Inputs&, const ops::CutoffAttrs& a) {
  return a.cutoffs.size() <= kMostCutoffs ? nullptr : "more than 32 cutoffs";
}
void run_clusters(KernelFrame& f, const ops::CutoffAttrs& a) {
  const Tensor labels = as_dtype(f.in[0], DType::int64);
  cluster_labels(stream_of(f), integers(labels), labels.numel(), a.cutoffs, integers_of(f.out[0]));
}

void run_margin(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  multi_label_margin(stream_of(f), x.dtype(), x.raw(), integers(f.in[1]), x.dim(0), x.dim(1),
                     f.out[0].raw());
}

const char* margin_grad_match(const Inputs& in, const NoAttrs&) {
  return kHalf.has(in[0].dtype()) || in[0].dtype() != in[2].dtype() ? "16-bit or mixed dtypes"
                                                                    : nullptr;
}
void run_margin_grad(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  multi_label_margin_grad(stream_of(f), x.dtype(), x.raw(), integers(f.in[1]), f.in[2].raw(),
                          x.dim(0), x.dim(1), f.out[0].raw());
}

[[maybe_unused]] const bool added[] = {
    add_kernel<ops::CtcRowsAttrs>("ctc_rows", run_ctc),
    add_kernel<ops::RnntRowsAttrs>("rnnt_rows", run_rnnt),
    add_kernel<ops::HsigmoidPathAttrs>("hsigmoid_path", run_path),
    add_kernel<ops::CutoffAttrs>("cluster_labels", cluster_match, run_clusters),
    add_kernel<NoAttrs>("multi_label_margin_rows", run_margin),
    add_kernel<NoAttrs>("multi_label_margin_rows_grad", margin_grad_match, run_margin_grad),
};

}  // namespace
}  // namespace argosy::cuda
