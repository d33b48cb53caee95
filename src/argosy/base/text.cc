#include "argosy/base/text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <vector>

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

size_t edit_distance(std::string_view a, std::string_view b, bool ignore_case) {
  auto same = [&](unsigned char x, unsigned char y) {
    return ignore_case ? std::tolower(x) == std::tolower(y) : x == y;
  };
  // Distances of the first i characters of a to the first j of b.
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t changed = diagonal + !same(a[i - 1], b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace argosy
