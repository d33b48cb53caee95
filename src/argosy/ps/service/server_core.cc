#include "argosy/ps/service/server_core.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <random>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

constexpr uint32_t kMaxApart = 16;

// Thrown by what checks a request.
struct Refusal {
  Failure failure;
};

[[noreturn]] void refuse(Code code, std::string text) {
  throw Refusal{{code, std::move(text)}};
}

Failure current_failure() {
  try {
    throw;
  } catch (const Refusal& r) {
    return r.failure;
  } catch (const Error& e) {
    return {e.kind() == ErrorKind::invalid_argument ? Code::bad_request : Code::failed, e.what()};
  } catch (const std::bad_alloc&) {
    return {Code::failed, "the server is out of memory"};
  } catch (const std::exception& e) {
    return {Code::failed, e.what()};
  }
}

Core::Result failed(Failure failure) {
  return {std::move(failure), {}};
}

uint64_t random64() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

Core::Result succeeded(Answer answer) {
  Core::Result result;
  result.answer = std::move(answer);
  return result;
}

}  // namespace

Core::Core(const ServerOptions& options)
    : options_(options),
      incarnation_(random64()),
      windows_(options.client_expiry),
      steps_(options.workers, 4 * options.max_message_bytes * std::max(1u, options.workers)),
      rounds_(options.workers),
      mailbox_(options.index, options.servers, options.workers, options.max_mailbox_bytes) {
  ARGOSY_CHECK(options.servers > 0 && options.index < options.servers, invalid_argument)
      << "[parameter_server] server index: expected one below the number of servers ("
      << options.servers << "), got " << options.index << '.';
  ARGOSY_CHECK(options.workers > 0, invalid_argument)
      << "[parameter_server] workers: expected at least 1, got 0.";
  for (const TableConfig& config : options.tables) {
    ARGOSY_CHECK(!find(config.id), invalid_argument)
        << "[parameter_server] two tables have the id " << config.id
        << ". Do this: give each its own.";
    Table t{config, nullptr, nullptr};
    if (config.kind == "sparse") {
      t.sparse = make_sparse_table(config);
    } else if (config.kind != "barrier") {
      const uint64_t size = config.kind == "global_step" ? 1 : config.size;
      const Part part = part_of(size, options.index, options.servers);
      t.dense = make_dense_table(config, part.last - part.first);
    }
    tables_.push_back(std::move(t));
  }
  durability_ = make_durability(*this);
  durability_->recover();
  if (!recovered_ && !options.load_from.empty())
    durability_->load(options.load_from, options.load_mode);
  waiting_thread_ = std::thread([this] { run_waiting(); });
}

Core::~Core() {
  stop();
}

Core::Table* Core::find(uint32_t id) const {
  for (const Table& t : tables_)
    if (t.config.id == id) return const_cast<Table*>(&t);
  return nullptr;
}

Core::Table& Core::sparse(uint32_t id) const {
  Table* t = find(id);
  if (!t || !t->sparse) refuse(Code::bad_request, "there is no sparse table " + std::to_string(id));
  return *t;
}

Core::Table& Core::dense(uint32_t id) const {
  Table* t = find(id);
  if (!t || !t->dense) refuse(Code::bad_request, "there is no dense table " + std::to_string(id));
  return *t;
}

std::vector<SparseTable*> Core::sparse_tables() {
  std::vector<SparseTable*> list;
  for (const Table& t : tables_)
    if (t.sparse) list.push_back(t.sparse.get());
  return list;
}

std::vector<DenseTable*> Core::dense_tables() {
  std::vector<DenseTable*> list;
  for (const Table& t : tables_)
    if (t.dense) list.push_back(t.dense.get());
  return list;
}

// --- what is only read ---

