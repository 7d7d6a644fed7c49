#include "linac/model/kernels/spectral_conv.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/model/kernels/plane_kernels.h"

namespace linac::kernels {
namespace {

constexpr int64_t kWindowBytes = 5 << 18;  // 1.25 MiB, well within an L2 cache of 2 MiB
constexpr int64_t kWindowPlanesMin = 4;

/// The cheapest size of at least `least` points, 0 if there is none; the cost of a transform grows little with its
/// factors, so the smallest is taken.
int64_t transform_size(int64_t least) {
  for (int64_t size = std::max<int64_t>(least, 2); size <= kFftFactorMax * kFftFactorMax; ++size) {
    for (int64_t factor = 1; factor <= kFftFactorMax; ++factor) {
      if (size % factor == 0 && size / factor <= kFftFactorMax) return size;
    }
  }
  return 0;
}

/// Points that keep a circular correlation from meeting itself: data and the wider of the two paddings.
int64_t points(const Conv3dShape& shape, size_t axis) {
  return transform_size(std::max(shape.in[axis] + std::max(shape.before[axis], shape.behind[axis]), shape.out()[axis]));
}

/// The most even pair of factors.
int64_t inner_factor(int64_t size) {
  int64_t best = 1;
  for (int64_t factor = 1; factor * factor <= size; ++factor) {
    if (size % factor == 0 && size / factor <= kFftFactorMax) best = factor;
  }
  return best;
}

float* transform_scratch() {
  return thread_scratch(Scratch::kTransform, kTransformScratch);
}

}  // namespace

SpectralConv3d::Transform::Transform(int64_t size)
    : twiddles(static_cast<size_t>(2 * size)), roots(static_cast<size_t>(2 * size)) {
  plan = {size, inner_factor(size), size / inner_factor(size), nullptr};
  const auto root = [size](int64_t k, float* to) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(k % size) / static_cast<double>(size);
    to[0] = static_cast<float>(std::cos(angle));
    to[1] = static_cast<float>(std::sin(angle));
  };
  for (int64_t n = 0; n < plan.outer; ++n) {
    for (int64_t k = 0; k < plan.inner; ++k) root(n * k, twiddles.data() + 2 * (n * plan.inner + k));
  }
  for (int64_t k = 0; k < size; ++k) root(k, roots.data() + 2 * k);
  plan.twiddles = twiddles.data();
}

bool SpectralConv3d::possible(const Conv3dShape& shape) {
  for (size_t i = 0; i < 3; ++i) {
    if (shape.before[i] >= shape.kernel[i] || shape.behind[i] >= shape.kernel[i]) return false;
  }
  return points(shape, 1) > 0 && points(shape, 2) > 0;
}

SpectralConv3d::SpectralConv3d(const Conv3dShape& shape, Isa isa)
    : shape_(shape), kernels_(spectral_kernels(isa)), y_(points(shape, 1)), z_(points(shape, 2)) {
  LINAC_CHECK(possible(shape));
}

double SpectralConv3d::operations(const Conv3dShape& shape) {
  const auto y = static_cast<double>(points(shape, 1)), z = static_cast<double>(points(shape, 2));
  const auto bins = std::floor(z / 2) + 1;
  const auto lines = [&](const Extent3& extent, int64_t channels) {
    // About two operations a point for each of its two passes and each of the two parts.
    const double planes = static_cast<double>(extent[0] * channels);
    return planes * (static_cast<double>(extent[1]) / 2 * z * 16 + bins * y * 16);
  };
  const double products = 4 * y * bins * static_cast<double>(shape.out()[0] * shape.kernel[0]) *
                          static_cast<double>(shape.in_channels * shape.out_channels);
  return products + lines(shape.in, shape.in_channels) + lines(shape.out(), shape.out_channels);
}

void SpectralConv3d::transform_z(const ReadRows& read, const Extent3& extent, int64_t channels, float* spectra,
                                 const Parallel& parallel) const {
  const int64_t plane = channels * extent[1] * kComplexFloats;
  parallel(extent[0], [&](int64_t x) {
    float* const scratch = thread_scratch(Scratch::kRows, 2 * extent[2] * channels * kBlockEvents);
    for (int64_t y = 0; y < extent[1]; y += 2) {
      const RealRows shape{std::min<int64_t>(2, extent[1] - y), channels, extent[2], extent[1] * kComplexFloats,
                           extent[0] * plane};
      kernels_.forward_z(z_.plan, shape, read(x, y, shape.rows, scratch), spectra + x * plane + y * kComplexFloats,
                         transform_scratch());
    }
  });
}

