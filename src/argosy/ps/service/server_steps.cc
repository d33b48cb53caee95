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
    if (!one.patience.is_over(now)) return false;
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

uint64_t Steps::next(uint32_t worker) const {
  return next_ + ended(worker);
}

bool Steps::ended(uint32_t worker) const {
  return worker < workers_.size() && workers_[worker].ended;
}

bool Steps::all_ended() const {
  return std::all_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.ended; });
}

bool Steps::last(uint32_t worker) const {
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (i != worker && !workers_[i].ended) return false;
  return true;
}

ClientId Steps::owner(uint32_t worker) const {
  return worker < workers_.size() ? workers_[worker].owner : ClientId{};
}

std::vector<bool> Steps::here() const {
  std::vector<bool> here;
  for (const Worker& w : workers_) here.push_back(w.ended);
  return here;
}

std::string Steps::missing() const {
  return list(here());
}

// The first step of this client in the worker's place.
uint64_t Steps::began(const Header& h) const {
  const Worker& w = workers_[h.worker];
  return w.owner == h.client() || w.owner == ClientId{} ? w.began : next(h.worker);
}

Failure Steps::check(const Header& h, bool successor, uint64_t bytes) const {
  if (h.worker >= workers_.size())
    return {Code::bad_request, "worker " + std::to_string(h.worker) + " of " +
                                   std::to_string(workers_.size()) + " does not exist"};
  const Worker& w = workers_[h.worker];
  if (w.owner != ClientId{} && w.owner != h.client() && !successor)
    return {Code::bad_request, "another process has taken the place of worker " +
                                   std::to_string(h.worker) + " since this one connected"};
  if (passed_over(h)) return {};
  if (h.step < next_)
    return {Code::bad_request,
            "step " + std::to_string(h.step) + " is over: expected step " + std::to_string(next_)};
  // The first step of all may have any number.
  if (h.step != next_ && (open_ || next_ != 0))
    return {Code::bad_request, "step " + std::to_string(h.step) + " came while step " +
                                   std::to_string(next_) + " is open (workers " + missing() +
                                   " have not ended it)"};
  if (w.ended && bytes)
    return {Code::bad_request, "worker " + std::to_string(h.worker) + " pushes to step " +
                                   std::to_string(h.step) + ", which it has ended"};
  if (bytes > max_bytes_ || bytes_ > max_bytes_ - bytes)
    return {Code::bad_request, "gradients of one step take more than " +
                                   std::to_string(max_bytes_) + " bytes on this server"};
  return {};
}

bool Steps::passed_over(const Header& h) const {
  return h.step < began(h);
}

void Steps::take_place(const Header& h) {
  Worker& w = workers_[h.worker];
  if (w.owner == h.client()) return;
  if (w.owner != ClientId{}) w.began = next(h.worker);
  w.owner = h.client();
  if (w.ended) return;
  for (auto& [table, parts] : parts_)
    std::erase_if(parts, [&](const Part& p) {
      if (p.worker != h.worker) return false;
      bytes_ -= p.keys.size() + p.values.size();
      return true;
    });
}

void Steps::gather(const Header& h, Bytes keys, Bytes values) {
  take_place(h);
  next_ = h.step;
  open_ = true;
  bytes_ += keys.size() + values.size();
  parts_[h.table].push_back(
      {h.worker, h.sequence, h.learning_rate, std::move(keys), std::move(values)});
}

void Steps::end(const Header& h) {
  take_place(h);
  next_ = h.step;
  open_ = true;
  workers_[h.worker].ended = true;
}

