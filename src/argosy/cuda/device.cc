#include "argosy/cuda/device.h"

#include <pthread.h>

#include <algorithm>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/base/text.h"
#include "argosy/kernels/cuda/bounds.h"
#include "argosy/kernels/cuda/chain_recorder.h"
#include "argosy/kernels/cuda/current.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {
namespace {

// Whose pool grows on this thread: chunks are noted as its.
struct Growing {
  void* line = nullptr;
  bool of_graphs = false;
};
thread_local Growing growing;
// The line on which this thread records a graph.
thread_local void* recording = nullptr;
// A number for each thread, and what stands for more than one.
std::atomic<uint64_t> threads{0};
thread_local const uint64_t this_thread = ++threads;
constexpr uint64_t kSeveral = ~uint64_t{0};
// In the child of a fork, where CUDA does not work.
std::atomic<bool> forked{false};

class Event final : public DeviceEvent {
 public:
  Event(Stream stream, cudaEvent_t event) : stream_(stream), event_(event) {}
  ~Event() override {
    if (!forked.load(std::memory_order_relaxed)) cudaEventDestroy(event_);
  }
  Stream stream() const override { return stream_; }
  bool done() override {
    const cudaError_t status = cudaEventQuery(event_);
    if (status == cudaErrorNotReady) return false;
    ARGOSY_CUDA(status);
    return true;
  }
  void wait() override {
    ARGOSY_CUDA(cudaEventSynchronize(event_));
    raise_found(stream_.place.index, CudaDevice::get().stream(stream_));
  }
  double milliseconds_to(DeviceEvent& later) override {
    float milliseconds = 0;
    ARGOSY_CUDA(cudaEventElapsedTime(&milliseconds, event_, static_cast<Event&>(later).event_));
    return milliseconds;
  }
  cudaEvent_t cuda() const { return event_; }

 private:
  const Stream stream_;
  const cudaEvent_t event_;
};

// Events without timing, for waiting only.
struct SpareEvents {
  Mutex mutex;
  std::vector<cudaEvent_t> events ARGOSY_GUARDED_BY(mutex);
};
SpareEvents& spare_events(int gpu) {
  static auto& all = *new std::array<SpareEvents, 64>;
  return all[static_cast<size_t>(gpu)];
}

cudaEvent_t record_on(cudaStream_t stream, int gpu) {
  use_gpu(gpu);
  cudaEvent_t event = nullptr;
  {
    SpareEvents& spare = spare_events(gpu);
    MutexLock lock(spare.mutex);
    if (!spare.events.empty()) {
      event = spare.events.back();
      spare.events.pop_back();
    }
  }
  if (!event) ARGOSY_CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  ARGOSY_CUDA(cudaEventRecord(event, stream));
  return event;
}

void put_back(int gpu, const std::vector<cudaEvent_t>& events) {
  SpareEvents& spare = spare_events(gpu);
  MutexLock lock(spare.mutex);
  spare.events.insert(spare.events.end(), events.begin(), events.end());
}

// An event that came while its stream was being recorded is a part of that graph, and never says
// that what was enqueued before has passed: what waits for it is not used again.
bool all_passed(const std::vector<cudaEvent_t>& events, bool wait) {
  for (cudaEvent_t event : events) {
    if (wait) cudaEventSynchronize(event);
    const cudaError_t status = cudaEventQuery(event);
    if (status == cudaErrorCapturedEvent) cudaGetLastError();
    if (status == cudaErrorNotReady || status == cudaErrorCapturedEvent) return false;
  }
  return true;
}

void* take_pinned(int, size_t bytes) {
  void* block = nullptr;
  if (cudaHostAlloc(&block, bytes, cudaHostAllocPortable) == cudaSuccess) return block;
  cudaGetLastError();
  return nullptr;
}

void drop_pinned(int, void* block, size_t) {
  cudaFreeHost(block);
}

uintptr_t address_of(const void* p) {
  return reinterpret_cast<uintptr_t>(p);
}

}  // namespace

