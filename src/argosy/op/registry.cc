#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "argosy/base/device.h"
#include "argosy/base/text.h"
#include "argosy/op/library.h"
#include "argosy/op/op.h"

namespace argosy::op {
namespace {

using ByName = std::unordered_map<std::string_view, OpDef*>;

struct Extra {
  std::string op;
  KernelDef kernel;
  bool first;
};

// Described and not yet known to look-ups. Kernels may come before their op.
struct Pending {
  std::deque<OpDef> defs;
  std::deque<Extra> extras;
  std::vector<std::function<void()>> at_end;
  std::optional<Error> failed;
};

// `pending` is filled by static initializers, in no defined order, and joined at the first look-up.
// What look-ups read, a map that never changes, is replaced as a whole by each Registration.
struct Registry {
  Pending pending;
  std::atomic<const ByName*> known{nullptr};
  // Of whoever replaces `known`; of all Registrations, whose ops are never taken back, and of the
  // maps that were: a look-up may be reading one.
  std::mutex mutex;
  std::deque<std::unique_ptr<Pending>> brought;
  std::deque<std::unique_ptr<const ByName>> maps;
};

Registry& raw() {
  static Registry* registry = new Registry();
  return *registry;
}

constinit thread_local Pending* registration = nullptr;

// Once; what is wrong is so at each look-up.
void finish(Pending& fresh) {
  if (fresh.failed) throw Error(*fresh.failed);
  const auto steps = std::exchange(fresh.at_end, {});
  try {
    for (const auto& step : steps) step();
  } catch (const Error& e) {
    fresh.failed = e;
    throw;
  }
}

// Adds to `names`. What is wrong is so at each look-up: nothing is changed before all is checked.
void join(Pending& fresh, ByName& names) {
  for (OpDef& def : fresh.defs) {
    const bool added = names.emplace(def.name, &def).second;
    ARGOSY_CHECK(added, internal) << "Two ops are called " << def.name << " (second in " << def.file
                                  << "). Do this: rename one.";
  }
  for (const Extra& e : fresh.extras) {
    auto it = names.find(e.op);
    ARGOSY_CHECK(it != names.end(), internal)
        << "Kernel " << e.kernel.name << " is for the unknown op " << e.op << '.';
    // By name and size: another library has a copy of the type of its own.
    const AttrType &own = *it->second->attrs, *read = e.kernel.attrs;
    ARGOSY_CHECK(read && read->size == own.size && !std::strcmp(read->name, own.name), internal)
        << "Kernel " << e.kernel.name << " of " << e.op << " reads "
        << (read ? read->name : "no known attributes") << ", but the op has " << own.name
        << ". Do this: make it by make_kernel<" << own.name << ">.";
  }
  for (Extra& e : fresh.extras) {
    auto& list = names.at(e.op)->kernels[static_cast<int>(e.kernel.device)];
    if (e.first)
      list.insert(0, std::move(e.kernel));
    else
      list.push_back(std::move(e.kernel));
  }
  fresh.extras.clear();
}

const ByName& joined() {
  Registry& r = raw();
  if (const ByName* known = r.known.load(std::memory_order_acquire)) [[likely]]
    return *known;
  std::lock_guard lock(r.mutex);
  if (const ByName* known = r.known.load(std::memory_order_acquire)) return *known;
  finish(r.pending);
  auto names = std::make_unique<ByName>();
  join(r.pending, *names);
  const ByName& known = *r.maps.emplace_back(std::move(names));
  r.known.store(&known, std::memory_order_release);
  return known;
}

Pending& open_for(std::string_view what) {
  if (registration) return *registration;
  Registry& r = raw();
  ARGOSY_CHECK(!r.known.load(), internal)
      << what
      << " is registered after ops were looked up: nobody would find it. Do this: load the library "
         "that brings it with argosy.utils.cpp_extension.load_op_library(path).";
  return r.pending;
}

}  // namespace

OpDef* register_op(OpDef def) {
  Pending& to = open_for(def.name);
  def.plain_dtypes = def.any_list ? DTypes{} : kAny;
  for (const InputDef& in : def.inputs) {
    def.plain_dtypes = {def.plain_dtypes.bits & in.dtypes.bits};
    if (!in.layouts.has(Layout::strided)) def.plain_dtypes = {};
    def.host_inputs |= in.host;
  }
  def.on_host |= def.effect == Effect::io;
  to.defs.push_back(std::move(def));
  return &to.defs.back();
}

bool register_kernel(std::string_view op, KernelDef kernel, bool first) {
  open_for(kernel.name).extras.push_back({std::string(op), std::move(kernel), first});
  return true;
}

Registration::Registration() {
  ARGOSY_CHECK(!registration, internal)
      << "Ops are being registered on this thread already. Do this: load one library after the "
         "other, not from the initializers of another.";
  Registry& r = raw();
  std::lock_guard lock(r.mutex);
  // Kept even if refused: what registered them may hold handles on them.
  registration = r.brought.emplace_back(std::make_unique<Pending>()).get();
}

Registration::~Registration() {
  registration = nullptr;
}

std::vector<const OpDef*> Registration::commit() {
  Pending& fresh = *registration;
  finish(fresh);
  joined();
  Registry& r = raw();
  std::lock_guard lock(r.mutex);
  const ByName& known = *r.known.load();
  for (const OpDef& def : fresh.defs)
    ARGOSY_CHECK(!known.contains(def.name), invalid_argument)
        << '[' << def.name << "] there is an op of this name already"
        << (*known.at(def.name)->file ? ", from " : "") << known.at(def.name)->file
        << ". Do this: give the new one another name; a library that was built again needs a new "
           "process.";
  const bool no_accelerator = !device::find(kAccelerator);
  for (const Extra& e : fresh.extras)
    ARGOSY_CHECK(!known.contains(e.op) || (e.kernel.device == kAccelerator && no_accelerator),
                 invalid_argument)
        << '[' << e.op << "] the kernel " << e.kernel.name
        << " comes after the op was looked up. Do this: load its library before `import argosy`.";
  auto names = std::make_unique<ByName>(known);
  join(fresh, *names);
  r.known.store(r.maps.emplace_back(std::move(names)).get(), std::memory_order_release);
  std::vector<const OpDef*> list;
  for (const OpDef& def : fresh.defs) list.push_back(&def);
  return list;
}

void Registration::at_end(std::function<void()> fn) {
  open_for("an op").at_end.push_back(std::move(fn));
}

const OpDef* find(std::string_view name) {
  const ByName& names = joined();
  auto it = names.find(name);
  return it == names.end() ? nullptr : it->second;
}

const OpDef& get(std::string_view name) {
  if (const OpDef* op = find(name)) return *op;
  std::vector<std::pair<size_t, std::string>> near;
  for (const OpDef* op : all()) near.emplace_back(edit_distance(name, op->name), op->name);
  std::sort(near.begin(), near.end());
  Message text;
  text << "There is no op called '" << name << "'. Near names:";
  for (size_t i = 0; i < near.size() && i < 3; ++i) text << (i ? ", " : " ") << near[i].second;
  throw Error(ErrorKind::not_found, text.str() + ".");
}

std::vector<const OpDef*> all() {
  std::vector<const OpDef*> list;
  for (auto& [name, op] : joined()) list.push_back(op);
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return list;
}

int OpDef::find_input(std::string_view wanted) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == wanted) return static_cast<int>(i);
  return -1;
}

}  // namespace argosy::op