std::vector<Steps::Change> Steps::changes(
    const std::function<const TableConfig*(uint32_t)>& config) const {
  const float scale = 1.0f / static_cast<float>(workers_.size());
  std::vector<Change> all;
  for (const auto& [table, gathered] : parts_) {
    const TableConfig* c = config(table);
    if (!c || gathered.empty()) continue;
    // The order in which parts came must not matter: sums of floats depend on it.
    std::vector<const Part*> parts;
    for (const Part& p : gathered) parts.push_back(&p);
    std::sort(parts.begin(), parts.end(), [](const Part* a, const Part* b) {
      return a->worker != b->worker ? a->worker < b->worker : a->sequence < b->sequence;
    });
    Change change{table, parts.front()->learning_rate, {}, {}};
    std::vector<float>& sum = change.values;
    if (c->kind != "sparse") {
      sum.resize(parts.front()->values.as<float>().size());
      for (const Part* p : parts) {
        const std::span<float> v = p->values.as<float>();
        for (size_t i = 0; i < std::min(sum.size(), v.size()); ++i) sum[i] += v[i];
      }
      for (float& v : sum) v *= scale;
      all.push_back(std::move(change));
      continue;
    }
    struct Row {
      Key key;
      const float* values;
    };
    std::vector<Row> rows;
    size_t width = 0;
    for (const Part* p : parts) {
      const std::span<Key> keys = p->keys.as<Key>();
      if (keys.empty()) continue;
      width = p->values.as<float>().size() / keys.size();
      for (size_t i = 0; i < keys.size(); ++i)
        rows.push_back({keys[i], p->values.as<float>().data() + i * width});
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.key < b.key; });
    // Columns of a click row: slot, show, click, gradients.
    const bool click = c->accessor.kind == "click";
    std::vector<Key>& keys = change.keys;
    for (size_t i = 0; i < rows.size();) {
      const size_t at = sum.size();
      keys.push_back(rows[i].key);
      sum.insert(sum.end(), rows[i].values, rows[i].values + width);
      for (++i; i < rows.size() && rows[i].key == keys.back(); ++i)
        for (size_t j = click ? 1 : 0; j < width; ++j) sum[at + j] += rows[i].values[j];
      for (size_t j = click ? 3 : 0; j < width; ++j) sum[at + j] *= scale;
    }
    if (!keys.empty()) all.push_back(std::move(change));
  }
  return all;
}

void Steps::close() {
  parts_.clear();
  bytes_ = 0;
  for (Worker& w : workers_) w.ended = false;
  open_ = false;
  ++next_;
}

// --- rounds ---

namespace {

Gather kind_of(const Header& h) {
  return static_cast<Gather>(std::clamp(h.mode, 0, 2));
}

}  // namespace

uint64_t Rounds::next(uint32_t worker) const {
  const uint64_t last = last_[worker];
  return rounds_.count(last) && !complete(last) ? last : last + 1;
}

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

// May the call be answered together with what worker i came for?
bool Rounds::fits(const Round& r, size_t i, const Header& h) {
  if (r.names[i] == h.name) return true;
  const Gather mine = kind_of(h), other = r.kinds[i];
  return (other == Gather::last && mine != Gather::parts) ||
         (mine == Gather::last && other == Gather::barrier);
}

bool Rounds::Round::last_of_all() const {
  return std::all_of(kinds.begin(), kinds.end(), [](Gather k) { return k == Gather::last; });
}

Failure Rounds::disagreement(const Header& h, std::span<const uint32_t> waiting) const {
  // Those who have ended are in the round that is made for the others.
  auto found = rounds_.find(h.round);
  if (found == rounds_.end() && !rounds_.empty()) found = std::prev(rounds_.end());
  if (found == rounds_.end()) return {};
  const Round& r = found->second;
  if (found->first != h.round && r.last_of_all()) return {};
  for (size_t i = 0; i < last_.size(); ++i) {
    if (i == h.worker || !r.here[i] || fits(r, i, h)) continue;
    const std::string who = "worker " + std::to_string(i);
    if (r.kinds[i] == Gather::last)
      return {Code::bad_request, "'" + h.name + "' needs a part of every worker, but " + who +
                                     " has ended ('" + r.names[i] + "')"};
    if (found->first == h.round && waiting[i])
      return {Code::bad_request, "worker " + std::to_string(h.worker) + " came to '" + h.name +
                                     "', but " + who + " is in '" + r.names[i] +
                                     "': all workers must make the same calls in the same order"};
  }
  return {};
}

