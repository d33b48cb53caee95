#include "argosy/ps/service/client_exchange.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "argosy/ps/service/mailbox.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;
constexpr const char* kWhat = "exchange";

// What goes to one worker.
struct Outgoing {
  uint32_t to;
  const std::string* part;
  size_t sent = 0;
  uint64_t piece = 0;
  bool ended = false;
};

// What comes from one worker.
struct Incoming {
  std::string part;
  bool ended = false;
};

class Exchanging {
 public:
  Exchanging(Calls* calls, const ClientOptions& options, uint64_t round,
             const std::vector<std::string>& parts)
      : calls_(*calls),
        options_(options),
        round_(round),
        in_(options.workers),
        counts_(options.workers) {
    const uint32_t me = options.worker;
    // Each begins with another one, so that nobody is called by all at once.
    for (uint32_t i = 1; i < options.workers; ++i) {
      const uint32_t to = (me + i) % options.workers;
      out_.push_back({to, &parts[to]});
    }
    in_[me] = {parts[me], true};
  }

  std::vector<std::string> run() {
    Calls::Clock::time_point moved = Calls::Clock::now();
    milliseconds pause{1};
    while (!out_.empty() || missing_in()) {
      if (options_.between_attempts) options_.between_attempts();
      if (turn()) {
        moved = Calls::Clock::now();
        pause = milliseconds(1);
        continue;
      }
      const auto idle = Calls::Clock::now() - moved;
      if (idle > options_.wait_deadline) give_up(idle);
      // (Where something is to come, the server waits for it.)
      if (missing_in()) continue;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, milliseconds(100));
    }
    std::vector<std::string> parts;
    for (Incoming& one : in_) parts.push_back(std::move(one.part));
    return parts;
  }

 private:
  bool missing_in() const {
    return std::any_of(in_.begin(), in_.end(), [](const Incoming& i) { return !i.ended; });
  }

  // One piece to each that has room, and what there is of the others'. False: nothing moved.
  bool turn() {
    std::vector<Exchange> exchanges;
    for (const Outgoing& o : out_) exchanges.push_back(post(o));
    const bool collects = missing_in();
    if (collects) exchanges.push_back(collect());
    calls_.run(kWhat, exchanges, options_.call_deadline);
    bool moved = false;
    for (size_t i = 0; i < out_.size(); ++i) {
      if (!exchanges[i].answer.number) continue;  // the box is full
      moved = true;
      Outgoing& o = out_[i];
      o.ended = o.sent == o.part->size();
      o.sent += size_of(o);
      ++o.piece;
    }
    std::erase_if(out_, [](const Outgoing& o) { return o.ended; });
    if (collects)
      for (const std::string& piece : exchanges.back().answer.parts) moved |= take(piece);
    return moved;
  }

  static size_t size_of(const Outgoing& o) {
    return std::min(Mailbox::kPiece, o.part->size() - o.sent);
  }

  Exchange post(const Outgoing& o) const {
    Exchange x = calls_.exchange(o.to % calls_.servers(), Method::post);
    x.header.round = round_;
    x.header.table = o.to;
    x.header.step = o.piece;
    const size_t size = size_of(o);
    auto bytes = std::make_shared<Bytes>(size);
    if (size) std::memcpy(bytes->data(), o.part->data() + o.sent, size);
    x.values = std::move(bytes);
    return x;
  }

  Exchange collect() {
    Exchange x = calls_.exchange(options_.worker % calls_.servers(), Method::collect);
    x.header.round = round_;
    x.header.step = turns_++;  // whose pieces come first
    // Whoever still has to post looks again soon.
    const milliseconds wait = out_.empty() ? milliseconds(1'000) : milliseconds(20);
    x.header.wait_ms = static_cast<uint32_t>(std::min(wait, options_.attempt_deadline / 2).count());
    auto bytes = std::make_shared<Bytes>(counts_.size() * sizeof(uint64_t));
    std::memcpy(bytes->data(), counts_.data(), bytes->size());
    x.keys = std::move(bytes);
    return x;
  }

  bool take(const std::string& piece) {
    uint64_t head[2];
    if (piece.size() < sizeof(head)) return false;
    std::memcpy(head, piece.data(), sizeof(head));
    const auto [from, number] = head;
    if (from >= in_.size() || in_[from].ended || number != counts_[from]) return false;
    ++counts_[from];
    in_[from].part.append(piece, sizeof(head));
    in_[from].ended = piece.size() == sizeof(head);
    return true;
  }

  [[noreturn]] void give_up(Calls::Clock::duration idle) const {
    std::string silent, full;
    for (size_t i = 0; i < in_.size(); ++i)
      if (!in_[i].ended) silent += (silent.empty() ? "" : ", ") + std::to_string(i);
    for (const Outgoing& o : out_) full += (full.empty() ? "" : ", ") + std::to_string(o.to);
    std::string text = "[parameter_server] exchange: ";
    if (!silent.empty()) text += "worker(s) " + silent + " have not sent all they have";
    if (!full.empty())
      text += (silent.empty() ? "worker(s) " : ", worker(s) ") + full + " do not take what is sent";
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(idle).count();
    throw ServiceError(
        ServiceError::Reason::timeout,
        text + "; gave up after " + std::to_string(seconds) +
            " s in which nothing moved. Do this: look into the logs of those workers, "
            "or wait longer (wait_deadline).");
  }

  Calls& calls_;
  const ClientOptions& options_;
  const uint64_t round_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
  std::vector<uint64_t> counts_;  // of pieces, by worker
  uint64_t turns_ = 0;
};

}  // namespace

std::vector<std::string> exchange_parts(Calls* calls, const ClientOptions& options, uint64_t round,
                                        const std::vector<std::string>& parts) {
  return Exchanging(calls, options, round, parts).run();
}

}  // namespace argosy::ps
