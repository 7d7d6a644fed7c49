#include "linac/model/kernels/recurrent.h"

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/kernels/recurrent_cell.h"
#include "linac/model/kernels/recurrent_passes.h"

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

/// Of events without a valid step: as they were, zeros if that is null.
void pass_on(const std::vector<int64_t>& events, int64_t floats, const float* from, float* to) {
  for (const int64_t event : events) {
    if (to == nullptr) return;
    if (from == nullptr)
      std::fill_n(to + event * floats, floats, 0.0F);
    else
      std::copy_n(from + event * floats, floats, to + event * floats);
  }
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

Recurrent::Recurrent(const RecurrentShape& shape, Isa isa, Storage storage)
    : shape_(shape), isa_(isa), storage_(storage), cell_(make_cell(shape_, isa)) {
  LINAC_CHECK(shape.steps > 0 && shape.features > 0 && shape.units > 0);
}

Recurrent::~Recurrent() = default;

void Recurrent::forward(int64_t events, const float* x, const uint8_t* mask, const RecurrentWeights& weights,
                        float* out, Keep keep, RecurrentWorkspace& workspace, const Parallel& parallel,
                        const RecurrentMultipliers& multipliers, const RecurrentStates& states) const {
  LINAC_CHECK(shape_.has_bias == (weights.bias != nullptr) && shape_.drops == (multipliers.state != nullptr));
  LanePlan& plan = workspace.plan;
  workspace.is_kept = keep == Keep::kForBackward;
  plan_lanes(events, shape_.steps, mask, shape_.go_backwards ? TimeOrder::kBackwards : TimeOrder::kForwards, plan);
  for (const int64_t event : plan.empty_events)
    std::fill_n(out + event * shape_.out_floats(), shape_.out_floats(), 0.0F);
  pass_on(plan.empty_events, shape_.state_floats(), states.begin, states.end);
  const int64_t groups = static_cast<int64_t>(plan.groups.size());
  if (groups == 0) return;
  float* const packed = room(workspace.weights, cell_->packed_floats());
  cell_->pack(weights, packed);
  const bool rounded = workspace.is_kept && storage_ == Storage::kBfloat16;
  const int64_t slots = workspace.is_kept && !rounded ? plan.longest_group() + 1 : 2;
  const int64_t slot_floats = cell_->slot_rows() * kGroupLanes, scratch_floats = forward_scratch_floats(shape_);
  const int64_t kept_values = rounded ? plan.longest_group() * slot_floats : 0;
  float* const all_slots = room(workspace.slots, groups * slots * slot_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  auto* const kept = rounded ? reinterpret_cast<uint16_t*>(room(workspace.kept, groups * kept_values / 2)) : nullptr;
  parallel(groups, [&](int64_t i) {
    run_forward(shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)], all_slots + i * slots * slot_floats,
                {x, packed, out, scratch + i * scratch_floats, slots, rounded ? kept + i * kept_values : nullptr,
                 multipliers, states});
  });
}

void Recurrent::backward(int64_t events, const RecurrentWeights& weights, const float* out_gradient,
                         const RecurrentGradients& gradients, RecurrentWorkspace& workspace, const Parallel& parallel,
                         const RecurrentMultipliers& multipliers, const RecurrentStateGradients& states) const {
  LINAC_CHECK(shape_.has_bias == (weights.bias != nullptr) && shape_.has_bias == (gradients.bias != nullptr));
  LINAC_CHECK(shape_.drops == (multipliers.state != nullptr));
  const LanePlan& plan = workspace.plan;
  pass_on(plan.empty_events, shape_.state_floats(), states.end, states.begin);
  if (gradients.x != nullptr) std::fill_n(gradients.x, events * shape_.steps * shape_.features, 0.0F);
  const int64_t groups = static_cast<int64_t>(plan.groups.size());
  const bool rounded = storage_ == Storage::kBfloat16;
  const int64_t slot_floats = cell_->slot_rows() * kGroupLanes;
  const int64_t kept_values = (plan.longest_group() + (rounded ? 0 : 1)) * slot_floats;
  const AlignedFloats& kept = rounded ? workspace.kept : workspace.slots;
  LINAC_CHECK(workspace.is_kept && static_cast<int64_t>(kept.size()) >= groups * kept_values / (rounded ? 2 : 1));
  const auto* const halves = rounded ? reinterpret_cast<const uint16_t*>(kept.data()) : nullptr;
  const int64_t sums_floats = sum_floats(*cell_), scratch_floats = backward_scratch_floats(shape_, *cell_, storage_);
  float* const sums = room(workspace.sums, groups * sums_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  std::fill_n(sums, groups * sums_floats, 0.0F);
  parallel(groups, [&](int64_t i) {
    run_backward(shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)],
                 {rounded ? nullptr : kept.data() + i * kept_values, rounded ? halves + i * kept_values : nullptr,
                  out_gradient, workspace.weights.data(), gradients.x, scratch + i * scratch_floats,
                  sums + i * sums_floats, multipliers, states});
  });
  deliver(shape_, *cell_, sums, groups, gradients);
}

}  // namespace linac::kernels
