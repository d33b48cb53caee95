#include "argosy/ps/service/client.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/client_calls.h"
#include "argosy/ps/service/client_exchange.h"
#include "argosy/ps/service/client_save.h"
#include "argosy/ps/service/wire.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;
using Reason = ServiceError::Reason;

// Exchanges on their way at once, for one call.
constexpr size_t kWave = 32;

class GrpcClient final : public Client {
 public:
  explicit GrpcClient(const ClientOptions& options) : options_(options), calls_(options) {
    calls_.connect();
    round_ = calls_.next_round();
  }

  void pull_sparse(uint32_t table, std::span<const Key> keys, float* out, bool create) override {
    const SparsePull request{table, keys, out};
    pull({&request, 1}, create);
  }

  void pull(std::span<const SparsePull> requests, bool create) override {
    struct Place {
      const SparsePull* request;
      size_t width;
      Chunk chunk;
    };
    std::vector<Place> places;
    for (const SparsePull& r : requests) {
      const size_t width = pull_width(r.table);
      for (Chunk& chunk : cut(r.keys, width)) places.push_back({&r, width, std::move(chunk)});
    }
    in_waves(places.size(), [&](size_t first, size_t last) {
      std::vector<Exchange> exchanges;
      for (size_t i = first; i < last; ++i) {
        const Place& p = places[i];
        Exchange x = calls_.exchange(p.chunk.server, Method::pull_sparse);
        x.header.table = p.request->table;
        x.header.create = create;
        x.keys = keys_of(p.chunk, p.request->keys);
        x.take = [&p](std::span<const Piece> pieces) {
          return scatter(pieces, p.chunk, p.width, p.request->out);
        };
        exchanges.push_back(std::move(x));
      }
      calls_.run("pull_sparse", exchanges, options_.call_deadline);
    });
  }

  void push(std::span<const SparsePush> sparse, std::span<const DensePush> dense) override {
    push_all("push", {}, sparse, dense);
  }

  void push_step(uint64_t step, std::span<const SparsePush> sparse,
                 std::span<const DensePush> dense) override {
    Header h;
    h.change = Change::step;
    h.step = step;
    settle(step);
    push_all("push_step", h, sparse, dense);
  }

  void push_sparse(uint32_t table, std::span<const Key> keys, const float* values,
                   float learning_rate) override {
    const SparsePush request{table, keys, values, learning_rate};
    push_all("push_sparse", {}, {&request, 1}, {});
  }

  void assign_sparse(uint32_t table, std::span<const Key> keys, const float* values) override {
    Header h;
    h.change = Change::assign;
    const SparsePush request{table, keys, values, h.learning_rate};
    push_all("assign_sparse", h, {&request, 1}, {});
  }

  void push_sparse_step(uint32_t table, uint64_t step, std::span<const Key> keys,
                        const float* values, float learning_rate) override {
    Header h;
    h.change = Change::step;
    h.step = step;
    settle(step);
    const SparsePush request{table, keys, values, learning_rate};
    push_all("push_sparse_step", h, {&request, 1}, {});
  }

  void pull_dense(uint32_t table, std::span<float> out) override {
    std::vector<Exchange> exchanges;
    each_part("pull_dense", table, out.size(), [&](uint32_t server, Part part) {
      Exchange x = calls_.exchange(server, Method::pull_dense);
      x.header.table = table;
      x.take = [out, part](std::span<const Piece> pieces) {
        Cursor in(pieces);
        const size_t bytes = (part.last - part.first) * sizeof(float);
        return in.left() == bytes && in.read(out.data() + part.first, bytes);
      };
      exchanges.push_back(std::move(x));
    });
    calls_.run("pull_dense", exchanges, options_.call_deadline);
  }

  void push_dense(uint32_t table, std::span<const float> values, float learning_rate) override {
    const DensePush request{table, values, learning_rate};
    push_all("push_dense", {}, {}, {&request, 1});
  }

  void assign_dense(uint32_t table, std::span<const float> values) override {
    Header h;
    h.change = Change::assign;
    const DensePush request{table, values, h.learning_rate};
    push_all("assign_dense", h, {}, {&request, 1});
  }

