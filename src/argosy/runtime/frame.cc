#include "argosy/runtime/frame.h"

#include <algorithm>
#include <chrono>

#include "argosy/base/device.h"
#include "argosy/base/memory.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"
#include "argosy/op/started.h"
#include "argosy/op/watched.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/attributes.h"
#include "argosy/runtime/lower.h"

namespace argosy::runtime {

void (*look_for_interrupt)() = nullptr;

namespace {

// Elements of arrays are shared: nobody writes them.
Tensor clone(const Tensor& t) {
  if (t.layout() != Layout::strided) return t.detach();
  Tensor c = Tensor::empty(t.shape(), t.dtype(), t.place());
  op::copy_into(c, t);
  return c;
}

bool dense(const Tensor& t) {
  return t.layout() == Layout::strided && t.has_data();
}

// Of a condition; waits for a device.
bool is_true(const Tensor& t) {
  if (t.place().kind == DeviceKind::cpu) return *t.data<bool>();
  return *op::to_host(t).data<bool>();
}

// Memory of one place is no operand of kernels of another. Null tensors have none.
void check_place(const char* what, const Tensor& t, Place place) {
  if (t.place() == place || t.place().kind == DeviceKind::null || place.kind == DeviceKind::null)
    return;
  ARGOSY_THROW(invalid_argument) << "[Executor.run] " << what << ' ' << t << " is on " << t.place()
                                 << ", but this run is on " << place
                                 << ". Do this: move it with .to(..), or feed from its place.";
}

// What the scope alone holds goes to where it is needed, and stays there. Tensors that belong to
// somebody do not move by themselves.
Tensor moved(const program::State& state, program::Scope* scope, const Tensor& t, Place place) {
  if (state.tensor.defined() || !scope || !t.has_data() || t.place().kind == DeviceKind::null ||
      place.kind == DeviceKind::null)
    return t;
  Tensor there = op::to_place(t, place);
  there.impl()->persistable = t.impl()->persistable;
  program::replace_state(state, *scope, there);
  return there;
}

constexpr size_t kKept = 1 << 16;  // bytes of an arena that stays between runs

}  // namespace

Frame::Frame(const Plan& p)
    : plan(p),
      states_(p.states.size()),
      bound_constants_(p.loose.size()),
      arenas_(p.arenas.size()) {
  slots.reserve(p.slots.size());
  for (const MemorySlot& s : p.slots) {
    Tensor t = Tensor::describe(s.shape, s.dtype, p.arenas[s.home].place);
    t.impl()->layout = s.layout;
    if (s.known) t = t.view(s.shape, s.strides);
    slots.push_back(std::move(t));
  }
  for (const auto& [slot, tensor] : p.constants) slots[slot].impl()->take_content(*tensor.impl());
  place_views(false);
  if (p.report().parallel) waits_ = std::make_unique<std::atomic<int32_t>[]>(p.steps.size());
  size_t count = 0;
  for (const Step& s : p.steps) count += s.in.size();
  operands_.reserve(count);
  steps_.reserve(p.steps.size());
  for (const Step& s : p.steps) {
    const size_t begin = operands_.size();
    for (size_t i = 0; i < s.in.size(); ++i) {
      const uint32_t k = s.in[i];
      // What holds other values by then is not handed out.
      if (k != kNone && passes::reads_no_memory(*s.operation, i))
        operands_.push_back(Tensor::describe(slots[k].shape(), slots[k].dtype(), slots[k].place()));
      else
        operands_.push_back(k == kNone ? Tensor() : slots[k]);
    }
    FrameStep f;
    f.plan = &s;
    if (s.kernel) f.run = s.kernel->run;
    f.op = s.operation->op;
    f.attrs = s.attrs;
    if (s.kind == Step::Kind::kernel && s.operation->attr_operands) f.attrs = unread_attributes(s);
    f.in = op::Inputs(std::span(operands_).subspan(begin, s.in.size()),
                      s.operation->ends.empty() ? nullptr : s.operation->ends.data());
    for (uint32_t k : s.out) f.out.push_back(k == kNone ? Tensor() : slots[k]);
    f.plain = s.plain;
    f.first = s.out.empty() || s.out[0] == kNone ? nullptr : slots[s.out[0]].impl();
    steps_.push_back(std::move(f));
  }
  stretches_ = stretches_of(steps_, p.blocks[0].begin, p.blocks[0].end, p, true);
  graphs_.resize(stretches_.size());
}

Frame::~Frame() {
  for (uint32_t home = 0; home < arenas_.size(); ++home) drop_arena(home);
}

// Of a kernel that reads numbers where they lie: they name the slots' bodies.
const void* Frame::unread_attributes(const Step& s) {
  const program::Operation& o = *s.operation;
  std::vector<Tensor> numbers;
  for (size_t k = o.inputs().size(); k < s.in.size(); ++k) numbers.push_back(slots[s.in[k]]);
  unread_.push_back(program::unread_attributes(o, numbers));
  return unread_.back().get();
}

// Views of what does not move in a run: of the arena, or of constants.
void Frame::place_views(bool arena) {
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const MemorySlot& s = plan.slots[i];
    if (s.kind != MemorySlot::Kind::view) continue;
    const TensorImpl* base = slots[s.base].impl();
    if (!base->storage || (plan.slots[s.base].kind == MemorySlot::Kind::arena) != arena) continue;
    slots[i].impl()->storage = base->storage;
    slots[i].impl()->offset = base->offset + s.offset;
  }
}

