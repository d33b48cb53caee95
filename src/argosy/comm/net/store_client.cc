#include "argosy/comm/net/store_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "argosy/comm/channel.h"
#include "argosy/comm/net/store_server.h"

namespace argosy::comm::net {

namespace {

constexpr std::chrono::seconds kBeat{1};
constexpr double kAnswerSeconds = 10;  // that the store has for what needs no waiting

}  // namespace

StoreClient::StoreClient(const Address& address, const std::string& token, double seconds)
    : address_(address), wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), process_(getpid()) {
  const auto until = Clock::now() + limit_of(seconds);
  Trust trust = Trust::silent;
  // A port may be taken for a moment by who listens no more: so it is tried again.
  while (trust == Trust::silent) {
    socket_ = connect_tcp(address, until);
    if (!socket_) break;
    Purpose purpose;
    purpose.magic = kStoreMagic;
    trust = prove_as_caller(socket_, token, purpose, until);
    if (Clock::now() >= until) break;
  }
  if (trust == Trust::no)
    throw CommError(Failure::connection,
                    Message() << "[init_parallel_env] the store at " << print_address(address)
                              << " belongs to another job: its ARGOSY_JOB_TOKEN differs. Do this:"
                                 " give all ranks the same token, or another PADDLE_MASTER.");
  if (trust == Trust::silent)
    throw CommError(Failure::connection,
                    Message() << "[init_parallel_env] expected the job's store at "
                              << print_address(address) << ", but none has answered within "
                              << seconds
                              << " s. Do this: start rank 0 (or the launcher with --rank 0) on that"
                                 " host, and see that the port can be reached.");
  thread_ = std::make_unique<std::thread>([this] { loop(); });
}

StoreClient::~StoreClient() {
  if (process_ != getpid()) {  // a forked child has no such thread, and the locks are as they were
    static_cast<void>(thread_.release());
    return;
  }
  {
    MutexLock lock(mutex_);
    closing_ = true;
  }
  const uint64_t one = 1;
  if (write(wake_.get(), &one, sizeof one) > 0 && thread_) thread_->join();
}

void StoreClient::say(const std::string& frame) {
  MutexLock lock(writing_);
  if (!send_all(socket_, frame.data(), frame.size(),
                Clock::now() + std::chrono::seconds(StoreServer::kSilent)))
    lose("its connection has ended");
}

std::optional<std::string> StoreClient::request(Op op, const std::string& key,
                                                const std::string& value, double seconds) {
  ARGOSY_CHECK(process_ == getpid(), runtime)
      << "[store] the connection belongs to the process that forked this one. Do this: connect"
         " anew.";
  uint64_t id;
  {
    MutexLock lock(mutex_);
    id = next_++;
    answers_[id];
  }
  say(pack({static_cast<uint8_t>(op), id, key, value}));
  const auto until = Clock::now() + limit_of(seconds);
  std::string lost;
  for (;;) {
    {
      WaitLock lock(mutex_);
      changed_.wait_for(lock, std::chrono::milliseconds(50), [&]() ARGOSY_REQUIRES(mutex_) {
        return answers_[id].there || !lost_.empty();
      });
      Answer& a = answers_[id];
      if (a.there) {
        std::optional<std::string> out;
        if (!a.absent) out = std::move(a.value);
        answers_.erase(id);
        return out;
      }
      lost = lost_;
      if (lost.empty() && Clock::now() >= until) lost = "it does not answer";
      if (!lost.empty()) answers_.erase(id);
    }
    if (!lost.empty()) break;
    idle();
  }
  throw CommError(Failure::lost, Message() << "[store] the job's store at "
                                           << print_address(address_) << " is lost: " << lost
                                           << ". Do this: see what rank 0 wrote last.");
}

std::string StoreClient::ask(Op op, const std::string& key, const std::string& value) {
  return request(op, key, value, kAnswerSeconds).value_or("");
}

void StoreClient::set(const std::string& key, const std::string& value) {
  ask(Op::set, key, value);
}

std::string StoreClient::set_once(const std::string& key, const std::string& value) {
  return ask(Op::set_once, key, value);
}