  void push_dense_step(uint32_t table, uint64_t step, std::span<const float> values,
                       float learning_rate) override {
    Header h;
    h.change = Change::step;
    h.step = step;
    settle(step);
    const DensePush request{table, values, learning_rate};
    push_all("push_dense_step", h, {}, {&request, 1});
  }

  void end_step(uint64_t step) override {
    settle(step);
    end_step_now(step);
  }

  void end_step_now(uint64_t step) {
    std::vector<Exchange> exchanges;
    for (uint32_t s = 0; s < calls_.servers(); ++s) {
      exchanges.push_back(calls_.exchange(s, Method::end_step));
      exchanges.back().header.step = step;
    }
    calls_.run("end_step", exchanges, options_.wait_deadline);
  }

  uint64_t next_step() const override { return calls_.next_step(); }

  // --- among workers ---

  void barrier(const std::string& name, bool last) override {
    gather("barrier", last ? Gather::last : Gather::barrier, name, {});
  }

  std::vector<std::string> all_gather(const std::string& mine) override {
    return gather("all_gather", Gather::parts, "all_gather", mine);
  }

  std::vector<std::string> exchange(const std::vector<std::string>& parts) override {
    ARGOSY_CHECK(parts.size() == options_.workers, invalid_argument)
        << "[parameter_server] exchange: expected a part for each of " << options_.workers
        << " workers, got " << parts.size() << '.';
    uint64_t round;
    gather("exchange", Gather::parts, "exchange", {}, &round);
    std::vector<std::string> mine = exchange_parts(&calls_, options_, round, parts);
    gather("exchange", Gather::barrier, "exchange: all have their parts", {});
    return mine;
  }

  void all_reduce(std::span<double> values, const std::string& operation) override {
    const bool sum = operation == "sum", min = operation == "min";
    ARGOSY_CHECK(sum || min || operation == "max", invalid_argument)
        << "[parameter_server] all_reduce: expected operation sum, min or max, got '" << operation
        << "'.";
    const auto parts = gather("all_reduce", Gather::parts, "all_reduce",
                              {reinterpret_cast<const char*>(values.data()), values.size_bytes()});
    // In the order of workers, so that all get the same bits.
    std::vector<double> result(values.size(), sum   ? 0
                                              : min ? std::numeric_limits<double>::infinity()
                                                    : -std::numeric_limits<double>::infinity());
    for (size_t w = 0; w < parts.size(); ++w) {
      if (parts[w].size() != values.size_bytes())
        throw ServiceError(Reason::refused,
                           "[parameter_server] all_reduce: worker " + std::to_string(w) +
                               " brings " + std::to_string(parts[w].size() / sizeof(double)) +
                               " numbers, this worker " + std::to_string(values.size()) +
                               ". Do this: make the same calls in the same order on all workers.");
      for (size_t i = 0; i < values.size(); ++i) {
        double v;
        std::memcpy(&v, parts[w].data() + i * sizeof(double), sizeof(double));
        result[i] = sum ? result[i] + v : min ? std::min(result[i], v) : std::max(result[i], v);
      }
    }
    std::copy(result.begin(), result.end(), values.begin());
  }

  // --- whole tables ---

  uint64_t save(const std::string& directory, int mode, const Extent& extent) override {
    ARGOSY_CHECK(mode >= 0 && mode <= 4, invalid_argument)
        << "[parameter_server] save: expected mode 0 (all), 1 (delta), 2 (base), 3 (all after a "
           "shrink) or 4 (the rows shown most), got "
        << mode << '.';
    if (mode == 3) {
      for (const TableConfig& t : calls_.tables()) {
        const bool meant = extent.table == kAllTables || extent.table == t.id;
        if (t.kind == "sparse" && meant) shrink(t.id);
      }
      mode = 0;
    }
    uint64_t number = 0;  // of the save, made by server 0
    const auto phase_on = [&](uint32_t first, uint32_t last, SavePhase p) {
      return on_some(first, last, "save", Method::save, [&](Header& h) {
        h.name = directory;
        h.mode = mode;
        h.only = extent.table + 1;
        h.share = extent.share;
        h.save = number;
        h.phase = p;
        h.wait_ms = 20'000;
      });
    };
    const uint32_t servers = calls_.servers();
    const auto phase = [&](SavePhase p) { return phase_on(0, servers, p); };
    if (servers == 1) return phase(SavePhase::whole);
    try {
      // Server 0 has its turn from the begin to the end, for saves of other workers at the same
      // time.
      number = phase_on(0, 1, SavePhase::reserve);
      const KeptSave kept(&calls_, number);
      phase(SavePhase::prepare);
      phase(SavePhase::pause);
      const uint64_t rows = phase(SavePhase::finish);
      phase_on(1, servers, SavePhase::publish);
      phase_on(0, 1, SavePhase::publish);
      return rows;
    } catch (...) {
      try {
        phase(SavePhase::cancel);
      } catch (const Error&) {  // servers give it up by themselves
      }
      throw;
    }
  }

