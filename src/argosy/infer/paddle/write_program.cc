#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <unordered_map>
#include <utility>

#include "argosy/infer/paddle/graph.h"
#include "argosy/infer/paddle/old_forms.h"
#include "argosy/infer/paddle/pir_names.h"
#include "argosy/infer/paddle/written.h"
#include "framework.pb.h"

// Programs as `.pdmodel` files have them (Protobuf; read_program.cc reads them): variables by name,
// and ops with the names, slots and attributes that they had in Paddle 2. A region becomes a block
// of its own, whose results are variables of the block around it.
namespace argosy::infer::paddle {
namespace {

constexpr int64_t kVersion = 2'006'000;

using Names = std::vector<std::string>;

// --- attributes ---

file::Attribute& add_attribute(file::Operation& o, std::string_view name, AttributeType type) {
  file::Attribute& a = *o.add_attrs();
  a.set_name(std::string(name));
  a.set_type(static_cast<int32_t>(type));
  return a;
}

void put_number(file::Operation& o, std::string_view name, AttributeType type, double v) {
  file::Attribute& a = add_attribute(o, name, type);
  switch (type) {
    case AttributeType::boolean:
      return a.set_b(v != 0);
    case AttributeType::integer:
      ARGOSY_CHECK(v == std::floor(v), not_implemented)
          << "[paddle] " << o.type() << ": Paddle 2 has integers for " << std::string(name)
          << ", got " << v << ". Do this: write the format 'paddle'.";
      return a.set_i(static_cast<int32_t>(v));
    case AttributeType::large:
      return a.set_l(static_cast<int64_t>(v));
    case AttributeType::real:
      return a.set_f(static_cast<float>(v));
    default:
      ARGOSY_THROW(internal) << "[paddle] " << o.type() << ": " << std::string(name)
                             << " is no number.";
  }
}

void put_text(file::Operation& o, std::string_view name, std::string_view v) {
  add_attribute(o, name, AttributeType::text).set_s(std::string(v));
}

// Paddle 2 has ends of slices and the like in 32 bits; "to the end" is the largest number.
int32_t narrow(int64_t n) {
  return static_cast<int32_t>(std::clamp<int64_t>(n, INT32_MIN, INT32_MAX));
}

template <class List>
void put_numbers(file::Operation& o, std::string_view name, AttributeType type, const List& v) {
  file::Attribute& a = add_attribute(o, name, type);
  for (const auto n : v) {
    if (type == AttributeType::integers)
      a.add_ints(narrow(static_cast<int64_t>(n)));
    else if (type == AttributeType::larges)
      a.add_longs(static_cast<int64_t>(n));
    else
      a.add_floats(static_cast<float>(n));
  }
}

AttributeType usual_type(Set::Type type) {
  switch (type) {
    case Set::Type::f32:
    case Set::Type::f64:
      return AttributeType::real;
    case Set::Type::boolean:
      return AttributeType::boolean;
    case Set::Type::text:
      return AttributeType::text;
    case Set::Type::i32s:
    case Set::Type::i64s:
    case Set::Type::sizes:
      return AttributeType::integers;
    case Set::Type::f64s:
      return AttributeType::reals;
    default:
      return AttributeType::integer;
  }
}

void put(file::Operation& o, std::string_view name, AttributeType type, const Set& s) {
  if (const auto* v = std::get_if<int64_t>(&s.value))
    return put_number(o, name, type, static_cast<double>(*v));
  if (const auto* v = std::get_if<double>(&s.value)) return put_number(o, name, type, *v);
  if (const auto* v = std::get_if<std::string>(&s.value)) return put_text(o, name, *v);
  if (const auto* v = std::get_if<std::optional<DType>>(&s.value))
    return put_number(o, name, type, *v ? static_cast<double>(number_of_dtype(**v)) : -1);
  if (const auto* v = std::get_if<std::vector<double>>(&s.value))
    return put_numbers(o, name, type, *v);
  put_numbers(o, name, type, std::get<std::vector<int64_t>>(s.value));
}

// The attribute beside an operand that is given instead: Paddle asks that it be there.
void put_unused(file::Operation& o, const OldOperand& old) {
  if (old.type == AttributeType::integers || old.type == AttributeType::larges)
    put_numbers(o, old.attribute, old.type, std::vector<int64_t>{});
  else
    put_number(o, old.attribute, old.type, 1);
}

// Would the attribute, which has 32 bits, have another value than the constant?
bool rounds(const OldOperand& old, const Set& value, DType dtype) {
  const auto* v = std::get_if<double>(&value.value);
  return v && old.type == AttributeType::real && dtype != DType::float32 &&
         static_cast<double>(static_cast<float>(*v)) != *v;
}

bool is_zero(const Set& s) {
  const auto* whole = std::get_if<int64_t>(&s.value);
  const auto* real = std::get_if<double>(&s.value);
  return (whole && *whole == 0) || (real && *real == 0);
}

const Set& attribute_of(const Node& n, std::string_view name) {
  auto it = std::ranges::find(n.sets, name, &Set::name);
  ARGOSY_CHECK(it != n.sets.end(), internal)
      << "[paddle] " << n.op << " has no attribute '" << std::string(name) << "'.";
  return *it;
}

void add_slot(google::protobuf::RepeatedPtrField<file::Slot>* slots, std::string_view name,
              const Names& variables) {
  file::Slot& slot = *slots->Add();
  slot.set_parameter(std::string(name));
  for (const std::string& v : variables) slot.add_arguments(v);
}

// --- the whole ---

class Translator {
 public:
  explicit Translator(const Document& document) : document_(document) {
    for (const Node& n : document.constants) constants_[n.out[0].id] = &n;
    for (const Node& n : document.main.nodes)
      if (n.op == "fetch")
        wanted_.emplace(n.in[0].id, std::get<std::string>(attribute_of(n, "name").value));
  }

