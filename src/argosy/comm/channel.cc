#include "argosy/comm/channel.h"

#include <algorithm>
#include <atomic>

#include "argosy/comm/choice.h"

namespace argosy::comm {

namespace {

std::atomic<void (*)()> idle_hook{nullptr};

std::string list_of(const std::vector<int>& ranks) {
  Message m;
  for (size_t i = 0; i < ranks.size(); ++i) m << (i ? ", " : "") << ranks[i];
  return m.str();
}

}  // namespace

void set_idle_hook(void (*hook)()) {
  idle_hook = hook;
}

void idle() {
  if (auto* hook = idle_hook.load()) hook();
}

Channel::Channel(uint32_t number, std::vector<int> ranks, int rank)
    : number_(number), ranks_(std::move(ranks)), rank_(rank) {}

Channel::~Channel() = default;

void Channel::fail(Failure failure, const std::string& text) {
  post(failure, text);
  check();
  throw CommError(failure, Message() << text);
}

const char* remedy(Failure failure) {
  switch (failure) {
    case Failure::timeout:
      return " Do this: see where that process is (py-spy dump), or set a longer limit: new_group("
             "timeout=..), ARGOSY_COMM_TIMEOUT in seconds.";
    case Failure::closed:
      return " Do this: see what that process wrote last, and destroy a group when all ranks have "
             "ended their last call of it.";
    default:
      return " Do this: see what that process wrote last.";
  }
}

const char* remedy_of_silence() {
  return " Do this: see whether that process is stopped, and the network to its host.";
}

double silence_of(const Channel& channel, const std::vector<int>& world_ranks) {
  double least = 1e9;
  for (const int r : world_ranks) least = std::min(least, channel.silence(r));
  return world_ranks.empty() ? 0 : least;
}

std::string text_of_waiting(const Channel& channel, const Header& what, Failure failure,
                            const std::vector<int>& late, const std::vector<int>& here,
                            double seconds) {
  const bool several = late.size() > 1;
  Message m;
  m << '[' << name_of(what.kind) << "] collective " << what.sequence << " of group "
    << channel.number() << ", " << describe(what) << ": expected all of its " << channel.size()
    << " ranks, but rank" << (several ? "s " : " ") << list_of(late);
  const double silent = failure == Failure::lost ? silence_of(channel, late) : 0;
  if (silent > 0)
    m << (several ? " have" : " has") << " been silent for " << silent << " s." << channel.cause()
      << remedy_of_silence();
  else if (failure == Failure::lost)
    m << (several ? " have" : " has") << " ended.";
  else if (failure == Failure::closed)
    m << (several ? " have" : " has") << " ended, or destroyed the group.";
  else
    m << (several ? " have" : " has") << " not come within " << seconds << " s; waiting: rank "
      << list_of(here) << '.';
  if (!(silent > 0)) m << channel.cause() << remedy(failure);
  return m.str();
}

namespace {

// What a rank shows, and what is not seen in that of another one.
std::string described_beside(const Header& h, const Header& other) {
  if (h.kind != Kind::all_reduce || h.kind != other.kind || h.detail == other.detail)
    return describe(h);
  const auto algorithm = [](const Header& of) { return static_cast<Algorithm>(of.detail & 0xff); };
  if (algorithm(h) == algorithm(other)) return describe(h) + " (ARGOSY_COMM_LINKS differs)";
  return describe(h) + " (ARGOSY_COMM_ALGORITHM=" + name_of(algorithm(h)) + ')';
}

}  // namespace

std::string text_of_disagreement(const Channel& channel, const Header& a, int rank_a,
                                 const Header& b, int rank_b) {
  Message m;
  m << '[' << name_of(a.kind) << "] the ranks of group " << channel.number()
    << " disagree about collective " << a.sequence << ": expected one for all, got "
    << described_beside(a, b) << " on rank " << channel.world_rank(rank_a) << ", "
    << described_beside(b, a) << " on rank " << channel.world_rank(rank_b)
    << ". Do this: let all ranks make the same calls in the same order, with tensors of the same"
       " shape and dtype.";
  return m.str();
}

std::string text_of_sizes(const Channel& channel, const Header& what, int from, uint64_t sent,
                          int to, uint64_t expected) {
  const auto item = static_cast<uint64_t>(item_size(what.dtype));
  Message m;
  m << '[' << name_of(what.kind) << "] the ranks of group " << channel.number()
    << " disagree about collective " << what.sequence << ": rank " << channel.world_rank(to)
    << " expected " << expected / item << ' ' << what.dtype << " of rank "
    << channel.world_rank(from) << ", which has " << sent / item
    << " for it. Do this: give the tensor to receive into the sender's size.";
  return m.str();
}

}  // namespace argosy::comm
