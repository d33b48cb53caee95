#include "argosy/op/dispatch.h"

#include <algorithm>
#include <atomic>

#include "argosy/op/autocast.h"
#include "argosy/op/host_work.h"
#include "argosy/op/launch.h"
#include "argosy/op/recorded_write.h"
#include "argosy/op/watched.h"

namespace argosy::op {

constinit thread_local ThreadState thread_state;
constinit Hooks hooks;
bool (*refuses_recorded_write)(const Tensor& x) = nullptr;

namespace {
std::atomic<DType> current_default_dtype{DType::float32};
}

DType default_dtype() {
  return current_default_dtype.load(std::memory_order_relaxed);
}
void set_default_dtype(DType dtype) {
  current_default_dtype.store(dtype);
}

const char* InferContext::name() const {
  return op.name.c_str();
}
const char* KernelFrame::name() const {
  return op.name.c_str();
}

Tensor& KernelFrame::allocate(size_t i, const Shape& shape) {
  DType dtype = out[i].dtype();
  Place place = out[i].place();
  out[i] = Tensor::empty(shape, dtype, place);
  return out[i];
}

namespace {

// Looks at all operands once.
struct Scan {
  bool symbolic = false;
  bool grad = false;
  bool mixed_dtypes = false;
  bool strided_only = true;  // every layout is strided
  bool whole = true;         // no operand is missing, all on one device
  const TensorImpl* first = nullptr;
};

inline Scan scan(const Inputs& in) {
  Scan s;
  for (const Tensor& t : in.flat()) {
    const TensorImpl* impl = t.impl();
    if (!impl) {
      s.whole = false;
      continue;
    }
    if (!s.first) s.first = impl;
    s.symbolic |= static_cast<bool>(impl->symbol);
    s.grad |= !impl->stop_gradient;
    s.mixed_dtypes |= impl->dtype != s.first->dtype;
    s.strided_only &= impl->layout == Layout::strided;
    s.whole &= impl->place == s.first->place;
  }
  return s;
}

[[noreturn]] void fail_dtype(const OpDef& op, const InputDef& def, const Tensor& t) {
  ARGOSY_THROW(type) << '[' << op.name << "] " << def.name << " has an unsupported dtype: expected "
                     << def.dtypes << ", got " << t << ". Do this: cast it with .astype(..).";
}

[[noreturn]] void fail_layout(const OpDef& op, const InputDef& def, const Tensor& t) {
  if (t.layout() == Layout::tensor_array || def.layouts.bits == kArray.bits)
    ARGOSY_THROW(type) << '[' << op.name << "] " << def.name << ": expected a "
                       << (def.layouts.has(Layout::tensor_array) ? "tensor array" : "tensor")
                       << ", got " << t << ". Do this: "
                       << (t.layout() == Layout::tensor_array
                               ? "read an element of the array."
                               : "make one with create_array(dtype).");
  ARGOSY_THROW(invalid_argument)
      << '[' << op.name << "] " << def.name
      << " is a sparse tensor, which this op does not take. Do this: call .to_dense() first.";
}

// A value of a Program is wherever that runs.
void check_same_place(const OpDef& op, const InputDef& def, const Tensor& t,
                      const TensorImpl* first) {
  ARGOSY_CHECK(t.place() == first->place || t.symbolic() || first->symbol, invalid_argument)
      << '[' << op.name << "] inputs are on different devices: " << def.name << " on " << t.place()
      << ", others on " << first->place << ". Do this: move one of them with .to(..).";
}

// Whether the operand may be on another place than the first.
bool check_one(const OpDef& op, const InputDef& def, const Tensor& t, const TensorImpl* first) {
  if (!t.defined()) {
    ARGOSY_CHECK(def.optional, operand)
        << '[' << op.name << "] " << def.name
        << " is missing: expected a Tensor, got None. Do this: pass a Tensor.";
    return false;
  }
  if (!def.dtypes.has(t.dtype())) fail_dtype(op, def, t);
  if (!def.layouts.has(t.layout())) fail_layout(op, def, t);
  if (t.place() == first->place) [[likely]]
    return false;
  if (op.placed()) return true;
  check_same_place(op, def, t, first);
  return false;
}

// Of operands on several places: the one that says where the call runs, null where the thread does.
// It is neither an array, whose elements may be anywhere, nor read on the host.
[[gnu::noinline]] const TensorImpl* placed(const OpDef& op, const Inputs& in) {
  const TensorImpl* first = nullptr;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const InputDef& def = op.inputs[i];
    if (def.host) continue;
    for (const Tensor& t : in.list(i)) {
      if (!t.defined() || t.layout() == Layout::tensor_array) continue;
      if (!first) first = t.impl();
      check_same_place(op, def, t, first);
    }
  }
  return first;
}

// Gives the operand that says where the call runs, null where the thread does.
const TensorImpl* check_inputs(const OpDef& op, const Inputs& in, const TensorImpl* first) {
  ARGOSY_CHECK(in.ends() || in.flat().size() == op.inputs.size(), internal)
      << '[' << op.name << "] takes " << op.inputs.size() << " inputs, got " << in.flat().size();
  bool apart = false;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].list) {
      apart |= check_one(op, op.inputs[i], in[i], first);
      continue;
    }
    for (const Tensor& t : in.list(i)) apart |= check_one(op, op.inputs[i], t, first);
  }
  return apart ? placed(op, in) : first;
}

