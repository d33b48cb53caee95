#include <algorithm>
#include <array>
#include <complex>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "argosy/op/define.h"

// Operations that tell the user something while a Program runs. They have an effect, so no pass
// removes or reorders them.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;

// "[1, 2, 3, ... (7 more)]": the first `count` elements, all if it is negative.
std::string values(const Tensor& t, int64_t count) {
  const int64_t n = count < 0 ? t.numel() : std::min(count, t.numel());
  std::string text = "[";
  char buffer[64];
  auto put = [&](int64_t i, const char* format, auto... value) {
    std::snprintf(buffer, sizeof buffer, format, value...);
    if (i) text += ", ";
    text += buffer;
  };
  const DType wide = is_complex(t.dtype())    ? DType::complex128
                     : is_floating(t.dtype()) ? DType::float64
                                              : DType::int64;
  Tensor copy = Tensor::empty(t.shape(), wide);
  op::copy_into(copy, t);
  for (int64_t i = 0; i < n; ++i) {
    if (wide == DType::complex128) {
      const auto z = copy.data<std::complex<double>>()[i];
      put(i, "%.8g%+.8gj", z.real(), z.imag());
    } else if (wide == DType::float64) {
      put(i, "%.8g", copy.data<double>()[i]);
    } else if (t.dtype() == DType::bool_) {
      put(i, "%s", copy.data<int64_t>()[i] ? "True" : "False");
    } else {
      put(i, "%lld", static_cast<long long>(copy.data<int64_t>()[i]));
    }
  }
  if (n < t.numel()) text += ", ... (" + std::to_string(t.numel() - n) + " more)";
  return text + "]";
}

// --- assert ---

struct AssertAttrs {
  int64_t summarize = 20;
  std::string message;
};
ARGOSY_ATTRS(AssertAttrs, summarize, message)

void assert_infer(InferContext& c, const AssertAttrs&) {
  ARGOSY_CHECK(c.in[0].numel() == 1 || !c.in[0].shape().known(), invalid_argument)
      << "[Assert] cond: expected one element, got " << c.in[0]
      << ". Do this: reduce it by all() or any().";
}

void assert_run(KernelFrame& f, const AssertAttrs& a) {
  ARGOSY_CHECK(f.in[0].numel() == 1, invalid_argument)
      << "[Assert] cond: expected one element, got " << f.in[0]
      << ". Do this: reduce it with all() or any().";
  if (*f.in[0].data<bool>()) return;
  Message m;
  m << "[Assert] the condition is False" << (a.message.empty() ? "" : ": ") << a.message << '.';
  for (const Tensor& x : f.in.list(1)) m << ' ' << x << " = " << values(x, a.summarize) << '.';
  throw Error(ErrorKind::invalid_argument, m.str());
}

ARGOSY_OP(assert_true, AssertAttrs)
    .doc("Raises ValueError, with the first `summarize` values of data, if cond is False.")
    .input("cond", kBool)
    .host()
    .list_input("data", kAny)
    .effect(op::Effect::io)
    .infer(assert_infer)
    .kernel("host", assert_run)
    .done();

// --- print ---

struct PrintAttrs {
  std::string message;
  int64_t first_n = -1;
  int64_t summarize = 20;
  bool type = true;
  bool shape = true;
  bool layout = true;
  std::string phase = "both";
  int64_t serial = 0;
  bool backward = false;
};
ARGOSY_ATTRS(PrintAttrs, message, first_n, summarize, type, shape, layout, phase, serial, backward)

// How often the call `serial` has printed before, up to its limit.
bool may_print(const PrintAttrs& a) {
  if (a.first_n < 0) return true;
  static std::mutex mutex;
  static std::map<std::pair<int64_t, bool>, int64_t> printed;
  std::lock_guard lock(mutex);
  return printed[{a.serial, a.backward}]++ < a.first_n;
}

void print_run(KernelFrame& f, const PrintAttrs& a) {
  op::copy_into(f.out[0], f.in[0]);
  if (a.phase == (a.backward ? "forward" : "backward") || !may_print(a)) return;
  const Tensor& x = f.in[0];
  Message m;
  m << a.message << (a.message.empty() ? "" : "\n");
  m << (a.backward ? "Gradient" : "Tensor") << ":\n";
  if (a.shape) m << "  - shape: " << x.shape() << '\n';
  if (a.layout) m << "  - layout: strided\n";
  if (a.type) m << "  - dtype: " << x.dtype() << '\n';
  m << "  - data: " << values(x, a.summarize) << '\n';
  std::fputs(m.str().c_str(), stdout);
  std::fflush(stdout);
}

Tensors print_grad(const GradCall& c, const PrintAttrs& a);

ARGOSY_OP(print_tensor, PrintAttrs)
    .doc("x; prints it to the standard output when it runs, and its gradient, as phase says.")
    .input("x", kAny)
    .output("out")
    .effect(op::Effect::io)
    .kernel("host", print_run)
    .gradient(print_grad)
    .done();

Tensors print_grad(const GradCall& c, const PrintAttrs& a) {
  PrintAttrs back = a;
  back.backward = !a.backward;
  return {print_tensor_op.one(std::array{c.dy()}, back)};
}

}  // namespace
}  // namespace argosy::ops
