#include <cmath>
#include <cstring>

#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/quant/integer.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/builder.h"

// Products of what codes stand for as products of the codes themselves.
namespace argosy::passes {
namespace {

constexpr const char* kNumbers = "dequantize_affine";  // x, scale, zero
constexpr int64_t kLeast = 256;                        // elements of a matrix

// All codes of a value with one scale and one zero point.
struct OneStep {
  Ref<Value> codes;
  double scale;
  int64_t zero;
};

// A matrix of constant codes without zero point, with a scale for each column.
struct CodeMatrix {
  Tensor codes;  // int8, [in, out] by its strides
  Tensor scale;  // float32 [out]
};

// Codes as wide integers, less a zero point that a run may be the first to know.
struct WideCodes {
  Ref<Value> codes, zero;  // zero: int32, null without one
};

bool is_code(DType dtype) {
  return dtype == DType::uint8 || dtype == DType::int8;
}

// t, which broadcasts to [rows, columns], as [columns]; undefined where rows differ.
Tensor by_columns(const Tensor& t, int64_t columns, bool transposed) {
  Tensor all = t;
  while (all.rank() < 2) all = ops::unsqueeze(all, {0});
  if (transposed) all = ops::transpose(all, {1, 0});
  if (all.rank() != 2 || all.dim(0) != 1) return {};
  return op::contiguous(ops::reshape(ops::expand(all, {1, columns}), {columns}));
}

class Integers {
 public:
  explicit Integers(Program& p) : r_(p) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "linear"))
        take(o, false, o.operands[2]);
      else if (is(o, "conv2d"))
        take_convolution(o);
      else if (is(o, "matmul") && !attr<bool>(o, "transpose_x") && o.operands[0]->shape.rank() > 1)
        take(o, attr<bool>(o, "transpose_y"), nullptr);
      else if (is(o, "cast") && o.results[0]->dtype == DType::float32)
        take_wide(o);
    });
    return r_.changed();
  }

 private:
  std::optional<OneStep> one_step(const Ref<Value>& v) const {
    const Operation* o = made_by(v, kNumbers);
    if (!o || !is_code(o->operands[0]->dtype) || v->shape.rank() != o->operands[0]->shape.rank())
      return std::nullopt;
    const auto scale = r_.uniform(o->operands[1]);
    if (!scale) return std::nullopt;
    OneStep step{o->operands[0], scale->real(), 0};
    if (!o->operands[2]) return step;
    const auto zero = r_.uniform(o->operands[2]);
    if (!zero || zero->real() != std::floor(zero->real()) || std::abs(zero->real()) > 255)
      return std::nullopt;
    step.zero = static_cast<int64_t>(zero->real());
    return step;
  }

  // Constant codes of `rank` axes, at least so many, less their zero point, as int8, and their
  // scale.
  std::optional<CodeMatrix> codes_of(const Ref<Value>& v, int rank, int64_t least) const {
    const Operation* o = made_by(v, kNumbers);
    if (!o) return std::nullopt;
    const Tensor codes = r_.constant_of(o->operands[0]), scale = r_.constant_of(o->operands[1]);
    if (!codes.defined() || !scale.defined() || codes.rank() != rank || !is_code(codes.dtype()) ||
        scale.dtype() != DType::float32 || codes.numel() < least)
      return std::nullopt;
    Tensor wide = ops::cast(codes, DType::float32);
    if (o->operands[2]) {
      const Tensor zero = r_.constant_of(o->operands[2]);
      if (!zero.defined()) return std::nullopt;
      wide = ops::subtract(wide, ops::cast(zero, DType::float32));
    }
    // Less their zero point they are int8 again, or no case for 8 bits.
    const Tensor narrow = ops::clip(wide, -128, 127);
    if (std::memcmp(narrow.raw(), wide.raw(), narrow.nbytes()) != 0) return std::nullopt;
    return CodeMatrix{ops::cast(narrow, DType::int8), scale};
  }

  std::optional<CodeMatrix> matrix(const Ref<Value>& v, bool transposed) const {
    auto m = codes_of(v, 2, kLeast);
    if (!m) return m;
    if (transposed) m->codes = ops::transpose(m->codes, {1, 0});
    m->scale = by_columns(m->scale, m->codes.dim(1), transposed);
    return m->scale.defined() ? m : std::nullopt;
  }

  // Weights [out, in, kernel..] as they are, with a scale for each of `out`; of channels that are
  // each by itself there are few.
  std::optional<CodeMatrix> filters(const Ref<Value>& v, bool depthwise) const {
    auto m = codes_of(v, 4, depthwise ? 1 : kLeast);
    if (!m) return m;
    const int64_t out = m->codes.dim(0);
    Tensor scale = m->scale;
    while (scale.rank() < 4) scale = ops::unsqueeze(scale, {0});
    if (scale.numel() != 1 && (scale.dim(0) != out || scale.numel() != out)) return std::nullopt;
    m->scale = op::contiguous(ops::expand(ops::reshape(scale, {-1}), {out}));
    return m;
  }

  // Filters packed: as a matrix [kernel.. * in, out], or each channel by itself; undefined where
  // the machine multiplies no codes.
  static Tensor packed(const Tensor& codes, bool depthwise) {
    if (depthwise) return ops::pack_depthwise(codes);
    ops::IntegerLinearAttrs order;
    order.out = codes.dim(0);
    order.in = codes.numel() / order.out;
    if (!ops::can_pack(order)) return {};
    const Tensor rows = op::contiguous(ops::transpose(codes, {2, 3, 1, 0}));
    return ops::pack(ops::reshape(rows, {order.in, order.out}), order);
  }

  static std::optional<WideCodes> wide_codes(const Ref<Value>& v) {
    Ref<Value> numbers = v, zero;
    if (const Operation* o = made_by(v, "subtract"); o && attr<double>(*o, "alpha") == 1) {
      numbers = o->operands[0];
      zero = o->operands[1];
      if (!zero->shape.known() || zero->shape.numel() != 1 || zero->dtype != DType::int32)
        return std::nullopt;
    }
    const Operation* widened = made_by(numbers, "cast");
    if (!widened || !is_code(widened->operands[0]->dtype)) return std::nullopt;
    return WideCodes{widened->operands[0], zero};
  }

  // Sums of int32, as MatMulInteger gives them, that are cast to float32.
  void take_wide(Operation& o) {
    const Operation* sums = made_by(o.operands[0], "matmul");
    if (!sums || sums->results[0]->dtype != DType::int32 || sums->attr_operands ||
        r_.uses(o.operands[0]) != 1 || r_.leaves(o.operands[0]) ||
        attr<bool>(*sums, "transpose_x") || attr<bool>(*sums, "transpose_y") ||
        sums->operands[0]->shape.rank() < 2)
      return;
    const Tensor matrix = r_.constant_of(sums->operands[1]);
    const auto x = wide_codes(sums->operands[0]);
    if (!x || !matrix.defined() || matrix.rank() != 2 || matrix.dtype() != DType::int32 ||
        matrix.numel() < kLeast)
      return;
    op::GradMode off(false);
    program::Recording here(nullptr);
    const Tensor narrow = ops::cast(matrix, DType::int8), dense = op::contiguous(matrix);
    const Tensor again = ops::cast(narrow, DType::int32);
    if (std::memcmp(dense.raw(), again.raw(), dense.nbytes()) != 0) return;
    const Tensor ones = ops::full(op::IntArray{matrix.dim(1)}, op::Scalar(1.0), DType::float32);
    put(o, product(x->codes, 0, narrow, ones, nullptr, x->zero));
  }

  static bool is_number(const Ref<Value>& v) { return v->shape.known() && v->shape.numel() == 1; }

  // Codes whose scale and zero point a run makes: the product of codes, times that scale.
  void take_dynamic(Operation& o, bool transposed, const Ref<Value>& bias) {
    const Operation* numbers = made_by(o.operands[0], kNumbers);
    if (!numbers || !is_code(numbers->operands[0]->dtype) ||
        numbers->operands[0]->shape.rank() != o.operands[0]->shape.rank())
      return;
    const Ref<Value> scale = numbers->operands[1], zero = numbers->operands[2];
    const Operation* code = zero ? made_by(zero, "cast") : nullptr;
    if (!is_number(scale) || scale->dtype != DType::float32 ||
        (zero && (!is_number(zero) || !code || !is_code(code->operands[0]->dtype))))
      return;
    const auto w = matrix(o.operands[1], transposed);
    if (!w || !ops::can_pack(order_of(w->codes))) return;
    Ref<Value> whole;
    if (zero) {
      op::AttrBox attrs(*code->op->attrs, code->attrs.get());
      set_attr(attrs, "dtype", DType::int32);
      whole = r_.insert("cast", {code->operands[0]}, std::move(attrs)).results[0];
    }
    const Ref<Value> made = product(numbers->operands[0], 0, w->codes, w->scale, nullptr, whole);
    const Ref<Value> scaled = r_.insert("multiply", {made, scale}).results[0];
    put(o, bias ? r_.insert("add", {scaled, bias}).results[0] : scaled);
  }

  void take(Operation& o, bool transposed, const Ref<Value>& bias) {
    op::GradMode off(false);
    program::Recording here(nullptr);
    if (o.results[0]->dtype != DType::float32) return;
    const auto x = one_step(o.operands[0]);
    if (!x) return take_dynamic(o, transposed, bias);
    const auto w = matrix(o.operands[1], transposed);
    if (!w || (bias && (bias->shape.rank() != 1 || bias->dtype != DType::float32 ||
                        bias->shape[0] != w->codes.dim(1))))
      return;
    const Tensor factor = ops::scale(w->scale, x->scale);
    put(o, product(x->codes, x->zero, w->codes, factor, bias, nullptr));
  }

  // Of one group, or of as many as channels, on [n, c, h, w]: its codes are transposed, and its
  // result back; channels_last takes what stands between two of them along.
  void take_convolution(Operation& o) {
    op::GradMode off(false);
    program::Recording here(nullptr);
    const std::string& algorithm = attr<std::string>(o, "pad_alg");
    ops::IntegerConvAttrs a;
    a.stride = attr<std::vector<int64_t>>(o, "stride");
    a.dilation = attr<std::vector<int64_t>>(o, "dilation");
    a.padding = attr<std::vector<int64_t>>(o, "padding");
    if (algorithm == "VALID") a.padding.assign(4, 0);
    const Shape& weight = o.operands[1]->shape;
    a.groups = attr<int64_t>(o, "groups");
    const bool depthwise = a.groups > 1;
    if (depthwise && (weight.rank() != 4 || weight[0] != a.groups || weight[1] != 1)) return;
    if (attr<bool>(o, "cl") || algorithm == "SAME" || a.padding.size() != 4 ||
        o.results[0]->dtype != DType::float32)
      return;
    const auto x = one_step(o.operands[0]);
    if (!x || x->codes->shape.rank() != 4) return;
    const auto w = filters(o.operands[1], depthwise);
    const Ref<Value> bias = o.operands[2];
    if (!w || (bias && (bias->shape.rank() != 1 || bias->dtype != DType::float32))) return;
    const bool is_signed = x->codes->dtype == DType::int8;
    if (x->zero < (is_signed ? -128 : 0) || x->zero > (is_signed ? 127 : 255)) return;
    a.in = weight[1] * a.groups;
    a.out = weight[0];
    a.kernel = {weight[2], weight[3]};
    a.zero = x->zero;
    const Tensor weights = packed(w->codes, depthwise);
    if (!weights.defined()) return;
    const Ref<Value> factor = r_.constant(ops::scale(w->scale, x->scale));
    const Operation& product =
        r_.insert("integer_conv2d",
                  {transposed(x->codes, {0, 2, 3, 1}), r_.constant(weights), bias, nullptr, factor},
                  op::AttrBox(*op::get("integer_conv2d").attrs, &a));
    r_.stand_in(o.results[0], transposed(product.results[0], {0, 3, 1, 2}));
    r_.erase();
  }

  Ref<Value> transposed(const Ref<Value>& v, const std::vector<int64_t>& perm) {
    op::AttrBox attrs = default_attrs(op::get("transpose"));
    set_attr(attrs, "perm", perm);
    return r_.insert("transpose", {v}, std::move(attrs)).results[0];
  }

  static ops::IntegerLinearAttrs order_of(const Tensor& matrix) {
    ops::IntegerLinearAttrs a;
    a.in = matrix.dim(0);
    a.out = matrix.dim(1);
    return a;
  }

  // integer_linear, where the machine has it, else null.
  Ref<Value> product(const Ref<Value>& codes, int64_t zero, const Tensor& matrix,
                     const Tensor& factor, const Ref<Value>& bias, const Ref<Value>& more_zero) {
    const ops::IntegerLinearAttrs a = order_of(matrix);
    if (!ops::can_pack(a)) return nullptr;
    op::AttrBox attrs = default_attrs(op::get("integer_linear"));
    set_attr(attrs, "in", a.in);
    set_attr(attrs, "out", a.out);
    set_attr(attrs, "zero", zero);
    const Ref<Value> packed = r_.constant(ops::pack(matrix, a));
    return r_
        .insert("integer_linear", {codes, packed, bias, nullptr, r_.constant(factor), more_zero},
                std::move(attrs))
        .results[0];
  }

  void put(Operation& o, const Ref<Value>& made) {
    if (!made) return;
    r_.stand_in(o.results[0], made);
    r_.erase();
  }

  Rewriter r_;
};