  std::string translate();

 private:
  // --- variables ---
  std::string unique(const std::string& name) {
    std::string made = name;
    for (int i = 1; !used_.insert(made).second; ++i) made = name + "_" + std::to_string(i);
    return made;
  }
  file::Variable& add_variable(file::Block& block, const std::string& name, int kind);
  // A variable of this form in the block, which is not a value's yet.
  std::string declare(const Written& form, const std::string& name) {
    return declare(*block_, form, name);
  }
  std::string declare(file::Block& block, const Written& form, const std::string& name);
  // The variables of a result, which it declares.
  const Names& give(const Written& w);
  // The variables of an operand.
  const Names& names(const Written& w);
  const std::string& name(const Written& w) { return names(w)[0]; }
  const Node* constant(const Written& w) const {
    auto it = constants_.find(w.id);
    return it == constants_.end() ? nullptr : it->second;
  }
  void make_constant(const Node& n);

  // --- operations ---
  static file::Operation& add(file::Block& block, std::string_view type) {
    file::Operation& o = *block.add_ops();
    o.set_type(std::string(type));
    return o;
  }
  void node(const Node& n);
  void plain(const Node& n);
  void operand(const Node& n, file::Operation& o, size_t i, const OldForm& form, std::string slot);
  static void constant_operand(const Set& value, const OldOperand& old, file::Operation& o);
  void results(const Node& n, file::Operation& o, const Names& slots);
  void attributes(const Node& n, file::Operation& o, const PirName& base, const OldForm& form);
  void copy(const std::string& x, const std::string& y);
  void cast(const std::string& x, DType from, const std::string& y, DType to);
  void sizes(const Node& n);
  void feed(const Node& n);
  void fetch(const Node& n);

  // --- blocks ---
  file::Block& begin_block();  // inside of the present one, which it replaces
  Names read_from_outside(const file::Block& block) const;
  void scope_of(file::Operation& o, const char* slot, const file::Block& inner);
  void write_if(const Node& n);
  void write_while(const Node& n);