void use_gpu(int index) {
  if (current_gpu == index) return;
  ARGOSY_CUDA(cudaSetDevice(index));
  current_gpu = index;
}

CudaDevice::CudaDevice(int count)
    : count_(count),
      chunks_from_{take_chunk, drop_chunk},
      pinned_from_{take_pinned, drop_pinned},
      table_(new std::atomic<Line*>[kMostLines] {}),
      pinned_(&pinned_from_, 0, StreamPool::kGranule) {
  pthread_atfork(nullptr, nullptr, [] { forked.store(true); });
  for (int i = 0; i < count; ++i) add_line({kAccelerator, static_cast<int16_t>(i)});
  use_gpu(0);
  start_watching(count);
}

std::vector<std::pair<std::string, std::string>> CudaDevice::properties(Place place) {
  check_place(place);
  use_gpu(place.index);
  size_t free = 0, total = 0;
  ARGOSY_CUDA(cudaMemGetInfo(&free, &total));
  cudaDeviceProp p{};
  ARGOSY_CUDA(cudaGetDeviceProperties(&p, place.index));
  return {{"name", p.name},
          {"major", std::to_string(p.major)},
          {"minor", std::to_string(p.minor)},
          {"total_memory", std::to_string(p.totalGlobalMem)},
          {"free_memory", std::to_string(free)},
          {"multi_processor_count", std::to_string(p.multiProcessorCount)},
          {"l2_cache_size", std::to_string(p.l2CacheSize)},
          {"warp_size", std::to_string(p.warpSize)},
          {"max_threads_per_multi_processor", std::to_string(p.maxThreadsPerMultiProcessor)},
          {"shared_memory_per_block", std::to_string(p.sharedMemPerBlockOptin)}};
}

// --- memory ---

namespace {

// While a thread records, CUDA refuses what might wait, as cudaMalloc, and gives up the record. Not
// so here: memory is none of what is recorded.
class Unrecorded {
 public:
  Unrecorded() { exchange(); }
  ~Unrecorded() { exchange(); }
  Unrecorded(const Unrecorded&) = delete;
  Unrecorded& operator=(const Unrecorded&) = delete;

 private:
  void exchange() {
    if (recording) cudaThreadExchangeStreamCaptureMode(&mode_);
  }
  cudaStreamCaptureMode mode_ = cudaStreamCaptureModeRelaxed;
};

}  // namespace

void* CudaDevice::take_chunk(int index, size_t bytes) {
  use_gpu(index);
  void* chunk = nullptr;
  {
    const Unrecorded unrecorded;
    if (cudaMalloc(&chunk, bytes) != cudaSuccess) {
      cudaGetLastError();
      return nullptr;
    }
  }
  CudaDevice& self = get();
  MutexLock lock(self.chunks_mutex_);
  self.chunks_.emplace(address_of(chunk),
                       Chunk{bytes, static_cast<Line*>(growing.line), growing.of_graphs});
  self.chunks_version_.fetch_add(1, std::memory_order_release);
  return chunk;
}

// cudaFree waits for the work that uses the chunk.
void CudaDevice::drop_chunk(int index, void* chunk, size_t) {
  use_gpu(index);
  cudaFree(chunk);
  CudaDevice& self = get();
  MutexLock lock(self.chunks_mutex_);
  self.chunks_.erase(address_of(chunk));
}

CudaDevice::Line* CudaDevice::line_of_memory(const void* address, bool* of_graphs) {
  // The chunk that this thread looked up last. Between that and now it may be gone and others in
  // its place, but those were noted before the block was handed out.
  thread_local constinit struct {
    uint64_t version = 0;
    uintptr_t begin = 0;
    Chunk chunk{};
  } last;
  const uint64_t version = chunks_version_.load(std::memory_order_acquire);
  if (last.version == version && address_of(address) - last.begin < last.chunk.bytes) {
    *of_graphs = last.chunk.of_graphs;
    return last.chunk.line;
  }
  MutexLock lock(chunks_mutex_);
  auto after = chunks_.upper_bound(address_of(address));
  if (after == chunks_.begin()) return nullptr;
  const auto& [begin, chunk] = *std::prev(after);
  *of_graphs = chunk.of_graphs;
  if (address_of(address) - begin >= chunk.bytes) return nullptr;
  last = {version, begin, chunk};
  return chunk.line;
}

