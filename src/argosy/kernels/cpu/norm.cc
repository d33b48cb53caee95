#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <vector>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/reduce.h"
#include "argosy/kernels/cpu/rows.h"
#include "argosy/kernels/cpu/simd/rows.h"

// Normalizations with parameters for each channel: batch, instance and group norm.
namespace argosy::cpu {
namespace {

const NormKernels& kernels() {
  return isa() == Isa::avx512 ? avx512::norm_kernels : avx2::norm_kernels;
}

constexpr int64_t kWork = 32768;  // elements of a task

// [n, channels, inner], or [n, inner, channels] if last.
struct Image {
  DType type;
  int64_t n, channels, inner;
  bool last;
};

// Numbers for each (sample, channel), or for each channel alone.
using Values = std::vector<double>;
struct Table {
  const double* data;
  int64_t sample_stride;  // channels, or 0
  const double* row(int64_t n) const { return data + n * sample_stride; }
};

double read(DType stored, const void* p, int64_t i) {
  return stored == DType::float64 ? static_cast<const double*>(p)[i]
                                  : static_cast<const float*>(p)[i];
}
void write(DType stored, void* p, int64_t i, double value) {
  if (stored == DType::float64) {
    static_cast<double*>(p)[i] = value;
  } else {
    static_cast<float*>(p)[i] = static_cast<float>(value);
  }
}
Values values(DType type, const void* p, int64_t n, double missing) {
  Values v(n, missing);
  if (p) {
    for (int64_t i = 0; i < n; ++i) v[i] = read(type, p, i);
  }
  return v;
}

// Cuts an image into jobs: runs of one channel, or blocks of rows of all channels.
//   run(sample, channel, offset, count), rows(sample, offset, rows, job)
template <class Run, class Rows>
void for_pieces(const Image& a, Run&& run, Rows&& rows) {
  if (!a.last) {
    const int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(a.inner, 1));
    parallel_for(a.n * a.channels, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        run(i / a.channels, i % a.channels, i * a.inner, a.inner);
    });
    return;
  }
  const int64_t block = std::max<int64_t>(16, kWork / std::max<int64_t>(a.channels, 1));
  const int64_t blocks = (a.inner + block - 1) / block;
  const int64_t grain = std::max<int64_t>(1, kWork / (std::min(block, a.inner) * a.channels + 1));
  parallel_for(a.n * blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t sample = i / blocks, first = i % blocks * block;
      rows(sample, (sample * a.inner + first) * a.channels, std::min(block, a.inner - first), i);
    }
  });
}

int64_t row_blocks(const Image& a) {
  const int64_t block = std::max<int64_t>(16, kWork / std::max<int64_t>(a.channels, 1));
  return (a.inner + block - 1) / block;
}

const char* item(const void* p, const Image& a, int64_t i) {
  return static_cast<const char*>(p) + i * item_size(a.type);
}
char* item(void* p, const Image& a, int64_t i) {
  return static_cast<char*>(p) + i * item_size(a.type);
}

void affine(const Image& a, const void* x, void* y, Table m, Table s, Table b) {
  const int k = floating_index(a.type);
  for_pieces(
      a,
      [&](int64_t n, int64_t c, int64_t at, int64_t count) {
        kernels().affine[k](item(x, a, at), item(y, a, at), count, m.row(n)[c], s.row(n)[c],
                            b.row(n)[c]);
      },
      [&](int64_t n, int64_t at, int64_t rows, int64_t) {
        kernels().affine_columns[k](item(x, a, at), item(y, a, at), rows, a.channels, m.row(n),
                                    s.row(n), b.row(n));
      });
}

void affine2(const Image& a, const void* x, const void* dy, void* dx, Table m, Table c1, Table c2,
             Table c3) {
  const int k = floating_index(a.type);
  for_pieces(
      a,
      [&](int64_t n, int64_t c, int64_t at, int64_t count) {
        kernels().affine2[k](item(x, a, at), item(dy, a, at), item(dx, a, at), count, m.row(n)[c],
                             c1.row(n)[c], c2.row(n)[c], c3.row(n)[c]);
      },
      [&](int64_t n, int64_t at, int64_t rows, int64_t) {
        kernels().affine2_columns[k](item(x, a, at), item(dy, a, at), item(dx, a, at), rows,
                                     a.channels, m.row(n), c1.row(n), c2.row(n), c3.row(n));
      });
}

