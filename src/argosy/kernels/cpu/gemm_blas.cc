#include "argosy/kernels/cpu/gemm_blas.h"

#include <oneapi/dnnl/dnnl.h>
#include <algorithm>

#include "argosy/base/error.h"
#include "argosy/base/parallel_context.h"

extern "C" {
// Of the libgomp that oneDNN runs on; <omp.h> would pull in the compiler's OpenMP flags.
void omp_set_num_threads(int n);
int omp_get_max_threads();

void scipy_openblas_set_num_threads(int n);
void scipy_cblas_sgemm(int order, int trans_a, int trans_b, int m, int n, int k, float alpha,
                       const float* a, int lda, const float* b, int ldb, float beta, float* c,
                       int ldc);
void scipy_cblas_dgemm(int order, int trans_a, int trans_b, int m, int n, int k, double alpha,
                       const double* a, int lda, const double* b, int ldb, double beta, double* c,
                       int ldc);
void scipy_cblas_dgemv(int order, int trans, int m, int n, double alpha, const double* a, int lda,
                       const double* x, int x_step, double beta, double* y, int y_step);
void scipy_cblas_cgemm(int order, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                       const void* a, int lda, const void* b, int ldb, const void* beta, void* c,
                       int ldc);
void scipy_cblas_zgemm(int order, int trans_a, int trans_b, int m, int n, int k, const void* alpha,
                       const void* a, int lda, const void* b, int ldb, const void* beta, void* c,
                       int ldc);
}

namespace argosy::cpu {

OneDnnCall::OneDnnCall() : holds_(!on_pool_thread()) {
  // Thread-local in libgomp, and other code in the process may change it: so checked every time.
  if (omp_get_max_threads() != 1) omp_set_num_threads(1);
  if (!holds_) return;
  sigset_t wait;
  sigfillset(&wait);
  for (int raised : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT})
    sigdelset(&wait, raised);
  pthread_sigmask(SIG_BLOCK, &wait, &before_);
}

OneDnnCall::~OneDnnCall() {
  if (holds_) pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void enter_openblas() {
  static const bool once = (scipy_openblas_set_num_threads(1), true);
  (void)once;
}

namespace {

constexpr int kRowMajor = 101;

int as_int(int64_t v) {
  ARGOSY_CHECK(v <= INT32_MAX, not_implemented)
      << "[matmul] a side of " << v
      << " elements is more than BLAS can count (2147483647). Do this: split the product.";
  return static_cast<int>(v);
}

// C has one row or one column: the other matrix is read once and not packed.
void blas_dgemv(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
                const double* a, int64_t lda, const double* b, int64_t ldb, double beta, double* c,
                int64_t ldc) {
  const bool row = m == 1;
  const int64_t y_step = row ? 1 : ldc, count = row ? n : m;
  for (int64_t i = 0; beta == 0 && i < count; ++i) c[i * y_step] = 0;  // nan times 0 is nan
  const bool stored_trans = row ? trans_b : trans_a;
  // As stored: rows of a (m of k), or of b (k of n).
  const bool transposed = row ? !trans_b : trans_a;
  const int64_t rows = row ? (stored_trans ? n : k) : (stored_trans ? k : m);
  const int64_t columns = row ? (stored_trans ? k : n) : (stored_trans ? m : k);
  const int64_t x_step = row ? (trans_a ? lda : 1) : (trans_b ? 1 : ldb);
  scipy_cblas_dgemv(kRowMajor, transposed ? 112 : 111, as_int(rows), as_int(columns), alpha,
                    row ? b : a, as_int(row ? ldb : lda), row ? a : b, as_int(x_step), beta, c,
                    as_int(y_step));
}

}  // namespace

void blas_gemm(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
               double alpha, const void* a, int64_t lda, const void* b, int64_t ldb, double beta,
               void* c, int64_t ldc) {
  // The distance between rows means nothing where there is one, but libraries check it.
  lda = std::max(lda, trans_a ? m : k);
  ldb = std::max(ldb, trans_b ? k : n);
  ldc = std::max(ldc, n);
  if (dtype == DType::float32) {
    const OneDnnCall call;
    dnnl_status_t status =
        dnnl_sgemm(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, static_cast<float>(alpha),
                   static_cast<const float*>(a), lda, static_cast<const float*>(b), ldb,
                   static_cast<float>(beta), static_cast<float*>(c), ldc);
    ARGOSY_CHECK(status == dnnl_success, internal)
        << "[matmul] dnnl_sgemm refused m=" << m << " n=" << n << " k=" << k << " lda=" << lda
        << " ldb=" << ldb << " ldc=" << ldc << " with status " << static_cast<int>(status) << '.';
    return;
  }
  enter_openblas();
  int ta = trans_a ? 112 : 111, tb = trans_b ? 112 : 111;
  int im = as_int(m), in = as_int(n), ik = as_int(k);
  int ila = as_int(lda), ilb = as_int(ldb), ilc = as_int(ldc);
  if (dtype == DType::float64 && (m == 1 || n == 1)) {
    blas_dgemv(trans_a, trans_b, m, n, k, alpha, static_cast<const double*>(a), lda,
               static_cast<const double*>(b), ldb, beta, static_cast<double*>(c), ldc);
  } else if (dtype == DType::float64) {
    scipy_cblas_dgemm(kRowMajor, ta, tb, im, in, ik, alpha, static_cast<const double*>(a), ila,
                      static_cast<const double*>(b), ilb, beta, static_cast<double*>(c), ilc);
  } else if (dtype == DType::complex64) {
    complex64 ca(static_cast<float>(alpha)), cb(static_cast<float>(beta));
    scipy_cblas_cgemm(kRowMajor, ta, tb, im, in, ik, &ca, a, ila, b, ilb, &cb, c, ilc);
  } else {
    ARGOSY_INVARIANT(dtype == DType::complex128);
    complex128 ca(alpha), cb(beta);
    scipy_cblas_zgemm(kRowMajor, ta, tb, im, in, ik, &ca, a, ila, b, ilb, &cb, c, ilc);
  }
}

}  // namespace argosy::cpu
