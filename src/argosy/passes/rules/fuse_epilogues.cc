#include "argosy/passes/rules/algebra.h"

// Bias, residual, activation and a factor as part of the packed product or convolution before them.
namespace argosy::passes {
namespace {

constexpr size_t kBias = 2, kResidual = 3;

struct Post {
  const char* name;
  double alpha = 0, beta = 0;
};

// The activation that o is, if products know it.
std::optional<Post> post_of(const Operation& o) {
  if (o.attr_operands || o.operands.size() != 1) return std::nullopt;
  if (is(o, "relu")) return Post{"relu"};
  if (is(o, "relu6")) return Post{"clip", 0, 6};
  if (is(o, "leaky_relu")) return Post{"relu", attr<double>(o, "negative_slope")};
  if (is(o, "hardtanh")) return Post{"clip", attr<double>(o, "min"), attr<double>(o, "max")};
  if (is(o, "elu")) return Post{"elu", attr<double>(o, "alpha")};
  if (is(o, "sigmoid")) return Post{"sigmoid"};
  if (is(o, "tanh")) return Post{"tanh"};
  if (is(o, "silu")) return Post{"silu"};
  if (is(o, "hardswish")) return Post{"hardswish"};
  if (is(o, "hardsigmoid"))
    return Post{"hardsigmoid", attr<double>(o, "slope"), attr<double>(o, "offset")};
  if (is(o, "gelu")) return Post{attr<bool>(o, "approximate") ? "gelu_tanh" : "gelu"};
  if (is(o, "clip")) {
    const auto& low = attr<std::optional<op::Scalar>>(o, "min");
    const auto& high = attr<std::optional<op::Scalar>>(o, "max");
    if (low && high) return Post{"clip", low->real(), high->real()};
  }
  return std::nullopt;
}

class Fuser {
 public:
  explicit Fuser(Program& p) : r_(p), algebra_(r_) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (const auto post = post_of(o))
        activation(o, *post);
      else if (const auto step = algebra_.step(o))
        affine(o, *step);
      else if (is(o, "quantize_affine"))
        narrow(o);
      else if (is(o, "add"))
        add(o);
    });
    return r_.changed();
  }

 private:
  static bool gives_codes(const Operation& o) {
    const DType* dtype = find_attr<DType>(o.attrs, "dtype");
    return dtype && *dtype != DType::float32;
  }

  // Codes of what an integer product gives, with one step.
  void narrow(Operation& o) {
    Operation* made = product(o.operands[0]);
    const auto dtype = attr<DType>(o, "dtype");
    if (!made || !find_attr<DType>(made->attrs, "dtype") ||
        (dtype != DType::uint8 && dtype != DType::int8) ||
        o.results[0]->shape.rank() != o.operands[0]->shape.rank())
      return;
    const auto step = r_.uniform(o.operands[1]);
    const auto zero = o.operands[2] ? r_.uniform(o.operands[2]) : std::optional(op::Scalar(0.0));
    if (!step || !zero || step->real() <= 0) return;
    op::AttrBox attrs(*made->op->attrs, made->attrs.get());
    set_attr(attrs, "dtype", dtype);
    set_attr(attrs, "step", step->real());
    set_attr(attrs, "code_zero", zero->real());
    set_attr(attrs, "low", attr<double>(o, "low"));
    set_attr(attrs, "high", attr<double>(o, "high"));
    // Here: the former one is dead.
    std::vector<Ref<Value>> operands = made->operands;
    r_.stand_in(o.results[0],
                r_.insert(made->op->name, std::move(operands), std::move(attrs)).results[0]);
    r_.erase();
  }

  // The product that made v, if nobody else reads it.
  Operation* product(const Ref<Value>& v) const {
    if (!v || r_.uses(v) != 1 || r_.leaves(v)) return nullptr;
    for (const char* name : {"packed_linear", "packed_conv2d", "integer_linear", "integer_conv2d"})
      if (Operation* o = made_by(v, name)) return gives_codes(*o) ? nullptr : o;
    return nullptr;
  }
  // If nothing was applied to it, either.
  Operation* open(const Ref<Value>& v) const {
    Operation* o = product(v);
    const bool plain = o && attr<std::string>(*o, "post").empty() &&
                       attr<double>(*o, "scale") == 1 && attr<double>(*o, "shift") == 0;
    return plain ? o : nullptr;
  }

  void activation(Operation& o, const Post& post) {
    Operation* product = open(o.operands[0]);
    if (!product || o.results[0]->dtype != DType::float32) return;
    set_attr(product->attrs, "post", std::string(post.name));
    set_attr(product->attrs, "alpha", post.alpha);
    set_attr(product->attrs, "beta", post.beta);
    r_.stand_in(o.results[0], o.operands[0]);
    r_.erase();
  }

  // a * product + b, after whatever was applied to the product.
  void affine(Operation& o, const Affine& step) {
    Operation* made = product(step.of);
    if (!made || o.results[0]->dtype != DType::float32) return;
    set_attr(made->attrs, "scale", step.a * attr<double>(*made, "scale"));
    set_attr(made->attrs, "shift", step.a * attr<double>(*made, "shift") + step.b);
    r_.stand_in(o.results[0], step.of);
    r_.erase();
  }

  void add(Operation& o) {
    if (o.attr_operands || attr<double>(o, "alpha") != 1) return;
    for (size_t i = 0; i < 2; ++i) {
      const Ref<Value>&v = o.operands[i], &other = o.operands[1 - i];
      Operation* product = open(v);
      if (!product || v == other || other->dtype != DType::float32) continue;
      const size_t place = place_of(*product, v, other);
      if (!place) continue;
      std::vector<Ref<Value>> operands = product->operands;
      operands[place] = other;
      // Here, where the other operand is made for sure; the former one is dead.
      r_.stand_in(o.results[0], r_.insert_copy(*product, std::move(operands)).results[0]);
      r_.erase();
      return;
    }
  }

  // The operand of `product` that a sum with `other` is; 0 if it is none.
  static size_t place_of(const Operation& product, const Ref<Value>& v, const Ref<Value>& other) {
    if (product.operands[kResidual]) return 0;
    if (other->shape.rank() == 1 && other->shape.known() && other->shape[0] > 1 &&
        !product.operands[kBias] && other->shape[0] == v->shape.back())
      return kBias;
    return same_type(*v, *other) && v->shape.rank() > 1 ? kResidual : 0;
  }

  Rewriter r_;
  Algebra algebra_;
};

bool run(Program& p, const PassContext&) {
  return Fuser(p).run();
}

ARGOSY_PASS(
    fuse_epilogues, Rounding::changed,
    "Sums with a bias or a residual of the same form, activations and then numbers by which "
    "the result is multiplied or that are added to it become part of the packed product "
    "or convolution before them (packed_linear, packed_conv2d, integer_linear, integer_conv2d). "
    "Residuals where sizes are known. Codes of what integer products give become their results.",
    run)

}  // namespace
}  // namespace argosy::passes
