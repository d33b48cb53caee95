#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "argosy/base/export.h"

// What ran when, on which thread. A Scope costs one load and a branch while nobody listens, and
// about 50 ns while somebody does.
//   profile::Scope scope("matmul", profile::Kind::op);
namespace argosy::profile {

enum class Kind : uint8_t { op, kernel, gradient, memory, communication, data, python, user };

struct Event {
  const char* name;
  int64_t begin, end;  // nanoseconds of the monotonic clock
  uint32_t thread;     // 0, 1, ..: in the order in which threads recorded first
  uint16_t depth;      // how many scopes of its thread enclose it
  Kind kind;
};

// Starts afresh. Each thread keeps its newest `capacity` events.
ARGOSY_API void start(int64_t capacity = 1 << 16);
// The events of all threads since start, by begin. Scopes still open are left out.
ARGOSY_API std::vector<Event> stop();
// Events that were overwritten by newer ones, of the last session.
ARGOSY_API int64_t dropped();

// A copy of the name that lives as long as the process, for names that are not literals.
ARGOSY_API const char* intern(std::string_view name);

namespace detail {
ARGOSY_API extern std::atomic<bool> listening;
ARGOSY_API int64_t open();  // now
ARGOSY_API void close(const char* name, Kind kind, int64_t begin);
}  // namespace detail

inline bool enabled() {
  return detail::listening.load(std::memory_order_relaxed);
}

class Scope {
 public:
  // `name` must outlive the session: a literal, or interned.
  explicit Scope(const char* name, Kind kind = Kind::user) : name_(enabled() ? name : nullptr) {
    if (name_) [[unlikely]] {
      kind_ = kind;
      begin_ = detail::open();
    }
  }
  ~Scope() {
    if (name_) [[unlikely]]
      detail::close(name_, kind_, begin_);
  }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const char* name_;
  Kind kind_ = Kind::user;
  int64_t begin_ = 0;
};

}  // namespace argosy::profile
