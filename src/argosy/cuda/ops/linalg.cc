#include "argosy/ops/linalg/linalg.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/matrices.h"
#include "argosy/kernels/cuda/solver.h"
#include "argosy/kernels/cuda/timing.h"
#include "argosy/op/copy.h"
#include "argosy/ops/linalg/dense.h"

// Factorizations and what is solved with them. Where the CPU raises for a matrix, so does this, and
// then the host waits.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using ops::EighAttrs;
using ops::InverseAttrs;
using ops::leading;
using ops::LstsqAttrs;
using ops::matrix_count;
using ops::QrAttrs;
using ops::SvdAttrs;
using ops::TriangularAttrs;
using ops::UpperAttrs;

template <class A>
const char* match(const Inputs&, const A&) {
  return solver_problem();
}

// Raises for the first of the device's infos, [batch], that is not 0. The host waits.
void check(cudaStream_t stream, const int32_t* info, int64_t batch, const char* op,
           const char* what) {
  refuse_capture(stream, op);
  std::vector<int32_t> read(static_cast<size_t>(batch));
  {
    const device::HostWait wait;
    ARGOSY_CUDA(cudaMemcpyAsync(read.data(), info, read.size() * sizeof(int32_t),
                                cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  ops::check_info(op, read, what);
}

// Infos that are 0 so far.
class Infos {
 public:
  Infos(cudaStream_t stream, int64_t batch)
      : stream_(stream),
        batch_(batch),
        memory_(stream, static_cast<size_t>(batch) * sizeof(int32_t)) {
    ARGOSY_CUDA(cudaMemsetAsync(memory_.data(), 0, memory_.bytes(), stream));
  }
  int32_t* data() const { return memory_.data<int32_t>(); }
  void check(const char* op, const char* what) const {
    cuda::check(stream_, data(), batch_, op, what);
  }

 private:
  const cudaStream_t stream_;
  const int64_t batch_;
  const Scratch memory_;
};

// The operand as a packed stack over `batch`.
Tensor stacked(const Tensor& x, Shape batch) {
  batch.push_back(x.dim(-2));
  batch.push_back(x.dim(-1));
  return as_form(x, batch, x.dtype());
}

void cholesky_run(KernelFrame& f, const UpperAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  cudaStream_t stream = stream_of(f);
  const Infos infos(stream, matrix_count(x));
  cholesky(stream, x.dtype(), matrix_count(x), x.dim(-1), a.upper, x.raw(), f.out[0].raw(),
           infos.data());
  infos.check("cholesky", "is not positive definite");
}

void triangular_run(KernelFrame& f, const TriangularAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  op::copy_into(out, f.in[1]);
  const Shape batch = leading(out.shape(), 2);
  const bool one = matrix_count(x) == 1;
  const Tensor of_each = one ? x : stacked(x, batch);
  Triangular t;
  t.dtype = out.dtype();
  t.batch = batch.numel();
  t.n = out.dim(-2);
  t.columns = out.dim(-1);
  t.upper = a.upper;
  t.transpose = a.transpose;
  t.unit = a.unitriangular;
  t.a = of_each.raw();
  t.a_stride = one ? 0 : t.n * t.n;
  t.x = out.raw();
  triangular_solve(stream_of(f), t);
}

// out with x out = y, packed stacks with elements. May be y.
void solve_with(const Lu& lu, cudaStream_t stream, const Tensor& y, const Tensor& out) {
  const int64_t batch = matrix_count(out), n = out.dim(-2), columns = out.dim(-1);
  const Scratch b(stream, out.nbytes());
  const Lying rows = row_major(n, columns), turned = column_major(n, columns);
  move_matrices(stream, out.dtype(), batch, n, columns, y.raw(), rows, b.data(), turned);
  lu.solve(false, columns, b.data());
  move_matrices(stream, out.dtype(), batch, n, columns, b.data(), turned, out.raw(), rows);
}

void solve_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  const Shape stack = leading(out.shape(), 2);
  const Tensor x = stacked(f.in[0], stack), y = stacked(f.in[1], stack);
  cudaStream_t stream = stream_of(f);
  const Lu lu(stream, x.dtype(), stack.numel(), x.dim(-1), x.dim(-1), x.raw());
  solve_with(lu, stream, y, out);
  check(stream, lu.info(), stack.numel(), "solve", "of x is not invertible");
}

// a^T y = 1, of which y, column major, is the inverse of a by rows.
void inverse_run(KernelFrame& f, const InverseAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (x.numel() == 0) return;
  cudaStream_t stream = stream_of(f);
  const int64_t batch = matrix_count(x), n = x.dim(-1);
  const Lu lu(stream, x.dtype(), batch, n, n, x.raw());
  fill_identity(stream, x.dtype(), batch, n, n, out.raw());
  lu.solve(true, n, out.raw());
  if (a.check) check(stream, lu.info(), batch, "inverse", "is not invertible");
}

// The determinant of a matrix without elements is 1.
void determinants_of(KernelFrame& f, void* det, void* sign, void* log_abs) {
  const Tensor& x = f.in[0];
  const int64_t batch = matrix_count(x), n = x.dim(-1);
  if (batch == 0) return;
  cudaStream_t stream = stream_of(f);
  if (n == 0)
    return determinants(stream, x.dtype(), batch, 0, nullptr, nullptr, det, sign, log_abs);
  const Lu lu(stream, x.dtype(), batch, n, n, x.raw());
  determinants(stream, x.dtype(), batch, n, lu.factors(), lu.pivots(), det, sign, log_abs);
}
void det_run(KernelFrame& f, const NoAttrs&) {
  determinants_of(f, f.out[0].raw(), nullptr, nullptr);
}
void slogdet_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  auto* out = static_cast<char*>(f.out[0].raw());
  determinants_of(f, nullptr, out, out + matrix_count(x) * item_size(x.dtype()));
}

void lu_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &pivots = f.out[1], &infos = f.out[2];
  cudaStream_t stream = stream_of(f);
  if (x.numel() == 0) return clear(stream, infos);
  const int64_t batch = matrix_count(x), m = x.dim(-2), n = x.dim(-1);
  const Lu lu(stream, x.dtype(), batch, m, n, x.raw());
  move_matrices(stream, x.dtype(), batch, m, n, lu.factors(), column_major(m, n), f.out[0].raw(),
                row_major(m, n));
  const auto copied = [&](const Tensor& to, const void* from) {
    ARGOSY_CUDA(cudaMemcpyAsync(to.raw(), from, static_cast<size_t>(to.nbytes()),
                                cudaMemcpyDeviceToDevice, stream));
  };
  copied(pivots, lu.pivots());
  copied(infos, lu.info());
}

