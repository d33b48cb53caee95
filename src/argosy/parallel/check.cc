#include "argosy/parallel/check.h"

#include <algorithm>
#include <deque>
#include <tuple>
#include <unordered_map>

#include "argosy/comm/ops/exchange.h"

namespace argosy::parallel {

using comm::Exchange;
using comm::Header;
using comm::Kind;
using program::Block;
using program::Operation;
using program::Program;
using program::Value;

namespace {

constexpr uint64_t kRoom =
    128 << 10;  // bytes of messages from one rank to another that wait unread

// An operation that communicates, as its rank comes to it.
struct Event {
  Exchange exchange;
  const Operation* operation = nullptr;
  size_t begun = 0;  // of one that waits: the event that has begun it
};

std::string place_of(const Event& e) {
  Message m;
  if (e.exchange.waits)
    m << e.operation->op->name;
  else
    m << comm::describe(e.exchange.header) << " of group " << e.exchange.group;
  if (!e.operation->location.empty()) m << " at " << e.operation->location;
  return m.str();
}

bool same(const Header& a, const Header& b) {
  Header x = a, y = b;
  if (x.count == comm::kUnknownCount || y.count == comm::kUnknownCount) x.count = y.count = 0;
  return x == y;
}

bool is_transfer(Kind kind) {
  return kind == Kind::send || kind == Kind::recv;
}

// What a Program exchanges, in order.
class Reader {
 public:
  Reader(std::vector<Event>& events, std::string& mistakes, int rank)
      : events_(events), mistakes_(mistakes), rank_(rank) {}

  void block(const Block& b) {
    for (const auto& o : b.operations) operation(*o);
  }

 private:
  void operation(const Operation& o) {
    if (o.is_if()) return branches(o);
    for (const auto& inner : o.blocks) block(*inner);
    if (o.op->effect != op::Effect::communicates) return;
    std::vector<Tensor> in;
    for (const Ref<Value>& v : o.inputs()) in.push_back(program::handle(v));
    auto found = comm::exchange_of(*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()),
                                   o.attrs.get());
    if (!found) return;
    Event e{*found, &o, 0};
    if (found->waits) {
      const auto it = begun_.find(o.operands.back()->producer);
      if (it == begun_.end()) return told(o, "waits for what this block has not begun");
      e.begun = it->second;
    }
    if (found->begins) begun_[&o] = events_.size();
    events_.push_back(e);
  }

  void branches(const Operation& o) {
    const size_t first = events_.size();
    block(*o.blocks[0]);
    const size_t second = events_.size();
    block(*o.blocks[1]);
    bool equal = 2 * (second - first) == events_.size() - first;
    for (size_t i = first; equal && i < second; ++i)
      equal = same(events_[i].exchange.header, events_[i - first + second].exchange.header);
    if (!equal) told(o, "exchanges something else in each branch, so it depends on the run");
    events_.resize(second);
  }

  void told(const Operation& o, const char* what) {
    Message m;
    m << "rank " << rank_ << ": " << o.op->name;
    if (!o.location.empty()) m << " at " << o.location;
    m << ' ' << what << ".\n";
    mistakes_ += m.str();
  }

  std::vector<Event>& events_;
  std::string& mistakes_;
  const int rank_;
  std::unordered_map<const Operation*, size_t> begun_;
};

// All ranks, each at some event of its own. A rank goes on until it has to wait; one that is
// waited for is woken when it may go on.
class Walk {
 public:
  Walk(std::span<const Program* const> programs, const GroupRanks& groups)
      : ranks_(programs.size()) {
    for (const auto& [number, members] : groups) groups_[number].members = members;
    auto& all = groups_[0].members;
    for (size_t r = 0; all.size() < ranks_.size(); ++r) all.push_back(static_cast<int>(r));
    for (size_t r = 0; r < ranks_.size(); ++r)
      Reader(ranks_[r].events, mistakes_, static_cast<int>(r)).block(programs[r]->main);
  }

