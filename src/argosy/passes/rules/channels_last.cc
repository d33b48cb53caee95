#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/passes/rules/packing.h"
#include "argosy/program/builder.h"

// Convolutions with packed weights, whose activations have channels last; what stands between them
// works on channels last, too, so that nothing is transposed but inputs and outputs of the net.
namespace argosy::passes {
namespace {

// Axes of [n, c, ..] as [n, .., c], and back.
std::vector<int64_t> to_last(int rank) {
  return rank == 3 ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{0, 2, 3, 1};
}
std::vector<int64_t> to_first(int rank) {
  return rank == 3 ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{0, 3, 1, 2};
}
bool is_image(const Ref<Value>& v) {
  return v->shape.rank() == 3 || v->shape.rank() == 4;
}

// Sizes of a convolution whose input is not known: what nets have in the middle.
constexpr int64_t kTypical = 28;

class ChannelsLast {
 public:
  explicit ChannelsLast(Program& p) : r_(p) {}

  bool run() {
    r_.walk([&](Operation& o) { visit(o); });
    return r_.changed();
  }

 private:
  void visit(Operation& o) {
    if (o.op->structural || o.attr_operands || o.results.empty() || !alone(o)) return;
    if (is(o, "conv1d") || is(o, "conv2d"))
      conv(o);
    else if (o.op->elementwise || is(o, "where_select"))
      elementwise(o);
    else if (is(o, "batch_norm"))
      batch_norm(o);
    else if (is(o, "prelu"))
      prelu(o);
    else if (is(o, "concat"))
      concat(o);
    else if (is(o, "mean") || is(o, "sum") || is(o, "max"))
      reduce(o);
    else if (find_attr<bool>(o.attrs, "cl") && o.operands.size() == 1)
      pool(o);
    else if (o.op->same_order && !spatial_one(o))
      flatten(o);
  }

  // Of its results only the first is used.
  bool alone(const Operation& o) const {
    for (size_t i = 1; i < o.results.size(); ++i)
      if (r_.uses(o.results[i])) return false;
    return true;
  }

  // What v is the transpose of: its elements with channels last. Null for others.
  static Ref<Value> twin(const Ref<Value>& v) {
    const Operation* o = made_by(v, "transpose");
    const bool back =
        o && is_image(v) && attr<std::vector<int64_t>>(*o, "perm") == to_first(v->shape.rank());
    return back ? o->operands[0] : nullptr;
  }
  Ref<Value> transposed(const Ref<Value>& v, const std::vector<int64_t>& perm) {
    op::AttrBox attrs = default_attrs(op::get("transpose"));
    set_attr(attrs, "perm", perm);
    return r_.insert("transpose", {v}, std::move(attrs)).results[0];
  }
  Ref<Value> last(const Ref<Value>& v) {
    const Ref<Value> found = twin(v);
    return found ? found : transposed(v, to_last(v->shape.rank()));
  }
  // `made`, with channels last, takes the place of o's result.
  void finish(Operation& o, const Ref<Value>& made) {
    r_.stand_in(o.results[0], transposed(made, to_first(made->shape.rank())));
    r_.erase();
  }
  void finish_as_is(Operation& o, const Ref<Value>& made) {
    r_.stand_in(o.results[0], made);
    r_.erase();
  }

  // --- convolutions ---

  static std::optional<ops::PackedConvAttrs> attrs_of(const Operation& o, const Tensor& w,
                                                      bool last) {
    const Shape& x = o.operands[0]->shape;
    const std::string& algorithm = attr<std::string>(o, "pad_alg");
    const auto given = attr<std::vector<int64_t>>(o, "padding");
    const int dims = x.rank() - 2;
    if (algorithm == "SAME" || (algorithm == "EXPLICIT" && given.size() != 2u * dims))
      return std::nullopt;
    ops::PackedConvAttrs a;
    a.groups = attr<int64_t>(o, "groups");
    a.in = w.dim(1) * a.groups;
    a.out = w.dim(0);
    a.stride = attr<std::vector<int64_t>>(o, "stride");
    a.dilation = attr<std::vector<int64_t>>(o, "dilation");
    a.padding = algorithm == "EXPLICIT" ? given : std::vector<int64_t>(2u * dims, 0);
    if (dims == 1) {
      // One row.
      a.kernel = a.form = {1};
      a.stride.insert(a.stride.begin(), 1);
      a.dilation.insert(a.dilation.begin(), 1);
      a.padding.insert(a.padding.begin(), {0, 0});
    }
    for (int d = 0; d < dims; ++d) {
      a.kernel.push_back(w.dim(2 + d));
      const int64_t size = x[(last ? 1 : 2) + d];
      a.form.push_back(size > 0 ? size : kTypical + (w.dim(2 + d) - 1) * a.dilation[a.form.size()]);
    }
    return a;
  }