void SpectralConv3d::inverse_z(const float* spectra, const Extent3& extent, int64_t channels, int64_t offset,
                               const RowSink& sink, const Parallel& parallel) const {
  const int64_t plane = channels * extent[1] * kComplexFloats;
  parallel(extent[0], [&](int64_t x) {
    for (int64_t y = 0; y < extent[1]; y += 2) {
      const RealRows shape{std::min<int64_t>(2, extent[1] - y), channels, extent[2], extent[1] * kComplexFloats,
                           extent[0] * plane};
      float* const rows = sink.place(x, y, shape.rows);
      kernels_.inverse_z(z_.plan, shape, spectra + x * plane + y * kComplexFloats, offset, rows, transform_scratch());
      if (sink.finish) sink.finish(x, y, shape.rows, rows);
    }
  });
}

/// [frequency][kx][re, im][in][out] of one bin along z, with the factors of the transforms.
std::vector<float> SpectralConv3d::kernel_spectrum(const Correlation& direction, const float* weights,
                                                   int64_t bin) const {
  const int64_t pairs = direction.in_channels * direction.out_channels, frequencies = y_.plan.size;
  const Extent3& kernel = shape_.kernel;
  const float scale = 0.5F / static_cast<float>(y_.plan.size * z_.plan.size);
  std::vector<float> along_z(static_cast<size_t>(kernel[0] * kernel[1] * 2 * pairs));
  for (int64_t row = 0; row < kernel[0] * kernel[1]; ++row) {
    float* const re = along_z.data() + row * 2 * pairs;
    float* const im = re + pairs;
    for (int64_t jz = 0; jz < kernel[2]; ++jz) {
      const float* const root = z_.roots.data() + 2 * (bin * jz % z_.plan.size);
      const float* const tap = weights + (row * kernel[2] + jz) * pairs;
      const float cos = scale * root[0], sin = scale * root[1];
      for (int64_t i = 0; i < pairs; ++i) re[i] += cos * tap[i];
      for (int64_t i = 0; i < pairs; ++i) im[i] += sin * tap[i];
    }
  }
  std::vector<float> spectrum(static_cast<size_t>(frequencies * kernel[0] * 2 * pairs));
  for (int64_t f = 0; f < frequencies; ++f) {
    for (int64_t kx = 0; kx < kernel[0]; ++kx) {
      float* const re = spectrum.data() + (f * kernel[0] + kx) * 2 * pairs;
      float* const im = re + pairs;
      for (int64_t jy = 0; jy < kernel[1]; ++jy) {
        const float* const root = y_.roots.data() + 2 * (f * jy % frequencies);
        const float* const from = along_z.data() + (kx * kernel[1] + jy) * 2 * pairs;
        const float cos = root[0], sin = root[1];
        for (int64_t i = 0; i < pairs; ++i) re[i] += cos * from[i] - sin * from[pairs + i];
        for (int64_t i = 0; i < pairs; ++i) im[i] += cos * from[pairs + i] + sin * from[i];
      }
    }
  }
  return spectrum;
}

namespace {

/// Planes of the input's slab, with the padding along x.
int64_t slab_planes(const Correlation& direction) {
  return direction.out[0] + direction.kernel[0] - 1;
}

/// Floats from one frequency to the next of `planes` planes of `channels`; odd in complex numbers, so that the
/// frequencies of a line do not fall into the same few sets of the cache.
int64_t frequency_step(int64_t planes, int64_t channels) {
  return (planes * channels | 1) * kComplexFloats;
}

}  // namespace

