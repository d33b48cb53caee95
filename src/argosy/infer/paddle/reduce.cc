#include "argosy/infer/paddle/common.h"

// Reductions, sorting and places of extremes.
namespace argosy::infer::paddle {
namespace {

struct Axes {
  op::IntArray axis;
  bool keepdim;
};

Axes axes_of(const Node& n, const Tensor& x) {
  Axes a{op::IntArray::all(), n.flag("keep_dim", n.flag("keepdim"))};
  if (n.flag("reduce_all")) return a;
  const char* name = n.has_attribute("dim") ? "dim" : "axis";
  const std::vector<int64_t> given = n.known_numbers(name, "AxisTensor", "AxisTensorList");
  if (given.empty() || x.rank() == 0) return a;
  a.axis = int_array(given);
  return a;
}

// Before 2.5, which had no 0-d tensors, the reduction of everything had one element.
Tensor with_declared_rank(const Node& n, const Tensor& out) {
  const Variable* v = n.declared("Out");
  return out.rank() == 0 && v && v->shape.rank() == 1 ? ops::reshape(out, {1}) : out;
}

template <Name op>
void reduce(const Node& n) {
  const Tensor x = n.in("X");
  const Axes a = axes_of(n, x);
  Tensor out = call(op.text, {x}, {{"axis", a.axis}, {"keepdim", a.keepdim}});
  const DType to = n.dtype("out_dtype", n.dtype("dtype", out.dtype()));
  n.out("Out", with_declared_rank(n, as(out, to)));
}

void mean_of_all(const Node& n) {
  n.out("Out", with_declared_rank(n, ops::mean(n.in("X"))));
}

void arg(const Node& n, const char* op) {
  const Tensor x = n.in("X");
  const bool keepdim = n.flag("keepdims");
  const DType dtype = n.dtype("dtype", DType::int64);
  if (n.flag("flatten"))
    return n.out("Out",
                 with_declared_rank(n, call(op, {x}, {{"keepdim", keepdim}, {"dtype", dtype}})));
  n.out("Out", call(op, {x},
                    {{"axis", n.known_number("axis", -1, "AxisTensor")},
                     {"keepdim", keepdim},
                     {"dtype", dtype}}));
}
void arg_max(const Node& n) {
  arg(n, "argmax");
}
void arg_min(const Node& n) {
  arg(n, "argmin");
}

void argsort(const Node& n) {
  const Tensors both = call_all(
      "sort_with_index", {n.in("X")},
      {{"axis", n.integer("axis", -1)}, {"descending", n.flag("descending")}, {"stable", true}});
  n.out("Out", both[0]);
  n.out("Indices", both[1]);
}

void top_k(const Node& n) {
  const Tensors both = call_all("topk", {n.in("X")},
                                {{"k", n.scalar("k", 1, "K")},
                                 {"axis", n.integer("axis", -1)},
                                 {"largest", n.flag("largest", true)},
                                 {"sorted", n.flag("sorted", true)}});
  n.out("Out", both[0]);
  n.out("Indices", both[1]);
}

void cumsum(const Node& n) {
  Tensor x = n.in("X");
  int64_t axis = n.known_number("axis", -1, "AxisTensor");
  if (n.flag("flatten")) {
    x = ops::reshape(x, {-1});
    axis = 0;
  }
  Tensor out = call("cumsum", {x}, {{"axis", axis}, {"reverse", n.flag("reverse")}});
  // What stands before an element, without itself.
  if (n.flag("exclusive")) out = ops::subtract(out, x);
  n.out("Out", as(out, x.dtype()));
}

void cumprod(const Node& n) {
  n.out("Out", call("cumprod", {n.in("X")}, {{"dim", n.integer("dim", -1)}}));
}

void kthvalue(const Node& n) {
  const Tensors both = call_all(
      "kthvalue", {n.in("X")},
      {{"k", n.integer("k", 1)}, {"axis", n.integer("axis", -1)}, {"keepdim", n.flag("keepdim")}});
  n.out("Out", both[0]);
  n.out("Indices", both[1]);
}

void unique(const Node& n) {
  const Tensor x = n.in("X");
  // The first form gives only values and where each stands, in order of appearance.
  if (!n.flag("is_sorted")) n.unsupported("unique in order of appearance");
  const std::vector<int64_t> axis = n.integers("axis");
  const DType dtype = n.dtype("dtype", DType::int64);
  std::vector<Arg> args{{"dtype", dtype}};
  if (!axis.empty()) args.emplace_back("axis", axis.front());
  const Tensors all = call_all("unique_all", std::span(&x, 1), args);
  n.out("Out", all[0]);
  n.out("Indices", all[1]);
  n.out("Index", all[2]);
  n.out("Counts", all[3]);
}

// Of an even number of elements the mean of the two in the middle, or with "min" the lower one and
// where it stands.
void median(const Node& n, const char* mean, const char* lower) {
  const Tensor x = n.in("X");
  const std::vector<int64_t> given = n.integers("axis");
  const op::IntArray axis = given.empty() ? op::IntArray::all() : int_array(given);
  const bool keepdim = n.flag("keepdim", true);
  if (n.text("mode", "avg") == "min") {
    const Tensors both = call_all(lower, {x}, {{"axis", axis}, {"keepdim", keepdim}});
    n.out("Out", both[0]);
    return n.out("MedianIndex", both[1]);
  }
  n.out("Out", call(mean, {x}, {{"axis", axis}, {"keepdim", keepdim}}));
}
void median_of_all(const Node& n) {
  median(n, "median", "median_lower");
}
void median_of_numbers(const Node& n) {
  median(n, "nanmedian", "nanmedian_lower");
}

void extreme_with_place(const Node& n, const char* arg) {
  Tensor x = n.in("x");
  const bool keepdim = n.flag("keepdim");
  if (n.flag("flatten")) n.unsupported("the place in a tensor that is flattened");
  const int axis = n.axis(n.integer("dim", 0), std::max(x.rank(), 1));
  if (x.rank() == 0) {
    n.out("values", x);
    return n.out("indices", call(arg, {x}));
  }
  const Tensor place = call(arg, {x}, {{"axis", axis}, {"keepdim", true}});
  const Tensor value = call("take_along", {x, place}, {{"axis", axis}});
  n.out("values", keepdim ? value : ops::squeeze(value, {axis}));
  n.out("indices", keepdim ? place : ops::squeeze(place, {axis}));
}
void max_with_place(const Node& n) {
  extreme_with_place(n, "argmax");
}
void min_with_place(const Node& n) {
  extreme_with_place(n, "argmin");
}

void logcumsumexp(const Node& n) {
  Tensor x = n.in("X");
  if (n.flag("exclusive")) n.unsupported("logcumsumexp of what stands before an element");
  int64_t axis = n.integer("axis", -1);
  if (n.flag("flatten")) {
    x = ops::reshape(x, {-1});
    axis = 0;
  }
  n.out("Out", call("logcumsumexp", {x}, {{"axis", axis}, {"reverse", n.flag("reverse")}}));
}

template <Name op>
void spread(const Node& n) {
  const std::vector<int64_t> given = n.integers("axis");
  n.out("out", call(op.text, {n.in("x")},
                    {{"axis", given.empty() ? op::IntArray::all() : int_array(given)},
                     {"keepdim", n.flag("keepdim")},
                     {"correction", n.real("correction", n.flag("unbiased", true) ? 1 : 0)}}));
}

void unique_consecutive(const Node& n) {
  const Tensor x = n.in("X");
  const std::vector<int64_t> axis = n.integers("axis");
  std::vector<Arg> args{{"dtype", n.dtype("dtype", DType::int64)}, {"consecutive", true}};
  if (!axis.empty()) args.emplace_back("axis", axis.front());
  const Tensors all = call_all("unique_all", std::span(&x, 1), args);
  n.out("Out", all[0]);
  n.out("Index", all[2]);
  n.out("Counts", all[3]);
}

void l1_norm(const Node& n) {
  n.out("Out", ops::sum(ops::abs(n.in("X"))));
}

// In how many rows the label is among the places.
void accuracy(const Node& n) {
  const Tensor places = n.in("Indices"), label = n.in("Label");
  const Tensor found = ops::any(ops::equal(places, ops::reshape(label, {-1, 1})), {1});
  const Tensor correct = ops::sum(as(found, DType::float32));
  const Tensor total = ops::size_of(places, 0, DType::float32);
  n.out("Accuracy", ops::divide(correct, total));
  n.out("Correct", as(correct, DType::int32));
  n.out("Total", as(total, DType::int32));
}

void bincount(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t least = n.known_number("minlength", 0, "Minlength");
  if (!x.symbolic()) check_folded(n, {least});
  n.out("Out", call("bincount", {x, n.optional("Weights")}, {{"minlength", least}}));
}

constexpr Row kRows[] = {
    {"reduce_sum", reduce<"sum">},
    {"reduce_mean", reduce<"mean">},
    {"reduce_max", reduce<"max">},
    {"reduce_min", reduce<"min">},
    {"reduce_prod", reduce<"prod">},
    {"reduce_any", reduce<"any">},
    {"reduce_all", reduce<"all">},
    {"reduce_amax", reduce<"amax">},
    {"reduce_amin", reduce<"amin">},
    {"logsumexp", reduce<"logsumexp">},
    {"mean", mean_of_all},
    {"arg_max", arg_max},
    {"arg_min", arg_min},
    {"argsort", argsort},
    {"top_k", top_k},
    {"top_k_v2", top_k},
    {"cumsum", cumsum},
    {"cumprod", cumprod},
    {"kthvalue", kthvalue},
    {"unique", unique},
    {"unique_consecutive", unique_consecutive},
    {"accuracy", accuracy},
    {"bincount", bincount},
    {"l1_norm", l1_norm},
    {"logcumsumexp", logcumsumexp},
    {"max_with_index", max_with_place},
    {"min_with_index", min_with_place},
    {"median", median_of_all},
    {"nanmedian", median_of_numbers},
    {"std", spread<"std">},
    {"var", spread<"var">},
};

}  // namespace

std::span<const Row> reduce_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
