#include "argosy/extension/access.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Functions on paddle::Tensor: each is an op, or a few.
namespace argosy::extension {
namespace {

namespace ops = argosy::ops;
namespace op = argosy::op;

argosy::Tensor own(const Tensor& t) {
  return TensorAccess::unwrap(t);
}
Tensor give(argosy::Tensor t) {
  return TensorAccess::wrap(std::move(t));
}
op::IntArray sizes(const IntArray& a) {
  return op::IntArray{std::span<const int64_t>(a.GetData())};
}
op::IntArray axes_or_all(const IntArray& a) {
  return a.size() ? sizes(a) : op::IntArray::all();
}
std::vector<argosy::Tensor> own(const std::vector<Tensor>& list) {
  std::vector<argosy::Tensor> out;
  for (const Tensor& t : list) out.push_back(own(t));
  return out;
}
argosy::DType dtype_or(DataType dtype, const Tensor& x) {
  return to_dtype(dtype == DataType::UNDEFINED ? x.dtype() : dtype);
}

Place place_or(const Place& place, const Tensor& x) {
  return place.GetType() == AllocationType::UNDEFINED ? x.place() : place;
}

// An op without attributes, or with the defaults of those it has.
Tensor call(const op::OpDef& def, std::initializer_list<argosy::Tensor> in) {
  return give(std::move(
      op::dispatch(def, op::Inputs(std::span(in.begin(), in.size())), def.attrs->defaults)[0]));
}

}  // namespace

Tensor empty(const IntArray& shape, DataType dtype, const Place& place) {
  argosy::Shape s;
  for (int64_t size : shape.GetData()) {
    ARGOSY_CHECK(s.rank() < argosy::kMaxRank && size >= 0, invalid_argument)
        << "[extension] the shape of a new tensor: expected at most " << argosy::kMaxRank
        << " sizes >= 0, got " << size << '.';
    s.push_back(size);
  }
  return give(argosy::Tensor::empty(s, to_dtype(dtype), to_place(place)));
}
Tensor full(const IntArray& shape, const Scalar& value, DataType dtype, const Place& place) {
  const argosy::Place there = to_place(place);
  return give(op::to_place(ops::full(sizes(shape), to_scalar(value), to_dtype(dtype)), there));
}
Tensor zeros(const IntArray& shape, DataType dtype, const Place& place) {
  return full(shape, 0.0, dtype, place);
}
Tensor ones(const IntArray& shape, DataType dtype, const Place& place) {
  return full(shape, 1.0, dtype, place);
}
Tensor empty_like(const Tensor& x, DataType dtype, const Place& place) {
  return empty(x.shape(), dtype == DataType::UNDEFINED ? x.dtype() : dtype, place_or(place, x));
}
Tensor full_like(const Tensor& x, const Scalar& value, DataType dtype, const Place& place) {
  const argosy::Place there = to_place(place_or(place, x));
  return give(op::to_place(ops::full_like(own(x), to_scalar(value), dtype_or(dtype, x)), there));
}
Tensor zeros_like(const Tensor& x, DataType dtype, const Place& place) {
  return full_like(x, 0.0, dtype, place);
}
Tensor ones_like(const Tensor& x, DataType dtype, const Place& place) {
  return full_like(x, 1.0, dtype, place);
}

Tensor assign(const Tensor& x) {
  return give(ops::assign(own(x)));
}
Tensor cast(const Tensor& x, DataType dtype) {
  return x.cast(dtype);
}
Tensor reshape(const Tensor& x, const IntArray& shape) {
  return give(ops::reshape(own(x), sizes(shape)));
}
Tensor flatten(const Tensor& x, int start_axis, int stop_axis) {
  return give(ops::flatten(own(x), start_axis, stop_axis));
}
Tensor squeeze(const Tensor& x, const IntArray& axis) {
  return give(ops::squeeze(own(x), axes_or_all(axis)));
}
Tensor unsqueeze(const Tensor& x, const IntArray& axis) {
  return give(ops::unsqueeze(own(x), sizes(axis)));
}
Tensor transpose(const Tensor& x, const std::vector<int>& perm) {
  return give(ops::transpose(own(x), {perm.begin(), perm.end()})).contiguous();
}
Tensor expand(const Tensor& x, const IntArray& shape) {
  return give(ops::expand(own(x), sizes(shape))).contiguous();
}
Tensor concat(const std::vector<Tensor>& x, const Scalar& axis) {
  return give(ops::concat(own(x), axis.to<int64_t>()));
}
Tensor stack(const std::vector<Tensor>& x, int axis) {
  return give(ops::stack(own(x), axis));
}
std::vector<Tensor> split(const Tensor& x, const IntArray& sections, const Scalar& axis) {
  std::vector<Tensor> out;
  for (argosy::Tensor& t : ops::split(own(x), sizes(sections), axis.to<int64_t>()))
    out.push_back(give(argosy::op::contiguous(t)));
  return out;
}
Tensor gather(const Tensor& x, const Tensor& index, const Scalar& axis) {
  return give(ops::take_slices(own(x), own(index), axis.to<int64_t>()));
}
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y) {
  return give(ops::where(own(condition), own(x), own(y)));
}
Tensor matmul(const Tensor& x, const Tensor& y, bool transpose_x, bool transpose_y) {
  return give(ops::matmul(own(x), own(y), transpose_x, transpose_y));
}
Tensor scale(const Tensor& x, const Scalar& scale, const Scalar& bias, bool bias_after_scale) {
  const double by = scale.to<double>(), more = bias.to<double>();
  return give(ops::scale(own(x), by, bias_after_scale ? more : by * more));
}
Tensor clip(const Tensor& x, const Scalar& min, const Scalar& max) {
  return give(ops::clip(own(x), min.to<double>(), max.to<double>()));
}
Tensor pow(const Tensor& x, const Scalar& y) {
  return give(ops::pow(own(x), y.to<double>()));
}
Tensor softmax(const Tensor& x, int axis) {
  return give(ops::softmax(own(x), axis));
}
Tensor sum(const Tensor& x, const IntArray& axis, DataType dtype, bool keepdim) {
  const Tensor from = dtype == DataType::UNDEFINED ? x : x.cast(dtype);
  return give(ops::sum(own(from), axes_or_all(axis), keepdim));
}
Tensor mean(const Tensor& x, const IntArray& axis, bool keepdim) {
  return give(ops::mean(own(x), axes_or_all(axis), keepdim));
}
Tensor max(const Tensor& x, const IntArray& axis, bool keepdim) {
  return give(ops::max(own(x), axes_or_all(axis), keepdim));
}
Tensor min(const Tensor& x, const IntArray& axis, bool keepdim) {
  return give(ops::min(own(x), axes_or_all(axis), keepdim));
}

#define PADDLE_UNARY(name)                        \
  Tensor name(const Tensor& x) {                  \
    static const op::OpDef& def = op::get(#name); \
    return call(def, {own(x)});                   \
  }
#define PADDLE_BINARY(name)                       \
  Tensor name(const Tensor& x, const Tensor& y) { \
    static const op::OpDef& def = op::get(#name); \
    return call(def, {own(x), own(y)});           \
  }
PADDLE_UNARY_FUNCTIONS(PADDLE_UNARY)
PADDLE_BINARY_FUNCTIONS(PADDLE_BINARY)

}  // namespace argosy::extension