// Does an operand that is read on the host lie on a device, while the call runs on the CPU?
[[gnu::noinline]] bool is_away(const OpDef& op, const Inputs& in, const TensorImpl* first) {
  if ((first ? first->place : thread_state.place).kind != DeviceKind::cpu) return false;
  const auto away = [](const Tensor& t) {
    return t.defined() && !t.symbolic() && t.place().kind != DeviceKind::cpu;
  };
  for (size_t i = 0; i < op.inputs.size(); ++i)
    if (op.inputs[i].host && std::ranges::any_of(in.list(i), away)) return true;
  return false;
}

// promote_tensors, and what the op's own rule says beside it.
std::optional<DType> promote_pair(const OpDef& op, DType a, bool a_is_0d, DType b, bool b_is_0d) {
  if (op.counts_0d && a_is_0d != b_is_0d) return promote(a, b);
  std::optional<DType> both = promote_tensors(a, a_is_0d, b, b_is_0d);
  return both || !op.mixes_kinds ? both : promote(a, b);
}

// The dtype that operands of different dtypes are cast to; 0-d ones count as numbers.
DType common_dtype(const OpDef& op, const Inputs& in) {
  const Tensor* first = nullptr;
  DType common = DType::bool_;
  bool all_0d = true;
  for (const Tensor& t : in.flat()) {
    if (!t.defined()) continue;
    bool is_0d = t.rank() == 0;
    std::optional<DType> both =
        first ? promote_pair(op, common, all_0d, t.dtype(), is_0d) : t.dtype();
    ARGOSY_CHECK(both, attribute) << '[' << op.name
                                  << "] operands of these dtypes do not mix: " << *first << " and "
                                  << t << ". Do this: convert one of them with .astype(..).";
    common = *both;
    all_0d = all_0d && is_0d;
    if (!first) first = &t;
  }
  return common;
}

Tensors run_unseen(const OpDef& op, const Inputs& in, const void* attrs);

Tensors dispatch_promoted(const OpDef& op, const Inputs& in, const void* attrs) {
  DType common = common_dtype(op, in);
  InlineVector<Tensor, 4> cast;
  for (const Tensor& t : in.flat())
    cast.push_back(t.defined() && t.dtype() != common ? hooks.cast(t, common) : t);
  return run_unseen(op, Inputs(cast, in.ends()), attrs);
}

// Loops read every operand as one of the first's dtype. Eager calls of ops that promote come here
// cast; operations of a Program that was written by hand may not.
void check_one_dtype(const InferContext& c) {
  const Tensor* first = nullptr;
  for (size_t i = 0; i < c.op.inputs.size(); ++i)
    for (const Tensor& t : c.in.list(i)) {
      if (!t.defined()) continue;
      if (!first) first = &t;
      ARGOSY_CHECK(t.dtype() == first->dtype(), type)
          << '[' << c.name() << "] " << c.op.inputs[i].name
          << " does not fit the other operands: expected dtype " << first->dtype() << ", got " << t
          << ". Do this: cast it with .astype(..).";
    }
}

