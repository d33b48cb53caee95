#include "argosy/infer/paddle/session.h"

#include <algorithm>
#include <set>

#include "argosy/infer/deciders.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/control/control.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"

namespace argosy::infer::paddle {
namespace {

constexpr int kMaxDepth = 64;        // of blocks in one another
constexpr int64_t kMaxNumbers = 64;  // a vector of sizes is never longer
// Integers that a file keeps as parameters are sizes or indices if they are few.
constexpr int64_t kFewIntegers = 64;

bool is_end(const Operation& o) {
  return o.type == "feed" || o.type == "fetch";
}

int64_t column_of(const Operation& o) {
  const auto it = o.attributes.find("col");
  const auto* column = it == o.attributes.end() ? nullptr : std::get_if<int64_t>(&it->second);
  return column ? *column : 0;
}

}  // namespace

Session::Session(const Graph& graph, Weights weights, std::span<const Port> inputs,
                 std::span<const Tensor> fixed)
    : graph_(graph),
      weights_(std::move(weights)),
      inputs_(inputs),
      fixed_(fixed),
      program_(program::Program::make()),
      scope_(std::make_shared<program::Scope>()) {}

void Session::check_operations() const {
  std::set<std::string> unknown;
  for (const Block& b : graph_.blocks)
    for (const Operation& o : b.operations)
      if (!is_end(o) && !find_row(o.type)) unknown.insert(o.foreign.empty() ? o.type : o.foreign);
  if (unknown.empty()) return;
  std::string list;
  for (const std::string& name : unknown) list += (list.empty() ? "" : ", ") + name;
  ARGOSY_THROW(not_implemented) << "[paddle] the model has operations that are not supported: "
                                << list << '.';
}

program::Model Session::finish() {
  check_operations();
  const program::Recording none(nullptr);  // of the caller: what is computed here is no part of it
  scopes_.push_back({0, {}});
  define_weights();
  const Block& main = graph_.blocks[0];
  std::vector<const Operation*> feeds, fetches;
  for (const Operation& o : main.operations) {
    if (o.type == "feed") feeds.push_back(&o);
    if (o.type == "fetch") fetches.push_back(&o);
  }
  const auto by_column = [](const Operation* a, const Operation* b) {
    return column_of(*a) < column_of(*b);
  };
  std::ranges::stable_sort(feeds, by_column);
  for (const Operation* o : feeds) {
    const auto* out = o->output("Out");
    ARGOSY_CHECK(out && out->size() == 1, invalid_argument) << "[paddle] feed gives one variable.";
    const Variable* v = variable(out->front());
    ARGOSY_CHECK(v && v->typed, invalid_argument)
        << "[paddle] nothing is known of the input '" << out->front() << "'.";
    set(v->name, feed(v->name, v->shape, v->dtype, v->lod_level));
  }
  run_operations(main);
  for (const Operation* o : fetches) {
    const auto* in = o->input("X");
    ARGOSY_CHECK(in && in->size() == 1, invalid_argument) << "[paddle] fetch takes one variable.";
    fetch(get(in->front()).tensor, in->front(), column_of(*o));
  }
  std::ranges::stable_sort(fetched_, {}, [](const auto& f) { return f.first; });
  for (auto& [column, output] : fetched_) program_->outputs.push_back(std::move(output));
  ARGOSY_CHECK(!program_->outputs.empty(), invalid_argument)
      << "[paddle] the model has no outputs (fetch).";
  program_->verify();
  return {program_, scope_};
}

Item Session::feed(const std::string& name, const Shape& shape, DType dtype, int lod_level) {
  const Tensor rows = input(name, shape, dtype);
  if (lod_level == 0) return rows;
  ARGOSY_CHECK(lod_level == 1, not_implemented)
      << "[paddle] input '" << name << "' is of sequences in " << lod_level
      << " levels; one is supported.";
  return {rows, input(name + "@LENGTHS", {kUnknown}, DType::int64)};
}

Tensor Session::input(const std::string& name, const Shape& shape, DType dtype) {
  const auto port = std::ranges::find(inputs_, name, &Port::name);
  const auto at = static_cast<size_t>(port - inputs_.begin());
  const Tensor given = at < fixed_.size() ? fixed_[at] : Tensor();
  const Tensor in = builder().input(name, given.defined() ? given.shape() : shape, dtype);
  return given.defined() && given.has_data() ? given : in;
}

void Session::ask_for(const Tensor& t, bool sizes) const {
  NeedsMore more;
  for (const Decider& d : deciders_of(*program_, t, sizes)) {
    const auto port = std::ranges::find(inputs_, d.input->name, &Port::name);
    if (port != inputs_.end())
      more.needs.push_back({static_cast<size_t>(port - inputs_.begin()), d.value});
  }
  if (!more.needs.empty()) throw more;
}

void Session::fetch(const Tensor& value, const std::string& name, int64_t column) {
  ARGOSY_CHECK(value.defined() && value.layout() == Layout::strided, not_implemented)
      << "[paddle] output '" << name << "' is no tensor.";
  fetched_.push_back({column, {name, builder().current(value)}});
}

// --- names ---

const Variable* Session::variable(const std::string& name) const {
  for (int64_t b = scopes_.back().block; b >= 0; b = graph_.blocks[static_cast<size_t>(b)].parent) {
    const auto& variables = graph_.blocks[static_cast<size_t>(b)].variables;
    if (const auto it = variables.find(name); it != variables.end()) return &it->second;
  }
  return nullptr;
}

const Item* Session::find(const std::string& name) {
  for (size_t i = scopes_.size(); i-- > 0;)
    if (const auto it = scopes_[i].items.find(name); it != scopes_[i].items.end())
      return &it->second;
  return nullptr;
}

const Item* Session::find_or_empty(const std::string& name) {
  const Item* item = find(name);
  const Variable* v = item ? nullptr : variable(name);
  if (!v || v->kind != kLodTensorArray) return item;
  const auto recording = this->recording();
  set(name, ops::array_new(v->dtype));
  return find(name);
}

const Item& Session::get(const std::string& name) {
  const Item* item = find_or_empty(name);
  ARGOSY_CHECK(item, invalid_argument)
      << "[paddle] '" << name
      << "' is used in the model before it is made, and is not among the parameters.";
  return *item;
}

void Session::set(const std::string& name, Item item) {
  scopes_.back().items.insert_or_assign(name, std::move(item));
}

void Session::define_weights() {
  for (const auto& [name, value] : weights_) {
    Item item;
    if (is_integral(value.dtype()) && value.numel() <= kFewIntegers) {
      item = value;
    } else {
      const Variable* v = variable(name);
      auto state = make_ref<program::State>();
      state->name = name;
      state->shape = value.shape();
      state->dtype = value.dtype();
      state->trainable = v && v->parameter && is_floating(value.dtype());
      scope_->var(name).tensor = value;
      value.set_stop_gradient(!state->trainable);
      item = program::handle(builder().current(program::handle(state)));
    }
    set(name, std::move(item));
  }
  weights_.clear();
}

// --- blocks ---

Session::Ran Session::run(int64_t block, std::span<const std::pair<std::string, Item>> given) {
  ARGOSY_CHECK(scopes_.size() < kMaxDepth, invalid_argument)
      << "[paddle] blocks are nested more than " << kMaxDepth << " deep.";
  const Block& b = graph_.blocks[static_cast<size_t>(block)];
  scopes_.push_back({block, {given.begin(), given.end()}});
  struct Pop {
    std::vector<Scope>& scopes;
    ~Pop() { scopes.pop_back(); }
  } pop{scopes_};
  run_operations(b);
  Ran ran;
  for (const std::string& name : b.yields) ran.yields.push_back(get(name));
  ran.items = std::move(scopes_.back().items);
  return ran;
}

void Session::collect_written(int64_t block, std::vector<std::string>* names) const {
  const Block& b = graph_.blocks[static_cast<size_t>(block)];
  std::vector<std::string> here;
  for (const Operation& o : b.operations) {
    for (const auto& [slot, outputs] : o.outputs)
      here.insert(here.end(), outputs.begin(), outputs.end());
    for (const auto& [name, value] : o.attributes)
      if (const auto* inner = std::get_if<Blocks>(&value))
        for (const int64_t i : inner->indices) collect_written(i, &here);
  }
  for (const std::string& name : here)
    if (!b.variables.contains(name)) names->push_back(name);
}

std::vector<std::string> Session::written_by(int64_t block) const {
  std::vector<std::string> all, names;
  std::unordered_set<std::string> seen;
  collect_written(block, &all);
  for (std::string& name : all)
    if (seen.insert(name).second) names.push_back(std::move(name));
  return names;
}

void Session::run_operations(const Block& block) {
  for (const Operation& o : block.operations)
    if (!is_end(o)) run_operation(o);
}

void Session::run_operation(const Operation& o) {
  const std::string& name = o.foreign.empty() ? o.type : o.foreign;
  try {
    find_row(o.type)->convert(Node(*this, o));
    inherit_lengths(o);
    count_folded(o);
  } catch (const Error& e) {
    const std::string text = e.what();
    if (text.starts_with("[paddle]")) throw;
    std::string of;
    for (const auto& [slot, names] : o.outputs)
      if (of.empty() && !names.empty()) of = names.front();
    throw Error(e.kind(), "[paddle] in " + name + ", which makes '" + of + "': " + text);
  }
}

// Results with as many rows as an input of sequences are sequences too, unless the row says
// otherwise.
void Session::inherit_lengths(const Operation& o) {
  const Item* from = nullptr;
  for (const auto& [slot, names] : o.inputs)
    for (const std::string& name : names)
      if (const Item* item = find(name); !from && item && item->lengths.defined()) from = item;
  if (!from) return;
  const Tensor rows = from->tensor, lengths = from->lengths;
  for (const auto& [slot, names] : o.outputs)
    for (const std::string& name : names) {
      const auto it = scopes_.back().items.find(name);
      if (it == scopes_.back().items.end()) continue;
      Item& item = it->second;
      if (item.kind == Item::Kind::tensor && !item.plain && !item.lengths.defined() &&
          item.tensor.rank() >= 1 && item.tensor.dim(0) == rows.dim(0))
        item.lengths = lengths;
    }
}

void Session::count_folded(const Operation& o) {
  for (const auto& [slot, names] : o.outputs)
    for (const std::string& name : names) {
      const auto it = scopes_.back().items.find(name);
      if (it == scopes_.back().items.end() || it->second.kind != Item::Kind::tensor) continue;
      const Tensor& t = it->second.tensor;
      if (!t.symbolic() && t.has_data()) folded_bytes_ += static_cast<int64_t>(t.nbytes());
    }
  ARGOSY_CHECK(folded_bytes_ <= kMaxFoldedBytes, memory)
      << "[paddle] the constants of the model take more than " << kMaxFoldedBytes << " bytes.";
}

// --- numbers ---

void Session::remember(const Tensor& t, op::IntArray numbers) {
  if (t.symbolic()) numbers_[t.impl()] = {t, std::move(numbers)};
}

op::IntArray Session::integers(const Tensor& t) {
  if (const auto it = numbers_.find(t.impl()); it != numbers_.end()) return it->second.second;
  op::IntArray list;
  Tensor known = t.symbolic() ? builder().known(t) : t;
  if (known.defined()) {
    ARGOSY_CHECK(known.numel() <= kMaxNumbers, invalid_argument)
        << "[paddle] a short vector of integers is expected, got " << t << '.';
    known = op::contiguous(ops::cast(known, DType::int64));
    for (int64_t i = 0; i < known.numel(); ++i) list.values.push_back(known.data<int64_t>()[i]);
    return list;
  }
  if (t.numel() < 0) ask_for(t, true);
  ARGOSY_CHECK(t.numel() >= 0 && t.numel() <= kMaxNumbers, not_implemented)
      << "[paddle] how many sizes or indices there are has to be known, got " << t << '.';
  const Tensor flat = t.rank() == 1 ? t : ops::reshape(t, {t.numel()});
  for (int64_t i = 0; i < t.numel(); ++i) {
    list.symbols.push_back({static_cast<uint32_t>(i), ops::pick(flat, 0, i)});
    list.values.push_back(kUnknown);
  }
  return list;
}

}  // namespace argosy::infer::paddle
