#include "argosy/infer/onnx/common.h"

// Elements by their places.
namespace argosy::infer::onnx {
namespace {

// Indices from the end are negative.
Tensor wrapped(const Tensor& index, const Tensor& x, int axis) {
  const Tensor whole = kIndex.has(index.dtype()) ? index : as(index, DType::int64);
  if (!whole.symbolic()) {
    const Tensor dense = op::contiguous(as(whole, DType::int64));
    bool negative = false;
    for (int64_t i = 0; i < dense.numel(); ++i) negative = negative || dense.data<int64_t>()[i] < 0;
    if (!negative) return whole;
  }
  const Tensor size = ops::size_of(x, axis, whole.dtype());
  return ops::where(ops::less_than(whole, number(0, whole)), ops::add(whole, size), whole);
}

Items gather(const Node& n) {
  const Tensor &x = n.in(0), &index = n.in(1);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  if (n.session.remembers(x) && x.rank() == 1 && index.rank() <= 1 && n.session.is_known(index)) {
    const op::IntArray all = n.session.integers(x);
    op::IntArray some;
    for (int64_t i : n.known(1)) {
      const auto size = static_cast<int64_t>(all.size());
      n.expect(i >= -size && i < size, "an index is outside of the vector");
      push(some, all, static_cast<size_t>(i < 0 ? i + size : i));
    }
    const Tensor y = vector_of(n.session, some);
    const Tensor shaped = index.rank() ? y : ops::reshape(y, op::IntArray{});
    n.session.remember(shaped, some);
    return {as(shaped, x.dtype())};
  }
  return {Item(ops::take_slices(x, wrapped(index, x, axis), axis), n.item(0).element)};
}

Items gather_elements(const Node& n) {
  const Tensor& x = n.in(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  return {call("take_along", {x, wrapped(n.in(1), x, axis)}, {{"axis", axis}})};
}

// The columns of indices [.., k] as k tensors.
std::vector<Tensor> columns(const Node& n, const Tensor& x, const Tensor& index, int first) {
  const int64_t k = index.dim(-1);
  n.expect(k >= 0 && k + first <= x.rank(), "the indices' last size has to be known and to fit");
  std::vector<Tensor> list;
  for (int64_t i = 0; i < k; ++i)
    list.push_back(wrapped(ops::pick(index, index.rank() - 1, i), x, first + static_cast<int>(i)));
  return list;
}

Items gather_nd(const Node& n) {
  const Tensor &x = n.in(0), &index = n.in(1);
  const int batch = static_cast<int>(n.integer("batch_dims", 0));
  n.expect(batch >= 0 && batch < x.rank() && batch < index.rank(), "batch_dims is too large");
  std::vector<Tensor> list = columns(n, x, index, batch);
  const int rank = index.rank() - 1;
  std::vector<Tensor> all;
  for (int b = 0; b < batch; ++b) all.push_back(along(positions(x, b), b, rank));
  all.insert(all.end(), list.begin(), list.end());
  return {ops::index_get(x, all, iota(0, static_cast<int64_t>(all.size())))};
}

// How ScatterND and ScatterElements put values together.
const char* reduction_of(const Node& n) {
  const std::string reduction = n.text("reduction", "none");
  if (reduction == "none") return "assign";
  if (reduction == "add") return "add";
  if (reduction == "mul") return "multiply";
  if (reduction == "max") return "amax";
  if (reduction == "min") return "amin";
  n.unsupported("reduction " + reduction);
}

Items scatter_elements(const Node& n) {
  const Tensor& x = n.in(0);
  const int axis = n.axis(n.integer("axis", 0), x.rank());
  return {call("put_along", {x, wrapped(n.in(1), x, axis), n.in(2)},
               {{"axis", axis}, {"reduce", reduction_of(n)}})};
}

Items scatter_nd(const Node& n) {
  const Tensor &x = n.in(0), &index = n.in(1), &updates = n.in(2);
  const std::string_view reduce = reduction_of(n);
  const std::vector<Tensor> list = columns(n, x, index, 0);
  if (list.empty()) n.unsupported("indices of no columns");
  if (reduce == "assign" || reduce == "add")
    return {ops::index_put(x, updates, list, iota(0, static_cast<int64_t>(list.size())),
                           reduce == "add")};
  // Over the indexed dimensions as one: rows of the flat tensor.
  const int k = static_cast<int>(list.size());
  Tensor place = list[0];
  for (int i = 1; i < k; ++i)
    place = ops::add(ops::multiply(place, ops::size_of(x, i, place.dtype())),
                     list[static_cast<size_t>(i)]);
  const Tensor flat_place =
      place.rank() ? ops::flatten(place, 0, -1) : ops::reshape(place, op::IntArray{1});
  const Tensor rows = k > 1 ? ops::flatten(x, 0, k - 1) : x;
  Tensor values = index.rank() > 2 ? ops::flatten(updates, 0, index.rank() - 2) : updates;
  if (index.rank() == 1) values = ops::unsqueeze(updates, op::IntArray{0});
  const Tensor spread = ops::expand_like(along(flat_place, 0, values.rank()), values);
  const Tensor y =
      call("put_along", {rows, spread, values}, {{"axis", 0}, {"reduce", std::string(reduce)}});
  return {ops::reshape_like(y, x)};
}

Items tensor_scatter(const Node& n) {
  const Tensor &x = n.in(0), &update = n.in(1);
  const int axis = n.axis(n.integer("axis", -2), x.rank());
  const std::string mode = n.text("mode", "linear");
  n.expect(axis > 0 && (mode == "linear" || mode == "circular"), "axis or mode cannot be");
  Tensor place = along(positions(update, axis), axis, x.rank());
  if (n.has(2)) place = ops::add(place, along(as(n.in(2), DType::int64), 0, x.rank()));
  if (mode == "circular") place = call("remainder", {place, ops::size_of(x, axis, DType::int64)});
  return {call("put_along", {x, ops::expand_like(place, update), update}, {{"axis", axis}})};
}

Items topk(const Node& n) {
  const Tensor& x = n.in();
  const int axis = n.axis(n.integer("axis", -1), x.rank());
  op::Scalar k;
  if (n.opset < 10)
    k = op::Scalar(n.integer("k"));
  else if (n.session.is_known(n.in(1)))
    k = op::Scalar(n.known_integer(1));
  else
    k.tensor = ops::reshape(n.in(1), op::IntArray{});
  const bool largest = n.flag("largest", true), sorted = n.flag("sorted", true);
  const Tensors out =
      call_all("topk", {x}, {{"k", k}, {"axis", axis}, {"largest", largest}, {"sorted", sorted}});
  return {out[0], out[1]};
}

Items non_zero(const Node& n) {
  const Tensor& x = n.in();
  const Tensor mask = ops::not_equal(x, number(0, x));
  if (x.rank() == 0) n.unsupported("NonZero of a scalar");
  return {ops::stack(ops::mask_indices(mask), 0)};
}

Items compress(const Node& n) {
  const Tensor &x = n.in(0), &condition = n.in(1);
  const bool flat = !n.has_attribute("axis");
  const Tensor from = flat ? ops::flatten(x, 0, -1) : x;
  const int axis = flat ? 0 : n.axis(n.integer("axis", 0), x.rank());
  const Tensor places = ops::mask_indices(condition)[0];
  return {ops::take_slices(from, places, axis)};
}

Items unique(const Node& n) {
  const Tensor& x = n.in();
  const bool sorted = n.flag("sorted", true);
  const bool flat = !n.has_attribute("axis");
  const int axis = flat ? 0 : n.axis(n.integer("axis", 0), x.rank());
  const Tensor from = flat ? ops::flatten(x, 0, -1) : x;
  const Tensors all = flat ? call_all("unique_all", {from})
                           : call_all("unique_all", {from}, {{"axis", static_cast<int64_t>(axis)}});
  const Tensor first = all[1];
  if (sorted) return {all[0], first, all[2], all[3]};
  // In the order in which they come.
  const Tensor order = call_all("sort_with_index", {first}, {{"axis", 0}, {"stable", true}})[1];
  const Tensor rank = call_all("sort_with_index", {order}, {{"axis", 0}, {"stable", true}})[1];
  return {ops::take_slices(all[0], order, axis), ops::take_slices(first, order, 0),
          ops::take_slices(rank, all[2], 0), ops::take_slices(all[3], order, 0)};
}

Items trilu(const Node& n) {
  const Tensor& x = n.in();
  const bool upper = n.flag("upper", true);
  const int64_t k = n.has(1) ? n.known_integer(1) : 0;
  return {call(upper ? "triu" : "tril", {x}, {{"diagonal", k}})};
}

constexpr Row kRows[] = {
    {"Compress", compress},
    {"Gather", gather},
    {"GatherElements", gather_elements},
    {"GatherND", gather_nd},
    {"NonZero", non_zero},
    {"Scatter", scatter_elements},
    {"ScatterElements", scatter_elements},
    {"ScatterND", scatter_nd},
    {"TensorScatter", tensor_scatter},
    {"TopK", topk},
    {"Trilu", trilu},
    {"Unique", unique},
};

}  // namespace

std::span<const Row> index_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