void infer_elementwise(InferContext& c) {
  Shape shape;
  bool any = false;
  DType dtype = DType::float32;
  for (const Tensor& t : c.in.flat()) {
    if (!t.defined()) continue;
    if (any) {
      shape = broadcast(c.name(), shape, t.shape());
    } else {
      shape = t.shape();
      dtype = t.dtype();
    }
    any = true;
  }
  for (Meta& m : c.out) m = {shape, dtype};
}

void explain(const OpDef& op, const std::string& text) {
  *thread_state.explain += op.name + ": " + text + "\n";
}

// The first kernel that takes the call; declined(kernel, why) is told of those before it. Inlined
// with choose, since every call of an op comes through here.
template <class F>
[[gnu::always_inline]] inline const KernelDef* first_kernel(const OpDef& op, const Inputs& in,
                                                            const void* attrs, DeviceKind device,
                                                            F&& declined) {
  for (const KernelDef& k : op.kernels[static_cast<int>(device)]) {
    const char* why_not = k.match ? k.match(in, attrs) : nullptr;
    if (!why_not) return &k;
    declined(k, why_not);
  }
  return nullptr;
}

// The same on a kind other than the CPU: its own kernels come first, then those of the CPU that it
// takes.
template <class F>
[[gnu::noinline]] const KernelDef* kernel_on(DeviceKind kind, const OpDef& op, const Inputs& in,
                                             const void* attrs, F&& declined) {
  const Launcher& device = launcher(kind);
  const DeviceKind own = device.kernels();
  if (const KernelDef* k = first_kernel(op, in, attrs, own, declined)) return k;
  if (own == DeviceKind::cpu) return nullptr;
  const bool on_host = op.on_host && op.kernels[static_cast<int>(own)].empty();
  if (!on_host && !device.takes_cpu_kernels()) return nullptr;
  const bool any = on_host || !op.compose;
  const KernelDef* first = nullptr;
  for (const KernelDef& k : op.kernels[static_cast<int>(DeviceKind::cpu)]) {
    if (!k.on_loops && (!any || first)) continue;
    if (k.match && k.match(in, attrs)) continue;
    if (k.on_loops || on_host) return &k;
    first = &k;
  }
  return first;
}

// For a call that is run.
[[gnu::always_inline]] inline const KernelDef* choose(const OpDef& op, const Inputs& in,
                                                      const void* attrs, DeviceKind device) {
  const auto declined = [&](const KernelDef& other, const char* why_not) {
    if (thread_state.explain) [[unlikely]]
      explain(op, other.name + " declined: " + why_not);
  };
  const KernelDef* k = device == DeviceKind::cpu ? first_kernel(op, in, attrs, device, declined)
                                                 : kernel_on(device, op, in, attrs, declined);
  if (k && thread_state.explain) [[unlikely]]
    explain(op, "ran " + k->name);
  return k;
}

[[noreturn]] void fail_no_kernel(const OpDef& op, const Inputs& in, Place place) {
  Message m;
  m << '[' << op.name << "] has no kernel for";
  for (const Tensor& t : in.flat()) m << ' ' << t;
  m << " on " << place << ". Do this: use argosy.explain(..) to see why each kernel declined.";
  throw Error(ErrorKind::not_implemented, m.str());
}

InlineVector<Tensor, 4> dense_inputs(const Inputs& in) {
  InlineVector<Tensor, 4> dense;
  for (const Tensor& t : in.flat())
    dense.push_back(t.defined() && t.has_data() ? contiguous(t) : t);
  return dense;
}

[[gnu::noinline]] void run_on_device(const OpDef& op, const Inputs& in, const void* attrs,
                                     Tensors& out, Place place) {
  if (place.kind == DeviceKind::null) return;  // infers and counts bytes, computes nothing
  const KernelDef* k = choose(op, in, attrs, place.kind);
  if (!k) fail_no_kernel(op, in, place);
  InlineVector<Tensor, 4> dense;
  if (!k->strided) dense = dense_inputs(in);
  KernelFrame frame{op, k->strided ? in : Inputs(dense, in.ends()), out};
  launch(*k, frame, attrs, place);
}

