#include "argosy/data/source.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>

#include "argosy/base/log.h"
#include "argosy/data/parser.h"
#include "argosy/data/patience.h"

namespace argosy::data {

Source::~Source() = default;

struct Threads::SignalsBlocked::Mask {
  sigset_t set;
};

Threads::SignalsBlocked::SignalsBlocked() : before_(new Mask) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_->set);
}

Threads::SignalsBlocked::~SignalsBlocked() {
  pthread_sigmask(SIG_SETMASK, &before_->set, nullptr);
}

bool Threads::wait(double seconds) {
  std::unique_lock lock(running_->mutex);
  return running_->none.wait_until(lock, Patience(seconds).end(),
                                   [&] { return running_->threads == 0; });
}

bool Threads::end(double seconds) {
  if (threads_.empty()) return true;
  if (wait(seconds)) {
    join();
    return true;
  }
  for (std::thread& t : threads_) t.detach();
  threads_.clear();
  return false;
}

// --- queue ---

BatchQueue::BatchQueue(size_t lanes, size_t room, int writers, double timeout, const Stop& reading)
    : room_(std::max<size_t>(room, 1)),
      timeout_(timeout),
      reading_(reading),
      lanes_(std::max<size_t>(lanes, 1)),
      writers_(writers) {}

template <class Ready, class Moves>
bool BatchQueue::wait(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
                      Ready ready, Moves moves) {
  if (ready()) return true;
  Patience patience(timeout_);
  uint64_t seen = moves();
  while (!changed.wait_until(lock, patience.end(), ready)) {
    const uint64_t now = moves();
    if (now == seen) return false;
    seen = now;
    patience.restart();
  }
  return true;
}

bool BatchQueue::push(Batch batch) {
  std::unique_lock lock(mutex_);
  const bool in_time = wait(
      not_full_, lock, [&] { return size_ < room_ || stopped_; }, [&] { return popped_; });
  ARGOSY_CHECK(in_time, timeout)
      << "[dataset] a reader waited " << timeout_ << " s for room: " << size_
      << " batches are ready and no thread that trains took one. Do this: look at what the threads "
         "that train wait for, "
      << kLongerLimit;
  if (stopped_) return false;
  auto lane = std::min_element(lanes_.begin(), lanes_.end(),
                               [](const auto& a, const auto& b) { return a.size() < b.size(); });
  lane->push_back(std::move(batch));
  ++size_;
  ++pushed_;
  lock.unlock();
  not_empty_.notify_one();
  return true;
}

bool BatchQueue::pop(size_t worker, Batch* batch) {
  std::unique_lock lock(mutex_);
  const bool in_time = wait(
      not_empty_, lock, [&] { return size_ > 0 || stopped_ || writers_ == 0; },
      [&] { return pushed_ + reading_.moves(); });
  ARGOSY_CHECK(in_time, timeout)
      << "[dataset] thread " << worker << " waited " << timeout_ << " s for a batch, and none of "
      << writers_ << " readers got on in that time: does a file system hang? Do this: try to read "
      << "the files by hand, " << kLongerLimit;
  if (error_) {
    std::exception_ptr error = std::exchange(error_, nullptr);
    lock.unlock();
    std::rethrow_exception(error);
  }
  if (stopped_ || size_ == 0) return false;
  size_t lane = worker % lanes_.size();
  while (lanes_[lane].empty()) lane = (lane + 1) % lanes_.size();
  *batch = std::move(lanes_[lane].front());
  lanes_[lane].pop_front();
  --size_;
  ++popped_;
  lock.unlock();
  not_full_.notify_one();
  return true;
}

void BatchQueue::writer_ended() {
  std::lock_guard lock(mutex_);
  if (--writers_ == 0) not_empty_.notify_all();
}

void BatchQueue::fail(std::exception_ptr error) {
  std::lock_guard lock(mutex_);
  if (stopped_) return;  // errors of stopping
  error_ = std::move(error);
  stopped_ = true;
  not_full_.notify_all();
  not_empty_.notify_all();
}

void BatchQueue::stop() {
  std::lock_guard lock(mutex_);
  stopped_ = true;
  not_full_.notify_all();
  not_empty_.notify_all();
}

size_t BatchQueue::size() const {
  std::lock_guard lock(mutex_);
  return size_;
}

// --- files ---

FileReader::FileReader(const ReadOptions& options, const Stop& stop)
    : options_(options), stop_(stop) {}

