#include <algorithm>

#include "argosy/kernels/cpu/roi.h"
#include "argosy/op/define.h"
#include "argosy/ops/detection/detection.h"

namespace argosy::ops {
namespace {

void suppress_infer(op::InferContext& c, const SuppressAttrs&) {
  const Tensor& boxes = c.in[0];
  ARGOSY_CHECK(boxes.rank() == 2 && (boxes.dim(1) == 4 || boxes.dim(1) < 0), invalid_argument)
      << "[nms] boxes must be [R, 4], got " << boxes << ". Do this: reshape them.";
  c.out[0] = {{kUnknown}, DType::int64};
}
void suppress_run(op::KernelFrame& f, const SuppressAttrs& a) {
  const Tensor& boxes = f.in[0];
  std::vector<int64_t> kept(static_cast<size_t>(boxes.dim(0)));
  int64_t count = 0;
  dispatch_types<float, double>(boxes.dtype(), [&]<class T>(T) {
    count = cpu::suppress(boxes.data<T>(), boxes.dim(0), a.threshold, a.extra, a.eta, kept.data());
  });
  std::copy_n(kept.data(), count, f.allocate(0, {count}).data<int64_t>());
}

ARGOSY_OP(suppress_boxes, SuppressAttrs)
    .doc(
        "Indices of the boxes [R, 4], best first, that overlap no better kept one by more than "
        "threshold (intersection over union). While it is above 0.5, the threshold is multiplied "
        "by "
        "eta < 1 at each kept box.")
    .shape("boxes [n,4] -> [?]")
    .input("boxes", only(DType::float32) | only(DType::float64))
    .index_output("out")
    .infer(suppress_infer)
    .kernel("greedy", suppress_run)
    .done();

}  // namespace
}  // namespace argosy::ops
