#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/base/mutex.h"
#include "argosy/cuda/pool.h"

namespace argosy::cuda {

// The GPUs of the process, as the rooms below op/ see devices.
//
// Memory: each stream has a pool. A block that other streams used (record_use) goes back to its
// pool when events on those have passed, which is looked at when memory is asked for; no other
// block waits for anything. Where the driver has no memory left, what is kept for reuse is given
// back first.
//
// Locks: mutex_ guards the table of streams, chunks_mutex_ which memory is whose, each Line::mutex
// its pool, pinned_mutex_ pinned memory. Who holds a Line's may take chunks_mutex_; nobody else
// holds two. Lines live as long as the process.
class CudaDevice final : public Device {
 public:
  static CudaDevice& get();  // started
  explicit CudaDevice(int count);

  const char* name() const override { return "gpu"; }
  int count() const override { return count_; }
  std::vector<std::pair<std::string, std::string>> properties(Place place) override;

  void* allocate(Stream stream, size_t bytes) override;
  void release(Place place, void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override { return StreamPool::rounded(bytes); }
  size_t reserved(Place place) override;
  void release_cached(Place place) override;
  std::string report(Place place) override;
  void record_use(Stream stream, const void* address) override;
  // Of blocks from kNoted bytes on: by the op that wrote them last.
  std::vector<Holder> holders(Place place) override;
  static constexpr size_t kNoted = size_t{1} << 20;
  // The op wrote the block. `op` lives as long as the process.
  void note_writer(const void* block, const char* op);

  void copy_from_host(Stream stream, void* to, const void* from, size_t bytes) override;
  void copy_to_host(Stream stream, void* to, const void* from, size_t bytes) override;
  void* allocate_pinned(size_t bytes) override;
  void release_pinned(void* block) noexcept override;
  void copy_from_pinned(Stream stream, void* to, const void* from, size_t bytes) override;
  void copy_to_pinned(Stream stream, void* to, const void* from, size_t bytes) override;

  Stream make_stream(Place place) override;
  void drop_stream(Stream stream) noexcept override;
  Ref<DeviceEvent> record(Stream stream) override;
  void wait(Stream stream, DeviceEvent& event) override;
  bool done(Stream stream) override;
  void synchronize(Stream stream) override;
  void synchronize(Place place) override;

  bool has_graphs() const override { return true; }
  bool begin_graph(Stream stream) override;
  Ref<DeviceGraph> end_graph(Stream stream) noexcept override;

  // CUDA's own. The stream's device is current on the calling thread afterwards.
  cudaStream_t stream(Stream stream);
  // See NativeStreams::adopt. No stream that it gives is dropped.
  Stream adopt(Place place, cudaStream_t stream);

 private:
  struct Waiting {  // a block that other streams may still use
    void* block;
    size_t bytes;
    std::vector<cudaEvent_t> events;
  };
  // A stream with its memory.
  struct Line {
    Line(Stream stream, cudaStream_t cuda, const memory::Backend* backend)
        : stream(stream),
          cuda(cuda),
          pool(backend, stream.place.index),
          of_graphs(backend, stream.place.index) {}
    const Stream stream;
    const cudaStream_t cuda;
    // The one thread that has enqueued here, by its number; 0: none yet. CUDA would record what any
    // thread enqueues, so only that one may record, and another waits for its end once.
    std::atomic<uint64_t> thread{0};
    Mutex recorder;  // held while `thread` records, and to change it
    Mutex mutex;
    StreamPool pool ARGOSY_GUARDED_BY(mutex);
    // What graphs use while they run. They run in the stream's order, so all share it, and nobody
    // else may have it.
    StreamPool of_graphs ARGOSY_GUARDED_BY(mutex);
    std::vector<Waiting> waiting ARGOSY_GUARDED_BY(mutex);
  };
  struct Chunk {
    size_t bytes = 0;
    Line* line = nullptr;
    bool of_graphs = false;
  };
  struct PinnedBlock {
    size_t bytes;
    std::vector<Line*> users;
  };

  // From the line's pool, or null.
  void* take(Stream stream, size_t bytes);
  static void* take_chunk(int index, size_t bytes);
  static void drop_chunk(int index, void* chunk, size_t bytes);
  // Null where it is none of ours.
  Line* line_of_memory(const void* address, bool* of_graphs);
  // Those but `own` that used the block, which are forgotten.
  std::vector<Line*> users_of(const void* block, size_t bytes, const Line* own);
  Line& line_of(Stream stream);
  static void join(Line& line, uint64_t thread);
  Line& add_line(Place place);
  Line& add_line(Place place, cudaStream_t cuda) ARGOSY_REQUIRES(mutex_);
  void check_place(Place place) const;
  static void check_process();
  std::vector<Line*> lines_of(Place place);
  // Blocks whose other users are done; with `wait`, all.
  static void take_back(Line& line, bool wait = false) ARGOSY_REQUIRES(line.mutex);
  void take_back_pinned() ARGOSY_REQUIRES(pinned_mutex_);
  void note_pinned(const void* address, Line& line);

  const int count_;
  const memory::Backend chunks_from_, pinned_from_;
  Mutex chunks_mutex_;
  std::map<uintptr_t, Chunk> chunks_ ARGOSY_GUARDED_BY(chunks_mutex_);      // by address
  std::atomic<uint64_t> chunks_version_{1};                                 // one more for each new
  std::multimap<uintptr_t, Line*> users_ ARGOSY_GUARDED_BY(chunks_mutex_);  // of addresses
  struct Noted {
    size_t bytes;
    int gpu;
    const char* writer;
  };
  std::unordered_map<const void*, Noted> noted_ ARGOSY_GUARDED_BY(chunks_mutex_);
  std::atomic<size_t> used_elsewhere_{0};  // of users_
  Mutex mutex_;
  std::deque<Line> lines_ ARGOSY_GUARDED_BY(mutex_);  // the first count_ are streams 0
  std::vector<Line*> dropped_ ARGOSY_GUARDED_BY(mutex_);
  // lines_ by number, for reading without the lock: an entry never changes once it is set.
  static constexpr size_t kMostLines = 4096;
  std::unique_ptr<std::atomic<Line*>[]> table_;
  Mutex pinned_mutex_;
  memory::ChunkPool pinned_ ARGOSY_GUARDED_BY(pinned_mutex_);
  std::unordered_map<const void*, PinnedBlock> pinned_blocks_ ARGOSY_GUARDED_BY(pinned_mutex_);
  std::vector<Waiting> pinned_waiting_ ARGOSY_GUARDED_BY(pinned_mutex_);
};

// Makes a GPU current on the calling thread, if it is not.
void use_gpu(int index);

}  // namespace argosy::cuda
