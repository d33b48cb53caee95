#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "argosy/passes/rewrite.h"

// Clean-up by identities that hold bit for bit, for NaN, infinities and -0.0 too. (So x + 0.0 stays
// for floats: it makes 0.0 of -0.0.)
namespace argosy::passes {
namespace {

using op::IntArray;
using op::Scalar;

using Rule = bool (*)(Rewriter& r, Operation& o);

bool real(const Ref<Value>& v) {
  return !is_complex(v->dtype);
}

// Does the result of broadcasting x with y have x's shape?
bool keeps_shape(const Ref<Value>& x, const Ref<Value>& y, const Ref<Value>& out) {
  const int rank = x->shape.rank();
  if (out->shape.rank() != rank || out->dtype != x->dtype) return false;
  const int skip = rank - y->shape.rank();
  for (int d = 0; d < rank; ++d) {
    const bool repeats = d < skip || y->shape[d - skip] == 1;
    if (!repeats && (x->shape[d] == kUnknown || x->shape[d] != out->shape[d])) return false;
  }
  return true;
}

bool is_zero(const Scalar& s, bool negative) {
  return s.real() == 0 && std::signbit(s.real()) == negative;
}
bool is_one(const Scalar& s) {
  return s.real() == 1;
}

// --- a number on one side ---

bool by_neutral(Rewriter& r, Operation& o, size_t side, bool (*neutral)(const Scalar&, DType)) {
  const Ref<Value>&x = o.operands[1 - side], &y = o.operands[side];
  if (!real(x) || !keeps_shape(x, y, o.results[0])) return false;
  const auto number = r.uniform(y);
  return number && neutral(*number, x->dtype) && r.replace(o.results[0], x);
}

bool add(Rewriter& r, Operation& o) {
  if (attr<double>(o, "alpha") != 1) return false;
  auto zero = [](const Scalar& s, DType t) {
    return is_differentiable(t) ? is_zero(s, true) : s.real() == 0;
  };
  return by_neutral(r, o, 1, zero) || by_neutral(r, o, 0, zero);
}

bool subtract(Rewriter& r, Operation& o) {
  if (attr<double>(o, "alpha") != 1) return false;
  return by_neutral(r, o, 1, [](const Scalar& s, DType t) {
    return is_differentiable(t) ? is_zero(s, false) : s.real() == 0;
  });
}

bool multiply(Rewriter& r, Operation& o) {
  auto one = [](const Scalar& s, DType) { return is_one(s); };
  return by_neutral(r, o, 1, one) || by_neutral(r, o, 0, one);
}

bool divide(Rewriter& r, Operation& o) {
  const auto* mode = find_attr<std::optional<std::string>>(o.attrs, "rounding_mode");
  if (mode && *mode) return false;
  return by_neutral(r, o, 1, [](const Scalar& s, DType) { return is_one(s); });
}

bool pow(Rewriter& r, Operation& o) {
  return by_neutral(r, o, 1, [](const Scalar& s, DType) { return is_one(s); });
}

bool scale(Rewriter& r, Operation& o) {
  const auto& factor = attr<Scalar>(o, "scale");
  if (factor.tensor.defined() || o.attr_operands || attr<std::optional<std::string>>(o, "act"))
    return false;
  const double bias = attr<double>(o, "bias");
  const Ref<Value>& x = o.operands[0];
  if (!real(x)) return false;
  // x * 1 + 0.0 is x but for -0.0.
  if (is_one(factor) && bias == 0 && (!is_differentiable(x->dtype) || std::signbit(bias)))
    return r.replace(o.results[0], x);
  return false;
}

// --- twice ---

bool twice(Rewriter& r, Operation& o) {
  const Operation* inner = made_by(o.operands[0], o.op->name);
  return inner && r.replace(o.results[0], inner->operands[0]);
}

bool logical_not(Rewriter& r, Operation& o) {
  const Operation* inner = made_by(o.operands[0], o.op->name);
  return inner && inner->operands[0]->dtype == DType::bool_ &&
         r.replace(o.results[0], inner->operands[0]);
}

bool conj(Rewriter& r, Operation& o) {
  if (real(o.operands[0])) return r.replace(o.results[0], o.operands[0]);
  return twice(r, o);
}

// --- casts ---

// Is every value of `from` also one of `to`?
bool holds_all(DType from, DType to) {
  if (from == to || from == DType::bool_) return true;
  auto digits = [](DType t) {
    switch (t) {
      case DType::float16:
        return 11;
      case DType::bfloat16:
        return 8;
      case DType::float32:
        return 24;
      case DType::float64:
        return 53;
      default:
        return 0;
    }
  };
  if (digits(from) && digits(to))
    return digits(from) <= digits(to) && !(from == DType::bfloat16 && to == DType::float16);
  if (!is_integral(from)) return false;
  const int bits = 8 * item_size(from);
  const bool sign =
      from == DType::int8 || from == DType::int16 || from == DType::int32 || from == DType::int64;
  if (digits(to)) return to != DType::float16 && bits - sign <= digits(to);
  if (!is_integral(to) || to == DType::bool_) return false;
  const bool to_sign =
      to == DType::int8 || to == DType::int16 || to == DType::int32 || to == DType::int64;
  const int to_bits = 8 * item_size(to);
  if (sign == to_sign) return to_bits >= bits;
  return to_sign && to_bits > bits;
}

bool cast(Rewriter& r, Operation& o) {
  const Ref<Value>& x = o.operands[0];
  const DType to = o.results[0]->dtype;
  if (x->dtype == to) return r.replace(o.results[0], x);
  const Operation* inner = made_by(x, "cast");
  if (!inner) return false;
  const Ref<Value>& first = inner->operands[0];
  if (is_complex(first->dtype) || !holds_all(first->dtype, x->dtype)) return false;
  if (first->dtype == to) return r.replace(o.results[0], first);
  // From a number of one kind to another by way of a wider one: the same rounding once. (NaN and
  // what is out of range are not the same on all ways from floats to integers.)
  if (is_differentiable(first->dtype) && !is_differentiable(to)) return false;
  op::AttrBox attrs(*o.op->attrs, o.attrs.get());
  return r.replace_with(o.results[0], "cast", {first}, std::move(attrs));
}

// --- shapes ---

bool same_shape(const Ref<Value>& a, const Ref<Value>& b) {
  return a->shape == b->shape && a->shape.known();
}

// Attributes of reshape for a shape that is known up to one size; false if they cannot say it.
bool as_attribute(const Shape& shape, IntArray* out) {
  int unknown = 0;
  for (int64_t size : shape) {
    if (size == 0) return false;  // means "as in x"
    unknown += size == kUnknown;
    out->values.push_back(size);
  }
  return unknown <= 1;
}

bool to_reshape(Rewriter& r, Operation& o, const Ref<Value>& x) {
  op::AttrBox attrs = default_attrs(op::get("reshape"));
  IntArray shape;
  if (!as_attribute(o.results[0]->shape, &shape)) return false;
  set_attr(attrs, "shape", std::move(shape));
  return r.replace_with(o.results[0], "reshape", {x}, std::move(attrs));
}

// Gives the same elements another shape.
Operation* reshaper(const Ref<Value>& v) {
  return v->producer && v->producer->op->same_order ? v->producer : nullptr;
}

bool inserts_and_removes(const Operation& outer, const Operation& inner) {
  if (!is(outer, "squeeze") || !is(inner, "unsqueeze")) return false;
  const auto &in = attr<IntArray>(inner, "axis"), &out = attr<IntArray>(outer, "axis");
  if (in.size() != 1 || out.size() != 1 || in.none || out.none) return false;
  const int64_t rank = inner.results[0]->shape.rank();
  return (in[0] + rank) % rank == (out[0] + rank) % rank;
}

bool reshape(Rewriter& r, Operation& o) {
  const Ref<Value>& x = o.operands[0];
  if (same_shape(x, o.results[0])) return r.replace(o.results[0], x);
  const Operation* inner = reshaper(x);
  if (inner) {
    const Ref<Value>& first = inner->operands[0];
    if (same_shape(first, o.results[0]) || inserts_and_removes(o, *inner))
      return r.replace(o.results[0], first);
    if (to_reshape(r, o, first)) return true;
  }
  return false;
}

bool reshape_like(Rewriter& r, Operation& o) {
  const Ref<Value>& x = o.operands[0];
  if (same_shape(x, o.results[0])) return r.replace(o.results[0], x);
  // A copy becomes a view, which must not be handed out.
  if (r.leaves(o.results[0]) || !o.results[0]->shape.known()) return false;
  // Where it may not be a view, at least `like` is not kept for its sizes.
  return to_reshape(r, o, x) || to_reshape(r, o, r.insert("assign", {x}).results[0]);
}

bool transpose(Rewriter& r, Operation& o) {
  auto normal = [](std::vector<int64_t> perm) {
    for (int64_t& p : perm)
      if (p < 0) p += static_cast<int64_t>(perm.size());
    return perm;
  };
  std::vector<int64_t> perm = normal(attr<std::vector<int64_t>>(o, "perm"));
  const Ref<Value>* x = &o.operands[0];
  const Operation* inner = made_by(*x, "transpose");
  if (inner) {
    const std::vector<int64_t> first = normal(attr<std::vector<int64_t>>(*inner, "perm"));
    for (int64_t& p : perm) p = first[static_cast<size_t>(p)];
    x = &inner->operands[0];
  }
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i) identity &= perm[i] == static_cast<int64_t>(i);
  if (identity) return r.replace(o.results[0], *x);
  if (!inner) return false;
  op::AttrBox attrs = default_attrs(*o.op);
  set_attr(attrs, "perm", std::move(perm));
  return r.replace_with(o.results[0], "transpose", {*x}, std::move(attrs));
}

bool unchanged(Rewriter& r, Operation& o) {
  return same_shape(o.operands[0], o.results[0]) && r.replace(o.results[0], o.operands[0]);
}

bool expand_to(Rewriter& r, Operation& o, const Ref<Value>& x) {
  op::AttrBox attrs = default_attrs(op::get("expand"));
  set_attr(attrs, "shape", IntArray(o.results[0]->shape));
  return r.replace_with(o.results[0], "expand", {x}, std::move(attrs));
}

bool expand(Rewriter& r, Operation& o) {
  if (unchanged(r, o)) return true;
  const Operation* inner = made_by(o.operands[0], "expand");
  return inner && o.results[0]->shape.known() && expand_to(r, o, inner->operands[0]);
}

bool expand_like(Rewriter& r, Operation& o) {
  if (unchanged(r, o)) return true;
  return !r.leaves(o.results[0]) && o.results[0]->shape.known() && expand_to(r, o, o.operands[0]);
}

// Not to keep `like` alive for its sizes.
bool sum_like(Rewriter& r, Operation& o) {
  const Ref<Value>& x = o.operands[0];
  if (unchanged(r, o)) return true;
  const Shape &from = x->shape, &to = o.results[0]->shape;
  if (!from.known() || !to.known() || !is_differentiable(x->dtype) ||
      x->dtype != o.results[0]->dtype)
    return false;
  const int skip = from.rank() - to.rank();
  IntArray axes;
  bool keep = false;
  for (int d = 0; d < from.rank(); ++d)
    if (d < skip || (to[d - skip] == 1 && from[d] != 1)) {
      axes.values.push_back(d);
      keep |= d >= skip;
    }
  if (keep && skip) return false;
  op::AttrBox attrs = default_attrs(op::get("sum"));
  set_attr(attrs, "axis", std::move(axes));
  set_attr(attrs, "keepdim", keep);
  return r.replace_with(o.results[0], "sum", {x}, std::move(attrs));
}

// One number in the form of operands that are not kept for that.
bool filled(Rewriter& r, Operation& o) {
  const Ref<Value>& v = o.results[0];
  if (!o.op->fills || o.operands.empty() || !v->shape.known() || o.attr_operands) return false;
  auto value = o.op->fills(o.attrs.get());
  if (!value) return false;
  op::AttrBox attrs = default_attrs(op::get("full"));
  set_attr(attrs, "shape", IntArray(v->shape));
  set_attr(attrs, "fill_value", std::move(*value));
  set_attr(attrs, "dtype", std::optional<DType>(v->dtype));
  return r.replace_with(v, "full", {}, std::move(attrs));
}

// --- copies and parts ---

bool assign(Rewriter& r, Operation& o) {
  return r.replace(o.results[0], o.operands[0]);
}

bool concat(Rewriter& r, Operation& o) {
  return o.operands.size() == 1 && r.replace(o.results[0], o.operands[0]);
}

bool slice(Rewriter& r, Operation& o) {
  const auto& strides = attr<std::vector<int64_t>>(o, "strides");
  return std::all_of(strides.begin(), strides.end(), [](int64_t s) { return s == 1; }) &&
         unchanged(r, o);
}

// An element of an array that was just made of its elements.
bool array_get(Rewriter& r, Operation& o) {
  const Operation* made = made_by(o.operands[0], "array_extend");
  if (!made || !made_by(made->operands[0], "array_new")) return false;
  const auto at = static_cast<size_t>(attr<int64_t>(o, "index")) + 1;
  return at < made->operands.size() && r.replace(o.results[0], made->operands[at]);
}

Rule rule_of(const std::string& name) {
  static const std::unordered_map<std::string_view, Rule> rules = {
      {"add", add},
      {"subtract", subtract},
      {"multiply", multiply},
      {"divide", divide},
      {"pow", pow},
      {"scale", scale},
      {"negative", twice},
      {"bitwise_not", twice},
      {"logical_not", logical_not},
      {"conj", conj},
      {"cast", cast},
      {"reshape", reshape},
      {"squeeze", reshape},
      {"unsqueeze", reshape},
      {"flatten", reshape},
      {"reshape_like", reshape_like},
      {"transpose", transpose},
      {"expand", expand},
      {"expand_like", expand_like},
      {"tile", unchanged},
      {"sum_like", sum_like},
      {"assign", assign},
      {"concat", concat},
      {"slice", slice},
      {"array_get", array_get},
  };
  auto it = rules.find(name);
  return it == rules.end() ? filled : it->second;
}

bool run(Program& p, const PassContext&) {
  Rewriter r(p);
  r.walk([&](Operation& o) {
    const Rule rule = rule_of(o.op->name);
    if (rule(r, o)) r.erase();
  });
  return r.changed();
}

ARGOSY_PASS(algebraic, Rounding::kept,
            "Identities that hold bit for bit: neutral numbers (x*1, x-0, x/1, x**1), pairs of "
            "transpose, reshape, negative, casts to wider dtypes, expand/sum/reshape to a shape "
            "that is there already; copies; full_like, expand_like and the like of known sizes "
            "become ops that do not keep their second operand.",
            run)

}  // namespace
}  // namespace argosy::passes