void* CudaDevice::allocate(Stream stream, size_t bytes) {
  void* block = take(stream, bytes);
  if (block && bytes >= kNoted) {
    MutexLock lock(chunks_mutex_);
    noted_[block] = {bytes, stream.place.index, "nothing yet"};
  }
  return block;
}

void CudaDevice::note_writer(const void* block, const char* op) {
  MutexLock lock(chunks_mutex_);
  if (auto found = noted_.find(block); found != noted_.end()) found->second.writer = op;
}

std::vector<Device::Holder> CudaDevice::holders(Place place) {
  std::map<std::string_view, Holder> by_writer;
  {
    MutexLock lock(chunks_mutex_);
    for (const auto& [block, noted] : noted_) {
      if (noted.gpu != place.index) continue;
      Holder& holder = by_writer[noted.writer];
      holder.name = noted.writer;
      holder.bytes += noted.bytes;
      ++holder.blocks;
    }
  }
  std::vector<Holder> all;
  for (auto& [writer, holder] : by_writer) all.push_back(std::move(holder));
  std::ranges::sort(all, std::greater(), &Holder::bytes);
  return all;
}

void* CudaDevice::take(Stream stream, size_t bytes) {
  check_process();
  Line& line = line_of(stream);
  {
    MutexLock lock(line.mutex);
    growing = {&line, recording == &line};
    if (recording == &line) return line.of_graphs.allocate(bytes);
    if (!line.waiting.empty()) take_back(line);
    if (void* block = line.pool.allocate(bytes)) return block;
    take_back(line, /*wait=*/true);
    if (void* block = line.pool.allocate(bytes)) return block;
  }
  release_cached(stream.place);
  MutexLock lock(line.mutex);
  growing = {&line, false};
  return line.pool.allocate(bytes);
}

void CudaDevice::take_back(Line& line, bool wait) {
  std::erase_if(line.waiting, [&](Waiting& w) {
    if (!all_passed(w.events, wait)) return false;
    put_back(line.stream.place.index, w.events);
    line.pool.release(w.block, w.bytes);
    return true;
  });
}

std::vector<CudaDevice::Line*> CudaDevice::users_of(const void* block, size_t bytes,
                                                    const Line* own) {
  std::vector<Line*> users;
  if (!used_elsewhere_.load(std::memory_order_relaxed)) return users;
  MutexLock lock(chunks_mutex_);
  auto begin = users_.lower_bound(address_of(block));
  auto end = users_.lower_bound(address_of(block) + std::max<size_t>(bytes, 1));
  for (auto at = begin; at != end; ++at)
    if (at->second != own && std::ranges::find(users, at->second) == users.end())
      users.push_back(at->second);
  used_elsewhere_.fetch_sub(static_cast<size_t>(std::distance(begin, end)));
  users_.erase(begin, end);
  return users;
}

void CudaDevice::release(Place place, void* block, size_t bytes) noexcept {
  if (forked.load(std::memory_order_relaxed)) return;
  // What is held back may use the block, and another thread may enqueue what uses it next.
  if (chain_recorder) [[unlikely]]
    chain_recorder->try_run();
  if (bytes >= kNoted) {
    MutexLock lock(chunks_mutex_);
    noted_.erase(block);
  }
  bool of_graphs = false;
  Line* line = line_of_memory(block, &of_graphs);
  if (!line) return;
  if (of_graphs) {
    MutexLock lock(line->mutex);
    return line->of_graphs.release(block, bytes);
  }
  Waiting waiting{block, bytes, {}};
  try {
    for (Line* user : users_of(block, bytes, line))
      waiting.events.push_back(record_on(user->cuda, place.index));
  } catch (const Error&) {
    return;  // the device has failed, and so does whoever uses it next
  }
  MutexLock lock(line->mutex);
  if (waiting.events.empty())
    line->pool.release(block, bytes);
  else
    line->waiting.push_back(std::move(waiting));
}

