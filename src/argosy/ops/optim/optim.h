#pragma once

#include <vector>

#include "argosy/op/attrs.h"

// Attributes of the optimizers' ops.
namespace argosy::ops {

namespace optim {

// Attributes that all these ops have. Lists are empty or have one number for each parameter.
struct Common {
  double lr;
  const std::vector<double>& lr_scales;  // factors on lr
  const std::vector<double>& l1;         // grad += l1 * sign(param)
  const std::vector<double>& l2;         // grad += l2 * param
};
#define ARGOSY_OPTIM_FIELDS                     \
  ::argosy::op::Scalar lr = 0.0;                \
  std::vector<double> lr_scales;                \
  std::vector<double> l1;                       \
  std::vector<double> l2;                       \
  ::argosy::ops::optim::Common common() const { \
    return {lr.real(), lr_scales, l1, l2};      \
  }

}  // namespace optim

struct SgdAttrs {
  ARGOSY_OPTIM_FIELDS
};
ARGOSY_ATTRS(SgdAttrs, lr, lr_scales, l1, l2)

struct MomentumAttrs {
  ARGOSY_OPTIM_FIELDS
  double mu = 0.9;
  bool use_nesterov = false;
  double rescale_grad = 1;
};
ARGOSY_ATTRS(MomentumAttrs, lr, lr_scales, l1, l2, mu, use_nesterov, rescale_grad)

struct AsgdAttrs {
  ARGOSY_OPTIM_FIELDS
  int64_t batch_num = 1;
};
ARGOSY_ATTRS(AsgdAttrs, lr, lr_scales, l1, l2, batch_num)

struct RpropAttrs {
  ARGOSY_OPTIM_FIELDS
  double lr_min = 1e-5;
  double lr_max = 50;
  double eta_negative = 0.5;
  double eta_positive = 1.2;
};
ARGOSY_ATTRS(RpropAttrs, lr, lr_scales, l1, l2, lr_min, lr_max, eta_negative, eta_positive)

struct AdagradAttrs {
  ARGOSY_OPTIM_FIELDS
  double epsilon = 1e-6;
};
ARGOSY_ATTRS(AdagradAttrs, lr, lr_scales, l1, l2, epsilon)

struct AdadeltaAttrs {
  ARGOSY_OPTIM_FIELDS
  double rho = 0.95;
  double epsilon = 1e-6;
};
ARGOSY_ATTRS(AdadeltaAttrs, lr, lr_scales, l1, l2, rho, epsilon)

struct RmspropAttrs {
  ARGOSY_OPTIM_FIELDS
  double rho = 0.95;
  double epsilon = 1e-6;
  double momentum = 0;
  bool centered = false;
};
ARGOSY_ATTRS(RmspropAttrs, lr, lr_scales, l1, l2, rho, epsilon, momentum, centered)

struct AdamAttrs {
  ARGOSY_OPTIM_FIELDS
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  std::vector<double> decays;
  bool lazy = false;
};
ARGOSY_ATTRS(AdamAttrs, lr, lr_scales, l1, l2, beta1, beta2, epsilon, decays, lazy)

struct AdamaxAttrs {
  ARGOSY_OPTIM_FIELDS
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
ARGOSY_ATTRS(AdamaxAttrs, lr, lr_scales, l1, l2, beta1, beta2, epsilon)

struct NadamAttrs {
  ARGOSY_OPTIM_FIELDS
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double momentum_decay = 0.004;
};
ARGOSY_ATTRS(NadamAttrs, lr, lr_scales, l1, l2, beta1, beta2, epsilon, momentum_decay)

struct RadamAttrs {
  ARGOSY_OPTIM_FIELDS
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
};
ARGOSY_ATTRS(RadamAttrs, lr, lr_scales, l1, l2, beta1, beta2, epsilon)

struct LambAttrs {
  ARGOSY_OPTIM_FIELDS
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-6;
  std::vector<double> decays;
  bool always_adapt = false;
};
ARGOSY_ATTRS(LambAttrs, lr, lr_scales, l1, l2, beta1, beta2, epsilon, decays, always_adapt)

struct ClipByGlobalNormAttrs {
  double clip_norm = 1;
};
ARGOSY_ATTRS(ClipByGlobalNormAttrs, clip_norm)

struct ClipByNormAttrs {
  double max_norm = 1;
};
ARGOSY_ATTRS(ClipByNormAttrs, max_norm)

struct UnscaleAttrs {
  double scale = 1;  // of the loss
};
ARGOSY_ATTRS(UnscaleAttrs, scale)

struct ClipByValueAttrs {
  double min = 0;
  double max = 0;
};
ARGOSY_ATTRS(ClipByValueAttrs, min, max)

}  // namespace argosy::ops
