#include "linac/model/kernels/blocked_conv.h"

#include <array>

#include "linac/model/kernels/direct_conv.h"
#include "linac/model/kernels/spectral_conv.h"

namespace linac::kernels {
namespace {

// What an operation of a transform costs in multiply-adds of a direct tile: transforms wait for memory.
constexpr double kSpectralOperation = 2.5;

}  // namespace

const char* to_string(ConvMethod method) {
  return method == ConvMethod::kDirect ? "direct" : "spectral";
}

ConvMethod choose_method(const Conv3dShape& shape) {
  if (!SpectralConv3d::possible(shape)) return ConvMethod::kDirect;
  return kSpectralOperation * SpectralConv3d::operations(shape) < shape.flop() / 2 ? ConvMethod::kSpectral
                                                                                   : ConvMethod::kDirect;
}

std::unique_ptr<const BlockedConv3d> make_conv3d(const Conv3dShape& shape, ConvMethod method, Isa isa) {
  if (method == ConvMethod::kSpectral) return std::make_unique<SpectralConv3d>(shape, isa);
  return std::make_unique<DirectConv3d>(shape, isa);
}

float* thread_scratch(Scratch purpose, int64_t floats) {
  thread_local std::array<AlignedFloats, static_cast<size_t>(Scratch::kPooled) + 1> buffers;
  return grown(buffers[static_cast<size_t>(purpose)], floats);
}

float* grown(AlignedFloats& buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer.size()) < floats) {
    buffer.clear();  // nothing to copy
    buffer.resize(static_cast<size_t>(floats));
  }
  return buffer.data();
}

}  // namespace linac::kernels
