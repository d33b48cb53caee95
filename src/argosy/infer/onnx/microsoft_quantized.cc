#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/narrow.h"
#include "argosy/infer/onnx/rnn.h"
#include "argosy/ops/activation/activation.h"

// Operators of the domain com.microsoft on codes of integers.
namespace argosy::infer::onnx {
namespace {

constexpr int64_t kOpset = 13;  // of the rows that are borrowed

Tensor one_number(const Tensor& t) {
  return t.rank() == 1 && t.dim(0) == 1 ? ops::reshape(t, op::IntArray{}) : t;
}

// What the codes of input i stand for; the scale is the input after it, then the zero point.
Tensor numbers(const Node& n, size_t i) {
  const Tensor zero = n.has(i + 2) ? as(one_number(n.in(i + 2)), DType::float32) : Tensor();
  return call("dequantize_affine", {n.in(i), as(one_number(n.in(i + 1)), DType::float32), zero});
}

// The codes of x; the scale is input i, the zero point the one after it. `like`: whose codes have
// the type, where there is no zero point.
Item codes(const Node& n, const Tensor& x, size_t i, size_t like) {
  const int element = n.has(i + 1) ? n.element(i + 1) : n.element(like);
  const Range range = range_of(element);
  const Tensor zero = n.has(i + 1) ? as(one_number(n.in(i + 1)), DType::float32) : Tensor();
  return Item(
      call("quantize_affine", {x, as(one_number(n.in(i)), DType::float32), zero},
           {{"low", range.low}, {"high", range.high}, {"dtype", *dtype_of_element(element)}}),
      element);
}

template <Tensor (*op)(const Tensor&, const Tensor&)>
Items of_two(const Node& n) {
  return {codes(n, op(numbers(n, 0), numbers(n, 3)), 6, 0)};
}

Items sigmoid(const Node& n) {
  return {codes(n, ops::sigmoid(numbers(n, 0)), 3, 0)};
}

// A row of the default domain on what the codes stand for.
Items as_numbers(const Node& n, const char* op, int64_t opset, Items more = {}) {
  Items in{numbers(n, 0)};
  in.insert(in.end(), more.begin(), more.end());
  return {codes(n, n.run_as(op, opset, std::move(in))[0].tensor, 3, 0)};
}
Items leaky_relu(const Node& n) {
  return as_numbers(n, "LeakyRelu", kOpset);
}
Items reduce_mean(const Node& n) {
  return as_numbers(n, "ReduceMean", kOpset);
}
Items softmax(const Node& n) {
  const int64_t opset = n.integer("opset", kOpset);
  return as_numbers(n, "Softmax", opset);
}

Items pooled(const Node& n, const char* op) {
  if (!n.flag("channels_last")) return as_numbers(n, op, kOpset);
  const int rank = n.rank(0);
  std::vector<int64_t> first{0, rank - 1}, last = iota(2, rank);
  for (int64_t d : iota(1, rank - 1)) first.push_back(d);
  last.insert(last.begin(), 0);
  last.push_back(1);
  const Items y = n.run_as(op, kOpset, {ops::transpose(numbers(n, 0), first)});
  return {codes(n, ops::transpose(y[0].tensor, last), 3, 0)};
}
Items average_pool(const Node& n) {
  return pooled(n, "AveragePool");
}
Items global_average_pool(const Node& n) {
  return pooled(n, "GlobalAveragePool");
}

// Scale and zero point of the result, then three inputs for each part.
Items concat(const Node& n) {
  n.expect(n.inputs() >= 5 && n.inputs() % 3 == 2, "the inputs are no groups of three");
  Items parts;
  for (size_t i = 2; i < n.inputs(); i += 3) parts.emplace_back(numbers(n, i));
  return {codes(n, n.run_as("Concat", kOpset, parts)[0].tensor, 0, 2)};
}

Items where(const Node& n) {
  return {codes(n, ops::where(n.in(0), numbers(n, 1), numbers(n, 4)), 7, 1)};
}

// What B's codes stand for; it has one scale, or one for each column of what A is multiplied by.
Tensor columns(const Node& n) {
  const auto placed = [&](size_t i) {
    const Tensor t = as(one_number(n.in(i)), DType::float32);
    return t.rank() == 1 && n.flag("transB") ? ops::unsqueeze(t, op::IntArray{1}) : t;
  };
  return call("dequantize_affine", {n.in(3), placed(4), n.has(5) ? placed(5) : Tensor()});
}

// alpha A B + C, where C has the scale of the products; codes where the result has a scale.
Items gemm(const Node& n) {
  Items in{numbers(n, 0), columns(n)};
  const double alpha = n.real("alpha", 1);
  if (n.has(6)) {
    const Tensor scale = ops::multiply(as(one_number(n.in(1)), DType::float32),
                                       as(one_number(n.in(4)), DType::float32));
    in.emplace_back(ops::multiply(as(n.in(6), DType::float32), ops::scale(scale, alpha)));
  }
  const Tensor y = n.run_as("Gemm", kOpset, in)[0].tensor;
  return {n.has(7) ? codes(n, y, 7, 0) : Item(y)};
}

Tensor plus(const Tensor& x, const Tensor& y) {
  return y.defined() ? ops::add(x, y) : x;
}

// What is left of x as codes of 8 bits, whose scale its values decide.
Tensor rounded(const Node& n, const Tensor& x) {
  const Items codes = n.run_as("DynamicQuantizeLinear", kOpset, {x});
  const Tensor zero = as(codes[2].tensor, DType::float32);
  return call("dequantize_affine", {codes[0].tensor, codes[1].tensor, zero});
}

// What x is rounded to times what codes [in, out] stand for.
Tensor rounded_product(const Node& n, const Tensor& x, const Tensor& codes, const Tensor& scale,
                       const Tensor& zero) {
  const Tensor left = rounded(n, x), factor = as(one_number(scale), DType::float32),
               point = zero.defined() ? as(one_number(zero), DType::float32) : zero;
  const program::Recording recording = n.session.recording();  // they stay codes: see quantize.cc
  return ops::matmul(left, call("dequantize_affine", {codes, factor, point}));
}

// A times the numbers of B's codes.
Items dynamic_matmul(const Node& n) {
  return {plus(rounded_product(n, n.in(0), n.in(1), n.in(2), n.optional(3)), n.optional(4))};
}

Items matmul_to_numbers(const Node& n) {
  const auto of = [&](size_t i, size_t scale, size_t zero) {
    return call("dequantize_affine",
                {n.in(i), as(one_number(n.in(scale)), DType::float32),
                 n.has(zero) ? as(one_number(n.in(zero)), DType::float32) : Tensor()});
  };
  return {plus(ops::matmul(of(0, 2, 4), of(1, 3, 5)), n.optional(6))};
}

// Both operands of each product are codes: those of all steps of x have one scale, and so have
// those of the state before each step.
Items lstm(const Node& n) {
  for (size_t i : {1, 2}) n.expect(n.rank(i) == 3, "W and R have three dimensions");
  return lstm_by_products(n, [&n](const Tensor& x, size_t weight, int64_t direction) {
    const size_t scale = weight == 1 ? 8 : 10;
    const auto own = [&](size_t i) {
      return n.has(i) ? ops::pick(n.in(i), 0, direction) : Tensor();
    };
    return rounded_product(n, x, own(weight), own(scale), own(scale + 1));
  });
}

// --- weights of a few bits ---

// `count` codes of `bits` each, the first one in the lowest bits, of each row of bytes.
Tensor unpacked(const Tensor& bytes, int64_t bits, int64_t count) {
  const Tensor from = op::contiguous(bytes);
  const int64_t width = from.dim(-1), rows = width ? from.numel() / width : 0;
  const Tensor to = Tensor::empty({rows, count}, DType::uint8);
  const auto* in = from.data<uint8_t>();
  auto* out = to.data<uint8_t>();
  const int64_t each = 8 / bits;
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < count; ++i)
      out[r * count + i] =
          static_cast<uint8_t>((in[r * width + i / each] >> (i % each * bits)) & ((1 << bits) - 1));
  return to;
}

// A times the transposed of B [N, K], whose codes have a scale for each block of a row.
Items matmul_of_few_bits(const Node& n) {
  const int64_t k = n.integer("K"), rows = n.integer("N"), block = n.integer("block_size"),
                bits = n.integer("bits", 4);
  n.integer("accuracy_level", 0);  // how it may be computed, not what
  if (n.has(4)) n.unsupported("g_idx");
  if (bits != 2 && bits != 4 && bits != 8) n.unsupported("codes of other than 2, 4 or 8 bits");
  n.expect(k > 0 && rows > 0 && block > 0 && block <= (int64_t{1} << 20),
           "K, N and block_size are positive");
  const int64_t blocks = (k + block - 1) / block;
  const Tensor b = n.known_tensor(1);
  n.expect(b.dtype() == DType::uint8 && b.numel() == rows * blocks * (block * bits / 8),
           "B has another size than K, N and bits say");
  const Tensor all =
      ops::reshape(unpacked(ops::reshape(b, {rows * blocks, block * bits / 8}), bits, block),
                   {rows, blocks, block});
  const Tensor scale = ops::reshape(as(n.in(2), DType::float32), {rows, blocks, 1});
  Tensor zero = number(static_cast<double>(int64_t{1} << (bits - 1)), scale);
  if (n.has(3) && n.in(3).dtype() == DType::uint8) {
    const Tensor packed = n.known_tensor(3);
    const int64_t width = (blocks * bits + 7) / 8;
    n.expect(packed.numel() == rows * width, "zero points have another size than they need");
    zero = ops::reshape(
        as(unpacked(ops::reshape(packed, {rows, width}), bits, blocks), DType::float32),
        {rows, blocks, 1});
  } else if (n.has(3)) {
    zero = ops::reshape(as(n.in(3), DType::float32), {rows, blocks, 1});
  }
  const Tensor weight = ops::slice(
      ops::flatten(ops::multiply(ops::subtract(as(all, DType::float32), zero), scale), 1, 2), 1, 0,
      k);
  const Tensor x = n.in(0);
  const Tensor y = ops::matmul(x, as(op::contiguous(ops::transpose(weight, {1, 0})), x.dtype()));
  return {plus(y, n.optional(5))};
}

Items quantize(const Node& n) {
  return n.run_as("QuantizeLinear", 21, {n.item(0), n.item(1), n.has(2) ? n.item(2) : Item()});
}
Items dequantize(const Node& n) {
  return n.run_as("DequantizeLinear", 21, {n.item(0), n.item(1), n.has(2) ? n.item(2) : Item()});
}

constexpr Row kRows[] = {
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLSTM", lstm},
    {"DynamicQuantizeMatMul", dynamic_matmul},
    {"MatMulIntegerToFloat", matmul_to_numbers},
    {"MatMulNBits", matmul_of_few_bits},
    {"QGemm", gemm},
    {"QLinearAdd", of_two<ops::add>},
    {"QLinearAveragePool", average_pool},
    {"QLinearConcat", concat},
    {"QLinearGlobalAveragePool", global_average_pool},
    {"QLinearLeakyRelu", leaky_relu},
    {"QLinearMul", of_two<ops::multiply>},
    {"QLinearReduceMean", reduce_mean},
    {"QLinearSigmoid", sigmoid},
    {"QLinearSoftmax", softmax},
    {"QLinearWhere", where},
    {"QuantizeLinear", quantize},
};

}  // namespace

std::span<const Row> microsoft_quantized_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
