#include "argosy/kernels/cuda/solver.h"

#include <type_traits>

#include "argosy/kernels/cuda/blas_handle.h"
#include "argosy/kernels/cuda/matrices.h"
#include "argosy/kernels/cuda/solver_handle.h"

// Triangular factors and what is solved with them.
namespace argosy::cuda {
namespace {

// Stacks of matrices up to this size are one call of what is written for many small ones; larger
// ones fill the device one at a time.
constexpr int64_t kBatched = 512;

template <class T>
T one() {
  if constexpr (std::is_same_v<T, cuComplex>)
    return make_cuComplex(1, 0);
  else if constexpr (std::is_same_v<T, cuDoubleComplex>)
    return make_cuDoubleComplex(1, 0);
  else
    return T(1);
}

size_t bytes_of(DType dtype, int64_t elements) {
  return static_cast<size_t>(elements * item_size(dtype));
}

// The addresses of matrices of a stack.
class Addresses {
 public:
  Addresses(cudaStream_t stream, DType dtype, const void* base, int64_t elements, int64_t count)
      : memory_(stream, static_cast<size_t>(count) * sizeof(void*)) {
    space_addresses(stream, base, elements * item_size(dtype), count, memory_.data<void*>());
  }
  template <class T>
  T** of() const {
    return memory_.data<T*>();
  }

