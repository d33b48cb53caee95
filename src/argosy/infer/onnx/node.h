#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "argosy/infer/call.h"
#include "argosy/infer/onnx/types.h"

namespace argosy::infer::onnx {

namespace file {
class Attribute;
class Graph;
class Node;
}  // namespace file

class Session;

// What a name of a graph stands for: a tensor (concrete or a value of the Program), a sequence of
// tensors, or an optional without value.
struct Item {
  enum class Kind : uint8_t { missing, tensor, sequence };
  Kind kind = Kind::missing;
  Tensor tensor;
  std::vector<Tensor> elements;
  int element = 0;  // ONNX's element type where the dtype does not say it (is_narrow), else 0

  Item() = default;
  Item(Tensor t) : kind(t.defined() ? Kind::tensor : Kind::missing), tensor(std::move(t)) {}
  Item(Tensor t, int element) : Item(std::move(t)) {
    if (is_narrow(element)) this->element = element;
  }
  static Item sequence(std::vector<Tensor> elements) {
    Item item;
    item.kind = Kind::sequence;
    item.elements = std::move(elements);
    return item;
  }
};
using Items = std::vector<Item>;

// One operation of a graph while it is imported: what a row of a family works on. Attributes that a
// row does not read are an error, so that none is ignored.
class Node {
 public:
  Node(Session& session, const file::Node& proto, int64_t opset, Items in);

  Session& session;
  const file::Node& proto;
  const int64_t opset;

  // --- inputs ---
  size_t inputs() const { return in_.size(); }
  bool has(size_t i) const { return i < in_.size() && in_[i].kind != Item::Kind::missing; }
  const Item& item(size_t i) const;
  // Input i, which must be a tensor.
  const Tensor& in(size_t i = 0) const;
  // Undefined where it is missing.
  Tensor optional(size_t i) const { return has(i) ? in(i) : Tensor(); }
  const std::vector<Tensor>& sequence(size_t i) const;
  std::vector<Tensor> tensors() const;  // all inputs
  int rank(size_t i = 0) const { return in(i).rank(); }
  // Element type of input i, of ONNX.
  int element(size_t i) const;

  // --- numbers that inputs hold ---
  // Of a 1-d integer tensor; those that only a run knows are symbols.
  op::IntArray sizes(size_t i) const;
  // The same, for what must be known when the Program is made: otherwise a graph's input on which
  // it depends has to be given (Session::need).
  std::vector<int64_t> known(size_t i) const;
  int64_t known_integer(size_t i) const;
  double known_real(size_t i) const;
  // The tensor with its values.
  Tensor known_tensor(size_t i) const;

  // --- outputs ---
  size_t outputs() const;
  bool wants(size_t i) const;
  // Is the first one the second operand of a product or convolution in the main graph?
  bool is_multiplied() const;

  // What a row of the default domain makes of other inputs with this node's attributes.
  Items run_as(const char* op, int64_t opset, Items in) const;

  // --- attributes ---
  bool has_attribute(const char* name) const { return find(name) != nullptr; }
  int64_t integer(const char* name, int64_t otherwise) const;
  int64_t integer(const char* name) const;  // must be there
  double real(const char* name, double otherwise) const;
  bool flag(const char* name, bool otherwise = false) const {
    return integer(name, otherwise) != 0;
  }
  std::string text(const char* name, const char* otherwise) const;
  std::vector<int64_t> integers(const char* name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> reals(const char* name) const;
  std::vector<std::string> texts(const char* name) const;
  Tensor tensor(const char* name) const;  // undefined where it is missing
  Tensor sparse_tensor(const char* name) const;
  int tensor_element(const char* name) const;
  const file::Graph& graph(const char* name) const;
  int element_attribute(const char* name, int otherwise) const;
  // The axis in [0, rank).
  int axis(int64_t axis, int rank) const;

  // Throws, naming the node.
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;
  void expect(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
  std::string where() const;
  void check_attributes_read() const;

 private:
  const file::Attribute* find(const char* name) const;
  const Items in_;
  mutable std::set<std::string> read_;
};

// A row of a family: how an operator of ONNX is written in our ops.
struct Row {
  const char* name;
  Items (*convert)(const Node& n);
};

// Families, one file each.
std::span<const Row> activation_rows();
std::span<const Row> attention_rows();
std::span<const Row> control_rows();
std::span<const Row> conv_rows();
std::span<const Row> creation_rows();
std::span<const Row> index_rows();
std::span<const Row> linear_rows();
std::span<const Row> loss_rows();
std::span<const Row> math_rows();
std::span<const Row> norm_rows();
std::span<const Row> quantize_rows();
std::span<const Row> reduce_rows();
std::span<const Row> rnn_rows();
std::span<const Row> sequence_rows();
std::span<const Row> shape_rows();
std::span<const Row> signal_rows();
std::span<const Row> vision_rows();
// Of the domain com.microsoft, which ONNX Runtime's tools write.
std::span<const Row> microsoft_rows();
std::span<const Row> microsoft_attention_rows();
std::span<const Row> microsoft_quantized_rows();

// Null where no family has it.
const Row* find_row(const std::string& domain, const std::string& op);

}  // namespace argosy::infer::onnx
