#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "argosy/infer/onnx.h"
#include "argosy/infer/op_view.h"

// The writing of ONNX graphs. Families of our ops are in write_*.cc.
namespace argosy::infer::onnx {

namespace file {
class Graph;
class Model;
class Node;
}  // namespace file

using program::Operation;
using program::Value;

// An attribute of a node.
struct Set {
  const char* name;
  std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>> value;
  Set(const char* name, int v) : name(name), value(static_cast<int64_t>(v)) {}
  Set(const char* name, bool v) : name(name), value(static_cast<int64_t>(v)) {}
  Set(const char* name, int64_t v) : name(name), value(v) {}
  Set(const char* name, double v) : name(name), value(v) {}
  Set(const char* name, const char* v) : name(name), value(std::string(v)) {}
  Set(const char* name, std::vector<int64_t> v) : name(name), value(std::move(v)) {}
};
using Sets = std::initializer_list<Set>;

// Writes the operations of a Program into a graph. Each value is a name; constants and state become
// initializers of the main graph where they are used first.
class Emitter {
 public:
  Emitter(program::Program& program, file::Model& model, int64_t opset);

  int64_t opset() const { return opset_; }
  void write(const OnnxExport& options);

  // --- names ---
  std::string name(const Ref<Value>& v);
  void give(const Ref<Value>& v, std::string name) { names_[v.get()] = std::move(name); }
  std::string fresh() { return "_" + std::to_string(next_++); }

  // --- nodes ---
  // The first result of a node; empty names are missing inputs.
  std::string node(const char* op, std::initializer_list<std::string> in, Sets sets = {}) {
    return node(op, std::vector<std::string>(in), sets);
  }
  std::string node(const char* op, const std::vector<std::string>& in, Sets sets = {}) {
    return nodes(op, in, 1, sets)[0];
  }
  std::vector<std::string> nodes(const char* op, const std::vector<std::string>& in, size_t outputs,
                                 Sets sets = {});
  std::string constant(const Tensor& t);
  std::string integers(std::span<const int64_t> v);
  std::string integers(std::initializer_list<int64_t> v) {
    return integers(std::span(v.begin(), v.size()));
  }
  std::string number(double v, DType dtype);
  std::string cast(const std::string& x, DType to);

  // --- blocks ---
  // The operations of a block; values of outer blocks keep their names.
  void block(const program::Block& block);
  void operation(const Operation& o);
  void control(const Operation& o);

 private:
  void open(const Operation& o);
  void write_inputs(const OnnxExport& options);
  void write_outputs();
  void write_if(const Operation& o);
  void write_while(const Operation& o);
  void add_graph(file::Node* node, const char* name, const program::Block& block);

  program::Program& program_;
  file::Model& model_;
  file::Graph* graph_;
  int64_t opset_;
  int64_t next_ = 0;
  std::map<const Value*, std::string> names_;
  std::map<const Value*, Tensor> constants_;  // of the Program, and state
  std::vector<OpenedOp> opened_;              // so that no value gets the address of another
};

// Has the op a counterpart, or parts that have?
bool can_write(const Operation& o);

// One operation while it is written: what a row of a family works on.
class Emit : public OpView {
 public:
  Emit(Emitter& to, const Operation& o) : OpView(o, "onnx.export"), to(to) {}
  Emitter& to;

  // The name of input i, empty where it is missing; of a list those of all.
  std::string in(size_t i = 0) const { return value(i) ? to.name(value(i)) : ""; }
  std::vector<std::string> list(size_t i = 0) const;
  void give(std::string name, size_t i = 0) { to.give(o.results[i], std::move(name)); }
  // The numbers of an attribute as an int64 vector, with those that only a run knows.
  std::string sizes(const char* name) const;

  std::string node(const char* op, std::initializer_list<std::string> in, Sets sets = {}) {
    return to.node(op, in, sets);
  }
  // Inputs or attributes as an opset wants them.
  std::string reduce(const char* op, const std::string& x, const std::vector<int64_t>& axes,
                     bool keep);
  std::string squeeze(const std::string& x, std::initializer_list<int64_t> axes) {
    return node("Squeeze", {x, to.integers(axes)});
  }
  std::string unsqueeze(const std::string& x, std::initializer_list<int64_t> axes) {
    return node("Unsqueeze", {x, to.integers(axes)});
  }
  std::string transposed(const std::string& x, std::vector<int64_t> perm) {
    return node("Transpose", {x}, {{"perm", std::move(perm)}});
  }
  // The size of dimension d of input i as a vector of one.
  std::string size(size_t i, int d);
  // x as `shape`, a vector.
  std::string reshape(const std::string& x, const std::string& shape) {
    return node("Reshape", {x, shape});
  }
  std::string number(double v, size_t like = 0) { return to.number(v, dtype(like)); }
};

struct WriteRow {
  const char* op;
  void (*write)(Emit& e);
};
std::span<const WriteRow> write_math_rows();
std::span<const WriteRow> write_shape_rows();
std::span<const WriteRow> write_nn_rows();
std::span<const WriteRow> write_linear_rows();

template <size_t N>
struct ForeignName {
  char text[N];
  constexpr ForeignName(const char (&s)[N]) { std::copy_n(s, N, text); }
};
// The same on the same inputs.
template <ForeignName op>
void same_node(Emit& e) {
  std::vector<std::string> in;
  for (const auto& v : e.o.inputs()) in.push_back(v ? e.to.name(v) : "");
  e.give(e.to.node(op.text, in));
}

}  // namespace argosy::infer::onnx