void CudaDevice::record_use(Stream stream, const void* address) {
  check_process();
  Line& line = line_of(stream);
  MutexLock lock(chunks_mutex_);
  // What lives long is used again and again, as gradients are by their exchange.
  for (auto [at, end] = users_.equal_range(address_of(address)); at != end; ++at)
    if (at->second == &line) return;
  users_.emplace(address_of(address), &line);
  used_elsewhere_.fetch_add(1);
}

size_t CudaDevice::reserved(Place place) {
  size_t bytes = 0;
  for (Line* line : lines_of(place)) {
    MutexLock lock(line->mutex);
    bytes += line->pool.reserved() + line->of_graphs.reserved();
  }
  return bytes;
}

void CudaDevice::release_cached(Place place) {
  check_process();
  for (Line* line : lines_of(place)) {
    MutexLock lock(line->mutex);
    take_back(*line, /*wait=*/true);
    line->pool.release_cached();
  }
}

std::string CudaDevice::report(Place place) {
  std::string text;
  for (Line* line : lines_of(place)) {
    MutexLock lock(line->mutex);
    if (!line->pool.reserved()) continue;
    text += "stream " + std::to_string(line->stream.id) + '\n' + line->pool.report();
    text += "kept for reuse   " +
            bytes_text(static_cast<int64_t>(line->pool.reserved() - line->pool.in_use())) + '\n';
  }
  return text;
}

// --- copies ---

namespace {

// Copies come behind what a chain has held back.
void launch_held() {
  if (chain_recorder) [[unlikely]]
    chain_recorder->run();
}

}  // namespace

void CudaDevice::copy_from_host(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  launch_held();
  const cudaStream_t s = this->stream(stream);
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, s));
  // Of memory that is not pinned CUDA has a copy of its own by now.
  if (device::is_pinned(from)) ARGOSY_CUDA(cudaStreamSynchronize(s));
}

void CudaDevice::copy_to_host(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  launch_held();
  const cudaStream_t s = this->stream(stream);
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, s));
  ARGOSY_CUDA(cudaStreamSynchronize(s));
  raise_found(stream.place.index, s);
}

void* CudaDevice::allocate_pinned(size_t bytes) {
  check_process();
  use_gpu(current_gpu < 0 ? 0 : current_gpu);
  MutexLock lock(pinned_mutex_);
  take_back_pinned();
  const size_t size = StreamPool::rounded(bytes);
  void* block = pinned_.allocate(size, 0);
  if (block) pinned_blocks_.emplace(block, PinnedBlock{size, {}});
  return block;
}

void CudaDevice::take_back_pinned() {
  std::erase_if(pinned_waiting_, [&](Waiting& w) {
    if (!all_passed(w.events, false)) return false;
    for (cudaEvent_t event : w.events) cudaEventDestroy(event);
    pinned_.deallocate(w.block);
    return true;
  });
}

void CudaDevice::release_pinned(void* block) noexcept {
  if (forked.load(std::memory_order_relaxed)) return;
  MutexLock lock(pinned_mutex_);
  auto found = pinned_blocks_.find(block);
  if (found == pinned_blocks_.end()) return;
  Waiting waiting{block, found->second.bytes, {}};
  try {
    for (Line* user : found->second.users)
      waiting.events.push_back(record_on(user->cuda, user->stream.place.index));
  } catch (const Error&) {
    return;
  }
  pinned_blocks_.erase(found);
  if (waiting.events.empty())
    pinned_.deallocate(block);
  else
    pinned_waiting_.push_back(std::move(waiting));
}