void run_kernel(const OpDef& op, const Inputs& in, const void* attrs, Tensors& out, Place place) {
  if (place.kind != DeviceKind::cpu) return run_on_device(op, in, attrs, out, place);
  const KernelDef* k = choose(op, in, attrs, place.kind);
  if (!k) fail_no_kernel(op, in, place);
  bool copies = false;
  if (!k->strided)
    for (const Tensor& t : in.flat()) copies |= t.defined() && !t.is_contiguous();
  if (!copies) {
    KernelFrame frame{op, in, out};
    k->run(frame, attrs);
    return;
  }
  InlineVector<Tensor, 4> dense = dense_inputs(in);
  KernelFrame frame{op, Inputs(dense, in.ends()), out};
  k->run(frame, attrs);
}

void prepare_write(std::span<const Tensor> list) {
  for (const Tensor& t : list)
    if (t.defined()) t.prepare_write();
}

void bind_written(const OpDef& op, const Inputs& in, Tensors& out) {
  for (uint32_t i : op.writes) {
    prepare_write(in.list(i));
    for (const Tensor& t : in.list(i)) out.push_back(t);
  }
}

void allocate_outputs(const OpDef& op, const Inputs& in, const void* attrs, Place place,
                      Tensors& out) {
  if (op.elementwise && !op.infer && op.outputs.size() == 1) {
    // The hot path: same shapes, same dtype.
    const TensorImpl* first = in.flat()[0].impl();
    bool equal = first != nullptr;
    for (const Tensor& t : in.flat())
      equal = equal && t.defined() && t.shape() == first->shape && t.dtype() == first->dtype;
    if (equal) {
      out.push_back(Tensor::empty(first->shape, first->dtype, place));
      return;
    }
  }
  InferContext c{op, in, {}};
  infer(c, attrs);
  for (const Meta& m : c.out) {
    const bool now = m.shape.known() && m.layout == Layout::strided;
    out.push_back(now ? Tensor::empty(m.shape, m.dtype, place)
                      : Tensor::describe(m.shape, m.dtype, place));
    if (m.layout != Layout::strided) out.back().impl()->layout = m.layout;
  }
}

// Ops without symbolic operands that belong into a Program all the same.
bool is_recorded(const OpDef& op, const void* attrs) {
  return thread_state.recorder ||
         (op.attrs->may_hold_symbols && hooks.attrs_have_symbols(*op.attrs, attrs));
}

void check_inplace(const OpDef& op, const Inputs& in, bool recorded) {
  const Tensor& x = in[0];
  const auto is_leaf = [&] {
    if (recorded) return refuses_recorded_write(x);
    return x.requires_grad() && !x.impl()->grad_fn;
  };
  ARGOSY_CHECK(!thread_state.grad_enabled || !is_leaf(), invalid_argument)
      << '[' << op.name
      << "] cannot write in place into a leaf tensor that needs a gradient (stop_gradient=False): "
      << x << ". Do this: use the form that returns a new tensor, or wrap the call in no_grad().";
}

bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.impl()->storage && a.impl()->storage == b.impl()->storage;
}

// May the kernel write straight into x?
bool writes_directly(const OpDef& op, const Inputs& in) {
  const Tensor& x = in[0];
  if (op.outputs.size() != 1 || !(op.overwrites || (op.elementwise && x.is_contiguous())))
    return false;
  for (const Tensor& t : in.flat().subspan(1)) {
    if (!t.defined() || !shares_storage(t, x)) continue;
    bool same = t.raw() == x.raw() && t.shape() == x.shape() && t.strides() == x.strides();
    if (!same || op.overwrites) return false;
  }
  return true;
}

}  // namespace

const KernelDef* find_kernel(const OpDef& op, const Inputs& in, const void* attrs,
                             DeviceKind device) {
  const auto declined = [](const KernelDef&, const char*) {};
  return device == DeviceKind::cpu ? first_kernel(op, in, attrs, device, declined)
                                   : kernel_on(device, op, in, attrs, declined);
}

