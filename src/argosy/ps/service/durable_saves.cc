#include "argosy/ps/service/durable_saves.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::ps {
namespace {

using std::chrono::milliseconds;

// A save copies again what changed meanwhile until little is left for the pause.
constexpr int kMaxPasses = 6;
constexpr uint64_t kFewBytes = uint64_t{4} << 20;
// Of a number of a save; above them is what this life of the server has for all of its saves.
constexpr int kCounterBits = 24;

// Runs f; errors name the directory as people do.
template <class F>
auto with_name(const std::shared_ptr<const Directory>& directory, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw Error(e.kind(), directory->named(e.what()));
  }
}

// Their rows are in place: the next increment has what comes from now on. Where a disk refuses
// that, it has them once more.
void count_as_saved(const std::vector<Copier::Scores>& all) {
  for (const Copier::Scores& of : all) {
    try {
      of.table->take_delta_scores(of.keys, of.scores.data());
    } catch (const Error& e) {
      ARGOSY_LOG(warning) << "[save] The next increment has rows again that this save has: "
                          << e.what();
    }
  }
}

}  // namespace

std::string Saves::Save::name() const {
  char text[32];
  std::snprintf(text, sizeof text, "save-%016llx", static_cast<unsigned long long>(id));
  return text;
}

std::string Saves::Save::described() const {
  return directory ? "the save into '" + directory->name() + "'" : "a save";
}

SaveId Saves::next() {
  return newest_ = life_ << kCounterBits | ++count_;
}

// Takes the turn.
std::shared_ptr<Saves::Save> Saves::begin(SaveId id) {
  take_turn(k_.turn, k_.limit(), "a save");
  auto save = std::make_shared<Save>();
  MutexLock guard(mutex_);
  save->id = id ? id : next();
  save->lease = std::min(kSaveLease, k_.limit() / 2);
  try {
    check_newest(save->id);
    ARGOSY_CHECK(!stopping_, runtime) << "[save] The server ends.";
  } catch (...) {
    k_.turn.give();
    throw;
  }
  return save_ = save;
}

void Saves::check_newest(SaveId id) const {
  const bool late = id >> kCounterBits == newest_ >> kCounterBits && id < newest_;
  ARGOSY_CHECK(k_.host.options().index == 0 || !late, runtime)
      << "[save] A later save has begun: this one was given up.";
}

void Saves::give_up_others(SaveId id) {
  SaveId old = 0;
  {
    MutexLock guard(mutex_);
    check_newest(id);
    newest_ = id;
    if (save_ && save_->id != id) old = save_->id;
  }
  if (old) cancel(old);
}

SaveId Saves::reserve(milliseconds lease) {
  const std::shared_ptr<Save> save = begin(0);
  save->lease = std::min(lease, save->lease);
  end_step(save, Step::reserved, save->lease);
  return save->id;
}

void Saves::write_rows(Save& save, float share) {
  const auto interrupted = [&] {
    MutexLock guard(mutex_);
    ARGOSY_CHECK(!stopping_ && !save.cancelled, runtime)
        << "[save] " << save.described() << " was cancelled.";
  };
  const std::vector<SparseTable*> sparse = k_.tables(save.table).sparse;
  Copier copier(k_.gate, nullptr, k_.limit());
  if (save.mode == 4) return copier.copy_hottest(save.writer.get(), sparse, share, interrupted);
  if (save.mode == 1 || save.mode == 2) {
    const Selection selection = save.mode == 1 ? Selection::delta : Selection::base;
    copier.copy(save.writer.get(), sparse, {.selection = selection, .mark = false}, interrupted,
                &save.scores);
    return;
  }
  snapshots_.lose_marks();
  save.tracking = true;
  copier.copy(save.writer.get(), sparse, {.selection = Selection::all}, interrupted);
  for (int pass = 1; pass < kMaxPasses; ++pass) {
    save.writer->next_pass();
    if (copier.copy(save.writer.get(), sparse, {.selection = Selection::changed}, interrupted) <=
        kFewBytes)
      break;
  }
  save.writer->next_pass();
}

void Saves::prepare(SaveId id, const std::shared_ptr<const Directory>& directory, int mode,
                    const Extent& extent) {
  ARGOSY_CHECK(mode >= 0 && mode <= 4, invalid_argument)
      << "[save] mode: expected 0 (all), 1 (delta), 2 (base), 3 (all after a shrink) or 4 (the "
         "rows shown most), got "
      << mode << '.';
  ARGOSY_CHECK(extent.share >= 0 && extent.share <= 1, invalid_argument)
      << "[save] share of rows: expected a number from 0 to 1, got " << extent.share << '.';
  k_.tables(extent.table);
  bool reserved;
  {
    MutexLock guard(mutex_);
    reserved = save_ && save_->id == id;
  }
  if (k_.host.options().index > 0) give_up_others(id);
  const std::shared_ptr<Save> save = reserved ? step_of(id, Step::reserved, "begin") : begin(id);
  try {
    with_name(directory, [&] {
      Manifest manifest = k_.manifest(save->name(), "", mode);
      if (extent.table != kAllTables)
        std::erase_if(manifest.tables, [&](const TableConfig& t) { return t.id != extent.table; });
      save->mode = mode;
      save->table = extent.table;
      {
        MutexLock guard(mutex_);
        save->directory = directory;
      }
      save->folder.emplace(directory->path(), manifest.server, manifest.servers);
      save->folder->begin(save->name());
      save->writer = std::make_unique<SnapshotWriter>(directory->path(), std::move(manifest));
      write_rows(*save, extent.share);
      save->writer->sync();
    });
  } catch (...) {
    drop(save);
    throw;
  }
  end_step(save, Step::prepared, save->lease);
}