std::optional<std::string> StoreClient::get(const std::string& key, double seconds) {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(limit_of(seconds));
  return request(Op::get, key, bytes_of(static_cast<int64_t>(limit.count())),
                 seconds + kAnswerSeconds);
}

int64_t StoreClient::add(const std::string& key, int64_t value) {
  return value_of<int64_t>(ask(Op::add, key, bytes_of(value)));
}

bool StoreClient::has(const std::string& key) {
  return ask(Op::check, key, "") == "1";
}

bool StoreClient::remove(const std::string& key) {
  return ask(Op::remove, key, "") == "1";
}

int64_t StoreClient::count() {
  return value_of<int64_t>(ask(Op::count, "", ""));
}

std::vector<std::pair<std::string, std::string>> StoreClient::list(const std::string& prefix) {
  const std::string bytes = ask(Op::list, prefix, "");
  std::string_view rest = bytes;
  std::vector<std::pair<std::string, std::string>> out;
  std::string key, value;
  while (take_text(&rest, &key) && take_text(&rest, &value)) out.emplace_back(key, value);
  return out;
}

void StoreClient::watch(int rank, Listener listener) {
  {
    MutexLock lock(mutex_);
    listener_ = std::move(listener);
    watches_ = true;
  }
  ask(Op::watch, "", bytes_of(static_cast<int32_t>(rank)));
}

void StoreClient::ping() {
  ask(Op::ping, "", "");
}

void StoreClient::bye() noexcept {
  try {
    request(Op::bye, "", "", 1);
  } catch (...) {  // it has ended before
  }
}

void StoreClient::hear(const Frame& f) {
  Listener listener;
  {
    MutexLock lock(mutex_);
    switch (static_cast<Reply>(f.kind)) {
      case Reply::done:
      case Reply::absent: {
        const auto it = answers_.find(f.id);
        if (it == answers_.end()) return;  // nobody waits any more
        it->second = {true, static_cast<Reply>(f.kind) == Reply::absent, f.value};
        changed_.notify_all();
        return;
      }
      case Reply::beat:
        return;
      default:
        listener = listener_;
    }
  }
  if (static_cast<Reply>(f.kind) == Reply::changed && listener.changed)
    listener.changed(f.key, f.value);
  if (static_cast<Reply>(f.kind) == Reply::gone && listener.gone)
    listener.gone(value_of<int32_t>(f.value), f.key == kSilentKey);
}

void StoreClient::lose(const std::string& why) {
  Listener listener;
  {
    MutexLock lock(mutex_);
    if (!lost_.empty()) return;
    lost_ = why;
    changed_.notify_all();
    listener = listener_;
  }
  if (listener.lost) listener.lost(why);
}

void StoreClient::loop() {
  auto heard = Clock::now(), beaten = heard;
  const std::string beat = pack({static_cast<uint8_t>(Op::beat), 0, "", ""});
  char bytes[65536];
  for (;;) {
    bool watches;
    {
      MutexLock lock(mutex_);
      if (closing_ || !lost_.empty()) return;
      watches = watches_;
    }
    pollfd fds[] = {{socket_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    poll(fds, 2, static_cast<int>(std::chrono::milliseconds(kBeat).count() / 2));
    const auto now = Clock::now();
    if (watches && now - beaten >= kBeat) {
      // A process that was stopped itself has heard nothing either.
      if (now - beaten > StoreServer::kSilent) heard = now;
      beaten = now;
      say(beat);
    }
    if (fds[0].revents) {
      const ssize_t n = recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        return lose("its process has ended");
      if (n > 0) {
        heard = now;
        in_.append(bytes, static_cast<size_t>(n));
      }
      size_t at = 0, taken = 0;
      Frame f;
      int got;
      while ((got = unpack(std::string_view(in_).substr(at), &f, &taken)) > 0) {
        at += taken;
        hear(f);
      }
      if (got < 0) return lose("it says what no store says");
      in_.erase(0, at);
    }
    if (watches && now - heard > StoreServer::kSilent) return lose("it has been silent for 5 s");
  }
}

}  // namespace argosy::comm::net
