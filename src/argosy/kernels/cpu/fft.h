#pragma once

#include <cstdint>

// Discrete Fourier transforms of lines of complex numbers.
namespace argosy::cpu {

// Transforms x, [outer, n, inner] interleaved real and imaginary parts, along its middle dimension
// in place: y[k] = scale * sum over j of x[j] exp(-+ 2 pi i j k / n), minus for `forward`. Any n >=
// 1; n with prime factors up to 31 take n log n steps directly, others by the chirp transform of
// Bluestein (1970).
template <class T>
void fft(T* x, int64_t outer, int64_t n, int64_t inner, bool forward, double scale);

extern template void fft<float>(float*, int64_t, int64_t, int64_t, bool, double);
extern template void fft<double>(double*, int64_t, int64_t, int64_t, bool, double);

}  // namespace argosy::cpu
