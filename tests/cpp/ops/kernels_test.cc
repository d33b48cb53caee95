#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string>

#include "argosy/op/define.h"
#include "argosy/ops/activation/activation.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"

// Kernels of ops that another file describes, as one for another device is: registered by name,
// with the op's own attribute struct.
namespace argosy {
namespace {

using ops::LeakyReluAttrs;
using ops::MatmulAttrs;
using ops::ScaleAttrs;

// Only calls of this slope and this size are for it, so other tests are left alone.
constexpr double kSlope = 0.03125;

const char* match(const op::Inputs& in, const LeakyReluAttrs& a) {
  if (a.negative_slope != kSlope) return "another slope";
  return in[0].dtype() == DType::float64 ? nullptr : "not float64";
}
void run(op::KernelFrame& f, const LeakyReluAttrs& a) {
  for (int64_t i = 0; i < f.out[0].numel(); ++i)
    f.out[0].data<double>()[i] = 100 + a.negative_slope;
}
const bool first = op::register_kernel(
    "leaky_relu", op::make_kernel<LeakyReluAttrs>("elsewhere", DeviceKind::cpu, match, run), true);

// Behind the op's own: never reached on the CPU, and found on a device that has no other.
void run_on_device(op::KernelFrame& f, const MatmulAttrs& a) {
  f.out[0].data<float>()[0] = a.transpose_y ? 7 : 8;
}
const bool last = op::register_kernel(
    "matmul", op::make_kernel<MatmulAttrs>("of_device", DeviceKind::cuda, nullptr, run_on_device),
    false);

// In a process of its own, see below.
void run_wrong(op::KernelFrame&, const ScaleAttrs&) {}
const bool wrong =
    std::getenv("ARGOSY_TEST_WRONG_KERNEL") &&
    op::register_kernel("leaky_relu",
                        op::make_kernel<ScaleAttrs>("wrong", DeviceKind::cpu, nullptr, run_wrong),
                        false);

Tensor numbers(DType dtype) {
  Tensor t = Tensor::empty({2}, dtype);
  for (int i = 0; i < 2; ++i) {
    if (dtype == DType::float64)
      t.data<double>()[i] = i - 1;
    else
      t.data<float>()[i] = static_cast<float>(i - 1);
  }
  return t;
}

Tensor call(DType dtype, double slope) {
  const LeakyReluAttrs attrs{slope};
  const Tensor x = numbers(dtype);
  return op::dispatch(op::get("leaky_relu"), op::Inputs({&x, 1}), &attrs)[0];
}

TEST(KernelsOfOtherFiles, AreDispatchedWithTheAttributesOfTheOp) {
  ASSERT_TRUE(first);
  EXPECT_EQ(call(DType::float64, kSlope).data<double>()[0], 100 + kSlope);
  EXPECT_EQ(call(DType::float64, 0.25).data<double>()[0], -0.25);
  EXPECT_EQ(call(DType::float32, kSlope).data<float>()[0], static_cast<float>(-kSlope));
}

TEST(KernelsOfOtherFiles, AreOfOneDevice) {
  ASSERT_TRUE(last);
  const op::OpDef& op = op::get("matmul");
  const auto& kernels = op.kernels[static_cast<int>(DeviceKind::cuda)];
  ASSERT_EQ(kernels.size(), 1u);
  for (const op::KernelDef& k : op.kernels[static_cast<int>(DeviceKind::cpu)])
    EXPECT_NE(k.name, "of_device");
  const MatmulAttrs attrs{.transpose_y = true};
  const Tensor x[] = {numbers(DType::float32), numbers(DType::float32)};
  const op::Inputs in(x);
  const op::KernelDef* kernel = op::find_kernel(op, in, &attrs, DeviceKind::cuda);
  ASSERT_EQ(kernel, &kernels[0]);
  Tensors out(Tensor::empty({}, DType::float32));
  op::KernelFrame frame{op, in, out};
  kernel->run(frame, &attrs);
  EXPECT_EQ(out[0].data<float>()[0], 7);
}

std::string error_of(void (*fn)()) {
  try {
    fn();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    return e.what();
  }
  return "no error";
}

TEST(KernelsOfOtherFiles, ComeBeforeTheFirstLookUp) {
  op::get("leaky_relu");
  const char* end =
      " is registered after ops were looked up: nobody would find it. Do this: load the library "
      "that brings it with argosy.utils.cpp_extension.load_op_library(path).";
  EXPECT_EQ(error_of([] {
              op::register_kernel(
                  "leaky_relu",
                  op::make_kernel<LeakyReluAttrs>("late", DeviceKind::cpu, match, run), true);
            }),
            std::string("late") + end);
  EXPECT_EQ(error_of([] {
              op::OpDef def;
              def.name = "late_op";
              op::register_op(std::move(def));
            }),
            std::string("late_op") + end);
  EXPECT_EQ(op::find("late_op"), nullptr);
}

// The registry is joined once in a process, so the test's process is started again.
TEST(KernelsOfOtherFilesDeathTest, ReadTheAttributesOfTheOp) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("ARGOSY_TEST_WRONG_KERNEL", "1", 1);
  EXPECT_EXIT(
      {
        std::cerr << error_of([] { op::get("leaky_relu"); });
        std::exit(3);
      },
      testing::ExitedWithCode(3),
      "Kernel wrong of leaky_relu reads ScaleAttrs, but the op has LeakyReluAttrs. Do this: make "
      "it "
      "by make_kernel<LeakyReluAttrs>.");
  unsetenv("ARGOSY_TEST_WRONG_KERNEL");
}

}  // namespace
}  // namespace argosy
