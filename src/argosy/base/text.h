#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

namespace argosy {

ARGOSY_API std::string bytes_text(size_t bytes);  // "768 bytes", "1.50 GiB"
// How many characters must be put in, left out or changed to make b of a (Levenshtein).
ARGOSY_API size_t edit_distance(std::string_view a, std::string_view b, bool ignore_case = false);
// Whether arrays and objects are nested deeper than that in a JSON text. Parsers of JSON take any
// depth, and whoever walks what they made by recursion ends at the end of his stack. (Of what is no
// JSON the answer may be wrong, but the parser refuses that.)
ARGOSY_API bool nested_deeper(std::string_view json, size_t depth);
constexpr size_t kJsonDepth = 500;  // more than any file of ours has

}  // namespace argosy