/// Planes [first, first + planes) of the padded slab to [frequency][plane][channel] at `slab`; those of the padding
/// hold zeros.
void SpectralConv3d::transform_slab(const Correlation& direction, const float* spectra, int64_t first, int64_t planes,
                                    float* slab, int64_t step) const {
  const int64_t channels = direction.in_channels, plane = channels * kComplexFloats;
  const int64_t begin = std::clamp<int64_t>(direction.offset[0] - first, 0, planes),
                end = std::clamp<int64_t>(direction.offset[0] + direction.in[0] - first, begin, planes);
  for (int64_t f = 0; f < y_.plan.size; ++f) {
    std::fill_n(slab + f * step, begin * plane, 0.0F);
    std::fill_n(slab + f * step + end * plane, (planes - end) * plane, 0.0F);
  }
  const int64_t rows = direction.in[1];
  kernels_.forward_lines(y_.plan, (end - begin) * channels,
                         spectra + (first + begin - direction.offset[0]) * channels * rows * kComplexFloats,
                         {rows * kComplexFloats, kComplexFloats, rows}, slab + begin * plane,
                         {kComplexFloats, step, y_.plan.size}, transform_scratch());
}

/// Products and the way back along y for output planes [x, x + count), of which `window` holds the input's planes.
void SpectralConv3d::correlate_window(const Correlation& direction, const float* weights, const float* window,
                                      int64_t window_step, int64_t x, int64_t count, float* out) const {
  ProductShape shape{};
  shape.frequencies = y_.plan.size;
  shape.out_x = count, shape.kernel_x = direction.kernel[0];
  shape.in_channels = direction.in_channels, shape.out_channels = direction.out_channels;
  shape.in_frequency = window_step;
  shape.out_frequency = frequency_step(count, direction.out_channels);
  shape.data_begin = direction.offset[0] - x, shape.data_end = direction.offset[0] + direction.in[0] - x;
  float* const product = thread_scratch(Scratch::kProduct, shape.frequencies * shape.out_frequency);
  kernels_.product(shape, window, weights, product);
  const int64_t rows = direction.out[1];
  kernels_.inverse_lines(y_.plan, count * direction.out_channels, product,
                         {kComplexFloats, shape.out_frequency, y_.plan.size},
                         out + x * direction.out_channels * rows * kComplexFloats,
                         {rows * kComplexFloats, kComplexFloats, rows}, direction.offset[1], transform_scratch());
}

/// How many output planes are computed at a time: their spectra and those of the input planes they read stay in the L2
/// cache.
int64_t SpectralConv3d::window_planes(const Correlation& direction) const {
  const int64_t fitting = kWindowBytes / (y_.plan.size * kComplexFloats * static_cast<int64_t>(sizeof(float)));
  const int64_t planes =
      (fitting - (direction.kernel[0] - 1) * direction.in_channels) / (direction.in_channels + direction.out_channels);
  return std::clamp<int64_t>(planes, kWindowPlanesMin, direction.out[0]);
}

void SpectralConv3d::correlate_slab(const Correlation& direction, const float* weights, int64_t bin,
                                    const float* spectra, float* out) const {
  const std::vector<float> spectrum = kernel_spectrum(direction, weights, bin);
  const int64_t most = window_planes(direction), shared = direction.kernel[0] - 1;
  const int64_t plane = direction.in_channels * kComplexFloats,
                step = frequency_step(most + shared, direction.in_channels);
  float* const window = thread_scratch(Scratch::kWindow, y_.plan.size * step);
  transform_slab(direction, spectra, 0, shared, window, step);
  for (int64_t x = 0; x < direction.out[0]; x += most) {
    const int64_t count = std::min(most, direction.out[0] - x);
    transform_slab(direction, spectra, x + shared, count, window + shared * plane, step);
    correlate_window(direction, spectrum.data(), window, step, x, count, out);
    for (int64_t f = 0; f < y_.plan.size; ++f)
      std::copy_n(window + f * step + count * plane, shared * plane, window + f * step);
  }
}

void SpectralConv3d::forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
                             const Parallel& parallel) const {
  const Correlation direction = Correlation::forwards(shape_);
  const int64_t in_bin = spectrum_floats(direction.in, direction.in_channels),
                out_bin = spectrum_floats(direction.out, direction.out_channels);
  float* const in_spectra = grown(workspace.in, z_.plan.bins() * in_bin);
  float* const out_spectra = grown(workspace.out, z_.plan.bins() * out_bin);
  transform_z(in, direction.in, direction.in_channels, in_spectra, parallel);
  parallel(z_.plan.bins(), [&](int64_t bin) {
    correlate_slab(direction, weights, bin, in_spectra + bin * in_bin, out_spectra + bin * out_bin);
  });
  inverse_z(out_spectra, direction.out, direction.out_channels, direction.offset[2], out, parallel);
}