Tensors views_of(const OpDef& op, const Tensor& x, const void* attrs) {
  if (op.views) return op.views(x, attrs);
  Tensors out;
  if (Tensor v = op.view ? op.view(x, attrs) : Tensor(); v.defined()) out.push_back(std::move(v));
  return out;
}

void infer(InferContext& c, const void* attrs) {
  c.out.resize(c.op.outputs.size());
  // An elementwise op that takes others has an infer that says which.
  if (c.op.promotes || (c.op.elementwise && !c.op.infer)) check_one_dtype(c);
  if (c.op.elementwise) {
    infer_elementwise(c);
  } else if (!c.in.flat().empty() && c.in[0].defined()) {
    for (Meta& m : c.out) m = {c.in[0].shape(), c.in[0].dtype()};
  }
  if (c.op.infer) c.op.infer(c, attrs);
}

namespace {

// What infer refuses, where results need no memory.
void check_operands(const OpDef& op, const Inputs& in, const void* attrs) {
  if (!op.infer) return;
  InferContext c{op, in, {}};
  infer(c, attrs);
}

// dispatch, when nobody watches. Part of dispatch, which is entered so often that a call more
// shows.
[[gnu::always_inline]] inline Tensors run(const OpDef& op, const Inputs& in, const void* attrs) {
  Scan s = scan(in);
  if (op.promotes && s.mixed_dtypes) return dispatch_promoted(op, in, attrs);
  // Nothing missing, all dense, on one device and of a dtype that every input takes: the usual
  // case.
  bool plain = s.whole && s.strided_only && !s.mixed_dtypes && s.first && !in.ends() &&
               op.plain_dtypes.has(s.first->dtype) && in.flat().size() == op.inputs.size();
  if (!plain) {
    s.first = check_inputs(op, in, s.first);
    if (op.host_inputs && !s.whole && is_away(op, in, s.first)) [[unlikely]]
      return run_unseen(op, Inputs(with_host_inputs(op, in), in.ends()), attrs);
  }
  if (s.symbolic || is_recorded(op, attrs)) [[unlikely]]
    return hooks.record_program(op, in, attrs);
  Place place = s.first ? s.first->place : thread_state.place;
  bool grad = s.grad && thread_state.grad_enabled;

  Tensors out;
  // A composition runs where there is no kernel, or where only its parts know their gradients.
  bool composed = op.compose && ((grad && !op.gradient) || !find_kernel(op, in, attrs, place.kind));
  if (composed) {
    if (thread_state.explain) explain(op, "opened its composition");
    check_operands(op, in, attrs);
    if (!grad || !op.gradient) return op.compose(in, attrs);
    GradMode off(false);
    out = op.compose(in, attrs);
  }
  if ((op.view || op.views) && out.empty() && s.strided_only) {
    out = views_of(op, in[0], attrs);
    if (op.apart)
      for (const Tensor& v : out) v.separate();
  }
  if (out.empty()) {
    for (uint32_t i : op.updates) prepare_write(in.list(i));
    if (op.writes.empty()) {
      allocate_outputs(op, in, attrs, place, out);
    } else {
      check_operands(op, in, attrs);
      bind_written(op, in, out);
    }
    run_kernel(op, in, attrs, out, place);
    if (!op.writes.empty()) {
      for (const Tensor& t : out) t.wrote(op.name.c_str());
      return out;
    }
  }
  if (grad && op.gradient) hooks.record_tape(op, in, attrs, out);
  return out;
}

Tensors run_unseen(const OpDef& op, const Inputs& in, const void* attrs) {
  return run(op, in, attrs);
}

// Whether an input beside the first may get a gradient.
bool others_need_gradient(const Inputs& in) {
  const auto rest = in.flat().subspan(1);
  return std::any_of(rest.begin(), rest.end(),
                     [](const Tensor& t) { return t.defined() && !t.stop_gradient(); });
}

void give_form(const Tensor& x, const Tensor& value) {
  const uint32_t before = x.version();
  x.impl()->take_content(*value.impl());
  // Other memory counts its writes from 0; those of x, and its forms, only ever become more.
  const uint32_t lost = before > x.version() ? before - x.version() : 0;
  x.impl()->forms = static_cast<uint16_t>(x.impl()->forms + 1 + lost);
}

void take_history(const Tensor& x, const Tensor& value) {
  x.impl()->grad_fn = value.impl()->grad_fn;
  x.impl()->grad_index = value.impl()->grad_index;
  x.impl()->stop_gradient = value.stop_gradient();
}

// Computes the parts on `old`, what x was, so that they record themselves, and moves value and
// history into x.
void overwrite_by_parts(const OpDef& op, const Inputs& in, const void* attrs, const Tensor& old) {
  const Tensor& x = in[0];
  InlineVector<Tensor, 4> args(in.flat());
  args[0] = old;
  Tensor value = std::move(op.compose(Inputs(args, in.ends()), attrs)[0]);
  if (value.shape() == x.shape() && value.dtype() == x.dtype()) {
    copy_into(x, value);
    x.wrote(op.name.c_str());
  } else {
    give_form(x, value);
  }
  take_history(x, value);
}

// Writes the op's result over x: by a kernel that may, or from a tensor of its own.
void overwrite(const OpDef& op, const Inputs& in, const void* attrs) {
  const Tensor& x = in[0];
  const Place place = x.place();
  InferContext c{op, in, {}};
  infer(c, attrs);
  const bool same_form = c.out[0].shape == x.shape() && c.out[0].dtype == x.dtype();
  ARGOSY_CHECK(same_form || !op.elementwise || c.out[0].shape == x.shape(), invalid_argument)
      << '[' << op.name << "] in place needs a result of x's shape: x is " << x
      << ", the result would be " << c.out[0].shape
      << ". Do this: use the form that returns a new tensor.";
  if (same_form && writes_directly(op, in) && find_kernel(op, in, attrs, place.kind)) {
    Tensors out{x};
    run_kernel(op, in, attrs, out, place);
    x.wrote(op.name.c_str());
    return;
  }
  GradMode off(false);
  Tensor value = std::move(run_unseen(op, in, attrs)[0]);
  if (same_form && !op.view) {
    copy_into(x, value);
    x.wrote(op.name.c_str());
  } else {
    give_form(x, value);
  }
}

// x, of a narrower dtype than the result, takes its dtype and history: float32 that a float64 is
// added to is float64 from then on.
Tensor run_inplace_widened(const OpDef& op, const Inputs& in, const void* attrs, DType common,
                           bool recorded) {
  const Tensor& x = in[0];
  const auto is_whole = [](DType t) { return is_integral(t) || t == DType::bool_; };
  ARGOSY_CHECK(op.mixes_kinds || is_complex(common) ||
                   (is_whole(x.dtype()) == is_whole(common) && x.dtype() != DType::bool_),
               attribute)
      << '[' << op.name << "] operands of these dtypes do not mix in place: x is " << x
      << ", the result would be " << common
      << ". Do this: convert one of them with .astype(..), or use the form that returns a new "
         "tensor.";
  const Tensor value = std::move(run_unseen(op, in, attrs)[0]);
  ARGOSY_CHECK(value.shape() == x.shape(), invalid_argument)
      << '[' << op.name << "] in place needs a result of x's shape: x is " << x
      << ", the result would be " << value.shape()
      << ". Do this: use the form that returns a new tensor.";
  if (recorded) {
    hooks.rebind(x, value);
    return x;
  }
  give_form(x, value);
  if (thread_state.grad_enabled) take_history(x, value);
  return x;
}

Tensor run_inplace(const OpDef& op, const Inputs& in, const void* attrs) {
  const Tensor& x = in[0];
  Scan s = scan(in);
  if (!x.defined()) [[unlikely]]
    check_inputs(op, in, s.first);
  const bool recorded = s.symbolic || is_recorded(op, attrs);
  check_inplace(op, in, recorded);
  if (op.promotes && s.mixed_dtypes) {
    const DType common = common_dtype(op, in);  // raises where they do not mix
    if (common != x.dtype()) return run_inplace_widened(op, in, attrs, common, recorded);
    InlineVector<Tensor, 4> cast;
    for (const Tensor& t : in.flat())
      cast.push_back(t.defined() && t.dtype() != x.dtype() ? hooks.cast(t, x.dtype()) : t);
    return run_inplace(op, Inputs(cast, in.ends()), attrs);
  }
  if (recorded) [[unlikely]] {
    // Functional in a Program: x becomes a handle on the new value.
    hooks.rebind(x, run_unseen(op, in, attrs)[0]);
    return x;
  }
  check_inputs(op, in, s.first);
  bool grad = s.grad && thread_state.grad_enabled;
  const uint32_t old_version = x.version();
  Tensor old;
  // The gradient reads what is about to be overwritten: keep a copy.
  const Save save = op.inputs[0].save;
  bool reads_x = op.gradient
                     ? save == Save::value || (save == Save::others && others_need_gradient(in))
                     : static_cast<bool>(op.compose);
  if (grad && reads_x && x.has_data()) {
    old = Tensor::empty(x.shape(), x.dtype(), x.place());
    copy_into(old, x);
  }
  if (!op.view) {
    // As z[0] **= 2, which writes what its value was computed from.
    for (const Tensor& t : in.flat().subspan(1))
      if (grad && t.defined() && t.impl()->grad_fn) hooks.keep_saved(t, x);
    x.prepare_write();
  }
  if (!old.defined()) old = x.detach();
  old.impl()->grad_fn = x.impl()->grad_fn;
  old.impl()->grad_index = x.impl()->grad_index;
  old.impl()->stop_gradient = x.stop_gradient();

  if (grad && !op.gradient && op.compose) {
    overwrite_by_parts(op, in, attrs, old);
    return x;
  }
  overwrite(op, in, attrs);
  if (grad && op.gradient) {
    InlineVector<Tensor, 4> args(in.flat());
    args[0] = old;
    hooks.record_tape_inplace(op, Inputs(args, in.ends()), attrs, old_version, x);
  }
  return x;
}

Tensors run_watched(const OpDef& op, const Inputs& in, const void* attrs) {
  if (!watch::watched() || scan(in).symbolic) return run_unseen(op, in, attrs);
  WatchedCall call(op, in, attrs);
  Tensors out = run_unseen(op, in, attrs);
  call.done(out);
  return out;
}

// With operands cast as this thread asks for, and before whoever watches.
[[gnu::noinline]] Tensors run_seen(const OpDef& op, const Inputs& in, const void* attrs) {
  const Autocast* state = autocast;
  if (!state) return run_watched(op, in, attrs);
  AutocastOff parts;
  if (const Widened whole(*state, op, in); whole) return run_watched(op, in, attrs);
  InlineVector<Tensor, 4> cast;
  if (!autocast_operands(*state, op, in, cast)) return run_watched(op, in, attrs);
  return run_watched(op, Inputs(cast, in.ends()), attrs);
}

// The result keeps the dtype of what it is written over, so nothing is cast.
[[gnu::noinline]] Tensor run_inplace_seen(const OpDef& op, const Inputs& in, const void* attrs) {
  AutocastOff parts;
  if (!watch::watched() || scan(in).symbolic) return run_inplace(op, in, attrs);
  WatchedCall call(op, in, attrs);
  Tensor out = run_inplace(op, in, attrs);
  call.done({&out, 1});
  return out;
}

}  // namespace

Tensors dispatch(const OpDef& op, const Inputs& in, const void* attrs) {
  if (watch::any()) [[unlikely]]
    return run_seen(op, in, attrs);
  return run(op, in, attrs);
}

Tensor dispatch_one(const OpDef& op, std::span<const Tensor> in, const void* attrs) {
  return std::move(dispatch(op, Inputs(in), attrs)[0]);
}
Tensor dispatch_one(const OpDef& op, const Tensor& x, const Tensor& y, const void* attrs) {
  const Tensor in[] = {x, y};
  return dispatch_one(op, in, attrs);
}
Tensor dispatch_one(const OpDef& op, const Tensor& x, const Tensor& y, const Tensor& z,
                    const void* attrs) {
  const Tensor in[] = {x, y, z};
  return dispatch_one(op, in, attrs);
}

Tensor dispatch_inplace(const OpDef& op, const Inputs& in, const void* attrs) {
  return watch::any() ? run_inplace_seen(op, in, attrs) : run_inplace(op, in, attrs);
}

}  // namespace argosy::op
