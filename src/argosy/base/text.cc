#include "argosy/base/text.h"

#include <cstdio>

namespace argosy {

std::string bytes_text(size_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  double value = static_cast<double>(bytes);
  const char* unit = "KMGTPE";
  for (value /= 1024; value >= 1024; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %ciB", value, *unit);
  return text;
}

}  // namespace argosy
