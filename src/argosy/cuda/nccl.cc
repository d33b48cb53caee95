#include "argosy/cuda/nccl.h"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <optional>
#include <thread>

#include "argosy/base/error.h"
#include "argosy/base/mutex.h"

namespace argosy::cuda {
namespace {

// --- NCCL's interface, as far as it is used ---

using Comm = void*;
using Result = int;
constexpr Result kSuccess = 0, kInProgress = 7;

struct UniqueId {
  char bytes[DeviceLinker::kId];
};

// That of 2.18; later versions take it, and fill in what they have beside it.
struct Config {
  size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef, version = 21800;
  int blocking = 0;
  int cga_cluster_size = INT_MIN, min_ctas = INT_MIN, max_ctas = INT_MIN;
  const char* net_name = nullptr;
  int split_share = INT_MIN;
};

struct Api {
  Result (*GetVersion)(int*);
  Result (*GetUniqueId)(UniqueId*);
  Result (*CommInitRankConfig)(Comm*, int, UniqueId, int, Config*);
  Result (*CommGetAsyncError)(Comm, Result*);
  Result (*CommFinalize)(Comm);
  Result (*CommDestroy)(Comm);
  Result (*CommAbort)(Comm);
  Result (*GroupStart)();
  Result (*GroupEnd)();
  Result (*AllReduce)(const void*, void*, size_t, int, int, Comm, void*);
  Result (*Reduce)(const void*, void*, size_t, int, int, int, Comm, void*);
  Result (*ReduceScatter)(const void*, void*, size_t, int, int, Comm, void*);
  Result (*Broadcast)(const void*, void*, size_t, int, int, Comm, void*);
  Result (*AllGather)(const void*, void*, size_t, int, Comm, void*);
  Result (*Send)(const void*, size_t, int, int, Comm, void*);
  Result (*Recv)(void*, size_t, int, int, Comm, void*);
  const char* (*GetErrorString)(Result);
};

constexpr int kBytes = 1;  // ncclUint8

struct Sums {
  int dtype;
  int64_t each;  // of NCCL's for one of ours
};

std::optional<Sums> sums_of(DType dtype, DeviceLink::Op op) {
  switch (dtype) {
    case DType::int8:
      return Sums{0, 1};
    case DType::uint8:
      return Sums{1, 1};
    case DType::int32:
      return Sums{2, 1};
    case DType::uint32:
      return Sums{3, 1};
    case DType::int64:
      return Sums{4, 1};
    case DType::uint64:
      return Sums{5, 1};
    case DType::float16:
      return Sums{6, 1};
    case DType::float32:
      return Sums{7, 1};
    case DType::float64:
      return Sums{8, 1};
    case DType::bfloat16:
      return Sums{9, 1};
    case DType::complex64:
    case DType::complex128:
      if (op != DeviceLink::Op::sum && op != DeviceLink::Op::avg) return std::nullopt;
      return Sums{dtype == DType::complex64 ? 7 : 8, 2};
    default:
      return std::nullopt;
  }
}

// In NCCL's order, as DeviceLink::Op is.
int number_of(DeviceLink::Op op) {
  return static_cast<int>(op);
}

using Clock = std::chrono::steady_clock;

class Library {
 public:
  explicit Library(std::string path) : path_(path.empty() ? "libnccl.so.2" : std::move(path)) {}

  // Why it is not there; empty if it is.
  std::string missing() {
    // (Not std::call_once: it would tie this library, which is loaded late, to the thread-local
    // storage of libstdc++.)
    MutexLock lock(mutex_);
    if (!asked_) load();
    asked_ = true;
    return missing_;
  }
  const Api& api() {
    const std::string why = missing();
    ARGOSY_CHECK(why.empty(), runtime) << "[nccl] " << why;
    return api_;
  }
  std::string text(Result r) { return api_.GetErrorString(r); }

