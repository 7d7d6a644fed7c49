#pragma once
// The inner loops of the spectral 3-D convolution (spectral_conv.h), one table of functions an instruction set. Planes
// of constant x are transformed along z and y, and the convolution along x is done directly at each frequency: a
// kernel of 5x6x6 taps then costs 5 complex products a frequency in place of 180 real ones a cell.
//
// A spectrum's element is a complex number for each of 16 events: 32 floats, real parts first. Transforms are not
// normalised: the spectrum of a row along z is twice its discrete Fourier transform (two real rows travel as one
// complex one), and the factors are put right in the kernel's spectrum.
// Pure functions, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

inline constexpr int64_t kComplexFloats = 32;  // of 16 events

/// A discrete Fourier transform of `size` = `inner` * `outer` points, each factor at most kFftFactorMax.
struct FftPlan {
  int64_t size, inner, outer;
  const float* twiddles;  // [outer][inner][2]: exp(-2 pi i n k / size)

  int64_t bins() const { return size / 2 + 1; }  // of a real signal
};
inline constexpr int64_t kFftFactorMax = 9;

struct RealRows {
  int64_t rows, channels, cells;   // one or two rows
  int64_t channel_step, bin_step;  // floats, of the spectra
};

/// A set of complex lines: element i of line l at `data + l * line + i * step` (floats), `count` elements each. Lines
/// of a source that are shorter than the transform are continued by zeros; of a target, element (k + shift) mod size of
/// the transform is kept if it is below count.
struct ComplexLines {
  int64_t line, step, count;
};

/// One output plane's worth of products: out[x][co] = sum over (kx, ci) of in[x + kx][ci] * conj(weight), x < out_x, at
/// each of `frequencies` frequencies. Weights: [frequency][kx][re, im][ci][co].
struct ProductShape {
  int64_t frequencies, out_x, kernel_x, in_channels, out_channels;
  int64_t in_frequency, out_frequency;  // floats from one frequency to the next
  int64_t data_begin, data_end;         // x of `in` that are not zero: products outside are left out
};

struct SpectralKernels {
  /// One or two real rows [row][channel][z][16] to spectra along z: out + bin * bin_step + channel * channel_step, the
  /// second row 32 floats behind the first.
  void (*forward_z)(const FftPlan& plan, const RealRows& shape, const float* rows, float* out, float* scratch);
  /// The inverse; row cell p is element (p - offset) mod size of the transform.
  void (*inverse_z)(const FftPlan& plan, const RealRows& shape, const float* in, int64_t offset, float* rows,
                    float* scratch);
  /// Complex transforms of `lines` lines; the inverse one keeps element (p - offset) mod size as p.
  void (*forward_lines)(const FftPlan& plan, int64_t lines, const float* in, const ComplexLines& source, float* out,
                        const ComplexLines& target, float* scratch);
  void (*inverse_lines)(const FftPlan& plan, int64_t lines, const float* in, const ComplexLines& source, float* out,
                        const ComplexLines& target, int64_t offset, float* scratch);
  void (*product)(const ProductShape& shape, const float* in, const float* weights, float* out);
  /// gradient[frequency][kx][re, im][ci][co] += sum over x and the first `events` lanes of in[x + kx][ci] *
  /// conj(out_gradient[x][co]).
  void (*product_gradient)(const ProductShape& shape, const float* in, const float* out_gradient, int64_t events,
                           float* gradient, float* scratch);
};

/// Floats of scratch that the transforms need, and the gradient.
inline constexpr int64_t kTransformScratch = 2 * kFftFactorMax * kFftFactorMax * kComplexFloats;
inline int64_t gradient_scratch(const ProductShape& shape) {
  return (shape.kernel_x * shape.in_channels * shape.out_channels + 16) * kComplexFloats;
}

const SpectralKernels& spectral_kernels(Isa isa);

}  // namespace linac::kernels