void Frame::take_arenas() {
  for (uint32_t home = 0; home < arenas_.size(); ++home) {
    const auto& [place, bytes, exchanged] = plan.arenas[home];
    if (!bytes) continue;
    // Nothing puts what another stream does with an arena before what this one will do.
    if (place.kind != DeviceKind::cpu && arenas_[home].stream != device::current(place))
      drop_arena(home);
    if (!arenas_[home].block) take_arena(home);
  }
  arenas_stay_ = std::ranges::all_of(plan.arenas, [](const auto& arena) {
    return arena.place.kind == DeviceKind::cpu && arena.bytes <= kKept;
  });
}

void Frame::take_arena(uint32_t home) {
  const auto& [place, bytes, exchanged] = plan.arenas[home];
  auto& [block, storage, stream] = arenas_[home];
  if (place.kind != DeviceKind::cpu) stream = device::current(place);
  const bool seen = place.kind == DeviceKind::cpu && exchanged;
  block =
      static_cast<char*>(seen ? memory::allocate_shared(bytes) : memory::allocate(place, bytes));
  if (storage && storage->data() == block) return;
  storage = Storage::wrap(place, block, bytes, nullptr, [](void*) {});
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const MemorySlot& s = plan.slots[i];
    if (s.kind != MemorySlot::Kind::arena || s.home != home) continue;
    slots[i].impl()->storage = storage;
    slots[i].impl()->offset = s.offset;
  }
  place_views(true);
}

void Frame::drop_arena(uint32_t home) {
  char*& block = arenas_[home].block;
  if (block) memory::deallocate(plan.arenas[home].place, block, plan.arenas[home].bytes);
  block = nullptr;
}

// After a run that failed: of what somebody still holds, another rank may be writing to the memory.
void Frame::leave_held_arenas() {
  for (uint32_t home = 0; home < arenas_.size(); ++home) {
    TakenArena& a = arenas_[home];
    if (!a.storage || !plan.arenas[home].exchanged) continue;
    const auto refers = [&](const Tensor& t) { return t.impl() && t.impl()->storage == a.storage; };
    const auto own = 1 + std::ranges::count_if(slots, refers);
    if (a.storage->ref_count() > static_cast<uint32_t>(own)) a.block = nullptr;
  }
}

void Frame::drop_arenas() {
  for (uint32_t home = 0; home < arenas_.size(); ++home)
    if (plan.arenas[home].bytes > kKept) drop_arena(home);
}

// --- what comes from outside ---

// A number of the host, for the stream that runs: in the same memory each time, where recorded
// graphs find it.
const Tensor& Frame::brought(size_t feed, const Tensor& number) {
  Brought& b = brought_[feed];
  const Stream stream = device::current(plan.place);
  if (b.number.defined() && b.stream == stream)
    op::copy_into(b.number, number);
  else
    b = {op::to_place(number, plan.place), stream};
  return b.number;
}