  static op::AttrBox box(const ops::PackedConvAttrs& a) {
    return op::AttrBox(*op::get("packed_conv2d").attrs, &a);
  }

  static bool is_product(const ops::PackedConvAttrs& a) {
    const std::vector<int64_t> ones{1, 1}, zeros{0, 0, 0, 0};
    return a.groups == 1 && a.kernel == ones && a.stride == ones && a.padding == zeros;
  }

  // Weights of one dimension as those of images with one row.
  static Tensor of_images(const Tensor& w) {
    if (w.rank() == 4) return w;
    const Shape& s = w.strides();
    return w.view({w.dim(0), w.dim(1), 1, w.dim(2)}, {s[0], s[1], s[2] * w.dim(2), s[2]});
  }

  void conv(Operation& o) {
    const Tensor w = r_.constant_of(o.operands[1]);
    if (!w.defined() || w.dtype() != DType::float32 || !w.numel() ||
        w.place().kind != DeviceKind::cpu || o.operands[0]->dtype != DType::float32)
      return;
    const bool is_last = attr<bool>(o, "cl");
    const auto a = attrs_of(o, w, is_last);
    if (!a) return;
    op::GradMode off(false);
    program::Recording here(nullptr);
    const Ref<Value> bias = o.operands[2];
    if (bias && bias->shape.rank() != 1) return;
    Operation* made = nullptr;
    if (is_product(*a)) {
      const Tensor matrix = w.view({a->in, a->out}, {w.strides()[1], w.strides()[0]});
      if (!ops::can_pack(ops::PackedLinearAttrs{a->in, a->out, "", 0, 0})) return;
      // However few weights: as windows, each pixel would be found through a pointer.
      made = packer_.linear(r_, is_last ? o.operands[0] : last(o.operands[0]), o.operands[1],
                            matrix, bias, 0);
    }
    if (!made) {
      if (!ops::can_pack(*a)) return;
      Message key;
      key << "conv" << Shape(std::span(a->form)) << Shape(std::span(a->stride))
          << Shape(std::span(a->padding)) << Shape(std::span(a->dilation)) << a->groups;
      const Ref<Value> packed = packer_.once(r_, o.operands[1], key.str(), of_images(w), *a);
      made = &r_.insert("packed_conv2d",
                        {is_last ? o.operands[0] : last(o.operands[0]), packed, bias, nullptr},
                        box(*a));
    }
    const Ref<Value> read = o.operands[1];
    if (is_last)
      finish_as_is(o, made->results[0]);
    else
      finish(o, made->results[0]);
    r_.drop(read);
  }

  // --- what follows ---

  // Where an operand comes with channels last, all others get them, too.
  void elementwise(Operation& o) {
    if (o.results.size() != 1 || !is_image(o.results[0]) || !o.op->writes.empty()) return;
    const int whole = o.results[0]->shape.rank();
    bool any = false;
    for (const Ref<Value>& v : o.operands) any = any || (v && v->shape.rank() == whole && twin(v));
    if (!any) return;
    std::vector<Ref<Value>> operands;
    for (const Ref<Value>& v : o.operands) operands.push_back(v ? beside_last(v, whole) : nullptr);
    op::AttrBox attrs(*o.op->attrs, o.attrs.get());
    finish(o, r_.insert(o.op->name, std::move(operands), std::move(attrs)).results[0]);
  }

  // v as it broadcasts to values of `whole` axes with channels last.
  Ref<Value> beside_last(const Ref<Value>& v, int whole) {
    const int rank = v->shape.rank();
    if (rank == whole) return last(v);
    if (rank == 0 || (v->shape.known() && v->shape.numel() == 1)) return v;
    if (rank == whole - 1)
      return transposed(v, whole == 3 ? std::vector<int64_t>{1, 0} : std::vector<int64_t>{1, 2, 0});
    op::AttrBox attrs = default_attrs(op::get("unsqueeze"));
    set_attr(attrs, "axis", op::IntArray{rank});
    return r_.insert("unsqueeze", {v}, std::move(attrs)).results[0];
  }

  void batch_norm(Operation& o) {
    const Ref<Value> x = twin(o.operands[0]);
    if (!x || attr<bool>(o, "batch_stats") || attr<bool>(o, "channel_last")) return;
    std::vector<Ref<Value>> operands = o.operands;
    operands[0] = x;
    // A copy: the statistics that another form of it would update stay as they are.
    Operation& made = r_.insert_copy(o, std::move(operands));
    set_attr(made.attrs, "channel_last", true);
    made.results[0]->shape = x->shape;
    finish(o, made.results[0]);
  }