Rounds::Round& Rounds::at(uint64_t round) {
  const auto found = rounds_.find(round);
  if (found != rounds_.end()) return found->second;
  Round r;
  r.here.resize(last_.size());
  r.kinds.resize(last_.size());
  r.texts.resize(last_.size());
  r.names.resize(last_.size());
  if (!rounds_.empty() && !rounds_.rbegin()->second.last_of_all()) {
    const Round& before = rounds_.rbegin()->second;
    for (size_t i = 0; i < last_.size(); ++i) {
      if (before.kinds[i] != Gather::last) continue;
      r.here[i] = true;
      r.kinds[i] = Gather::last;
      r.names[i] = before.names[i];
      last_[i] = round;
      ++r.count;
    }
  }
  return rounds_[round] = std::move(r);
}

bool Rounds::join(const Header& h, std::string text) {
  Round& r = at(h.round);
  if (r.count == last_.size()) return true;
  // Calls for something else were given up: nobody waits for them (disagreement).
  for (size_t i = 0; i < last_.size(); ++i)
    if (r.here[i] && (i == h.worker || !fits(r, i, h))) {
      r.here[i] = false;
      --r.count;
    }
  ++r.count;
  r.here[h.worker] = true;
  r.kinds[h.worker] = kind_of(h);
  r.texts[h.worker] = std::move(text);
  r.names[h.worker] = h.name;
  last_[h.worker] = h.round;
  const bool all = r.count == last_.size();
  if (all) rounds_.erase(rounds_.begin(), rounds_.find(h.round));
  return all;
}

bool Rounds::left(const Header& h) const {
  if (kind_of(h) != Gather::last || h.worker >= last_.size() || h.round >= last_[h.worker] ||
      rounds_.empty())
    return false;
  const Round& r = rounds_.rbegin()->second;
  return r.here[h.worker] && r.kinds[h.worker] == Gather::last && r.names[h.worker] == h.name;
}

bool Rounds::has(const Header& h, std::string_view text) const {
  const auto found = rounds_.find(h.round);
  if (found == rounds_.end()) return false;
  const Round& r = found->second;
  return r.here[h.worker] && r.names[h.worker] == h.name && r.texts[h.worker] == text;
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
  put_flags(&out, here());
  for (const Worker& w : workers_)
    for (const uint64_t number : {w.owner.high, w.owner.low, w.began}) put_number(&out, number);
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

void Steps::load(std::span<const std::byte>* in, bool owners) {
  std::span<const std::byte> state = get_bytes(in);
  next_ = get_number(&state);
  open_ = get_number(&state) != 0;
  std::vector<bool> ended(workers_.size());
  get_flags(&state, &ended);
  for (size_t i = 0; i < workers_.size(); ++i) {
    Worker& w = workers_[i] = {};
    w.ended = ended[i];
    if (!owners) continue;
    w.owner.high = get_number(&state);
    w.owner.low = get_number(&state);
    w.began = get_number(&state);
  }
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
      put_number(&out, static_cast<uint64_t>(r.kinds[i]));
    }
  }
  return out;
}

void Rounds::load(std::span<const std::byte>* in, bool kinds) {
  std::span<const std::byte> state = get_bytes(in);
  for (uint64_t& last : last_) last = get_number(&state);
  rounds_.clear();
  while (!state.empty()) {
    Round& r = rounds_[get_number(&state)];
    r.here.resize(last_.size());
    r.texts.resize(last_.size());
    r.names.resize(last_.size());
    r.kinds.resize(last_.size());
    get_flags(&state, &r.here);
    r.count = static_cast<uint32_t>(std::count(r.here.begin(), r.here.end(), true));
    for (size_t i = 0; i < last_.size(); ++i) {
      r.texts[i] = get_text(&state);
      r.names[i] = get_text(&state);
      if (kinds) r.kinds[i] = static_cast<Gather>(get_number(&state) % 3);
    }
  }
}

}  // namespace argosy::ps