bool Frame::bind(std::span<const Tensor> feeds, program::Scope* scope) {
  scope_ = scope;
  if (!plan.loose.empty() && !bind_constants()) return false;
  if (!arenas_stay_) take_arenas();
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (plan.feeds[i] == kNone) continue;
    TensorImpl& to = *slots[plan.feeds[i]].impl();
    Tensor t = dense(feeds[i]) ? op::contiguous(feeds[i]) : feeds[i];
    if (t.place() != plan.place) {
      // A number may come from the host, and stays there if that is where it is read.
      const bool number = t.place().kind == DeviceKind::cpu && t.rank() == 0 && dense(t) &&
                          plan.place.kind != DeviceKind::null;
      if (!number)
        check_place("feed", t, plan.place);
      else if (!plan.numbers[i])
        t = brought(i, t);
    }
    bool written = false;
    for (const StatePlan& s : plan.states)
      written |= s.last != kNone && !s.writes_back && s.state->tensor.defined() && dense(t) &&
                 s.state->tensor.impl()->storage == t.impl()->storage;
    to.take_content(written ? *clone(t).impl() : *t.impl());
  }
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const StatePlan& s = plan.states[i];
    if (s.initial == kNone) continue;
    Tensor t = program::read_state(*s.state, scope);
    const MemorySlot& slot = plan.slots[s.initial];
    TensorImpl& to = *slots[s.initial].impl();
    if (t.dtype() != slot.dtype || t.layout() != slot.layout ||
        (slot.known && t.shape() != slot.shape))
      return false;
    if (!states_[i].is(t)) {
      if (t.place() != s.place) t = moved(*s.state, scope, t, s.place);
      check_place("state", t, s.place);
      states_[i] = t;
    }
    if (s.last != kNone && !s.writes_back && dense(t)) t.prepare_write();
    if (to.storage == t.impl()->storage && to.offset == t.impl()->offset && t.is_contiguous() &&
        slot.known)
      continue;
    to.take_content(dense(t) ? *op::contiguous(t).impl() : *t.impl());
  }
  return true;
}

// Those whose tensors have other memory, or were written where the slot has a copy.
bool Frame::bind_constants() {
  bool moved = false;
  for (size_t i = 0; i < plan.loose.size(); ++i) {
    const LooseConstant& c = plan.loose[i];
    const MemorySlot& slot = plan.slots[c.slot];
    const TensorImpl& now = *c.tensor.impl();
    if (now.dtype != slot.dtype || now.layout != slot.layout ||
        (slot.known && now.shape != slot.shape))
      return false;
    if (now.layout != Layout::strided || !now.storage) continue;
    BoundConstant& before = bound_constants_[i];
    const bool copied = !now.contiguous || now.place != c.place;
    const Stream stream = copied ? device::current(c.place) : Stream();
    if (before.storage == now.storage && before.offset == now.offset &&
        before.strides == now.strides && before.stream == stream &&
        (!copied || before.version == c.tensor.version()))
      continue;
    before = {now.storage, now.offset, now.strides, c.tensor.version(), stream};
    slots[c.slot].impl()->take_content(*constant_at(c.tensor, c.place).impl());
    moved = true;
  }
  if (moved) place_views(false);
  return true;
}

Tensors Frame::collect() {
  Tensors result;
  for (size_t i = 0; i < plan.fetches.size(); ++i) {
    const uint32_t slot = plan.fetches[i];
    TensorImpl& body = *slots[slot].impl();
    if (!dense(slots[slot]) && body.layout == Layout::strided && body.numel) {
      result.push_back(Tensor());
      continue;
    }
    bool again = false;
    for (size_t k = i + 1; k < plan.fetches.size(); ++k) again |= plan.fetches[k] == slot;
    for (const StatePlan& s : plan.states) again |= s.last == slot;
    if (!again && plan.slots[slot].kind == MemorySlot::Kind::fresh && dense(slots[slot]) &&
        body.contiguous && body.storage->ref_count() == 1 && !body.storage->shared()) {
      result.push_back(slots[slot].detach());
      body.storage = nullptr;
    } else {
      result.push_back(clone(slots[slot]));
    }
  }
  return result;
}

