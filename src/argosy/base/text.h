#pragma once

#include <cstddef>
#include <string>

#include "argosy/base/export.h"

namespace argosy {

ARGOSY_API std::string bytes_text(size_t bytes);  // "768 bytes", "1.50 GiB"

}  // namespace argosy