  uint64_t load(const std::string& directory, int mode, uint32_t table) override {
    return on_all("load", Method::load, [&](Header& h) {
      h.name = directory;
      h.only = table + 1;
      h.mode = mode;
    });
  }

  uint64_t shrink(uint32_t table) override {
    pull_width(table);
    return on_all("shrink", Method::shrink, [&](Header& h) { h.table = table; });
  }

  void end_day() override {
    on_all("end_day", Method::end_day, [](Header&) {});
  }

  std::string stats() override {
    std::vector<Exchange> exchanges;
    for (uint32_t s = 0; s < calls_.servers(); ++s)
      exchanges.push_back(calls_.exchange(s, Method::stats));
    calls_.run("stats", exchanges, options_.call_deadline);
    std::string text;
    for (const Exchange& x : exchanges) text += (text.empty() ? "[" : ", ") + x.answer.text;
    return text + "]";
  }

  void stop_servers() override {
    for (uint32_t s = 0; s < calls_.servers(); ++s) calls_.try_stop(s);
  }

  const std::vector<TableConfig>& tables() const override { return calls_.tables(); }

  size_t pull_width(uint32_t table) const override { return sparse(table).pull_width; }
  size_t push_width(uint32_t table) const override { return sparse(table).push_width; }

  uint64_t bytes_sent() const override { return calls_.transport().bytes_sent(); }
  uint64_t bytes_received() const override { return calls_.transport().bytes_received(); }
  uint64_t retries() const override { return calls_.retries(); }

 private:
  // Keys of one request.
  struct Chunk {
    uint32_t server = 0;
    size_t first = 0, count = 0;      // with one server: a run of the keys
    std::vector<uint32_t> positions;  // with several: which of the keys
    size_t at(size_t i) const { return positions.empty() ? first + i : positions[i]; }
  };

  const TableShape& sparse(uint32_t table) const {
    const TableShape& shape = calls_.shape(0, table);
    if (!shape.pull_width)
      throw ServiceError(Reason::refused,
                         "[parameter_server] table " + std::to_string(table) + " is not sparse.");
    return shape;
  }

  std::vector<Chunk> cut(std::span<const Key> keys, size_t width) const {
    const size_t most =
        std::max<size_t>(1, options_.chunk_bytes / (sizeof(Key) + width * sizeof(float)));
    ARGOSY_CHECK(keys.size() <= UINT32_MAX, invalid_argument)
        << "[parameter_server] keys: expected less than 2^32, got " << keys.size() << '.';
    std::vector<Chunk> chunks;
    const uint32_t servers = calls_.servers();
    if (servers == 1) {
      for (size_t i = 0; i < keys.size(); i += most)
        chunks.push_back({0, i, std::min(most, keys.size() - i), {}});
      return chunks;
    }
    // The open chunk of each server.
    std::vector<Chunk> open(servers);
    for (uint32_t s = 0; s < servers; ++s) {
      open[s].server = s;
      open[s].positions.reserve(std::min(most, keys.size() / servers + keys.size() / 16 + 16));
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      Chunk& chunk = open[server_of(keys[i], servers)];
      chunk.positions.push_back(static_cast<uint32_t>(i));
      if (chunk.positions.size() < most) continue;
      chunk.count = most;
      Chunk next;
      next.server = chunk.server;
      chunks.push_back(std::exchange(chunk, std::move(next)));
    }
    for (Chunk& chunk : open) {
      chunk.count = chunk.positions.size();
      if (chunk.count) chunks.push_back(std::move(chunk));
    }
    return chunks;
  }

