#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/infer/op_view.h"
#include "argosy/infer/paddle/written.h"

// The writing of Programs as Paddle 3 has them. Families of our ops are in write_*.cc.
namespace argosy::infer::paddle {

Set i32(std::string name, int64_t v);
Set i64(std::string name, int64_t v);
Set f32(std::string name, double v);
Set f64(std::string name, double v);
Set boolean(std::string name, bool v);
Set text(std::string name, std::string_view v);
Set i32s(std::string name, std::span<const int64_t> v);
Set i64s(std::string name, std::span<const int64_t> v);
Set f64s(std::string name, std::span<const double> v);
Set sizes(std::string name, const Shape& v);
Set dtype(std::string name, DType v);
Set no_dtype(std::string name);
Set place(std::string name, bool cpu);

class Emitter {
 public:
  Emitter(program::Program& program, program::Scope* scope) : program_(program), scope_(scope) {}

  // The whole Program, once.
  Document write();

  // --- values ---
  Written value(const Ref<program::Value>& v);
  void give(const Ref<program::Value>& v, Written w) { values_[v.get()] = std::move(w); }

  // --- operations ---
  Written node(std::string_view op, const std::vector<Written>& in, const Sets& sets, DType dtype,
               const Shape& shape) {
    return nodes(op, in, sets, {Written{0, dtype, shape}})[0];
  }
  // `out`: what the results are; gives them with their numbers.
  std::vector<Written> nodes(std::string_view op, const std::vector<Written>& in, const Sets& sets,
                             std::vector<Written> out);
  static Written list(std::vector<Written> parts) {
    return {0, DType::float32, {}, true, std::move(parts)};
  }
  Written combine(const std::vector<Written>& parts) {
    return nodes("0.combine", parts, {}, {list(parts)})[0];
  }
  std::vector<Written> parts_of(const Written& list) {
    return nodes("0.split", {list}, {}, list.parts);
  }
  // The elements of the one result, a list, of an operation.
  std::vector<Written> list_of(std::string_view op, const std::vector<Written>& in,
                               const Sets& sets, std::vector<Written> parts) {
    return parts_of(nodes(op, in, sets, {list(std::move(parts))})[0]);
  }

  // --- constants: made at the head of the Program ---
  Written full(const op::Scalar& v, DType dtype, const Shape& shape);
  Written number(double v, DType dtype) { return full(op::Scalar(v), dtype, Shape({1})); }
  Written integers(std::span<const int64_t> v);
  Written integers(std::initializer_list<int64_t> v) {
    return integers(std::span(v.begin(), v.size()));
  }
  Written constant(const Tensor& t);

  // --- what many rows want ---
  Written cast(const Written& x, DType to);
  Written reshape(const Written& x, std::span<const int64_t> to, const Shape& shape);
  Written reshape(const Written& x, const Written& to, const Shape& shape) {
    return node("reshape", {x, to}, {}, x.dtype, shape);
  }
  Written transpose(const Written& x, std::span<const int64_t> perm);
  Written unsqueeze(const Written& x, int64_t axis);
  Written squeeze(const Written& x, int64_t axis);
  Written scale(const Written& x, double factor, double bias = 0);
  // Sizes as a vector of int64; those of dimensions [begin, end) of x, and one of them without a
  // dimension.
  Written sizes_of(const Written& x);
  Written size_of(const Written& x, int d);
  // One number for each of its elements, all int64 without dimensions.
  Written vector_of(const std::vector<Written>& numbers);
  // As Python's x + y would have them: all of one shape.
  std::vector<Written> broadcast(const std::vector<Written>& list, const Shape& shape);

  // --- blocks ---
  void operation(const program::Operation& o);

 private:
  void open(const program::Operation& o);
  void write_if(const program::Operation& o);
  void write_while(const program::Operation& o);
  void operations(const program::Block& block);
  // A region of one block: what `write` writes, and a yield of what it gives.
  Region region(std::vector<Written> arguments, const std::function<std::vector<Written>()>& write);
  void give_results(const char* op, const program::Operation& o, std::vector<Written> in,
                    std::vector<Region> regions);
  // A constant at the head, made once.
  Written constant_node(const char* op, Sets sets, DType dtype, const Shape& shape);
  Written parameter(std::string name, const Tensor& t);
  void add_input(const program::Value& v, size_t i);
  void add_output(const program::Output& output, size_t i);

  program::Program& program_;
  program::Scope* scope_;
  Document document_;
  std::vector<Node>* code_ = &document_.main.nodes;  // of the block that is being written
  int64_t last_id_ = 0, last_argument_ = 0;
  std::map<const program::Value*, Written> values_;
  std::map<std::string, Written> constants_;  // by their JSON
  std::vector<OpenedOp> opened_;              // so that no value gets the address of another
};

bool can_write(const program::Operation& o);

// One operation while it is written: what a row of a family works on.
class Emit : public OpView {
 public:
  Emit(Emitter& to, const program::Operation& o) : OpView(o, "paddle"), to(to) {}
  Emitter& to;

  Written in(size_t i = 0) const { return value(i) ? to.value(value(i)) : Written(); }
  std::vector<Written> list(size_t i = 0) const;
  // x of the first result's dtype.
  Written wide(size_t i = 0) { return to.cast(in(i), result().dtype); }
  // Of an attribute, as an int64 vector.
  Written sizes(const char* name);
  // The value that stands for a number of the attributes, in their order.
  Written attr_value(size_t i) const { return to.value(o.attr_values()[i]); }

  // An operation with the results of this one, its first `results`.
  void give(std::string_view op, const std::vector<Written>& in, const Sets& sets = {});
  // One that is of the first result's dtype and shape.
  Written like_result(std::string_view op, const std::vector<Written>& in, const Sets& sets = {}) {
    return to.node(op, in, sets, result().dtype, result().shape);
  }
  void give(Written w, size_t i = 0) { to.give(o.results[i], std::move(w)); }
};

struct WriteRow {
  const char* op;
  void (*write)(Emit& e);
};
// Ops that are Paddle's on the same inputs: attributes as "name:type" or "theirs:type=ours".
struct SameRow {
  const char* op;
  const char* pir;
  const char* attributes;
};
std::span<const WriteRow> write_math_rows();
std::span<const WriteRow> write_shape_rows();
std::span<const WriteRow> write_nn_rows();
std::span<const WriteRow> write_window_rows();
std::span<const WriteRow> write_linear_rows();
std::span<const SameRow> write_same_rows();

template <size_t N>
struct ForeignName {
  char text[N];
  constexpr ForeignName(const char (&s)[N]) { std::copy_n(s, N, text); }
  operator std::string_view() const { return {text, N - 1}; }
};

}  // namespace argosy::infer::paddle
