#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "argosy/op/attrs.h"

// Calls of our ops by their names: on concrete tensors they run at once, so what depends on
// constants alone is folded while a model is read; on values of a Program they are recorded.
namespace argosy::infer::onnx {

// An attribute by its name.
struct Arg {
  const char* name;
  std::variant<bool, int64_t, double, std::string, std::vector<int64_t>, std::vector<double>, DType,
               op::IntArray, op::Scalar>
      value;

  Arg(const char* name, bool v) : name(name), value(v) {}
  Arg(const char* name, int v) : name(name), value(static_cast<int64_t>(v)) {}
  Arg(const char* name, int64_t v) : name(name), value(v) {}
  Arg(const char* name, double v) : name(name), value(v) {}
  Arg(const char* name, const char* v) : name(name), value(std::string(v)) {}
  Arg(const char* name, std::string v) : name(name), value(std::move(v)) {}
  Arg(const char* name, std::vector<int64_t> v) : name(name), value(std::move(v)) {}
  Arg(const char* name, std::vector<double> v) : name(name), value(std::move(v)) {}
  Arg(const char* name, DType v) : name(name), value(v) {}
  Arg(const char* name, op::IntArray v) : name(name), value(std::move(v)) {}
  Arg(const char* name, op::Scalar v) : name(name), value(std::move(v)) {}
};
using Args = std::initializer_list<Arg>;

// All outputs. Inputs in order of the schema, undefined where one is missing; those at the end may
// be left out. At most one input may be a list, which takes what the others leave.
Tensors call_all(std::string_view op, std::span<const Tensor> in, std::span<const Arg> args = {});
inline Tensors call_all(std::string_view op, std::initializer_list<Tensor> in, Args args = {}) {
  return call_all(op, std::span(in.begin(), in.size()), std::span(args.begin(), args.size()));
}
// The first output.
inline Tensor call(std::string_view op, std::span<const Tensor> in, Args args = {}) {
  return std::move(call_all(op, in, std::span(args.begin(), args.size()))[0]);
}
inline Tensor call(std::string_view op, std::initializer_list<Tensor> in, Args args = {}) {
  return std::move(call_all(op, in, args)[0]);
}

}  // namespace argosy::infer::onnx
