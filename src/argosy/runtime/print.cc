#include <algorithm>

#include "argosy/runtime/plan.h"

namespace argosy::runtime {

std::string Plan::print() const {
  static const char* const kinds[] = {"kernel", "view", "dispatch", "if", "while"};
  static const char* const places[] = {"arena", "fresh", "bound", "view"};
  Message m;
  auto slot = [&](uint32_t i) {
    if (i == kNone) {
      m << " -";
      return;
    }
    const MemorySlot& s = slots[i];
    m << ' ' << places[static_cast<int>(s.kind)] << i << ':' << s.dtype << s.shape;
    if (s.kind == MemorySlot::Kind::arena) m << '@' << s.offset;
    if (s.home) m << " on " << arenas[s.home].place;
  };
  for (size_t b = 0; b < blocks.size(); ++b) {
    m << "block " << b << '\n';
    for (uint32_t i = blocks[b].begin; i < blocks[b].end; ++i) {
      const Step& s = steps[i];
      const auto chained = [&](const Chain& c) { return c.begin <= i && i < c.end; };
      const bool chain = std::ranges::any_of(chains, chained);
      m << (chain ? s.unread ? " =" : " |" : "  ") << i << ' ' << kinds[static_cast<int>(s.kind)]
        << ' ' << s.operation->op->name << ':';
      for (uint32_t k : s.in) slot(k);
      m << " ->";
      for (uint32_t k : s.out) slot(k);
      for (const Copy& c : s.copies) {
        m << " copy";
        slot(c.from);
        slot(c.to);
      }
      for (uint32_t k : s.frees) m << " free " << k;
      m << '\n';
    }
  }
  return m.str();
}

}  // namespace argosy::runtime
