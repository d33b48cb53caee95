#include "argosy/infer/paddle/node.h"

#include "argosy/infer/paddle/common.h"

namespace argosy::infer::paddle {
namespace {

const std::vector<std::string> kNothing;

const std::vector<std::string>& or_nothing(const std::vector<std::string>* names) {
  return names ? *names : kNothing;
}

}  // namespace

// --- inputs ---

bool Node::has(std::string_view slot) const {
  const auto& names = or_nothing(op.input(slot));
  if (names.empty() || names.front().empty()) return false;
  const Item* item = session.find(names.front());
  return !item || item->kind != Item::Kind::missing;
}

Item Node::item(std::string_view slot) const {
  const auto& names = or_nothing(op.input(slot));
  if (names.empty()) fail("it has no input " + std::string(slot));
  return session.get(names.front());
}

Tensor Node::in(std::string_view slot) const {
  const Item it = item(slot);
  if (it.kind == Item::Kind::list && it.elements.size() == 1) return it.elements.front();
  if (it.kind != Item::Kind::tensor) fail("input " + std::string(slot) + " is no tensor");
  return it.tensor;
}

std::vector<Tensor> Node::tensors(std::string_view slot) const {
  std::vector<Tensor> all;
  for (const std::string& name : or_nothing(op.input(slot))) {
    if (name.empty()) continue;
    const Item& item = session.get(name);
    if (item.kind == Item::Kind::tensor)
      all.push_back(item.tensor);
    else
      all.insert(all.end(), item.elements.begin(), item.elements.end());
  }
  return all;
}

bool Node::has_lengths(std::string_view slot) const {
  return has(slot) && item(slot).lengths.defined();
}

Tensor Node::lengths(std::string_view slot) const {
  const Item it = item(slot);
  if (!it.lengths.defined()) fail("input " + std::string(slot) + " is no batch of sequences");
  return it.lengths;
}

// --- outputs ---

size_t Node::outputs(std::string_view slot) const {
  return or_nothing(op.output(slot)).size();
}

bool Node::wants(std::string_view slot, size_t i) const {
  const auto& names = or_nothing(op.output(slot));
  return i < names.size() && !names[i].empty();
}

void Node::out(std::string_view slot, Item value, size_t i) const {
  if (wants(slot, i)) session.set((*op.output(slot))[i], std::move(value));
}

void Node::out_list(std::string_view slot, std::span<const Tensor> values) const {
  // One variable for all of them is a list.
  if (session.graph().pir && outputs(slot) == 1)
    return out(slot, Item::list({values.begin(), values.end()}));
  for (size_t i = 0; i < values.size(); ++i) out(slot, values[i], i);
}

const Variable* Node::declared(std::string_view slot, size_t i) const {
  return wants(slot, i) ? session.variable((*op.output(slot))[i]) : nullptr;
}

// --- attributes ---

const Attribute* Node::attribute(std::string_view name) const {
  const auto it = op.attributes.find(name);
  if (it == op.attributes.end() || std::holds_alternative<std::monostate>(it->second))
    return nullptr;
  return &it->second;
}

double Node::real(std::string_view name, double otherwise) const {
  const Attribute* a = attribute(name);
  if (!a) return otherwise;
  if (const auto* v = std::get_if<double>(a)) return *v;
  if (const auto* v = std::get_if<int64_t>(a)) return static_cast<double>(*v);
  if (const auto* v = std::get_if<bool>(a)) return *v;
  fail("attribute " + std::string(name) + " is no number");
}

int64_t Node::integer(std::string_view name, int64_t otherwise) const {
  const Attribute* a = attribute(name);
  if (!a) return otherwise;
  if (const auto* v = std::get_if<int64_t>(a)) return *v;
  if (const auto* v = std::get_if<bool>(a)) return *v;
  if (const auto* v = std::get_if<double>(a)) return static_cast<int64_t>(*v);
  const auto* v = std::get_if<std::vector<int64_t>>(a);
  if (v && v->size() == 1) return v->front();
  fail("attribute " + std::string(name) + " is no integer");
}

bool Node::flag(std::string_view name, bool otherwise) const {
  return integer(name, otherwise) != 0;
}

std::string Node::text(std::string_view name, const char* otherwise) const {
  const Attribute* a = attribute(name);
  if (!a) return otherwise;
  if (const auto* v = std::get_if<std::string>(a)) return *v;
  fail("attribute " + std::string(name) + " is no text");
}

std::vector<int64_t> Node::integers(std::string_view name, std::vector<int64_t> otherwise) const {
  const Attribute* a = attribute(name);
  if (!a) return otherwise;
  if (const auto* v = std::get_if<std::vector<int64_t>>(a)) return *v;
  if (const auto* v = std::get_if<int64_t>(a)) return {*v};
  // A list without elements may be of any type.
  if (const auto* v = std::get_if<std::vector<double>>(a)) return {v->begin(), v->end()};
  if (const auto* v = std::get_if<std::vector<std::string>>(a); v && v->empty()) return {};
  fail("attribute " + std::string(name) + " is no list of integers");
}

std::vector<double> Node::reals(std::string_view name) const {
  const Attribute* a = attribute(name);
  if (!a) return {};
  if (const auto* v = std::get_if<std::vector<double>>(a)) return *v;
  if (const auto* v = std::get_if<double>(a)) return {*v};
  const std::vector<int64_t> whole = integers(name);
  return {whole.begin(), whole.end()};
}

DType Node::dtype(std::string_view name, DType otherwise) const {
  const int64_t number = integer(name, -1);
  return number < 0 ? otherwise : dtype_of_number(number, name);
}

std::vector<int64_t> Node::blocks() const {
  std::vector<int64_t> all;
  for (const auto& [name, value] : op.attributes)
    if (const auto* b = std::get_if<Blocks>(&value))
      all.insert(all.end(), b->indices.begin(), b->indices.end());
  return all;
}

// --- numbers ---

op::IntArray Node::numbers(std::string_view attribute, std::string_view tensor,
                           std::string_view list) const {
  std::vector<Tensor> parts;
  if (!list.empty()) parts = tensors(list);
  if (parts.empty() && !tensor.empty() && has(tensor)) {
    const Item it = item(tensor);
    if (it.kind == Item::Kind::tensor) return session.integers(it.tensor);
    parts = it.elements;
  }
  if (parts.empty()) {
    const std::vector<int64_t> known = integers(attribute);
    return op::IntArray(std::span(known));
  }
  if (parts.size() == 1) return session.integers(parts.front());
  op::IntArray all;
  for (const Tensor& part : parts) {
    op::IntArray one = session.integers(part);
    expect(one.size() == 1, "a list of sizes has tensors of other than one element");
    for (op::IntArray::Symbol& s : one.symbols)
      all.symbols.push_back({static_cast<uint32_t>(all.size()), s.value});
    all.values.push_back(one[0]);
  }
  return all;
}

std::vector<int64_t> Node::known_numbers(std::string_view attribute, std::string_view tensor,
                                         std::string_view list) const {
  const op::IntArray all = numbers(attribute, tensor, list);
  if (!all.symbols.empty())
    need_value(all.symbols.front().value, std::string(attribute) + " that only a run knows");
  return {all.values.begin(), all.values.end()};
}

int64_t Node::known_number(std::string_view attribute, int64_t otherwise,
                           std::string_view tensor) const {
  if (tensor.empty() || !has(tensor)) return integer(attribute, otherwise);
  const std::vector<int64_t> all = known_numbers(attribute, tensor);
  expect(all.size() == 1, "one integer is expected");
  return all.front();
}

op::Scalar Node::scalar(std::string_view attribute, double otherwise,
                        std::string_view tensor) const {
  if (tensor.empty() || !has(tensor)) {
    const Attribute* a = this->attribute(attribute);
    if (a)
      if (const auto* v = std::get_if<int64_t>(a)) return op::Scalar(*v);
    return op::Scalar(real(attribute, otherwise));
  }
  Tensor t = in(tensor);
  if (t.symbolic())
    if (const Tensor known = session.builder().known(t); known.defined()) t = known;
  if (!t.symbolic()) expect(t.numel() == 1, "one number is expected");
  return scalar_of(t);
}

int Node::axis(int64_t axis, int rank) const {
  const int64_t resolved = axis < 0 ? axis + rank : axis;
  if (resolved < 0 || resolved >= rank)
    fail("axis " + std::to_string(axis) + " of a tensor with " + std::to_string(rank) +
         " dimensions");
  return static_cast<int>(resolved);
}

void Node::fail(const std::string& what) const {
  ARGOSY_THROW(invalid_argument) << what << '.';
}

void Node::need_value(const Tensor& t, const std::string& what) const {
  session.ask_for(t, false);
  unsupported(what);
}

void Node::need_sizes(const Tensor& t, const std::string& what) const {
  session.ask_for(t, true);
  unsupported(what);
}

void Node::unsupported(const std::string& what) const {
  ARGOSY_THROW(not_implemented) << what << " is not supported.";
}

const Row* find_row(std::string_view name) {
  static const auto rows = [] {
    std::unordered_map<std::string_view, const Row*> all;
    for (const auto family :
         {activation_rows(), control_rows(), conv_rows(),  creation_rows(), decomposition_rows(),
          detection_rows(),  fused_rows(),   graph_rows(), index_rows(),    linear_rows(),
          loss_rows(),       math_rows(),    norm_rows(),  quantize_rows(), reduce_rows(),
          region_rows(),     rnn_rows(),     same_rows(),  sequence_rows(), shape_rows(),
          signal_rows(),     vision_rows()})
      for (const Row& row : family) all.emplace(row.name, &row);
    return all;
  }();
  const auto it = rows.find(name);
  return it == rows.end() ? nullptr : it->second;
}

}  // namespace argosy::infer::paddle