void FileReader::run_erased(Shared& shared, Take take) {
  const Parser parser(options_.format);
  Columns columns(options_.format.slots);
  uint64_t text = 0;
  std::string why;
  for (;;) {
    const size_t file = shared.next_file.fetch_add(1);
    if (file >= options_.files.size()) break;
    const std::string& path = options_.files[file];
    const auto stream = open_stream(path, options_.stream, stop_);
    Lines lines(*stream);
    uint64_t counted = 0;
    auto count_bytes = [&] {
      const uint64_t now = stream->consumed();
      shared.bytes.fetch_add(now - counted, std::memory_order_relaxed);
      counted = now;
    };
    const char *begin, *end;
    while (lines.next(&begin, &end)) {
      text += static_cast<uint64_t>(end - begin) + 1;
      if (!parser.parse(begin, end, &columns, &why)) {
        if (why.empty()) continue;
        ARGOSY_CHECK(options_.skip_bad_lines, invalid_argument)
            << "[dataset] " << path << ':' << lines.number() << ": " << why
            << ". Do this: mend the line"
            << (options_.stream.pipe_command == "cat" || options_.stream.pipe_command.empty()
                    ? ""
                    : " (of what the pipe_command wrote)")
            << ", or init the data set with bad_lines='skip', which counts such lines and goes on.";
        shared.bad_lines.fetch_add(1, std::memory_order_relaxed);
        why.clear();
        continue;
      }
      if (columns.samples < options_.batch_size) continue;
      shared.samples.fetch_add(static_cast<uint64_t>(columns.samples), std::memory_order_relaxed);
      count_bytes();
      if (!take.call(take.object, columns, text)) return;
      text = 0;
    }
    count_bytes();
  }
  if (!columns.samples) return;
  shared.samples.fetch_add(static_cast<uint64_t>(columns.samples), std::memory_order_relaxed);
  take.call(take.object, columns, text);
}

namespace {

// What the readers and the source have in common; readers that are left behind keep it.
struct Reading {
  explicit Reading(const ReadOptions& o)
      : options(o), queue(o.lanes, o.room, readers(), later(o.stream.timeout), stop) {}

  int readers() const {
    return std::max(1, std::min(options.readers, static_cast<int>(options.files.size())));
  }

  void read() {
    try {
      FileReader reader(options, stop);
      reader.run(shared, [&](Columns& columns, uint64_t bytes) {
        Batch batch;
        columns.finish(options.format.slots, &batch);
        batch.bytes = bytes;
        return queue.push(std::move(batch));
      });
      queue.writer_ended();
    } catch (const Error& e) {
      // A copy, which the worker that gets it has for itself.
      queue.fail(std::make_exception_ptr(Error(e)));
      stop.set();
    } catch (const std::exception&) {
      queue.fail(std::make_exception_ptr(
          Error(ErrorKind::memory, "[dataset] no memory left for what was read.")));
      stop.set();
    }
  }

  const ReadOptions options;
  Stop stop;
  FileReader::Shared shared;
  BatchQueue queue;
};

class FileSource final : public Source {
 public:
  explicit FileSource(const ReadOptions& options) : reading_(std::make_shared<Reading>(options)) {
    Parser check(options.format);
    for (const std::string& file : options.files) {
      const uint64_t size = file_size(file);
      if (!size) sizes_known_ = false;
      total_ += size;
    }
    threads_.start(reading_->readers(), [reading = reading_](int) { reading->read(); });
  }

  ~FileSource() override {
    stop();
    if (!threads_.end(kGrace))
      ARGOSY_LOG(warning)
          << "[dataset] a reader has not ended " << kGrace
          << " s after it was told to, and is left behind: does a file system hang?";
  }

  bool next(int worker, Batch* batch) override {
    return reading_->queue.pop(static_cast<size_t>(worker), batch);
  }

  void stop() override {
    reading_->stop.set();
    reading_->queue.stop();
  }

  Progress progress() const override {
    const FileReader::Shared& shared = reading_->shared;
    Progress p;
    p.samples = shared.samples.load(std::memory_order_relaxed);
    p.bytes = shared.bytes.load(std::memory_order_relaxed);
    p.bad_lines = shared.bad_lines.load(std::memory_order_relaxed);
    p.total_bytes = sizes_known_ ? total_ : 0;
    p.queued = reading_->queue.size();
    p.room = reading_->queue.room();
    return p;
  }

  int64_t batch_size() const override { return reading_->options.batch_size; }

 private:
  const std::shared_ptr<Reading> reading_;
  uint64_t total_ = 0;
  bool sizes_known_ = true;
  Threads threads_;
};

}  // namespace

std::unique_ptr<Source> read_files(const ReadOptions& options) {
  return std::make_unique<FileSource>(options);
}

}  // namespace argosy::data
