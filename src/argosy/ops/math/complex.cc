#include <cstring>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Complex numbers and their parts.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

template <class A>
void infer_real(op::InferContext& c, const A&) {
  c.out[0].dtype = real_of(c.out[0].dtype);
}

Tensor times_i(const Tensor& x) {
  return multiply(x, constant(std::complex<double>(0, 1), x.dtype(), x.place()));
}

void real_run(op::KernelFrame& f, const NoAttrs&) {
  if (is_complex(f.in[0].dtype()))
    run_elementwise(f, cpu::real_loops());
  else
    op::copy_into(f.out[0], f.in[0]);
}
void imag_run(op::KernelFrame& f, const NoAttrs&) {
  if (is_complex(f.in[0].dtype()))
    run_elementwise(f, cpu::imag_loops());
  else
    op::copy_into(f.out[0], constant(0, f.in[0].dtype(), f.in[0].place()));
}
Tensors real_grad(const GradCall& c, const NoAttrs&) {
  return cast(c.dy(), c.in[0].dtype());
}
Tensors imag_grad(const GradCall& c, const NoAttrs&) {
  if (!is_complex(c.in[0].dtype())) return zeros_like(c.dy());
  return times_i(cast(c.dy(), c.in[0].dtype()));
}

// The angle of a real number is a step; of a complex one it turns with i z / |z|^2.
Tensors angle_grad(const GradCall& c, const NoAttrs&) {
  const Tensor& z = c.in[0];
  if (!is_complex(z.dtype())) return zeros_like(c.dy());
  Tensor scaled = divide(c.dy(), square(abs(z)));
  return times_i(multiply(cast(scaled, z.dtype()), z));
}

