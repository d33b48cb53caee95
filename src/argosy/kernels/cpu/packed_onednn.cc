#include <algorithm>
#include <cstring>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/packed_conv.h"
#include "argosy/kernels/cpu/packed_primitive.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/packed.h"

// oneDNN's convolutions with packed weights, channels last, cut into images or into rows of an
// image.
namespace argosy::cpu {
namespace {

PackedKey key_of(const ConvShape& form, const ConvShape& s) {
  PackedKey key;
  std::memset(&key, 0, sizeof(key));
  key.batch = s.batch;
  key.in_channels = s.in_channels;
  key.out_channels = s.out_channels;
  key.groups = s.groups;
  for (int d = 0; d < 2; ++d) {
    key.in[d] = s.in[d];
    key.out[d] = s.out[d];
    key.kernel[d] = s.kernel[d];
    key.stride[d] = s.stride[d];
    key.dilation[d] = s.dilation[d];
    key.pad[d] = s.pad[d];
    key.form[d] = form.in[d];
  }
  return key;
}

// The order of weights packed for `form`: what its convolution likes best, without an epilogue.
std::shared_ptr<const PackedPrimitive> reference(const ConvShape& form) {
  PackedKey key = key_of(form, form);
  key.form[0] = key.form[1] = 0;
  return packed_primitive(key, [] { return std::nullopt; });
}

// Output rows [begin, end) of an image as a convolution of the input rows that they need.
struct Slab {
  ConvShape shape;
  int64_t first_in;  // row
};

Slab slab_of(const ConvShape& s, int64_t begin, int64_t end) {
  Slab slab{s, 0};
  const int64_t top = begin * s.stride[0] - s.pad[0];
  const int64_t bottom = (end - 1) * s.stride[0] - s.pad[0] + (s.kernel[0] - 1) * s.dilation[0] + 1;
  slab.first_in = std::clamp<int64_t>(top, 0, s.in[0] - 1);
  slab.shape.batch = 1;
  slab.shape.in[0] = std::max<int64_t>(std::min(bottom, s.in[0]) - slab.first_in, 1);
  slab.shape.pad[0] = std::max<int64_t>(-top, 0);
  slab.shape.out[0] = end - begin;
  return slab;
}

double operations_of(const ConvShape& s) {
  return 2.0 * static_cast<double>(s.batch * s.out[0] * s.out[1] * s.out_channels) *
         static_cast<double>(s.in_channels / s.groups * s.kernel[0] * s.kernel[1]);
}

// How many parts of an image: by shape alone. Rows that two parts read are read twice.
int64_t slabs_of(const ConvShape& s) {
  const double work = operations_of(s);
  // A power of two, so that as many threads have as much each.
  const int64_t wanted = work > 40e6 ? 8 : work > 10e6 ? 4 : work > 3e6 ? 2 : 1;
  if (s.batch >= wanted) return 1;
  const int64_t least = std::max<int64_t>(3, 2 * (s.kernel[0] - 1) / s.stride[0]);
  return std::clamp<int64_t>((wanted + s.batch - 1) / s.batch, 1,
                             std::max<int64_t>(s.out[0] / least, 1));
}

class Run {
 public:
  Run(const ConvShape& form, const float* x, const void* packed, const PackedEpilogue& epilogue,
      float* y)
      : form_(form), x_(x), packed_(packed), epilogue_(epilogue), y_(y) {}

  // Null where there is no code for weights in their order.
  std::shared_ptr<const PackedPrimitive> primitive(const ConvShape& s) const {
    return packed_primitive(key(s), [&] { return reference(form_)->weights(); });
  }

  void part(const PackedPrimitive& p, const ConvShape& whole, int64_t image, int64_t in_row,
            int64_t out_row) const {
    PackedEpilogue part = epilogue_;
    const int64_t out = (image * whole.out[0] + out_row) * whole.out[1] * whole.out_channels;
    if (part.residual) part.residual += out;
    p.run(x_ + (image * whole.in[0] + in_row) * whole.in[1] * whole.in_channels, packed_, part,
          y_ + out);
  }