std::shared_ptr<Saves::Save> Saves::step_of(SaveId id, Step from, const char* what) {
  MutexLock guard(mutex_);
  ARGOSY_CHECK(save_ && save_->id == id && save_->step == from, runtime)
      << "[save] cannot " << what << " save " << id
      << ": it was cancelled, took too long, or its steps came out of order. Do this: save again.";
  save_->step = Step::busy;
  save_->deadline = Clock::time_point::max();
  return save_;
}

void Saves::end_step(const std::shared_ptr<Save>& save, Step step, milliseconds limit) {
  bool cancelled;
  {
    MutexLock guard(mutex_);
    save->step = step;
    save->deadline = Clock::now() + limit;
    cancelled = save->cancelled;
  }
  if (!cancelled) return;
  cancel(save->id);
  ARGOSY_THROW(runtime) << "[save] " << save->described() << " was cancelled.";
}

// Holding its step (busy), outside of the gate.
void Saves::drop(const std::shared_ptr<Save>& save) {
  save->writer.reset();
  if (save->folder) save->folder->give_up(save->name());
  if (save->tracking)
    for (SparseTable* table : k_.tables(save->table).sparse) table->stop_tracking();
  {
    MutexLock guard(mutex_);
    save_.reset();
  }
  k_.turn.give();
}

void Saves::pause(SaveId id, milliseconds limit) {
  const std::shared_ptr<Save> save = step_of(id, Step::prepared, "pause for");
  try {
    enter_alone(k_.gate, std::min(limit, k_.limit()), "a save that pauses changes");
  } catch (...) {
    drop(save);
    throw;
  }
  save->paused = Clock::now();
  end_step(save, Step::paused, limit);
}

// Within the pause, which it ends.
uint64_t Saves::write_rest(Save& save) {
  struct Copy {
    SparseTable* table;
    uint32_t shard;
    Rows rows;
    std::vector<Key> deleted;
  };
  std::vector<Copy> copies;
  std::vector<std::vector<std::byte>> dense;
  TableSet set;
  const uint64_t position = k_.position();
  std::exception_ptr error;
  try {
    set = k_.tables(save.table);
    for (DenseTable* table : set.dense) dense.push_back(table->copy());
    if (save.mode == 0 || save.mode == 3) {
      for (SparseTable* table : set.sparse) {
        for (uint32_t shard = 0; shard < kShards; ++shard) {
          Copy copy{table, shard, {}, {}};
          table->copy_shard(shard, Selection::changed, true, &copy.rows, &copy.deleted);
          if (!copy.rows.keys.empty() || !copy.deleted.empty()) copies.push_back(std::move(copy));
        }
      }
    }
  } catch (...) {
    error = std::current_exception();
  }
  k_.gate.leave_alone();
  pause_us_ =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - save.paused).count();
  if (error) std::rethrow_exception(error);
  for (const Copy& copy : copies)
    save.writer->write(*copy.table, copy.shard, position, copy.rows, copy.deleted);
  for (size_t i = 0; i < set.dense.size(); ++i)
    save.writer->add_dense(*set.dense[i], dense[i], position);
  save.writer->finish();
  return save.writer->rows();
}

uint64_t Saves::finish(SaveId id) {
  const std::shared_ptr<Save> save = step_of(id, Step::paused, "finish");
  uint64_t rows = 0;
  try {
    rows = with_name(save->directory, [&] { return write_rest(*save); });
  } catch (...) {
    drop(save);
    throw;
  }
  end_step(save, Step::finished, save->lease);
  return rows;
}

void Saves::publish(SaveId id) {
  const std::shared_ptr<Save> save = step_of(id, Step::finished, "publish");
  try {
    with_name(save->directory, [&] { save->folder->publish(save->name()); });
    save->folder.reset();
    count_as_saved(save->scores);
  } catch (...) {
    drop(save);
    throw;
  }
  drop(save);
}

void Saves::keep(SaveId id) {
  MutexLock guard(mutex_);
  if (!save_ || save_->id != id) return;
  const Step step = save_->step;
  // A pause has an end of its own.
  if (step == Step::busy || step == Step::paused) return;
  save_->deadline = Clock::now() + save_->lease;
}

void Saves::cancel(SaveId id) {
  std::shared_ptr<Save> save;
  Step step;
  {
    MutexLock guard(mutex_);
    if (!save_ || save_->id != id) return;
    save_->cancelled = true;
    step = save_->step;
    // Who is at it sees it at the end of the step.
    if (step == Step::busy) return;
    save = save_;
    save->step = Step::busy;
  }
  if (step == Step::paused) k_.gate.leave_alone();
  drop(save);
}

uint64_t Saves::whole(const std::shared_ptr<const Directory>& directory, int mode,
                      const Extent& extent) {
  SaveId id;
  {
    MutexLock guard(mutex_);
    id = next();
  }
  prepare(id, directory, mode, extent);
  pause(id, std::chrono::seconds(60));
  const uint64_t rows = finish(id);
  publish(id);
  return rows;
}

bool Saves::any() const {
  MutexLock guard(mutex_);
  return save_ != nullptr;
}

void Saves::tick() {
  SaveId id;
  std::string what;
  {
    MutexLock guard(mutex_);
    if (!save_ || save_->deadline >= Clock::now()) return;
    id = save_->id;
    what = save_->described();
  }
  ARGOSY_LOG(warning) << what << " was not continued in time and is cancelled.";
  cancel(id);
}

void Saves::stop() {
  SaveId id;
  {
    MutexLock guard(mutex_);
    stopping_ = true;
    if (!save_) return;
    id = save_->id;
  }
  cancel(id);
}

}  // namespace argosy::ps
