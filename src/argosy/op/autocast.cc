#include "argosy/op/autocast.h"

#include <memory>
#include <mutex>

#include "argosy/base/watch.h"

namespace argosy::op {

constinit thread_local const Autocast* autocast = nullptr;
bool (*is_released)(const Tensor& t) = nullptr;

namespace {

// Threads that have a state: where there are any, dispatch looks.
void count_thread(int change) {
  static std::mutex mutex;
  static int threads = 0;
  std::lock_guard lock(mutex);
  threads += change;
  watch::set(watch::autocast, threads > 0);
}

// A parameter in 16 bits.
struct Kept {
  Tensor parameter;  // keeps its address taken
  Tensor value;
  uint32_t version;
  bool tied;  // has a gradient
};

struct Thread {
  std::shared_ptr<const Autocast> state;
  std::unordered_map<const TensorImpl*, Kept> kept;
  bool widened = false;
  ~Thread() {
    if (state) count_thread(-1);
  }
};

Thread& own() {
  // Behind a pointer: thread-local space of a library is scarce.
  static thread_local std::unique_ptr<Thread> thread = std::make_unique<Thread>();
  return *thread;
}

bool is_cast(DType dtype) {
  return dtype == DType::float32 || dtype == DType::bfloat16 || dtype == DType::float16;
}

// May this operand be cast? Index tensors, arrays and what is read for its shape stay.
bool takes_part(const InputDef& def, const Tensor& t) {
  return t.defined() && t.layout() == Layout::strided && def.reads == Reads::values &&
         is_cast(t.dtype());
}

bool is_parameter(const Tensor& t) {
  const TensorImpl& impl = *t.impl();
  return !impl.stop_gradient && !impl.grad_fn && !impl.symbol && impl.dtype == DType::float32 &&
         t.has_data() && !thread_state.recorder;
}

Tensor in_dtype(const Tensor& t, DType dtype) {
  if (!is_parameter(t)) return hooks.cast(t, dtype);
  Kept& kept = own().kept[t.impl()];
  const bool good = kept.value.defined() && kept.value.dtype() == dtype &&
                    kept.version == t.version() && (kept.tied || !thread_state.grad_enabled) &&
                    !(is_released && is_released(kept.value));
  if (!good) kept = {t, hooks.cast(t, dtype), t.version(), thread_state.grad_enabled};
  return kept.value;
}

template <class F>
void each_operand(const OpDef& op, const Inputs& in, F&& fn) {
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (!op.inputs[i].list && !in.ends()) {
      if (i < in.flat().size()) fn(op.inputs[i], i);
      continue;
    }
    const size_t begin = in.place_of(i), size = in.list(i).size();
    for (size_t k = 0; k < size; ++k) fn(op.inputs[i], begin + k);
  }
}

}  // namespace

Amp precision_of(const Autocast& state, const OpDef& op) {
  if (!op.writes.empty() || op.effect == Effect::communicates || op.effect == Effect::io ||
      op.structural)
    return Amp::never;
  if (auto it = state.custom.find(&op); it != state.custom.end()) return it->second;
  const Amp own = state.level == Autocast::Level::o2 ? op.amp_o2 : op.amp_o1;
  if (state.level == Autocast::Level::od && own != Amp::lower && own != Amp::never)
    return Amp::full;
  if (state.level == Autocast::Level::o2 && !state.promote && own == Amp::follow) return Amp::lower;
  return own;
}

std::shared_ptr<const Autocast> set_autocast(std::shared_ptr<const Autocast> state) {
  Thread& thread = own();
  if (static_cast<bool>(state) != static_cast<bool>(thread.state)) count_thread(state ? 1 : -1);
  autocast = state.get();
  thread.state.swap(state);
  return state;
}

void forget_casts() {
  own().kept.clear();
}

bool autocast_dtypes(const Autocast& state, const OpDef& op, const Inputs& in,
                     InlineVector<DType, 8>& out) {
  const Amp how = precision_of(state, op);
  if (how == Amp::never || (!in.ends() && in.flat().size() != op.inputs.size())) return false;
  DType to = how == Amp::full ? DType::float32 : state.dtype;
  bool wide = false, differs = false, takes = true;
  each_operand(op, in, [&](const InputDef& def, size_t at) {
    const Tensor& t = in.flat()[at];
    if (!t.defined()) return;
    wide |= t.dtype() == DType::float64 || is_complex(t.dtype());
    if (!takes_part(def, t) || (how == Amp::leading && at > 0)) return;
    takes &= def.dtypes.has(state.dtype);
    if ((how == Amp::follow || how == Amp::leading) && t.dtype() == DType::float32)
      to = DType::float32;
  });
  if (wide) return false;
  if (!takes) to = DType::float32;
  for (const Tensor& t : in.flat()) out.push_back(t.defined() ? t.dtype() : to);
  each_operand(op, in, [&](const InputDef& def, size_t at) {
    const Tensor& t = in.flat()[at];
    if (!takes_part(def, t) || t.dtype() == to || !def.dtypes.has(to)) return;
    if (how == Amp::leading && at > 0) return;
    out[at] = to;
    differs = true;
  });
  return differs;
}

bool autocast_operands(const Autocast& state, const OpDef& op, const Inputs& in,
                       InlineVector<Tensor, 4>& out) {
  InlineVector<DType, 8> dtypes;
  if (!autocast_dtypes(state, op, in, dtypes)) return false;
  for (size_t i = 0; i < in.flat().size(); ++i) {
    const Tensor& t = in.flat()[i];
    out.push_back(t.defined() && t.dtype() != dtypes[i] ? in_dtype(t, dtypes[i]) : t);
  }
  return true;
}

namespace {

bool widens_here(const Autocast& state, const OpDef& op, const Inputs& in) {
  if (thread_state.recorder || !op.widens) return false;
  for (const Tensor& t : in.flat())
    if (t.defined() && !t.has_data()) return false;
  InlineVector<DType, 8> dtypes;
  return in[0].defined() && kHalf.has(in[0].dtype()) && autocast_dtypes(state, op, in, dtypes) &&
         dtypes[0] == DType::float32;
}

}  // namespace

bool is_widened() {
  return own().widened;
}

Widened::Widened(const Autocast& state, const OpDef& op, const Inputs& in)
    : is_(op.amp_o1 == Amp::full && widens_here(state, op, in)) {
  if (is_) own().widened = true;
}
Widened::~Widened() {
  if (is_) own().widened = false;
}

}  // namespace argosy::op
