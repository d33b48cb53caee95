#pragma once

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "argosy/passes/rewrite.h"

// What writers of other formats share: an operation of ours as they see it, and the parts of one
// that the format has no counterpart of.
namespace argosy::infer {

class ARGOSY_API OpView {
 public:
  // `writer`: who it is for, in messages ("onnx.export").
  OpView(const program::Operation& o, const char* writer) : o(o), writer_(writer) {}
  const program::Operation& o;

  // Input i of the schema (not of a list): its value, null where it is missing.
  const Ref<program::Value>& value(size_t i = 0) const;
  bool has(size_t i) const { return static_cast<bool>(value(i)); }
  std::span<const Ref<program::Value>> values(size_t i = 0) const;  // of a list
  const Shape& shape(size_t i = 0) const { return value(i)->shape; }
  int rank(size_t i = 0) const { return shape(i).rank(); }
  DType dtype(size_t i = 0) const { return value(i)->dtype; }
  const program::Value& result(size_t i = 0) const { return *o.results[i]; }

  template <class T>
  const T& attr(const char* name) const {
    return passes::attr<T>(o, name);
  }
  int64_t integer(const char* name) const { return attr<int64_t>(name); }
  double real(const char* name) const { return attr<double>(name); }
  bool flag(const char* name) const { return attr<bool>(name); }
  const std::string& text(const char* name) const { return attr<std::string>(name); }
  const std::vector<int64_t>& integers(const char* name) const {
    return attr<std::vector<int64_t>>(name);
  }
  // The numbers of an attribute; unsupported where a run makes one of them.
  std::vector<int64_t> known(const char* name) const;
  bool is_known(const char* name) const;
  // Its elements: numbers, and values that a run makes.
  using Element = std::variant<int64_t, Ref<program::Value>>;
  std::vector<Element> elements(const char* name) const;
  std::vector<int64_t> axes(const char* name, int rank) const;  // none: all

  [[noreturn]] void unsupported(const char* what) const;

 private:
  const char* writer_;
};

// The operations that an op is composed of. Names of values are by their addresses, so whoever
// writes keeps this as long as them.
struct OpenedOp {
  std::unique_ptr<program::Block> block;  // its yields are the op's results, in order
  std::vector<std::pair<Ref<program::Value>, Ref<program::Value>>> arguments;  // inner, outer
};
// REQUIRES: o.op->compose.
ARGOSY_API OpenedOp open_op(program::Program& program, const program::Operation& o);

// A copy as it is when not training, without what nobody reads.
ARGOSY_API std::shared_ptr<program::Program> for_writing(const program::Program& program);

// Throws one error that lists all ops that `can_write` says no to.
ARGOSY_API void check_writable(const program::Program& program, const char* writer,
                               const char* format, bool (*can_write)(const program::Operation& o));

}  // namespace argosy::infer
