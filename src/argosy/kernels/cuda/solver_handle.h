#pragma once

#include <cuComplex.h>
#include <cusolverDn.h>

#include <type_traits>
#include <vector>

#include "argosy/kernels/cuda/library.h"
#include "argosy/kernels/cuda/runtime.h"

// cuSOLVER's functions and handles, for the files beside it.
namespace argosy::cuda {

static_assert(CUSOLVER_VER_MAJOR == 12, "the file below is that of another version");

struct Solver {
  Library library{"libcusolver.so.12"};
#define ARGOSY_FUNCTION(name) decltype(&::name) name = library.get<decltype(&::name)>(#name)
#define ARGOSY_FUNCTIONS(s, d, c, z) \
  ARGOSY_FUNCTION(cusolverDn##s);    \
  ARGOSY_FUNCTION(cusolverDn##d);    \
  ARGOSY_FUNCTION(cusolverDn##c);    \
  ARGOSY_FUNCTION(cusolverDn##z)
  ARGOSY_FUNCTION(cusolverDnCreate);
  ARGOSY_FUNCTION(cusolverDnSetStream);
  ARGOSY_FUNCTION(cusolverDnCreateParams);
  ARGOSY_FUNCTION(cusolverDnCreateGesvdjInfo);
  ARGOSY_FUNCTION(cusolverDnXpotrf_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXpotrf);
  ARGOSY_FUNCTION(cusolverDnXgetrf_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXgetrf);
  ARGOSY_FUNCTION(cusolverDnXgetrs);
  ARGOSY_FUNCTION(cusolverDnXgeqrf_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXgeqrf);
  ARGOSY_FUNCTION(cusolverDnXsyevd_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXsyevd);
  ARGOSY_FUNCTION(cusolverDnXsyevBatched_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXsyevBatched);
  ARGOSY_FUNCTION(cusolverDnXgeev_bufferSize);
  ARGOSY_FUNCTION(cusolverDnXgeev);
  ARGOSY_FUNCTIONS(SpotrfBatched, DpotrfBatched, CpotrfBatched, ZpotrfBatched);
  ARGOSY_FUNCTIONS(Sorgqr_bufferSize, Dorgqr_bufferSize, Cungqr_bufferSize, Zungqr_bufferSize);
  ARGOSY_FUNCTIONS(Sorgqr, Dorgqr, Cungqr, Zungqr);
  ARGOSY_FUNCTIONS(Sgesvdj_bufferSize, Dgesvdj_bufferSize, Cgesvdj_bufferSize, Zgesvdj_bufferSize);
  ARGOSY_FUNCTIONS(Sgesvdj, Dgesvdj, Cgesvdj, Zgesvdj);
  ARGOSY_FUNCTIONS(SgesvdjBatched_bufferSize, DgesvdjBatched_bufferSize, CgesvdjBatched_bufferSize,
                   ZgesvdjBatched_bufferSize);
  ARGOSY_FUNCTIONS(SgesvdjBatched, DgesvdjBatched, CgesvdjBatched, ZgesvdjBatched);
#undef ARGOSY_FUNCTIONS
#undef ARGOSY_FUNCTION
};
const Solver& solver();

[[noreturn]] void fail_solver(cusolverStatus_t status, const char* call);
#define ARGOSY_CUSOLVER(call)                                                            \
  do {                                                                                   \
    const cusolverStatus_t status_ = (call);                                             \
    if (status_ != CUSOLVER_STATUS_SUCCESS) ::argosy::cuda::fail_solver(status_, #call); \
  } while (0)

// A handle of a stream, for one call at a time; it goes back afterwards. Throws while a graph is
// being recorded.
class SolverHandle {
 public:
  SolverHandle(cudaStream_t stream, const char* op);
  ~SolverHandle();
  SolverHandle(const SolverHandle&) = delete;
  SolverHandle& operator=(const SolverHandle&) = delete;
  cusolverDnHandle_t get() const { return parts_.handle; }
  cusolverDnParams_t params() const { return parts_.params; }
  gesvdjInfo_t jacobi() const { return parts_.jacobi; }

  struct Parts {
    cusolverDnHandle_t handle = nullptr;
    cusolverDnParams_t params = nullptr;
    gesvdjInfo_t jacobi = nullptr;
  };

 private:
  bool take();  // one that is free

  const cudaStream_t stream_;
  int device_ = 0;
  Parts parts_;
};

// Memory that a function of the 64-bit interface works in. What it needs of the host lives until
// the device is done.
class Workspace {
 public:
  Workspace(cudaStream_t stream, size_t device, size_t host)
      : stream_(stream), device_(stream, device ? device : 1), host_(host) {}
  ~Workspace() {
    if (!host_.empty()) cudaStreamSynchronize(stream_);
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* device() const { return device_.data(); }
  void* host() { return host_.empty() ? nullptr : host_.data(); }

 private:
  const cudaStream_t stream_;
  const Scratch device_;
  std::vector<char> host_;
};

// CUDA's names of a dtype, and of the real numbers of it.
cudaDataType_t type_of(DType dtype);
cudaDataType_t real_type_of(DType dtype);

// A size as the older interface counts. Throws where it does not fit.
int small(const char* op, int64_t n);

// The i-th of matrices that are `elements` apart.
inline void* matrix_at(DType dtype, const void* base, int64_t i, int64_t elements) {
  return static_cast<char*>(const_cast<void*>(base)) + i * elements * item_size(dtype);
}

// f(T()) with NVIDIA's own type.
template <class F>
void with_numbers(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(float());
    case DType::float64:
      return f(double());
    case DType::complex64:
      return f(cuComplex());
    case DType::complex128:
      return f(cuDoubleComplex());
    default:
      fail_dtype("linalg", dtype);
  }
}

// Of four functions that of T.
template <class T, class S, class D, class C, class Z>
constexpr auto by_type(S s, D d, C c, Z z) {
  if constexpr (std::is_same_v<T, float>)
    return s;
  else if constexpr (std::is_same_v<T, double>)
    return d;
  else if constexpr (std::is_same_v<T, cuComplex>)
    return c;
  else
    return z;
}
template <class T>
using RealNumber =
    std::conditional_t<std::is_same_v<T, float> || std::is_same_v<T, cuComplex>, float, double>;

}  // namespace argosy::cuda
