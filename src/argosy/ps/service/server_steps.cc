#include "argosy/ps/service/server_steps.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "argosy/base/error.h"

namespace argosy::ps {

std::vector<Meeting::Go> Meeting::all() {
  std::vector<Go> go;
  for (One& one : waiting_) go.push_back(std::move(one.go));
  waiting_.clear();
  return go;
}

std::vector<Meeting::Go> Meeting::late(Clock::time_point now) {
  std::vector<Go> go;
  std::erase_if(waiting_, [&](One& one) {
    if (one.until > now) return false;
    go.push_back(std::move(one.go));
    return true;
  });
  return go;
}

namespace {

std::string list(const std::vector<bool>& here) {
  std::string text;
  for (size_t i = 0; i < here.size(); ++i)
    if (!here[i]) text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text;
}

}  // namespace

// --- steps ---

Failure Steps::check(uint32_t worker, uint64_t step, uint64_t bytes) const {
  if (worker >= ended_.size())
    return {Code::bad_request, "worker " + std::to_string(worker) + " of " +
                                   std::to_string(ended_.size()) + " does not exist"};
  if (step < next_)
    return {Code::bad_request,
            "step " + std::to_string(step) + " is over: expected step " + std::to_string(next_)};
  // The first step of all may have any number.
  if (step != next_ && (open_ || next_ != 0))
    return {Code::bad_request, "step " + std::to_string(step) + " came while step " +
                                   std::to_string(next_) + " is open (workers " + missing() +
                                   " have not ended it)"};
  if (ended_[worker] && bytes)
    return {Code::bad_request, "worker " + std::to_string(worker) + " pushes to step " +
                                   std::to_string(step) + ", which it has ended"};
  if (bytes > max_bytes_ || bytes_ > max_bytes_ - bytes)
    return {Code::bad_request, "gradients of one step take more than " +
                                   std::to_string(max_bytes_) + " bytes on this server"};
  return {};
}

void Steps::gather(const Header& h, Bytes keys, Bytes values) {
  next_ = h.step;
  open_ = true;
  bytes_ += keys.size() + values.size();
  parts_[h.table].push_back(
      {h.worker, h.sequence, h.learning_rate, std::move(keys), std::move(values)});
}

bool Steps::end(uint32_t worker, uint64_t step) {
  next_ = step;
  open_ = true;
  ended_[worker] = true;
  return std::count(ended_.begin(), ended_.end(), false) == 0;
}

std::string Steps::missing() const {
  return list(ended_);
}

void Steps::apply(
    const std::function<const TableConfig*(uint32_t)>& config,
    const std::function<void(uint32_t, std::span<const Key>, std::span<float>, float)>& push) {
  const float scale = 1.0f / static_cast<float>(ended_.size());
  for (auto& [table, parts] : parts_) {
    const TableConfig* c = config(table);
    if (!c) continue;
    // The order in which parts came must not matter: sums of floats depend on it.
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
      return a.worker != b.worker ? a.worker < b.worker : a.sequence < b.sequence;
    });
    const float rate = parts.front().learning_rate;
    if (c->kind != "sparse") {
      std::vector<float> sum(parts.front().values.as<float>().size());
      for (const Part& p : parts) {
        const std::span<float> v = p.values.as<float>();
        for (size_t i = 0; i < std::min(sum.size(), v.size()); ++i) sum[i] += v[i];
      }
      for (float& v : sum) v *= scale;
      push(table, {}, sum, rate);
      continue;
    }
    struct Row {
      Key key;
      const float* values;
    };
    std::vector<Row> rows;
    size_t width = 0;
    for (const Part& p : parts) {
      const std::span<Key> keys = p.keys.as<Key>();
      if (keys.empty()) continue;
      width = p.values.as<float>().size() / keys.size();
      for (size_t i = 0; i < keys.size(); ++i)
        rows.push_back({keys[i], p.values.as<float>().data() + i * width});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.key < b.key; });
    // Columns of a click row: slot, show, click, gradients.
    const bool click = c->accessor.kind == "click";
    std::vector<Key> keys;
    std::vector<float> sum;
    for (size_t i = 0; i < rows.size();) {
      const size_t at = sum.size();
      keys.push_back(rows[i].key);
      sum.insert(sum.end(), rows[i].values, rows[i].values + width);
      for (++i; i < rows.size() && rows[i].key == keys.back(); ++i)
        for (size_t j = click ? 1 : 0; j < width; ++j) sum[at + j] += rows[i].values[j];
      for (size_t j = click ? 3 : 0; j < width; ++j) sum[at + j] *= scale;
    }
    if (!keys.empty()) push(table, keys, sum, rate);
  }
  parts_.clear();
  bytes_ = 0;
  std::fill(ended_.begin(), ended_.end(), false);
  open_ = false;
  ++next_;
}