// s1[n, c] = sum of dy, s2[n, c] = sum of dy * (x - mean).
void pair_sums(const Image& a, const void* x, const void* dy, Table m, Values& s1, Values& s2) {
  const int k = floating_index(a.type);
  s1.assign(a.n * a.channels, 0);
  s2.assign(a.n * a.channels, 0);
  const int64_t blocks = a.last ? row_blocks(a) : 0;
  Values partial(2 * a.n * blocks * a.channels);
  for_pieces(
      a,
      [&](int64_t n, int64_t c, int64_t at, int64_t count) {
        const int64_t i = n * a.channels + c;
        kernels().pair[k](item(x, a, at), item(dy, a, at), count, m.row(n)[c], &s1[i], &s2[i]);
      },
      [&](int64_t n, int64_t at, int64_t rows, int64_t job) {
        double* to = partial.data() + 2 * job * a.channels;
        kernels().pair_columns[k](item(x, a, at), item(dy, a, at), rows, a.channels, m.row(n), to,
                                  to + a.channels);
      });
  for (int64_t job = 0; job < a.n * blocks; ++job) {
    const double* from = partial.data() + 2 * job * a.channels;
    const int64_t at = job / blocks * a.channels;
    for (int64_t c = 0; c < a.channels; ++c) {
      s1[at + c] += from[c];
      s2[at + c] += from[a.channels + c];
    }
  }
}

// Rows of one pixel each are one image with the channels last.
Image image_of(const ChannelNorm& a) {
  if (a.inner == 1) return {a.type, 1, a.channels, a.n, true};
  return {a.type, a.n, a.channels, a.inner, false};
}
Image image_of(const GroupNorm& a) {
  return {a.type, a.n, a.channels, a.inner, a.channels_last};
}

double rstd_of(double variance, double epsilon) {
  return 1 / std::sqrt(variance + epsilon);
}

}  // namespace

void batch_norm_statistics(const ChannelNorm& a, const void* x, void* mean, void* variance) {
  const int64_t shape[] = {a.n, a.channels, a.inner};
  const int64_t strides[] = {a.channels * a.inner, a.inner, 1};
  Values m(a.channels), v(a.channels);
  reduce_moments(a.type, x, shape, strides, 0b101, m.data(), v.data());
  for (int64_t c = 0; c < a.channels; ++c) {
    write(a.type, mean, c, m[c]);
    write(a.type, variance, c, v[c]);
  }
}

void batch_norm_apply(const ChannelNorm& a, const void* x, const void* mean, const void* variance,
                      double epsilon, const void* gamma, const void* beta, void* y) {
  const Image image = image_of(a);
  Values m = values(a.type, mean, a.channels, 0), s = values(a.type, gamma, a.channels, 1),
         b = values(a.type, beta, a.channels, 0);
  for (int64_t c = 0; c < a.channels; ++c) s[c] *= rstd_of(read(a.type, variance, c), epsilon);
  const auto t = [](const Values& v) { return Table{v.data(), 0}; };
  affine(image, x, y, t(m), t(s), t(b));
}

void batch_norm_grad(const ChannelNorm& a, const void* x, const void* mean, const void* variance,
                     double epsilon, const void* gamma, const void* dy, bool fixed, void* dx,
                     void* dgamma, void* dbeta) {
  const Image image = image_of(a);
  const Values m = values(a.type, mean, a.channels, 0), g = values(a.type, gamma, a.channels, 1);
  const auto t = [](const Values& v) { return Table{v.data(), 0}; };
  Values sum(a.channels, 0), product(a.channels, 0);
  if (!fixed || dgamma || dbeta) {
    Values s1, s2;
    pair_sums(image, x, dy, t(m), s1, s2);
    for (int64_t n = 0; n < image.n; ++n) {
      for (int64_t c = 0; c < a.channels; ++c) {
        sum[c] += s1[n * a.channels + c];
        product[c] += s2[n * a.channels + c];
      }
    }
  }
  Values c1(a.channels), c2(a.channels, 0), c3(a.channels, 0);
  const double count = static_cast<double>(a.n * a.inner);
  for (int64_t c = 0; c < a.channels; ++c) {
    const double rstd = rstd_of(read(a.type, variance, c), epsilon);
    if (dgamma) write(a.type, dgamma, c, product[c] * rstd);
    if (dbeta) write(a.type, dbeta, c, sum[c]);
    c1[c] = g[c] * rstd;
    if (fixed) continue;
    c2[c] = -c1[c] * rstd * rstd * product[c] / count;
    c3[c] = -c1[c] * sum[c] / count;
  }
  if (dx) affine2(image, x, dy, dx, t(m), t(c1), t(c2), t(c3));
}

