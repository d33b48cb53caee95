#include "argosy/infer/onnx/common.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/norm/norm.h"

// Operators of the domain com.microsoft: what ONNX Runtime's optimizer puts several operators
// together to.
namespace argosy::infer::onnx {
namespace {

constexpr int64_t kOpset = 13;  // of the rows that are borrowed

Tensor plus(const Tensor& x, const Tensor& y) {
  return y.defined() ? ops::add(x, y) : x;
}

// The activation that attributes of a fused operator name.
Tensor activated(const Node& n, const Tensor& x, const std::string& name,
                 const std::vector<double>& p) {
  const auto parameter = [&](size_t i, double otherwise) {
    return i < p.size() ? p[i] : otherwise;
  };
  if (name.empty()) return x;
  if (name == "Relu") return ops::relu(x);
  if (name == "Sigmoid") return ops::sigmoid(x);
  if (name == "Tanh") return ops::tanh(x);
  if (name == "HardSwish") return call("hardswish", {x});
  if (name == "Clip") return ops::clip(x, parameter(0, -3.4e38), parameter(1, 3.4e38));
  if (name == "LeakyRelu") return call("leaky_relu", {x}, {{"negative_slope", parameter(0, 0.01)}});
  if (name == "Elu") return call("elu", {x}, {{"alpha", parameter(0, 1)}});
  if (name == "HardSigmoid")
    return call("hardsigmoid", {x}, {{"slope", parameter(0, 0.2)}, {"offset", parameter(1, 0.5)}});
  n.unsupported("activation " + name);
}

Items fused_conv(const Node& n) {
  const std::string name = n.text("activation", "");
  const std::vector<double> parameters = n.reals("activation_params");
  const Items y = n.run_as("Conv", kOpset, {n.in(0), n.in(1), n.optional(2)});
  return {activated(n, plus(y[0].tensor, n.optional(3)), name, parameters)};
}

Items fused_gemm(const Node& n) {
  const std::string name = n.text("activation", "");
  std::vector<double> parameters;
  for (const char* word : {"activation_alpha", "activation_beta", "activation_gamma"})
    if (n.has_attribute(word)) parameters.push_back(n.real(word, 0));
  const Items y = n.run_as("Gemm", kOpset, {n.in(0), n.in(1), n.optional(2)});
  return {activated(n, y[0].tensor, name, parameters)};
}

// The last two dimensions transposed, or where the batch is in between, the others too.
Tensor operand(const Node& n, size_t i, bool transposed, bool batch_transposed) {
  const Tensor x = n.in(i);
  const int rank = x.rank();
  if (!batch_transposed) {
    if (!transposed || rank < 2) return x;
    std::vector<int64_t> perm = iota(0, rank);
    std::swap(perm[static_cast<size_t>(rank) - 1], perm[static_cast<size_t>(rank) - 2]);
    return ops::transpose(x, perm);
  }
  n.expect(rank >= 2, "a batch of matrices is expected");
  // The first dimension goes to where rows are; dimensions 1 .. rank - 2 move to the front.
  std::vector<int64_t> perm = iota(1, rank - 1);
  perm.insert(perm.end(), {0, rank - 1});
  if (transposed) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return ops::transpose(x, perm);
}

Items fused_matmul(const Node& n) {
  const Tensor x = operand(n, 0, n.flag("transA"), n.flag("transBatchA"));
  const Tensor y = operand(n, 1, n.flag("transB"), n.flag("transBatchB"));
  const double alpha = n.real("alpha", 1);
  const Tensor product = ops::matmul(x, y);
  return {alpha == 1 ? product : ops::scale(product, alpha)};
}

// --- activations ---

Items gelu(const Node& n) {
  return {ops::gelu(n.in(0), false)};
}
Items bias_gelu(const Node& n) {
  return {ops::gelu(ops::add(n.in(0), n.in(1)), false)};
}
Items fast_gelu(const Node& n) {
  return {ops::gelu(plus(n.in(0), n.optional(1)), true)};
}
Items quick_gelu(const Node& n) {
  const Tensor x = n.in(0);
  const double alpha = n.real("alpha", 1.702);
  return {alpha == 1 ? ops::silu(x) : ops::multiply(x, ops::sigmoid(ops::scale(x, alpha)))};
}

// --- normalizations ---

// y, mean, inverse deviation, and the sum that was normalized.
Items skip_norm(const Node& n, bool simple) {
  const double epsilon = n.real("epsilon", 1e-12);
  const Tensor gamma = n.in(2);
  const Tensor beta = simple ? Tensor() : n.optional(3), bias = n.optional(simple ? 3 : 4);
  const Tensor sum = plus(ops::add(n.in(0), n.in(1)), bias);
  const int axis = sum.rank() - 1;
  for (size_t i : {1, 2})
    if (n.wants(i)) n.unsupported("the statistics as results");
  const Tensor y =
      simple ? call("rms_norm", {sum, gamma}, {{"begin_norm_axis", axis}, {"epsilon", epsilon}})
             : ops::layer_norm(sum, gamma, beta, axis, epsilon);
  return {y, Item(), Item(), sum};
}
Items skip_layer_norm(const Node& n) {
  return skip_norm(n, false);
}
Items skip_simplified_norm(const Node& n) {
  return skip_norm(n, true);
}

// Words, their places and their sentences, added up and normalized.
Items embed_layer_norm(const Node& n) {
  const double epsilon = n.real("epsilon", 1e-12);
  const int64_t mask_type = n.integer("mask_index_type", 0);
  const Tensor ids = n.in(0);
  n.expect(ids.rank() == 2, "ids have two dimensions");
  const auto rows = [](const Tensor& table, const Tensor& index) {
    return ops::take_slices(table, index, 0);
  };
  Tensor sum = rows(n.in(2), ids);
  const Tensor places = n.has(8) ? n.in(8) : positions(ids, 1);
  sum = ops::add(sum, rows(n.in(3), places));
  if (n.has(4) && n.has(1)) sum = ops::add(sum, rows(n.in(4), n.in(1)));
  const Tensor y = ops::layer_norm(sum, n.in(5), n.in(6), 2, epsilon);
  Tensor mask;
  if (n.wants(1)) {
    if (mask_type != 0 && n.has(7)) n.unsupported("this mask_index_type");
    mask = n.has(7) ? as(ops::sum(n.in(7), op::IntArray{1}), DType::int32)
                    : ops::full(ops::size_along(ids, 0), op::Scalar(int64_t{0}), DType::int32);
  }
  return {y, mask, sum};
}

// Of images with channels last, or first.
Items group_norm(const Node& n) {
  const Tensor x = n.in(0);
  const int64_t groups = n.integer("groups"), act = n.integer("activation");
  const bool last = n.flag("channels_last", true);
  n.expect(act == 0 || act == 1, "activation is none of the known ones");
  const Tensor y = ops::group_norm(x, n.in(1), n.in(2), groups, n.real("epsilon", 1e-5), last);
  return {act == 1 ? ops::silu(y) : y};
}

// Of all dimensions from `axis` on. The bias broadcasts by its own shape.
Items bias_softmax(const Node& n) {
  n.integer("is_inner_broadcast", 0);
  const Tensor x = n.in(0), sum = ops::add(x, n.in(1));
  const int axis = n.axis(n.integer("axis", 1), x.rank());
  if (axis == x.rank() - 1) return {ops::softmax(sum, -1)};
  const Tensor rows = ops::flatten(sum, axis, -1);
  return {ops::reshape_like(ops::softmax(rows, axis), sum)};
}

// Of images: a bias for channels, and what goes around.
Items bias_add(const Node& n) {
  return {plus(ops::add(n.in(0), n.in(1)), n.optional(2))};
}
Items bias_split_gelu(const Node& n) {
  const Tensor x = ops::add(n.in(0), n.in(1));
  const int last = x.rank() - 1;
  n.expect(x.dim(last) > 0 && x.dim(last) % 2 == 0, "the last size is odd or unknown");
  const int64_t half = x.dim(last) / 2;
  return {ops::multiply(ops::slice(x, last, 0, half),
                        ops::gelu(ops::slice(x, last, half, 2 * half), false))};
}

// --- others ---

Items inverse(const Node& n) {
  return {call("inverse", {n.in(0)})};
}

Items trilu(const Node& n) {
  return n.run_as("Trilu", 14, {n.in(0), n.optional(1)});
}

Items expand_dims(const Node& n) {
  return {ops::unsqueeze(n.in(0), op::IntArray{n.known_integer(1)})};
}

// Distances of rows from rows.
Items pair_distances(const Node& n) {
  const std::string metric = n.text("metric", "sqeuclidean");
  n.expect(metric == "sqeuclidean" || metric == "euclidean", "metric is none of the known ones");
  const Tensor x = ops::unsqueeze(n.in(0), op::IntArray{1}), y = n.in(1);
  const Tensor sum = ops::sum(ops::square(ops::subtract(x, y)), op::IntArray{2});
  return {metric == "euclidean" ? ops::sqrt(sum) : sum};
}

constexpr Row kRows[] = {
    {"BiasAdd", bias_add},
    {"BiasGelu", bias_gelu},
    {"BiasSoftmax", bias_softmax},
    {"BiasSplitGelu", bias_split_gelu},
    {"CDist", pair_distances},
    {"EmbedLayerNormalization", embed_layer_norm},
    {"ExpandDims", expand_dims},
    {"FastGelu", fast_gelu},
    {"FusedConv", fused_conv},
    {"FusedGemm", fused_gemm},
    {"FusedMatMul", fused_matmul},
    {"Gelu", gelu},
    {"GroupNorm", group_norm},
    {"Inverse", inverse},
    {"QuickGelu", quick_gelu},
    {"SkipLayerNormalization", skip_layer_norm},
    {"SkipSimplifiedLayerNormalization", skip_simplified_norm},
    {"TransposeMatMul", fused_matmul},
    {"Trilu", trilu},
};

}  // namespace

std::span<const Row> microsoft_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
