#pragma once

// All ops that have a name in the text of a fused chain.
#include "argosy/kernels/cuda/chain.cuh"
#include "argosy/kernels/cuda/ops_activation.cuh"
#include "argosy/kernels/cuda/ops_activation_grad.cuh"
#include "argosy/kernels/cuda/ops_arithmetic.cuh"
#include "argosy/kernels/cuda/ops_cast.cuh"
#include "argosy/kernels/cuda/ops_compare.cuh"
#include "argosy/kernels/cuda/ops_integer.cuh"
#include "argosy/kernels/cuda/ops_math.cuh"
#include "argosy/kernels/cuda/ops_math2.cuh"
#include "argosy/kernels/cuda/ops_more.cuh"
