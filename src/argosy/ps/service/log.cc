#include "argosy/ps/service/log.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "argosy/base/error.h"
#include "argosy/ps/service/log_segment.h"

namespace argosy::ps {

Log::Log(const LogOptions& options, uint64_t after) : options_(options), lock_(options.directory) {
  recover(after);
  thread_ = std::thread([this] { run(); });
}

Log::~Log() {
  {
    MutexLock guard(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  thread_.join();
}

void Log::recover(uint64_t after) {
  last_ = durable_ = after;
  std::vector<SegmentName> names = list_segments(options_.directory);
  ARGOSY_CHECK(names.empty() || names.front().first <= after + 1, io)
      << "[log] '" << names.front().path << "' begins with record " << names.front().first
      << ", but the snapshot holds only those up to " << after
      << ": the files between are missing. Do this: put them back, or move '" << options_.directory
      << "' away and start from the last saved model.";
  while (!names.empty()) {
    const SegmentName name = names.back();
    const SegmentEnd end = check_tail(name);
    if (!end.whole) {
      // Died before its first record was durable.
      remove_file(name.path);
      names.pop_back();
      continue;
    }
    if (end.next <= after) break;
    file_ = AppendFile(name.path, end.offset);
    file_.sync();
    last_ = durable_ = end.next - 1;
    for (const SegmentName& n : names) {
      segments_.push_back({n.first, n.first == name.first ? end.offset : InputFile(n.path).size()});
    }
    return;
  }
  // The snapshot is ahead of all of them.
  for (const SegmentName& n : names) remove_file(n.path);
}

uint64_t Log::append(std::span<const std::span<const std::byte>> parts) {
  size_t bytes = 0;
  uint32_t sum = 0;
  for (const auto& part : parts) {
    bytes += part.size();
    sum = crc32c(part.data(), part.size(), sum);
  }
  ARGOSY_CHECK(bytes <= kMaxRecordBytes, invalid_argument)
      << "[log] a record has " << bytes << " bytes, at most " << kMaxRecordBytes
      << " are allowed. Do this: push in smaller pieces.";
  const size_t taken = record_bytes(bytes);

  WaitLock lock(mutex_);
  const auto has_room = [&]() ARGOSY_REQUIRES(mutex_) {
    return !failure_.empty() || buffer_.empty() || buffer_.size() + taken <= options_.buffer_bytes;
  };
  ARGOSY_CHECK(done_.wait_for(lock, std::chrono::seconds(60), has_room), timeout)
      << "[log] '" << options_.directory
      << "': the disk has taken nothing for 60 s. Do this: look at the health of the disk.";
  ARGOSY_CHECK(failure_.empty(), io) << failure_;
  RecordHeader header;
  header.bytes = static_cast<uint32_t>(bytes);
  header.number = ++last_;
  header.payload_sum = sum;
  const size_t start = buffer_.size();
  buffer_.resize(start + taken);
  std::byte* to = buffer_.data() + start;
  std::memcpy(to, &header, sizeof header);
  to += sizeof header;
  for (const auto& part : parts) {
    if (!part.empty()) std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  const uint64_t number = last_;
  lock.unlock();
  work_.notify_one();
  return number;
}

void Log::wait(uint64_t number, std::chrono::milliseconds deadline) {
  WaitLock lock(mutex_);
  const bool answered = done_.wait_for(lock, deadline, [&]() ARGOSY_REQUIRES(mutex_) {
    return durable_ >= number || !failure_.empty();
  });
  if (durable_ >= number) return;
  ARGOSY_CHECK(failure_.empty(), io) << failure_;
  ARGOSY_CHECK(answered, timeout) << "[log] '" << options_.directory << "': record " << number
                                  << " was not synced within " << deadline.count()
                                  << " ms. Do this: look at the health of the disk.";
}

void Log::when_durable(uint64_t number, std::function<void(const std::string&)> done) {
  std::string failure;
  {
    MutexLock guard(mutex_);
    if (durable_ < number) {
      if (failure_.empty()) {
        waiters_.push_back({number, std::move(done)});
        return;
      }
      failure = failure_;
    }
  }
  done(failure);
}

void Log::answer(uint64_t number, const std::string& failure) {
  std::vector<Waiter> ready;
  {
    MutexLock guard(mutex_);
    const auto rest = std::partition(waiters_.begin(), waiters_.end(), [&](const Waiter& w) {
      return failure.empty() && w.number > number;
    });
    ready.assign(std::make_move_iterator(rest), std::make_move_iterator(waiters_.end()));
    waiters_.erase(rest, waiters_.end());
  }
  for (const Waiter& w : ready) w.done(failure);
}

uint64_t Log::last() const {
  MutexLock guard(mutex_);
  return last_;
}

uint64_t Log::durable() const {
  MutexLock guard(mutex_);
  return durable_;
}

uint64_t Log::bytes() const {
  MutexLock guard(mutex_);
  uint64_t sum = 0;
  for (const Segment& s : segments_) sum += s.bytes;
  return sum;
}

void Log::run() {
  std::vector<std::byte> batch;
  WaitLock lock(mutex_);
  while (true) {
    work_.wait(lock, [&]() ARGOSY_REQUIRES(mutex_) { return stop_ || !buffer_.empty(); });
    if (buffer_.empty()) return;
    batch.clear();
    batch.swap(buffer_);
    const uint64_t first = durable_ + 1, last = last_;
    lock.unlock();
    done_.notify_all();  // the buffer has room
    while (true) {
      std::string failure;
      try {
        write_batch(batch, first);
      } catch (const Error& e) {
        failure = std::string("[log] ") + e.what() +
                  " Pushes are refused until it can be written. Do this: make room on the disk.";
      }
      lock.lock();
      failure_ = failure;
      if (failure.empty()) break;
      const bool give_up = stop_;
      lock.unlock();
      done_.notify_all();
      answer(0, failure);
      if (give_up) return;
      lock.lock();
      work_.wait_for(lock, options_.retry_every, [&]() ARGOSY_REQUIRES(mutex_) { return stop_; });
      lock.unlock();
    }
    durable_ = last;
    if (!segments_.empty()) segments_.back().bytes = file_.size();
    lock.unlock();
    done_.notify_all();
    answer(last, {});
    if (batch.capacity() > options_.buffer_bytes) std::vector<std::byte>().swap(batch);
    lock.lock();
  }
}

void Log::write_batch(std::vector<std::byte>& batch, uint64_t first) {
  for (size_t at = 0; at < batch.size();) {
    RecordHeader header;
    std::memcpy(&header, batch.data() + at, sizeof header);
    header.synced = first - 1;
    seal(&header);
    std::memcpy(batch.data() + at, &header, sizeof header);
    at += record_bytes(header.bytes);
  }
  if (!file_.open() || file_.size() >= options_.segment_bytes) start_segment(first);
  const uint64_t good = file_.size();
  bool synced = false;
  try {
    file_.write(batch.data(), batch.size());
    synced = true;
    file_.sync();
  } catch (const Error&) {
    // After a failed sync nobody knows what is on the disk, so the next try is a new file; readers
    // end this one where that begins.
    try {
      file_.cut(good);
    } catch (const Error&) {
      synced = true;
    }
    if (synced) file_.close();
    throw;
  }
}

void Log::start_segment(uint64_t first) {
  const std::string path = segment_path(options_.directory, first);
  remove_file(path);  // of a try that failed
  AppendFile file(path);
  try {
    const SegmentHeader header = segment_header(first);
    file.write(&header, sizeof header);
    file.sync();
    sync_directory(options_.directory);
  } catch (const Error&) {
    file.close();
    try {
      remove_file(path);
    } catch (const Error&) {
    }
    throw;
  }
  file_ = std::move(file);
  MutexLock guard(mutex_);
  if (segments_.empty() || segments_.back().first != first) segments_.push_back({first, 0});
  segments_.back().bytes = file_.size();
}

void Log::forget(uint64_t number) {
  std::vector<std::string> gone;
  {
    MutexLock guard(mutex_);
    size_t n = 0;
    while (n + 1 < segments_.size() && segments_[n + 1].first <= number + 1) {
      gone.push_back(segment_path(options_.directory, segments_[n++].first));
    }
    segments_.erase(segments_.begin(), segments_.begin() + static_cast<ptrdiff_t>(n));
  }
  for (const std::string& path : gone) remove_file(path);
}

}  // namespace argosy::ps
