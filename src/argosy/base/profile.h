#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "argosy/base/export.h"

// What ran when, on which thread. A Scope costs one load and a branch while nobody listens, and
// about 50 ns while somebody does.
//   profile::Scope scope("matmul", profile::Kind::op);
// Ops are recorded by dispatch and by executors with op::WatchedCall (op/watched.h).
namespace argosy::profile {

enum class Kind : uint8_t {
  op,
  kernel,
  gradient,  // of one op
  memory,    // not a range: `amount` bytes were in use at `begin`
  communication,
  data,  // waiting for the next batch
  copy,  // between places
  wait,  // of the host for a device
  python,
  user,
  // Phases of training; they enclose the others.
  forward,
  backward,
  optimization,
  step,
};

// What an event may tell besides its times.
struct Note {
  const char* detail = nullptr;  // a literal or interned: shapes and dtypes of an op's inputs
  int64_t amount = 0;            // bytes: in use (Kind::memory); taken less given back (ops)
  double cost = 0;               // arithmetic operations
};

struct Event {
  const char* name;
  int64_t begin, end;  // nanoseconds of the monotonic clock
  uint32_t thread;     // 0, 1, ..: in the order in which threads recorded first
  uint16_t depth;      // how many scopes of its thread enclose it
  Kind kind;
  Note note;
};

struct Thread {
  int64_t id;  // the system's
  std::string name;
};

struct Options {
  int64_t capacity = 1 << 16;  // each thread keeps its newest events
  bool shapes = false;         // ops: note.detail
  bool memory = false;         // ops: note.amount, and a memory event at the end of each
  bool cost = false;           // ops: note.cost, where the op knows it
};

// Starts afresh.
ARGOSY_API void start(const Options& options = {});
// The events of all threads since start, by begin. Scopes still open are left out.
ARGOSY_API std::vector<Event> stop();
// Events that were overwritten by newer ones, of the last session.
ARGOSY_API int64_t dropped();
// By Event::thread; threads that never recorded are not in it.
ARGOSY_API std::vector<Thread> threads();
// Of the current session.
ARGOSY_API bool wants_shapes();
ARGOSY_API bool wants_memory();
ARGOSY_API bool wants_cost();

// A copy of the name that lives as long as the process, for names that are not literals.
ARGOSY_API const char* intern(std::string_view name);
// A memory event of now. Call it only while enabled.
ARGOSY_API void sample(const char* name, int64_t bytes);

namespace detail {
ARGOSY_API extern std::atomic<bool> listening;
ARGOSY_API int64_t open();  // now
ARGOSY_API void close(const char* name, Kind kind, int64_t begin, const Note& note = {});
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
