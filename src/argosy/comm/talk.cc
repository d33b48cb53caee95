#include "argosy/comm/talk.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/flags.h"

namespace argosy::comm {

namespace {

constexpr size_t kSpans = 32;  // of memory in one call of links
constexpr int kTries = 20;     // to move something before a rank sleeps that awaits not much
constexpr size_t kMuch = size_t{16} << 10;
constexpr std::chrono::milliseconds kSlice{50};
// Who waits for so long without that anything moves says so, and is not taken for late.
constexpr std::chrono::milliseconds kSaysSo{100};

bool wants_checks() {
  static const bool wanted = flags::find("ARGOSY_COMM_CHECK").boolean();
  return wanted;
}

}  // namespace

Talk::Talk(Mesh& mesh, const Job& job)
    : mesh_(mesh),
      job_(job),
      header_(job.compared()),
      peers_(static_cast<size_t>(mesh.size())),
      checks_(wants_checks()),
      since_(Clock::now()),
      looked_(since_) {
  if (checks_) header_.way |= kChecked;
  if (header_.kind == Kind::all_reduce) header_.detail = mesh.rules();
  mesh_.check();
}

Talk::Peer& Talk::meet(int peer) {
  Peer& p = peers_[static_cast<size_t>(peer)];
  p.met = true;
  return p;
}

void Talk::greet(int peer) {
  meet(peer);
}

void Talk::add(Parts& parts, Part part) {
  if (!part.bytes) return;
  if (part.pending) ++part.pending->count;
  parts.push_back(part);
}

void Talk::send(int peer, const Pieces& pieces, size_t begin, size_t bytes, Pending* pending) {
  add(meet(peer).out, {.pieces = &pieces, .begin = begin, .bytes = bytes, .pending = pending});
}

void Talk::send(int peer, const void* data, size_t bytes, Pending* pending) {
  auto* begin = static_cast<char*>(const_cast<void*>(data));  // read only
  add(meet(peer).out, {.data = begin, .bytes = bytes, .pending = pending});
}

void Talk::receive(int peer, const Pieces& pieces, size_t begin, size_t bytes, Pending* pending) {
  add(meet(peer).in, {.pieces = &pieces, .begin = begin, .bytes = bytes, .pending = pending});
}

void Talk::receive(int peer, void* data, size_t bytes, Pending* pending) {
  add(meet(peer).in, {.data = static_cast<char*>(data), .bytes = bytes, .pending = pending});
}

void Talk::Part::spans(std::vector<iovec>* out) const {
  if (pieces)
    pieces->spans(begin + moved, left(), out, kSpans);
  else
    out->push_back({data + moved, left()});
}

bool Talk::done(const Peer& p) const {
  return !p.met || (p.greeted == sizeof(Header) && p.compared && p.out.empty() && p.in.empty());
}

bool Talk::all_done() const {
  return std::all_of(peers_.begin(), peers_.end(), [&](const Peer& p) { return done(p); });
}

void Talk::wait(const Pending& pending) {
  drive([&] { return pending.count == 0; });
}

void Talk::settle() {
  drive([&] { return all_done(); });
}

void Talk::finish() {
  settle();
  if (!checks_) return;
  std::vector<uint32_t> mine;
  for (const Peer& p : peers_) mine.push_back(p.check_out);
  std::vector<uint32_t> here;
  for (const Peer& p : peers_) here.push_back(p.check_in);
  for (int r = 0; r < mesh_.size(); ++r) {
    Peer& p = peers_[static_cast<size_t>(r)];
    if (!p.met) continue;
    send(r, &mine[static_cast<size_t>(r)], sizeof(uint32_t));
    receive(r, &p.theirs, sizeof(uint32_t));
  }
  settle();
  for (int r = 0; r < mesh_.size(); ++r) {
    if (peers_[static_cast<size_t>(r)].theirs == here[static_cast<size_t>(r)]) continue;
    Message m;
    m << '[' << name_of(header_.kind) << "] collective " << header_.sequence << " of group "
      << mesh_.number() << ", " << describe(header_) << ": rank " << mesh_.world_rank(mesh_.rank())
      << " received other bytes than rank " << mesh_.world_rank(r)
      << " sent (ARGOSY_COMM_CHECK). Do this: look for a defect of the"
      << " network or of these hosts' memory.";
    mesh_.fail(Failure::connection, m.str());
  }
}

template <class Done>
void Talk::drive(Done&& done) {
  int tries = 0;
  since_ = Clock::now();  // the caller may have done something else before
  while (!done()) {
    const bool moved = advance();
    const auto now = Clock::now();
    if (moved) {
      since_ = now;
      said_ = false;
      tries = 0;
    }
    if (now - looked_ >= kSlice) {
      looked_ = now;
      mesh_.check();
      idle();
      check_waiting(true);
    }
    if (moved || (++tries < kTries && !awaits_much())) continue;
    check_waiting(false);
    wait_for_links();
    for (int r = 0; r < mesh_.size(); ++r)
      if (r != mesh_.rank() && !peers_[static_cast<size_t>(r)].met) look_at_stranger(r);
  }
}

bool Talk::advance() {
  bool moved = false;
  for (int r = 0; r < mesh_.size(); ++r) {
    Peer& p = peers_[static_cast<size_t>(r)];
    if (!p.met) continue;
    while (push(r, p)) moved = true;
    while (pull(r, p)) moved = true;
  }
  return moved;
}

void Talk::consume(Parts& parts, size_t n, uint32_t* check) {
  while (n) {
    Part& part = parts.front();
    const size_t taken = std::min(n, part.left());
    if (check) {
      Part now = part;
      now.bytes = part.moved + taken;
      std::vector<iovec> spans;
      while (now.left()) {
        spans.clear();
        now.spans(&spans);
        for (const iovec& s : spans) {
          *check = static_cast<uint32_t>(
              crc32_z(*check, static_cast<const Bytef*>(s.iov_base), s.iov_len));
          now.moved += s.iov_len;
        }
      }
    }
    part.moved += taken;
    n -= taken;
    if (part.left()) return;
    if (part.pending) --part.pending->count;
    parts.pop_front();
  }
}

bool Talk::push(int peer, Peer& p) {
  spans_.clear();
  const size_t head = sizeof(Header) - p.greeted;
  if (head) spans_.push_back({reinterpret_cast<char*>(&header_) + p.greeted, head});
  for (const Part& part : p.out) {
    if (spans_.size() >= kSpans) break;
    const size_t before = spans_.size();
    size_t bytes = 0;
    part.spans(&spans_);
    for (size_t i = before; i < spans_.size(); ++i) bytes += spans_[i].iov_len;
    if (bytes < part.left()) break;  // what follows it has to wait
  }
  if (spans_.empty()) return false;
  const size_t n = mesh_.links().put(Lane::collective, peer, spans_);
  const size_t greeted = std::min(n, head);
  p.greeted += greeted;
  consume(p.out, n - greeted, checks_ ? &p.check_out : nullptr);
  return n > 0;
}

bool Talk::read_ahead(int peer) {
  Mesh::Ahead& ahead = mesh_.ahead(peer);
  if (ahead.begin) {
    std::memmove(ahead.bytes.data(), ahead.bytes.data() + ahead.begin, ahead.size());
    ahead.end -= ahead.begin;
    ahead.begin = 0;
  }
  const iovec room{ahead.bytes.data() + ahead.end, Mesh::Ahead::kBytes - ahead.end};
  const size_t n = mesh_.links().get(Lane::collective, peer, {&room, 1});
  ahead.end += n;
  return n > 0;
}

size_t Talk::take(int peer, std::span<const iovec> to) {
  Mesh::Ahead& ahead = mesh_.ahead(peer);
  if (!ahead.size()) return mesh_.links().get(Lane::collective, peer, to);
  size_t total = 0;
  for (const iovec& span : to) {
    const size_t n = std::min(span.iov_len, ahead.size());
    std::memcpy(span.iov_base, ahead.bytes.data() + ahead.begin, n);
    ahead.begin += n;
    total += n;
  }
  return total;
}

bool Talk::pull(int peer, Peer& p) {
  if (!p.compared) {
    if (mesh_.ahead(peer).size() < sizeof(Header) && !read_ahead(peer)) return false;
    if (mesh_.ahead(peer).size() < sizeof(Header)) return true;
    compare(peer, p);
    return true;
  }
  if (p.in.empty()) return false;
  spans_.clear();
  p.in.front().spans(&spans_);
  const size_t n = take(peer, spans_);
  consume(p.in, n, checks_ ? &p.check_in : nullptr);
  return n > 0;
}

void Talk::compare(int peer, Peer& p) {
  Mesh::Ahead& ahead = mesh_.ahead(peer);
  Header theirs;
  std::memcpy(&theirs, ahead.bytes.data() + ahead.begin, sizeof theirs);
  if (theirs == header_) [[likely]] {
    ahead.begin += sizeof theirs;
    p.compared = true;
    return;
  }
  const int me = mesh_.rank();
  const bool first = me < peer;
  std::string text = text_of_disagreement(mesh_, first ? header_ : theirs, first ? me : peer,
                                          first ? theirs : header_, first ? peer : me);
  if (theirs.sequence != header_.sequence) {
    Message m;
    m << " (Rank " << mesh_.world_rank(me) << " is at collective " << header_.sequence
      << " of the group, rank " << mesh_.world_rank(peer) << " at " << theirs.sequence << ".)";
    text += m.str();
  }
  mesh_.fail(Failure::disagreement, text);
}

// It may be ahead of this rank already; or it differs, and says to others what this one waits for.
bool Talk::look_at_stranger(int peer) {
  Mesh::Ahead& ahead = mesh_.ahead(peer);
  if (ahead.size() >= sizeof(Header) || !read_ahead(peer)) return false;
  if (ahead.size() < sizeof(Header)) return true;
  Header theirs;
  std::memcpy(&theirs, ahead.bytes.data() + ahead.begin, sizeof theirs);
  if (theirs.sequence <= header_.sequence && !(theirs == header_))
    compare(peer, peers_[static_cast<size_t>(peer)]);
  return true;
}

// Of the first part only: what follows it may be sent when this rank has answered.
size_t Talk::awaited(const Peer& p) {
  return p.compared && !p.in.empty() ? p.in.front().left() : 1;
}

// More than comes while a rank tries.
bool Talk::awaits_much() const {
  return std::ranges::any_of(peers_, [](const Peer& p) { return awaited(p) > kMuch; });
}

bool Talk::waits_for(const Peer& p) const {
  return !done(p);
}

void Talk::wait_for_links() {
  wishes_.clear();
  for (int r = 0; r < mesh_.size(); ++r) {
    if (r == mesh_.rank()) continue;
    const Peer& p = peers_[static_cast<size_t>(r)];
    if (p.met && (p.greeted < sizeof(Header) || !p.out.empty())) wishes_.push_back({r, true});
    if (p.met ? !p.compared || !p.in.empty() : mesh_.ahead(r).size() < sizeof(Header))
      wishes_.push_back({r, false, awaited(p)});
  }
  mesh_.links().wait(Lane::collective, wishes_, kSlice);
}

void Talk::check_waiting(bool late) {
  std::vector<int> lost, left, here;
  const auto now = Clock::now();
  for (int r = 0; r < mesh_.size(); ++r) {
    const Peer& p = peers_[static_cast<size_t>(r)];
    if (!waits_for(p)) continue;
    if (!late && !mesh_.links().ended(Lane::collective, r)) continue;
    // What it said before it ended is still to be heard.
    const bool ended = mesh_.left(r) || mesh_.gone(r);
    if (!ended || pull(r, peers_[static_cast<size_t>(r)]) || !waits_for(p)) continue;
    (mesh_.left(r) ? left : lost).push_back(mesh_.world_rank(r));
  }
  if (!lost.empty() || !left.empty()) {
    mesh_.control().refresh();
    mesh_.check();
    const bool is_lost = !lost.empty();
    const Failure failure = is_lost ? Failure::lost : Failure::closed;
    mesh_.fail(Failure::lost,
               text_of_waiting(mesh_, header_, failure, is_lost ? lost : left, {}, job_.seconds));
  }
  if (!late) return;
  if (!said_ && now - since_ >= std::min<Clock::duration>(kSaysSo, limit_of(job_.seconds) / 4)) {
    said_ = true;
    mesh_.control().waits(mesh_.number(), header_.sequence);
  }
  if (now - since_ < limit_of(job_.seconds)) return;
  std::vector<bool> waiting(static_cast<size_t>(mesh_.size()));
  waiting[static_cast<size_t>(mesh_.rank())] = true;
  for (const Control::Waiting& w : mesh_.control().waiting(mesh_.number()))
    for (int r = 0; r < mesh_.size(); ++r)
      if (mesh_.world_rank(r) == w.rank && w.sequence == header_.sequence)
        waiting[static_cast<size_t>(r)] = true;
  for (int r = 0; r < mesh_.size(); ++r)
    (waiting[static_cast<size_t>(r)] ? here : lost).push_back(mesh_.world_rank(r));
  if (!lost.empty())
    mesh_.fail(Failure::timeout,
               text_of_waiting(mesh_, header_, Failure::timeout, lost, here, job_.seconds));
  Message m;
  m << '[' << name_of(header_.kind) << "] collective " << header_.sequence << " of group "
    << mesh_.number() << ", " << describe(header_) << ": all of its " << mesh_.size()
    << " ranks have come, but rank " << mesh_.world_rank(mesh_.rank()) << " has received nothing"
    << " for " << job_.seconds << " s. Do this: look at the network between these hosts.";
  mesh_.fail(Failure::timeout, m.str());
}

}  // namespace argosy::comm
