#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "argosy/base/text.h"
#include "argosy/op/op.h"

namespace argosy::op {
namespace {

// Filled by static initializers, in no defined order: kernels may come before their op. Joined at
// the first look-up; frozen after that, so look-ups need no lock.
struct Registry {
  std::deque<OpDef> defs;
  struct Extra {
    std::string op;
    KernelDef kernel;
    bool first;
  };
  std::deque<Extra> extras;
  std::unordered_map<std::string_view, OpDef*> by_name;
  std::atomic<bool> frozen{false};
};

Registry& raw() {
  static Registry* registry = new Registry();
  return *registry;
}

// What is wrong is so at each look-up: nothing is changed before all is checked.
void join(Registry& r) {
  r.by_name.clear();
  for (OpDef& def : r.defs) {
    bool fresh = r.by_name.emplace(def.name, &def).second;
    ARGOSY_CHECK(fresh, internal) << "Two ops are called " << def.name << " (second in " << def.file
                                  << "). Do this: rename one.";
  }
  for (const Registry::Extra& e : r.extras) {
    auto it = r.by_name.find(e.op);
    ARGOSY_CHECK(it != r.by_name.end(), internal)
        << "Kernel " << e.kernel.name << " is for the unknown op " << e.op << '.';
    // By name and size: another library has a copy of the type of its own.
    const AttrType &own = *it->second->attrs, *read = e.kernel.attrs;
    ARGOSY_CHECK(read && read->size == own.size && !std::strcmp(read->name, own.name), internal)
        << "Kernel " << e.kernel.name << " of " << e.op << " reads "
        << (read ? read->name : "no known attributes") << ", but the op has " << own.name
        << ". Do this: make it by make_kernel<" << own.name << ">.";
  }
  for (Registry::Extra& e : r.extras) {
    auto& list = r.by_name.at(e.op)->kernels[static_cast<int>(e.kernel.device)];
    if (e.first)
      list.insert(0, std::move(e.kernel));
    else
      list.push_back(std::move(e.kernel));
  }
  r.extras.clear();
  r.frozen = true;
}

Registry& open_for(std::string_view what) {
  Registry& r = raw();
  ARGOSY_CHECK(!r.frozen, internal)
      << what
      << " is registered after ops were looked up: nobody would find it. Do this: load the library "
         "that brings it before the first op is called.";
  return r;
}

Registry& joined() {
  static Registry& registry = (join(raw()), raw());
  return registry;
}

}  // namespace

OpDef* register_op(OpDef def) {
  Registry& r = open_for(def.name);
  def.plain_dtypes = def.any_list ? DTypes{} : kAny;
  for (const InputDef& in : def.inputs) {
    def.plain_dtypes = {def.plain_dtypes.bits & in.dtypes.bits};
    if (!in.layouts.has(Layout::strided)) def.plain_dtypes = {};
  }
  r.defs.push_back(std::move(def));
  return &r.defs.back();
}

bool register_kernel(std::string_view op, KernelDef kernel, bool first) {
  open_for(kernel.name).extras.push_back({std::string(op), std::move(kernel), first});
  return true;
}

const OpDef* find(std::string_view name) {
  Registry& r = joined();
  auto it = r.by_name.find(name);
  return it == r.by_name.end() ? nullptr : it->second;
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
  for (auto& [name, op] : joined().by_name) list.push_back(op);
  std::sort(list.begin(), list.end(), [](auto* a, auto* b) { return a->name < b->name; });
  return list;
}

int OpDef::find_input(std::string_view wanted) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == wanted) return static_cast<int>(i);
  return -1;
}

}  // namespace argosy::op
