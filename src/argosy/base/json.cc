#include "argosy/base/json.h"

namespace argosy {

bool nested_deeper(std::string_view text, size_t depth) {
  size_t open = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '[':
      case '{':
        if (++open > depth) return true;
        break;
      case ']':
      case '}':
        open -= open > 0;
        break;
      case '"':
        while (++i < text.size() && text[i] != '"') i += text[i] == '\\';
        break;
      default:
        break;
    }
  }
  return false;
}

}  // namespace argosy
