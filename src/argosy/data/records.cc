#include "argosy/data/records.h"

#include <algorithm>
#include <unordered_map>

#include "argosy/base/random.h"
#include "argosy/data/patience.h"

namespace argosy::data {

// Memory for packed samples; addresses stay.
struct Records::Arena {
  static constexpr size_t kChunk = 1 << 20;
  char* take(size_t n) {
    if (n > left) {
      const size_t size = std::max(n, kChunk);
      chunks.emplace_back(new char[size]);
      at = chunks.back().get();
      left = size;
      reserved += size;
    }
    char* p = at;
    at += n;
    left -= n;
    return p;
  }
  std::vector<std::unique_ptr<char[]>> chunks;
  char* at = nullptr;
  size_t left = 0;
  uint64_t reserved = 0;
};

namespace {

size_t count_bytes(uint64_t n) {
  size_t bytes = 1;
  for (; n >= 128; n >>= 7) ++bytes;
  return bytes;
}

char* put_count(char* p, uint64_t n) {
  for (; n >= 128; n >>= 7) *p++ = static_cast<char>(n | 128);
  *p++ = static_cast<char>(n);
  return p;
}

inline uint64_t get_count(const char** at) {
  auto* p = reinterpret_cast<const unsigned char*>(*at);
  uint64_t n = *p & 127;
  for (int shift = 7; *p++ & 128; shift += 7) n |= static_cast<uint64_t>(*p & 127) << shift;
  *at = reinterpret_cast<const char*>(p);
  return n;
}

// [0, n), unbiased enough: n is far below 2^64.
uint64_t draw(random::Engine& engine, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(engine()) * n) >> 64);
}

template <class T>
void shuffle_all(std::vector<T>* all, uint64_t seed) {
  random::Engine engine;
  engine.seed(seed);
  for (size_t i = all->size(); i > 1; --i) std::swap((*all)[i - 1], (*all)[draw(engine, i)]);
}

}  // namespace

Records::Records(const Format& format) : format_(format) {}
Records::~Records() = default;

uint64_t Records::bytes() const {
  uint64_t n = (places_.capacity() + loaded_.capacity()) * sizeof(char*);
  for (const auto& a : arenas_) n += a->reserved;
  return mixed_ ? n + mixed_->reserved : n;
}

// --- packing ---

void Records::pack(const Format& format, const Columns& columns, Arena* arena,
                   std::vector<const char*>* places) {
  const size_t slots = format.slots.size();
  std::vector<size_t> at(slots), width(slots);
  for (size_t i = 0; i < slots; ++i)
    width[i] = format.slots[i].item() * static_cast<size_t>(format.slots[i].width());
  auto rows_of = [&](size_t slot, int64_t sample) {
    uint64_t rows = 1;
    if (format.slots[slot].ragged)
      std::memcpy(&rows, columns.lengths[slot].data() + static_cast<size_t>(sample) * 8, 8);
    return rows;
  };
  for (int64_t k = 0; k < columns.samples; ++k) {
    size_t bytes = format.sample_id ? 8 : 0;
    for (size_t i = 0; i < slots; ++i) {
      const uint64_t rows = rows_of(i, k);
      bytes += rows * width[i] + (format.slots[i].ragged ? count_bytes(rows) : 0);
    }
    char* p = arena->take(bytes);
    places->push_back(p);
    if (format.sample_id) {
      std::memcpy(p, &columns.ids[static_cast<size_t>(k)], 8);
      p += 8;
    }
    for (size_t i = 0; i < slots; ++i) {
      const uint64_t rows = rows_of(i, k);
      if (format.slots[i].ragged) p = put_count(p, rows);
      const size_t n = rows * width[i];
      if (n) std::memcpy(p, columns.values[i].data() + at[i], n);
      p += n;
      at[i] += n;
    }
  }
}

void Records::unpack(const char* p, Columns* columns) const {
  if (format_.sample_id) {
    uint64_t id;
    std::memcpy(&id, p, 8);
    columns->ids.push_back(id);
    p += 8;
  }
  for (size_t i = 0; i < format_.slots.size(); ++i) {
    const Slot& slot = format_.slots[i];
    uint64_t rows = 1;
    if (slot.ragged) {
      rows = get_count(&p);
      columns->lengths[i].append(&rows, 8);
    }
    const size_t n = rows * slot.item() * static_cast<size_t>(slot.width());
    columns->values[i].append(p, n);
    p += n;
  }
  ++columns->samples;
}

const char* Records::skip(const char* p, size_t slot) const {
  const Slot& s = format_.slots[slot];
  const uint64_t rows = s.ragged ? get_count(&p) : 1;
  return p + rows * s.item() * static_cast<size_t>(s.width());
}

size_t Records::length(const char* at) const {
  const char* p = at + (format_.sample_id ? 8 : 0);
  for (size_t i = 0; i < format_.slots.size(); ++i) p = skip(p, i);
  return static_cast<size_t>(p - at);
}