void CudaDevice::note_pinned(const void* address, Line& line) {
  MutexLock lock(pinned_mutex_);
  for (auto& [begin, block] : pinned_blocks_) {
    if (address_of(address) - address_of(begin) >= block.bytes) continue;
    if (std::ranges::find(block.users, &line) == block.users.end()) block.users.push_back(&line);
    return;
  }
}

void CudaDevice::copy_from_pinned(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  launch_held();
  note_pinned(from, line_of(stream));
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, this->stream(stream)));
}

void CudaDevice::copy_to_pinned(Stream stream, void* to, const void* from, size_t bytes) {
  if (!bytes) return;
  launch_held();
  note_pinned(to, line_of(stream));
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, this->stream(stream)));
}

// --- streams ---

CudaDevice::Line& CudaDevice::add_line(Place place) {
  use_gpu(place.index);
  cudaStream_t cuda = nullptr;
  ARGOSY_CUDA(cudaStreamCreateWithFlags(&cuda, cudaStreamNonBlocking));
  MutexLock lock(mutex_);
  return add_line(place, cuda);
}

Stream CudaDevice::adopt(Place place, cudaStream_t stream) {
  check_process();
  check_place(place);
  MutexLock lock(mutex_);
  for (Line& line : lines_)
    if (line.stream.place == place && line.cuda == stream) return line.stream;
  return add_line(place, stream).stream;
}

CudaDevice::Line& CudaDevice::add_line(Place place, cudaStream_t cuda) {
  const size_t number = lines_.size();
  ARGOSY_CHECK(number < kMostLines, device)
      << "[gpu] there are " << kMostLines << " streams already. Do this: use those again.";
  // The streams that every place has are known as 0.
  const auto id = static_cast<uint32_t>(number < static_cast<size_t>(count_) ? 0 : number);
  Line& line = lines_.emplace_back(Stream{place, id}, cuda, &chunks_from_);
  table_[number].store(&line, std::memory_order_release);
  return line;
}

CudaDevice::Line& CudaDevice::line_of(Stream stream) {
  const size_t number = stream.id ? stream.id : static_cast<size_t>(stream.place.index);
  Line* line = number < kMostLines ? table_[number].load(std::memory_order_acquire) : nullptr;
  if (!line || line->stream != stream) [[unlikely]] {
    check_place(stream.place);
    ARGOSY_THROW(device) << "[gpu] there is no stream " << stream.id << " on "
                         << "gpu:" << static_cast<int>(stream.place.index) << '.';
  }
  return *line;
}

cudaStream_t CudaDevice::stream(Stream stream) {
  check_process();
  use_gpu(stream.place.index);
  Line& line = line_of(stream);
  const uint64_t thread = line.thread.load(std::memory_order_acquire);
  if (thread != this_thread && thread != kSeveral) [[unlikely]]
    join(line, this_thread);
  return line.cuda;
}

void CudaDevice::join(Line& line, uint64_t thread) {
  MutexLock lock(line.recorder);
  const uint64_t other = line.thread.load(std::memory_order_relaxed);
  line.thread.store(other ? kSeveral : thread, std::memory_order_release);
}

std::vector<CudaDevice::Line*> CudaDevice::lines_of(Place place) {
  std::vector<Line*> found;
  MutexLock lock(mutex_);
  for (Line& line : lines_)
    if (line.stream.place == place) found.push_back(&line);
  return found;
}