void Frame::write_state() {
  // A value in the memory of state (its own, seen otherwise, or another's) is read before that is
  // written.
  std::vector<std::pair<size_t, Tensor>> writes;
  for (size_t i = 0; i < plan.states.size(); ++i) {
    const StatePlan& s = plan.states[i];
    if (s.last == kNone) continue;
    const Tensor& value = slots[s.last];
    bool foreign = false;
    if (s.writes_back && dense(value))
      for (const Tensor& t : states_) foreign |= t && t.impl()->storage == value.impl()->storage;
    writes.emplace_back(i, foreign ? clone(value) : value);
  }
  for (auto& [i, value] : writes) {
    const StatePlan& s = plan.states[i];
    program::write_state(*s.state, scope_, value);
  }
}

void Frame::mark_state() {
  for (size_t i = 0; i < plan.states.size(); ++i)
    if (plan.states[i].last != kNone && !plan.states[i].writes_back && states_[i].defined())
      states_[i].wrote("a Program");
}

void Frame::release_block(const BlockPlan& block) {
  for (uint32_t slot : block.transients) {
    TensorImpl& body = *slots[slot].impl();
    body.storage = nullptr;
    if (!body.parts.empty()) body.parts.clear();
  }
}

void Frame::release() {
  release_block(plan.blocks[0]);
  for (uint32_t slot : plan.feeds)
    if (slot != kNone) slots[slot].impl()->storage = nullptr;
  if (!arenas_stay_) drop_arenas();
}

// --- steps ---

void Frame::allocate(uint32_t slot) {
  TensorImpl& body = *slots[slot].impl();
  const size_t bytes = plan.slots[slot].nbytes;
  // An arena's has more references.
  if (!body.storage || body.storage->ref_count() != 1 || body.storage->shared() ||
      body.storage->bytes() != bytes)
    body.storage = Storage::allocate(place_of(slot), bytes);
  body.offset = 0;
}

void Frame::copy(const Copy& c) {
  const Tensor &from = slots[c.from], &to = slots[c.to];
  if (plan.slots[c.to].known) {
    op::copy_into(to, from);
  } else {
    to.impl()->take_content(*clone(from).impl());
  }
}

// The slot's body becomes that of a value that nobody else writes.
void Frame::publish(uint32_t slot, const Tensor& value) {
  TensorImpl& to = *slots[slot].impl();
  if (&to == value.impl()) return;
  if (!value.defined()) {
    to.storage = nullptr;
    return;
  }
  const MemorySlot& s = plan.slots[slot];
  if (s.known) {
    ARGOSY_CHECK(value.shape() == s.shape && value.dtype() == s.dtype, runtime)
        << "A result has another form than was inferred: expected " << s.dtype << s.shape
        << ", got " << value << '.';
    if (s.kind == MemorySlot::Kind::arena || s.kind == MemorySlot::Kind::bound) {
      if (to.data() != value.raw()) op::copy_into(slots[slot], value);
      return;
    }
    to.take_content(*op::contiguous(value).impl());
    return;
  }
  to.take_content(*value.impl());
}

void Frame::run_view(const Step& s) {
  for (uint32_t k : s.out) {
    const MemorySlot& slot = plan.slots[k];
    const TensorImpl& base = *slots[slot.base].impl();
    TensorImpl& to = *slots[k].impl();
    to.storage = base.storage;
    to.offset = base.offset + slot.offset;
  }
}