void SpectralConv3d::backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                              const ConvGradients& gradients, ConvWorkspace& workspace,
                              const Parallel& parallel) const {
  const Correlation direction = Correlation::backwards(shape_);
  const std::vector<float> turned = turned_kernel(shape_, weights);
  const bool data_wanted = static_cast<bool>(gradients.in.place), weights_wanted = gradients.weights != nullptr;
  const int64_t bins = z_.plan.bins();
  const int64_t image_bin = spectrum_floats(shape_.in, shape_.in_channels),
                gradient_bin = spectrum_floats(direction.in, direction.in_channels);
  // The spectra of the images make room, slab by slab, for those of their gradient.
  float* const image_spectra = grown(workspace.in, bins * image_bin);
  float* const gradient_spectra = grown(workspace.out, bins * gradient_bin);
  if (weights_wanted) transform_z(in, shape_.in, shape_.in_channels, image_spectra, parallel);
  transform_z(out_gradient, direction.in, direction.in_channels, gradient_spectra, parallel);
  const int64_t partial = shape_.kernel[0] * shape_.kernel[1] * 2 * shape_.in_channels * shape_.out_channels;
  std::vector<float> partials(static_cast<size_t>(weights_wanted ? bins * partial : 0));
  parallel(bins, [&](int64_t bin) {
    const float* const spectra = gradient_spectra + bin * gradient_bin;
    float* const target = image_spectra + bin * image_bin;
    if (weights_wanted)
      both_slabs(direction, turned.data(), bin, target, spectra, events, partials.data() + bin * partial,
                 bin == 0 ? gradients.bias : nullptr, data_wanted ? target : nullptr);
    else
      correlate_slab(direction, turned.data(), bin, spectra, target);
  });
  if (weights_wanted) sum_weight_gradient(partials, gradients.weights);
  if (data_wanted)
    inverse_z(image_spectra, direction.out, direction.out_channels, direction.offset[2], gradients.in, parallel);
}

/// All gradients of one bin; the data's only if `in_gradient` is not null, the bias's only if `bias` is not (bin 0).
void SpectralConv3d::both_slabs(const Correlation& backwards, const float* turned, int64_t bin, const float* image,
                                const float* out_gradient, int64_t events, float* partial, float* bias,
                                float* in_gradient) const {
  const int64_t planes = slab_planes(backwards), step = frequency_step(planes, backwards.in_channels);
  float* const gradient_slab = thread_scratch(Scratch::kGradient, y_.plan.size * step);
  transform_slab(backwards, out_gradient, 0, planes, gradient_slab, step);

  const Correlation forwards = Correlation::forwards(shape_);
  const int64_t image_step = frequency_step(slab_planes(forwards), shape_.in_channels);
  float* const image_slab = thread_scratch(Scratch::kWindow, y_.plan.size * image_step);
  transform_slab(forwards, image, 0, slab_planes(forwards), image_slab, image_step);
  weight_gradient_slab(image_slab, gradient_slab + backwards.offset[0] * backwards.in_channels * kComplexFloats, step,
                       events, partial);
  if (bias != nullptr) bias_gradient_slab(gradient_slab, backwards.offset[0], events, bias);
  if (in_gradient == nullptr) return;
  const std::vector<float> spectrum = kernel_spectrum(backwards, turned, bin);
  const int64_t most = window_planes(backwards);
  for (int64_t x = 0; x < backwards.out[0]; x += most) {
    correlate_window(backwards, spectrum.data(), gradient_slab + x * backwards.in_channels * kComplexFloats, step, x,
                     std::min(most, backwards.out[0] - x), in_gradient);
  }
}