  // f(first, last) for so many of `count` as go out together.
  template <class F>
  static void in_waves(size_t count, F&& f) {
    for (size_t i = 0; i < count; i += kWave) f(i, std::min(i + kWave, count));
  }

  static std::shared_ptr<const Bytes> keys_of(const Chunk& chunk, std::span<const Key> keys) {
    auto bytes = std::make_shared<Bytes>(chunk.count * sizeof(Key));
    const std::span<Key> out = bytes->as<Key>();
    if (chunk.positions.empty())
      std::copy_n(keys.begin() + static_cast<ptrdiff_t>(chunk.first), chunk.count, out.begin());
    else
      for (size_t i = 0; i < chunk.count; ++i) out[i] = keys[chunk.positions[i]];
    return bytes;
  }

  static std::shared_ptr<const Bytes> values_of(const Chunk& chunk, const float* values,
                                                size_t width) {
    const size_t row = width * sizeof(float);
    auto bytes = std::make_shared<Bytes>(chunk.count * row);
    if (chunk.positions.empty())
      std::memcpy(bytes->data(), values + chunk.first * width, chunk.count * row);
    else
      for (size_t i = 0; i < chunk.count; ++i)
        std::memcpy(bytes->data() + i * row, values + chunk.positions[i] * width, row);
    return bytes;
  }

  static bool scatter(std::span<const Piece> pieces, const Chunk& chunk, size_t width, float* out) {
    Cursor in(pieces);
    const size_t row = width * sizeof(float);
    if (in.left() != chunk.count * row) return false;
    if (chunk.positions.empty()) return in.read(out + chunk.first * width, chunk.count * row);
    for (size_t i = 0; i < chunk.count; ++i) in.read(out + chunk.positions[i] * width, row);
    return true;
  }

  // A request of a push: makes the exchange when it is its turn, since it copies.
  struct PushPlace {
    const SparsePush* sparse = nullptr;
    const DensePush* dense = nullptr;
    size_t width = 0;
    Chunk chunk{};  // sparse
    uint32_t server = 0;
    Part part{};  // dense
  };

  // `like` says what kind of change it is.
  void push_all(const char* what, const Header& like, std::span<const SparsePush> sparse,
                std::span<const DensePush> dense) {
    std::vector<PushPlace> places;
    for (const DensePush& d : dense)
      each_part(what, d.table, d.values.size(), [&](uint32_t server, Part part) {
        places.push_back({.dense = &d, .server = server, .part = part});
      });
    for (const SparsePush& s : sparse) {
      const bool assign = like.change == Change::assign;
      const size_t width = assign ? pull_width(s.table) : push_width(s.table);
      for (Chunk& chunk : cut(s.keys, width))
        places.push_back({.sparse = &s, .width = width, .chunk = std::move(chunk)});
    }
    in_waves(places.size(), [&](size_t first, size_t last) {
      std::vector<Exchange> exchanges;
      for (size_t i = first; i < last; ++i) exchanges.push_back(exchange_of(places[i], like));
      calls_.run_once(what, exchanges, options_.call_deadline);
    });
  }

  Exchange exchange_of(const PushPlace& p, const Header& like) const {
    const bool rows = p.sparse != nullptr;
    Exchange x = rows ? calls_.exchange(p.chunk.server, Method::push_sparse)
                      : calls_.exchange(p.server, Method::push_dense);
    x.header.change = like.change;
    x.header.step = like.step;
    x.header.table = rows ? p.sparse->table : p.dense->table;
    x.header.learning_rate = rows ? p.sparse->learning_rate : p.dense->learning_rate;
    if (rows) {
      x.keys = keys_of(p.chunk, p.sparse->keys);
      x.values = values_of(p.chunk, p.sparse->values, p.width);
      return x;
    }
    const size_t bytes = (p.part.last - p.part.first) * sizeof(float);
    auto copy = std::make_shared<Bytes>(bytes);
    std::memcpy(copy->data(), p.dense->values.data() + p.part.first, bytes);
    x.values = std::move(copy);
    return x;
  }

