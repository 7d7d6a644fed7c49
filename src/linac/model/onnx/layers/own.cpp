// What model/graph/passes/fold_upsample made: up-sampling and a convolution as one convolution of the small image,
// which has an output for each place (phase) in a block of equal cells. The heads of the 3DGAN, which are formulas,
// have no entry.
#include "linac/model/graph/layers.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

/// One axis of the image before up-sampling: its cells, the factor, the kernel's taps.
struct FoldedAxis {
  int64_t input, up, kernel;

  int64_t output() const { return input * up - kernel + 1; }
  int64_t blocks() const { return (output() + up - 1) / up; }
  int64_t taps() const { return (up + kernel - 2) / up + 1; }        // input cells that a phase can reach
  int64_t padding() const { return blocks() + taps() - 1 - input; }  // behind; only phases that are cut off read it
};

using FoldedAxes = std::array<FoldedAxis, 3>;

FoldedAxes axes_of(const LayerCall& call) {
  const graph::Extent3 up = graph::extent3(call.node, "size"), kernel = graph::extent3(call.node, "kernel_size");
  FoldedAxes axes;
  for (size_t i = 0; i < axes.size(); ++i) axes[i] = {call.inputs[0].shape[i], up[i], kernel[i]};
  return axes;
}

/// Visits the three numbers below `extents`, in order.
template <class Visit>
void for_each_cell(const std::array<int64_t, 3>& extents, const Visit& visit) {
  for (int64_t x = 0; x < extents[0]; ++x)
    for (int64_t y = 0; y < extents[1]; ++y)
      for (int64_t z = 0; z < extents[2]; ++z) visit(std::array{x, y, z});
}

/// (kx, ky, kz, in, out) -> (out phase_x phase_y phase_z, in, tap_x, tap_y, tap_z): the sum of the taps that see the
/// same cell.
std::string folded_kernel(const LayerCall& call, const FoldedAxes& axes, const std::array<int64_t, 3>& up) {
  const LayerWeight& kernel = call.weights[0];
  const int64_t in = kernel.shape[3], out = kernel.shape[4];
  const Shape shape{out * up[0] * up[1] * up[2], in, axes[0].taps(), axes[1].taps(), axes[2].taps()};
  std::vector<double> sums(static_cast<size_t>(graph::elements(shape)), 0);
  for_each_cell(up, [&](const std::array<int64_t, 3>& phase) {
    size_t from = 0;
    for_each_cell({axes[0].kernel, axes[1].kernel, axes[2].kernel}, [&](const std::array<int64_t, 3>& tap) {
      std::array<int64_t, 3> cell;
      for (size_t i = 0; i < 3; ++i) cell[i] = (phase[i] + tap[i]) / up[i];
      for (int64_t c = 0; c < in; ++c) {
        for (int64_t o = 0; o < out; ++o) {
          int64_t row = o;
          for (size_t i = 0; i < 3; ++i) row = row * up[i] + phase[i];
          int64_t place = row * in + c;
          for (size_t i = 0; i < 3; ++i) place = place * axes[i].taps() + cell[i];
          sums[static_cast<size_t>(place)] += kernel.values[from++];
        }
      }
    });
  });
  const std::vector<float> values(sums.begin(), sums.end());
  return call.emit.weight(kernel.name + "/folded", shape, values);
}

std::string repeated_bias(const LayerCall& call, int64_t phases) {
  const LayerWeight& bias = call.weights[1];
  std::vector<float> values;
  for (const float value : bias.values) values.insert(values.end(), static_cast<size_t>(phases), value);
  return call.emit.weight(bias.name + "/folded", {static_cast<int64_t>(values.size())}, values);
}

Value upsample_conv3d(const LayerCall& call) {
  Emitter& emit = call.emit;
  const FoldedAxes axes = axes_of(call);
  const std::array<int64_t, 3> up{axes[0].up, axes[1].up, axes[2].up};
  const int64_t out = call.node.output.back();
  Emitter::Names inputs{call.x(0, Layout::kChannelsFirst), folded_kernel(call, axes, up)};
  if (call.weights.size() > 1) inputs.push_back(repeated_bias(call, up[0] * up[1] * up[2]));
  const std::string phases =
      emit.op("Conv", std::move(inputs),
              {{"kernel_shape", Shape{axes[0].taps(), axes[1].taps(), axes[2].taps()}},
               {"pads", Shape{0, 0, 0, axes[0].padding(), axes[1].padding(), axes[2].padding()}}});
  // (N, C px py pz, qx, qy, qz) -> (N, C, qx px, qy py, qz pz)
  Shape parted{0, out, up[0], up[1], up[2]}, whole{0, out}, ends;
  for (const FoldedAxis& axis : axes) {
    parted.push_back(axis.blocks());
    whole.push_back(axis.blocks() * axis.up);
    ends.push_back(axis.output());
  }
  const std::string blocks = emit.transpose(emit.reshape(phases, parted), {0, 1, 5, 2, 6, 3, 7, 4});
  const std::string image =
      emit.op("Slice", {emit.reshape(blocks, whole), emit.ints({0, 0, 0}), emit.ints(ends), emit.ints({2, 3, 4})});
  return activate(call, call.result(image, Layout::kChannelsFirst));
}

// With a batch axis of one.
Value traced_weight(const LayerCall& call) {
  const LayerWeight& weight = call.weights[0];
  Shape shape{1};
  shape.insert(shape.end(), weight.shape.begin(), weight.shape.end());
  return call.result(call.emit.weight(weight.name, shape, weight.values));
}

}  // namespace

std::vector<NamedLayer> own_layers() {
  return {{"UpsampleConv3D", upsample_conv3d},
          {graph::kTracedWeight, traced_weight},
          {graph::kPart, [](const LayerCall& call) { return call.inputs[0]; }}};
}

}  // namespace linac::onnx