void Frame::run_dispatch(FrameStep& s) {
  const Step& p = *s.plan;
  const program::Operation& o = *p.operation;
  const auto operands = s.in.flat().first(o.operands.size() - o.attr_operands);
  const auto elements = s.in.flat().subspan(operands.size());
  op::AttrBox attrs;
  if (o.attr_operands) attrs = program::attributes(o, elements);
  Tensors out;
  if (p.keeps_inputs) {
    // What the results keep must stay as it is: neither slots, nor memory that is used again.
    InlineVector<Tensor, 8> own;
    for (size_t i = 0; i < operands.size(); ++i) {
      const Tensor& t = operands[i];
      bool written = false;
      for (uint32_t k : p.out) written |= k == p.in[i];
      if (!t.defined() || written) {
        own.push_back(t);
        continue;
      }
      const bool borrowed =
          dense(t) && (in_arena(t) || plan.slots[p.in[i]].kind == MemorySlot::Kind::bound);
      own.push_back(borrowed ? clone(t) : t.detach());
    }
    out =
        op::dispatch(*s.op, op::Inputs(own, s.in.ends()), o.attr_operands ? attrs.get() : s.attrs);
  } else {
    const void* given = o.attr_operands ? attrs.get() : s.attrs;
    // The plan sees to it that nobody writes what a view reads, so none is set apart.
    if (s.op->apart && dense(operands[0])) out = op::views_of(*s.op, operands[0], given);
    if (out.empty()) out = op::dispatch(*s.op, op::Inputs(operands, s.in.ends()), given);
  }
  for (size_t i = 0; i < out.size() && i < p.out.size(); ++i) {
    const Tensor& v = out[i];
    if (p.out[i] == kNone || !v.defined()) continue;
    bool shared = false;
    if (dense(v) && !p.may_view && v.impl() != slots[p.out[i]].impl()) {
      shared = in_arena(v);
      for (const Tensor& t : operands) shared |= t.defined() && in_one_memory(t, v);
    }
    publish(p.out[i], shared ? clone(v) : v);
  }
}

void Frame::call_kernel(FrameStep& s, op::KernelFrame& frame) {
  if (s.plan->place.kind == DeviceKind::cpu)
    s.run(frame, s.attrs);
  else
    op::launch(*s.plan->kernel, frame, s.attrs, s.plan->place);
}

void Frame::run_special(FrameStep& s) {
  const Step& p = *s.plan;
  if (!memory_taken_)
    for (uint32_t slot : p.allocates) allocate(slot);
  for (const Copy& c : p.copies) copy(c);
  switch (p.kind) {
    case Step::Kind::kernel: {
      if (!s.run) break;
      op::KernelFrame frame{*s.op, s.in, s.out};
      if (watch::watched()) [[unlikely]] {
        op::WatchedCall call(*s.op, s.in, s.attrs);
        call_kernel(s, frame);
        call.done(s.out);
      } else {
        call_kernel(s, frame);
      }
      break;
    }
    case Step::Kind::view:
      run_view(p);
      break;
    case Step::Kind::dispatch:
      run_dispatch(s);
      break;
    case Step::Kind::branch:
      run_branch(s);
      break;
    case Step::Kind::loop:
      run_loop(s);
      break;
  }
}

// Some kernels give another tensor for an output than that they were asked to fill.
void Frame::settle_outputs(FrameStep& s) {
  for (size_t i = 0; i < s.out.size(); ++i) {
    const uint32_t slot = s.plan->out[i];
    if (slot == kNone || s.out[i].is(slots[slot])) continue;
    Tensor value = std::move(s.out[i]);
    s.out[i] = slots[slot];
    if (!value.defined()) continue;
    op::copy_into(slots[slot], value);
  }
}

// --- blocks ---

namespace {
thread_local uint32_t until_look = 0;
}

void Frame::run() {
  const op::RunScope scope(this);
  try {
    // Who watches steps wants each by itself.
    if (stretches_.empty() || watch::watched())
      run_block(plan.blocks[0]);
    else
      run_stretches();
  } catch (...) {
    if (op::settle_started) op::settle_started();
    leave_held_arenas();
    throw;
  }
}

void Frame::run_stretches() {
  narrow_stretches();
  uint32_t at = plan.blocks[0].begin;
  for (size_t i = 0; i < stretches_.size(); ++i) {
    if (graphs_[i].given_up()) continue;
    run_steps(at, stretches_[i].begin);
    run_stretch(stretches_[i], graphs_[i]);
    at = stretches_[i].end;
  }
  run_steps(at, plan.blocks[0].end);
}

void Frame::run_stretch(const Stretch& stretch, StretchGraphs& graphs) {
  const uint32_t begin = stretch.begin, end = stretch.end;
  for (uint32_t k = begin; k < end; ++k)
    for (uint32_t slot : plan.steps[k].allocates) allocate(slot);
  for (uint32_t k = begin; k < end; ++k)
    if (plan.steps[k].kind == Step::Kind::view && !plan.steps[k].still) run_view(plan.steps[k]);
  struct Taken {
    explicit Taken(bool& flag) : flag(flag) { flag = true; }
    ~Taken() { flag = false; }
    bool& flag;
  } taken(memory_taken_);
  graphs.run(std::span(steps_).subspan(begin, end - begin), slots, plan.place,
             [&] { run_steps(begin, end); });
}