  void prelu(Operation& o) {
    const Ref<Value> x = twin(o.operands[0]);
    if (!x || attr<std::string>(o, "data_format").back() == 'C') return;
    const std::string last = x->shape.rank() == 3 ? "NLC" : "NHWC";
    finish(o, with(o, "data_format", last, {x, o.operands[1]}));
  }

  // A spatial dimension of size 1 comes or goes: convolutions of one dimension as those of images.
  bool spatial_one(Operation& o) {
    if (!is(o, "squeeze") && !is(o, "unsqueeze")) return false;
    const Ref<Value> x = twin(o.operands[0]);
    const auto& axis = attr<op::IntArray>(o, "axis");
    if (!x || axis.size() != 1 || !is_image(o.results[0])) return false;
    const int before = x->shape.rank(), after = o.results[0]->shape.rank();
    const int64_t d = axis[0] < 0 ? axis[0] + std::max(before, after) : axis[0];
    if (before == after || d < 2) return false;
    finish(o, with(o, "axis", op::IntArray::one(d - 1), {x}));
    return true;
  }

  void pool(Operation& o) {
    const Ref<Value> x = twin(o.operands[0]);
    if (!x || attr<bool>(o, "cl") || o.results[0]->shape.rank() != 4) return;
    finish(o, with(o, "cl", true, {x}));
  }

  void concat(Operation& o) {
    const auto& axis = attr<op::IntArray>(o, "axis");
    const int rank = o.results[0]->shape.rank();
    if (axis.size() != 1 || !is_image(o.results[0])) return;
    if (axis[0] != 1 && axis[0] != 1 - rank) return;
    if (!std::all_of(o.operands.begin(), o.operands.end(),
                     [](const auto& v) { return v && twin(v); }))
      return;
    std::vector<Ref<Value>> operands;
    for (const Ref<Value>& v : o.operands) operands.push_back(twin(v));
    finish(o, with(o, "axis", op::IntArray::one(rank - 1), std::move(operands)));
  }

  // Over both spatial dimensions.
  void reduce(Operation& o) {
    const Ref<Value> x = o.operands.size() == 1 ? twin(o.operands[0]) : nullptr;
    const auto* axes = find_attr<op::IntArray>(o.attrs, "axis");
    const auto* keep = find_attr<bool>(o.attrs, "keepdim");
    if (!x || !axes || !keep || axes->size() != 2 || x->shape.rank() != 4) return;
    int64_t low = (*axes)[0] < 0 ? (*axes)[0] + 4 : (*axes)[0];
    int64_t high = (*axes)[1] < 0 ? (*axes)[1] + 4 : (*axes)[1];
    if (low > high) std::swap(low, high);
    if (low != 2 || high != 3) return;
    const bool kept = *keep;
    const Ref<Value> made = with(o, "axis", op::IntArray{1, 2}, {x});
    if (kept)
      finish(o, made);
    else
      finish_as_is(o, made);
  }

  // [n, c, 1, 1] as [n, c].
  void flatten(Operation& o) {
    if (o.operands.size() != 1 || o.results.size() != 1 || o.results[0]->shape.rank() != 2) return;
    const Ref<Value> x = twin(o.operands[0]);
    if (!x || x->shape.rank() != 4 || x->shape[1] != 1 || x->shape[2] != 1 || x->shape[3] < 0 ||
        o.results[0]->shape[1] != x->shape[3])
      return;
    op::AttrBox attrs = default_attrs(op::get("reshape"));
    set_attr(attrs, "shape", op::IntArray{-1, x->shape[3]});
    finish_as_is(o, r_.insert("reshape", {x}, std::move(attrs)).results[0]);
  }

  // The first result of an operation like o, with another attribute, on other operands.
  template <class T>
  Ref<Value> with(const Operation& o, const char* name, T value, std::vector<Ref<Value>> operands) {
    op::AttrBox attrs(*o.op->attrs, o.attrs.get());
    set_attr(attrs, name, std::move(value));
    return r_.insert(o.op->name, std::move(operands), std::move(attrs), o.ends).results[0];
  }

  Rewriter r_;
  Packer packer_;
};

bool run(Program& p, const PassContext&) {
  return ChannelsLast(p).run();
}

ARGOSY_PASS(channels_last, Rounding::changed,
            "One- and two-dimensional convolutions with constant float32 weights work on channels "
            "last, with weights packed once (packed_conv2d; packed_linear where the kernel is "
            "1x1), and so does what is between them: elementwise operations, pools, concat, means. "
            "What is fed and fetched keeps its form. For Programs that are run here, not saved.",
            run)

}  // namespace
}  // namespace argosy::passes