 private:
  void load() {
    void* handle = dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char* why = dlerror();
      missing_ = std::string(why ? why : path_) +
                 ". Do this: install NCCL 2.18 or later (the package nvidia-nccl-cu13), or set "
                 "LD_LIBRARY_PATH to its folder.";
      return;
    }
#define ARGOSY_NCCL(name)                                                             \
  api_.name = reinterpret_cast<decltype(api_.name)>(dlsym(handle, "nccl" #name));     \
  if (!api_.name) {                                                                   \
    missing_ = path_ + " has no nccl" #name ". Do this: install NCCL 2.18 or later."; \
    return;                                                                           \
  }
    ARGOSY_NCCL(GetVersion)
    ARGOSY_NCCL(GetUniqueId)
    ARGOSY_NCCL(CommInitRankConfig)
    ARGOSY_NCCL(CommGetAsyncError)
    ARGOSY_NCCL(CommFinalize)
    ARGOSY_NCCL(CommDestroy)
    ARGOSY_NCCL(CommAbort)
    ARGOSY_NCCL(GroupStart)
    ARGOSY_NCCL(GroupEnd)
    ARGOSY_NCCL(AllReduce)
    ARGOSY_NCCL(Reduce)
    ARGOSY_NCCL(ReduceScatter)
    ARGOSY_NCCL(Broadcast)
    ARGOSY_NCCL(AllGather)
    ARGOSY_NCCL(Send)
    ARGOSY_NCCL(Recv)
    ARGOSY_NCCL(GetErrorString)
#undef ARGOSY_NCCL
    int version = 0;
    if (api_.GetVersion(&version) != kSuccess || version < 21800)
      missing_ = path_ + " is of version " + std::to_string(version) +
                 ". Do this: install NCCL 2.18 or later.";
  }

  const std::string path_;
  Mutex mutex_;  // of what follows; what has been loaded stays
  bool asked_ = false;
  Api api_{};
  std::string missing_;
};

// Communicators do not block: a call that has to wait for another rank says that it is in progress,
// and is asked again and again, so that a rank that never comes ends in an error.
class Link final : public DeviceLink {
 public:
  Link(Library& library, const Native& native, Place place, const UniqueId& id, int rank, int size,
       double seconds)
      : library_(library),
        api_(library.api()),
        native_(native),
        stream_(device::of(place).make_stream(place)),
        seconds_(seconds) {
    native_.enter(place);
    Config config;
    try {
      check("ncclCommInitRankConfig", api_.CommInitRankConfig(&comm_, size, id, rank, &config));
    } catch (const Error&) {
      abort();
      device::of(place).drop_stream(stream_);
      throw;
    }
  }

  ~Link() override {
    if (process_ != getpid()) return;  // it is the parent's
    if (!aborted_) close();
    device::of(stream_.place).drop_stream(stream_);
  }

  Stream stream() const override { return stream_; }

  void begin() override {
    native_.enter(stream_.place);
    now("ncclGroupStart", api_.GroupStart());
    grouped_ = true;
  }
  void end() override {
    grouped_ = false;
    check("ncclGroupEnd", api_.GroupEnd());
  }

  void all_reduce(const void* from, void* to, int64_t count, DType dtype, Op op) override {
    const Sums s = sums(dtype, op);
    call("ncclAllReduce", [&] {
      return api_.AllReduce(from, to, elements(count, s), s.dtype, number_of(op), comm_, native());
    });
  }
  void reduce(const void* from, void* to, int64_t count, DType dtype, Op op, int root) override {
    const Sums s = sums(dtype, op);
    call("ncclReduce", [&] {
      return api_.Reduce(from, to, elements(count, s), s.dtype, number_of(op), root, comm_,
                         native());
    });
  }
  void reduce_scatter(const void* from, void* to, int64_t count, DType dtype, Op op) override {
    const Sums s = sums(dtype, op);
    call("ncclReduceScatter", [&] {
      return api_.ReduceScatter(from, to, elements(count, s), s.dtype, number_of(op), comm_,
                                native());
    });
  }
  void broadcast(const void* from, void* to, size_t bytes, int root) override {
    call("ncclBroadcast",
         [&] { return api_.Broadcast(from, to, bytes, kBytes, root, comm_, native()); });
  }
  void all_gather(const void* from, void* to, size_t bytes) override {
    call("ncclAllGather", [&] { return api_.AllGather(from, to, bytes, kBytes, comm_, native()); });
  }
  void send(const void* from, size_t bytes, int peer) override {
    call("ncclSend", [&] { return api_.Send(from, bytes, kBytes, peer, comm_, native()); });
  }
  void recv(void* to, size_t bytes, int peer) override {
    call("ncclRecv", [&] { return api_.Recv(to, bytes, kBytes, peer, comm_, native()); });
  }

  std::string failure() noexcept override {
    MutexLock lock(mutex_);
    if (aborted_) return "it was aborted";
    Result state = kSuccess;
    const Result asked = api_.CommGetAsyncError(comm_, &state);
    if (asked != kSuccess) return library_.text(asked);
    return state == kSuccess || state == kInProgress ? "" : library_.text(state);
  }

