#pragma once

#include <rocksdb/file_system.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "argosy/ps/table/disk.h"

// A file system whose operations fail or hang when a test says so. Databases that are opened while
// one lives are on it.
namespace argosy::ps {

class FailingFiles {
 public:
  enum class Operation : uint8_t { read, write, open };

  // Nobody waits long for such a disk.
  explicit FailingFiles(std::chrono::milliseconds limit = std::chrono::seconds(20)) {
    use_file_system(std::make_shared<Files>(state_));
    set_disk_times({.try_again = std::chrono::milliseconds(1), .limit = limit});
  }
  ~FailingFiles() {
    use_file_system(nullptr);
    set_disk_times({});
    work();
  }
  // The operation after `n` others fails, and with `all` those that follow it.
  void fail_after(int64_t n, bool all) {
    std::lock_guard guard(state_->mutex);
    state_->left = n;
    state_->all = all;
    state_->failed = false;
    state_->armed = true;
  }
  void hang(Operation operation) {
    std::lock_guard guard(state_->mutex);
    state_->hanging = true;
    state_->hung_operation = operation;
  }
  // All work from now on. Returns whether one has failed.
  bool work() {
    {
      std::lock_guard guard(state_->mutex);
      state_->armed = state_->hanging = false;
      state_->wake.notify_all();
      if (!state_->failed) return false;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // until databases look again
    return true;
  }
  int hanging() const { return state_->waiting.load(); }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable wake;
    int64_t left = 0;
    bool armed = false, all = false, failed = false, hanging = false;
    Operation hung_operation = Operation::read;
    std::atomic<int> waiting{0};

    rocksdb::IOStatus allow(Operation operation) {
      std::unique_lock lock(mutex);
      while (hanging && hung_operation == operation) {
        ++waiting;
        wake.wait(lock);
        --waiting;
      }
      if (!armed || left-- > 0) return rocksdb::IOStatus::OK();
      if (!all && failed) return rocksdb::IOStatus::OK();
      failed = true;
      return rocksdb::IOStatus::IOError("a test makes it fail");
    }
  };
  using Shared = std::shared_ptr<State>;

  class Reader final : public rocksdb::FSRandomAccessFileOwnerWrapper {
   public:
    Reader(std::unique_ptr<rocksdb::FSRandomAccessFile> file, Shared state)
        : FSRandomAccessFileOwnerWrapper(std::move(file)), state_(std::move(state)) {}
    rocksdb::IOStatus Read(uint64_t offset, size_t n, const rocksdb::IOOptions& options,
                           rocksdb::Slice* result, char* scratch,
                           rocksdb::IODebugContext* debug) const override {
      if (auto status = state_->allow(Operation::read); !status.ok()) return status;
      return target()->Read(offset, n, options, result, scratch, debug);
    }
    rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t n,
                                const rocksdb::IOOptions& options,
                                rocksdb::IODebugContext* debug) override {
      if (auto status = state_->allow(Operation::read); !status.ok()) return status;
      return target()->MultiRead(requests, n, options, debug);
    }

   private:
    Shared state_;
  };

  class Writer final : public rocksdb::FSWritableFileOwnerWrapper {
   public:
    Writer(std::unique_ptr<rocksdb::FSWritableFile> file, Shared state)
        : FSWritableFileOwnerWrapper(std::move(file)), state_(std::move(state)) {}
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override {
      if (auto status = state_->allow(Operation::write); !status.ok()) return status;
      return target()->Append(data, options, debug);
    }
    rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                             const rocksdb::DataVerificationInfo& information,
                             rocksdb::IODebugContext* debug) override {
      if (auto status = state_->allow(Operation::write); !status.ok()) return status;
      return target()->Append(data, options, information, debug);
    }
    rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* debug) override {
      if (auto status = state_->allow(Operation::write); !status.ok()) return status;
      return target()->Sync(options, debug);
    }

   private:
    Shared state_;
  };

  class Files final : public rocksdb::FileSystemWrapper {
   public:
    explicit Files(Shared state)
        : FileSystemWrapper(rocksdb::FileSystem::Default()), state_(std::move(state)) {}
    const char* Name() const override { return "FailingFiles"; }
    rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                          const rocksdb::FileOptions& options,
                                          std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                          rocksdb::IODebugContext* debug) override {
      auto status = state_->allow(Operation::open);
      if (status.ok()) status = target()->NewRandomAccessFile(name, options, file, debug);
      if (status.ok()) *file = std::make_unique<Reader>(std::move(*file), state_);
      return status;
    }
    rocksdb::IOStatus NewSequentialFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                        rocksdb::IODebugContext* debug) override {
      auto status = state_->allow(Operation::open);
      if (status.ok()) status = target()->NewSequentialFile(name, options, file, debug);
      return status;
    }
    rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      rocksdb::IODebugContext* debug) override {
      auto status = state_->allow(Operation::open);
      if (status.ok()) status = target()->NewWritableFile(name, options, file, debug);
      if (status.ok()) *file = std::make_unique<Writer>(std::move(*file), state_);
      return status;
    }

   private:
    Shared state_;
  };

  Shared state_ = std::make_shared<State>();
};

}  // namespace argosy::ps
