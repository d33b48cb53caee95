#include "argosy/infer/paddle/common.h"

// Values of nodes that go along the edges of a graph, and rows that are put together by segments.
namespace argosy::infer::paddle {
namespace {

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

Tensor combined(const Node& n, const Tensor& x, const Tensor& y) {
  const std::string way = lower(n.text("message_op", "ADD"));
  if (way == "add") return ops::add(x, y);
  if (way == "sub") return ops::subtract(x, y);
  if (way == "mul") return ops::multiply(x, y);
  if (way == "div") return ops::divide(x, y);
  n.fail("message_op " + way + " is not known");
}

// The same places for each element of a row.
Tensor spread(const Tensor& index, const Tensor& rows) {
  return ops::expand(stand_at(as(index, DType::int64), 0, rows.rank()), sizes_of(rows));
}

// Rows of x put together into `count` rows, which `index` names; rows without any are 0.
Tensor gathered(const Node& n, const Tensor& x, const Tensor& index, const op::IntArray& count,
                const std::string& way) {
  op::IntArray shape = count;
  for (int d = 1; d < x.rank(); ++d) ops::push_size(shape, x, d);
  const auto zero = [&](DType dtype) {
    return dtype == DType::float32 || dtype == DType::float64 ? op::Scalar(0.0)
                                                              : op::Scalar(int64_t{0});
  };
  const Tensor zeros = ops::full(shape, zero(x.dtype()), x.dtype());
  if (way == "sum" || way == "mean") {
    const Tensor total = call("add_slices", {zeros, index, x}, {{"axis", 0}});
    if (way == "sum") return total;
    const Tensor none = ops::full(count, zero(x.dtype()), x.dtype());
    const Tensor one = ops::expand(number(1, x), sizes_of(index));
    const Tensor counts = call("add_slices", {none, index, one}, {{"axis", 0}});
    const Tensor divisor = ops::maximum(counts, number(1, counts));
    return as(ops::divide(total, stand_at(divisor, 0, x.rank())), x.dtype());
  }
  n.expect(way == "max" || way == "min", "how rows are put together is not known");
  return call("put_along", {zeros, spread(index, x), x},
              {{"axis", 0}, {"reduce", "a" + way}, {"include_self", false}});
}

// One row for each segment, whose numbers grow from 0.
void segment_pool(const Node& n) {
  const Tensor x = n.in("X"), ids = n.in("SegmentIds");
  const Tensor last = as(ops::max(ids), DType::int64);
  const Tensor many = ops::add(last, ops::constant(int64_t{1}, DType::int64));
  op::IntArray count = n.session.integers(ops::reshape(many, {1}));
  n.out("Out", gathered(n, x, ids, count, lower(n.text("pooltype", "SUM"))));
}

op::IntArray nodes_of(const Node& n, const Tensor& x) {
  const op::IntArray given = n.numbers("out_size", "Out_size");
  if (given.size() == 0) return ops::size_along(x, 0);
  if (given.symbols.empty()) return given[0] > 0 ? op::IntArray{given[0]} : ops::size_along(x, 0);
  return given;
}

void send_and_receive(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor message = ops::take_slices(x, n.in("Src_index"), 0);
  n.out("Out",
        gathered(n, message, n.in("Dst_index"), nodes_of(n, x), lower(n.text("reduce_op", "SUM"))));
}

// Each edge has a value y of its own.
void send_with_edges(const Node& n) {
  const Tensor x = n.in("X");
  const Tensor message = combined(n, ops::take_slices(x, n.in("Src_index"), 0), n.in("Y"));
  n.out("Out",
        gathered(n, message, n.in("Dst_index"), nodes_of(n, x), lower(n.text("reduce_op", "SUM"))));
}

void of_both_ends(const Node& n) {
  n.out("out", combined(n, ops::take_slices(n.in("x"), n.in("src_index"), 0),
                        ops::take_slices(n.in("y"), n.in("dst_index"), 0)));
}

constexpr Row kRows[] = {
    {"segment_pool", segment_pool},
    {"graph_send_recv", send_and_receive},
    {"graph_send_ue_recv", send_with_edges},
    {"graph_send_uv", of_both_ends},
};

}  // namespace

std::span<const Row> graph_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
