#pragma once

#include <string_view>

// Names of the ops that gradients, passes and builders make operations of, and of those that a
// Program treats apart. What else somebody has to know of an op is a word of its description.
// (tools/check_op_names.py: names stand here, in ops/, and in the rules of passes/rules/.)
namespace argosy::op::names {

// Own blocks.
inline constexpr std::string_view kIf = "if";
inline constexpr std::string_view kWhile = "while";
// Calls a function of Python, which no file holds.
inline constexpr std::string_view kPyCall = "py_call";
// Arrays, in which gradients of blocks find what the blocks saved.
inline constexpr std::string_view kArrayNew = "array_new";
inline constexpr std::string_view kArrayExtend = "array_extend";
inline constexpr std::string_view kArrayGet = "array_get";
inline constexpr std::string_view kArrayRead = "array_read";
// Copies, counters, sizes.
inline constexpr std::string_view kAssign = "assign";
inline constexpr std::string_view kFull = "full";
inline constexpr std::string_view kAdd = "add";
inline constexpr std::string_view kShape = "shape";
inline constexpr std::string_view kSlice = "slice";
// Values that were written where autograd does not look.
inline constexpr std::string_view kWithValues = "with_values";

}  // namespace argosy::op::names
