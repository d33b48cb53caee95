#include "argosy/infer/paddle/common.h"

// Looking up, picking, scattering.
namespace argosy::infer::paddle {
namespace {

// Rows of a table. Before 2.0 ids have a last dimension of 1.
void lookup(const Node& n, bool last_is_one) {
  Tensor ids = n.in("Ids");
  const Tensor table = n.in("W");
  if (last_is_one && ids.rank() > 1) ids = ops::squeeze(ids, {ids.rank() - 1});
  n.out("Out", call("embedding", {ids, table}, {{"padding_idx", n.integer("padding_idx", -1)}}));
}
void lookup_table(const Node& n) {
  lookup(n, true);
}
void lookup_table_v2(const Node& n) {
  lookup(n, false);
}

void one_hot(const Node& n, bool last_is_one) {
  Tensor ids = n.in("X");
  if (last_is_one && ids.rank() > 1) ids = ops::squeeze(ids, {ids.rank() - 1});
  op::IntArray classes = n.numbers("depth", "depth_tensor");
  if (!ids.symbolic()) {
    op::IntArray size = classes;
    size.values.push_back(ids.numel());
    check_folded(n, size);
  }
  const Tensor out = call("one_hot", {ids}, {{"num_classes", classes}});
  n.out("Out", as(out, n.dtype("dtype", DType::float32)));
}
void one_hot_v1(const Node& n) {
  one_hot(n, true);
}
void one_hot_v2(const Node& n) {
  one_hot(n, false);
}

void gather(const Node& n) {
  const Tensor x = n.in("X");
  Tensor index = n.in("Index");
  if (index.rank() == 2) index = ops::squeeze(index, {1});
  const int64_t axis = n.known_number("axis", 0, "Axis");
  const Tensor out = call("gather", {x, index}, {{"axis", axis}});
  if (x.symbolic() && x.rank() == 1 && n.session.remembers(x) && !index.symbolic()) {
    const op::IntArray from = n.session.integers(x), at = n.session.integers(index);
    op::IntArray kept;
    for (const int64_t i : at.values)
      if (i >= 0 && i < static_cast<int64_t>(from.size())) push(kept, from, static_cast<size_t>(i));
    if (kept.size() == at.size()) n.session.remember(out, kept);
  }
  n.out("Out", out);
}

void gather_nd(const Node& n) {
  n.out("Out", call("gather_nd", {n.in("X"), n.in("Index")}));
}

void index_select(const Node& n) {
  n.out("Out", call("index_select", {n.in("X"), n.in("Index")}, {{"axis", n.integer("dim", 0)}}));
}

void index_sample(const Node& n) {
  n.out("Out", call("index_sample", {n.in("X"), n.in("Index")}));
}

void take_along_axis(const Node& n) {
  const Tensor x = n.in("Input"), index = n.in("Index");
  n.out("Result",
        call("take_along", {x, index}, {{"axis", n.axis(n.integer("Axis", 0), x.rank())}}));
}

void put_along_axis(const Node& n) {
  const Tensor x = n.in("Input");
  n.out("Result", call("put_along", {x, n.in("Index"), n.in("Value")},
                       {{"axis", n.axis(n.integer("Axis", 0), x.rank())},
                        {"reduce", n.text("Reduce", "assign")},
                        {"include_self", n.flag("Include_self", true)}}));
}

void scatter(const Node& n) {
  n.out("Out", call("scatter", {n.in("X"), n.in("Ids"), n.in("Updates")},
                    {{"overwrite", n.flag("overwrite", true)}}));
}

void scatter_nd_add(const Node& n) {
  n.out("Out", call("scatter_nd_add", {n.in("X"), n.in("Index"), n.in("Updates")}));
}

void index_put(const Node& n) {
  std::vector<Tensor> indices = n.tensors("indices");
  std::vector<Tensor> in{n.in("x"), n.in("value")};
  const auto count = static_cast<int64_t>(indices.size());
  for (const Tensor& i : indices)
    if (i.dtype() == DType::bool_) n.unsupported("index_put by a mask");
  in.insert(in.end(), indices.begin(), indices.end());
  n.out("out",
        call("index_put", in, {{"axes", iota(0, count)}, {"accumulate", n.flag("accumulate")}}));
}

void where(const Node& n) {
  n.out("Out", ops::where(n.in("Condition"), n.in("X"), n.in("Y")));
}

void where_index(const Node& n) {
  const Tensors places = ops::mask_indices(ops::not_equal(
      n.in("Condition"), ops::constant(op::Scalar(int64_t{0}), n.in("Condition").dtype())));
  n.out("Out", Item::without_lengths(ops::stack({places.begin(), places.size()}, 1)));
}

void masked_select(const Node& n) {
  n.out("Y", Item::without_lengths(call("masked_select", {n.in("X"), n.in("Mask")})));
}

void multiplex(const Node& n) {
  std::vector<Tensor> in = n.tensors("X");
  Tensor ids = n.in("Ids");
  in.push_back(ids.rank() == 1 ? ops::unsqueeze(ids, {1}) : ids);
  n.out("Out", call("multiplex", in));
}

void searchsorted(const Node& n) {
  n.out("Out", call("searchsorted", {n.in("SortedSequence"), n.in("Values")},
                    {{"out_int32", n.flag("out_int32")}, {"right", n.flag("right")}}));
}

void repeat_interleave(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t axis = n.axis(n.integer("dim", 0), x.rank());
  Tensor times;
  if (n.has("RepeatsTensor")) {
    times = as(n.in("RepeatsTensor"), DType::int64);
  } else {
    const int64_t count = n.integer("Repeats", 1);
    n.expect(count >= 0, "a number of repeats is negative");
    if (!x.symbolic()) check_folded(n, {x.numel(), count});
    times =
        ops::expand(ops::constant(count, DType::int64), ops::size_along(x, static_cast<int>(axis)));
  }
  n.out("Out", call("repeat_interleave", {x, times}, {{"axis", axis}}));
}

// One place of an axis, which is gone.
void place_of_axis(const Node& n) {
  const Tensor x = n.in("x");
  n.out("out", ops::pick(x, n.axis(n.integer("axis", 0), x.rank()), n.integer("index", 0)));
}

constexpr Row kRows[] = {
    {"lookup_table", lookup_table},
    {"lookup_table_v2", lookup_table_v2},
    {"one_hot", one_hot_v1},
    {"one_hot_v2", one_hot_v2},
    {"gather", gather},
    {"gather_nd", gather_nd},
    {"index_select", index_select},
    {"index_sample", index_sample},
    {"take_along_axis", take_along_axis},
    {"put_along_axis", put_along_axis},
    {"scatter", scatter},
    {"scatter_nd_add", scatter_nd_add},
    {"index_put", index_put},
    {"where", where},
    {"where_index", where_index},
    {"masked_select", masked_select},
    {"multiplex", multiplex},
    {"searchsorted", searchsorted},
    {"repeat_interleave", repeat_interleave},
    {"index_select_strided", place_of_axis},
};

}  // namespace

std::span<const Row> index_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