  std::string run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (size_t r = 0; r < ranks_.size(); ++r)
        while (ranks_[r].at < ranks_[r].events.size() && step(static_cast<int>(r))) moved = true;
    }
    tell_who_waits();
    return mistakes_;
  }

 private:
  struct Collective {
    const Event* first = nullptr;
    int first_rank = 0;
    size_t arrived = 0;
  };
  struct Group {
    std::vector<int> members;
    std::deque<Collective> collectives;
  };
  struct Rank {
    std::vector<Event> events;
    size_t at = 0;
    bool shown = false;                         // the others know that it has come to `at`
    std::map<int64_t, size_t> count;            // of its collectives in a group
    std::unordered_map<size_t, size_t> number;  // of the collective of an event in its group
  };
  struct Channel {
    std::deque<const Event*> unread;
    uint64_t bytes = 0;
  };
  using Pair = std::tuple<int64_t, int, int>;  // group, from, to

  // Goes on by one event; false where the rank has to wait.
  bool step(int r) {
    Rank& rank = ranks_[static_cast<size_t>(r)];
    const Event& e = rank.events[rank.at];
    const bool passes = e.exchange.waits                      ? is_done(rank, e.begun)
                        : is_transfer(e.exchange.header.kind) ? transfer(r, rank, e)
                                                              : collective(r, rank, e);
    if (passes) {
      ++rank.at;
      rank.shown = false;
    }
    return passes;
  }

  bool is_done(const Rank& rank, size_t event) {
    const Group& g = groups_[rank.events[event].exchange.group];
    const auto it = rank.number.find(event);
    return it != rank.number.end() && it->second < g.collectives.size() &&
           g.collectives[it->second].arrived == g.members.size();
  }

  bool collective(int r, Rank& rank, const Event& e) {
    if (!rank.shown) {
      rank.shown = true;
      Group& g = groups_[e.exchange.group];
      if (std::find(g.members.begin(), g.members.end(), r) == g.members.end()) {
        Message m;
        m << "rank " << r << " is no member of group " << e.exchange.group << ", but comes to "
          << place_of(e) << ".\n";
        mistakes_ += m.str();
        return true;
      }
      const size_t number = rank.count[e.exchange.group]++;
      rank.number[rank.at] = number;
      if (g.collectives.size() <= number) g.collectives.resize(number + 1);
      Collective& c = g.collectives[number];
      ++c.arrived;
      if (!c.first) {
        c.first = &e;
        c.first_rank = r;
      } else if (!same(c.first->exchange.header, e.exchange.header)) {
        Message m;
        m << "ranks disagree about collective " << number << " of group " << e.exchange.group
          << ": " << place_of(*c.first) << " on rank " << c.first_rank << ", " << place_of(e)
          << " on rank " << r << ".\n";
        mistakes_ += m.str();
      }
    }
    return e.exchange.begins || is_done(rank, rank.at);
  }

  Channel& channel(const Event& e, int from, int to) {
    return channels_[{e.exchange.group, from, to}];
  }
  int peer_of(const Event& e) {
    const auto& members = groups_[e.exchange.group].members;
    const auto at = static_cast<size_t>(e.exchange.header.root);
    return at < members.size() ? members[at] : -1;
  }
  static uint64_t bytes_of(const Header& h) {
    return h.count == comm::kUnknownCount ? 0 : h.count * static_cast<uint64_t>(item_size(h.dtype));
  }

  bool transfer(int r, Rank& rank, const Event& e) {
    const int peer = peer_of(e);
    if (e.exchange.header.kind == Kind::send) {
      Channel& c = channel(e, r, peer);
      if (!rank.shown) {
        rank.shown = true;
        c.unread.push_back(&e);
        c.bytes += bytes_of(e.exchange.header);
      }
      const bool unread = std::find(c.unread.begin(), c.unread.end(), &e) != c.unread.end();
      return !unread || c.bytes <= kRoom;
    }
    Channel& c = channel(e, peer, r);
    if (c.unread.empty()) return false;
    const Event& sent = *c.unread.front();
    Header mine = e.exchange.header, theirs = sent.exchange.header;
    mine.kind = theirs.kind;
    mine.root = theirs.root;
    if (!same(mine, theirs)) {
      Message m;
      m << "rank " << r << " expects another message of rank " << peer << ": " << place_of(e)
        << ", sent was " << place_of(sent) << ".\n";
      mistakes_ += m.str();
    }
    c.bytes -= bytes_of(sent.exchange.header);
    c.unread.pop_front();
    return true;
  }

  void tell_who_waits() {
    for (size_t r = 0; r < ranks_.size(); ++r) {
      const Rank& rank = ranks_[r];
      if (rank.at == rank.events.size()) continue;
      const Event& e = rank.events[rank.at];
      Message m;
      m << "rank " << r << " waits in " << place_of(e);
      const Event& on = e.exchange.waits ? rank.events[e.begun] : e;
      if (is_transfer(on.exchange.header.kind)) {
        const int peer = peer_of(on);
        m << " for rank " << peer << ", " << state_of(peer);
      } else {
        const size_t number = rank.number.at(e.exchange.waits ? e.begun : rank.at);
        const char* before = " for rank ";
        for (int other : groups_[on.exchange.group].members) {
          const auto& counts = ranks_[static_cast<size_t>(other)].count;
          const auto it = counts.find(on.exchange.group);
          if (it != counts.end() && it->second > number) continue;
          m << before << other << ", " << state_of(other);
          before = "; for rank ";
        }
      }
      m << ".\n";
      mistakes_ += m.str();
    }
    for (const auto& [pair, c] : channels_)
      for (const Event* sent : c.unread) {
        Message m;
        m << "rank " << std::get<1>(pair) << " sends what rank " << std::get<2>(pair)
          << " never receives: " << place_of(*sent) << ".\n";
        mistakes_ += m.str();
      }
  }

  std::string state_of(int r) const {
    if (r < 0 || static_cast<size_t>(r) >= ranks_.size()) return "which is not there";
    const Rank& rank = ranks_[static_cast<size_t>(r)];
    if (rank.at == rank.events.size()) return "which has ended";
    return "which waits in " + place_of(rank.events[rank.at]);
  }

  std::vector<Rank> ranks_;
  std::map<int64_t, Group> groups_;
  std::map<Pair, Channel> channels_;
  std::string mistakes_;
};

}  // namespace

std::string check_ranks(std::span<const Program* const> programs, const GroupRanks& groups) {
  return Walk(programs, groups).run();
}

}  // namespace argosy::parallel
