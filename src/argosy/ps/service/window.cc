#include "argosy/ps/service/window.h"

#include <algorithm>
#include <cstring>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

// Answers and reasons of a client that are kept.
constexpr size_t kRemembered = 16;

}  // namespace

Windows::Window& Windows::of(ClientId client) {
  const auto [entry, made] = windows_.try_emplace(client);
  if (made) entry->second.born = ++born_;
  entry->second.seen = Clock::now();
  return entry->second;
}

bool Windows::hello(ClientId client, uint64_t next, bool met) {
  MutexLock lock(mutex_);
  const bool is_new = windows_.find(client) == windows_.end();
  if (is_new && windows_.size() >= max_clients_) return false;
  Window& w = of(client);
  if (is_new && met) w.floor = std::clamp<uint64_t>(next, 1, UINT64_MAX - kWidth);
  return true;
}

bool Windows::newer(ClientId a, ClientId b) const {
  MutexLock lock(mutex_);
  const auto first = windows_.find(a), second = windows_.find(b);
  if (first == windows_.end()) return false;
  return second == windows_.end() || first->second.born > second->second.born;
}

bool Windows::known(ClientId client) const {
  MutexLock lock(mutex_);
  return windows_.count(client) != 0;
}

size_t Windows::clients() const {
  MutexLock lock(mutex_);
  return windows_.size();
}

// Forgets what leaves the window when it reaches up to `sequence`.
void Windows::advance(Window* w, uint64_t sequence) {
  if (sequence <= w->highest) return;
  if (sequence - w->highest >= kWidth) {
    w->applied.reset();
    w->refused.reset();
  } else {
    for (uint64_t s = w->highest + 1; s <= sequence; ++s) {
      w->applied.reset(s);
      w->refused.reset(s);
    }
  }
  w->highest = sequence;
}

void Windows::set(Window* w, uint64_t sequence, uint64_t number) {
  advance(w, sequence);
  if (sequence + kWidth <= w->highest || w->applied.test(sequence)) return;
  w->applied.set(sequence);
  if (!number) return;
  if (w->numbers.size() == kRemembered) w->numbers.erase(w->numbers.begin());
  w->numbers.emplace_back(sequence, number);
}

Windows::Claim Windows::claim(ClientId client, uint64_t sequence, Outcome* outcome,
                              const Waiter& waiter) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found == windows_.end()) return Claim::unknown_client;
  Window& w = found->second;
  w.seen = Clock::now();
  // The last test: a number so far ahead that the next ones would overflow is not one of ours.
  if (sequence < w.floor || sequence + kWidth <= w.highest || sequence > UINT64_MAX - kWidth)
    return Claim::too_old;
  for (Running& r : w.running)
    if (r.sequence == sequence) {
      r.waiters.push_back(waiter);
      return Claim::waiting;
    }
  if (sequence <= w.highest && w.applied.test(sequence)) {
    outcome->position = w.position;
    for (const auto& [s, number] : w.numbers)
      if (s == sequence) outcome->number = number;
    return Claim::applied;
  }
  if (sequence <= w.highest && w.refused.test(sequence)) {
    outcome->failure = {Code::failed, "it was refused before"};
    for (const auto& [s, why] : w.reasons)
      if (s == sequence) outcome->failure = why;
    return Claim::refused;
  }
  advance(&w, sequence);
  w.running.push_back({sequence, {}});
  return Claim::fresh;
}

bool Windows::has_applied(ClientId client, uint64_t sequence) const {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found == windows_.end()) return false;
  const Window& w = found->second;
  return sequence <= w.highest && w.highest - sequence < kWidth && w.applied.test(sequence);
}

std::vector<Windows::Waiter> Windows::finish(Window* w, uint64_t sequence) {
  const auto at = std::find_if(w->running.begin(), w->running.end(),
                               [&](const Running& r) { return r.sequence == sequence; });
  if (at == w->running.end()) return {};
  std::vector<Waiter> waiters = std::move(at->waiters);
  w->running.erase(at);
  return waiters;
}

void Windows::applying(ClientId client, uint64_t sequence, uint64_t number) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found != windows_.end()) set(&found->second, sequence, number);
}

