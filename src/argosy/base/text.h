#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "argosy/base/export.h"

namespace argosy {

ARGOSY_API std::string bytes_text(size_t bytes);  // "768 bytes", "1.50 GiB"
// How many characters must be put in, left out or changed to make b of a (Levenshtein).
ARGOSY_API size_t edit_distance(std::string_view a, std::string_view b, bool ignore_case = false);

}  // namespace argosy
