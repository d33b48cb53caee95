#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "argosy/op/op.h"

// A Program: operations over values, each made once (SSA). Dispatch appends to it whenever an
// operand is symbolic; nothing else writes ops. This is the recorder that op tests use, one block
// without state; control flow, named state, serialization and plans build on it.
namespace argosy::program {

class Program;
struct Operation;

// What a symbolic Tensor stands for.
struct ARGOSY_API Value final : RefCounted {
  uint32_t id = 0;
  Shape shape;
  DType dtype = DType::float32;
  std::weak_ptr<Program> program;
  Tensor constant;  // a concrete tensor that an operation uses
};

struct Operation {
  const op::OpDef* op;
  std::vector<Ref<Value>> operands;  // flat, null where an optional input is missing
  std::vector<uint32_t> ends;        // of list inputs, see op::Inputs; else empty
  op::AttrBox attrs;
  std::vector<Ref<Value>> results;
  std::string location;  // "file.py:12" of the user's line, if known
};

// Built by one thread; once built it is read-only and may run on several.
class ARGOSY_API Program : public std::enable_shared_from_this<Program> {
 public:
  // A value fed to run(), in order of creation.
  Tensor input(const Shape& shape, DType dtype);

  // Appends an operation; infers its results at once.
  Tensors append(const op::OpDef& op, const op::Inputs& in, const void* attrs);

  // Appends the gradients of the sum of targets and returns them, undefined where there are none.
  Tensors gradients(std::span<const Tensor> targets, std::span<const Tensor> wrt);

  // Walks the operations eagerly. REQUIRES: feeds as many as inputs.
  Tensors run(std::span<const Tensor> feeds, std::span<const Tensor> fetches) const;

  // Every operand is made before it is used and every result has the inferred type.
  void verify() const;
  std::string print() const;
  const std::vector<Operation>& operations() const { return operations_; }

 private:
  Ref<Value> make_value(const Shape& shape, DType dtype);
  Ref<Value> value_of(const Tensor& t);  // makes constants of concrete tensors
  static Tensor as_tensor(const Ref<Value>& v);
  std::vector<Tensor> handles(const Operation& o) const;

  std::vector<Ref<Value>> inputs_;
  std::vector<Ref<Value>> constants_;
  std::vector<Operation> operations_;
  uint32_t next_id_ = 0;
};

// While alive, this thread's random ops are recorded into `program` too, not only those with
// symbolic operands, and compositions without a gradient rule of their own are recorded by their
// parts.
class ARGOSY_API Recording {
 public:
  explicit Recording(std::shared_ptr<Program> program);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  Program& program() { return *program_; }

 private:
  std::shared_ptr<Program> program_;
  void* before_;
};

// Set by the bindings: the user's source line, for Operation::location. May be null.
extern ARGOSY_API std::string (*user_location)();

}  // namespace argosy::program