void group_norm(const GroupNorm& a, const void* x, const void* gamma, const void* beta, void* y,
                void* mean, void* variance) {
  const Image image = image_of(a);
  const int64_t members = a.channels / a.groups;
  Values m(a.n * a.groups), v(a.n * a.groups);
  if (a.channels_last) {
    const int64_t shape[] = {a.n, a.inner, a.groups, members};
    const int64_t strides[] = {a.inner * a.channels, a.channels, members, 1};
    reduce_moments(a.type, x, shape, strides, 0b1010, m.data(), v.data());
  } else {
    const int64_t shape[] = {a.n * a.groups, members * a.inner};
    const int64_t strides[] = {members * a.inner, 1};
    reduce_moments(a.type, x, shape, strides, 0b10, m.data(), v.data());
  }
  const Values g = values(a.type, gamma, a.channels, 1), b = values(a.type, beta, a.channels, 0);
  Values means(a.n * a.channels), scales(a.n * a.channels);
  for (int64_t n = 0; n < a.n; ++n) {
    for (int64_t c = 0; c < a.channels; ++c) {
      const int64_t group = n * a.groups + c / members;
      means[n * a.channels + c] = m[group];
      scales[n * a.channels + c] = g[c] * rstd_of(v[group], a.epsilon);
    }
  }
  affine(image, x, y, {means.data(), a.channels}, {scales.data(), a.channels}, {b.data(), 0});
  for (int64_t i = 0; i < a.n * a.groups; ++i) {
    if (mean) write(a.type, mean, i, m[i]);
    if (variance) write(a.type, variance, i, v[i]);
  }
}

void group_norm_grad(const GroupNorm& a, const void* x, const void* mean, const void* variance,
                     const void* gamma, const void* dy, void* dx, void* dgamma, void* dbeta) {
  const Image image = image_of(a);
  const int64_t members = a.channels / a.groups, all = a.n * a.channels;
  const Values g = values(a.type, gamma, a.channels, 1);
  Values m(all), s1, s2;
  auto group_of = [&](int64_t i) { return i / a.channels * a.groups + i % a.channels / members; };
  for (int64_t i = 0; i < all; ++i) m[i] = read(a.type, mean, group_of(i));
  pair_sums(image, x, dy, {m.data(), a.channels}, s1, s2);

  Values of_gamma(a.channels, 0), of_beta(a.channels, 0), sum(a.n * a.groups, 0),
      product(a.n * a.groups, 0);
  for (int64_t i = 0; i < all; ++i) {
    const int64_t c = i % a.channels;
    const double rstd = rstd_of(read(a.type, variance, group_of(i)), a.epsilon);
    of_gamma[c] += s2[i] * rstd;
    of_beta[c] += s1[i];
    sum[group_of(i)] += s1[i] * g[c];
    product[group_of(i)] += s2[i] * g[c];
  }
  for (int64_t c = 0; c < a.channels; ++c) {
    if (dgamma) write(a.type, dgamma, c, of_gamma[c]);
    if (dbeta) write(a.type, dbeta, c, of_beta[c]);
  }
  if (!dx) return;
  Values c1(all), c2(all), c3(all);
  const double count = static_cast<double>(members * a.inner);
  if (count == 1) {  // y is beta whatever x is
    std::memset(dx, 0, static_cast<size_t>(all * item_size(a.type)));
    return;
  }
  for (int64_t i = 0; i < all; ++i) {
    const int64_t group = group_of(i);
    const double rstd = rstd_of(read(a.type, variance, group), a.epsilon);
    c1[i] = g[i % a.channels] * rstd;
    c2[i] = -rstd * rstd * rstd * product[group] / count;
    c3[i] = -rstd * sum[group] / count;
  }
  const auto t = [&](const Values& v) { return Table{v.data(), a.channels}; };
  affine2(image, x, dy, dx, t(m), t(c1), t(c2), t(c3));
}

}  // namespace argosy::cpu