void permutation_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &pivots = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  permutations(stream_of(f), pivots.data<int32_t>(), matrix_count(out), pivots.dim(-1), out.dim(-1),
               out.data<float>());
}

void qr_run(KernelFrame& f, const QrAttrs&) {
  const Tensor &x = f.in[0], &q = f.out[0], &r = f.out[1];
  cudaStream_t stream = stream_of(f);
  if (x.numel() == 0) {
    clear(stream, r);
    return fill_identity(stream, x.dtype(), matrix_count(q), q.dim(-2), q.dim(-1), q.raw());
  }
  qr(stream, x.dtype(), matrix_count(x), x.dim(-2), x.dim(-1), q.dim(-1), x.raw(), q.raw(),
     r.raw());
}

constexpr const char* kNoEnd = "did not converge; does it hold nan or inf?";

// What searches for eigenvalues may never end where an element is not finite. The host waits.
void check_finite(cudaStream_t stream, DType dtype, int64_t batch, int64_t per, const void* values,
                  const char* op, const char* what) {
  const Infos infos(stream, batch);
  flag_not_finite(stream, dtype, batch, per, values, infos.data());
  infos.check(op, what);
}

void svd_run(KernelFrame& f, const SvdAttrs& a) {
  const Tensor &x = f.in[0], &u = f.out[0], &s = f.out[1], &vh = f.out[2];
  cudaStream_t stream = stream_of(f);
  if (x.numel() == 0) {
    for (const Tensor* t : {&u, &vh})
      fill_identity(stream, x.dtype(), matrix_count(*t), t->dim(-2), t->dim(-1), t->raw());
    return;
  }
  const int64_t batch = matrix_count(x), m = x.dim(-2), n = x.dim(-1);
  check_finite(stream, x.dtype(), batch, m * n, x.raw(), "svd", kNoEnd);
  const Infos infos(stream, batch);
  svd(stream, x.dtype(), batch, m, n, a.full_matrices, x.raw(), u.raw(), s.raw(), vh.raw(),
      infos.data());
  infos.check("svd", kNoEnd);
}

