#include "argosy/kernels/cuda/fft.h"

#include <cufft.h>

#include <algorithm>
#include <iterator>
#include <list>
#include <map>
#include <mutex>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/library.h"
#include "argosy/kernels/cuda/runtime.h"
#include "argosy/kernels/cuda/timing.h"

namespace argosy::cuda {
namespace {

static_assert(CUFFT_VER_MAJOR == 12, "the file below is that of another version");

struct Fft {
  Library library{"libcufft.so.12"};
#define ARGOSY_FUNCTION(name) decltype(&::name) name = library.get<decltype(&::name)>(#name)
  ARGOSY_FUNCTION(cufftCreate);
  ARGOSY_FUNCTION(cufftDestroy);
  ARGOSY_FUNCTION(cufftSetAutoAllocation);
  ARGOSY_FUNCTION(cufftMakePlanMany64);
  ARGOSY_FUNCTION(cufftSetStream);
  ARGOSY_FUNCTION(cufftSetWorkArea);
  ARGOSY_FUNCTION(cufftExecC2C);
  ARGOSY_FUNCTION(cufftExecZ2Z);
#undef ARGOSY_FUNCTION
};
Fft& library() {
  static auto* loaded = new Fft;
  return *loaded;
}

const char* name_of(cufftResult result) {
  switch (result) {
    case CUFFT_ALLOC_FAILED:
      return "CUFFT_ALLOC_FAILED";
    case CUFFT_INVALID_VALUE:
      return "CUFFT_INVALID_VALUE";
    case CUFFT_INTERNAL_ERROR:
      return "CUFFT_INTERNAL_ERROR";
    case CUFFT_EXEC_FAILED:
      return "CUFFT_EXEC_FAILED";
    case CUFFT_SETUP_FAILED:
      return "CUFFT_SETUP_FAILED";
    case CUFFT_INVALID_SIZE:
      return "CUFFT_INVALID_SIZE";
    case CUFFT_NOT_SUPPORTED:
      return "CUFFT_NOT_SUPPORTED";
    default:
      return "cufftResult";
  }
}
void check(cufftResult result, const char* call) {
  if (result == CUFFT_SUCCESS) return;
  cudaGetLastError();  // else the next launch would tell of it once more
  ARGOSY_THROW(device) << "[fft] " << call << " failed with " << name_of(result) << " ("
                       << static_cast<int>(result)
                       << "). Do this: transform fewer numbers at once, or compute it on the CPU.";
}
#define ARGOSY_CUFFT(call) check(library().call, #call)

// --- plans ---

// Those of one GPU. A plan belongs to one stream, so that it never runs twice at once; the memory
// that it works in is taken for each call.
struct Key {
  cudaStream_t stream;
  Transform transform;  // forward is not read: a plan does both
  bool operator==(const Key& other) const {
    const Transform &a = transform, &b = other.transform;
    return stream == other.stream && a.dtype == b.dtype && a.rank == b.rank &&
           std::equal(a.n, a.n + a.rank, b.n) && a.batch == b.batch && a.stride == b.stride &&
           a.distance == b.distance;
  }
};
struct Plan {
  Key key;
  cufftHandle handle = 0;
  size_t workspace = 0;
  bool kept = false;  // a CUDA graph reads its tables, so it stays
};

cufftHandle make(const Transform& t, size_t* workspace) {
  cufftHandle handle = 0;
  ARGOSY_CUFFT(cufftCreate(&handle));
  try {
    ARGOSY_CUFFT(cufftSetAutoAllocation(handle, 0));
    long long n[kMostTransformed];  // NOLINT(google-runtime-int): cuFFT's
    std::copy(t.n, t.n + t.rank, n);
    const cufftType type = t.dtype == DType::complex64 ? CUFFT_C2C : CUFFT_Z2Z;
    ARGOSY_CUFFT(cufftMakePlanMany64(handle, t.rank, n, n, t.stride, t.distance, n, t.stride,
                                     t.distance, type, t.batch, workspace));
  } catch (...) {
    library().cufftDestroy(handle);
    throw;
  }
  return handle;
}

class Plans {
 public:
  // f(plan), which nobody else has meanwhile.
  template <class F>
  void with(const Key& key, F&& f) {
    std::lock_guard lock(mutex_);
    const auto found = std::find_if(plans_.begin(), plans_.end(),
                                    [&](const Plan& plan) { return plan.key == key; });
    const bool recorded = !may_time(key.stream);
    if (found != plans_.end()) {
      plans_.splice(plans_.begin(), plans_, found);
    } else {
      refuse_capture(key.stream, "fft");
      drop_oldest();
      Plan plan{key};
      plan.handle = make(key.transform, &plan.workspace);
      plans_.push_front(plan);
    }
    plans_.front().kept |= recorded;
    f(plans_.front());
  }

 private:
  static constexpr size_t kMost = 64;
  void drop_oldest() {
    if (plans_.size() < kMost) return;
    for (auto at = std::prev(plans_.end()); at != plans_.begin(); --at) {
      if (at->kept) continue;
      library().cufftDestroy(at->handle);  // waits for what runs
      plans_.erase(at);
      return;
    }
  }

  std::mutex mutex_;
  std::list<Plan> plans_;  // used last first
};

Plans& plans_of_device() {
  int device = 0;
  ARGOSY_CUDA(cudaGetDevice(&device));
  static std::mutex mutex;
  static auto* all = new std::map<int, Plans>;  // outlives threads that still compute at the end
  std::lock_guard lock(mutex);
  return (*all)[device];
}

}  // namespace

const char* fft_problem() {
  return library().library.problem();
}

void fft(cudaStream_t stream, const Transform& t, const void* x, void* y) {
  plans_of_device().with({stream, t}, [&](const Plan& plan) {
    ARGOSY_CUFFT(cufftSetStream(plan.handle, stream));
    const Scratch room(stream, std::max<size_t>(plan.workspace, 1));
    ARGOSY_CUFFT(cufftSetWorkArea(plan.handle, room.data()));
    const int direction = t.forward ? CUFFT_FORWARD : CUFFT_INVERSE;
    if (t.dtype == DType::complex64)
      ARGOSY_CUFFT(cufftExecC2C(plan.handle, static_cast<cufftComplex*>(const_cast<void*>(x)),
                                static_cast<cufftComplex*>(y), direction));
    else
      ARGOSY_CUFFT(cufftExecZ2Z(plan.handle, static_cast<cufftDoubleComplex*>(const_cast<void*>(x)),
                                static_cast<cufftDoubleComplex*>(y), direction));
  });
}

}  // namespace argosy::cuda