std::vector<Windows::Waiter> Windows::applied(ClientId client, uint64_t sequence, uint64_t position,
                                              uint64_t number) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found == windows_.end()) return {};
  Window& w = found->second;
  set(&w, sequence, number);
  w.position = std::max(w.position, position);
  return finish(&w, sequence);
}

std::vector<Windows::Waiter> Windows::abandoned(ClientId client, uint64_t sequence) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  return found == windows_.end() ? std::vector<Waiter>{} : finish(&found->second, sequence);
}

std::vector<Windows::Waiter> Windows::refused(ClientId client, uint64_t sequence,
                                              const Failure& why) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found == windows_.end()) return {};
  Window& w = found->second;
  if (sequence + kWidth > w.highest) w.refused.set(sequence);
  if (w.reasons.size() == kRemembered) w.reasons.erase(w.reasons.begin());
  w.reasons.emplace_back(sequence, why);
  return finish(&w, sequence);
}

bool Windows::take_rows(ClientId client, uint64_t rows, uint64_t most) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found == windows_.end()) return rows <= most;
  Window& w = found->second;
  if (w.rows > most || rows > most - w.rows) return false;
  w.rows += rows;
  return true;
}

void Windows::give_rows(ClientId client, uint64_t rows) {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  if (found != windows_.end()) found->second.rows -= std::min(rows, found->second.rows);
}

uint64_t Windows::rows(ClientId client) const {
  MutexLock lock(mutex_);
  const auto found = windows_.find(client);
  return found == windows_.end() ? 0 : found->second.rows;
}

void Windows::replayed(ClientId client, uint64_t sequence, uint64_t number) {
  MutexLock lock(mutex_);
  Window& w = of(client);
  if (sequence + kWidth > w.highest) set(&w, sequence, number);
}

void Windows::expire() {
  const Clock::time_point now = Clock::now();
  MutexLock lock(mutex_);
  std::erase_if(windows_, [&](const auto& entry) {
    return entry.second.running.empty() && now - entry.second.seen > expiry_;
  });
}

void Windows::clear() {
  MutexLock lock(mutex_);
  windows_.clear();
}

namespace {

struct Saved {
  ClientId client;
  uint64_t highest = 0, numbers = 0;
  uint64_t applied[Windows::kWidth / 64] = {};
};

}  // namespace

std::string Windows::save() const {
  MutexLock lock(mutex_);
  // In the order in which they became known, which is how load finds it.
  std::vector<const std::pair<const ClientId, Window>*> order;
  for (const auto& entry : windows_) order.push_back(&entry);
  std::sort(order.begin(), order.end(),
            [](auto* a, auto* b) { return a->second.born < b->second.born; });
  std::string out;
  for (const auto* entry : order) {
    const auto& [client, w] = *entry;
    Saved saved{client, w.highest, w.numbers.size(), {}};
    std::copy(w.applied.words.begin(), w.applied.words.end(), saved.applied);
    out.append(reinterpret_cast<const char*>(&saved), sizeof(saved));
    for (const auto& [sequence, number] : w.numbers) {
      const uint64_t pair[2] = {sequence, number};
      out.append(reinterpret_cast<const char*>(pair), sizeof(pair));
    }
  }
  return out;
}

void Windows::load(std::span<const std::byte> state) {
  std::map<ClientId, Window> loaded;
  uint64_t born = 0;
  const auto read = [&](void* to, size_t n) {
    ARGOSY_CHECK(state.size() >= n, io)
        << "[parameter_server] the state of clients in a snapshot is cut short. Do this: start "
           "from another snapshot.";
    std::memcpy(to, state.data(), n);
    state = state.subspan(n);
  };
  while (!state.empty()) {
    Saved saved;
    read(&saved, sizeof(saved));
    Window& w = loaded[saved.client];
    w.born = ++born;
    w.highest = saved.highest;
    w.seen = Clock::now();
    std::copy(std::begin(saved.applied), std::end(saved.applied), w.applied.words.begin());
    for (uint64_t i = 0; i < saved.numbers; ++i) {
      uint64_t pair[2];
      read(pair, sizeof(pair));
      w.numbers.emplace_back(pair[0], pair[1]);
    }
  }
  MutexLock lock(mutex_);
  windows_ = std::move(loaded);
  born_ = born;
}

}  // namespace argosy::ps
