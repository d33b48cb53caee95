#include <algorithm>
#include <cstring>
#include <optional>

#include "argosy/base/error.h"
#include "argosy/base/json.h"
#include "argosy/base/log.h"
#include "argosy/ps/service/durable_file.h"
#include "argosy/ps/service/log_tables.h"
#include "argosy/ps/service/server_core.h"

// What a server writes to its log and snapshots about itself, and how it becomes of it again; and
// the comparison of configurations.
namespace argosy::ps {

// Then come keys, values and (gather) the name.
struct Core::Record {
  Method method;
  Change change;
  uint16_t gather;  // what for
  uint32_t table;
  ClientId client;
  uint64_t sequence;
  uint64_t step;  // or round
  float learning_rate;
  uint32_t worker;
  uint64_t keys_bytes, values_bytes, name_bytes;
};

namespace {

// Of a record of the log; whatever it is of must be there, or what was acknowledged is lost.
void check_fits(bool right, const Header& h, uint64_t position) {
  ARGOSY_CHECK(right, io)
      << "[parameter_server] record " << position << " of the log does not fit table " << h.table
      << " as it is now. Do this: start with the tables that the log was written with, save the "
         "model, and load it into servers with the new ones and another directory.";
}

}  // namespace

void Core::end_log_of_other_settings(const ServerOptions& options) {
  if (options.durability == "none" || options.directory.empty()) return;
  const std::string log = join_path(own_directory(options), "log");
  const std::optional<ServerOptions> before = options_of_log(log, options);
  if (!before) return;
  ARGOSY_LOG(info) << "[log] '" << log
                   << "' was written by servers with other settings of tables or another number of "
                      "workers: what it holds goes into a snapshot first.";
  try {
    Core(*before).durability_->snapshot();
  } catch (const Error& e) {
    throw Error(e.kind(), std::string("[log] '") + log +
                              "' was written with other settings, and no snapshot of it can be "
                              "made: " +
                              e.what());
  }
}

uint64_t Core::append(const Request& request) {
  const Header& h = request.header;
  const bool gather = request.method == Method::gather;
  const Record r{request.method,
                 h.change,
                 static_cast<uint16_t>(gather ? std::clamp(h.mode, 0, 2) : 0),
                 h.table,
                 h.client(),
                 h.sequence,
                 gather ? h.round : h.step,
                 h.learning_rate,
                 h.worker,
                 request.keys.size(),
                 request.values.size(),
                 gather ? h.name.size() : 0};
  const Piece pieces[] = {std::as_bytes(std::span(&r, 1)), request.keys.span(),
                          request.values.span(),
                          std::as_bytes(std::span(h.name.data(), r.name_bytes))};
  return durability_->append(pieces);
}

void Core::replay(std::span<const std::byte> bytes, uint64_t position, const Cut& cut) {
  recovered_ = true;
  Record r;
  ARGOSY_CHECK(bytes.size() >= sizeof(r), io)
      << "[parameter_server] record " << position << " of the log is too short: expected at least "
      << sizeof(r) << " bytes, got " << bytes.size() << '.';
  std::memcpy(&r, bytes.data(), sizeof(r));
  bytes = bytes.subspan(sizeof(r));
  ARGOSY_CHECK(r.keys_bytes <= bytes.size() && r.values_bytes <= bytes.size() - r.keys_bytes &&
                   r.name_bytes == bytes.size() - r.keys_bytes - r.values_bytes,
               io)
      << "[parameter_server] record " << position
      << " of the log contradicts its own length. Do this: check the disk.";
  Request request;
  request.method = r.method;
  Header& h = request.header;
  h.change = r.change;
  h.table = r.table;
  h.set_client(r.client);
  h.sequence = r.sequence;
  h.step = h.round = r.step;
  h.learning_rate = r.learning_rate;
  h.worker = r.worker;
  h.mode = r.gather;
  request.keys = Bytes(r.keys_bytes);
  request.values = Bytes(r.values_bytes);
  const auto copy = [](const Bytes& to, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(to.data(), from.data(), from.size());
  };
  copy(request.keys, bytes.first(r.keys_bytes));
  copy(request.values, bytes.subspan(r.keys_bytes, r.values_bytes));
  h.name.assign(reinterpret_cast<const char*>(bytes.data()) + r.keys_bytes + r.values_bytes,
                r.name_bytes);

  const bool state = position > cut.state_position();
  Table* t = find(h.table);
  uint64_t number = 0;
  switch (r.method) {
    case Method::push_sparse:
    case Method::push_dense:
      replay_push(request, cut, position, state);
      break;
    // No snapshot is written meanwhile, so all shards have it or none.
    case Method::shrink:
      check_fits(t && t->sparse, h, position);
      if (cut.position(h.table, 0) < position) number = t->sparse->shrink();
      break;
    case Method::end_day:
      for (const Table& each : tables_)
        if (each.sparse && cut.position(each.config.id, 0) < position) each.sparse->end_day();
      break;
    case Method::end_step:
      if (!state || steps_.done(h.step) || steps_.check(h, true, 0) || steps_.passed_over(h))
        return;
      if (!steps_.ended(h.worker)) steps_.end(h);
      if (steps_.all_ended()) replay_step(cut, position);
      return;
    case Method::gather:
      if (state && !rounds_.check(h.worker, h.round)) {
        const std::span<const char> text = request.values.as<const char>();
        rounds_.join(h, {text.data(), text.size()});
      }
      return;
    default:
      ARGOSY_THROW(io) << "[parameter_server] record " << position
                       << " of the log is of an unknown kind (" << static_cast<int>(r.method)
                       << "). Do this: start the version of Argosy that wrote it.";
  }
  if (state) windows_.replayed(h.client(), h.sequence, number);
}

void Core::replay_push(Request& request, const Cut& cut, uint64_t position, bool state) {
  const Header& h = request.header;
  const Table* t = find(h.table);
  const bool dense = request.method == Method::push_dense;
  check_fits(t && (dense ? t->dense != nullptr : t->sparse != nullptr), h, position);
  const std::span<const Key> keys = request.keys.as<Key>();
  const bool add = h.change != Change::assign;
  const size_t bytes = request.values.size();
  const size_t width = dense ? t->dense->size()
                       : add ? t->sparse->push_width()
                             : t->sparse->pull_width();
  check_fits(bytes == (dense ? 1 : keys.size()) * width * sizeof(float), h, position);
  if (h.change == Change::step) {
    if (state && !steps_.check(h, true, request.keys.size() + bytes) && !steps_.passed_over(h))
      steps_.gather(h, std::move(request.keys), std::move(request.values));
    return;
  }
  const float* values = request.values.as<float>().data();
  if (dense) {
    if (cut.position(h.table, 0) >= position) return;
    add ? t->dense->push(values, {h.learning_rate}) : t->dense->assign(values);
    return;
  }
  // Runs of keys whose shards do not have the record yet.
  const auto wanted = [&](size_t i) { return cut.position(h.table, shard_of(keys[i])) < position; };
  for (size_t i = 0, end; i < keys.size(); i = end) {
    end = i + 1;
    if (!wanted(i)) continue;
    while (end < keys.size() && wanted(end)) ++end;
    const auto run = keys.subspan(i, end - i);
    add ? t->sparse->push(run, values + i * width, {h.learning_rate})
        : t->sparse->assign(run, values + i * width);
  }
}

void Core::replay_step(const Cut& cut, uint64_t position) {
  for (const Steps::Change& c : step_changes()) {
    const Table& t = *find(c.table);
    if (t.dense) {
      if (cut.position(c.table, 0) < position) t.dense->push(c.values.data(), {c.learning_rate});
      continue;
    }
    const size_t width = t.sparse->push_width();
    const std::span<const Key> keys = c.keys;
    for (size_t i = 0; i < keys.size(); ++i)
      if (cut.position(c.table, shard_of(keys[i])) < position)
        t.sparse->push(keys.subspan(i, 1), c.values.data() + i * width, {c.learning_rate});
  }
  steps_.close();
}

namespace {

// The first number of a state that tells who has which worker's place. Older ones begin with an
// epoch, which is never so high.
constexpr uint64_t kStateWithOwners = 0x4153'5441'5445'0002;
constexpr uint64_t kStateWithKinds = 0x4153'5441'5445'0003;

}  // namespace

std::string Core::save_state() {
  std::string out;
  put_number(&out, kStateWithKinds);
  put_number(&out, epoch_);
  put_number(&out, options_.workers);
  const auto put_text = [&](const std::string& text) {
    put_bytes(&out, std::as_bytes(std::span(text)));
  };
  MutexLock lock(meet_);
  put_text(windows_.save());
  put_text(steps_.save());
  put_text(rounds_.save());
  return out;
}

void Core::load_state(std::span<const std::byte> state) {
  recovered_ = true;
  const uint64_t first = get_number(&state);
  const bool kinds = first == kStateWithKinds, owners = kinds || first == kStateWithOwners;
  epoch_ = owners ? get_number(&state) : first;
  const uint64_t workers = get_number(&state);
  windows_.load(get_bytes(&state));
  // With another number of workers there is no step or round to go on with.
  if (workers != options_.workers) return;
  steps_.load(&state, owners);
  rounds_.load(&state, kinds);
}

namespace {

// The path of the first difference, or "".
std::string first_difference(const OrderedJson& a, const OrderedJson& b, const std::string& path) {
  if (!a.is_object() || !b.is_object()) {
    if (a == b) return "";
    return path + ": the servers have " + a.dump() + ", the client has " + b.dump();
  }
  for (const auto& [name, value] : a.items()) {
    static const OrderedJson none;
    const std::string found = first_difference(value, b.contains(name) ? b[name] : none,
                                               path.empty() ? name : path + '.' + name);
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace

std::string difference(const std::vector<TableConfig>& servers, const std::string& clients) {
  const auto comparable = [](std::vector<TableConfig> tables) {
    for (TableConfig& t : tables) {
      t.tier = "memory";
      t.directory.clear();
      t.memory_rows = 0;
    }
    return tables;
  };
  const std::vector<TableConfig> a = comparable(servers), b = comparable(parse_tables(clients));
  if (a.size() != b.size())
    return "number of tables: the servers have " + std::to_string(a.size()) + ", the client has " +
           std::to_string(b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    const auto x = parse_json<OrderedJson>(to_json({a[i]})),
               y = parse_json<OrderedJson>(to_json({b[i]}));
    const std::string found = first_difference(
        x[0], y[0],
        "table " + std::to_string(a[i].id) + (a[i].name.empty() ? "" : " '" + a[i].name + "'"));
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace argosy::ps
