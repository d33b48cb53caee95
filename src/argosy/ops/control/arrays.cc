#include <algorithm>
#include <array>
#include <cstring>

#include "argosy/op/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/control/control.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/sparse/sparse.h"

namespace argosy::ops {

Tensor make_array(std::vector<Tensor> elements, DType dtype) {
  Tensor t = Tensor::describe({static_cast<int64_t>(elements.size())}, dtype);
  t.impl()->layout = Layout::tensor_array;
  t.impl()->parts = std::move(elements);
  return t;
}

namespace {

using op::GradCall;
using op::InferContext;
using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

// An array holds what it is given.
constexpr op::LayoutSet kAnyElement{Layout::strided, Layout::ragged, Layout::row_sparse,
                                    Layout::coo,     Layout::csr,    Layout::tensor_array};

void check_array(const char* name, const Tensor& t) {
  ARGOSY_CHECK(t.layout() == Layout::tensor_array, type)
      << '[' << name << "] array: expected a tensor array, got " << t
      << ". Do this: make one with create_array(dtype).";
}

// An element's place, checked.
int64_t place(const char* name, const Tensor& i, const Tensor& array, int64_t end) {
  ARGOSY_CHECK(i.numel() == 1, invalid_argument)
      << '[' << name << "] i: expected one integer, got " << i
      << ". Do this: pass a tensor of shape [1] or [] and dtype int64.";
  const int64_t at = i.dtype() == DType::int64 ? *i.data<int64_t>() : *i.data<int32_t>();
  ARGOSY_CHECK(at >= 0 && at < end, index)
      << '[' << name << "] i is out of range: expected from 0 to " << end - 1 << ", got " << at
      << " (the array has " << array.parts().size()
      << " elements). Do this: write from index 0 on without gaps, and read below "
         "array_length(array).";
  return at;
}

void infer_array(InferContext& c) {
  for (op::Meta& m : c.out) m.layout = Layout::tensor_array, m.shape = {kUnknown};
}

// --- new ---

struct NewAttrs {
  DType dtype = DType::float32;
};
ARGOSY_ATTRS(NewAttrs, dtype)

void new_infer(InferContext& c, const NewAttrs& a) {
  infer_array(c);
  c.out[0].dtype = a.dtype;
}

void new_run(KernelFrame& f, const NewAttrs& a) {
  f.out[0] = make_array({}, a.dtype);
}

ARGOSY_OP(array_new, NewAttrs)
    .doc("An empty tensor array: a list of tensors that is a value of a Program.")
    .output("array")
    .infer(new_infer)
    .kernel("list", new_run)
    .on_host()
    .done();

// --- length ---

void length_infer(InferContext& c, const NoAttrs&) {
  check_array(c.name(), c.in[0]);
  c.out[0] = {{}, DType::int64};
}

void length_run(KernelFrame& f, const NoAttrs&) {
  op::put_integer(f.out[0], static_cast<int64_t>(f.in[0].parts().size()));
}

ARGOSY_OP(array_length, NoAttrs)
    .doc("Number of elements of a tensor array, int64[].")
    .input("array")
    .layouts(op::kArray)
    .index_output("length")
    .infer(length_infer)
    .kernel("list", length_run)
    .strided()
    .on_host()
    .done();

// --- add arrays, of gradients: element by element, where only one has an element, that ---

void add_infer(InferContext& c, const NoAttrs&) {
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

// Elements may be arrays themselves, or row-sparse.
Tensor sum_of(const Tensor& x, const Tensor& y) {
  if (x.layout() == Layout::row_sparse || y.layout() == Layout::row_sparse) {
    const Tensor both[] = {x, y};
    return add_rows(both);
  }
  if (x.layout() != Layout::tensor_array) return add(x, y);
  std::vector<Tensor> sum = x.parts();
  const std::vector<Tensor>& other = y.parts();
  if (sum.size() < other.size()) sum.resize(other.size());
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i].defined()) sum[i] = sum[i].defined() ? sum_of(sum[i], other[i]) : other[i];
  return make_array(std::move(sum), x.dtype());
}

void add_run(KernelFrame& f, const NoAttrs&) {
  f.out[0] = sum_of(f.in[0], f.in[1]);
}

Tensors add_grad(const GradCall& c, const NoAttrs&) {
  return {c.dy(), c.dy()};
}

ARGOSY_OP(array_add, NoAttrs)
    .doc("The element by element sum of two arrays; a missing element counts as zero.")
    .input("x")
    .layouts(op::kDenseOrArray)
    .input("y")
    .layouts(op::kDenseOrArray)
    .output("out")
    .infer(add_infer)
    .kernel("list", add_run)
    .strided()
    .gradient(add_grad)
    .on_host()
    .done();

// --- an array with one element, and elements of gradients ---

void one_infer(InferContext& c, const NoAttrs&) {
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

void one_run(KernelFrame& f, const NoAttrs&) {
  const int64_t at = place(f.name(), f.in[1], f.in[0], INT64_MAX);
  std::vector<Tensor> parts(static_cast<size_t>(at) + 1);
  parts[static_cast<size_t>(at)] = f.in[0];
  f.out[0] = make_array(std::move(parts), f.in[0].dtype());
}

// d(array_of_one)/dx: the element of dy, zeros where it has none.
void element_or_zeros_infer(InferContext& c, const NoAttrs&) {
  c.out[0] = {c.in[2].shape(), c.in[2].dtype(), c.in[2].layout()};
}

void element_or_zeros_run(KernelFrame& f, const NoAttrs&) {
  const auto& parts = f.in[0].parts();
  const auto at = static_cast<size_t>(place(f.name(), f.in[1], f.in[0], INT64_MAX));
  const bool written = at < parts.size() && parts[at].defined();
  if (f.in[2].layout() == Layout::tensor_array)
    f.out[0] = written ? parts[at] : make_array({}, f.in[2].dtype());
  else if (written)
    op::copy_into(f.out[0], parts[at]);
  else
    op::clear(f.out[0]);
}

Tensors one_grad(const GradCall& c, const NoAttrs&);
Tensors element_or_zeros_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(array_of_one, NoAttrs)
    .doc("An array whose only written element is x, at place i.")
    .input("x", kAny, Save::shape)
    .layouts(kAnyElement)
    .input("i", kIndex, Save::value)
    .host()
    .output("array")
    .infer(one_infer)
    .kernel("list", one_run)
    .gradient(one_grad)
    .on_host()
    .done();

ARGOSY_OP(array_element_or_zeros, NoAttrs)
    .doc("Element i of an array, or zeros of the form of `like` where it was never written.")
    .input("array")
    .layouts(op::kArray)
    .input("i", kIndex, Save::value)
    .host()
    .input("like", kAny, Save::shape)
    .shape_only()
    .layouts(kAnyElement)
    .output("out")
    .infer(element_or_zeros_infer)
    .kernel("list", element_or_zeros_run)
    .strided()
    .gradient(element_or_zeros_grad)
    .on_host()
    .done();

Tensors one_grad(const GradCall& c, const NoAttrs&) {
  return {array_element_or_zeros_op.one(std::array{c.dy(), c.in[1], c.in[0]})};
}

Tensors element_or_zeros_grad(const GradCall& c, const NoAttrs&) {
  return {array_of_one_op.one(std::array{c.dy(), c.in[1]})};
}

// --- without an element ---

void without_infer(InferContext& c, const NoAttrs&) {
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

void without_run(KernelFrame& f, const NoAttrs&) {
  std::vector<Tensor> parts = f.in[0].parts();
  const int64_t from = place(f.name(), f.in[1], f.in[0], INT64_MAX);
  const int64_t end = std::min<int64_t>(from + f.in[2].data<int64_t>()[0], std::ssize(parts));
  for (int64_t i = from; i < end; ++i) parts[static_cast<size_t>(i)] = Tensor();
  f.out[0] = make_array(std::move(parts), f.in[0].dtype());
}

Tensors without_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(array_without, NoAttrs)
    .doc("The array with elements i to i + count left unwritten.")
    .input("array")
    .layouts(op::kArray)
    .input("i", kIndex, Save::value)
    .host()
    .input("count", only(DType::int64), Save::value)
    .host()
    .output("out")
    .infer(without_infer)
    .kernel("list", without_run)
    .strided()
    .gradient(without_grad)
    .on_host()
    .done();

Tensor without(const Tensor& array, const Tensor& i, const Tensor& count) {
  return array_without_op.one(std::array{array, i, count});
}

Tensors without_grad(const GradCall& c, const NoAttrs&) {
  return {without(c.dy(), c.in[1], c.in[2])};
}

// --- the first elements ---

void take_run(KernelFrame& f, const NoAttrs&) {
  const std::vector<Tensor>& parts = f.in[0].parts();
  const int64_t count = place(f.name(), f.in[1], f.in[0], std::ssize(parts) + 1);
  f.out[0] = make_array({parts.begin(), parts.begin() + count}, f.in[0].dtype());
}

Tensors take_grad(const GradCall& c, const NoAttrs&) {
  return {c.dy(), Tensor()};
}

ARGOSY_OP(array_take, NoAttrs)
    .doc("The first i elements of an array, as an array.")
    .input("array")
    .layouts(op::kArray)
    .input("i", kIndex)
    .host()
    .output("out")
    .infer(without_infer)
    .kernel("list", take_run)
    .strided()
    .gradient(take_grad)
    .on_host()
    .done();

// --- parts of an array ---

// What an array may be filled up to: an array of a gradient may end before the array it is of.
constexpr int64_t kMostElements = int64_t{1} << 26;

int64_t number(const KernelFrame& f, int i) {
  ARGOSY_CHECK(f.in[i].numel() == 1, invalid_argument)
      << '[' << f.name() << "] one integer is expected, got " << f.in[i]
      << ". Do this: pass a tensor of shape [1] or [] and dtype int64.";
  return *f.in[i].data<int64_t>();
}

// Room for that many elements.
size_t room(const KernelFrame& f, int64_t count) {
  ARGOSY_CHECK(count >= 0 && count <= kMostElements, invalid_argument)
      << '[' << f.name() << "] an array holds up to " << kMostElements << " elements, got " << count
      << ". Do this: pass the array's own length.";
  return static_cast<size_t>(count);
}

struct SliceAttrs {
  int64_t step = 1;
};
ARGOSY_ATTRS(SliceAttrs, step)

// The places of Python's l[begin:end:step], of a list of that length.
struct Places {
  int64_t first, count, step;

  Places(const KernelFrame& f, int64_t step) : step(step) {
    const int64_t length = number(f, 1);
    ARGOSY_CHECK(length >= 0, invalid_argument)
        << '[' << f.name() << "] length: expected 0 or more, got " << length << '.';
    const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? length : length - 1;
    const auto inside = [&](int64_t at) {
      return std::clamp(at < 0 ? at + length : at, low, high);
    };
    first = inside(number(f, 2));
    const int64_t end = inside(number(f, 3));
    const int64_t distance = step > 0 ? end - first : first - end;
    // No negation: the step may be the least of all integers.
    count = distance <= 0 ? 0 : (distance - 1) / (step > 0 ? step : -std::max(step, -length)) + 1;
  }
  int64_t operator[](int64_t k) const { return first + k * step; }
};

void slice_infer(InferContext& c, const SliceAttrs& a) {
  check_array(c.name(), c.in[0]);
  ARGOSY_CHECK(a.step != 0, invalid_argument)
      << '[' << c.name() << "] slice step cannot be zero. Do this: pass another step.";
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

void slice_run(KernelFrame& f, const SliceAttrs& a) {
  const std::vector<Tensor>& parts = f.in[0].parts();
  Places at(f, a.step);
  // Nothing is written behind the parts.
  const int64_t written = std::ssize(parts);
  if (at.step > 0 && at.count > 0)
    at.count = std::min(at.count, at.first < written ? (written - 1 - at.first) / at.step + 1 : 0);
  std::vector<Tensor> some(room(f, at.count));
  for (int64_t k = 0; k < at.count; ++k)
    if (at[k] < written) some[static_cast<size_t>(k)] = parts[static_cast<size_t>(at[k])];
  f.out[0] = make_array(std::move(some), f.in[0].dtype());
}

void place_run(KernelFrame& f, const SliceAttrs& a) {
  const std::vector<Tensor>& parts = f.in[0].parts();
  const Places at(f, a.step);
  std::vector<Tensor> all(room(f, number(f, 1)));
  for (int64_t k = 0; k < std::min(at.count, std::ssize(parts)); ++k)
    all[static_cast<size_t>(at[k])] = parts[static_cast<size_t>(k)];
  f.out[0] = make_array(std::move(all), f.in[0].dtype());
}

Tensors slice_grad(const GradCall& c, const SliceAttrs& a);
Tensors place_grad(const GradCall& c, const SliceAttrs& a);

ARGOSY_OP(array_slice, SliceAttrs)
    .doc(
        "Elements begin, begin + step, .. before end of an array, as an array. begin and end count "
        "as in a slice of a list of `length` elements; an element that the array lacks is left "
        "unwritten.")
    .input("array")
    .layouts(op::kArray)
    .input("length", only(DType::int64), Save::value)
    .host()
    .input("begin", only(DType::int64), Save::value)
    .host()
    .input("end", only(DType::int64), Save::value)
    .host()
    .output("out")
    .infer(slice_infer)
    .kernel("list", slice_run)
    .strided()
    .gradient(slice_grad)
    .on_host()
    .done();

ARGOSY_OP(array_place, SliceAttrs)
    .doc(
        "An array of `length` elements, of which those that array_slice takes are the array's; the "
        "others are left unwritten.")
    .input("array")
    .layouts(op::kArray)
    .input("length", only(DType::int64), Save::value)
    .host()
    .input("begin", only(DType::int64), Save::value)
    .host()
    .input("end", only(DType::int64), Save::value)
    .host()
    .output("out")
    .infer(slice_infer)
    .kernel("list", place_run)
    .strided()
    .gradient(place_grad)
    .on_host()
    .done();

Tensors slice_grad(const GradCall& c, const SliceAttrs& a) {
  return {array_place_op.one(std::array{c.dy(), c.in[1], c.in[2], c.in[3]}, a)};
}

Tensors place_grad(const GradCall& c, const SliceAttrs& a) {
  return {array_slice_op.one(std::array{c.dy(), c.in[1], c.in[2], c.in[3]}, a)};
}

// --- one array behind another ---

void chain_infer(InferContext& c, const NoAttrs&) {
  check_array(c.name(), c.in[0]);
  check_array(c.name(), c.in[2]);
  ARGOSY_CHECK(c.in[0].dtype() == c.in[2].dtype(), type)
      << '[' << c.name() << "] expected arrays of one dtype, got " << c.in[0].dtype() << " and "
      << c.in[2].dtype() << ". Do this: cast the elements of one.";
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

void chain_run(KernelFrame& f, const NoAttrs&) {
  std::vector<Tensor> all = f.in[0].parts();
  const std::vector<Tensor>& more = f.in[2].parts();
  all.resize(room(f, number(f, 1)));
  all.insert(all.end(), more.begin(), more.end());
  f.out[0] = make_array(std::move(all), f.in[0].dtype());
}

Tensors chain_grad(const GradCall& c, const NoAttrs&) {
  const Tensor zero = constant(op::Scalar(int64_t{0}), DType::int64);
  const Tensor last = constant(op::Scalar(INT64_MAX), DType::int64);
  const SliceAttrs each;
  return {array_slice_op.one(std::array{c.dy(), c.in[1], zero, c.in[1]}, each), Tensor(),
          array_slice_op.one(std::array{c.dy(), last, c.in[1], last}, each)};
}

ARGOSY_OP(array_chain, NoAttrs)
    .doc("The first `length` elements of x, as many as it has, then those of y.")
    .input("x")
    .layouts(op::kArray)
    .input("length", only(DType::int64), Save::value)
    .host()
    .input("y")
    .layouts(op::kArray)
    .output("out")
    .infer(chain_infer)
    .kernel("list", chain_run)
    .strided()
    .gradient(chain_grad)
    .on_host()
    .done();

// --- read ---

struct ReadAttrs {
  std::vector<int64_t> shape;
  DType dtype = DType::float32;
  bool array = false;  // the element is an array itself
};
ARGOSY_ATTRS(ReadAttrs, shape, dtype, array)

op::Meta element_form(const Tensor& array, const ReadAttrs& a) {
  if (a.array) return {{kUnknown}, a.dtype, Layout::tensor_array};
  op::Meta m{Shape(a.shape), a.dtype};
  // When it runs the element is taken as it is: nothing to allocate.
  if (!array.symbolic() && !a.shape.empty()) m.shape[0] = kUnknown;
  return m;
}

const Tensor& element(const KernelFrame& f, int64_t at) {
  const Tensor& e = f.in[0].parts()[static_cast<size_t>(at)];
  ARGOSY_CHECK(e.defined(), invalid_argument)
      << '[' << f.name() << "] element " << at
      << " was never written. Do this: write it before it is read.";
  return e;
}

void read_infer(InferContext& c, const ReadAttrs& a) {
  check_array(c.name(), c.in[0]);
  c.out[0] = element_form(c.in[0], a);
}

void read_run(KernelFrame& f, const ReadAttrs&) {
  f.out[0] = element(f, place(f.name(), f.in[1], f.in[0], std::ssize(f.in[0].parts())));
}

Tensors read_grad(const GradCall& c, const ReadAttrs&) {
  return {array_of_one_op.one(std::array{c.dy(), c.in[1]})};
}

ARGOSY_OP(array_read, ReadAttrs)
    .doc("Element i of a tensor array. shape, dtype: its form, sizes -1 where unknown.")
    .input("array")
    .layouts(op::kArray)
    .input("i", kIndex, Save::value)
    .host()
    .output("out")
    .infer(read_infer)
    .kernel("list", read_run)
    .strided()
    .gradient(read_grad)
    .on_host()
    .done();

// --- read at a known place ---

struct GetAttrs {
  int64_t index = 0;
  std::vector<int64_t> shape;
  DType dtype = DType::float32;
  bool array = false;
};
ARGOSY_ATTRS(GetAttrs, index, shape, dtype, array)

void get_infer(InferContext& c, const GetAttrs& a) {
  c.out[0] = element_form(c.in[0], {a.shape, a.dtype, a.array});
}

void get_run(KernelFrame& f, const GetAttrs& a) {
  ARGOSY_CHECK(a.index >= 0 && a.index < std::ssize(f.in[0].parts()), index)
      << '[' << f.name() << "] index " << a.index << " of an array of " << f.in[0].parts().size()
      << " elements.";
  f.out[0] = element(f, a.index);
}

Tensors get_grad(const GradCall& c, const GetAttrs& a) {
  return {array_of_one_op.one(std::array{c.dy(), constant(op::Scalar(a.index), DType::int64)})};
}

ARGOSY_OP(array_get, GetAttrs)
    .doc("Element `index` of a tensor array that holds what a gradient needs.")
    .input("array")
    .layouts(op::kArray)
    .output("out")
    .infer(get_infer)
    .kernel("list", get_run)
    .strided()
    .gradient(get_grad)
    .on_host()
    .done();

// --- write ---

void write_run(KernelFrame& f, const NoAttrs&) {
  check_array(f.name(), f.in[0]);
  auto& parts = f.out[0].impl()->parts;
  const auto at = static_cast<size_t>(place(f.name(), f.in[1], f.in[0], std::ssize(parts) + 1));
  if (at == parts.size()) parts.emplace_back();
  parts[at] = f.in[2];
  f.out[0].impl()->shape = {std::ssize(parts)};
  f.out[0].impl()->numel = std::ssize(parts);
}

Tensors write_grad(const GradCall& c, const NoAttrs&) {
  Tensor dx = array_element_or_zeros_op.one(std::array{c.dy(), c.in[1], c.in[2]});
  return {without(c.dy(), c.in[1], constant(op::Scalar(int64_t{1}), DType::int64)), Tensor(), dx};
}

ARGOSY_OP(array_write, NoAttrs)
    .doc("Puts x at place i of a tensor array, in place; i may be one past its end.")
    .input("array")
    .layouts(op::kArray)
    .input("i", kIndex, Save::value)
    .host()
    .input("x", kAny, Save::shape)
    .output("out")
    .writes({0})
    .kernel("list", write_run)
    .gradient(write_grad)
    .on_host()
    .done();

// --- extend ---

void extend_run(KernelFrame& f, const NoAttrs&) {
  auto& parts = f.out[0].impl()->parts;
  for (const Tensor& x : f.in.list(1)) parts.push_back(x);
  f.out[0].impl()->shape = {std::ssize(parts)};
  f.out[0].impl()->numel = std::ssize(parts);
}

Tensors extend_grad(const GradCall& c, const NoAttrs&) {
  const auto xs = c.in.list(1);
  Tensor i = array_length_op(c.in[0]);
  Tensors out{without(c.dy(), i, constant(op::Scalar(std::ssize(xs)), DType::int64))};
  Tensor one = constant(op::Scalar(int64_t{1}), DType::int64);
  for (size_t k = 0; k < xs.size(); ++k) {
    out.push_back(is_differentiable(xs[k].dtype())
                      ? array_element_or_zeros_op.one(std::array{c.dy(), i, xs[k]})
                      : Tensor());
    i = add(i, one);
  }
  return out;
}

ARGOSY_OP(array_extend, NoAttrs)
    .doc("Adds xs, of any forms, at the end of a tensor array, in place.")
    .input("array")
    .layouts(op::kArray)
    .list_input("xs", kAny, Save::shape)
    .layouts(kAnyElement)
    .output("out")
    .writes({0})
    .kernel("list", extend_run)
    .gradient(extend_grad)
    .on_host()
    .done();

// --- become another ---

void assign_run(KernelFrame& f, const NoAttrs&) {
  check_array(f.name(), f.in[0]);
  std::vector<Tensor> parts = f.in[1].parts();
  f.out[0].impl()->shape = {std::ssize(parts)};
  f.out[0].impl()->numel = std::ssize(parts);
  f.out[0].impl()->parts = std::move(parts);
}

Tensors assign_grad(const GradCall& c, const NoAttrs&) {
  return {array_new(c.dy().dtype()), c.dy()};
}

ARGOSY_OP(array_assign, NoAttrs)
    .doc("Gives a tensor array the elements of x instead of its own, in place.")
    .input("array")
    .layouts(op::kArray)
    .input("x")
    .layouts(op::kArray)
    .output("out")
    .writes({0})
    .kernel("list", assign_run)
    .gradient(assign_grad)
    .on_host()
    .done();

// --- to one tensor ---

struct JoinAttrs {
  int64_t axis = 0;
  bool stack = false;
  std::vector<int64_t> element;  // form of the elements, -1 where unknown or different
  bool empty = false;  // stacking an array without elements gives none of that form, else an error
};
ARGOSY_ATTRS(JoinAttrs, axis, stack, element, empty)

void join_infer(InferContext& c, const JoinAttrs& a) {
  check_array(c.name(), c.in[0]);
  Shape out;
  const int rank = static_cast<int>(a.element.size()) + a.stack;
  const int64_t axis = a.axis < 0 ? a.axis + rank : a.axis;
  ARGOSY_CHECK(axis >= 0 && axis < rank, invalid_argument)
      << '[' << c.name() << "] axis is out of range: expected from " << -rank << " to " << rank - 1
      << ", got " << a.axis << ". Do this: pass an axis of the elements.";
  out = Shape::filled(rank, kUnknown);
  for (int d = 0, from = 0; d < rank; ++d) {
    if (d == axis) {
      from += !a.stack;
      continue;
    }
    out[d] = a.element[static_cast<size_t>(from++)];
  }
  // When it runs the elements tell.
  if (!c.in[0].symbolic() && axis != 0) out[0] = kUnknown;
  c.out[0] = {out, c.in[0].dtype()};
  c.out[1] = {{kUnknown}, DType::int32};
}

void join_run(KernelFrame& f, const JoinAttrs& a) {
  const auto& parts = f.in[0].parts();
  if (parts.empty() && a.empty && a.stack) {
    Shape shape{a.element};
    for (int d = 0; d < shape.rank(); ++d) shape[d] = std::max<int64_t>(shape[d], 0);
    shape.insert(static_cast<int>(a.axis < 0 ? a.axis + shape.rank() + 1 : a.axis), 0);
    f.allocate(0, shape);
    f.allocate(1, {0});
    return;
  }
  ARGOSY_CHECK(!parts.empty(), invalid_argument)
      << '[' << f.name() << "] the array is empty. Do this: write at least one element.";
  const Tensor sizes = Tensor::empty({std::ssize(parts)}, DType::int32);
  for (size_t i = 0; i < parts.size(); ++i)
    sizes.data<int32_t>()[i] =
        a.stack ? 1 : static_cast<int32_t>(parts[i].dim(static_cast<int>(a.axis)));
  f.out[1] = op::to_place(sizes, f.out[1].place());
  f.out[0] = a.stack ? stack(parts, a.axis) : concat(parts, a.axis);
}

Tensors join_grad(const GradCall& c, const JoinAttrs& a);

ARGOSY_OP(array_join, JoinAttrs)
    .doc("The elements of an array concatenated (or stacked) along axis, and their sizes there.")
    .input("array", kAny, Save::value)
    .layouts(op::kArray)
    .output("out")
    .index_output("sizes")
    .infer(join_infer)
    .kernel("list", join_run)
    .strided()
    .gradient(join_grad)
    .on_host()
    .done();

// --- and back ---

void part_infer(InferContext& c, const JoinAttrs&) {
  infer_array(c);
  c.out[0].dtype = c.in[0].dtype();
}

void part_run(KernelFrame& f, const JoinAttrs& a) {
  std::vector<Tensor> parts;
  const int axis = static_cast<int>(a.axis < 0 ? a.axis + f.in[0].rank() : a.axis);
  int64_t begin = 0;
  for (const Tensor& like : f.in[1].parts()) {
    const int64_t end = begin + (a.stack ? 1 : like.dim(axis));
    Tensor part = slice(f.in[0], axis, begin, end);
    parts.push_back(op::contiguous(a.stack ? squeeze(part, op::IntArray{axis}) : part));
    begin = end;
  }
  f.out[0] = make_array(std::move(parts), f.in[0].dtype());
}

Tensors part_grad(const GradCall& c, const JoinAttrs& a);

ARGOSY_OP(array_part, JoinAttrs)
    .doc("x cut along axis into an array of parts of the sizes that those of `like` have.")
    .input("x")
    .input("like", kAny, Save::value)
    .layouts(op::kArray)
    .output("array")
    .infer(part_infer)
    .kernel("list", part_run)
    .strided()
    .gradient(part_grad)
    .on_host()
    .done();

Tensors join_grad(const GradCall& c, const JoinAttrs& a) {
  return {array_part_op.one(std::array{c.dy(), c.in[0]}, a)};
}

Tensors part_grad(const GradCall& c, const JoinAttrs& a) {
  return {array_join_op.all({c.dy()}, a)[0]};
}

}  // namespace

Tensor array_new(DType dtype) {
  return std::move(array_new_op.all(op::Inputs(), NewAttrs{dtype})[0]);
}
Tensor array_write(const Tensor& array, const Tensor& i, const Tensor& x) {
  return array_write_op(array, i, x);
}
Tensor array_read(const Tensor& array, const Tensor& i, const Shape& shape, DType dtype) {
  return array_read_op.one(std::array{array, i}, {{shape.begin(), shape.end()}, dtype});
}
Tensor array_extend(const Tensor& array, std::span<const Tensor> xs) {
  InlineVector<Tensor, 6> in{array};
  for (const Tensor& x : xs) in.push_back(x);
  const uint32_t ends[] = {1, static_cast<uint32_t>(in.size())};
  return std::move(array_extend_op.all(op::Inputs(in, ends))[0]);
}
Tensor array_length(const Tensor& array) {
  return array_length_op(array);
}
Tensor array_add(const Tensor& x, const Tensor& y) {
  return array_add_op(x, y);
}

}  // namespace argosy::ops
