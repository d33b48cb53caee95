#pragma once

#include <memory>
#include <optional>
#include <string>

#include "argosy/base/mutex.h"
#include "argosy/ps/service/directory.h"
#include "argosy/ps/service/durable_copy.h"
#include "argosy/ps/service/durable_snapshots.h"
#include "argosy/ps/service/save_folder.h"

namespace argosy::ps {

// Saves, one at a time, in the steps of Durability. A save has the turn from its first step to its
// last; a step that is not followed by the next one in time cancels it.
class Saves {
 public:
  Saves(Keeping& k, Snapshots& snapshots) : k_(k), snapshots_(snapshots) {}

  SaveId reserve(std::chrono::milliseconds lease);
  void prepare(SaveId id, const std::shared_ptr<const Directory>& directory, int mode,
               const Extent& extent);
  void pause(SaveId id, std::chrono::milliseconds limit);
  uint64_t finish(SaveId id);
  void publish(SaveId id);
  void cancel(SaveId id);
  // The next step may take as long again to come.
  void keep(SaveId id);
  uint64_t whole(const std::shared_ptr<const Directory>& directory, int mode, const Extent& extent);

  // Called often: cancels one that was not continued in time.
  void tick();
  bool any() const;
  // No save begins or goes on; the one there is gets cancelled.
  void stop();
  int64_t pause_us() const { return pause_us_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Step : uint8_t { busy, reserved, prepared, paused, finished };
  struct Save {
    SaveId id = 0;
    std::shared_ptr<const Directory> directory;
    std::optional<SaveFolder> folder;
    int mode = 0;
    uint32_t table = kAllTables;
    std::unique_ptr<SnapshotWriter> writer;
    bool tracking = false;               // tables remember changes for it
    std::vector<Copier::Scores> scores;  // of its rows, which count as saved once it is published
    Step step = Step::busy;              // guarded by Saves::mutex_, as the next two
    bool cancelled = false;
    std::chrono::milliseconds lease = kSaveLease;           // constant
    Clock::time_point deadline = Clock::time_point::max();  // of the next step
    Clock::time_point paused;

    std::string name() const;       // of its folder
    std::string described() const;  // for texts
  };

  // Numbers of one life of a server grow.
  SaveId next() ARGOSY_REQUIRES(mutex_);
  // On servers other than the first: that one gives out numbers and lets saves follow each other.
  // So another save that is here was given up by its client, and what is still asked for one of a
  // lower number comes late.
  void give_up_others(SaveId id);
  void check_newest(SaveId id) const ARGOSY_REQUIRES(mutex_);
  // 0: gets its number once it has the turn, so that numbers are in the order of turns.
  std::shared_ptr<Save> begin(SaveId id);
  // Takes a save on to its next step, and says that this ended.
  std::shared_ptr<Save> step_of(SaveId id, Step from, const char* what);
  void end_step(const std::shared_ptr<Save>& save, Step step, std::chrono::milliseconds limit);
  void drop(const std::shared_ptr<Save>& save);
  void write_rows(Save& save, float share);
  uint64_t write_rest(Save& save);

  Keeping& k_;
  Snapshots& snapshots_;
  std::atomic<int64_t> pause_us_{0};
  mutable Mutex mutex_;
  std::shared_ptr<Save> save_ ARGOSY_GUARDED_BY(mutex_);
  const SaveId life_ = random_number() >> 24;    // so that saves of two jobs have different names
  SaveId count_ ARGOSY_GUARDED_BY(mutex_) = 0;   // that were given out
  SaveId newest_ ARGOSY_GUARDED_BY(mutex_) = 0;  // that was given out or asked for here
  bool stopping_ ARGOSY_GUARDED_BY(mutex_) = false;
};

}  // namespace argosy::ps