// --- rounds ---

Failure Rounds::check(uint32_t worker, uint64_t round) const {
  if (worker >= last_.size())
    return {Code::bad_request, "worker " + std::to_string(worker) + " of " +
                                   std::to_string(last_.size()) + " does not exist"};
  // Its own last one may be asked again, if it is still there; else the next one.
  if (round == last_[worker] && rounds_.count(round)) return {};
  if (round <= last_[worker])
    return {Code::bad_request, "round " + std::to_string(round) + " of worker " +
                                   std::to_string(worker) + " is over: expected round " +
                                   std::to_string(last_[worker] + 1)};
  if (rounds_.count(last_[worker]) && !complete(last_[worker]))
    return {Code::bad_request, "worker " + std::to_string(worker) + " has not left round " +
                                   std::to_string(last_[worker])};
  // A server that started anew knows no rounds: it takes the first that it hears of.
  if (!rounds_.empty() && round > rounds_.rbegin()->first + 1)
    return {Code::bad_request, "round " + std::to_string(round) + " of worker " +
                                   std::to_string(worker) + " is ahead: others are in round " +
                                   std::to_string(rounds_.rbegin()->first)};
  return {};
}

bool Rounds::join(uint32_t worker, uint64_t round, const std::string& name, std::string text) {
  Round& r = rounds_[round];
  if (r.here.empty()) {
    r.here.resize(last_.size());
    r.texts.resize(last_.size());
    r.names.resize(last_.size());
  }
  if (r.count == last_.size()) return true;
  if (!r.here[worker]) ++r.count;
  r.here[worker] = true;
  r.texts[worker] = std::move(text);  // a call that was given up may be made again, with others
  r.names[worker] = name;
  last_[worker] = round;
  const bool all = r.count == last_.size();
  if (all) rounds_.erase(rounds_.begin(), rounds_.find(round));
  return all;
}

bool Rounds::complete(uint64_t round) const {
  const auto found = rounds_.find(round);
  return found != rounds_.end() && found->second.count == last_.size();
}

std::vector<std::string> Rounds::parts(uint64_t round) const {
  return rounds_.at(round).texts;
}

std::string Rounds::missing(uint64_t round) const {
  const auto found = rounds_.find(round);
  if (found == rounds_.end()) return "all";
  std::string text = list(found->second.here);
  // Who is elsewhere says most of why.
  for (size_t i = 0; i < last_.size(); ++i)
    if (!found->second.here[i]) {
      const auto other = rounds_.find(last_[i]);
      if (other != rounds_.end() && !other->second.names[i].empty())
        text += " (last seen in '" + other->second.names[i] + "')";
    }
  return text;
}

// --- states ---