/// The gradient of the kernel's spectrum at one bin, transformed back along y: [kx][ky][re, im][in][out].
void SpectralConv3d::weight_gradient_slab(const float* image_slab, const float* gradient_slab,
                                          int64_t gradient_frequency, int64_t events, float* partial) const {
  ProductShape shape{};
  shape.frequencies = y_.plan.size;
  shape.out_x = shape_.out()[0], shape.kernel_x = shape_.kernel[0];
  shape.in_channels = shape_.in_channels, shape.out_channels = shape_.out_channels;
  shape.in_frequency = frequency_step(shape.out_x + shape.kernel_x - 1, shape.in_channels);
  shape.out_frequency = gradient_frequency;
  shape.data_begin = shape_.before[0], shape.data_end = shape_.before[0] + shape_.in[0];
  const int64_t pairs = shape.in_channels * shape.out_channels;
  float* const spectrum = thread_scratch(Scratch::kWeights, shape.frequencies * shape.kernel_x * 2 * pairs);
  std::fill_n(spectrum, shape.frequencies * shape.kernel_x * 2 * pairs, 0.0F);
  kernels_.product_gradient(shape, image_slab, gradient_slab, events, spectrum,
                            thread_scratch(Scratch::kSums, gradient_scratch(shape)));
  for (int64_t kx = 0; kx < shape.kernel_x; ++kx) {
    for (int64_t ky = 0; ky < shape_.kernel[1]; ++ky) {
      float* const re = partial + (kx * shape_.kernel[1] + ky) * 2 * pairs;
      float* const im = re + pairs;
      const int64_t shift = (ky - shape_.before[1] + shape.frequencies) % shape.frequencies;
      for (int64_t f = 0; f < shape.frequencies; ++f) {
        const float* const root = y_.roots.data() + 2 * (f * shift % shape.frequencies);
        const float* const from = spectrum + (f * shape.kernel_x + kx) * 2 * pairs;
        const float cos = root[0], sin = -root[1];
        for (int64_t i = 0; i < pairs; ++i) re[i] += cos * from[i] - sin * from[pairs + i];
        for (int64_t i = 0; i < pairs; ++i) im[i] += cos * from[pairs + i] + sin * from[i];
      }
    }
  }
}

/// The spectrum's first element is the sum over the plane's cells, doubled.
void SpectralConv3d::bias_gradient_slab(const float* gradient_slab, int64_t first, int64_t events, float* bias) const {
  const int64_t channels = shape_.out_channels;
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t x = 0; x < shape_.out()[0]; ++x) {
      const float* const lanes = gradient_slab + ((first + x) * channels + c) * kComplexFloats;
      for (int64_t event = 0; event < events; ++event) sum += static_cast<double>(lanes[event]);
    }
    bias[c] = static_cast<float>(sum / 2);
  }
}

/// The bins transformed back along z and added in their order.
void SpectralConv3d::sum_weight_gradient(const std::vector<float>& partials, float* weight_gradient) const {
  const int64_t rows = shape_.kernel[0] * shape_.kernel[1], pairs = shape_.in_channels * shape_.out_channels;
  const int64_t size = z_.plan.size;
  std::fill_n(weight_gradient, shape_.weights(), 0.0F);
  for (int64_t bin = 0; bin < z_.plan.bins(); ++bin) {
    // The bins above the middle mirror those below; both transforms have doubled their spectra.
    const float weight = (bin == 0 || 2 * bin == size ? 0.25F : 0.5F) / static_cast<float>(y_.plan.size * size);
    for (int64_t row = 0; row < rows; ++row) {
      const float* const re = partials.data() + (bin * rows + row) * 2 * pairs;
      const float* const im = re + pairs;
      for (int64_t kz = 0; kz < shape_.kernel[2]; ++kz) {
        const float* const root = z_.roots.data() + 2 * (bin * (kz - shape_.before[2] + size) % size);
        const float cos = weight * root[0], sin = -weight * root[1];
        float* const to = weight_gradient + (row * shape_.kernel[2] + kz) * pairs;
        for (int64_t i = 0; i < pairs; ++i) to[i] += cos * re[i] - sin * im[i];
      }
    }
  }
}

int64_t SpectralConv3d::spectrum_floats(const Extent3& extent, int64_t channels) {
  return extent[0] * extent[1] * channels * kComplexFloats;
}

}  // namespace linac::kernels
