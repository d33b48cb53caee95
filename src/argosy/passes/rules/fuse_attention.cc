#include "argosy/passes/rules/algebra.h"

// softmax(scores) times values, the scores being products of queries with keys, as one operation
// that does not make them all.
namespace argosy::passes {
namespace {

// The axes of [batch, heads, length, size] and of a transposed [batch, heads, size, length] as
// [batch, length, heads, size].
const std::vector<int64_t> kFromHeads{0, 2, 1, 3}, kFromColumns{0, 3, 1, 2};

class Fuser {
 public:
  explicit Fuser(Program& p) : r_(p), algebra_(r_) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "matmul") && !attr<bool>(o, "transpose_x") && !attr<bool>(o, "transpose_y"))
        fuse(o);
    });
    return r_.changed();
  }

 private:
  bool is_own(const Ref<Value>& v) const { return r_.uses(v) == 1 && !r_.leaves(v); }

  void fuse(Operation& o) {
    const Operation* soft = made_by(o.operands[0], "softmax");
    const Ref<Value>& v = o.operands[1];
    if (!soft || !is_own(o.operands[0]) || !fits(v)) return;
    const int64_t axis = attr<int64_t>(*soft, "axis"), rank = v->shape.rank();
    if ((axis != -1 && axis != rank - 1) || soft->results[0]->dtype != v->dtype) return;
    Ref<Value> scores = soft->operands[0], mask;
    if (!is_own(scores) || !fits(scores)) return;
    if (const Operation* sum = made_by(scores, "add"); sum && !algebra_.step(*sum)) {
      if (attr<double>(*sum, "alpha") != 1) return;
      const bool first =
          !made_by(sum->operands[1], "matmul") && scaled_product(sum->operands[0], scores->shape);
      mask = sum->operands[first ? 1 : 0];
      scores = sum->operands[first ? 0 : 1];
      if (!is_own(scores) || mask->dtype != v->dtype) return;
    }
    const Affine scale = algebra_.affine(scores);
    const Operation* product = made_by(scale.of, "matmul");
    if (scale.b != 0 || scale.a <= 0 || !product || attr<bool>(*product, "transpose_x") ||
        !is_own(scale.of) || scale.of->shape != soft->results[0]->shape)
      return;
    const Ref<Value>&q = product->operands[0], &k = product->operands[1];
    const bool columns = !attr<bool>(*product, "transpose_y");
    if (!fits(q) || !fits(k) || q->shape.rank() != rank || k->shape.rank() != rank ||
        !same_batches(q, k) || !same_batches(q, v) || (mask && !spreads(mask, scale.of->shape)))
      return;
    put(o, q, k, columns, v, mask, scale.a);
  }

  // Is v a product, maybe times a number, of the form of the scores?
  bool scaled_product(const Ref<Value>& v, const Shape& form) const {
    return v->shape == form && made_by(algebra_.affine(v).of, "matmul");
  }

  static bool fits(const Ref<Value>& v) {
    const int rank = v->shape.rank();
    return (rank == 3 || rank == 4) && v->shape.known() && v->shape.numel() > 0 &&
           v->layout == Layout::strided && is_floating(v->dtype);
  }
  static bool same_batches(const Ref<Value>& x, const Ref<Value>& y) {
    for (int d = 0; d + 2 < x->shape.rank(); ++d)
      if (x->shape[d] != y->shape[d]) return false;
    return x->dtype == y->dtype;
  }
  // Is no axis of the mask longer than that of the scores?
  static bool spreads(const Ref<Value>& mask, const Shape& scores) {
    const int skip = scores.rank() - mask->shape.rank();
    for (int d = 0; d < mask->shape.rank(); ++d)
      if (skip < 0 || (mask->shape[d] != 1 && mask->shape[d] != scores[d + skip])) return false;
    return true;
  }

  Ref<Value> transposed(const Ref<Value>& v, const std::vector<int64_t>& perm) {
    op::AttrBox attrs = default_attrs(op::get("transpose"));
    set_attr(attrs, "perm", perm);
    return r_.insert("transpose", {v}, std::move(attrs)).results[0];
  }
  Ref<Value> with_axis(const char* op, const Ref<Value>& v, int64_t axis) {
    op::AttrBox attrs = default_attrs(op::get(op));
    set_attr(attrs, "axis", op::IntArray{axis});
    return r_.insert(op, {v}, std::move(attrs)).results[0];
  }

  void put(Operation& o, const Ref<Value>& q, const Ref<Value>& k, bool columns,
           const Ref<Value>& v, Ref<Value> mask, double scale) {
    // Without an axis of heads, there is one.
    const bool single = q->shape.rank() == 3;
    auto heads = [&](const Ref<Value>& x) { return single ? with_axis("unsqueeze", x, 1) : x; };
    if (mask && single && mask->shape.rank() == 3) mask = with_axis("unsqueeze", mask, 1);
    op::AttrBox attrs = default_attrs(op::get("tiled_attention"));
    set_attr(attrs, "scale", scale);
    const Ref<Value> made = r_.insert("tiled_attention",
                                      {transposed(heads(q), kFromHeads),
                                       transposed(heads(k), columns ? kFromColumns : kFromHeads),
                                       transposed(heads(v), kFromHeads), mask, nullptr},
                                      std::move(attrs))
                                .results[0];
    const Ref<Value> back = transposed(made, kFromHeads);
    r_.stand_in(o.results[0], single ? with_axis("squeeze", back, 1) : back);
    r_.erase();
  }

  Rewriter r_;
  Algebra algebra_;
};

bool run(Program& p, const PassContext&) {
  return Fuser(p).run();
}

ARGOSY_PASS(fuse_attention, Rounding::changed,
            "softmax(queries times keys, maybe scaled and masked by a sum) times values becomes "
            "tiled_attention, which does not make all scores. Where sizes are known.",
            run)

}  // namespace
}  // namespace argosy::passes
