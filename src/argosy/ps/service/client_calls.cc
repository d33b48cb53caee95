#include "argosy/ps/service/client_calls.h"

#include <algorithm>
#include <thread>

#include "argosy/base/log.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;
using Reason = ServiceError::Reason;

// Of the server's window; the rest is for those that are given up while they are on their way.
constexpr size_t kSpread = Windows::kWidth / 2;
// A server answers so soon at the latest to calls that wait for others; then they ask again.
constexpr milliseconds kWaitSlice{1000};

ClientId random_id() {
  std::random_device device;
  const auto number = [&] { return uint64_t{device()} << 32 | device(); };
  return {number(), number()};
}

// Who waits longer for a server says so.
constexpr milliseconds kQuietWait{10'000};

bool waits(Method method) {
  return method == Method::end_step || method == Method::gather;
}

ErrorKind kind_of(Reason reason) {
  switch (reason) {
    case Reason::timeout:
      return ErrorKind::timeout;
    case Reason::refused:
    case Reason::mismatch:
      return ErrorKind::invalid_argument;
    case Reason::unauthenticated:
    case Reason::forbidden:
      return ErrorKind::io;
    default:
      return ErrorKind::runtime;
  }
}

std::string seconds(Transport::Clock::duration d) {
  const auto ms = std::chrono::duration_cast<milliseconds>(d).count();
  return std::to_string(ms / 1000) + '.' + std::to_string(ms % 1000 / 100) + " s";
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

[[noreturn]] void fail_forked() {
  throw ServiceError(Reason::forked,
                     "[parameter_server] this process was forked from one that is connected to "
                     "servers; the connection belongs to the parent. Do this: start processes with "
                     "spawn, or connect after the fork.");
}

}  // namespace

ServiceError::ServiceError(Reason reason, std::string text)
    : Error(kind_of(reason), std::move(text)), reason_(reason) {}

uint64_t Sequence::begin(Transport::Clock::time_point end) {
  WaitLock lock(mutex_);
  const bool free = finished_.wait_until(lock, end, [&]() ARGOSY_REQUIRES(mutex_) {
    return running_.empty() || next_ - *running_.begin() < kSpread;
  });
  if (!free) return 0;
  running_.insert(running_.end(), next_);
  return next_++;
}

uint64_t Sequence::next() {
  MutexLock lock(mutex_);
  return next_;
}

void Sequence::finish(uint64_t number) {
  MutexLock lock(mutex_);
  running_.erase(number);
  finished_.notify_all();
}

Calls::Calls(const ClientOptions& options) : options_(options), id_(random_id()), random_(id_.low) {
  if (forked()) fail_forked();
  ARGOSY_CHECK(!options.endpoints.empty(), invalid_argument)
      << "[parameter_server] endpoints: expected host:port of at least one server, got none.";
  ARGOSY_CHECK(options.worker < options.workers, invalid_argument)
      << "[parameter_server] worker: expected one below the number of workers (" << options.workers
      << "), got " << options.worker << '.';
  transport_ = make_transport(options);
  for (size_t i = 0; i < options.endpoints.size(); ++i)
    servers_.push_back(std::make_unique<Server>());
}

Calls::~Calls() {
  if (forked()) transport_.release();
}

std::string Calls::place(uint32_t server) const {
  return "server " + std::to_string(server) + " (" + options_.endpoints[server] + ")";
}

Exchange Calls::exchange(uint32_t server, Method method) const {
  Exchange x;
  x.server = server;
  x.method = method;
  Header& h = x.header;
  h.set_client(id_);
  h.worker = options_.worker;
  h.workers = options_.workers;
  h.server = server;
  h.servers = servers();
  Server& s = *servers_[server];
  MutexLock lock(s.mutex);
  h.epoch = s.epoch;
  h.incarnation = s.incarnation;
  return x;
}

Exchange Calls::hello(uint32_t server) const {
  Exchange x = exchange(server, Method::hello);
  x.header.sequence = servers_[server]->sequence.next();
  x.header.retry_ms =
      static_cast<uint64_t>(std::max(options_.call_deadline, options_.table_deadline).count());
  if (!options_.tables.empty()) x.header.text = to_json(options_.tables);
  return x;
}

void Calls::connect() {
  std::vector<Exchange> all;
  const auto greet = [&](milliseconds deadline) {
    all.clear();
    for (uint32_t i = 0; i < servers(); ++i) all.push_back(hello(i));
    run("connect", all, deadline);
  };
  if (options_.connect_deadline <= 2 * kQuietWait) {
    greet(options_.connect_deadline);
  } else {
    try {
      greet(kQuietWait);
    } catch (const ServiceError& e) {
      if (e.reason() != Reason::timeout) throw;
      const milliseconds rest = options_.connect_deadline - kQuietWait;
      ARGOSY_LOG(warning) << e.what() << " Waiting for " << rest.count() / 1000
                          << " s more (ARGOSY_PS_CONNECT_SECONDS).";
      greet(rest);
    }
  }
  for (uint32_t i = 0; i < servers(); ++i) {
    Answer& a = all[i].answer;
    Server& s = *servers_[i];
    {
      MutexLock lock(s.mutex);
      s.epoch = a.epoch;
      s.incarnation = a.incarnation;
    }
    s.tables = std::move(a.tables);
    // What one server has not done yet is done again; the others pass over it.
    next_step_ = i == 0 ? a.next_step : std::min(next_step_, a.next_step);
    step_open_ = step_open_ || a.step_open;
    if (i == 0) {
      tables_ = parse_tables(a.text);
      next_round_ = a.next_round;
    }
  }
}

const TableShape& Calls::shape(uint32_t server, uint32_t table) const {
  for (const TableShape& t : servers_[server]->tables)
    if (t.id == table) return t;
  std::string known;
  for (const TableConfig& t : tables_)
    known += (known.empty() ? "" : ", ") + std::to_string(t.id) +
             (t.name.empty() ? "" : " '" + t.name + "'");
  throw ServiceError(Reason::refused, "[parameter_server] table " + std::to_string(table) +
                                          " does not exist: expected one of " + known + ".");
}

milliseconds Calls::jitter(milliseconds delay) {
  MutexLock lock(mutex_);
  return milliseconds(
      std::uniform_int_distribution<milliseconds::rep>(delay.count() / 2, delay.count())(random_));
}

void Calls::fail(const char* what, const Exchange& x, Clock::duration spent) const {
  const std::string head =
      std::string("[parameter_server] ") + what + ", " + place(x.server) + ": ";
  const std::string& text = x.failure.text;
  // Of what is refused before anybody looks whether an earlier attempt was applied.
  const std::string before =
      x.header.sequence && x.attempts > 1
          ? text + "; an attempt before that got no answer may have been applied"
          : text;
  const std::string gave_up = "; gave up after " + seconds(spent) + " and " +
                              std::to_string(x.attempts) + " attempts. Do this: ";
  switch (x.failure.code) {
    case Code::timeout:
      throw ServiceError(Reason::timeout, head + text + gave_up +
                                              "look into the logs of those workers, or wait longer "
                                              "(wait_deadline).");
    case Code::busy:
    case Code::silent:
      throw ServiceError(Reason::timeout,
                         head + text + gave_up +
                             "see whether the server runs and can be reached at this address" +
                             (options_.certificate_authority.empty()
                                  ? " (and whether it wants TLS)."
                                  : " (and whether it speaks TLS, with a certificate of this "
                                    "authority for this host)."));
    case Code::unauthenticated:
      throw ServiceError(Reason::unauthenticated,
                         head + before + ". Do this: give servers and workers the same token.");
    case Code::forbidden:
      throw ServiceError(Reason::forbidden,
                         head + before +
                             ". Do this: give this client the administrator's token "
                             "(admin_token, ARGOSY_JOB_ADMIN_TOKEN).");
    case Code::mismatch:
      throw ServiceError(Reason::mismatch,
                         head + before +
                             ". Do this: start servers and workers with the same program "
                             "and the same lists of endpoints; after servers were sharded "
                             "anew, start the workers again.");
    case Code::stale_epoch:
      throw ServiceError(Reason::stale_epoch,
                         head +
                             "the servers were sharded anew since this request was first made (" +
                             text + "). Do this: connect again (start the workers again).");
    case Code::unknown_client:
    case Code::too_old:
      throw ServiceError(Reason::unknown_outcome,
                         head + text +
                             "; it may have been applied or not, and is not sent again. "
                             "Do this: go on if one lost update does not matter, else load "
                             "the last save.");
    case Code::unsynced:
      throw ServiceError(Reason::unknown_outcome,
                         head + text + gave_up +
                             "make room on the server's disk, or look at its health; it keeps the "
                             "change and writes it as soon as it can.");
    case Code::bad_request:
      throw ServiceError(Reason::refused, sentence(head + text));
    default:
      throw ServiceError(Reason::failed, sentence(head + text));
  }
}

void Calls::meet_again(const char* what, Exchange* x) {
  Exchange h = hello(x->server);
  Exchange* list[] = {&h};
  transport_->run(list, options_.attempt_deadline);
  if (h.failure) {
    const Code code = h.failure.code;
    if (code == Code::busy || code == Code::silent) return;  // the next attempt says the same
    x->failure = h.failure;
    fail(what, *x, {});
  }
  Server& s = *servers_[x->server];
  {
    MutexLock lock(s.mutex);
    s.epoch = h.answer.epoch;
    s.incarnation = h.answer.incarnation;
  }
  if (x->attempts <= 1) {
    x->header.epoch = h.answer.epoch;
    x->header.incarnation = h.answer.incarnation;
    renumber(x);  // the server refuses numbers of before it met us again
    return;
  }
  if (h.answer.epoch != x->header.epoch) {
    x->failure = {Code::stale_epoch, "epoch " + std::to_string(x->header.epoch) + " became " +
                                         std::to_string(h.answer.epoch)};
    fail(what, *x, {});
  }
  // A server that started anew either knows of the request what its log or snapshot knows, or never
  // heard of the client: so it may be sent again. One that forgot the client while it was being
  // served may have applied it.
  if (h.answer.incarnation == x->header.incarnation) fail(what, *x, {});
}

bool Calls::renumber(Exchange* x) {
  if (!x->header.sequence || x->attempts > 1) return false;
  Sequence& sequence = servers_[x->server]->sequence;
  const uint64_t number = sequence.begin(Clock::now() + options_.attempt_deadline);
  if (!number) return false;
  sequence.finish(x->header.sequence);
  x->header.sequence = number;
  x->attempts = 0;
  return true;
}

// The attempts of one call: its exchanges that have no answer yet, and what servers said to them.
class Calls::Attempts {
 public:
  Attempts(Calls& calls, const char* what, std::span<Exchange> exchanges, milliseconds deadline)
      : calls_(calls), what_(what), end_(start_ + deadline), attempt_(own().attempt_deadline) {
    for (Exchange& x : exchanges) open_.push_back(&x);
  }

  void run() {
    for (bool first = true;; first = false) {
      if (forked()) fail_forked();
      const auto left = std::chrono::duration_cast<milliseconds>(end_ - Clock::now());
      if (!first) go_on(left);
      const milliseconds limit = limit_of(left);
      calls_.transport_->run(open_, std::max(std::min(limit, left), milliseconds(1)));
      take_answers();
      if (open_.empty()) return;
      listen();
      if (silent_) attempt_ = std::min(attempt_ * 2, 8 * own().attempt_deadline);
      if (busy_) pause();
    }
  }

 private:
  const ClientOptions& own() const { return calls_.options_; }
  [[noreturn]] void fail(const Exchange& x) const { calls_.fail(what_, x, Clock::now() - start_); }

  // Before another attempt: throws if there is no time for one.
  void go_on(milliseconds left) {
    if (own().between_attempts) own().between_attempts();
    // What the server told says more than silence; and in so little time it cannot answer again.
    const bool answers = told_ && told_->failure.code == Code::timeout;
    if (left < (answers ? milliseconds(300) : milliseconds(1))) {
      if (!told_ || told_->failure.code == Code::busy) fail(*open_.front());
      told_->failure.text = missing_;
      if (told_->failure.code != Code::unsynced) told_->failure.code = Code::timeout;
      fail(*told_);
    }
    calls_.retries_.fetch_add(open_.size(), std::memory_order_relaxed);
  }

  // Of one attempt. Tells servers how long they may let their callers wait for others: so that they
  // say who is missing before this side gives up.
  milliseconds limit_of(milliseconds left) {
    milliseconds limit = attempt_;
    for (Exchange* x : open_) {
      if (!waits(x->method)) continue;
      const milliseconds wait = std::min(kWaitSlice, std::max(left - milliseconds(200), left / 2));
      x->header.wait_ms = static_cast<uint32_t>(wait.count());
      limit = std::max(limit, wait + own().attempt_deadline);
    }
    return limit;
  }

  // Keeps those that are to be sent again; throws for one that must not be.
  void take_answers() {
    silent_ = busy_ = false;
    gone_ = nullptr;
    std::erase_if(open_, [&](Exchange* x) { return !is_open(x); });
  }

  bool is_open(Exchange* x) {
    switch (x->failure.code) {
      case Code::ok:
        if (told_ == x) told_ = nullptr;
        return false;
      case Code::timeout:
        hear(x);
        return true;
      case Code::unsynced:
        hear(x);
        busy_ = true;
        return true;
      case Code::silent:
        silent_ = true;
        if (waits(x->method)) gone_ = x;
        return true;
      case Code::busy:
        busy_ = true;
        if (waits(x->method)) gone_ = x;
        return true;
      case Code::unknown_client:
        calls_.meet_again(what_, x);
        return true;
      case Code::too_old:
        if (!calls_.renumber(x)) fail(*x);
        return true;
      default:
        fail(*x);
    }
  }

  void hear(Exchange* x) {
    told_ = x;
    missing_ = x->failure.text;
  }

  // Others may take long, but a server that does not answer is no better here than elsewhere.
  void listen() {
    if (!gone_)
      heard_ = Clock::now();
    else if (Clock::now() - heard_ >= own().call_deadline)
      fail(*gone_);
  }

  void pause() {
    const Clock::duration left = end_ - Clock::now();
    std::this_thread::sleep_for(std::min<Clock::duration>(calls_.jitter(backoff_), left));
    backoff_ = std::min(backoff_ * 2, milliseconds(1'000));
  }

  Calls& calls_;
  const char* const what_;
  const Clock::time_point start_ = Clock::now(), end_;
  std::vector<Exchange*> open_;
  milliseconds attempt_, backoff_{10};
  Exchange* told_ = nullptr;  // of open_: the server said who is missing, in these words
  std::string missing_;
  Clock::time_point heard_ = start_;  // when all that are open last got an answer
  // Of the last attempt: servers said nothing, or to come later; one of those that wait for others.
  bool silent_ = false, busy_ = false;
  Exchange* gone_ = nullptr;
};

void Calls::run(const char* what, std::span<Exchange> exchanges, milliseconds deadline) {
  Attempts(*this, what, exchanges, deadline).run();
}

void Calls::run_once(const char* what, std::span<Exchange> exchanges, milliseconds deadline) {
  const Clock::time_point end = Clock::now() + deadline;
  struct Release {
    Calls& calls;
    std::span<Exchange> exchanges;
    ~Release() {
      for (const Exchange& x : exchanges)
        if (x.header.sequence) calls.servers_[x.server]->sequence.finish(x.header.sequence);
    }
  } release{*this, exchanges};
  for (Exchange& x : exchanges) {
    x.header.sequence = servers_[x.server]->sequence.begin(end);
    if (x.header.sequence) continue;
    x.failure = {Code::silent, "too many requests wait for an answer"};
    fail(what, x, deadline);
  }
  run(what, exchanges, std::chrono::ceil<milliseconds>(end - Clock::now()));
}

void Calls::attempt(std::span<Exchange> exchanges, milliseconds limit) {
  std::vector<Exchange*> list;
  for (Exchange& x : exchanges) list.push_back(&x);
  transport_->run(list, limit);
}

bool Calls::try_stop(uint32_t server) {
  Exchange x = exchange(server, Method::stop);
  Exchange* list[] = {&x};
  for (int i = 0; i < 3; ++i) {
    transport_->run(list, std::min(options_.attempt_deadline, milliseconds(2'000)));
    if (!x.failure) return true;
    if (x.failure.code == Code::unknown_client) {
      meet_again("stop_servers", &x);
      continue;
    }
    if (x.failure.code != Code::busy && x.failure.code != Code::silent) fail("stop_servers", x, {});
    if (x.failure.code == Code::busy) std::this_thread::sleep_for(jitter(milliseconds(100)));
  }
  return false;
}

}  // namespace argosy::ps
