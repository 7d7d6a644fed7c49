#include "linac/kernels/recurrent.h"

#include <algorithm>

#include "linac/base/error.h"
#include "linac/kernels/recurrent_cell.h"
#include "linac/kernels/recurrent_passes.h"

namespace linac::kernels {
namespace {

constexpr int64_t kSlack = 8;  // buffers grow by an eighth more than is asked for: the next batch may be a bit longer

/// At least `floats` floats; what was there is lost when it grows. New values are zero.
float* room(AlignedFloats& buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer.size()) < floats) {
    buffer.clear();
    buffer.resize(static_cast<size_t>(floats + floats / kSlack));
  }
  return buffer.data();
}

int64_t sum_floats(const Cell& cell) {
  int64_t floats = 0;
  for (const CellProduct& product : cell.products()) floats += product.rows * whole_vectors(product.columns);
  return floats;
}

/// Adds the groups' sums, group by group, and puts them into Keras's axes.
void deliver(const RecurrentShape& shape, const Cell& cell, const float* sums, int64_t groups,
             const RecurrentGradients& gradients) {
  const int64_t units = shape.units, columns = shape.gates() * units, group_floats = sum_floats(cell);
  for (const CellProduct& product : cell.products()) {
    const int64_t stride = whole_vectors(product.columns), matrix_rows = product.recurrent ? units : shape.features;
    float* const matrix = product.recurrent ? gradients.recurrent : gradients.kernel;
    for (int64_t r = 0; r < product.rows; ++r) {
      float* const to = r < matrix_rows ? matrix + r * columns : gradients.bias + (product.recurrent ? columns : 0);
      for (int64_t c = 0; c < product.columns; ++c) {
        float sum = 0;
        for (int64_t group = 0; group < groups; ++group) sum += sums[group * group_floats + r * stride + c];
        const int64_t delta = product.first_column + c;
        to[cell.keras_gates()[static_cast<size_t>(delta / units)] * units + delta % units] = sum;
      }
    }
    sums += product.rows * stride;
  }
}

}  // namespace

double RecurrentShape::backward_flop(bool to_the_input) const {
  return forward_flop() + 2.0 * static_cast<double>(recurrent_floats() + (to_the_input ? kernel_floats() : 0));
}

Recurrent::Recurrent(const RecurrentShape& shape, Isa isa) : shape_(shape), isa_(isa), cell_(make_cell(shape_, isa)) {
  LINAC_CHECK(shape.steps > 0 && shape.features > 0 && shape.units > 0);
}

Recurrent::~Recurrent() = default;

void Recurrent::forward(int64_t events, const float* x, const uint8_t* mask, const RecurrentWeights& weights,
                        float* out, Keep keep, RecurrentWorkspace& workspace, const Parallel& parallel) const {
  LINAC_CHECK(shape_.has_bias == (weights.bias != nullptr));
  LanePlan& plan = workspace.plan;
  workspace.is_kept = keep == Keep::kForBackward;
  plan_lanes(events, shape_.steps, mask, shape_.go_backwards ? TimeOrder::kBackwards : TimeOrder::kForwards, plan);
  for (const int64_t event : plan.empty_events)
    std::fill_n(out + event * shape_.out_floats(), shape_.out_floats(), 0.0F);
  const int64_t groups = static_cast<int64_t>(plan.groups.size());
  if (groups == 0) return;
  float* const packed = room(workspace.weights, cell_->packed_floats());
  cell_->pack(weights, packed);
  const int64_t slots = keep == Keep::kNothing ? 2 : plan.longest_group() + 1;
  const int64_t group_floats = slots * cell_->slot_rows() * kGroupLanes;
  const int64_t scratch_floats = forward_scratch_floats(shape_);
  float* const kept = room(workspace.kept, groups * group_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  parallel(groups, [&](int64_t i) {
    run_forward(shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)], kept + i * group_floats,
                {x, packed, out, scratch + i * scratch_floats, slots});
  });
}

void Recurrent::backward(int64_t events, const RecurrentWeights& weights, const float* out_gradient,
                         const RecurrentGradients& gradients, RecurrentWorkspace& workspace,
                         const Parallel& parallel) const {
  LINAC_CHECK(shape_.has_bias == (weights.bias != nullptr) && shape_.has_bias == (gradients.bias != nullptr));
  const LanePlan& plan = workspace.plan;
  if (gradients.x != nullptr) std::fill_n(gradients.x, events * shape_.steps * shape_.features, 0.0F);
  const int64_t groups = static_cast<int64_t>(plan.groups.size());
  const int64_t group_floats = (plan.longest_group() + 1) * cell_->slot_rows() * kGroupLanes;
  LINAC_CHECK(workspace.is_kept && static_cast<int64_t>(workspace.kept.size()) >= groups * group_floats);
  const int64_t sums_floats = sum_floats(*cell_), scratch_floats = backward_scratch_floats(shape_, *cell_);
  float* const sums = room(workspace.sums, groups * sums_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  std::fill_n(sums, groups * sums_floats, 0.0F);
  parallel(groups, [&](int64_t i) {
    run_backward(
        shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)], workspace.kept.data() + i * group_floats,
        {out_gradient, workspace.weights.data(), gradients.x, scratch + i * scratch_floats, sums + i * sums_floats});
  });
  deliver(shape_, *cell_, sums, groups, gradients);
}

}  // namespace linac::kernels
