#pragma once

#include <cstdint>

#include "argosy/base/error.h"
#include "argosy/base/export.h"

// Lines for people, on stderr: `argosy warning: ...`. One write for each line, so lines of several
// threads and processes do not mix. ARGOSY_LOG_LEVEL says how much: error, warning (the default),
// info or debug.
//   ARGOSY_LOG(info) << "cached " << n << " plans";
namespace argosy::log {

enum class Level : uint8_t { error, warning, info, debug };

ARGOSY_API bool enabled(Level level);
ARGOSY_API void set_level(Level level);

// Writes its message at the end of the full expression.
class ARGOSY_API Line {
 public:
  explicit Line(Level level) : level_(level) {}
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  Message& message() { return message_; }

 private:
  Level level_;
  Message message_;
};

struct Sink {
  void operator&(const Message&) const {}
};

}  // namespace argosy::log

// What is streamed is evaluated only if the level is enabled.
#define ARGOSY_LOG(level)                              \
  !::argosy::log::enabled(::argosy::log::Level::level) \
      ? (void)0                                        \
      : ::argosy::log::Sink() & ::argosy::log::Line(::argosy::log::Level::level).message()
