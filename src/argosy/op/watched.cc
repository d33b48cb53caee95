#include "argosy/op/watched.h"

#include <map>
#include <mutex>

#include "argosy/base/memory.h"
#include "argosy/op/cost.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/nan_finder.h"
#include "argosy/op/shape_check.h"

namespace argosy::op {
namespace {

// Calls that are open on this thread.
thread_local int open_calls = 0;

Place place_of(const Inputs& in) {
  for (const Tensor& t : in.flat())
    if (t.defined()) return t.place();
  return thread_state.place;
}

const char* name_of_memory(Place place) {
  if (place.kind == DeviceKind::cpu) return "cpu";
  Message m;
  m << place;
  return profile::intern(m.str());
}

// The inputs are not checked yet.
const char* describe(const OpDef& op, const Inputs& in) {
  if (!in.ends() && in.flat().size() != op.inputs.size()) return nullptr;
  Message m;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    bool list = op.inputs[i].list;
    for (const Tensor& t : list ? in.list(i) : in.flat().subspan(in.place_of(i), 1)) {
      if (!t.defined()) continue;
      m << (m.str().empty() ? "" : "; ") << op.inputs[i].name << ": " << t.dtype() << t.shape();
    }
  }
  return m.str().empty() ? nullptr : profile::intern(m.str());
}

// After the op ran, so the inputs are good.
double cost_of(const OpDef& op, const Inputs& in, const void* attrs, std::span<const Tensor> out) {
  if (!out.empty() && !in.flat().empty() && out[0].impl() == in.flat()[0].impl()) return 0;
  try {
    InferContext c{op, in, {}};
    infer(c, attrs);
    return cost_of(c, attrs).operations;
  } catch (const Error&) {  // dtypes that dispatch made equal first
    return 0;
  }
}

struct Counts {
  std::mutex mutex;
  std::map<std::string, DTypeCount> by_op;
  static Counts& instance() {
    static Counts* counts = new Counts;
    return *counts;
  }
};

void count_dtype(const OpDef& op, const Inputs& in, std::span<const Tensor> out) {
  const Tensor* tells = nullptr;
  for (const Tensor& t : in.flat()) {
    if (!t.defined()) continue;
    if (!tells || (is_floating(t.dtype()) && !is_floating(tells->dtype()))) tells = &t;
  }
  if (!tells && !out.empty()) tells = &out[0];
  Counts& counts = Counts::instance();
  std::lock_guard lock(counts.mutex);
  DTypeCount& count = counts.by_op[op.name];
  switch (tells && tells->defined() ? tells->dtype() : DType::bool_) {
    case DType::float16:
      ++count.float16;
      break;
    case DType::bfloat16:
      ++count.bfloat16;
      break;
    case DType::float32:
      ++count.float32;
      break;
    default:
      ++count.others;
  }
}

}  // namespace

WatchedCall::WatchedCall(const OpDef& op, const Inputs& in, const void* attrs)
    : op_(op), in_(in), attrs_(attrs), profiled_(profile::enabled()) {
  if (profiled_) {
    if (profile::wants_shapes()) note_.detail = describe(op, in);
    memory_ = profile::wants_memory();
    if (memory_) note_.amount = -static_cast<int64_t>(memory::stats(place_of(in)).allocated);
    begin_ = profile::detail::open();
  }
  ++open_calls;
}

void WatchedCall::done(std::span<const Tensor> out) {
  if (profiled_ && profile::wants_cost()) note_.cost = cost_of(op_, in_, attrs_, out);
  if (watch::on(watch::shapes)) check_shape_only(op_, in_, attrs_);
  if (open_calls > 1) return;
  if (watch::on(watch::dtypes)) count_dtype(op_, in_, out);
  if (watch::on(watch::finite)) check_finite(op_, in_, out);
}

WatchedCall::~WatchedCall() {
  --open_calls;
  if (!profiled_) return;
  if (memory_) {
    Place place = place_of(in_);
    auto allocated = static_cast<int64_t>(memory::stats(place).allocated);
    note_.amount += allocated;
    if (profile::enabled()) profile::sample(name_of_memory(place), allocated);
  }
  const bool exchange = op_.effect == Effect::communicates;
  profile::detail::close(
      op_.name.c_str(), exchange ? profile::Kind::communication : profile::Kind::op, begin_, note_);
}

Unchecked::Unchecked() {
  ++open_calls;
}
Unchecked::~Unchecked() {
  --open_calls;
}

Tensors watched_gradient(const GradCall& call, const void* attrs) {
  Tensors dxs;
  {
    Unchecked inside;
    dxs = call.op.gradient(call, attrs);
  }
  if (open_calls > 0 || !watch::on(watch::finite)) return dxs;
  std::vector<Labelled> in, out;
  auto label_of = [&](size_t flat) {
    for (size_t i = 0; i < call.op.inputs.size(); ++i) {
      size_t begin = call.in.place_of(i), size = call.in.list(i).size();
      if (flat < begin || flat >= begin + size) continue;
      const InputDef& def = call.op.inputs[i];
      return def.list ? indexed(def.name, flat - begin) : def.name;
    }
    return std::to_string(flat);
  };
  for (size_t i = 0; i < call.in.flat().size(); ++i)
    if (const Tensor& t = call.in.flat()[i]; t.defined() && t.has_data())
      in.push_back({label_of(i), t});
  for (size_t i = 0; i < call.dys().size(); ++i)
    in.push_back({"gradient of output " + std::to_string(i), call.dys()[i]});
  for (size_t i = 0; i < dxs.size(); ++i) out.push_back({"gradient of " + label_of(i), dxs[i]});
  check_finite(call.op.name + "_grad", in, out);
  return dxs;
}

void start_dtype_counts() {
  Counts& counts = Counts::instance();
  std::lock_guard lock(counts.mutex);
  counts.by_op.clear();
  watch::set(watch::dtypes, true);
}

std::vector<DTypeCount> stop_dtype_counts() {
  watch::set(watch::dtypes, false);
  Counts& counts = Counts::instance();
  std::lock_guard lock(counts.mutex);
  std::vector<DTypeCount> list;
  for (auto& [name, count] : counts.by_op) {
    count.op = name;
    list.push_back(count);
  }
  counts.by_op.clear();
  return list;
}

}  // namespace argosy::op