// What constant codes stand for, where somebody else reads it.
bool fold_numbers(Program& p) {
  op::GradMode off(false);
  program::Recording here(nullptr);
  Rewriter r(p);
  r.walk([&](Operation& o) {
    if (!is(o, kNumbers) || !r.uses(o.results[0])) return;
    std::vector<Tensor> in;
    for (const Ref<Value>& v : o.operands) in.push_back(v ? r.constant_of(v) : Tensor());
    if (!in[0].defined() || !in[1].defined() || (o.operands[2] && !in[2].defined())) return;
    const Tensor numbers = op::dispatch(*o.op, op::Inputs(in), o.attrs.get())[0];
    r.stand_in(o.results[0], r.constant(numbers));
    r.erase();
  });
  return r.changed();
}

bool run(Program& p, const PassContext&) {
  const bool changed = Integers(p).run();
  return fold_numbers(p) || changed;
}

ARGOSY_PASS(
    integer_products, Rounding::changed,
    "Products and convolutions of what 8-bit codes stand for (dequantize_affine), or of such "
    "codes as wide integers, with a constant matrix of codes multiply the codes "
    "(integer_linear, integer_conv2d), where the machine has dot products of 8-bit "
    "integers. Other constant codes become the numbers that they stand for.",
    run)

}  // namespace
}  // namespace argosy::passes
