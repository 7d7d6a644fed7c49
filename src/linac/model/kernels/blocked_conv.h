#pragma once
// 3-D convolutions (stride 1) of images in the blocked layout [X][Y][C][Z][16]: the last axis holds 16 events, so that
// any number of channels fills the vector lanes, and no event's result depends on its neighbours. Three algorithms
// behind one interface: direct (direct_conv.h), through Fourier transforms (spectral_conv.h), and the one that folds a
// preceding up-sampling (upsample_conv.h).
//
// Immutable after construction, thread-safe. The order of a sum's terms depends on the shape alone: not on alignment,
// on the other events, on the number of threads. kAvx2 and kAvx512 give the same bits (isa.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "linac/base/base/aligned.h"
#include "linac/model/kernels/conv3d.h"
#include "linac/model/kernels/parallel.h"

namespace linac::kernels {

/// Hands out rows y, y + 1 ... of plane x of a blocked image, dense [rows][C][Z][16]: either where they lie, or written
/// into `scratch`, which has room for them; one way or the other for all rows of an image. Pure; called by several
/// threads at once, perhaps more than once for a row.
using ReadRows = std::function<const float*(int64_t x, int64_t y, int64_t rows, float* scratch)>;

/// Where rows of a result go, and what is done with them when they are complete, once for each row. The rows of a plane
/// come in their order; planes in any, from several threads.
struct RowSink {
  std::function<float*(int64_t x, int64_t y, int64_t rows)> place;
  std::function<void(int64_t x, int64_t y, int64_t rows, float* data)> finish;  // may be empty
};

/// Memory that the passes share; grows to what the largest needs. One thread of callers at a time.
struct ConvWorkspace {
  AlignedFloats in, out;
};

/// What a backward pass is asked for. Weights and bias are overwritten with sums over the first `events` lanes.
struct ConvGradients {
  RowSink in;                // no `place`: not wanted
  float* weights = nullptr;  // Keras's axes; null: not wanted
  float* bias = nullptr;     // [out channel]; only together with `weights`
};

class BlockedConv3d {
 public:
  virtual ~BlockedConv3d() = default;

  /// out = in * weights, without a bias. Weights: Keras's axes.
  virtual void forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
                       const Parallel& parallel) const = 0;
  /// `in` is read only if the weights' gradient is wanted.
  virtual void backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                        const ConvGradients& gradients, ConvWorkspace& workspace, const Parallel& parallel) const = 0;
};

enum class ConvMethod { kDirect, kSpectral };
const char* to_string(ConvMethod method);

/// The cheaper one for a shape, by their counted operations: never by a measurement, since the two differ in the last
/// bits and every worker of a run must choose alike.
ConvMethod choose_method(const Conv3dShape& shape);
std::unique_ptr<const BlockedConv3d> make_conv3d(const Conv3dShape& shape, ConvMethod method, Isa isa = best_isa());

/// Memory of one thread for one purpose, allocated once: `floats` values that nobody else uses until the thread asks
/// for the same purpose again.
enum class Scratch {
  kRows,
  kSink,
  kWindow,
  kGradient,
  kProduct,
  kWeights,
  kSums,
  kTransform,
  kPlanes,
  kPlane,
  kPooled
};
float* thread_scratch(Scratch purpose, int64_t floats);
/// `buffer` enlarged to `floats` if it is smaller; new values are zero.
float* grown(AlignedFloats& buffer, int64_t floats);

}  // namespace linac::kernels