void Frame::narrow_stretches() {
  for (size_t i = stretches_.size(); i-- > 0;) {
    if (!stretches_[i].takes_memory || !graphs_[i].given_up()) continue;
    const std::vector<Stretch> within =
        stretches_of(steps_, stretches_[i].begin, stretches_[i].end, plan, false);
    const auto at = static_cast<ptrdiff_t>(i);
    stretches_.erase(stretches_.begin() + at);
    graphs_.erase(graphs_.begin() + at);
    stretches_.insert(stretches_.begin() + at, within.begin(), within.end());
    graphs_.insert(graphs_.begin() + at, within.size(), StretchGraphs());
  }
}

double Limit::clock() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

void Limit::check() const {
  ARGOSY_CHECK(!interrupted.load(std::memory_order_relaxed), runtime)
      << "[infer] the run was interrupted by another thread.";
  ARGOSY_CHECK(!until || clock() < until, timeout)
      << "[infer] the run takes longer than its limit. Do this: raise time_limit, or check what "
         "decides how many rounds the model's loops make.";
}

void Frame::look() const {
  until_look = 0;
  if (look_for_interrupt) look_for_interrupt();
  if (limit) limit->check();
}

void Frame::run_segments(const BlockPlan& block) {
  for (const Segment& s : block.segments) {
    // Who watches steps wants them in order.
    if (s.threads && !watch::watched())
      run_parallel(block, s);
    else
      run_steps(block.begin + s.begin, block.begin + s.end);
  }
}

// With what is around the kernel: all but raising errors.
inline void Frame::run_step(FrameStep& s) {
  const Step& p = *s.plan;
  if (s.plain && !watch::watched()) [[likely]] {
    op::KernelFrame frame{*s.op, s.in, s.out};
    s.run(frame, s.attrs);
    if (s.out.size() != 1 || s.out[0].impl() != s.first) settle_outputs(s);
  } else {
    run_special(s);
    if (p.kind == Step::Kind::kernel) settle_outputs(s);
    for (uint32_t k : p.frees) {
      TensorImpl& body = *slots[k].impl();
      body.storage = nullptr;
      if (!body.parts.empty()) body.parts.clear();
    }
  }
  if (p.heavy || ++until_look >= 256) [[unlikely]]
    look();
}

inline void Frame::run_one(FrameStep& s) {
  if (s.plan->still) return;
  if (s.plan->spare_bytes) [[unlikely]] {
    cpu::SpareMemory spare(arenas_[0].block + s.plan->spare_offset, s.plan->spare_bytes);
    run_step(s);
  } else {
    run_step(s);
  }
}

void Frame::run_guarded(FrameStep& s) {
  try {
    run_one(s);
  } catch (const Error&) {
    rethrow_at(*s.plan->operation, s.in.flat());
  }
}

void Frame::run_steps(uint32_t begin, uint32_t end) {
  // Who watches steps wants each by itself.
  if (plan.chains.empty() || watch::watched()) return run_in_order(begin, end);
  run_chains(begin, end);
}

void Frame::run_chains(uint32_t begin, uint32_t end) {
  uint32_t at = begin;
  for (auto c = std::ranges::lower_bound(plan.chains, begin, {}, &Chain::begin);
       c != plan.chains.end() && c->end <= end; ++c) {
    run_in_order(at, c->begin);
    run_chain(*c);
    at = c->end;
  }
  run_in_order(at, end);
}

void Frame::run_chain(const Chain& chain) {
  FrameStep* s = steps_.data() + chain.begin;
  FrameStep* const last = steps_.data() + chain.end - 1;
  try {
    op::launcher(plan.place.kind).chain(plan.place, [&](bool& unread) {
      for (;; ++s) {
        unread = s->plan->unread;
        run_one(*s);
        if (s == last) break;
      }
    });
  } catch (const Error&) {
    rethrow_at(*s->plan->operation, s->in.flat());
  }
}

