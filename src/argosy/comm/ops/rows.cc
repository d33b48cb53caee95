#include "argosy/comm/ops/calls.h"
#include "argosy/comm/ops/exchange.h"
#include "argosy/ops/math/math.h"

// Gradients with a few rows: averaging them is joining them.
namespace argosy::comm {
namespace {

using op::InferContext;
using op::KernelFrame;

struct AverageRowsAttrs {
  int64_t group = 0;
};
ARGOSY_ATTRS(AverageRowsAttrs, group)

void average_rows_infer(InferContext& c, const AverageRowsAttrs&) {
  c.out[0] = {c.in[0].shape(), c.in[0].dtype(), Layout::row_sparse};
}

Tensor joined(ProcessGroup& group, const Tensor& mine, const Tensor& counts) {
  Shape shape = mine.shape();
  shape[0] = 0;
  for (int64_t r = 0; r < counts.numel(); ++r) shape[0] += counts.data<int64_t>()[r];
  Tensor all = Tensor::empty(shape, mine.dtype(), mine.place());
  TensorList parts;
  int64_t at = 0;
  for (int64_t r = 0; r < counts.numel(); ++r) {
    shape[0] = counts.data<int64_t>()[r];
    parts.push_back(all.view(shape, all.strides(), at * all.strides()[0]));
    at += shape[0];
  }
  group.all_gather(parts, mine, true);
  return all;
}

void average_rows_run(KernelFrame& f, const AverageRowsAttrs& a) {
  const auto group = Groups::current().find(a.group, f.name());
  const Tensor& x = f.in[0];
  const Tensor rows = op::contiguous(x.parts()[0]);
  const int64_t ranks = group->size();
  Tensor count = Tensor::empty(Shape{1}, DType::int64);
  *count.data<int64_t>() = rows.numel();
  Tensor counts = Tensor::empty(Shape{ranks, 1}, DType::int64);
  group->all_gather(rows_of(counts), count, false);
  const Tensor all_rows = joined(*group, rows, counts);
  const Tensor values = joined(*group, op::contiguous(x.parts()[1]), counts);
  f.out[0] =
      Tensor::row_sparse(all_rows, ops::scale(values, 1.0 / static_cast<double>(ranks)), x.dim(0));
}

ARGOSY_OP(average_rows, AverageRowsAttrs)
    .doc(
        "The average of row-sparse tensors over the ranks of a group: the rows of all, in the "
        "order of the ranks, with their values divided.")
    .input("x")
    .layouts({Layout::row_sparse})
    .output("out")
    .infer(average_rows_infer)
    .kernel("group", average_rows_run)
    .strided()
    .effect(op::Effect::communicates)
    .on_host()
    .done();

[[maybe_unused]] const bool average_rows_described =
    describe_exchange("average_rows", [](const op::Inputs& in, const void* attrs) {
      return exchange(Kind::all_gather_v, as<AverageRowsAttrs>(attrs).group, in.list(0));
    });

}  // namespace
}  // namespace argosy::comm