// --- loading ---

// What the readers and load() have in common; readers that are left behind keep it.
struct Records::Loading {
  explicit Loading(const ReadOptions& o) : options(o), loaded(o.files.size()) {}

  void work() {
    try {
      for (;;) {
        const size_t file = next.fetch_add(1);
        if (file >= options.files.size()) return;
        ReadOptions one = options;
        one.files = {options.files[file]};
        FileReader::Shared counts;
        FileReader(one, stop).run(counts, [&](Columns& columns, uint64_t) {
          pack(options.format, columns, loaded[file].arena.get(), &loaded[file].places);
          columns.clear();
          return true;
        });
        bad_lines.fetch_add(counts.bad_lines.load());
      }
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
      stop.set();
    }
  }

  // Streams have limits of their own; this is for what they cannot wait for with one. Throws when
  // it passed, or the readers do not end after they were told to.
  void wait(Threads* threads) {
    constexpr double kLook = 0.2;  // for stop
    const double limit = later(options.stream.timeout);
    Patience patience(limit), grace(kGrace);
    uint64_t seen = stop.moves();
    while (!threads->wait(std::min(kLook, limit / 10))) {
      if (!stop.is_set()) grace.restart();
      if (const uint64_t now = stop.moves(); now != seen) {
        seen = now;
        patience.restart();
      }
      if (!patience.over() && !grace.over()) continue;
      stop.set();
      threads->end(0);
      std::lock_guard lock(mutex);
      if (error) std::rethrow_exception(error);
      ARGOSY_THROW(timeout) << "[dataset] no reader got on for "
                            << (patience.over() ? limit : kGrace)
                            << " s while loading, and they are left behind: does a file system "
                               "hang? Do this: try to read the files by hand, "
                            << kLongerLimit;
    }
    threads->join();
  }

  // What is loaded of each file, so that the order is that of the files.
  struct Loaded {
    std::shared_ptr<Arena> arena = std::make_shared<Arena>();
    std::vector<const char*> places;
  };
  const ReadOptions options;
  Stop stop;
  std::vector<Loaded> loaded;
  std::atomic<size_t> next{0};
  std::atomic<uint64_t> bad_lines{0};
  std::mutex mutex;
  std::exception_ptr error;  // guarded by mutex
};

void Records::load(const ReadOptions& given) {
  ReadOptions options = given;
  options.format = format_;
  options.batch_size = 256;  // samples that are packed at a time
  const int readers =
      std::max(1, std::min(options.readers, static_cast<int>(options.files.size())));
  const auto loading = std::make_shared<Loading>(options);
  {
    std::lock_guard lock(loading_);
    now_ = loading;
  }
  struct End {
    ~End() {
      std::lock_guard lock(records->loading_);
      records->now_ = nullptr;
    }
    Records* records;
  } end{this};
  Threads threads;
  threads.start(readers, [loading](int) { loading->work(); });
  loading->wait(&threads);
  if (loading->error) std::rethrow_exception(loading->error);
  bad_lines_ += loading->bad_lines.load();
  size_t total = places_.size();
  for (const auto& l : loading->loaded) total += l.places.size();
  places_.reserve(total);
  for (auto& l : loading->loaded) {
    arenas_.push_back(std::move(l.arena));
    places_.insert(places_.end(), l.places.begin(), l.places.end());
  }
}

void Records::stop_loading() {
  std::lock_guard lock(loading_);
  if (now_) now_->stop.set();
}

// --- order ---

void Records::shuffle(uint64_t seed) {
  loaded_.clear();
  shuffle_all(&places_, seed);
}

void Records::shuffle_slots(std::span<const size_t> slots, uint64_t seed) {
  if (loaded_.empty()) loaded_ = places_;
  std::vector<size_t> other(loaded_.size());
  for (size_t i = 0; i < other.size(); ++i) other[i] = i;
  shuffle_all(&other, seed);
  std::vector<bool> mixed(format_.slots.size());
  for (size_t s : slots) mixed[s] = true;
  auto arena = std::make_shared<Arena>();
  Bytes record;
  for (size_t i = 0; i < loaded_.size(); ++i) {
    const char *mine = loaded_[i], *theirs = loaded_[other[i]];
    record.resize(0);
    if (format_.sample_id) {
      record.append(mine, 8);
      mine += 8;
      theirs += 8;
    }
    for (size_t s = 0; s < format_.slots.size(); ++s) {
      const char *after = skip(mine, s), *after_theirs = skip(theirs, s);
      if (mixed[s])
        record.append(theirs, static_cast<size_t>(after_theirs - theirs));
      else
        record.append(mine, static_cast<size_t>(after - mine));
      mine = after;
      theirs = after_theirs;
    }
    char* p = arena->take(record.size());
    if (record.size()) std::memcpy(p, record.data(), record.size());
    places_[i] = p;
  }
  mixed_ = std::move(arena);
}

