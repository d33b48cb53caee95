// An op with kernels of its own for GPUs, as PaddlePaddle's documentation writes them.
#include <vector>

#include "paddle/extension.h"

template <class T>
__global__ void cube(const T* x, T* y, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] * x[i];
}

template <class T>
__global__ void cube_grad(const T* x, const T* dy, T* dx, int64_t n) {
  const int64_t i = blockIdx.x * static_cast<int64_t>(blockDim.x) + threadIdx.x;
  if (i < n) dx[i] = 3 * x[i] * x[i] * dy[i];
}

constexpr int kThreads = 256;

unsigned blocks_of(int64_t n) {
  return static_cast<unsigned>((n + kThreads - 1) / kThreads);
}

std::vector<paddle::Tensor> forward(const paddle::Tensor& x) {
  paddle::Tensor y = paddle::empty_like(x);
  const int64_t n = x.numel();
  PD_DISPATCH_FLOATING_TYPES(x.type(), "cube", ([&] {
                               if (x.is_cpu()) {
                                 for (int64_t i = 0; i < n; ++i) {
                                   const data_t v = x.data<data_t>()[i];
                                   y.data<data_t>()[i] = v * v * v;
                                 }
                               } else if (n) {
                                 cube<data_t><<<blocks_of(n), kThreads, 0, x.stream()>>>(
                                     x.data<data_t>(), y.data<data_t>(), n);
                               }
                             }));
  return {y};
}

std::vector<paddle::Tensor> backward(const paddle::Tensor& x, const paddle::Tensor& dy) {
  if (x.is_cpu()) return {3.0 * x * x * dy};
  paddle::Tensor dx = paddle::empty(x.shape(), x.dtype(), x.place());
  const int64_t n = x.numel();
  PD_DISPATCH_FLOATING_TYPES(x.type(), "cube_grad", ([&] {
                               if (n)
                                 cube_grad<data_t><<<blocks_of(n), kThreads, 0, x.stream()>>>(
                                     x.data<data_t>(), dy.data<data_t>(), dx.data<data_t>(), n);
                             }));
  return {dx};
}

PD_BUILD_OP(custom_cube).Inputs({"X"}).Outputs({"Out"}).SetKernelFn(PD_KERNEL(forward));
PD_BUILD_GRAD_OP(custom_cube)
    .Inputs({"X", paddle::Grad("Out")})
    .Outputs({paddle::Grad("X")})
    .SetKernelFn(PD_KERNEL(backward));

// Says where its operand was.
std::vector<paddle::Tensor> where(const paddle::Tensor& x) {
  const auto place = x.place();
  PD_CHECK(x.copy_to(paddle::CPUPlace(), true).is_cpu(), "a copy");
  return {
      paddle::full({2}, x.is_gpu() ? 1 + place.GetDeviceId() : 0, paddle::DataType::INT64, place)};
}
std::vector<std::vector<int64_t>> where_shape(std::vector<int64_t>) {
  return {{2}};
}
std::vector<paddle::DataType> where_dtype(paddle::DataType) {
  return {paddle::DataType::INT64};
}
PD_BUILD_OP(custom_where)
    .Inputs({"X"})
    .Outputs({"Out"})
    .SetKernelFn(PD_KERNEL(where))
    .SetInferShapeFn(PD_INFER_SHAPE(where_shape))
    .SetInferDtypeFn(PD_INFER_DTYPE(where_dtype));
