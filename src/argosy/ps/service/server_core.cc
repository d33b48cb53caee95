#include "argosy/ps/service/server_core.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/base/log.h"
#include "argosy/ps/service/row_share.h"

namespace argosy::ps {
namespace {

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

std::vector<std::string> roots_of(const ServerOptions& o) {
  return o.save_roots.empty() ? std::vector<std::string>{"."} : o.save_roots;
}

// Where a server keeps what is its own.
std::vector<std::string> state_of(const ServerOptions& o) {
  std::vector<std::string> all;
  if (o.durability != "none") all.push_back(o.directory);
  for (const TableConfig& t : o.tables)
    if (t.tier == "ssd") all.push_back(t.directory);
  return all;
}

// Of the tables with rows on disk, with commas between.
std::string names_on_disk(const std::vector<TableConfig>& tables) {
  std::string names;
  for (const TableConfig& t : tables)
    if (t.tier == "ssd") names += (names.empty() ? "" : ", ") + t.name;
  return names;
}

}  // namespace

Core::Core(const ServerOptions& options)
    : options_(options),
      roots_(roots_of(options), state_of(options)),
      incarnation_(random64()),
      windows_(options.client_expiry, options.max_clients),
      steps_(options.workers, 4 * options.max_message_bytes * std::max(1u, options.workers)),
      rounds_(options.workers),
      in_round_of_(options.workers),
      mailbox_(options.index, options.servers, options.workers, options.max_mailbox_bytes) {
  ARGOSY_CHECK(options.servers > 0 && options.index < options.servers, invalid_argument)
      << "[parameter_server] server index: expected one below the number of servers ("
      << options.servers << "), got " << options.index << '.';
  ARGOSY_CHECK(options.workers > 0, invalid_argument)
      << "[parameter_server] workers: expected at least 1, got 0.";
  end_log_of_other_settings(options);
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
    durability_->load(Directory::open(options.load_from), options.load_mode);
  else if (!options.load_from.empty())
    ARGOSY_LOG(warning) << "[parameter_server] server " << options.index
                        << " goes on with the tables in '" << own_directory(options)
                        << "', and does not load '" << options.load_from << "'.";
  tasks_ = std::make_unique<Tasks>(*durability_);
  const std::string on_disk = names_on_disk(options.tables);
  if (!on_disk.empty()) disk_calls_ = std::make_unique<DiskCalls>(options.thread_count(), on_disk);
  durability_->begin();
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

bool Core::waits_for_disk(const Request& request) const {
  if (!disk_calls_) return false;
  switch (request.method) {
    case Method::pull_sparse:
    case Method::push_sparse: {
      const Table* t = find(request.header.table);
      return t && t->config.tier == "ssd";
    }
    case Method::end_step:
    case Method::stats:
      return true;
    default:
      return false;
  }
}

// --- what is only read ---

Answer Core::read(const Request& request) {
  switch (request.method) {
    case Method::hello:
      return hello(request.header);
    case Method::pull_sparse:
      return pull_sparse(request);
    case Method::pull_dense:
      return pull_dense(request);
    default: {
      Answer answer;
      answer.text = stats();
      return answer;
    }
  }
}

void Core::handle(Request request, const Patience& patience, Done done) {
  const Clock::time_point until = patience.until();
  try {
    const Header& h = request.header;
    if (dying_) refuse(Code::busy, "the server ends after an error");
    switch (request.method) {
      case Method::hello:
      case Method::pull_sparse:
      case Method::pull_dense:
      case Method::stats: {
        if (!waits_for_disk(request)) return done(succeeded(read(request)));
        auto shared = std::make_shared<Request>(std::move(request));
        const auto refused = [done](Failure why) { done(failed(std::move(why))); };
        return disk_calls_->put(
            until,
            [this, shared, done] {
              Result result;
              try {
                result.answer = read(*shared);
              } catch (...) {
                result.failure = current_failure();
              }
              done(std::move(result));
            },
            refused);
      }
      case Method::push_sparse:
      case Method::push_dense:
        check_client(h);
        check_push(request);
        return claim(std::move(request), until, done);
      case Method::save:
        if (h.phase == SavePhase::keep) {
          check_client(h);
          durability_->keep_save(h.save);
          return done({});
        }
        [[fallthrough]];
      case Method::shrink:
      case Method::end_day:
      case Method::load:
        check_client(h);
        if (request.method == Method::shrink) sparse(h.table);
        return claim(std::move(request), until, done);
      case Method::end_step:
      case Method::gather: {
        check_client(h);
        const auto wait = std::chrono::milliseconds(std::min(h.wait_ms, 600'000u));
        const Patience let_go = patience.at_most(wait);
        const bool disk = waits_for_disk(request);
        auto shared = std::make_shared<Request>(std::move(request));
        return pass(
            disk, Passing::shared, until,
            [this, shared, let_go, done] {
              shared->method == Method::gather ? gather(*shared, let_go, done)
                                               : end_step(*shared, let_go, done);
            },
            [done](Failure why) { done(failed(std::move(why))); });
      }
      case Method::post:
      case Method::collect:
        check_client(h);
        return mail(std::move(request), patience, done);
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

void Core::pass(bool disk, Passing how, Clock::time_point until, Tasks::Work work,
                Tasks::Refuse refuse) {
  if (!disk) return tasks_->in_pass(how, std::move(work), std::move(refuse));
  const auto leave_and_refuse = [this, how, refuse](Failure why) {
    leave(how);
    refuse(std::move(why));
  };
  tasks_->in_pass(
      how,
      [this, until, work = std::move(work), leave_and_refuse] {
        disk_calls_->put(until, work, leave_and_refuse);
      },
      refuse);
}

void Core::leave(Passing how) {
  how == Passing::exclusive ? durability_->leave_exclusive() : durability_->leave();
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
    // What is parsed takes many times the room of its text.
    const size_t most = 4 * to_json(options_.tables).size() + (size_t{64} << 10);
    if (h.text.size() > most)
      refuse(Code::bad_request, "the client's tables: expected at most " + std::to_string(most) +
                                    " bytes of text, got " + std::to_string(h.text.size()));
    const std::string what = difference(options_.tables, h.text);
    if (!what.empty()) refuse(Code::mismatch, what);
  }
  const uint64_t expiry = std::chrono::milliseconds(options_.client_expiry).count();
  if (h.retry_ms >= expiry)
    refuse(
        Code::mismatch,
        "the client sends a request again for up to " + std::to_string(h.retry_ms / 1000) +
            " s (its call_deadline and table_deadline), but the server forgets who is silent for " +
            std::to_string(expiry / 1000) + " s (client_expiry), which must be longer");
  if (!windows_.hello(h.client(), h.sequence, h.incarnation == incarnation_))
    refuse(Code::busy,
           "the server knows " + std::to_string(options_.max_clients) +
               " clients (max_clients), and can take no more until some are silent for long");
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
  MutexLock lock(meet_);
  a.next_step = steps_.next(h.worker);
  a.step_open = steps_.ended(h.worker);
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
  RowShare share(&windows_, options_.max_client_rows, request.header.client(),
                 request.header.create ? &table : nullptr, keys);
  share.made(table.pull(keys, a.values.as<float>().data(), request.header.create));
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
  OrderedJson all = {{"index", options_.index},
                     {"job", options_.job},
                     {"epoch", epoch_},
                     {"pulls", pulls_.load()},
                     {"pushes", pushes_.load()},
                     {"repeated", repeated_.load()},
                     {"pulled_rows", pulled_rows_.load()},
                     {"pushed_rows", pushed_rows_.load()},
                     {"clients", windows_.clients()}};
  OrderedJson tables = OrderedJson::array();
  for (const Table& t : tables_) {
    OrderedJson one = {{"id", t.config.id}, {"name", t.config.name}, {"kind", t.config.kind}};
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
  all["tables"] = std::move(tables);
  all["durability"] = parse_json<OrderedJson>(durability_->stats());
  return json_text(all);
}

// --- what changes tables ---

void Core::check_client(const Header& h) const {
  if (!windows_.known(h.client()))
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

void Core::tick() {
  const Clock::time_point now = Clock::now();
  std::vector<Meeting::Go> late, more;
  {
    MutexLock lock(meet_);
    late = leaving_ ? in_step_.all() : in_step_.late(now);
    more = leaving_ ? in_round_.all() : in_round_.late(now);
  }
  for (const auto& go : late) go(false);
  for (const auto& go : more) go(false);
  if (disk_calls_) disk_calls_->tick(now);
  mailbox_.tick(now, leaving_);
  if (now - last_expiry_ <
      std::min<Clock::duration>(options_.client_expiry / 4, std::chrono::seconds(60)))
    return;
  last_expiry_ = now;
  windows_.expire();
}

bool Core::stop() {
  if (durability_) durability_->interrupt();
  if ((disk_calls_ && !disk_calls_->stop(options_.stop_limit)) ||
      (tasks_ && !tasks_->stop(options_.stop_limit))) {
    ARGOSY_LOG(error) << "[parameter_server] shrink, load, save, a pull or a push still runs "
                      << options_.stop_limit.count() / 1000
                      << " s after the server was told to end: it is left behind. Look at the "
                         "health of the disk.";
    return false;
  }
  std::vector<Meeting::Go> late, more;
  {
    MutexLock lock(meet_);
    late = in_step_.all();
    more = in_round_.all();
  }
  for (const auto& go : late) go(false);
  for (const auto& go : more) go(false);
  mailbox_.tick({}, true);
  return !durability_ || durability_->stop();
}

void Core::die(const Failure& why) {
  dying_ = true;
  const std::string text =
      "[parameter_server] The server ends at once, since a change that is in the log could not be "
      "made, or a load not be kept; started again, it does what the log says. The reason: " +
      why.text;
  ARGOSY_LOG(error) << text;
  if (on_fatal_) return on_fatal_(text);
  // Answers that are on their way get a moment.
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    std::_Exit(70);
  }).detach();
}

}  // namespace argosy::ps