  // Calls f(server, part) for the servers that have a part of a dense table.
  template <class F>
  void each_part(const char* what, uint32_t table, size_t size, F&& f) const {
    uint64_t all = 0;
    for (uint32_t s = 0; s < calls_.servers(); ++s) {
      const TableShape& shape = calls_.shape(s, table);
      if (!shape.dense)
        throw ServiceError(Reason::refused,
                           "[parameter_server] table " + std::to_string(table) + " is not dense.");
      all += shape.size;
    }
    if (all != size)
      throw ServiceError(Reason::refused, std::string("[parameter_server] ") + what + ": table " +
                                              std::to_string(table) + " has " +
                                              std::to_string(all) + " numbers, got " +
                                              std::to_string(size) + ".");
    for (uint32_t s = 0; s < calls_.servers(); ++s) {
      const Part part = part_of(size, s, calls_.servers());
      if (part.last > part.first) f(s, part);
    }
  }

  std::vector<std::string> gather(const char* what, Gather kind, const std::string& name,
                                  std::string mine, uint64_t* round = nullptr) {
    // One round after another: others see the same order.
    MutexLock lock(round_mutex_);
    Exchange x = calls_.exchange(0, Method::gather);
    x.header.round = round_;
    x.header.mode = static_cast<int32_t>(kind);
    x.header.name = name;
    auto bytes = std::make_shared<Bytes>(mine.size());
    std::copy(mine.begin(), mine.end(), bytes->as<char>().begin());
    x.values = std::move(bytes);
    calls_.run(what, {&x, 1}, options_.wait_deadline);
    if (round) *round = round_;
    ++round_;
    return std::move(x.answer.parts);
  }

  template <class F>
  uint64_t on_all(const char* what, Method method, F&& fill) {
    return on_some(0, calls_.servers(), what, method, std::forward<F>(fill));
  }

  // The same for servers [first, last).
  template <class F>
  uint64_t on_some(uint32_t first, uint32_t last, const char* what, Method method, F&& fill) {
    std::vector<Exchange> exchanges;
    for (uint32_t s = first; s < last; ++s) {
      exchanges.push_back(calls_.exchange(s, method));
      fill(exchanges.back().header);
    }
    calls_.run_once(what, exchanges, options_.table_deadline);
    uint64_t sum = 0;
    for (const Exchange& x : exchanges) sum += x.answer.number;
    return sum;
  }

  // Before the first request about a step: where a predecessor ended the step before and others
  // have not, it must be over first.
  void settle(uint64_t step) {
    MutexLock lock(settle_mutex_);
    if (settled_) return;
    if (calls_.step_open() && step > 0 && step == calls_.next_step()) end_step_now(step - 1);
    settled_ = true;
  }

  const ClientOptions options_;
  Calls calls_;
  Mutex settle_mutex_;
  bool settled_ ARGOSY_GUARDED_BY(settle_mutex_) = false;
  Mutex round_mutex_;
  uint64_t round_ ARGOSY_GUARDED_BY(round_mutex_) = 1;
};

}  // namespace

Client::~Client() = default;

void Client::pull(std::span<const SparsePull> requests, bool create) {
  for (const SparsePull& r : requests) pull_sparse(r.table, r.keys, r.out, create);
}

std::vector<std::string> Client::exchange(const std::vector<std::string>& parts) {
  return parts;  // alone
}

void Client::push(std::span<const SparsePush> sparse, std::span<const DensePush> dense) {
  for (const SparsePush& s : sparse) push_sparse(s.table, s.keys, s.values, s.learning_rate);
  for (const DensePush& d : dense) push_dense(d.table, d.values, d.learning_rate);
}

void Client::push_step(uint64_t step, std::span<const SparsePush> sparse,
                       std::span<const DensePush> dense) {
  for (const SparsePush& s : sparse)
    push_sparse_step(s.table, step, s.keys, s.values, s.learning_rate);
  for (const DensePush& d : dense) push_dense_step(d.table, step, d.values, d.learning_rate);
}

std::unique_ptr<Client> connect(const ClientOptions& options) {
  return std::make_unique<GrpcClient>(options);
}

}  // namespace argosy::ps