// The triangle is handed over as it is, as on the CPU.
void eigh_run(KernelFrame& f, const EighAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  cudaStream_t stream = stream_of(f);
  const int64_t batch = matrix_count(x), n = x.dim(-1);
  const bool upper = a.UPLO == "U";
  const Scratch matrices(stream, x.nbytes());
  move_matrices(stream, x.dtype(), batch, n, n, x.raw(), row_major(n, n), matrices.data(),
                column_major(n, n), upper ? Part::upper : Part::lower);
  check_finite(stream, x.dtype(), batch, n * n, matrices.data(), "eigh", kNoEnd);
  const Infos infos(stream, batch);
  eigh(stream, x.dtype(), batch, n, upper, matrices.data(), f.out[0].raw(), infos.data());
  move_matrices(stream, x.dtype(), batch, n, n, matrices.data(), column_major(n, n), f.out[1].raw(),
                row_major(n, n));
  infos.check("eigh", kNoEnd);
}

void eig_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  cudaStream_t stream = stream_of(f);
  const int64_t batch = matrix_count(x), n = x.dim(-1);
  check_finite(stream, x.dtype(), batch, n * n, x.raw(), "eig", kNoEnd);
  const Infos infos(stream, batch);
  eig(stream, x.dtype(), batch, n, x.raw(), f.out[0].raw(), f.out[1].raw(), infos.data());
  infos.check("eig", kNoEnd);
}

// --- the exponential ---

// Coefficients of Pade's numerator of order 13, the last one 1; the denominator is that of -x. And
// up to which norm it is exact to float64.
constexpr double kPade[] = {64764752532480000.,
                            32382376266240000.,
                            7771770303897600.,
                            1187353796428800.,
                            129060195264000.,
                            10559470521600.,
                            670442572800.,
                            33522128640.,
                            1323241920.,
                            40840800.,
                            960960.,
                            16380.,
                            182.,
                            1.};
constexpr double kReach = 5.371920351148152;

// By how many halvings each matrix comes within reach, and what it is then multiplied with: NaN
// where it is not finite. The host waits.
struct Halvings {
  int most = 0;
  Tensor factor, count;  // [.., 1, 1] of the dtype, and float64
};
Halvings halvings_of(const Tensor& x) {
  const Tensor columns = ops::sum(ops::abs(x), op::IntArray::one(-2), true);
  const Tensor norms =
      op::to_host(ops::cast(ops::max(columns, op::IntArray::one(-1), true), DType::float64));
  const Tensor factor = Tensor::empty(norms.shape(), DType::float64),
               count = Tensor::empty(norms.shape(), DType::float64);
  Halvings found;
  for (int64_t i = 0; i < norms.numel(); ++i) {
    const double norm = norms.data<double>()[i];
    int times = 0;
    if (std::isfinite(norm) && norm > kReach)
      times = std::max(0, static_cast<int>(std::ceil(std::log2(norm / kReach))));
    found.most = std::max(found.most, times);
    count.data<double>()[i] = times;
    factor.data<double>()[i] =
        std::isfinite(norm) ? std::ldexp(1.0, -times) : std::numeric_limits<double>::quiet_NaN();
  }
  found.factor = ops::cast(op::to_place(factor, x.place()), x.dtype());
  found.count = op::to_place(count, x.place());
  return found;
}

// The sum of the coefficients from `first` on, every other one, times powers of the square; all
// divided by the first one, which keeps float32 in range.
Tensor series(const Tensor (&powers)[3], const Tensor& one, int first) {
  const auto term = [&](int k, const Tensor& t) {
    return ops::scale(t, kPade[2 * k + first] / kPade[0]);
  };
  const auto sum = [&](int k) {
    return ops::add(ops::add(term(k, powers[0]), term(k + 1, powers[1])), term(k + 2, powers[2]));
  };
  return ops::add(ops::matmul(powers[2], sum(4)), ops::add(sum(1), term(0, one)));
}

