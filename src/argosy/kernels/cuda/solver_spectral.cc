#include <algorithm>
#include <climits>

#include "argosy/kernels/cuda/blas_handle.h"
#include "argosy/kernels/cuda/matrices.h"
#include "argosy/kernels/cuda/solver.h"
#include "argosy/kernels/cuda/solver_handle.h"

// Orthogonal and spectral factorizations.
namespace argosy::cuda {
namespace {

size_t bytes_of(DType dtype, int64_t elements) {
  return static_cast<size_t>(elements * item_size(dtype));
}

// --- qr ---

// Stacks of matrices up to this size are factored by a call for all of them.
constexpr int64_t kBatchedQr = 256;
// What cuSOLVER's kernel for many singular value decompositions takes.
constexpr int64_t kBatchedSvd = 32;
// Beyond that, eigenvalues are found for one matrix after the other.
constexpr int64_t kBatchedEigh = 512;
constexpr int64_t kMostEigh = 32768;  // matrices of a call

// Reflectors below the diagonals of factors [batch, m, .., column major, m * width apart], and tau.
void factor_each(const SolverHandle& handle, cudaStream_t stream, DType dtype, int64_t batch,
                 int64_t m, int64_t n, int64_t width, void* factors, void* tau) {
  const int64_t steps = std::min(m, n);
  const cudaDataType_t type = type_of(dtype);
  size_t of_device = 0, of_host = 0;
  ARGOSY_CUSOLVER(solver().cusolverDnXgeqrf_bufferSize(handle.get(), handle.params(), m, n, type,
                                                       factors, m, type, tau, type, &of_device,
                                                       &of_host));
  Workspace room(stream, of_device, of_host);
  const Scratch ignored(stream, sizeof(int));
  for (int64_t i = 0; i < batch; ++i)
    ARGOSY_CUSOLVER(solver().cusolverDnXgeqrf(
        handle.get(), handle.params(), m, n, type, matrix_at(dtype, factors, i, m * width), m, type,
        matrix_at(dtype, tau, i, steps), type, room.device(), of_device, room.host(), of_host,
        ignored.data<int>()));
}

// The first `columns` columns of q in place of the reflectors.
void form_each(const SolverHandle& handle, cudaStream_t stream, DType dtype, int64_t batch,
               int64_t m, int64_t columns, int64_t steps, int64_t width, void* factors, void* tau) {
  const Scratch ignored(stream, sizeof(int));
  const int rows = small("qr", m), wanted = small("qr", columns), k = small("qr", steps);
  with_numbers(dtype, [&]<class T>(T) {
    const Solver& s = solver();
    const auto size_of = by_type<T>(s.cusolverDnSorgqr_bufferSize, s.cusolverDnDorgqr_bufferSize,
                                    s.cusolverDnCungqr_bufferSize, s.cusolverDnZungqr_bufferSize);
    const auto form =
        by_type<T>(s.cusolverDnSorgqr, s.cusolverDnDorgqr, s.cusolverDnCungqr, s.cusolverDnZungqr);
    auto *f = static_cast<T*>(factors), *t = static_cast<T*>(tau);
    int count = 0;
    ARGOSY_CUSOLVER(size_of(handle.get(), rows, wanted, k, f, rows, t, &count));
    const Scratch room(stream, static_cast<size_t>(std::max(count, 1)) * sizeof(T));
    for (int64_t i = 0; i < batch; ++i)
      ARGOSY_CUSOLVER(form(handle.get(), rows, wanted, k, f + i * m * width, rows, t + i * steps,
                           room.data<T>(), count, ignored.data<int>()));
  });
}

void factor_batched(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n,
                    void* factors, void* tau) {
  const int64_t steps = std::min(m, n);
  const Scratch addresses(stream, static_cast<size_t>(2 * batch) * sizeof(void*));
  auto** to = addresses.data<void*>();
  space_addresses(stream, factors, m * n * item_size(dtype), batch, to);
  space_addresses(stream, tau, steps * item_size(dtype), batch, to + batch);
  with_numbers(dtype, [&]<class T>(T) {
    const auto geqrf = by_type<T>(cublasSgeqrfBatched, cublasDgeqrfBatched, cublasCgeqrfBatched,
                                  cublasZgeqrfBatched);
    T** a = addresses.data<T*>();
    int wrong = 0;  // of the arguments
    with_blas(stream, [&](cublasHandle_t handle) {
      ARGOSY_CUBLAS(geqrf(handle, small("qr", m), small("qr", n), a, small("qr", m), a + batch,
                          &wrong, small("qr", batch)));
    });
  });
}

// --- svd ---

// Of the transposes, [n, m] column major, which are destroyed. left [n, .], real s [k], right [m,
// .], column major; left and right have k columns, or all.
void svd_each(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, bool full,
              void* a, void* left, void* s, void* right, int32_t* info) {
  const int64_t k = std::min(m, n);
  const SolverHandle handle(stream, "svd");
  const int rows = small("svd", n), columns = small("svd", m), less = full ? 0 : 1;
  with_numbers(dtype, [&]<class T>(T) {
    using R = RealNumber<T>;
    const Solver& f = solver();
    const auto size_of = by_type<T>(f.cusolverDnSgesvdj_bufferSize, f.cusolverDnDgesvdj_bufferSize,
                                    f.cusolverDnCgesvdj_bufferSize, f.cusolverDnZgesvdj_bufferSize);
    const auto factor = by_type<T>(f.cusolverDnSgesvdj, f.cusolverDnDgesvdj, f.cusolverDnCgesvdj,
                                   f.cusolverDnZgesvdj);
    auto *x = static_cast<T*>(a), *u = static_cast<T*>(left), *v = static_cast<T*>(right);
    auto* values = static_cast<R*>(s);
    int count = 0;
    ARGOSY_CUSOLVER(size_of(handle.get(), CUSOLVER_EIG_MODE_VECTOR, less, rows, columns, x, rows,
                            values, u, rows, v, columns, &count, handle.jacobi()));
    const Scratch room(stream, static_cast<size_t>(std::max(count, 1)) * sizeof(T));
    for (int64_t i = 0; i < batch; ++i)
      ARGOSY_CUSOLVER(factor(handle.get(), CUSOLVER_EIG_MODE_VECTOR, less, rows, columns,
                             x + i * m * n, rows, values + i * k, u + i * n * (full ? n : k), rows,
                             v + i * m * (full ? m : k), columns, room.data<T>(), count, info + i,
                             handle.jacobi()));
  });
}

// The same for many small ones; left and right have all columns.
void svd_batched(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, void* a,
                 void* left, void* s, void* right, int32_t* info) {
  const SolverHandle handle(stream, "svd");
  const int rows = small("svd", n), columns = small("svd", m), matrices = small("svd", batch);
  with_numbers(dtype, [&]<class T>(T) {
    using R = RealNumber<T>;
    const Solver& f = solver();
    const auto size_of =
        by_type<T>(f.cusolverDnSgesvdjBatched_bufferSize, f.cusolverDnDgesvdjBatched_bufferSize,
                   f.cusolverDnCgesvdjBatched_bufferSize, f.cusolverDnZgesvdjBatched_bufferSize);
    const auto factor = by_type<T>(f.cusolverDnSgesvdjBatched, f.cusolverDnDgesvdjBatched,
                                   f.cusolverDnCgesvdjBatched, f.cusolverDnZgesvdjBatched);
    auto *x = static_cast<T*>(a), *u = static_cast<T*>(left), *v = static_cast<T*>(right);
    auto* values = static_cast<R*>(s);
    int count = 0;
    ARGOSY_CUSOLVER(size_of(handle.get(), CUSOLVER_EIG_MODE_VECTOR, rows, columns, x, rows, values,
                            u, rows, v, columns, &count, handle.jacobi(), matrices));
    const Scratch room(stream, static_cast<size_t>(std::max(count, 1)) * sizeof(T));
    ARGOSY_CUSOLVER(factor(handle.get(), CUSOLVER_EIG_MODE_VECTOR, rows, columns, x, rows, values,
                           u, rows, v, columns, room.data<T>(), count, info, handle.jacobi(),
                           matrices));
  });
}

// --- eigh ---

void eigh_each(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, cublasFillMode_t part,
               void* a, void* w, int32_t* info) {
  const SolverHandle handle(stream, "eigh");
  const cudaDataType_t type = type_of(dtype), real = real_type_of(dtype);
  size_t of_device = 0, of_host = 0;
  ARGOSY_CUSOLVER(solver().cusolverDnXsyevd_bufferSize(handle.get(), handle.params(),
                                                       CUSOLVER_EIG_MODE_VECTOR, part, n, type, a,
                                                       n, real, w, type, &of_device, &of_host));
  Workspace room(stream, of_device, of_host);
  for (int64_t i = 0; i < batch; ++i)
    ARGOSY_CUSOLVER(solver().cusolverDnXsyevd(
        handle.get(), handle.params(), CUSOLVER_EIG_MODE_VECTOR, part, n, type,
        matrix_at(dtype, a, i, n * n), n, real, matrix_at(real_of(dtype), w, i, n), type,
        room.device(), of_device, room.host(), of_host, info + i));
}

void eigh_batched(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, cublasFillMode_t part,
                  void* a, void* w, int32_t* info) {
  const SolverHandle handle(stream, "eigh");
  const cudaDataType_t type = type_of(dtype), real = real_type_of(dtype);
  const int64_t most = std::clamp<int64_t>(INT_MAX / (n * n), 1, kMostEigh);
  for (int64_t i = 0; i < batch; i += most) {
    const int64_t count = std::min(most, batch - i);
    void *matrices = matrix_at(dtype, a, i, n * n), *values = matrix_at(real_of(dtype), w, i, n);
    size_t of_device = 0, of_host = 0;
    ARGOSY_CUSOLVER(solver().cusolverDnXsyevBatched_bufferSize(
        handle.get(), handle.params(), CUSOLVER_EIG_MODE_VECTOR, part, n, type, matrices, n, real,
        values, type, &of_device, &of_host, count));
    Workspace room(stream, of_device, of_host);
    ARGOSY_CUSOLVER(solver().cusolverDnXsyevBatched(
        handle.get(), handle.params(), CUSOLVER_EIG_MODE_VECTOR, part, n, type, matrices, n, real,
        values, type, room.device(), of_device, room.host(), of_host, info + i, count));
  }
}

}  // namespace

void qr(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, int64_t columns,
        const void* a, void* q, void* r) {
  const bool batched = batch > 1 && std::max(m, n) <= kBatchedQr;
  const int64_t steps = std::min(m, n), width = batched ? n : std::max(n, columns);
  const Scratch memory(stream, bytes_of(dtype, batch * m * width)),
      tau(stream, bytes_of(dtype, batch * steps));
  void* factors = memory.data();
  const Lying lying = {m * width, 1, m};
  move_matrices(stream, dtype, batch, m, n, a, row_major(m, n), factors, lying);
  const auto copy_r = [&] {
    move_matrices(stream, dtype, batch, columns, n, factors, lying, r, row_major(columns, n),
                  Part::upper);
  };
  if (batched) {
    factor_batched(stream, dtype, batch, m, n, factors, tau.data());
    copy_r();
    const Scratch formed(stream, bytes_of(dtype, batch * m * columns));
    form_q(stream, dtype, batch, m, columns, steps, factors, m * width, tau.data(), formed.data());
    return move_matrices(stream, dtype, batch, m, columns, formed.data(), column_major(m, columns),
                         q, row_major(m, columns));
  }
  const SolverHandle handle(stream, "qr");
  factor_each(handle, stream, dtype, batch, m, n, width, factors, tau.data());
  copy_r();
  form_each(handle, stream, dtype, batch, m, columns, steps, width, factors, tau.data());
  move_matrices(stream, dtype, batch, m, columns, factors, lying, q, row_major(m, columns));
}

void eigh(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, bool upper, void* a, void* w,
          int32_t* info) {
  const cublasFillMode_t part = upper ? CUBLAS_FILL_MODE_UPPER : CUBLAS_FILL_MODE_LOWER;
  if (batch > 1 && n <= kBatchedEigh)
    eigh_batched(stream, dtype, batch, n, part, a, w, info);
  else
    eigh_each(stream, dtype, batch, n, part, a, w, info);
}

void eig(cudaStream_t stream, DType dtype, int64_t batch, int64_t n, const void* a, void* w,
         void* v, int32_t* info) {
  const SolverHandle handle(stream, "eig");
  const cudaDataType_t type = type_of(dtype), values = type_of(complex_of(dtype));
  const size_t bytes = bytes_of(dtype, batch * n * n);
  const Scratch matrices(stream, bytes), vectors(stream, bytes);
  move_matrices(stream, dtype, batch, n, n, a, row_major(n, n), matrices.data(),
                column_major(n, n));
  size_t of_device = 0, of_host = 0;
  ARGOSY_CUSOLVER(solver().cusolverDnXgeev_bufferSize(
      handle.get(), handle.params(), CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, n, type,
      matrices.data(), n, values, w, type, nullptr, n, type, vectors.data(), n, type, &of_device,
      &of_host));
  Workspace room(stream, of_device, of_host);
  for (int64_t i = 0; i < batch; ++i)
    ARGOSY_CUSOLVER(solver().cusolverDnXgeev(
        handle.get(), handle.params(), CUSOLVER_EIG_MODE_NOVECTOR, CUSOLVER_EIG_MODE_VECTOR, n,
        type, matrix_at(dtype, matrices.data(), i, n * n), n, values,
        matrix_at(complex_of(dtype), w, i, n), type, nullptr, n, type,
        matrix_at(dtype, vectors.data(), i, n * n), n, type, room.device(), of_device, room.host(),
        of_host, info + i));
  if (is_complex(dtype))
    move_matrices(stream, dtype, batch, n, n, vectors.data(), column_major(n, n), v,
                  row_major(n, n));
  else
    pair_vectors(stream, dtype, batch, n, vectors.data(), w, v);
}

// a^T = conj(v) diag(s) conj(u)^H: its left vectors, read row by row, are vh; its right ones are
// u's conjugates.
void svd(cudaStream_t stream, DType dtype, int64_t batch, int64_t m, int64_t n, bool full,
         const void* a, void* u, void* s, void* vh, int32_t* info) {
  const int64_t k = std::min(m, n), of_u = full ? m : k, of_v = full ? n : k;
  const bool batched = std::max(m, n) <= kBatchedSvd;
  const Scratch memory(stream, bytes_of(dtype, batch * m * n));
  move_matrices(stream, dtype, batch, m, n, a, row_major(m, n), memory.data(), row_major(m, n));
  const int64_t width = batched ? m : of_u;  // columns of the right vectors
  const Scratch right(stream, bytes_of(dtype, batch * m * width));
  if (batched) {
    const Scratch left(stream, bytes_of(dtype, batch * n * n));
    svd_batched(stream, dtype, batch, m, n, memory.data(), left.data(), s, right.data(), info);
    move_matrices(stream, dtype, batch, of_v, n, left.data(), row_major(n, n), vh,
                  row_major(of_v, n));
  } else {
    svd_each(stream, dtype, batch, m, n, full, memory.data(), vh, s, right.data(), info);
  }
  move_matrices(stream, dtype, batch, m, of_u, right.data(), column_major(m, width), u,
                row_major(m, of_u), Part::all, /*conjugated=*/true);
}

}  // namespace argosy::cuda
