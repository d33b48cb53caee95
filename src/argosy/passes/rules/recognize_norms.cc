#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/passes/rules/algebra.h"
#include "argosy/program/builder.h"

// Normalizations that models say in several operations.
namespace argosy::passes {
namespace {

// The mean of a value over its axes from `begin` on, which stay with size 1.
struct Mean {
  Ref<Value> of;
  int64_t begin;
};

// Of a tensor's sizes those from the first that is not 1 on.
Shape without_leading_ones(const Shape& s) {
  int first = 0;
  while (first < s.rank() && s[first] == 1) ++first;
  Shape rest;
  for (int i = first; i < s.rank(); ++i) rest.push_back(s[i]);
  return rest;
}

class Recognizer {
 public:
  explicit Recognizer(Program& p) : r_(p), algebra_(r_) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.results.size() != 1 || o.attr_operands || !is_floating(o.results[0]->dtype)) return;
      if ((is(o, "multiply") || is(o, "divide")) && (normalize(o) || weight(o))) return;
      if (is(o, "add")) bias(o);
    });
    return r_.changed();
  }

 private:
  // The first of the last axes that a reduction runs over.
  static std::optional<int64_t> begin_of(const Operation& o) {
    const auto& axes = attr<op::IntArray>(o, "axis");
    const int rank = o.operands[0]->shape.rank();
    if (rank == 0 || o.attr_operands || !attr<bool>(o, "keepdim") || axes.none) return std::nullopt;
    const uint32_t mask = op::axes_mask(o.op->name.c_str(), axes, rank);
    int begin = rank;
    while (begin > 0 && (mask >> (begin - 1) & 1)) --begin;
    if (begin == rank || mask & ((1u << begin) - 1)) return std::nullopt;
    return begin;
  }

  std::optional<Mean> mean_of(const Ref<Value>& v) const {
    const Affine outer = algebra_.affine(v);
    return outer.b == 0 ? mean_of(outer.of, outer.a) : std::nullopt;
  }
  // Of factor * v.
  std::optional<Mean> mean_of(const Ref<Value>& v, double factor) const {
    const Operation* o = v->producer;
    if (!o || (!is(*o, "mean") && !is(*o, "sum"))) return std::nullopt;
    const auto begin = begin_of(*o);
    const Ref<Value>& x = o->operands[0];
    if (!begin || x->dtype != v->dtype) return std::nullopt;
    double count = 1;
    if (is(*o, "sum"))
      for (auto d = static_cast<int>(*begin); d < x->shape.rank(); ++d)
        count *= static_cast<double>(x->shape[d]);
    if (count <= 0 || !close(factor * count, 1)) return std::nullopt;
    return Mean{x, *begin};
  }

  // What v is x - mean(x) of.
  std::optional<Mean> centered(const Ref<Value>& v) const {
    const Operation* o = made_by(v, "subtract");
    if (!o || attr<double>(*o, "alpha") != 1) return std::nullopt;
    const auto mean = mean_of(o->operands[1]);
    return mean && mean->of == o->operands[0] ? mean : std::nullopt;
  }

  // v.a * v.of is the mean of the squares of this value, or the variance of its uncentered one.
  bool is_variance(const Affine& v, const Ref<Value>& distance, const Mean& mean) const {
    if (const auto squares = mean_of(v.of, v.a))
      return squares->begin == mean.begin && algebra_.root(squares->of) == distance;
    const Operation* o = made_by(v.of, "var");
    if (!o || v.a != 1 || o->operands[0] != mean.of || begin_of(*o) != mean.begin) return false;
    const auto unbiased = attr<std::optional<bool>>(*o, "unbiased");
    return unbiased ? !*unbiased : attr<double>(*o, "correction") == 0;
  }

  // o is number * d / sqrt(mean of squares of d + epsilon), maybe times a weight: the mean of x is
  // taken off in d, or d is x.
  bool normalize(Operation& o) {
    const Product p = algebra_.product(o);
    if (!close(p.number, 1) || p.factors.size() < 2 || p.factors.size() > 3) return false;
    const Product::Factor* root = nullptr;
    std::vector<Ref<Value>> others;
    for (const auto& f : p.factors) {
      if (f.power == -0.5 && !root)
        root = &f;
      else if (f.power == 1)
        others.push_back(f.of);
      else
        return false;
    }
    if (!root || others.size() + 1 != p.factors.size()) return false;
    const Affine spread = algebra_.affine(root->of);
    if (spread.b < 0) return false;
    for (size_t i = 0; i < others.size(); ++i) {
      const Ref<Value> weight = others.size() == 2 ? others[1 - i] : nullptr;
      if (normalized(o, others[i], spread, weight)) return true;
    }
    return false;
  }

  // `spread`: the mean of squares (a * of) and epsilon (b).
  bool normalized(Operation& o, const Ref<Value>& distance, const Affine& spread,
                  const Ref<Value>& weight) {
    if (const auto mean = centered(distance); mean && is_variance(spread, distance, *mean))
      return make(o, "layer_norm", mean->of, mean->begin, spread.b, weight);
    const auto squares = mean_of(spread.of, spread.a);
    if (!squares || algebra_.root(squares->of) != distance) return false;
    return make(o, "rms_norm", distance, squares->begin, spread.b, weight);
  }

  bool make(Operation& o, const char* name, const Ref<Value>& x, int64_t begin, double epsilon,
            const Ref<Value>& weight) {
    Ref<Value> parameter;
    if (weight && !(parameter = parameter_of(weight, x, begin))) return false;
    op::AttrBox attrs = default_attrs(op::get(name));
    set_attr(attrs, "begin_norm_axis", begin);
    set_attr(attrs, "epsilon", epsilon);
    return put(o, name, {x, parameter, nullptr}, std::move(attrs));
  }

  bool put(Operation& o, std::string_view name, std::vector<Ref<Value>> operands,
           op::AttrBox attrs) {
    if (operands[0]->dtype != o.results[0]->dtype ||
        !r_.replace_with(o.results[0], name, std::move(operands), std::move(attrs)))
      return false;
    r_.erase();
    return true;
  }

  // A constant with one number for each element of the axes of x from `begin` on, in their form.
  Ref<Value> parameter_of(const Ref<Value>& v, const Ref<Value>& x, int64_t begin) {
    const Tensor t = r_.constant_of(v);
    Shape inner;
    for (auto d = static_cast<int>(begin); d < x->shape.rank(); ++d) inner.push_back(x->shape[d]);
    if (!t.defined() || !inner.known() || t.dtype() != x->dtype || t.numel() != inner.numel() ||
        t.rank() > x->shape.rank() ||
        without_leading_ones(t.shape()) != without_leading_ones(inner))
      return nullptr;
    if (t.shape() == inner) return v;
    op::GradMode off(false);
    program::Recording none(nullptr);
    return r_.constant(ops::reshape(t, op::IntArray(inner)));
  }

  // A normalization without its bias, and without its weight if that is to come, whose result only
  // this operation reads.
  Operation* open(const Ref<Value>& v, bool weight) const {
    if (r_.uses(v) != 1 || r_.leaves(v)) return nullptr;
    Operation* o = made_by(v, "layer_norm");
    if (!o) o = made_by(v, "rms_norm");
    return o && !o->operands[2] && !(weight && o->operands[1]) ? o : nullptr;
  }

  bool weight(Operation& o) { return is(o, "multiply") && parameter(o, 1); }
  bool bias(Operation& o) { return attr<double>(o, "alpha") == 1 && parameter(o, 2); }
  bool parameter(Operation& o, size_t place) {
    for (size_t i = 0; i < 2; ++i) {
      const Operation* norm = open(o.operands[i], place == 1);
      if (!norm) continue;
      const Ref<Value> found = parameter_of(o.operands[1 - i], norm->operands[0],
                                            attr<int64_t>(*norm, "begin_norm_axis"));
      if (!found) continue;
      std::vector<Ref<Value>> operands = norm->operands;
      operands[place] = found;
      return put(o, norm->op->name, std::move(operands),
                 op::AttrBox(*norm->op->attrs, norm->attrs.get()));
    }
    return false;
  }

  Rewriter r_;
  Algebra algebra_;
};

bool run(Program& p, const PassContext&) {
  return Recognizer(p).run();
}

ARGOSY_PASS(recognize_norms, Rounding::changed,
            "Layer and root-mean-square normalization over the last axes that are said in several "
            "operations, with constant weights and biases, become layer_norm and rms_norm.",
            run)

}  // namespace
}  // namespace argosy::passes