void expm_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  refuse_capture(stream_of(f), "matrix_exp");
  op::GradMode off(false);
  const int64_t batch = matrix_count(out), n = out.dim(-1);
  const Halvings halvings = halvings_of(f.in[0]);
  const Tensor x = ops::multiply(f.in[0], halvings.factor);
  Tensor powers[3] = {ops::matmul(x, x), {}, {}};
  powers[1] = ops::matmul(powers[0], powers[0]);
  powers[2] = ops::matmul(powers[1], powers[0]);
  const Tensor one = Tensor::empty(out.shape(), out.dtype(), out.place());
  fill_identity(stream_of(f), out.dtype(), batch, n, n, one.raw());
  const Tensor even = series(powers, one, 0), odd = ops::matmul(x, series(powers, one, 1));
  const Tensor left = ops::subtract(even, odd);
  Tensor result = ops::add(even, odd);
  {
    cudaStream_t stream = stream_of(f);
    const Lu lu(stream, out.dtype(), batch, n, n, left.raw());
    solve_with(lu, stream, result, result);
  }
  for (int i = 0; i < halvings.most; ++i) {
    const Tensor more = ops::greater_than(halvings.count, ops::scale(halvings.count, 0, i));
    const Tensor squared = ops::matmul(result, result);
    result = batch == 1 ? squared : ops::where(more, squared, result);
  }
  op::copy_into(out, result);
}

// --- least squares ---

constexpr const char* kNotLeast = "is not of full rank or did not converge";

// By the singular values beyond the limit: of least norm, at any rank.
Tensor by_values(KernelFrame& f, const LstsqAttrs& a, const Tensor& x, const Tensor& y) {
  cudaStream_t stream = stream_of(f);
  const int64_t batch = matrix_count(x), m = x.dim(-2), n = x.dim(-1), k = std::min(m, n);
  const Shape stack = leading(x.shape(), 2);
  const auto made = [&](int64_t rows, int64_t columns, DType dtype) {
    Shape shape = stack;
    if (rows) shape.push_back(rows);
    shape.push_back(columns);
    return Tensor::empty(shape, dtype, x.place());
  };
  const Tensor u = made(m, k, x.dtype()), vh = made(k, n, x.dtype()),
               s = made(0, k, real_of(x.dtype()));
  check_finite(stream, x.dtype(), batch, m * n, x.raw(), "lstsq", kNotLeast);
  {
    const Infos infos(stream, batch);
    svd(stream, x.dtype(), batch, m, n, false, x.raw(), u.raw(), s.raw(), vh.raw(), infos.data());
    infos.check("lstsq", kNotLeast);
  }
  const bool single = s.dtype() == DType::float32;
  const double epsilon =
      single ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  const Tensor largest = ops::max(s, op::IntArray::one(-1), true);
  const Tensor kept = ops::greater_than(s, ops::scale(largest, a.rcond < 0 ? epsilon : a.rcond));
  op::copy_into(f.out[1], ops::sum(ops::cast(kept, DType::int64), op::IntArray::one(-1)));
  if (a.driver == "gelsd" || a.driver == "gelss")
    op::copy_into(f.out[2], s);
  else
    clear(stream_of(f), f.out[2]);
  const Tensor zeros = ops::scale(s, 0);
  const Tensor inverse = ops::where(
      kept, ops::divide(ops::scale(s, 0, 1), ops::where(kept, s, ops::scale(s, 0, 1))), zeros);
  const Tensor along = ops::matmul(ops::conj_if_complex(u), y, true);
  const Tensor weighted =
      ops::multiply(along, ops::cast(ops::unsqueeze(inverse, op::IntArray::one(-1)), x.dtype()));
  return ops::matmul(ops::conj_if_complex(vh), weighted, true);
}