#define ARGOSY_PART(name, save, run, rule, text) \
  ARGOSY_OP(name, NoAttrs)                       \
      .python(#name "(x, name=None)")            \
      .method(#name)                             \
      .doc(text)                                 \
      .input("x", kFloating | kComplex, save)    \
      .output("out")                             \
      .elementwise()                             \
      .infer(infer_real<NoAttrs>)                \
      .kernel("loops", run)                      \
      .strided()                                 \
      .on_loops()                                \
      .gradient(rule)

ARGOSY_PART(real, Save::shape, real_run, real_grad, "The real parts; real numbers as they are.")
    .example(R"(>>> argosy.real(argosy.to_tensor([3 + 4j, 1j])).tolist()
[3.0, 0.0])")
    .done();
ARGOSY_PART(imag, Save::shape, imag_run, imag_grad, "The imaginary parts; 0 of real numbers.")
    .example(R"(>>> argosy.imag(argosy.to_tensor([3 + 4j, 1j])).tolist()
[4.0, 1.0])")
    .done();
ARGOSY_PART(angle, Save::value, (run_loops<cpu::angle_loops, 10>), angle_grad,
            "The angle in the complex plane in radians; pi of negative real numbers, else 0.")
    .example(R"(>>> argosy.angle(argosy.to_tensor([3 + 4j, 1j])).tolist()
[0.9273, 1.5708])")
    .done();

template <class T>
void join_parts(char* const* ptrs, const int64_t* strides, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i) {
    T* out = reinterpret_cast<T*>(ptrs[2] + i * strides[2]);
    out[0] = *reinterpret_cast<const T*>(ptrs[0] + i * strides[0]);
    out[1] = *reinterpret_cast<const T*>(ptrs[1] + i * strides[1]);
  }
}

const cpu::LoopTable& complex_loops() {
  static const cpu::LoopTable table = [] {
    cpu::LoopTable t;
    t.by_dtype[static_cast<int>(DType::float32)] = join_parts<float>;
    t.by_dtype[static_cast<int>(DType::float64)] = join_parts<double>;
    return t;
  }();
  return table;
}

void infer_complex(op::InferContext& c, const NoAttrs&) {
  c.out[0].dtype = complex_of(c.out[0].dtype);
}

Tensors complex_grad(const GradCall& c, const NoAttrs&) {
  return {c.needs(0) ? sum_like(real(c.dy()), c.in[0]) : Tensor(),
          c.needs(1) ? sum_like(imag(c.dy()), c.in[1]) : Tensor()};
}

constexpr DTypes kParts = only(DType::float32) | only(DType::float64);

ARGOSY_OP(complex, NoAttrs)
    .python("complex(real, imag, name=None, *, out=None)")
    .doc("real + i imag, elementwise with broadcasting.")
    .example(
        R"(>>> argosy.complex(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([3.0, 4.0])).tolist()
[(1+3j), (2+4j)])")
    .input("real", kParts, Save::shape)
    .input("imag", kParts, Save::shape)
    .output("out")
    .promote()
    .elementwise()
    .infer(infer_complex)
    .kernel("loops", run_loops<complex_loops>)
    .strided()
    .gradient(complex_grad)
    .done();

Tensors polar_parts(const op::Inputs& in, const NoAttrs&) {
  return complex_op(multiply(in[0], cos(in[1])), multiply(in[0], sin(in[1])));
}

ARGOSY_OP(polar, NoAttrs)
    .python("polar(abs, angle, name=None, *, out=None)")
    .doc("abs * (cos(angle) + i sin(angle)), elementwise with broadcasting; angle in radians.")
    .example(
        R"(>>> argosy.polar(argosy.to_tensor([1.0, 2.0]), argosy.to_tensor([0.0, 3.14159])).numpy().round(3).tolist()
[(1+0j), (-2+0j)])")
    .input("abs", kParts)
    .input("angle", kParts)
    .output("out")
    .promote()
    .elementwise()
    .infer(infer_complex)
    .compose(polar_parts)
    .done();

void copy_bytes(op::KernelFrame& f, const NoAttrs&) {
  if (f.out[0].numel()) std::memcpy(f.out[0].raw(), f.in[0].raw(), f.out[0].nbytes());
}

Tensor as_real_of(const Tensor& x);

void as_complex_infer(op::InferContext& c, const NoAttrs&) {
  const Tensor& x = c.in[0];
  ARGOSY_CHECK(x.rank() >= 1 && (x.dim(-1) == 2 || x.dim(-1) == kUnknown), invalid_argument)
      << "[as_complex] the last dimension holds the real and the imaginary part: expected size 2, "
         "got "
      << x << ". Do this: stack the two parts on the last axis.";
  c.out[0].shape.erase(x.rank() - 1);
  c.out[0].dtype = complex_of(x.dtype());
}
Tensors as_complex_grad(const GradCall& c, const NoAttrs&) {
  return as_real_of(c.dy());
}

ARGOSY_OP(as_complex, NoAttrs)
    .python("as_complex(x, name=None)")
    .method("as_complex")
    .doc("Pairs of the last dimension (size 2) as complex numbers.")
    .shape("x [*s,2] -> [*s]")
    .example(R"(>>> argosy.as_complex(argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])).tolist()
[(1+2j), (3+4j)])")
    .input("x", kParts)
    .output("out")
    .infer(as_complex_infer)
    .kernel("copy", copy_bytes)
    .gradient(as_complex_grad)
    .done();

void as_real_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0].shape.push_back(2);
  c.out[0].dtype = real_of(c.in[0].dtype());
}
Tensors as_real_grad(const GradCall& c, const NoAttrs&) {
  return as_complex_op(c.dy());
}

ARGOSY_OP(as_real, NoAttrs)
    .python("as_real(x, name=None)")
    .method("as_real")
    .doc("Complex numbers as pairs in a new last dimension of size 2: real, imaginary part.")
    .shape("x [*s] -> [*s,2]")
    .example(R"(>>> argosy.as_real(argosy.to_tensor([1 + 2j, 3 + 4j])).tolist()
[[1.0, 2.0], [3.0, 4.0]])")
    .input("x", kComplex)
    .output("out")
    .infer(as_real_infer)
    .kernel("copy", copy_bytes)
    .gradient(as_real_grad)
    .done();

Tensor as_real_of(const Tensor& x) {
  return as_real_op(x);
}

}  // namespace

Tensor real(const Tensor& x) {
  return real_op(x);
}
Tensor imag(const Tensor& x) {
  return imag_op(x);
}

}  // namespace argosy::ops
