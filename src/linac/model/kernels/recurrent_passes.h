#pragma once
// A group of lanes through all its steps, forward or backward. Used by recurrent.cpp alone; each group is a piece of
// work that a thread does by itself.

#include <cstdint>
#include <vector>

#include "linac/model/kernels/recurrent.h"
#include "linac/model/kernels/recurrent_cell.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/subnormals.h"

namespace linac::kernels {

inline int64_t whole_vectors(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

/// Of the multipliers of the lanes' events.
inline int64_t multiplier_floats(const RecurrentShape& shape) {
  return shape.drops ? shape.multipliers() * kGroupLanes : 0;
}

/// What both passes need to know.
class GroupPass {
 public:
  GroupPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group)
      : shape_(shape),
        cell_(cell),
        rows_(row_kernels(isa)),
        kernels_(recurrent_kernels(isa)),
        group_(group),
        block_(cell.slot_rows() * 16),
        slot_floats_(group.blocks * block_),
        visits_(static_cast<size_t>(group.lanes())) {}

 protected:
  float* state(float* slot, int64_t lane) const {
    return slot + lane / kLaneBlock * block_ + cell_.x_rows() * 16 + lane % kLaneBlock;
  }
  /// The place in the processing order of the time step that `lane` computes in `step`.
  int64_t place(int64_t step, int64_t lane) const {
    const int64_t time = group_.rows_of(step)[lane] - visits_[static_cast<size_t>(lane)]->event * shape_.steps;
    return shape_.go_backwards ? shape_.steps - 1 - time : time;
  }
  /// One past the last place whose output is the lane's state after `step`.
  int64_t last_place(int64_t step, int64_t lane) const {
    return step + 1 < visits_[static_cast<size_t>(lane)]->end ? place(step + 1, lane) : shape_.steps;
  }
  /// Puts the multipliers of an event that enters its lane among those of the lanes.
  void take_multipliers(const LaneVisit& visit, const RecurrentMultipliers& given, float* lanes) const {
    if (!shape_.drops) return;
    const int64_t features = shape_.features, units = shape_.units;
    float* to = lanes + visit.lane / kLaneBlock * shape_.multipliers() * 16 + visit.lane % kLaneBlock;
    for (int64_t gate = visit.event * shape_.gates(); gate < (visit.event + 1) * shape_.gates(); ++gate) {
      for (int64_t i = 0; i < features; ++i, to += 16) *to = given.x == nullptr ? 1.0F : given.x[gate * features + i];
      for (int64_t i = 0; i < units; ++i, to += 16) *to = given.state[gate * units + i];
    }
  }
  const LaneVisit& visit(int64_t lane) const { return *visits_[static_cast<size_t>(lane)]; }
  bool busy(int64_t step, int64_t lane) const { return group_.rows_of(step)[lane] >= 0; }

  const RecurrentShape& shape_;
  const Cell& cell_;
  const RowKernels& rows_;
  const RecurrentKernels& kernels_;
  const FlushedSubnormals subnormals_;
  const LaneGroup& group_;
  const int64_t block_, slot_floats_;
  std::vector<const LaneVisit*> visits_;  // by lane
};

/// x and out as in recurrent.h; `slots`: memory of all steps and one more, or of two steps that take turns; `kept`, if
/// not null: where the steps go as bfloat16.
struct ForwardGroup {
  const float *x, *weights;
  float *out, *scratch;
  int64_t slots;
  uint16_t* kept;
  RecurrentMultipliers multipliers;
  RecurrentStates states;
};
int64_t forward_scratch_floats(const RecurrentShape& shape);
void run_forward(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots,
                 const ForwardGroup& data);

/// The steps as run_forward left them, in `slots` or `kept`, the other null. The sums of the cell's products,
/// [row][whole_vectors(columns)] one product after the other, are added to.
struct BackwardGroup {
  const float* slots;
  const uint16_t* kept;
  const float *out_gradient, *weights;
  float* x_gradient;  // null: not wanted
  float *scratch, *sums;
  RecurrentMultipliers multipliers;
  RecurrentStateGradients states;
};
int64_t backward_scratch_floats(const RecurrentShape& shape, const Cell& cell, Storage kept);
void run_backward(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group,
                  const BackwardGroup& data);

}  // namespace linac::kernels