void Frame::run_in_order(uint32_t begin, uint32_t end) {
  FrameStep* s = steps_.data() + begin;
  FrameStep* const last = steps_.data() + end;
  try {
    for (; s != last; ++s) run_one(*s);
  } catch (const Error&) {
    rethrow_at(*s->plan->operation, s->in.flat());
  }
}

// An argument becomes what a slot of outside holds, dense.
void Frame::set_argument(uint32_t slot, uint32_t from, bool own) {
  const Tensor& value = slots[from];
  TensorImpl& to = *slots[slot].impl();
  if (!dense(value)) {
    to.take_content(*value.impl());
  } else if (own) {
    to.take_content(*clone(value).impl());
  } else {
    to.take_content(*op::contiguous(value).impl());
  }
}

void Frame::run_branch(FrameStep& s) {
  const Step& p = *s.plan;
  const Tensor& pred = slots[p.in[0]];
  const BlockPlan& block = plan.blocks[p.blocks[is_true(pred) ? 0 : 1]];
  for (size_t i = 0; i < block.arguments.size(); ++i)
    set_argument(block.arguments[i], p.in[i + 1], false);
  run_block(block);
  publish_yields(p, block.yields);
  release_block(block);
}

// Results become what was yielded; none shares memory with an operand or another result.
void Frame::publish_yields(const Step& p, std::span<const uint32_t> yields) {
  for (size_t i = 0; i < p.out.size(); ++i) {
    const Tensor& v = slots[yields[i]];
    bool shared = false;
    if (dense(v)) {
      shared = in_arena(v);
      for (uint32_t k : p.in) shared = shared || in_one_memory(slots[k], v);
      for (size_t k = 0; k < i; ++k) shared = shared || in_one_memory(slots[p.out[k]], v);
    }
    publish(p.out[i], shared ? clone(v) : v);
  }
}

// What a round yielded becomes its arguments. Memory of the arguments goes to the slots that yield,
// which fill it in the round after: a loop of known sizes takes no memory from anybody.
void Frame::advance(const BlockPlan& body) {
  struct Next {
    Ref<Storage> storage;
    int64_t offset = 0;
    Tensor whole;  // of unknown size, or an array
  };
  InlineVector<Next, 8> next;
  next.resize(body.yields.size());
  for (size_t i = 0; i < body.yields.size(); ++i) {
    const uint32_t from = body.yields[i];
    if (from == body.arguments[i]) continue;
    Tensor value = slots[from];
    if (dense(value) && (body.copies_yield[i] || in_arena(value)))
      value = clone(value);
    else if (dense(value) && !value.is_contiguous())
      value = op::contiguous(value);
    if (plan.slots[body.arguments[i]].known) {
      next[i].storage = value.impl()->storage;
      next[i].offset = value.impl()->offset;
    } else {
      next[i].whole = value.detach();
    }
  }
  for (size_t i = 0; i < body.yields.size(); ++i) {
    const uint32_t from = body.yields[i];
    if (from == body.arguments[i]) continue;
    TensorImpl& to = *slots[body.arguments[i]].impl();
    if (next[i].whole.defined()) {
      to.take_content(*next[i].whole.impl());
      continue;
    }
    std::swap(to.storage, next[i].storage);
    to.offset = next[i].offset;
    if (plan.slots[from].kind == MemorySlot::Kind::fresh) {
      slots[from].impl()->storage = std::move(next[i].storage);
      slots[from].impl()->offset = 0;
    }
  }
}

void Frame::run_loop(FrameStep& s) {
  const Step& p = *s.plan;
  const BlockPlan &cond = plan.blocks[p.blocks[0]], &body = plan.blocks[p.blocks[1]];
  const size_t carried = body.yields.size();
  for (size_t i = 0; i < body.arguments.size(); ++i)
    set_argument(body.arguments[i], p.in[i], i < carried && body.owns_argument[i]);
  const Tensor& more = slots[cond.yields[0]];
  for (;;) {
    run_block(cond);
    if (!is_true(more)) break;
    run_block(body);
    advance(body);
    if (++until_look >= 256) look();  // there may be no steps in the blocks
  }
  publish_yields(p, std::span(body.arguments).first(carried));
  release_block(cond);
  release_block(body);
}

}  // namespace argosy::runtime
