#pragma once

#include <string_view>

// Paddle 3 renamed many operations, and their inputs have places rather than names.
namespace argosy::infer::paddle {

struct PirName {
  const char* pir;      // without its dialect
  const char* op;       // the row's name
  const char* inputs;   // slots of its operands, in order
  const char* outputs;  // slots of its results
  const char*
      attributes;  // "pir=ours" for those called otherwise, "+name=number" for what is meant
};

// Null for what we do not know. A `_` at the end, which says that it works in place, does not
// count.
const PirName* find_pir_name(std::string_view pir);

}  // namespace argosy::infer::paddle
