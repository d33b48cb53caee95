#include "argosy/op/shape_check.h"

#include <cstring>
#include <mutex>
#include <set>

#include "argosy/base/random.h"
#include "argosy/base/watch.h"
#include "argosy/op/dispatch.h"

namespace argosy::op {
namespace {

struct Seen {
  std::mutex mutex;
  std::set<std::string> inputs;
  static Seen& instance() {
    static Seen* seen = new Seen;
    return *seen;
  }
};

// In a call that is made to check another.
thread_local bool checking = false;
struct Checking {
  Checking() { checking = true; }
  ~Checking() { checking = false; }
};

using Operands = InlineVector<Tensor, 8>;

// Some data where there was none: bytes that are nobody's idea of a number.
Tensor with_data(const Tensor& t) {
  if (t.has_data()) return t;
  Tensor filled = Tensor::empty(t.shape(), t.dtype(), t.place());
  std::memset(filled.raw(), t.dtype() == DType::bool_ ? 1 : 0x7b, filled.nbytes());
  return filled;
}

// The operands with and without the data of shape-only inputs; says which inputs these are.
std::vector<size_t> take_apart(const OpDef& op, const Inputs& in, Operands& with,
                               Operands& without) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].reads != Reads::shape) continue;
    const size_t begin = in.place_of(i), count = op.inputs[i].list ? in.list(i).size() : 1;
    bool any = false;
    for (size_t k = begin; k < begin + count; ++k) {
      const Tensor& t = in.flat()[k];
      if (!t.defined() || t.layout() != Layout::strided || t.place().kind != DeviceKind::cpu)
        continue;
      with[k] = with_data(t);
      without[k] = Tensor::describe(t.shape(), t.dtype(), t.place());
      any = true;
    }
    if (any) inputs.push_back(i);
  }
  return inputs;
}

bool same(const Tensor& a, const Tensor& b, bool values) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.shape() != b.shape() || a.dtype() != b.dtype() || a.layout() != b.layout()) return false;
  if (a.layout() != Layout::strided) {
    const auto &x = a.impl()->parts, &y = b.impl()->parts;
    bool equal = x.size() == y.size();
    for (size_t i = 0; equal && i < x.size(); ++i) equal = same(x[i], y[i], values);
    return equal;
  }
  if (!values || a.numel() == 0 || a.place().kind != DeviceKind::cpu) return true;
  if (!a.has_data() || !b.has_data()) return a.has_data() == b.has_data();
  const Tensor x = contiguous(a), y = contiguous(b);
  return !std::memcmp(x.raw(), y.raw(), x.nbytes());
}

// What is given without data (as what a gradient rule saved the shape of) is read for its shape.
void check_described(const OpDef& op, const Inputs& in) {
  if (op.view || op.views) return;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.inputs[i].reads == Reads::shape) continue;
    const size_t begin = in.place_of(i), count = op.inputs[i].list ? in.list(i).size() : 1;
    for (const Tensor& t : in.flat().subspan(begin, count))
      ARGOSY_CHECK(!t.defined() || t.has_data() || !t.numel() || t.layout() != Layout::strided ||
                       t.place().kind != DeviceKind::cpu,
                   internal)
          << '[' << op.name << "] is given " << op.inputs[i].name << ' ' << t
          << " without data, and its description does not say that it reads nothing else. Do this: "
             "add .shape_only() to that input, or save its value.";
  }
}

template <class Run>
bool gives_the_same(const OpDef& op, const Run& run, const Inputs& with, const Inputs& without) {
  random::Generator& numbers = random::default_generator(Place());
  const std::string state = numbers.state();
  const Tensors wanted = run(with);
  numbers.set_state(state);
  const Tensors got = run(without);
  numbers.set_state(state);
  bool equal = wanted.size() == got.size();
  for (size_t i = 0; equal && i < got.size(); ++i)
    equal = same(wanted[i], got[i], !op.uninitialized);
  return equal;
}

}  // namespace

void check_shape_only(const OpDef& op, const Inputs& in, const void* attrs) {
  if (checking || thread_state.recorder) return;
  for (const Tensor& t : in.flat())
    if (t.defined() && t.symbolic()) return;
  check_described(op, in);
  if (!op.writes.empty() || !op.updates.empty()) return;
  Operands all(in.flat()), fewer(in.flat());
  const std::vector<size_t> inputs = take_apart(op, in, all, fewer);
  if (inputs.empty()) return;
  const Inputs with(all, in.ends()), without(fewer, in.ends());
  const Checking here;
  GradMode off(false);
  auto call = [&](const Inputs& operands) { return dispatch(op, operands, attrs); };
  auto compose = [&](const Inputs& operands) { return op.compose(operands, attrs); };
  bool equal = gives_the_same(op, call, with, without);
  if (equal && op.compose) equal = gives_the_same(op, compose, with, without);
  std::string names;
  for (size_t i : inputs) names += (names.empty() ? "" : ", ") + op.inputs[i].name;
  ARGOSY_CHECK(equal, internal)
      << '[' << op.name << "] is said to read nothing but the shape of " << names
      << ", but gives another result without its data. Do this: take .shape_only() out of its "
         "description.";
  Seen& seen = Seen::instance();
  std::lock_guard lock(seen.mutex);
  for (size_t i : inputs) seen.inputs.insert(op.name + "." + op.inputs[i].name);
}

void start_shape_check() {
  Seen& seen = Seen::instance();
  std::lock_guard lock(seen.mutex);
  seen.inputs.clear();
  watch::set(watch::shapes, true);
}

std::vector<std::string> stop_shape_check() {
  watch::set(watch::shapes, false);
  Seen& seen = Seen::instance();
  std::lock_guard lock(seen.mutex);
  return {seen.inputs.begin(), seen.inputs.end()};
}

}  // namespace argosy::op
