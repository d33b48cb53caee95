#include "argosy/base/profile.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>

#include "argosy/base/watch.h"

namespace argosy {

constinit std::atomic<uint8_t> watch::bits{0};

namespace profile {

std::atomic<bool> detail::listening{false};

namespace {

// One thread's events. Its lock is taken by the thread for each event, and by stop().
struct Ring {
  std::mutex mutex;
  // Guarded by mutex:
  std::vector<Event> events;
  int64_t written = 0;  // since the session began; the newest is at (written - 1) % capacity
  uint64_t session = 0;
  uint32_t thread = 0;
};

// Leaked, since threads end after destructors ran.
struct Sessions {
  std::mutex mutex;  // never taken while a ring's is held
  // Guarded by mutex:
  std::vector<std::shared_ptr<Ring>> rings;  // those of ended threads too, until the next start
  std::vector<Thread> threads;
  int64_t lost = 0;
  std::set<std::string, std::less<>> names;

  std::atomic<uint64_t> session{0};
  std::atomic<int64_t> capacity{0};
  std::atomic<bool> shapes{false}, memory{false}, cost{false};

  static Sessions& instance() {
    static Sessions* sessions = new Sessions;
    return *sessions;
  }
};

Thread this_thread() {
  char name[16] = "";
  pthread_getname_np(pthread_self(), name, sizeof(name));
  return {syscall(SYS_gettid), name};
}

int64_t now() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

Ring& my_ring() {
  static thread_local std::shared_ptr<Ring> ring;
  if (!ring) {
    auto fresh = std::make_shared<Ring>();
    Sessions& all = Sessions::instance();
    std::lock_guard lock(all.mutex);
    fresh->thread = static_cast<uint32_t>(all.threads.size());
    all.threads.push_back(this_thread());
    all.rings.push_back(fresh);
    ring = std::move(fresh);
  }
  return *ring;
}

// From what encloses what. Python may leave ranges open or end them on another thread, so scopes
// cannot count while they run. The events are one thread's; they are put in order.
void find_depths(std::span<Event> events) {
  std::reverse(events.begin(), events.end());  // of equals the one that ended last is outside
  std::stable_sort(events.begin(), events.end(), [](const Event& a, const Event& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
  });
  std::vector<int64_t> ends;  // of the enclosing events
  for (Event& e : events) {
    if (e.kind == Kind::memory) continue;
    while (!ends.empty() && (ends.back() < e.end || ends.back() <= e.begin)) ends.pop_back();
    e.depth = static_cast<uint16_t>(ends.size());
    ends.push_back(e.end);
  }
}

void record(Ring& ring, Event event) {
  Sessions& all = Sessions::instance();
  std::lock_guard lock(ring.mutex);
  uint64_t session = all.session.load(std::memory_order_acquire);
  if (ring.session != session) {
    ring.session = session;
    ring.written = 0;
    ring.events.clear();
  }
  int64_t capacity = all.capacity.load(std::memory_order_relaxed);
  event.thread = ring.thread;
  if (static_cast<int64_t>(ring.events.size()) < capacity) {
    ring.events.push_back(event);
  } else {
    ring.events[ring.written % capacity] = event;
  }
  ++ring.written;
}

}  // namespace

int64_t detail::open() {
  my_ring();  // made now, it does not count as the scope's time
  return now();
}

void detail::close(const char* name, Kind kind, int64_t begin, const Note& note) {
  int64_t end = now();
  if (enabled()) record(my_ring(), {name, begin, end, 0, 0, kind, note});
}

void sample(const char* name, int64_t bytes) {
  int64_t at = now();
  record(my_ring(), {name, at, at, 0, 0, Kind::memory, {nullptr, bytes, 0}});
}

void start(const Options& options) {
  // A forked child has nobody to report to.
  [[maybe_unused]] static const int forks = pthread_atfork(nullptr, nullptr, [] {
    detail::listening.store(false, std::memory_order_relaxed);
    watch::set(watch::profile, false);
  });
  Sessions& all = Sessions::instance();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.rings, [](const auto& ring) { return ring.use_count() == 1; });
  all.lost = 0;
  all.shapes.store(options.shapes, std::memory_order_relaxed);
  all.memory.store(options.memory, std::memory_order_relaxed);
  all.cost.store(options.cost, std::memory_order_relaxed);
  all.capacity.store(std::max<int64_t>(options.capacity, 1), std::memory_order_relaxed);
  all.session.fetch_add(1, std::memory_order_release);
  detail::listening.store(true, std::memory_order_release);
  watch::set(watch::profile, true);
}

std::vector<Event> stop() {
  Sessions& all = Sessions::instance();
  detail::listening.store(false, std::memory_order_relaxed);
  watch::set(watch::profile, false);
  std::vector<Event> events;
  std::lock_guard lock(all.mutex);
  uint64_t session = all.session.load(std::memory_order_relaxed);
  all.lost = 0;
  for (const auto& ring : all.rings) {
    std::lock_guard ring_lock(ring->mutex);
    if (ring->session != session) continue;
    events.insert(events.end(), ring->events.begin(), ring->events.end());
    all.lost += ring->written - static_cast<int64_t>(ring->events.size());
    find_depths(std::span(events).last(ring->events.size()));
    ring->events = {};
    ring->session = 0;
  }
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.begin < b.begin; });
  return events;
}

int64_t dropped() {
  Sessions& all = Sessions::instance();
  std::lock_guard lock(all.mutex);
  return all.lost;
}

std::vector<Thread> threads() {
  Sessions& all = Sessions::instance();
  std::lock_guard lock(all.mutex);
  return all.threads;
}

bool wants_shapes() {
  return Sessions::instance().shapes.load(std::memory_order_relaxed);
}
bool wants_memory() {
  return Sessions::instance().memory.load(std::memory_order_relaxed);
}
bool wants_cost() {
  return Sessions::instance().cost.load(std::memory_order_relaxed);
}

const char* intern(std::string_view name) {
  Sessions& all = Sessions::instance();
  std::lock_guard lock(all.mutex);
  auto found = all.names.find(name);
  if (found == all.names.end()) found = all.names.emplace(name).first;
  return found->c_str();
}

}  // namespace profile
}  // namespace argosy
