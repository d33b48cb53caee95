#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "argosy/data/source.h"

namespace argosy::data {

// Samples in memory, packed: for each slot the numbers, for ragged ones after their count (LEB128);
// with sample ids, their hash in front. 8 bytes more for each sample's place.
//
// One thread uses it at a time, but for batches() and Source::next.
class ARGOSY_API Records {
 public:
  explicit Records(const Format& format);
  ~Records();

  // Adds all samples of the files; `readers` of them at a time. Throws as Source::next, and
  // ErrorKind::timeout when no reader got on for the timeout.
  void load(const ReadOptions& options);
  void stop_loading();  // from another thread; nothing if load() has not begun

  size_t size() const { return places_.size(); }
  uint64_t bytes() const;  // of memory
  uint64_t bad_lines() const { return bad_lines_; }
  const Format& format() const { return format_; }

  void shuffle(uint64_t seed);
  // Each sample gets the values of these slots from one drawn out of all: what remains of a model's
  // quality tells what the slots are worth. Calls do not add up: each starts from what was loaded.
  void shuffle_slots(std::span<const size_t> slots, uint64_t seed);
  // Samples of one id (see Format::sample_id) become one, dense slots from the first, ragged ones
  // joined; `most` > 0: groups of another number of samples are dropped.
  void merge_by_id(size_t most);

  // For an exchange among processes: which of n parts a sample goes to is drawn, or follows from
  // its id if the format has ids. The parts' bytes; all samples are then gone from here.
  std::vector<std::string> take_parts(size_t n, uint64_t seed);
  void add_part(std::string_view bytes);

  // A pass over all samples in their order. The records must stay as they are until it ends.
  std::unique_ptr<Source> batches(int64_t batch_size) const;

 private:
  friend class RecordSource;
  struct Arena;
  struct Loading;
  static void pack(const Format& format, const Columns& columns, Arena* arena,
                   std::vector<const char*>* places);
  void unpack(const char* at, Columns* columns) const;
  const char* skip(const char* at, size_t slot) const;
  size_t length(const char* at) const;

  Format format_;
  std::vector<std::shared_ptr<Arena>> arenas_;
  std::vector<const char*> places_;
  std::vector<const char*> loaded_;  // before shuffle_slots; empty if there was none
  std::shared_ptr<Arena> mixed_;     // of shuffle_slots
  uint64_t bad_lines_ = 0;
  std::mutex loading_;
  std::shared_ptr<Loading> now_;  // guarded by loading_; null: load() does not run
};

}  // namespace argosy::data