void Records::merge_by_id(size_t most) {
  ARGOSY_CHECK(format_.sample_id, invalid_argument)
      << "[dataset] samples have no ids to merge by. Do this: init the data set with "
         "parse_ins_id=True.";
  auto id_of = [](const char* p) {
    uint64_t id;
    std::memcpy(&id, p, 8);
    return id;
  };
  std::unordered_map<uint64_t, std::vector<const char*>> groups;
  std::vector<uint64_t> order;
  for (const char* p : places_) {
    auto& group = groups[id_of(p)];
    if (group.empty()) order.push_back(id_of(p));
    group.push_back(p);
  }
  auto arena = std::make_shared<Arena>();
  std::vector<const char*> places;
  for (uint64_t id : order) {
    const auto& group = groups[id];
    if (most && group.size() != most) continue;
    Columns one(format_.slots), merged(format_.slots);
    for (const char* p : group) unpack(p, &one);
    merged.samples = 1;
    merged.ids = {id};
    for (size_t s = 0; s < format_.slots.size(); ++s) {
      const Slot& slot = format_.slots[s];
      const size_t width = slot.item() * static_cast<size_t>(slot.width());
      const size_t n = slot.ragged ? one.values[s].size() : width;
      merged.values[s].append(one.values[s].data(), n);
      const uint64_t rows = n / width;
      if (slot.ragged) merged.lengths[s].append(&rows, 8);
    }
    pack(format_, merged, arena.get(), &places);
  }
  places_ = std::move(places);
  loaded_.clear();
  arenas_ = {std::move(arena)};
  mixed_ = nullptr;
}

// --- exchange ---

std::vector<std::string> Records::take_parts(size_t n, uint64_t seed) {
  std::vector<std::string> parts(n);
  random::Engine engine;
  engine.seed(seed);
  for (const char* p : places_) {
    uint64_t to;
    if (format_.sample_id) {
      std::memcpy(&to, p, 8);
      to = (to ^ (to >> 29)) % n;
    } else {
      to = draw(engine, n);
    }
    const uint64_t bytes = length(p);
    parts[to].append(reinterpret_cast<const char*>(&bytes), 8);
    parts[to].append(p, bytes);
  }
  places_.clear();
  loaded_.clear();
  arenas_.clear();
  mixed_ = nullptr;
  return parts;
}

void Records::add_part(std::string_view bytes) {
  auto arena = std::make_shared<Arena>();
  for (size_t at = 0; at + 8 <= bytes.size();) {
    uint64_t n;
    std::memcpy(&n, bytes.data() + at, 8);
    at += 8;
    ARGOSY_CHECK(n <= bytes.size() - at, runtime)
        << "[global_shuffle] a worker sent samples that are cut off.";
    char* p = arena->take(n);
    std::memcpy(p, bytes.data() + at, n);
    places_.push_back(p);
    at += n;
  }
  arenas_.push_back(std::move(arena));
}

// --- batches ---

class RecordSource final : public Source {
 public:
  RecordSource(const Records& records, int64_t batch_size)
      : records_(records), batch_size_(batch_size) {}

  bool next(int, Batch* batch) override {
    if (stopped_.load(std::memory_order_relaxed)) return false;
    const auto step = static_cast<size_t>(batch_size_);
    const size_t begin = next_.fetch_add(step), size = records_.size();
    if (begin >= size) return false;
    const size_t end = std::min(size, begin + step);
    std::unique_ptr<Columns> columns = take();
    for (size_t i = begin; i < end; ++i) {
      if (i + 4 < end) __builtin_prefetch(records_.places_[i + 4]);
      records_.unpack(records_.places_[i], columns.get());
    }
    columns->finish(records_.format_.slots, batch);
    batch->bytes = 0;
    std::lock_guard lock(mutex_);
    idle_.push_back(std::move(columns));
    return true;
  }

  void stop() override { stopped_.store(true, std::memory_order_relaxed); }

  Progress progress() const override {
    Progress p;
    p.total_samples = records_.size();
    p.samples = std::min<uint64_t>(next_.load(std::memory_order_relaxed), p.total_samples);
    return p;
  }

  int64_t batch_size() const override { return batch_size_; }

 private:
  std::unique_ptr<Columns> take() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<Columns>(records_.format_.slots);
    auto columns = std::move(idle_.back());
    idle_.pop_back();
    return columns;
  }

  const Records& records_;
  const int64_t batch_size_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  std::vector<std::unique_ptr<Columns>> idle_;  // guarded by mutex_
};

std::unique_ptr<Source> Records::batches(int64_t batch_size) const {
  return std::make_unique<RecordSource>(*this, batch_size);
}

}  // namespace argosy::data