  const Document& document_;
  file::Program program_;
  file::Block feeds_, fills_;  // what the main block begins with
  file::Block* block_ = nullptr;
  std::set<std::string> used_, fetched_;  // names
  std::unordered_map<int64_t, Names> names_;
  std::unordered_map<int64_t, const Node*> constants_;
  std::unordered_map<int64_t, std::string> wanted_;  // what outputs are called
};

file::Variable& Translator::add_variable(file::Block& block, const std::string& name, int kind) {
  file::Variable& v = *block.add_vars();
  v.set_name(name);
  v.mutable_type()->set_type(kind);
  return v;
}

std::string Translator::declare(file::Block& block, const Written& form, const std::string& name) {
  std::string made = unique(name);
  file::Variable& v = add_variable(block, made, kLodTensor);
  file::TensorDesc& desc = *v.mutable_type()->mutable_dense()->mutable_tensor();
  desc.set_data_type(static_cast<int32_t>(number_of_dtype(form.dtype)));
  for (const int64_t d : form.shape) desc.add_dims(d);
  return made;
}

const Names& Translator::give(const Written& w) {
  Names made;
  if (w.is_list) {
    for (const Written& part : w.parts) made.push_back(declare(part, "value"));
  } else {
    auto it = wanted_.find(w.id);
    const bool named = it != wanted_.end() && block_ == program_.mutable_blocks(0);
    made.push_back(declare(w, named ? it->second : "value_" + std::to_string(w.id)));
  }
  return names_[w.id] = std::move(made);
}

const Names& Translator::names(const Written& w) {
  if (auto it = names_.find(w.id); it != names_.end()) return it->second;
  const Node* n = constant(w);
  ARGOSY_CHECK(n, internal) << "[paddle] value " << w.id << " is used before it is made.";
  make_constant(*n);
  return names_.at(w.id);
}

// A constant that an op wants as a variable.
void Translator::make_constant(const Node& n) {
  const Written& w = n.out[0];
  names_[w.id] = {declare(*program_.mutable_blocks(0), w, "constant_" + std::to_string(w.id))};
  const bool list = n.op == "full_int_array";
  file::Operation& o = add(fills_, list ? "assign_value" : "fill_constant");
  add_slot(o.mutable_outputs(), "Out", names_[w.id]);
  put_number(o, "dtype", AttributeType::integer, static_cast<double>(number_of_dtype(w.dtype)));
  put_numbers(o, "shape", list ? AttributeType::integers : AttributeType::larges, w.shape);
  if (list)
    return put_numbers(o, "int64_values", AttributeType::larges,
                       std::get<std::vector<int64_t>>(attribute_of(n, "value").value));
  const double v = std::get<double>(attribute_of(n, "value").value);
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", v);
  put_number(o, "value", AttributeType::real, v);
  put_text(o, "str_value", text);
  put_number(o, "force_cpu", AttributeType::boolean, 0);
}

// --- operations ---

void Translator::node(const Node& n) {
  if (n.op == "data") return feed(n);
  if (n.op == "fetch") return fetch(n);
  if (n.op == "if") return write_if(n);
  if (n.op == "while") return write_while(n);
  if (n.op == "shape64") return sizes(n);
  if (n.op == "cast") {
    const std::string x = name(n.in[0]);
    return cast(x, n.in[0].dtype, give(n.out[0])[0], n.out[0].dtype);
  }
  if (n.op == "0.combine") {
    Names all;
    for (const Written& w : n.in) all.push_back(name(w));
    names_[n.out[0].id] = std::move(all);
    return;
  }
  if (n.op == "0.split") {
    const Names parts = names(n.in[0]);
    for (size_t i = 0; i < n.out.size(); ++i) names_[n.out[i].id] = {parts[i]};
    return;
  }
  plain(n);
}

void Translator::plain(const Node& n) {
  const PirName* base = find_pir_name(n.op);
  ARGOSY_CHECK(base, internal) << "[paddle] " << n.op << " has no name in Paddle 2.";
  const OldForm& form = old_form(n.op);
  file::Operation o;  // its operands may be operations to be written before
  o.set_type(form.op.empty() ? base->op : form.op);
  const Names slots = words_of(base->inputs);
  for (size_t i = 0; i < n.in.size(); ++i)
    if (n.in[i].id)
      operand(n, o, i, form, i < slots.size() ? slots[i] : "");
    else if (i < slots.size())
      add_slot(o.mutable_inputs(), slots[i], {});
  for (size_t i = n.in.size(); i < slots.size(); ++i)
    if (slots[i][0] != '*') add_slot(o.mutable_inputs(), slots[i], {});
  Names outputs = form.outputs;
  if (outputs.empty()) {
    outputs = words_of(base->outputs);
    outputs.resize(std::min(outputs.size(), n.out.size()));
  }
  results(n, o, outputs);
  attributes(n, o, *base, form);
  *block_->add_ops() = std::move(o);
}

// An operand that is an attribute in Paddle 2, beside an input that stays empty.
void Translator::constant_operand(const Set& value, const OldOperand& old, file::Operation& o) {
  if (!old.slot.empty()) add_slot(o.mutable_inputs(), old.slot, {});
  if (old.all.empty()) return put(o, old.attribute, old.type, value);
  const auto* axes = std::get_if<std::vector<int64_t>>(&value.value);
  const bool all = axes && axes->empty();
  put_number(o, old.all, AttributeType::boolean, all);
  if (all) return put_numbers(o, old.attribute, old.type, std::vector<int64_t>{0});
  put(o, old.attribute, old.type, value);
}

void Translator::operand(const Node& n, file::Operation& o, size_t i, const OldForm& form,
                         std::string slot) {
  if (const OldOperand* old = form.operand(i)) {
    if (old->attribute.empty()) return;
    const Node* c = constant(n.in[i]);
    if (c && (old->slot.empty() || !rounds(*old, attribute_of(*c, "value"), n.in[i].dtype)))
      return constant_operand(attribute_of(*c, "value"), *old, o);
    slot = old->slot;
    if (!slot.empty()) put_unused(o, *old);
  }
  ARGOSY_CHECK(!slot.empty(), not_implemented)
      << "[paddle] " << n.op
      << ": a number that only a run knows has no counterpart in a .pdmodel. "
      << "Do this: write a .json (format='paddle').";
  add_slot(o.mutable_inputs(), slot, names(n.in[i]));
}

// "MeanOut=1" is the variable of operand 1, which Paddle 2 writes in place.
void Translator::results(const Node& n, file::Operation& o, const Names& slots) {
  for (size_t i = 0; i < n.out.size() && i < slots.size(); ++i) {
    const size_t equals = slots[i].find('=');
    if (equals == std::string::npos) {
      add_slot(o.mutable_outputs(), slots[i], give(n.out[i]));
      continue;
    }
    const Names same = names(n.in[static_cast<size_t>(slots[i][equals + 1] - '0')]);
    add_slot(o.mutable_outputs(), slots[i].substr(0, equals), same);
    names_[n.out[i].id] = same;
  }
  for (size_t i = n.out.size(); i < slots.size(); ++i)
    add_slot(o.mutable_outputs(), slots[i], {declare(n.in[0], "unused")});
}

void Translator::attributes(const Node& n, file::Operation& o, const PirName& base,
                            const OldForm& form) {
  std::unordered_map<std::string, std::string> renamed;
  for (const std::string& word : words_of(base.attributes))
    if (const size_t equals = word.find('='); equals != std::string::npos)
      renamed[word.substr(0, equals)] = word.substr(equals + 1);
  for (const Set& s : n.sets) {
    if (s.type == Set::Type::place) continue;
    const OldAttribute* old = form.attribute(s.name);
    if (old && old->name.empty()) {
      ARGOSY_CHECK(old->told_otherwise || is_zero(s), not_implemented)
          << "[paddle] " << n.op << ": " << s.name << " has no counterpart in a .pdmodel. Do this: "
          << "write a .json (format='paddle').";
      continue;
    }
    auto it = renamed.find(s.name);
    const std::string name = old ? old->name : it == renamed.end() ? s.name : it->second;
    put(o, name, old ? old->type : usual_type(s.type), s);
  }
  for (const OldFixed& fixed : form.fixed) {
    if (fixed.type != AttributeType::integers) {
      put_number(o, fixed.name, fixed.type, fixed.value);
      continue;
    }
    const auto& axes = std::get<std::vector<int64_t>>(attribute_of(n, "axes").value);
    put_numbers(o, fixed.name, fixed.type, std::vector<double>(axes.size(), fixed.value));
  }
}

// Paddle 2 gives sizes as int32.
void Translator::sizes(const Node& n) {
  Written narrow = n.out[0];
  narrow.dtype = DType::int32;
  const std::string made = declare(narrow, "sizes");
  file::Operation& o = add(*block_, "shape");
  add_slot(o.mutable_inputs(), "Input", names(n.in[0]));
  add_slot(o.mutable_outputs(), "Out", {made});
  cast(made, narrow.dtype, give(n.out[0])[0], n.out[0].dtype);
}

void Translator::copy(const std::string& x, const std::string& y) {
  file::Operation& o = add(*block_, "assign");
  add_slot(o.mutable_inputs(), "X", {x});
  add_slot(o.mutable_outputs(), "Out", {y});
}

void Translator::cast(const std::string& x, DType from, const std::string& y, DType to) {
  file::Operation& o = add(*block_, "cast");
  add_slot(o.mutable_inputs(), "X", {x});
  add_slot(o.mutable_outputs(), "Out", {y});
  put_number(o, "in_dtype", AttributeType::integer, static_cast<double>(number_of_dtype(from)));
  put_number(o, "out_dtype", AttributeType::integer, static_cast<double>(number_of_dtype(to)));
  put_number(o, "use_mkldnn", AttributeType::boolean, 0);  // Paddle's jit.load asks for it
}

void Translator::feed(const Node& n) {
  const std::string called =
      declare(n.out[0], std::get<std::string>(attribute_of(n, "name").value));
  block_->mutable_vars(block_->vars_size() - 1)->set_need_check_feed(true);
  names_[n.out[0].id] = {called};
  file::Operation& o = add(feeds_, "feed");
  add_slot(o.mutable_inputs(), "X", {"feed"});
  add_slot(o.mutable_outputs(), "Out", {called});
  put_number(o, "col", AttributeType::integer, feeds_.ops_size() - 1);
}

void Translator::fetch(const Node& n) {
  const std::string& called = std::get<std::string>(attribute_of(n, "name").value);
  std::string given = name(n.in[0]);
  // An output is a variable of its own name: a value that has another already is copied.
  if (given != called || fetched_.contains(given)) {
    const std::string made = declare(n.in[0], called);
    copy(given, made);
    given = made;
  }
  fetched_.insert(given);
  file::Operation& o = add(*block_, "fetch");
  add_slot(o.mutable_inputs(), "X", {given});
  add_slot(o.mutable_outputs(), "Out", {"fetch"});
  put(o, "col", AttributeType::integer, attribute_of(n, "col"));
}

// --- blocks ---

file::Block& Translator::begin_block() {
  const int32_t parent = block_->idx();
  block_ = program_.add_blocks();
  block_->set_idx(program_.blocks_size() - 1);
  block_->set_parent_idx(parent);
  return *block_;
}

Names Translator::read_from_outside(const file::Block& block) const {
  std::set<std::string> inner, read;
  for (const file::Variable& v : block.vars()) inner.insert(v.name());
  for (const file::Operation& o : block.ops())
    for (const file::Slot& slot : o.inputs())
      for (const std::string& v : slot.arguments())
        if (!inner.contains(v)) read.insert(v);
  return {read.begin(), read.end()};
}

void Translator::scope_of(file::Operation& o, const char* slot, const file::Block& inner) {
  const std::string scope = unique("scope");
  add_variable(*block_, scope, kStepScopes);
  add_slot(o.mutable_outputs(), slot, {scope});
  add_attribute(o, "sub_block", AttributeType::block).set_block_idx(inner.idx());
}

// Each branch is a block that runs if its condition holds and writes variables of its own, of which
// those of the branch that ran are selected.
void Translator::write_if(const Node& n) {
  file::Block* outer = block_;
  const std::string yes = name(n.in[0]);
  const std::string no = declare(n.in[0], "not");
  file::Operation& inverse = add(*outer, "logical_not");
  add_slot(inverse.mutable_inputs(), "X", {yes});
  add_slot(inverse.mutable_outputs(), "Out", {no});
  Names given[2];
  for (size_t branch = 0; branch < 2; ++branch) {
    const Region& region = n.regions[branch];
    for (const Written& w : n.out) given[branch].push_back(declare(w, "branch"));
    const file::Block& inner = begin_block();
    for (const Node& part : region.nodes) node(part);
    for (size_t i = 0; i < n.out.size(); ++i) copy(name(region.yields[i]), given[branch][i]);
    block_ = outer;
    file::Operation& o = add(*outer, "conditional_block");
    add_slot(o.mutable_inputs(), "Cond", {branch == 0 ? yes : no});
    add_slot(o.mutable_inputs(), "Input", read_from_outside(inner));
    add_slot(o.mutable_outputs(), "Out", given[branch]);
    scope_of(o, "Scope", inner);
    put_number(o, "is_scalar_condition", AttributeType::boolean, 1);
  }
  Written place = n.in[0];
  place.dtype = DType::int32;
  const std::string chosen = declare(place, "chosen");
  cast(yes, DType::bool_, chosen, place.dtype);
  for (size_t i = 0; i < n.out.size(); ++i) {
    file::Operation& o = add(*outer, "select_input");
    add_slot(o.mutable_inputs(), "X", {given[1][i], given[0][i]});
    add_slot(o.mutable_inputs(), "Mask", {chosen});
    add_slot(o.mutable_outputs(), "Out", give(n.out[i]));
  }
}

// The condition and what the loop carries are variables around it, which each round writes.
void Translator::write_while(const Node& n) {
  file::Block* outer = block_;
  const Region& region = n.regions[0];
  Names carried;
  for (size_t i = 0; i < n.in.size(); ++i) {
    const Written& form = i ? region.arguments[i - 1] : n.in[0];
    carried.push_back(declare(form, i ? "carried" : "condition"));
    copy(name(n.in[i]), carried[i]);
    if (i) names_[form.id] = {carried[i]};
  }
  file::Block& inner = begin_block();
  for (const Node& part : region.nodes) node(part);
  Names next;
  for (size_t i = 0; i < carried.size(); ++i) {
    next.push_back(name(region.yields[i]));
    // One that another place of the round carries may be written before it is read.
    if (next[i] == carried[i] || std::ranges::find(carried, next[i]) == carried.end()) continue;
    const std::string held = declare(region.yields[i], "held");
    copy(next[i], held);
    next[i] = held;
  }
  for (size_t i = 0; i < carried.size(); ++i)
    if (next[i] != carried[i]) copy(next[i], carried[i]);
  block_ = outer;
  file::Operation& o = add(*outer, "while");
  Names read = read_from_outside(inner);
  std::erase(read, carried[0]);
  for (const std::string& v : carried)
    if (v != carried[0] && std::ranges::find(read, v) == read.end()) read.push_back(v);
  add_slot(o.mutable_inputs(), "X", read);
  add_slot(o.mutable_inputs(), "Condition", {carried[0]});
  add_slot(o.mutable_outputs(), "Out", carried);
  scope_of(o, "StepScopes", inner);
  put_number(o, "is_test", AttributeType::boolean, 1);
  for (size_t i = 0; i < n.out.size(); ++i) names_[n.out[i].id] = {carried[i + 1]};
}

// --- the whole ---

std::string Translator::translate() {
  file::Block& main = *program_.add_blocks();
  main.set_idx(0);
  main.set_parent_idx(-1);
  block_ = &main;
  program_.mutable_version()->set_version(kVersion);
  for (const auto& [called, kind] : {std::pair("feed", kFeedMinibatch), {"fetch", kFetchList}}) {
    used_.insert(called);
    add_variable(main, called, kind).set_persistable(true);
  }
  for (const auto& [called, w] : document_.parameters) {
    names_[w.id] = {declare(w, called)};
    file::Variable& v = *main.mutable_vars(main.vars_size() - 1);
    v.set_persistable(true);
    v.set_is_parameter(true);
  }
  for (const Node& n : document_.main.nodes) node(n);
  file::Block rest;
  rest.mutable_ops()->Swap(main.mutable_ops());
  // Paddle puts each feed before the others, and its jit.load takes inputs in the opposite order.
  std::reverse(feeds_.mutable_ops()->begin(), feeds_.mutable_ops()->end());
  for (file::Block* part : {&feeds_, &fills_, &rest})
    for (file::Operation& o : *part->mutable_ops()) *main.add_ops() = std::move(o);
  return program_.SerializeAsString();
}

}  // namespace

std::string program_of(const Document& document) {
  return Translator(document).translate();
}

}  // namespace argosy::infer::paddle