void put_number(std::string* out, uint64_t value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

void put_bytes(std::string* out, std::span<const std::byte> bytes) {
  put_number(out, bytes.size());
  out->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::span<const std::byte> get_bytes(std::span<const std::byte>* in) {
  const uint64_t n = get_number(in);
  ARGOSY_CHECK(n <= in->size(), io)
      << "[parameter_server] the state of a server is cut short: expected " << n
      << " more bytes, got " << in->size() << ". Do this: start from another snapshot.";
  const std::span<const std::byte> bytes = in->first(n);
  *in = in->subspan(n);
  return bytes;
}

uint64_t get_number(std::span<const std::byte>* in) {
  uint64_t value = 0;
  ARGOSY_CHECK(in->size() >= sizeof(value), io)
      << "[parameter_server] the state of a server is cut short. Do this: start from another "
         "snapshot.";
  std::memcpy(&value, in->data(), sizeof(value));
  *in = in->subspan(sizeof(value));
  return value;
}

namespace {

void put_text(std::string* out, const std::string& text) {
  put_bytes(out, std::as_bytes(std::span(text)));
}

std::string get_text(std::span<const std::byte>* in) {
  const std::span<const std::byte> bytes = get_bytes(in);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void put_flags(std::string* out, const std::vector<bool>& flags) {
  for (const bool flag : flags) out->push_back(flag ? 1 : 0);
}

void get_flags(std::span<const std::byte>* in, std::vector<bool>* flags) {
  ARGOSY_CHECK(in->size() >= flags->size(), io)
      << "[parameter_server] the state of a server is cut short. Do this: start from another "
         "snapshot.";
  for (size_t i = 0; i < flags->size(); ++i) (*flags)[i] = (*in)[i] != std::byte{0};
  *in = in->subspan(flags->size());
}

Bytes copy(std::span<const std::byte> bytes) {
  Bytes out(bytes.size());
  if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

std::string Steps::save() const {
  std::string out;
  put_number(&out, next_);
  put_number(&out, open_);
  put_flags(&out, ended_);
  for (const auto& [table, parts] : parts_)
    for (const Part& p : parts) {
      put_number(&out, table);
      put_number(&out, p.worker);
      put_number(&out, p.sequence);
      uint32_t rate;
      std::memcpy(&rate, &p.learning_rate, sizeof(rate));
      put_number(&out, rate);
      put_bytes(&out, p.keys.span());
      put_bytes(&out, p.values.span());
    }
  return out;
}

void Steps::load(std::span<const std::byte>* in) {
  std::span<const std::byte> state = get_bytes(in);
  next_ = get_number(&state);
  open_ = get_number(&state) != 0;
  get_flags(&state, &ended_);
  parts_.clear();
  bytes_ = 0;
  while (!state.empty()) {
    const auto table = static_cast<uint32_t>(get_number(&state));
    Part p;
    p.worker = static_cast<uint32_t>(get_number(&state));
    p.sequence = get_number(&state);
    const auto rate = static_cast<uint32_t>(get_number(&state));
    std::memcpy(&p.learning_rate, &rate, sizeof(rate));
    p.keys = copy(get_bytes(&state));
    p.values = copy(get_bytes(&state));
    bytes_ += p.keys.size() + p.values.size();
    parts_[table].push_back(std::move(p));
  }
}

std::string Rounds::save() const {
  std::string out;
  for (const uint64_t last : last_) put_number(&out, last);
  for (const auto& [round, r] : rounds_) {
    put_number(&out, round);
    put_flags(&out, r.here);
    for (size_t i = 0; i < last_.size(); ++i) {
      put_text(&out, r.texts[i]);
      put_text(&out, r.names[i]);
    }
  }
  return out;
}

void Rounds::load(std::span<const std::byte>* in) {
  std::span<const std::byte> state = get_bytes(in);
  for (uint64_t& last : last_) last = get_number(&state);
  rounds_.clear();
  while (!state.empty()) {
    Round& r = rounds_[get_number(&state)];
    r.here.resize(last_.size());
    r.texts.resize(last_.size());
    r.names.resize(last_.size());
    get_flags(&state, &r.here);
    r.count = static_cast<uint32_t>(std::count(r.here.begin(), r.here.end(), true));
    for (size_t i = 0; i < last_.size(); ++i) {
      r.texts[i] = get_text(&state);
      r.names[i] = get_text(&state);
    }
  }
}

}  // namespace argosy::ps
