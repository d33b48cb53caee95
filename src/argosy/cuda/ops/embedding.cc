#include "argosy/cuda/ops/move_operands.h"
#include "argosy/cuda/ops/sparse_rows.h"
#include "argosy/kernels/cuda/classes.h"
#include "argosy/kernels/cuda/rows.h"
#include "argosy/ops/common/common.h"

// Rows of tables by number.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;

const char* table_match(const Inputs& in, const ops::EmbeddingAttrs&) {
  return kFloating.has(in[1].dtype()) && !kFloat8.has(in[1].dtype()) ? nullptr : "8-bit floats";
}
const char* index_match(const Inputs& in, const ops::EmbeddingAttrs& a) {
  if (in[0].numel() >= INT32_MAX) return "more than 2^31 numbers";
  return table_match(in, a);
}

void embedding_run(KernelFrame& f, const ops::EmbeddingAttrs& a) {
  const Tensor &weight = f.in[1], &out = f.out[0];
  if (out.numel() == 0) return;
  Tensor kept;
  const Index rows = index_of(f.in[0], kept, watch_of(f, Named::row));
  embedding(stream_of(f), out.raw(), weight.raw(), rows, kept.numel(), weight.dim(0), weight.dim(1),
            a.padding_idx, item_size(weight.dtype()));
}
[[maybe_unused]] const bool embedding_added =
    add_kernel<ops::EmbeddingAttrs>("embedding", table_match, embedding_run);

void embedding_grad_run(KernelFrame& f, const ops::EmbeddingAttrs& a) {
  const Tensor &dy = f.in[1], &out = f.out[0];
  clear(stream_of(f), out);
  if (out.numel() == 0) return;
  Tensor kept;
  const Index rows = index_of(f.in[0], kept, watch_of(f, Named::row));
  add_rows(stream_of(f), out.dtype(), out.raw(), dy.raw(), rows, kept.numel(), out.dim(0),
           out.dim(1), a.padding_idx, a.scale_grad_by_freq, ordered_sums());
}
[[maybe_unused]] const bool embedding_grad_added =
    add_kernel<ops::EmbeddingAttrs>("embedding_grad", index_match, embedding_grad_run);

void embedding_rows_grad_run(KernelFrame& f, const ops::EmbeddingAttrs& a) {
  const Tensor& dy = f.in[1];
  const int64_t height = f.in[2].dim(0), n = f.in[0].numel(), width = f.in[2].dim(1);
  // Parts are memory of their own.
  const Tensor rows = Tensor::empty({n}, DType::int64, dy.place());
  const Tensor values = Tensor::empty({n, width}, dy.dtype(), dy.place());
  op::copy_into(rows, f.in[0].view({n}, {1}));
  op::copy_into(values, dy.view({n, width}, {width, 1}));
  const Tensor kept = kept_rows(stream_of(f), rows, values, height, a.padding_idx);
  const Tensor &its_rows = kept.parts()[0], &its_values = kept.parts()[1];
  if (a.scale_grad_by_freq)
    scale_by_count(stream_of(f), dy.dtype(), its_values.raw(), its_rows.data<int64_t>(),
                   its_rows.numel(), height, width);
  f.out[0] = kept;
}
[[maybe_unused]] const bool embedding_rows_grad_added =
    add_kernel<ops::EmbeddingAttrs>("embedding_rows_grad", index_match, embedding_rows_grad_run);

void embedding_renorm_run(KernelFrame& f, const ops::EmbeddingRenormAttrs& a) {
  const Tensor& weight = f.out[0];
  Tensor kept;
  const Index rows = index_of(f.in[1], kept, watch_of(f, Named::row));
  renorm_rows(stream_of(f), weight.dtype(), weight.raw(), rows, kept.numel(), weight.dim(0),
              weight.dim(1), weight.strides()[0], weight.strides()[1], a.max_norm, a.norm_type);
}
const char* renorm_match(const Inputs& in, const ops::EmbeddingRenormAttrs&) {
  if (kFloat8.has(in[0].dtype())) return "8-bit floats";
  return in[1].numel() < INT32_MAX ? nullptr : "more than 2^31 numbers";
}
[[maybe_unused]] const bool embedding_renorm_added = add_kernel<ops::EmbeddingRenormAttrs>(
    "embedding_renorm_", renorm_match, embedding_renorm_run, true);

void one_hot_run(KernelFrame& f, const ops::OneHotAttrs& a) {
  const cudaStream_t stream = stream_of(f);
  Tensor kept;
  const Index labels = index_of(f.in[0], kept, watch_of(f, Named::category));
  const int64_t n = kept.numel();
  ARGOSY_CHECK(a.num_classes.size() == 1, invalid_argument)
      << "[one_hot] num_classes must be one number, got " << a.num_classes.size()
      << ". Do this: pass one int.";
  int64_t classes = a.num_classes[0];
  Tensor out = f.out[0];
  if (classes < 0) {
    Scratch largest(stream, sizeof(int64_t));
    classes = 0;
    if (n > 0) {
      largest_of(stream, labels, n, largest.data<int64_t>());
      classes = std::max<int64_t>(0, read_number(stream, largest.data<int64_t>()) + 1);
    }
    Shape shape = f.in[0].shape();
    shape.push_back(classes);
    out = f.allocate(0, shape);
  }
  one_hot(stream, out.data<float>(), labels, n, classes);
}
[[maybe_unused]] const bool one_hot_added = add_kernel<ops::OneHotAttrs>("one_hot", one_hot_run);

}  // namespace
}  // namespace argosy::cuda