  // Where there is no code for the weights in their order, or none that applies the epilogue: by
  // code that likes another order, into which they are put each time, then the epilogue. False
  // where there is none of that, either.
  bool step_by_step(const ConvShape& s) const {
    PackedEpilogue only_bias;
    only_bias.bias = epilogue_.bias;
    const Run plain(form_, x_, packed_, only_bias, y_);
    PackedKey any = plain.key(s);
    any.form[0] = any.form[1] = 0;
    const auto p = packed_primitive(any, [] { return std::nullopt; });
    if (!p) return false;
    Scratch weights(p->weights().get_size());
    reorder_weights(reference(form_)->weights(), packed_, p->weights(), weights.as());
    p->run(x_, weights.as(), only_bias, y_);
    const int64_t row = s.out[1] * s.out_channels;
    const bool wide = isa() == Isa::avx512;
    parallel_for(s.batch * s.out[0], std::max<int64_t>(1, 16384 / row),
                 [&](int64_t begin, int64_t end) {
                   PackedEpilogue part = epilogue_;
                   if (part.residual) part.residual += begin * row;
                   (wide ? avx512::finish_elements : avx2::finish_elements)(part, y_ + begin * row,
                                                                            (end - begin) * row);
                 });
    return true;
  }

 private:
  PackedKey key(const ConvShape& s) const {
    PackedKey k = key_of(form_, s);
    k.bias = epilogue_.bias != nullptr;
    k.residual = epilogue_.residual != nullptr;
    k.post = static_cast<int64_t>(epilogue_.post);
    k.alpha = epilogue_.alpha;
    k.beta = epilogue_.beta;
    k.scale = epilogue_.scale;
    k.shift = epilogue_.shift;
    return k;
  }

  const ConvShape& form_;
  const float* x_;
  const void* packed_;
  const PackedEpilogue& epilogue_;
  float* y_;
};

}  // namespace

int64_t onednn_bytes(const ConvShape& form) {
  const auto p = reference(form);
  return p ? static_cast<int64_t>(p->weights().get_size()) : 0;
}

void pack_onednn(const ConvShape& form, const float* w, void* packed) {
  using dnnl::memory;
  const int64_t inner = form.in_channels / form.groups;
  const memory::dims dims =
      form.groups > 1 ? memory::dims{form.groups, form.out_channels / form.groups, inner,
                                     form.kernel[0], form.kernel[1]}
                      : memory::dims{form.out_channels, inner, form.kernel[0], form.kernel[1]};
  const auto tag = form.groups > 1 ? memory::format_tag::abcde : memory::format_tag::abcd;
  reorder_weights(memory::desc(dims, memory::data_type::f32, tag), w, reference(form)->weights(),
                  packed);
}

bool onednn(const ConvShape& form, const ConvShape& s, const float* x, const void* packed,
            const PackedEpilogue& epilogue, float* y) {
  const Run run(form, x, packed, epilogue, y);
  const int64_t slabs = slabs_of(s);
  if (slabs == 1 && s.batch == 1) {
    const auto p = run.primitive(s);
    if (!p) return run.step_by_step(s);
    run.part(*p, s, 0, 0, 0);
    return true;
  }
  // Slabs of an image, else images one by one.
  struct Part {
    std::shared_ptr<const PackedPrimitive> primitive;
    int64_t in_row, out_row;
  };
  std::vector<Part> parts;
  for (int64_t i = 0; i < slabs; ++i) {
    const int64_t begin = s.out[0] * i / slabs, end = s.out[0] * (i + 1) / slabs;
    const Slab slab = slab_of(s, begin, end);
    parts.push_back({run.primitive(slab.shape), slab.first_in, begin});
    if (!parts.back().primitive) return run.step_by_step(s);
  }
  parallel_for(s.batch * slabs, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Part& part = parts[static_cast<size_t>(i % slabs)];
      run.part(*part.primitive, s, i / slabs, part.in_row, part.out_row);
    }
  });
  return true;
}

}  // namespace argosy::cpu
