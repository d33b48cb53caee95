#include "argosy/infer/onnx/node.h"

#include <unordered_map>

#include "argosy/infer/onnx/session.h"
#include "argosy/op/dispatch.h"
#include "onnx.pb.h"

namespace argosy::infer::onnx {

Node::Node(Session& session, const file::Node& proto, int64_t opset, Items in)
    : session(session), proto(proto), opset(opset), in_(std::move(in)) {}

std::string Node::where() const {
  std::string text = "[onnx] " + proto.op_type();
  if (!proto.name().empty()) text += " '" + proto.name() + "'";
  if (proto.output_size()) text += " (makes '" + proto.output(0) + "')";
  return text;
}

void Node::fail(const std::string& what) const {
  ARGOSY_THROW(invalid_argument) << where() << ": " << what << '.';
}

void Node::unsupported(const std::string& what) const {
  ARGOSY_THROW(not_implemented) << where() << ": " << what << " is not supported.";
}

// --- inputs ---

const Item& Node::item(size_t i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is missing");
  return in_[i];
}

const Tensor& Node::in(size_t i) const {
  const Item& x = item(i);
  if (x.kind != Item::Kind::tensor)
    fail("input " + std::to_string(i) + " is a sequence where a tensor is expected");
  return x.tensor;
}

const std::vector<Tensor>& Node::sequence(size_t i) const {
  const Item& x = item(i);
  if (x.kind != Item::Kind::sequence)
    fail("input " + std::to_string(i) + " is a tensor where a sequence is expected");
  return x.elements;
}

std::vector<Tensor> Node::tensors() const {
  std::vector<Tensor> list;
  for (size_t i = 0; i < in_.size(); ++i) list.push_back(optional(i));
  return list;
}

int Node::element(size_t i) const {
  const Item& x = item(i);
  return x.element ? x.element : element_of_dtype(in(i).dtype());
}

op::IntArray Node::sizes(size_t i) const {
  const Tensor& t = in(i);
  expect(t.rank() <= 1, "sizes have to be a vector");
  return session.integers(t);
}

std::vector<int64_t> Node::known(size_t i) const {
  const op::IntArray a = session.integers(in(i));
  if (!a.symbols.empty()) {
    const op::IntArray given = session.integers(session.need(*this, in(i)));
    return {given.values.begin(), given.values.end()};
  }
  return {a.values.begin(), a.values.end()};
}

int64_t Node::known_integer(size_t i) const {
  const std::vector<int64_t> v = known(i);
  expect(v.size() == 1, "one number is expected where a list is given");
  return v[0];
}

Tensor Node::known_tensor(size_t i) const {
  return op::contiguous(session.need(*this, in(i)));
}

double Node::known_real(size_t i) const {
  const Tensor t = call("cast", {known_tensor(i)}, {{"dtype", DType::float64}});
  expect(t.numel() == 1, "one number is expected where a list is given");
  return *t.data<double>();
}

// --- outputs ---

size_t Node::outputs() const {
  return static_cast<size_t>(proto.output_size());
}

bool Node::is_multiplied() const {
  return wants(0) && session.is_multiplied(proto.output(0));
}

bool Node::wants(size_t i) const {
  return i < outputs() && !proto.output(static_cast<int>(i)).empty();
}

// --- attributes ---

const file::Attribute* Node::find(const char* name) const {
  read_.insert(name);
  for (const file::Attribute& a : proto.attribute())
    if (a.name() == name)
      return a.ref_attr_name().empty() ? &a : session.function_attribute(a.ref_attr_name());
  return nullptr;
}

int64_t Node::integer(const char* name, int64_t otherwise) const {
  const file::Attribute* a = find(name);
  return a ? a->i() : otherwise;
}

int64_t Node::integer(const char* name) const {
  if (!find(name)) fail(std::string("attribute ") + name + " is missing");
  return integer(name, 0);
}

double Node::real(const char* name, double otherwise) const {
  const file::Attribute* a = find(name);
  return a ? static_cast<double>(a->f()) : otherwise;
}

std::string Node::text(const char* name, const char* otherwise) const {
  const file::Attribute* a = find(name);
  return a ? a->s() : otherwise;
}

std::vector<int64_t> Node::integers(const char* name, std::vector<int64_t> otherwise) const {
  const file::Attribute* a = find(name);
  return a ? std::vector<int64_t>(a->ints().begin(), a->ints().end()) : otherwise;
}

std::vector<double> Node::reals(const char* name) const {
  const file::Attribute* a = find(name);
  return a ? std::vector<double>(a->floats().begin(), a->floats().end()) : std::vector<double>();
}

std::vector<std::string> Node::texts(const char* name) const {
  const file::Attribute* a = find(name);
  return a ? std::vector<std::string>(a->strings().begin(), a->strings().end())
           : std::vector<std::string>();
}

Tensor Node::tensor(const char* name) const {
  const file::Attribute* a = find(name);
  return a ? session.reader().read(a->t()) : Tensor();
}

Tensor Node::sparse_tensor(const char* name) const {
  const file::Attribute* a = find(name);
  return a ? session.reader().read(a->sparse_tensor()) : Tensor();
}

int Node::tensor_element(const char* name) const {
  const file::Attribute* a = find(name);
  return a ? a->t().data_type() : 0;
}

const file::Graph& Node::graph(const char* name) const {
  const file::Attribute* a = find(name);
  if (!a || !a->has_g()) fail(std::string("the graph ") + name + " is missing");
  return a->g();
}

int Node::element_attribute(const char* name, int otherwise) const {
  return static_cast<int>(integer(name, otherwise));
}

int Node::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is not one of " + std::to_string(rank) + " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void Node::check_attributes_read() const {
  for (const file::Attribute& a : proto.attribute())
    if (!read_.contains(a.name())) unsupported("attribute " + a.name());
}

// --- rows ---

Items Node::run_as(const char* op, int64_t opset, Items in) const {
  const Node other(session, proto, opset, std::move(in));
  Items out = find_row("", op)->convert(other);
  read_.merge(other.read_);
  return out;
}

namespace {

using Rows = std::unordered_map<std::string_view, const Row*>;

Rows rows_of(std::initializer_list<std::span<const Row> (*)()> families) {
  Rows map;
  for (const auto family : families)
    for (const Row& row : family()) map.emplace(row.name, &row);
  return map;
}

const Rows& default_rows() {
  static const Rows rows =
      rows_of({activation_rows, attention_rows, control_rows, conv_rows, creation_rows, index_rows,
               linear_rows, loss_rows, math_rows, norm_rows, quantize_rows, reduce_rows, rnn_rows,
               sequence_rows, shape_rows, signal_rows, vision_rows});
  return rows;
}

const Rows& rows_of_microsoft() {
  static const Rows rows =
      rows_of({microsoft_rows, microsoft_attention_rows, microsoft_quantized_rows});
  return rows;
}

}  // namespace

const Row* find_row(const std::string& domain, const std::string& op) {
  const bool is_default = domain.empty() || domain == "ai.onnx";
  if (!is_default && domain != "com.microsoft") return nullptr;
  const Rows& rows = is_default ? default_rows() : rows_of_microsoft();
  const auto it = rows.find(op);
  return it == rows.end() ? nullptr : it->second;
}

}  // namespace argosy::infer::onnx
