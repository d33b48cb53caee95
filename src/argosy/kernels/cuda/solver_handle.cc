#include "argosy/kernels/cuda/solver_handle.h"

#include <climits>
#include <mutex>

#include "argosy/base/error.h"
#include "argosy/kernels/cuda/timing.h"

namespace argosy::cuda {
namespace {

struct Owned {
  int device;
  cudaStream_t stream;
  SolverHandle::Parts parts;
};

// Handles that nobody uses. One belongs to a stream: what it keeps for itself is used in order.
// Never destroyed: CUDA may be gone before the process ends.
struct Pool {
  std::mutex mutex;
  std::vector<Owned> free;
};
Pool& pool() {
  static auto* made = new Pool;
  return *made;
}

}  // namespace

const Solver& solver() {
  static const auto* loaded = new Solver;
  return *loaded;
}

void fail_solver(cusolverStatus_t status, const char* call) {
  cudaGetLastError();  // else the next launch would tell of it once more
  ARGOSY_THROW(device) << "[linalg] " << call << " failed with cusolverStatus "
                       << static_cast<int>(status)
                       << ". Do this: compute it on the CPU (x.cpu()), or in smaller parts.";
}

SolverHandle::SolverHandle(cudaStream_t stream, const char* op) : stream_(stream) {
  refuse_capture(stream, op);
  ARGOSY_CUDA(cudaGetDevice(&device_));
  if (!take()) {
    ARGOSY_CUSOLVER(solver().cusolverDnCreate(&parts_.handle));
    ARGOSY_CUSOLVER(solver().cusolverDnCreateParams(&parts_.params));
    ARGOSY_CUSOLVER(solver().cusolverDnCreateGesvdjInfo(&parts_.jacobi));
  }
  ARGOSY_CUSOLVER(solver().cusolverDnSetStream(parts_.handle, stream));
}

bool SolverHandle::take() {
  std::lock_guard lock(pool().mutex);
  std::vector<Owned>& free = pool().free;
  for (Owned& one : free)
    if (one.device == device_ && one.stream == stream_) {
      parts_ = one.parts;
      one = free.back();
      free.pop_back();
      return true;
    }
  return false;
}

SolverHandle::~SolverHandle() {
  std::lock_guard lock(pool().mutex);
  pool().free.push_back({device_, stream_, parts_});
}

cudaDataType_t type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return CUDA_R_32F;
    case DType::float64:
      return CUDA_R_64F;
    case DType::complex64:
      return CUDA_C_32F;
    case DType::complex128:
      return CUDA_C_64F;
    default:
      fail_dtype("linalg", dtype);
  }
}

cudaDataType_t real_type_of(DType dtype) {
  return type_of(real_of(dtype));
}

int small(const char* op, int64_t n) {
  ARGOSY_CHECK(n <= INT_MAX, invalid_argument)
      << '[' << op << "] a size of " << n
      << " is too large for GPUs. Do this: compute it on the CPU, or in parts.";
  return static_cast<int>(n);
}

}  // namespace argosy::cuda