// The first zero on the diagonals of r is what LAPACK says. The host waits.
void check_rank(const Tensor& r) {
  const Tensor diagonal =
      op::to_host(op::contiguous(ops::cast(ops::abs(ops::diagonal(r)), DType::float64)));
  const int64_t k = diagonal.dim(-1);
  std::vector<int32_t> infos(static_cast<size_t>(diagonal.numel() / k));
  for (int64_t i = diagonal.numel(); i-- > 0;) {
    const double v = diagonal.data<double>()[i];
    auto& info = infos[static_cast<size_t>(i / k)];
    if (v == 0) info = static_cast<int32_t>(i % k + 1);
    if (!std::isfinite(v)) info = 1;
  }
  ops::check_info("lstsq", infos, kNotLeast);
}

// By QR of x, or of its adjoint where it is wide: of least norm, at full rank.
Tensor by_qr(KernelFrame& f, const Tensor& x, const Tensor& y) {
  cudaStream_t stream = stream_of(f);
  const bool wide = x.dim(-2) < x.dim(-1);
  Tensor tall = x;
  const int64_t batch = matrix_count(x), m = std::max(x.dim(-2), x.dim(-1)),
                k = std::min(x.dim(-2), x.dim(-1));
  Shape shape = leading(x.shape(), 2);
  shape.push_back(m);
  shape.push_back(k);
  if (wide) {
    tall = Tensor::empty(shape, x.dtype(), x.place());
    move_matrices(stream, x.dtype(), batch, m, k, x.raw(), column_major(m, k), tall.raw(),
                  row_major(m, k), Part::all, /*conjugated=*/true);
  }
  const Tensor q = Tensor::empty(shape, x.dtype(), x.place());
  shape[shape.rank() - 2] = k;
  const Tensor r = Tensor::empty(shape, x.dtype(), x.place());
  qr(stream, x.dtype(), batch, m, k, k, tall.raw(), q.raw(), r.raw());
  check_rank(r);
  if (wide) return ops::matmul(q, ops::triangular_solve(ops::conj_if_complex(r), y, true, true));
  return ops::triangular_solve(r, ops::matmul(ops::conj_if_complex(q), y, true), true);
}

void lstsq_run(KernelFrame& f, const LstsqAttrs& a) {
  refuse_capture(stream_of(f), "lstsq");
  op::GradMode off(false);
  const Tensor &out = f.out[0], &rank = f.out[1], &singular = f.out[2];
  const Shape stack = leading(out.shape(), 2);
  const Tensor x = stacked(f.in[0], stack), y = stacked(f.in[1], stack);
  if (x.numel() == 0) {
    for (const Tensor* t : {&out, &rank, &singular}) clear(stream_of(f), *t);
    return;
  }
  if (a.driver == "gels") {
    clear(stream_of(f), singular);
    const int32_t full = static_cast<int32_t>(std::min(x.dim(-2), x.dim(-1)));
    fill(stream_of(f), view_of(rank), &full);
    const Tensor z = by_qr(f, x, y);
    if (out.numel()) op::copy_into(out, z);
    return;
  }
  const Tensor z = by_values(f, a, x, y);
  if (out.numel()) op::copy_into(out, z);
}

[[maybe_unused]] const bool linalg_added[] = {
    add_kernel<UpperAttrs>("cholesky", match<UpperAttrs>, cholesky_run),
    add_kernel<TriangularAttrs>("triangular_solve", triangular_run),
    add_kernel<NoAttrs>("solve_matrix", match<NoAttrs>, solve_run),
    add_kernel<InverseAttrs>("inverse", match<InverseAttrs>, inverse_run),
    add_kernel<NoAttrs>("det", match<NoAttrs>, det_run),
    add_kernel<NoAttrs>("slogdet", match<NoAttrs>, slogdet_run),
    add_kernel<NoAttrs>("lu_factor", match<NoAttrs>, lu_run),
    add_kernel<NoAttrs>("lu_permutation", permutation_run),
    add_kernel<QrAttrs>("qr_factors", match<QrAttrs>, qr_run),
    add_kernel<SvdAttrs>("svd", match<SvdAttrs>, svd_run),
    add_kernel<EighAttrs>("eigh", match<EighAttrs>, eigh_run),
    add_kernel<NoAttrs>("eig", match<NoAttrs>, eig_run),
    add_kernel<NoAttrs>("matrix_exp", match<NoAttrs>, expm_run),
    add_kernel<LstsqAttrs>("lstsq_solution", match<LstsqAttrs>, lstsq_run),
};

}  // namespace
}  // namespace argosy::cuda