void Core::handle(Request request, Clock::time_point until, Done done) {
  try {
    const Header& h = request.header;
    switch (request.method) {
      case Method::hello:
        return done(succeeded(hello(h)));
      case Method::pull_sparse:
        return done(succeeded(pull_sparse(request)));
      case Method::pull_dense:
        return done(succeeded(pull_dense(request)));
      case Method::push_sparse:
      case Method::push_dense:
        check_client(h);
        check_push(request);
        return claim(std::move(request), done, &Core::apply_push);
      case Method::shrink:
      case Method::end_day:
      case Method::load:
      case Method::save:
        check_client(h);
        if (request.method == Method::shrink) sparse(h.table);
        return claim(std::move(request), done, &Core::apply_whole);
      case Method::end_step:
      case Method::gather: {
        check_client(h);
        const auto wait = std::chrono::milliseconds(std::min(h.wait_ms, 600'000u));
        until = std::min(until, Clock::now() + wait);
        const auto work = request.method == Method::gather ? &Core::gather : &Core::end_step;
        auto shared = std::make_shared<Request>(std::move(request));
        return in_pass(
            [this, shared, until, done, work] { (this->*work)(std::move(*shared), until, done); });
      }
      case Method::stats: {
        Answer answer;
        answer.text = stats();
        return done(succeeded(std::move(answer)));
      }
      case Method::post:
      case Method::collect:
        check_client(h);
        return mail(std::move(request), until, done);
      case Method::stop:
        check_client(h);
        done({});
        if (on_stop_) on_stop_();
        return;
    }
    refuse(Code::bad_request, "unknown method");
  } catch (...) {
    done(failed(current_failure()));
  }
}

Answer Core::hello(const Header& h) {
  const auto expect = [](const char* what, uint64_t server, uint64_t client) {
    if (server != client)
      refuse(Code::mismatch, std::string(what) + ": the server has " + std::to_string(server) +
                                 ", the client says " + std::to_string(client));
  };
  expect("number of servers", options_.servers, h.servers);
  expect("server index at this address", options_.index, h.server);
  expect("number of workers", options_.workers, h.workers);
  if (h.worker >= options_.workers)
    refuse(Code::mismatch, "worker " + std::to_string(h.worker) + " of " +
                               std::to_string(options_.workers) + " does not exist");
  if (!h.text.empty()) {
    const std::string what = difference(options_.tables, h.text);
    if (!what.empty()) refuse(Code::mismatch, what);
  }
  if (!windows_.hello(h.client))
    refuse(Code::busy, "the server knows " + std::to_string(Windows::kMaxClients) +
                           " clients, and can take no more until some are silent for long");
  Answer a;
  a.epoch = epoch_;
  a.incarnation = incarnation_;
  a.text = to_json(options_.tables);
  for (const Table& t : tables_) {
    TableShape shape;
    shape.id = t.config.id;
    shape.dense = t.dense != nullptr;
    if (t.sparse) {
      shape.pull_width = static_cast<uint32_t>(t.sparse->pull_width());
      shape.push_width = static_cast<uint32_t>(t.sparse->push_width());
    }
    if (t.dense) shape.size = t.dense->size();
    a.tables.push_back(shape);
  }
  std::lock_guard lock(meet_);
  a.next_step = steps_.next();
  a.next_round = rounds_.next(h.worker);
  return a;
}

Answer Core::pull_sparse(const Request& request) {
  SparseTable& table = *sparse(request.header.table).sparse;
  if (request.keys.size() % sizeof(Key) || request.values.size())
    refuse(Code::bad_request, "keys: expected a multiple of 8 bytes and no values, got " +
                                  std::to_string(request.keys.size()) + " and " +
                                  std::to_string(request.values.size()));
  const std::span<const Key> keys = request.keys.as<Key>();
  const size_t row = table.pull_width() * sizeof(float);
  if (keys.size() > options_.max_message_bytes / row)
    refuse(Code::bad_request, "the answer to " + std::to_string(keys.size()) + " keys of " +
                                  std::to_string(row) + " bytes is above the limit of " +
                                  std::to_string(options_.max_message_bytes) + " bytes");
  Answer a;
  a.values = Bytes(keys.size() * row);
  table.pull(keys, a.values.as<float>().data(), request.header.create);
  pulls_.fetch_add(1, std::memory_order_relaxed);
  pulled_rows_.fetch_add(keys.size(), std::memory_order_relaxed);
  return a;
}

Answer Core::pull_dense(const Request& request) {
  const DenseTable& table = *dense(request.header.table).dense;
  Answer a;
  a.values = Bytes(table.size() * sizeof(float));
  table.pull(a.values.as<float>().data());
  pulls_.fetch_add(1, std::memory_order_relaxed);
  return a;
}

std::string Core::stats() {
  using json = nlohmann::ordered_json;
  json j = {{"index", options_.index},
            {"epoch", epoch_},
            {"pulls", pulls_.load()},
            {"pushes", pushes_.load()},
            {"repeated", repeated_.load()},
            {"pulled_rows", pulled_rows_.load()},
            {"pushed_rows", pushed_rows_.load()},
            {"clients", windows_.clients()}};
  json tables = json::array();
  for (const Table& t : tables_) {
    json one = {{"id", t.config.id}, {"name", t.config.name}, {"kind", t.config.kind}};
    if (t.sparse) {
      const TableStats s = t.sparse->stats();
      one["rows"] = s.rows;
      one["memory_bytes"] = s.memory_bytes;
      one["disk_rows"] = s.disk_rows;
      one["disk_reads"] = s.disk_reads;
      one["rejected"] = s.rejected;
    } else if (t.dense) {
      one["size"] = t.dense->size();
      one["rejected"] = t.dense->rejected();
    }
    tables.push_back(std::move(one));
  }
  j["tables"] = std::move(tables);
  j["durability"] = json::parse(durability_->stats(), nullptr, false);
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
}

// --- what changes tables ---

void Core::check_client(const Header& h) const {
  if (!windows_.known(h.client))
    refuse(Code::unknown_client, "the server does not know this client");
  if (h.epoch != epoch_)
    refuse(Code::stale_epoch, "the client is of epoch " + std::to_string(h.epoch) +
                                  ", the servers are in epoch " + std::to_string(epoch_));
}

void Core::check_push(const Request& request) const {
  const Header& h = request.header;
  const auto expect_bytes = [](uint64_t expected, uint64_t got) {
    if (expected != got)
      refuse(Code::bad_request,
             "values: expected " + std::to_string(expected) + " bytes, got " + std::to_string(got));
  };
  if (std::isnan(h.learning_rate) || std::isinf(h.learning_rate))
    refuse(Code::bad_request, "the learning rate is not finite");
  if (request.method == Method::push_sparse) {
    const SparseTable& table = *sparse(h.table).sparse;
    if (request.keys.size() % sizeof(Key))
      refuse(Code::bad_request,
             "keys: expected a multiple of 8 bytes, got " + std::to_string(request.keys.size()));
    const size_t width = h.change == Change::assign ? table.pull_width() : table.push_width();
    // No overflow: keys are bytes that arrived.
    expect_bytes(request.keys.size() / sizeof(Key) * width * sizeof(float), request.values.size());
  } else {
    const DenseTable& table = *dense(h.table).dense;
    expect_bytes(0, request.keys.size());
    expect_bytes(table.size() * sizeof(float), request.values.size());
  }
  if (h.change == Change::assign)
    for (const float v : request.values.as<float>())
      if (!std::isfinite(v)) refuse(Code::bad_request, "a value to be assigned is not finite");
}

void Core::claim(Request request, const Done& done, void (Core::*work)(Request, const Done&)) {
  const Header& h = request.header;
  const auto waiter = [this, done](const Windows::Outcome& o) {
    if (o.failure) return done(failed(o.failure));
    Answer answer;
    answer.number = o.number;
    answer_when_durable(o, std::move(answer), done);
  };
  Windows::Outcome outcome;
  switch (windows_.claim(h.client, h.sequence, &outcome, waiter)) {
    case Windows::Claim::unknown_client:
      refuse(Code::unknown_client, "the server does not know this client");
    case Windows::Claim::too_old:
      refuse(Code::too_old, "request " + std::to_string(h.sequence) +
                                " of this client is too old to know whether it was applied");
    case Windows::Claim::applied:
      repeated_.fetch_add(1, std::memory_order_relaxed);
      return waiter(outcome);
    case Windows::Claim::waiting:
      repeated_.fetch_add(1, std::memory_order_relaxed);
      return;
    case Windows::Claim::fresh:
      break;
  }
  // From here on the claim is given back by `work`.
  const bool whole = work == &Core::apply_whole;
  const ClientId client = h.client;
  const uint64_t sequence = h.sequence;
  auto shared = std::make_shared<Request>(std::move(request));
  auto run = [this, shared, done, work] { (this->*work)(std::move(*shared), done); };
  if (!whole) return in_pass(std::move(run));
  if (!apart(std::move(run))) {
    const Failure busy{Code::busy, "the server has too many long tasks at once"};
    for (const auto& w : windows_.abandoned(client, sequence)) w({busy, 0, 0});
    done(failed(busy));
  }
}

void Core::finish(const Header& h, std::vector<Windows::Waiter> waiters, Windows::Outcome outcome,
                  const Done& done) {
  if (outcome.failure) waiters = windows_.abandoned(h.client, h.sequence);
  for (const auto& w : waiters) w(outcome);
  if (outcome.failure) return done(failed(outcome.failure));
  Answer answer;
  answer.number = outcome.number;
  answer_when_durable(outcome, std::move(answer), done);
}

void Core::answer_when_durable(const Windows::Outcome& outcome, Answer answer, Done done) {
  if (!outcome.position) return done(succeeded(std::move(answer)));
  auto shared = std::make_shared<Answer>(std::move(answer));
  durability_->when_durable(outcome.position, [shared, done](const std::string& why) {
    if (why.empty())
      done(succeeded(std::move(*shared)));
    else
      done(failed({Code::failed, "applied, but not on disk: " + why}));
  });
}

void Core::apply_push(Request request, const Done& done) {
  const Header& h = request.header;
  Windows::Outcome outcome;
  std::vector<Windows::Waiter> waiters;
  try {
    if (h.change == Change::step) {
      std::lock_guard lock(meet_);
      Failure why = steps_.check(h.worker, h.step, request.keys.size() + request.values.size());
      if (why) throw Refusal{std::move(why)};
      outcome.position = append(request);
      steps_.gather(h, std::move(request.keys), std::move(request.values));
    } else {
      outcome.position = append(request);
      const std::span<const Key> keys = request.keys.as<Key>();
      const float* values = request.values.as<float>().data();
      const bool add = h.change == Change::add;
      if (request.method == Method::push_sparse) {
        SparseTable& table = *sparse(h.table).sparse;
        add ? table.push(keys, values, {h.learning_rate}) : table.assign(keys, values);
      } else {
        DenseTable& table = *dense(h.table).dense;
        add ? table.push(values, {h.learning_rate}) : table.assign(values);
      }
      pushed_rows_.fetch_add(keys.size(), std::memory_order_relaxed);
    }
    pushes_.fetch_add(1, std::memory_order_relaxed);
    waiters = windows_.applied(h.client, h.sequence, outcome.position);
  } catch (...) {
    outcome.failure = current_failure();
  }
  durability_->leave();
  finish(h, std::move(waiters), outcome, done);
}

void Core::apply_whole(Request request, const Done& done) {
  const Header& h = request.header;
  Windows::Outcome outcome;
  std::vector<Windows::Waiter> waiters;
  try {
    switch (request.method) {
      case Method::save:
        outcome.number = save(h);
        waiters = windows_.applied(h.client, h.sequence, 0, outcome.number);
        break;
      case Method::load:
        outcome.number = durability_->load(h.name, h.mode, h.only - 1);
        waiters = windows_.applied(h.client, h.sequence, 0, outcome.number);
        break;
      default: {
        Pass pass(*durability_, true);
        outcome.position = append(request);
        if (request.method == Method::shrink)
          outcome.number = sparse(h.table).sparse->shrink();
        else
          for (SparseTable* t : sparse_tables()) t->end_day();
        waiters = windows_.applied(h.client, h.sequence, outcome.position, outcome.number);
      }
    }
  } catch (...) {
    outcome.failure = current_failure();
  }
  finish(h, std::move(waiters), outcome, done);
}

uint64_t Core::save(const Header& h) {
  if (h.name.empty() && h.phase <= SavePhase::prepare)
    refuse(Code::bad_request, "save: expected the name of a directory, got none");
  const Extent extent{h.only - 1, h.mode == 4 ? h.learning_rate : 1};
  switch (h.phase) {
    case SavePhase::whole:
      return durability_->save(h.name, h.mode, h.text, extent);
    case SavePhase::reserve:
      durability_->reserve_save(h.text);
      return 0;
    case SavePhase::prepare:
      durability_->prepare_save(h.name, h.mode, h.text, extent);
      return 0;
    case SavePhase::pause:
      durability_->pause(h.text, std::chrono::milliseconds(std::clamp(h.wait_ms, 1u, 60'000u)));
      return 0;
    case SavePhase::finish:
      return durability_->finish_save(h.text);
    case SavePhase::publish:
      durability_->publish_save(h.text);
      return 0;
    case SavePhase::cancel:
      durability_->cancel_save(h.text);
      return 0;
  }
  return 0;
}

// --- meetings of workers ---

void Core::end_step(Request request, Clock::time_point until, const Done& done) {
  const Header& h = request.header;
  const auto go = [this, done, step = h.step](bool came) {
    Windows::Outcome outcome;
    std::unique_lock lock(meet_);
    if (!came) {
      Failure late{
          leaving_ ? Code::busy : Code::timeout,
          "worker(s) " + steps_.missing() + " have not ended step " + std::to_string(step)};
      lock.unlock();
      return done(failed(std::move(late)));
    }
    outcome.position = met_position_;
    lock.unlock();
    answer_when_durable(outcome, {}, done);
  };
  std::vector<Meeting::Go> ready;
  Failure why;
  try {
    std::lock_guard lock(meet_);
    if (steps_.done(h.step)) {
      ready.push_back(go);
    } else if (!(why = steps_.check(h.worker, h.step, 0))) {
      bool last = false;
      if (!steps_.ended(h.worker)) {
        met_position_ = append(request);
        last = steps_.end(h.worker, h.step);
        if (last) apply_step(nullptr, 0);
      }
      if (last) {
        ready = in_step_.all();
        ready.push_back(go);
      } else {
        in_step_.wait(until, go);
      }
    }
  } catch (...) {
    why = current_failure();
  }
  durability_->leave();
  if (why) return done(failed(std::move(why)));
  for (const auto& r : ready) r(true);
}

void Core::apply_step(const Cut* cut, uint64_t position) {
  const auto config = [this](uint32_t id) -> const TableConfig* {
    const Table* t = find(id);
    return t ? &t->config : nullptr;
  };
  steps_.apply(config,
               [&](uint32_t id, std::span<const Key> keys, std::span<float> values, float rate) {
                 Table& t = *find(id);
                 if (t.dense) {
                   if (!cut || cut->position(id, 0) < position)
                     t.dense->push(values.data(), {rate});
                   return;
                 }
                 if (!cut) return t.sparse->push(keys, values.data(), {rate});
                 const size_t width = t.sparse->push_width();
                 for (size_t i = 0; i < keys.size(); ++i)
                   if (cut->position(id, shard_of(keys[i])) < position)
                     t.sparse->push(keys.subspan(i, 1), values.data() + i * width, {rate});
               });
}

void Core::gather(Request request, Clock::time_point until, const Done& done) {
  const Header& h = request.header;
  const auto go = [this, done, round = h.round, name = h.name](bool came) {
    Windows::Outcome outcome;
    Answer answer;
    std::unique_lock lock(meet_);
    if (!came || !rounds_.complete(round)) {
      Failure late{leaving_ ? Code::busy : Code::timeout,
                   "worker(s) " + rounds_.missing(round) + " did not come to '" + name + "'"};
      lock.unlock();
      return done(failed(std::move(late)));
    }
    outcome.position = met_position_;
    answer.parts = rounds_.parts(round);
    lock.unlock();
    answer_when_durable(outcome, std::move(answer), done);
  };
  std::vector<Meeting::Go> ready;
  Failure why;
  try {
    std::lock_guard lock(meet_);
    if (!(why = rounds_.check(h.worker, h.round))) {
      if (rounds_.complete(h.round)) {
        ready.push_back(go);
      } else {
        met_position_ = append(request);
        const std::span<const char> text = request.values.as<const char>();
        if (rounds_.join(h.worker, h.round, h.name, {text.data(), text.size()})) {
          ready = in_round_.all();
          ready.push_back(go);
        } else {
          in_round_.wait(until, go);
        }
      }
    }
  } catch (...) {
    why = current_failure();
  }
  durability_->leave();
  if (why) return done(failed(std::move(why)));
  for (const auto& r : ready) r(true);
}

void Core::tick() {
  const Clock::time_point now = Clock::now();
  std::vector<Meeting::Go> late, more;
  {
    std::lock_guard lock(meet_);
    late = leaving_ ? in_step_.all() : in_step_.late(now);
    more = leaving_ ? in_round_.all() : in_round_.late(now);
  }
  for (const auto& go : late) go(false);
  for (const auto& go : more) go(false);
  mailbox_.tick(now, leaving_);
  if (now - last_expiry_ <
      std::min<Clock::duration>(options_.client_expiry / 4, std::chrono::seconds(60)))
    return;
  last_expiry_ = now;
  windows_.expire();
}

// --- threads ---

void Core::in_pass(std::function<void()> work) {
  if (durability_->try_enter()) return work();
  {
    std::lock_guard lock(waiting_mutex_);
    waiting_.push_back(std::move(work));
  }
  waiting_ready_.notify_one();
}

void Core::run_waiting() {
  std::unique_lock lock(waiting_mutex_);
  while (true) {
    waiting_ready_.wait(lock, [&] { return stopped_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    auto work = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    durability_->enter();
    work();
    work = nullptr;
    lock.lock();
  }
}

bool Core::apart(std::function<void()> work) {
  {
    std::lock_guard lock(waiting_mutex_);
    if (stopped_ || apart_ >= kMaxApart) return false;
    ++apart_;
  }
  std::thread([this, work = std::move(work)]() mutable {
    work();
    work = nullptr;
    std::lock_guard lock(waiting_mutex_);
    --apart_;
    waiting_ready_.notify_all();  // stop waits for it
  }).detach();
  return true;
}

void Core::stop() {
  {
    std::unique_lock lock(waiting_mutex_);
    if (!stopped_) {
      stopped_ = true;
      waiting_ready_.notify_all();
    }
    waiting_ready_.wait(lock, [&] { return apart_ == 0; });
  }
  if (waiting_thread_.joinable()) waiting_thread_.join();
  std::vector<Meeting::Go> late, more;
  {
    std::lock_guard lock(meet_);
    late = in_step_.all();
    more = in_round_.all();
  }
  for (const auto& go : late) go(false);
  for (const auto& go : more) go(false);
  mailbox_.tick({}, true);
  if (durability_) durability_->stop();
}

}  // namespace argosy::ps
