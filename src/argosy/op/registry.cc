#include <algorithm>
#include <atomic>
#include <cctype>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

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

void join(Registry& r) {
  for (OpDef& def : r.defs) {
    bool fresh = r.by_name.emplace(def.name, &def).second;
    ARGOSY_CHECK(fresh, internal) << "Two ops are called " << def.name << " (second in " << def.file
                                  << "). Do this: rename one.";
  }
  for (Registry::Extra& e : r.extras) {
    auto it = r.by_name.find(e.op);
    ARGOSY_CHECK(it != r.by_name.end(), internal)
        << "Kernel " << e.kernel.name << " is for the unknown op " << e.op << '.';
    auto& list = it->second->kernels[static_cast<int>(e.kernel.device)];
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

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t cost = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], cost);
    }
  }
  return row.back();
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

void register_kernel(std::string_view op, KernelDef kernel, bool first) {
  open_for(kernel.name).extras.push_back({std::string(op), std::move(kernel), first});
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
  throw Error(ErrorKind::invalid_argument, text.str() + ".");
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
