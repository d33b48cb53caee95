#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "argosy/infer/call.h"
#include "argosy/infer/paddle/graph.h"

namespace argosy::infer::paddle {

class Session;

// What a variable stands for.
struct Item {
  enum class Kind : uint8_t { missing, tensor, list };
  Kind kind = Kind::missing;
  Tensor tensor;                 // an array of tensors too
  std::vector<Tensor> elements;  // of a list of tensors, which only `.json` files have
  // Of a batch of sequences whose rows stand one after the other: int64[S]. Undefined for all else.
  Tensor lengths;
  // A result that does not have the lengths of the op's inputs, though it has none itself.
  bool plain = false;

  Item() = default;
  Item(Tensor t) : kind(t.defined() ? Kind::tensor : Kind::missing), tensor(std::move(t)) {}
  Item(Tensor t, Tensor lengths) : Item(std::move(t)) { this->lengths = std::move(lengths); }
  static Item without_lengths(Tensor t) {
    Item item(std::move(t));
    item.plain = true;
    return item;
  }
  static Item list(std::vector<Tensor> elements) {
    Item item;
    item.kind = Kind::list;
    item.elements = std::move(elements);
    return item;
  }
};

// One operation while it is imported: what a row of a family works on.
class Node {
 public:
  Node(Session& session, const Operation& op) : session(session), op(op) {}

  Session& session;
  const Operation& op;

  // --- inputs by slot ---
  bool has(std::string_view slot) const;
  // The first tensor of a slot. Throws where there is none.
  Tensor in(std::string_view slot) const;
  Tensor optional(std::string_view slot) const { return has(slot) ? in(slot) : Tensor(); }
  Item item(std::string_view slot) const;
  // All tensors of a slot, lists opened.
  std::vector<Tensor> tensors(std::string_view slot) const;
  // The lengths of its sequences. Throws where it is no batch of sequences.
  Tensor lengths(std::string_view slot) const;
  bool has_lengths(std::string_view slot) const;
  int rank(std::string_view slot) const { return in(slot).rank(); }

  // --- outputs by slot ---
  // Is output i of the slot there?
  bool wants(std::string_view slot, size_t i = 0) const;
  size_t outputs(std::string_view slot) const;
  void out(std::string_view slot, Item value, size_t i = 0) const;
  void out_list(std::string_view slot, std::span<const Tensor> values) const;
  // What the file says of an output; null where it says nothing.
  const Variable* declared(std::string_view slot, size_t i = 0) const;

  // --- attributes ---
  bool has_attribute(std::string_view name) const { return attribute(name) != nullptr; }
  const Attribute* attribute(std::string_view name) const;  // null: there is none
  int64_t integer(std::string_view name, int64_t otherwise) const;
  double real(std::string_view name, double otherwise) const;
  bool flag(std::string_view name, bool otherwise = false) const;
  std::string text(std::string_view name, const char* otherwise) const;
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> reals(std::string_view name) const;
  // -1, or none at all: `otherwise`.
  DType dtype(std::string_view name, DType otherwise) const;
  std::vector<int64_t> blocks() const;

  // Sizes or places: of the list of tensors, of the tensor, else of the attribute, whichever is
  // there. Those that only a run knows are symbols.
  op::IntArray numbers(std::string_view attribute, std::string_view tensor = {},
                       std::string_view list = {}) const;
  // The same, which must be known now.
  std::vector<int64_t> known_numbers(std::string_view attribute, std::string_view tensor = {},
                                     std::string_view list = {}) const;
  int64_t known_number(std::string_view attribute, int64_t otherwise,
                       std::string_view tensor = {}) const;
  // A number that may be a tensor of one element.
  op::Scalar scalar(std::string_view attribute, double otherwise,
                    std::string_view tensor = {}) const;
  int axis(int64_t axis, int rank) const;

  // Where a row needs the values or the sizes of t and only a run knows them: has the inputs that
  // decide them fixed, or says that it is not supported.
  [[noreturn]] void need_value(const Tensor& t, const std::string& what) const;
  [[noreturn]] void need_sizes(const Tensor& t, const std::string& what) const;
  [[noreturn]] void fail(const std::string& what) const;
  [[noreturn]] void unsupported(const std::string& what) const;
  void expect(bool holds, const char* what) const {
    if (!holds) fail(what);
  }
};

// How an operation of Paddle is written in our ops.
struct Row {
  const char* name;
  void (*convert)(const Node& n);
};

// Families, one file each.
std::span<const Row> activation_rows();
std::span<const Row> control_rows();
std::span<const Row> conv_rows();
std::span<const Row> creation_rows();
std::span<const Row> decomposition_rows();
std::span<const Row> detection_rows();
std::span<const Row> fused_rows();
std::span<const Row> graph_rows();
std::span<const Row> index_rows();
std::span<const Row> linear_rows();
std::span<const Row> loss_rows();
std::span<const Row> math_rows();
std::span<const Row> norm_rows();
std::span<const Row> quantize_rows();
std::span<const Row> reduce_rows();
std::span<const Row> region_rows();
std::span<const Row> rnn_rows();
std::span<const Row> same_rows();
std::span<const Row> sequence_rows();
std::span<const Row> shape_rows();
std::span<const Row> signal_rows();
std::span<const Row> vision_rows();

const Row* find_row(std::string_view name);  // null where no family has it

}  // namespace argosy::infer::paddle