Stream CudaDevice::make_stream(Place place) {
  check_process();
  check_place(place);
  Line* line = nullptr;
  {
    MutexLock lock(mutex_);
    for (size_t i = 0; i < dropped_.size() && !line; ++i) {
      if (dropped_[i]->stream.place != place) continue;
      line = dropped_[i];
      dropped_.erase(dropped_.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  if (!line) return add_line(place).stream;
  // Whoever had it enqueues there no more, so another thread may record alone.
  MutexLock lock(line->recorder);
  line->thread.store(0, std::memory_order_release);
  return line->stream;
}

// The next who wants a stream gets this one: its work runs in order.
void CudaDevice::drop_stream(Stream stream) noexcept {
  if (!stream.id || stream.id >= kMostLines) return;
  Line* line = table_[stream.id].load(std::memory_order_acquire);
  if (!line) return;
  MutexLock lock(mutex_);
  dropped_.push_back(line);
}

Ref<DeviceEvent> CudaDevice::record(Stream stream) {
  const cudaStream_t s = this->stream(stream);
  cudaEvent_t event = nullptr;
  ARGOSY_CUDA(cudaEventCreate(&event));
  Ref<DeviceEvent> made = Ref<DeviceEvent>::adopt(new Event(stream, event));
  ARGOSY_CUDA(cudaEventRecord(event, s));
  return made;
}

void CudaDevice::wait(Stream stream, DeviceEvent& event) {
  ARGOSY_CUDA(cudaStreamWaitEvent(this->stream(stream), static_cast<Event&>(event).cuda(), 0));
}

bool CudaDevice::done(Stream stream) {
  const cudaError_t status = cudaStreamQuery(this->stream(stream));
  if (status == cudaErrorNotReady) return false;
  ARGOSY_CUDA(status);
  return true;
}

void CudaDevice::synchronize(Stream stream) {
  const cudaStream_t s = this->stream(stream);
  ARGOSY_CUDA(cudaStreamSynchronize(s));
  raise_found(stream.place.index, s);
}

void CudaDevice::synchronize(Place place) {
  check_process();
  check_place(place);
  use_gpu(place.index);
  ARGOSY_CUDA(cudaDeviceSynchronize());
  raise_found(place.index, this->stream({place, 0}));
}

// --- graphs ---

namespace {

class Graph final : public DeviceGraph {
 public:
  Graph(cudaGraphExec_t graph, cudaStream_t stream, int gpu)
      : graph_(graph), stream_(stream), gpu_(gpu) {}
  // What was launched goes on.
  ~Graph() override {
    if (!forked.load(std::memory_order_relaxed)) cudaGraphExecDestroy(graph_);
  }
  void launch() override {
    use_gpu(gpu_);
    ARGOSY_CUDA(cudaGraphLaunch(graph_, stream_));
  }

 private:
  const cudaGraphExec_t graph_;
  const cudaStream_t stream_;
  const int gpu_;
};

}  // namespace

// The line's recorder is held until end_graph.
ARGOSY_UNCHECKED bool CudaDevice::begin_graph(Stream stream) {
  const cudaStream_t s = this->stream(stream);
  Line& line = line_of(stream);
  if (!line.recorder.try_lock()) return false;
  // Calls of other threads that forbid recording are none of its business.
  const bool alone = line.thread.load(std::memory_order_relaxed) == this_thread;
  if (!alone || cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal) != cudaSuccess) {
    line.recorder.unlock();
    cudaGetLastError();
    return false;
  }
  recording = &line;
  return true;
}

ARGOSY_UNCHECKED Ref<DeviceGraph> CudaDevice::end_graph(Stream stream) noexcept {
  Line& line = line_of(stream);
  recording = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  bool good = cudaStreamEndCapture(line.cuda, &graph) == cudaSuccess && graph;
  line.recorder.unlock();
  good = good && cudaGraphInstantiate(&made, graph, 0) == cudaSuccess;
  if (graph) cudaGraphDestroy(graph);
  if (!good) {
    cudaGetLastError();
    return {};
  }
  return Ref<DeviceGraph>::adopt(new Graph(made, line.cuda, stream.place.index));
}

// --- checks ---

void CudaDevice::check_process() {
  ARGOSY_CHECK(!forked.load(std::memory_order_relaxed), device)
      << "[gpu] a forked process cannot use its parent's GPUs. Do this: use the CPU there, or "
         "start "
         "processes by 'spawn'.";
}

void CudaDevice::check_place(Place place) const {
  ARGOSY_CHECK(place.index >= 0 && place.index < count_, device)
      << "[gpu] there is no gpu:" << static_cast<int>(place.index) << ": expected an index below "
      << count_ << ". Do this: see device.cuda.device_count().";
}

}  // namespace argosy::cuda
