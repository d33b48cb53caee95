#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/heads.h"

// Attention of the domain com.microsoft.
namespace argosy::infer::onnx {
namespace {

// A list of lengths, or of what keys there are: what is hidden gets `hidden` added to its scores.
void add_padding(const Node& n, const Tensor& mask, const Tensor& q, const Tensor& k, double hidden,
                 Bias* bias) {
  const Tensor keys = positions(k, 2);  // [keys]
  Tensor seen;
  if (mask.rank() == 1) {
    // The end of each row of the batch, and perhaps where each begins after that.
    const int64_t batch = q.dim(0);
    const bool both = mask.dim(0) < 0 || batch < 0 ? false : mask.dim(0) == 2 * batch;
    if (!both && mask.dim(0) >= 0 && batch >= 0 && mask.dim(0) != batch)
      n.unsupported("a mask of this form");
    const auto column = [&](const Tensor& t) { return along(as(t, DType::int64), 0, 2); };
    if (both) {
      seen =
          ops::logical_and(ops::less_than(keys, column(ops::slice(mask, 0, 0, batch))),
                           ops::greater_equal(keys, column(ops::slice(mask, 0, batch, 2 * batch))));
    } else {
      seen = ops::less_than(keys, column(mask));
    }
  } else {
    seen = ops::greater_than(as(mask, DType::int64), ops::constant(int64_t{0}, DType::int64));
  }
  n.expect(seen.rank() >= 2 && seen.rank() <= 4, "the mask has an impossible number of dimensions");
  if (seen.rank() == 2) seen = ops::unsqueeze(seen, op::IntArray{1, 2});
  if (seen.rank() == 3) seen = ops::unsqueeze(seen, op::IntArray{1});
  const Tensor zero = number(0, q);
  bias->add(ops::where(seen, zero, number(hidden, q)));
}

// Queries, which stand at the end of the keys, do not see what comes after them.
void hide_future(const Tensor& q, const Tensor& k, Bias* bias) {
  const Tensor before =
      ops::subtract(ops::size_of(k, 2, DType::int64), ops::size_of(q, 2, DType::int64));
  bias->allow(ops::less_equal(along(positions(k, 2), 3, 4),
                              ops::add(along(positions(q, 2), 2, 4), before)));
}

double scale_of(const Node& n, const Tensor& q) {
  const double said = n.real("scale", 0);
  if (said != 0) return said;
  if (q.dim(3) < 0) n.session.need_shapes(n);
  return 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

// One matrix for queries, keys and values.
Items attention(const Node& n) {
  const Tensor weight = n.in(1), past = n.optional(4);
  const int64_t heads = n.integer("num_heads");
  if (n.flag("do_rotary")) n.unsupported("do_rotary");
  if (n.has(6) || n.flag("past_present_share_buffer")) n.unsupported("a shared buffer of the past");
  n.expect(weight.rank() == 2 && weight.dim(1) > 0, "the weight is a matrix of known size");
  std::vector<int64_t> sizes = n.integers("qkv_hidden_sizes");
  if (sizes.empty()) sizes.assign(3, weight.dim(1) / 3);
  n.expect(sizes.size() == 3 && sizes[0] + sizes[1] + sizes[2] == weight.dim(1),
           "qkv_hidden_sizes are not those of the weight");
  Tensor all = ops::matmul(n.in(0), weight);
  if (n.has(2)) all = ops::add(all, n.in(2));
  const Tensors parts = ops::split(all, op::IntArray(std::span<const int64_t>(sizes)), 2);
  const Tensor q = with_heads(n, parts[0], heads);
  Tensor k = with_heads(n, parts[1], heads), v = with_heads(n, parts[2], heads);
  if (past.defined()) {
    k = ops::concat(std::array{ops::pick(past, 0, 0), k}, 2);
    v = ops::concat(std::array{ops::pick(past, 0, 1), v}, 2);
  }
  Bias bias;
  if (n.has(3)) add_padding(n, n.in(3), q, k, n.real("mask_filter_value", -10000), &bias);
  n.real("mask_filter_value", 0);
  if (n.has(5)) bias.add(n.in(5));
  if (n.flag("unidirectional")) hide_future(q, k, &bias);
  const Attended a = attend(q, k, v, scale_of(n, q), bias);
  return {without_heads(a.y), n.wants(1) ? ops::stack(std::array{k, v}, 0) : Tensor()};
}

// Queries, keys and values by themselves or packed, as [batch, length, heads, parts, size].
Items multi_head_attention(const Node& n) {
  const int64_t heads = n.integer("num_heads");
  Tensor q = n.in(0), k = n.optional(1), v = n.optional(2);
  const Tensor bias_of_all = n.optional(3);
  const auto part = [](const Tensor& x, int64_t i) {
    return ops::transpose(ops::pick(x, 3, i), {0, 2, 1, 3});
  };
  if (bias_of_all.defined() && q.rank() != 3) n.unsupported("a bias of packed operands");
  if (q.rank() == 5) {
    v = part(q, 2);
    k = part(q, 1);
    q = part(q, 0);
  } else {
    n.expect(k.defined() && q.rank() == 3, "queries have three dimensions, keys are there");
    Tensor biases[3];
    if (bias_of_all.defined()) {
      const int64_t width = q.dim(2), rest = bias_of_all.dim(0) - 2 * width;
      n.expect(width > 0 && rest > 0, "the bias is of other sizes than the operands");
      const int64_t ends[] = {0, width, 2 * width, 2 * width + rest};
      for (int i = 0; i < 3; ++i) biases[i] = ops::slice(bias_of_all, 0, ends[i], ends[i + 1]);
    }
    const auto split_heads = [&](Tensor x, const Tensor& b) {
      if (x.rank() == 4) return x;
      return with_heads(n, b.defined() ? ops::add(x, b) : x, heads);
    };
    q = split_heads(q, biases[0]);
    if (k.rank() == 5) {
      v = part(k, 1);
      k = part(k, 0);
    } else {
      n.expect(v.defined(), "values are missing");
      k = split_heads(k, biases[1]);
      v = split_heads(v, biases[2]);
    }
  }
  if (n.has(6)) k = ops::concat(std::array{n.in(6), k}, 2);
  if (n.has(7)) v = ops::concat(std::array{n.in(7), v}, 2);
  for (size_t i : {8, 9})
    if (n.has(i)) n.unsupported("a shared buffer of the past");
  Bias bias;
  if (n.has(4)) add_padding(n, n.in(4), q, k, n.real("mask_filter_value", -10000), &bias);
  n.real("mask_filter_value", 0);
  if (n.has(5)) bias.add(n.in(5));
  if (n.flag("unidirectional")) hide_future(q, k, &bias);
  const Attended a = attend(q, k, v, scale_of(n, q), bias);
  return {without_heads(a.y), k, v};
}

// --- rotary positions ---

// x [batch, heads, length, size] turned by the rows `places` [batch or 1, length] of the tables.
Tensor turned(const Tensor& x, const Tensor& cosine, const Tensor& sine, const Tensor& places,
              bool interleaved) {
  const auto rows = [&](const Tensor& table) {
    return ops::unsqueeze(ops::take_slices(table, places, 0), op::IntArray{1});
  };
  const Tensor c = rows(cosine), s = rows(sine);
  const int64_t size = x.dim(3), width = cosine.dim(1) * 2;
  const Tensor head = width < size ? ops::slice(x, 3, 0, width) : x;
  const Tensor a =
      interleaved ? ops::slice(head, 3, 0, width, 2) : ops::slice(head, 3, 0, width / 2);
  const Tensor b =
      interleaved ? ops::slice(head, 3, 1, width, 2) : ops::slice(head, 3, width / 2, width);
  const Tensor real = ops::subtract(ops::multiply(c, a), ops::multiply(s, b));
  const Tensor imaginary = ops::add(ops::multiply(s, a), ops::multiply(c, b));
  Tensor y = interleaved ? ops::flatten(ops::stack(std::array{real, imaginary}, 4), 3, 4)
                         : ops::concat(std::array{real, imaginary}, 3);
  if (width < size) y = ops::concat(std::array{y, ops::slice(x, 3, width, size)}, 3);
  return y;
}

Items rotary(const Node& n) {
  const Tensor x = n.in(0), places = as(n.in(1), DType::int64), table = n.in(2);
  if (n.flag("is_packed_batching")) n.unsupported("is_packed_batching");
  if (n.real("scale", 1) != 1) n.unsupported("scale");
  const bool packed = x.rank() == 3;
  n.expect(table.rank() == 2 && table.dim(1) > 0, "the tables are matrices of known size");
  int64_t heads = n.integer("num_heads", 0);
  n.integer("rotary_embedding_dim", 0);  // twice what a row of the tables has
  if (packed && heads == 0) {
    n.expect(x.dim(2) > 0 && x.dim(2) % (2 * table.dim(1)) == 0, "num_heads is missing");
    heads = x.dim(2) / (2 * table.dim(1));
  }
  const Tensor q = packed ? with_heads(n, x, heads) : x;
  n.expect(q.dim(3) >= 2 * table.dim(1), "a head is smaller than the tables");
  Tensor at = places;
  if (places.rank() <= 1)  // of the first word
    at = ops::add(ops::reshape(places, {-1, 1}), positions(q, 2));
  const Tensor y = turned(q, table, n.in(3), at, n.flag("interleaved"));
  return {packed ? without_heads(y) : y};
}

// Fewer heads of keys and values than of queries; the past of each row of the batch has a length
// of its own.
Items grouped_attention(const Node& n) {
  const int64_t heads = n.integer("num_heads"), few = n.integer("kv_num_heads");
  n.expect(heads > 0 && few > 0 && heads % few == 0, "the heads do not fit");
  for (size_t i = 9; i < n.inputs(); ++i)
    if (n.has(i)) n.unsupported("input " + std::to_string(i) + " of grouped attention");
  if (n.flag("smooth_softmax")) n.unsupported("smooth_softmax");
  n.integer("qk_output", 0);
  Tensor q = n.in(0), k = n.optional(1), v = n.optional(2);
  if (!k.defined()) {
    n.expect(q.rank() == 3 && q.dim(2) > 0 && q.dim(2) % (heads + 2 * few) == 0,
             "what is packed does not fit the heads");
    const int64_t size = q.dim(2) / (heads + 2 * few);
    const Tensors parts = ops::split(q, op::IntArray{heads * size, few * size, few * size}, 2);
    q = parts[0];
    k = parts[1];
    v = parts[2];
  }
  q = with_heads(n, q, heads);
  k = with_heads(n, k, few);
  v = with_heads(n, v, few);
  // How many words each row has had before, [batch, 1].
  const Tensor last = as(ops::reshape(n.in(5), {-1, 1}), DType::int64);
  const Tensor words = ops::size_of(q, 2, DType::int64);
  const Tensor one = ops::constant(int64_t{1}, DType::int64);
  const Tensor before = ops::maximum(ops::subtract(ops::add(last, one), words),
                                     ops::constant(int64_t{0}, DType::int64));
  const Tensor own = ops::add(before, positions(q, 2));  // place of each query, [batch, length]
  if (n.flag("do_rotary")) {
    const bool interleaved = n.flag("rotary_interleaved");
    q = turned(q, n.in(7), n.in(8), own, interleaved);
    k = turned(k, n.in(7), n.in(8), own, interleaved);
  }
  n.flag("rotary_interleaved");
  if (n.has(3)) {
    // The new ones stand behind what there was, and not behind the buffer of it.
    const Tensor room = ops::size_of(n.in(3), 2, DType::int64);
    const Tensor whole = ops::concat(std::array{n.in(3), k}, 2);
    const Tensor at = along(positions(whole, 2), 1, 2);  // [1, keys]
    const Tensor moved = ops::minimum(ops::subtract(ops::add(at, room), before),
                                      ops::subtract(ops::size_of(whole, 2, DType::int64), one));
    const Tensor from = ops::where(ops::less_than(at, before), at, moved);
    const Tensor index = ops::unsqueeze(from, op::IntArray{1, 3});
    const auto ordered = [&](const Tensor& x) {
      return call("take_along", {x, ops::expand(index, shape_of(x))}, {{"axis", 2}});
    };
    k = ordered(whole);
    v = ordered(ops::concat(std::array{n.in(4), v}, 2));
  }
  const Tensor keys = along(positions(k, 2), 3, 4);
  const Tensor query = ops::unsqueeze(own, op::IntArray{1, 3});
  Bias bias;
  bias.allow(ops::less_equal(keys, query));
  const int64_t window = n.integer("local_window_size", -1);
  if (window > 0)
    bias.allow(ops::greater_than(keys, ops::subtract(query, ops::constant(window, DType::int64))));
  const Attended a = attend(q, repeated_heads(k, heads / few), repeated_heads(v, heads / few),
                            scale_of(n, q), bias, n.real("softcap", 0));
  return {without_heads(a.y), k, v};
}

constexpr Row kRows[] = {
    {"Attention", attention},
    {"GroupQueryAttention", grouped_attention},
    {"MultiHeadAttention", multi_head_attention},
    {"RotaryEmbedding", rotary},
};

}  // namespace

std::span<const Row> microsoft_attention_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
