#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

// JSON, of nlohmann's library: for .cc files, since its header is large. What the library cannot
// do it throws as Json::exception; callers make an error of it that says whose text it was.
namespace argosy {

using Json = nlohmann::json;                 // fields in the order of their names
using OrderedJson = nlohmann::ordered_json;  // fields in the order of the text

// Arrays and objects are not nested deeper in any text of ours. The library reads any depth, and
// whoever walks what it made by recursion, as its own dump() does, ends at the end of his stack.
constexpr size_t kJsonDepth = 500;

// Whether arrays and objects are nested deeper than that. (Of what is no JSON the answer may be
// wrong, but the library refuses that.)
ARGOSY_API bool nested_deeper(std::string_view text, size_t depth);

// The value of the text. Throws Json::exception for what is no JSON, or nested deeper than
// kJsonDepth. `watch` as nlohmann's parser takes it.
template <class J = Json>
J parse_json(std::string_view text, const typename J::parser_callback_t& watch = nullptr) {
  if (nested_deeper(text, kJsonDepth)) {
    throw J::other_error::create(
        501, "arrays and objects are nested deeper than " + std::to_string(kJsonDepth), nullptr);
  }
  return J::parse(text.begin(), text.end(), watch);
}

// In one line. Bytes that are no UTF-8 are replaced.
template <class J>
std::string json_text(const J& value) {
  return value.dump(-1, ' ', false, J::error_handler_t::replace);
}

}  // namespace argosy