 private:
  const Scratch memory_;
};

void cholesky_each(cudaStream_t stream, DType dtype, int64_t batch, int64_t n,
                   cublasFillMode_t part, void* a, int32_t* info) {
  const SolverHandle handle(stream, "cholesky");
  const cudaDataType_t type = type_of(dtype);
  size_t of_device = 0, of_host = 0;
  ARGOSY_CUSOLVER(solver().cusolverDnXpotrf_bufferSize(handle.get(), handle.params(), part, n, type,
                                                       a, n, type, &of_device, &of_host));
  Workspace room(stream, of_device, of_host);
  for (int64_t i = 0; i < batch; ++i)
    ARGOSY_CUSOLVER(solver().cusolverDnXpotrf(handle.get(), handle.params(), part, n, type,
                                              matrix_at(dtype, a, i, n * n), n, type, room.device(),
                                              of_device, room.host(), of_host, info + i));
}

void cholesky_batched(cudaStream_t stream, DType dtype, int64_t batch, int64_t n,
                      cublasFillMode_t part, void* a, int32_t* info) {
  const SolverHandle handle(stream, "cholesky");
  const Addresses matrices(stream, dtype, a, n * n, batch);
  with_numbers(dtype, [&]<class T>(T) {
    const Solver& s = solver();
    const auto potrf = by_type<T>(s.cusolverDnSpotrfBatched, s.cusolverDnDpotrfBatched,
                                  s.cusolverDnCpotrfBatched, s.cusolverDnZpotrfBatched);
    const int size = small("cholesky", n);
    ARGOSY_CUSOLVER(
        potrf(handle.get(), part, size, matrices.of<T>(), size, info, small("cholesky", batch)));
  });
}

}  // namespace

const char* solver_problem() {
  return solver().library.problem();
}

// Read as its transpose, which is its conjugate: conj(a) = conj(L) L^T, so the other triangle is
// asked for, and is what is wanted when read row by row. A large matrix is turned instead where
// that would be the upper one, which took 2.4 times as long as PyTorch's at 2048.
void cholesky(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, bool upper, const void* a,
              void* out, int32_t* info) {
  const Lying rows = row_major(n, n);
  const Part part = upper ? Part::upper : Part::lower;
  const bool batched = batch > 1 && n <= kBatched;
  if (!batched && !upper) {
    const Scratch turned(stream, bytes_of(dtype, batch * n * n));
    const Lying columns = column_major(n, n);
    move_matrices(stream, dtype, batch, n, n, a, rows, turned.data(), columns, part);
    cholesky_each(stream, dtype, batch, n, CUBLAS_FILL_MODE_LOWER, turned.data(), info);
    return move_matrices(stream, dtype, batch, n, n, turned.data(), columns, out, rows, part);
  }
  if (a != out) move_matrices(stream, dtype, batch, n, n, a, rows, out, rows);
  const cublasFillMode_t other = upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  if (batched)
    cholesky_batched(stream, dtype, batch, n, other, out, info);
  else
    cholesky_each(stream, dtype, batch, n, other, out, info);
  move_matrices(stream, dtype, batch, n, n, out, rows, out, rows, part);
}

// op(a) x = b is x^T op(a)^T = b^T, of what cuBLAS sees: a's and x's transposes.
void triangular_solve(cudaStream_t stream, const Triangular& t) {
  const cublasFillMode_t part = t.upper ? CUBLAS_FILL_MODE_LOWER : CUBLAS_FILL_MODE_UPPER;
  const cublasOperation_t operation = t.transpose ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasDiagType_t diagonal = t.unit ? CUBLAS_DIAG_UNIT : CUBLAS_DIAG_NON_UNIT;
  const int64_t of_x = t.n * t.columns;
  const bool each = t.batch == 1 || (t.n > kBatched && t.batch <= 64);
  with_numbers(t.dtype, [&]<class T>(T) {
    const T alpha = one<T>();
    if (each) {
      const auto trsm =
          by_type<T>(cublasStrsm_v2_64, cublasDtrsm_v2_64, cublasCtrsm_v2_64, cublasZtrsm_v2_64);
      return with_blas(stream, [&](cublasHandle_t handle) {
        for (int64_t i = 0; i < t.batch; ++i)
          ARGOSY_CUBLAS(trsm(handle, CUBLAS_SIDE_RIGHT, part, operation, diagonal, t.columns, t.n,
                             &alpha, static_cast<const T*>(t.a) + i * t.a_stride, t.n,
                             static_cast<T*>(t.x) + i * of_x, t.columns));
      });
    }
    const auto trsm = by_type<T>(cublasStrsmBatched_64, cublasDtrsmBatched_64,
                                 cublasCtrsmBatched_64, cublasZtrsmBatched_64);
    const Addresses a(stream, t.dtype, t.a, t.a_stride, t.batch),
        x(stream, t.dtype, t.x, of_x, t.batch);
    with_blas(stream, [&](cublasHandle_t handle) {
      ARGOSY_CUBLAS(trsm(handle, CUBLAS_SIDE_RIGHT, part, operation, diagonal, t.columns, t.n,
                         &alpha, a.of<const T>(), t.n, x.of<T>(), t.columns, t.batch));
    });
  });
}

// --- lu ---

Lu::Lu(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, const void* a)
    : stream_(stream),
      dtype_(dtype),
      batch_(batch),
      m_(m),
      n_(n),
      steps_(m < n ? m : n),
      batched_(batch > 1 && m == n && n <= kBatched),
      factors_(stream, bytes_of(dtype, batch * m * n)),
      pivots_(stream, static_cast<size_t>(batch * steps_) * sizeof(int32_t)),
      info_(stream, static_cast<size_t>(batch) * sizeof(int32_t)) {
  move_matrices(stream, dtype, batch, m, n, a, row_major(m, n), factors(), column_major(m, n));
  batched_ ? factor_batched() : factor_each();
}

void Lu::factor_batched() {
  const Addresses matrices(stream_, dtype_, factors(), n_ * n_, batch_);
  with_numbers(dtype_, [&]<class T>(T) {
    const auto getrf = by_type<T>(cublasSgetrfBatched, cublasDgetrfBatched, cublasCgetrfBatched,
                                  cublasZgetrfBatched);
    const int size = small("lu", n_), count = small("lu", batch_);
    with_blas(stream_, [&](cublasHandle_t handle) {
      ARGOSY_CUBLAS(getrf(handle, size, matrices.of<T>(), size, pivots(), info(), count));
    });
  });
}

void Lu::factor_each() {
  wide_pivots_.emplace(stream_, static_cast<size_t>(batch_ * steps_) * sizeof(int64_t));
  auto* wide = wide_pivots_->data<int64_t>();
  const SolverHandle handle(stream_, "lu");
  const cudaDataType_t type = type_of(dtype_);
  size_t of_device = 0, of_host = 0;
  ARGOSY_CUSOLVER(solver().cusolverDnXgetrf_bufferSize(handle.get(), handle.params(), m_, n_, type,
                                                       factors(), m_, type, &of_device, &of_host));
  Workspace room(stream_, of_device, of_host);
  for (int64_t i = 0; i < batch_; ++i)
    ARGOSY_CUSOLVER(solver().cusolverDnXgetrf(
        handle.get(), handle.params(), m_, n_, type, matrix_at(dtype_, factors(), i, m_ * n_), m_,
        wide + i * steps_, type, room.device(), of_device, room.host(), of_host, info() + i));
  narrow_pivots(stream_, wide, pivots(), batch_ * steps_);
}

void Lu::solve(bool transposed, int64_t columns, void* b) const {
  const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  if (!batched_) {
    const SolverHandle handle(stream_, "solve");
    const cudaDataType_t type = type_of(dtype_);
    const Scratch ignored(stream_, sizeof(int));
    for (int64_t i = 0; i < batch_; ++i)
      ARGOSY_CUSOLVER(solver().cusolverDnXgetrs(
          handle.get(), handle.params(), operation, n_, columns, type,
          matrix_at(dtype_, factors(), i, n_ * n_), n_, wide_pivots_->data<int64_t>() + i * steps_,
          type, matrix_at(dtype_, b, i, n_ * columns), n_, ignored.data<int>()));
    return;
  }
  const Addresses a(stream_, dtype_, factors(), n_ * n_, batch_),
      x(stream_, dtype_, b, n_ * columns, batch_);
  with_numbers(dtype_, [&]<class T>(T) {
    const auto getrs = by_type<T>(cublasSgetrsBatched, cublasDgetrsBatched, cublasCgetrsBatched,
                                  cublasZgetrsBatched);
    const int size = small("solve", n_);
    int wrong = 0;  // of the arguments
    with_blas(stream_, [&](cublasHandle_t handle) {
      ARGOSY_CUBLAS(getrs(handle, operation, size, small("solve", columns), a.of<const T>(), size,
                          pivots(), x.of<T>(), size, &wrong, small("solve", batch_)));
    });
  });
}

}  // namespace argosy::cuda
