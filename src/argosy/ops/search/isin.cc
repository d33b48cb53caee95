#include <algorithm>
#include <type_traits>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/op/define.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/search/search.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::KernelFrame;

void isin_infer(InferContext& c, const IsinAttrs&) {
  c.out[0].dtype = DType::bool_;
}

const char* isin_match(const Inputs& in, const IsinAttrs&) {
  return is_complex(in[0].dtype()) ? "complex numbers have no order" : nullptr;
}

// Both of one dtype. NaN is among nothing, not even NaN.
void isin_run(KernelFrame& f, const IsinAttrs& a) {
  const Tensor &x = f.in[0], &test = f.in[1];
  bool* out = f.out[0].data<bool>();
  auto search = [&]<class T>(T) {
    using Key =
        std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>, float, T>;
    std::vector<Key> sorted;
    sorted.reserve(static_cast<size_t>(test.numel()));
    for (int64_t i = 0; i < test.numel(); ++i) {
      const Key key = static_cast<Key>(test.data<T>()[i]);
      if (key == key) sorted.push_back(key);
    }
    std::sort(sorted.begin(), sorted.end());
    parallel_for(x.numel(), 4096, [&](int64_t i, int64_t end) {
      for (; i < end; ++i) {
        const Key key = static_cast<Key>(x.data<T>()[i]);
        const bool found = key == key && std::binary_search(sorted.begin(), sorted.end(), key);
        out[i] = found != a.invert;
      }
    });
  };
  if (x.dtype() == DType::bool_) {
    bool found[2] = {};
    for (int64_t i = 0; i < test.numel(); ++i) found[test.data<bool>()[i]] = true;
    for (int64_t i = 0; i < x.numel(); ++i) out[i] = found[x.data<bool>()[i]] != a.invert;
    return;
  }
  dispatch_real(x.dtype(), search);
}

// Every element beside every one of test.
Tensors isin_parts(const Inputs& in, const IsinAttrs& a) {
  const Tensor found = any(equal(unsqueeze(in[0], {-1}), reshape(in[1], {-1})), {-1});
  return a.invert ? logical_not(found) : found;
}

ARGOSY_OP(isin, IsinAttrs)
    .doc("Whether each element of x is among those of test_x (invert: is not), as bool.")
    .input("x")
    .input("test_x")
    .index_output("out")
    .promote()
    .infer(isin_infer)
    .kernel("search", isin_match, isin_run)
    .compose(isin_parts)
    .done();

}  // namespace
}  // namespace argosy::ops