  void abort() noexcept override {
    MutexLock lock(mutex_);
    if (aborted_) return;
    aborted_ = true;
    if (comm_) api_.CommAbort(comm_);
  }

 private:
  void* native() const { return native_.stream(stream_); }
  static size_t elements(int64_t count, const Sums& s) {
    return static_cast<size_t>(count * s.each);
  }
  Sums sums(DType dtype, Op op) const {
    const auto s = sums_of(dtype, op);
    ARGOSY_CHECK(s, internal) << "[nccl] does not reduce " << dtype << '.';
    return *s;
  }

  template <class F>
  void call(const char* what, F&& f) {
    native_.enter(stream_.place);
    const Result r = f();
    // Between begin() and end() nothing has been done yet.
    if (grouped_) return now(what, r);
    check(what, r);
  }

  void now(const char* what, Result r) {
    ARGOSY_CHECK(r == kSuccess || r == kInProgress, runtime)
        << "[nccl] " << what << ": " << library_.text(r) << ". Do this: see NCCL_DEBUG=WARN.";
  }

  // Until the call is no longer in progress.
  void check(const char* what, Result r) {
    now(what, r);
    if (!comm_) return;
    const auto until = Clock::now() + std::chrono::duration<double>(seconds_);
    for (int turn = 0; r == kInProgress; ++turn) {
      {
        MutexLock lock(mutex_);
        ARGOSY_CHECK(!aborted_, runtime) << "[nccl] " << what << ": it was aborted.";
        now("ncclCommGetAsyncError", api_.CommGetAsyncError(comm_, &r));
      }
      now(what, r);
      if (r != kInProgress) return;
      ARGOSY_CHECK(Clock::now() < until, timeout)
          << "[nccl] " << what << " has waited " << seconds_
          << " s for the other ranks. Do this: see where they are, and NCCL_DEBUG=INFO.";
      std::this_thread::sleep_for(std::chrono::microseconds(turn < 100 ? 20 : 1000));
    }
  }

  void close() noexcept {
    try {
      native_.enter(stream_.place);
    } catch (const Error&) {  // the device has failed: nothing there is waited for
      api_.CommAbort(comm_);
      return;
    }
    Result r = api_.CommFinalize(comm_);
    const auto until = Clock::now() + std::chrono::seconds(5);
    while (r == kInProgress && Clock::now() < until) {
      if (api_.CommGetAsyncError(comm_, &r) != kSuccess) break;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
    if (r == kSuccess)
      api_.CommDestroy(comm_);
    else
      api_.CommAbort(comm_);
  }

  Library& library_;
  const Api& api_;
  const Native native_;
  const Stream stream_;
  const double seconds_;
  const int process_ = getpid();
  Comm comm_ = nullptr;
  bool grouped_ = false;
  Mutex mutex_;  // of abort() against those that ask the communicator
  bool aborted_ = false;
};

class Linker final : public DeviceLinker {
 public:
  Linker(const Native& native, const std::string& path) : native_(native), library_(path) {}
  const char* name() const override { return "nccl"; }
  std::string identity(Place place) override { return native_.identity(place); }
  std::string missing() override { return library_.missing(); }
  std::string new_id() override {
    UniqueId id{};
    const Result r = library_.api().GetUniqueId(&id);
    ARGOSY_CHECK(r == kSuccess, runtime)
        << "[nccl] ncclGetUniqueId: " << library_.text(r) << ". Do this: see NCCL_DEBUG=WARN.";
    return {id.bytes, sizeof(id.bytes)};
  }
  std::unique_ptr<DeviceLink> connect(Place place, const std::string& id, int rank, int size,
                                      double seconds) override {
    UniqueId bytes{};
    ARGOSY_CHECK(id.size() == kId, internal) << "[nccl] an id has " << kId << " bytes.";
    std::memcpy(bytes.bytes, id.data(), kId);
    return std::make_unique<Link>(library_, native_, place, bytes, rank, size, seconds);
  }
  bool reduces(DType dtype, DeviceLink::Op op) const override {
    return sums_of(dtype, op).has_value();
  }

 private:
  const Native native_;
  Library library_;
};

}  // namespace

DeviceLinker* nccl_linker(const Native& native, const std::string& path) {
  return new Linker(native, path);
}

}  // namespace argosy::cuda
