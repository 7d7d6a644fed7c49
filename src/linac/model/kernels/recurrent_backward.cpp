#include <algorithm>

#include "linac/model/kernels/recurrent_passes.h"

namespace linac::kernels {
namespace {

// Steps times blocks whose deltas are turned and then met with the rows of x and of the state: a tile's share of them
// fits L1.
constexpr int64_t kChunkBlocks = 6;

/// Floats of the pieces of scratch memory, for two blocks.
struct Room {
  int64_t carry, deltas, spare, x_gradient, stride, turned, rows, widened, multipliers;
  Room(const RecurrentShape& shape, const Cell& cell, Storage kept)
      : carry(cell.carry_rows() * kGroupLanes),
        deltas(cell.delta_rows() * kGroupLanes),
        spare(cell.spare_rows() * kGroupLanes),
        x_gradient(shape.features * kGroupLanes),
        // A product that begins in the middle reads whole vectors.
        stride(whole_vectors(cell.delta_rows() + 15)),
        turned(kChunkBlocks * kLaneBlock * stride),
        rows(16 * std::max(shape.features, shape.units)),
        widened(kept == Storage::kFloat ? 0 : kChunkBlocks * kLaneBlock * cell.slot_rows()),
        multipliers(multiplier_floats(shape)) {}
  int64_t floats() const { return carry + deltas + spare + x_gradient + turned + rows + widened + multipliers; }
};

class BackwardPass : public GroupPass {
 public:
  BackwardPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group,
               const BackwardGroup& data)
      : GroupPass(shape, cell, isa, group),
        data_(data),
        room_(shape, cell, data.kept == nullptr ? Storage::kFloat : Storage::kBfloat16),
        carry_(data.scratch),
        deltas_(carry_ + room_.carry),
        spare_(deltas_ + room_.deltas),
        x_gradient_(spare_ + room_.spare),
        turned_(x_gradient_ + room_.x_gradient),
        row_(turned_ + room_.turned),
        widened_(row_ + room_.rows),
        multipliers_(widened_ + room_.widened),
        products_(cell.products()) {}

  void run() {
    std::fill_n(carry_, room_.carry, 0.0F);
    std::fill_n(multipliers_, room_.multipliers, 0.0F);
    auto end = group_.by_end.begin();
    auto begin = group_.by_begin.rbegin();
    for (int64_t step = group_.steps - 1; step >= 0; --step) {
      for (; end != group_.by_end.end() && end->end == step + 1; ++end) enter(*end);
      if (shape_.return_sequences) add_sequence(step);
      const float* const now = slot(step);
      if (turned_steps_ == 0) chunk_ = now;
      cell_.backward({group_.blocks, block_, now, ahead(step), data_.weights, carry_, deltas_, spare_,
                      data_.x_gradient == nullptr ? nullptr : x_gradient_, shape_.drops ? multipliers_ : nullptr});
      if (data_.x_gradient != nullptr) write_x(step);
      for (; begin != group_.by_begin.rend() && begin->begin == step; ++begin) cut(*begin);
      turn(step);
    }
  }

 private:
  /// The step's rows. Of a chunk of steps each lies before the last one, in time's order.
  const float* slot(int64_t step) const {
    if (data_.kept == nullptr) return data_.slots + step * slot_floats_;
    float* const rows = widened_ + (kChunkBlocks / group_.blocks - 1 - turned_steps_) * slot_floats_;
    kernels_.widen(data_.kept + step * slot_floats_, slot_floats_, rows);
    return rows;
  }
  /// What is read for the step before this one.
  const float* ahead(int64_t step) const {
    const int64_t before = (step > 0 ? step - 1 : 0) * slot_floats_;
    return data_.kept == nullptr ? data_.slots + before : reinterpret_cast<const float*>(data_.kept + before);
  }
  float* carry(int64_t lane) const { return carry_ + lane / kLaneBlock * cell_.carry_rows() * 16 + lane % kLaneBlock; }

  void enter(const LaneVisit& visit) {
    visits_[static_cast<size_t>(visit.lane)] = &visit;
    take_multipliers(visit, data_.multipliers, multipliers_);
    float* const rows = carry(visit.lane);
    const int64_t units = shape_.units, states = shape_.state_floats();
    for (int64_t i = 0; i < units && !shape_.return_sequences; ++i)
      rows[i * 16] = data_.out_gradient[visit.event * units + i];
    for (int64_t i = 0; i < states && data_.states.end != nullptr; ++i)
      rows[i * 16] += data_.states.end[visit.event * states + i];
  }

  /// Nothing flows from an event to the one before it in its lane.
  void cut(const LaneVisit& visit) {
    const int64_t states = shape_.state_floats();
    float* const rows = carry(visit.lane);
    for (int64_t i = 0; i < states && data_.states.begin != nullptr; ++i)
      data_.states.begin[visit.event * states + i] = rows[i * 16];
    for (int64_t i = 0; i < cell_.carry_rows(); ++i) rows[i * 16] = 0;
  }

  /// The gradients to all places that show a lane's state after the step.
  void add_sequence(int64_t step) {
    const int64_t units = shape_.units;
    for (int64_t first = 0; first < group_.lanes(); first += kLaneBlock) {
      for (int64_t lane = first; lane < first + kLaneBlock; ++lane) {
        float* const sum = row_ + (lane - first) * units;
        std::fill_n(sum, units, 0.0F);
        if (!busy(step, lane)) continue;
        const float* const gradient = data_.out_gradient + visit(lane).event * shape_.out_floats();
        const int64_t last = last_place(step, lane);
        for (int64_t at = place(step, lane); at < last; ++at) {
          for (int64_t i = 0; i < units; ++i) sum[i] += gradient[at * units + i];
        }
      }
      rows_.block(row_, units, kLaneBlock, units, spare_);
      float* const to = carry(first);
      for (int64_t i = 0; i < units * kLaneBlock; ++i) to[i] += spare_[i];
    }
  }

  void write_x(int64_t step) {
    const int64_t features = shape_.features;
    for (int64_t first = 0; first < group_.lanes(); first += kLaneBlock) {
      rows_.unblock(x_gradient_ + first * features, features, kLaneBlock, features, row_);
      for (int64_t lane = 0; lane < kLaneBlock; ++lane) {
        const int64_t row = group_.rows_of(step)[first + lane];
        if (row >= 0) std::copy_n(row_ + lane * features, features, data_.x_gradient + row * features);
      }
    }
  }

  /// The step's deltas with the columns side by side; when a chunk of steps is complete, its products.
  void turn(int64_t step) {
    const int64_t rows = cell_.delta_rows();
    for (int64_t block = 0; block < group_.blocks; ++block) {
      rows_.unblock(deltas_ + block * rows * 16, room_.stride, kLaneBlock, rows,
                    turned_ + (turned_steps_ * group_.blocks + block) * kLaneBlock * room_.stride);
    }
    if (++turned_steps_ * group_.blocks < kChunkBlocks && step > 0) return;
    float* sums = data_.sums;
    for (const CellProduct& product : products_) {
      const int64_t stride = whole_vectors(product.columns);
      kernels_.add_outer({{chunk_ + product.first_row * 16, product.rows, block_},
                          -slot_floats_,
                          turned_ + product.first_column,
                          room_.stride,
                          product.columns,
                          sums,
                          stride,
                          turned_steps_,
                          group_.blocks});
      sums += product.rows * stride;
    }
    turned_steps_ = 0;
  }

  const BackwardGroup data_;
  const Room room_;
  float *const carry_, *const deltas_, *const spare_, *const x_gradient_, *const turned_, *const row_,
                                                                                              *const widened_,
                                                                                                  *const multipliers_;
  const std::vector<CellProduct> products_;
  const float* chunk_ = nullptr;  // the slot of its first, latest step
  int64_t turned_steps_ = 0;
};

}  // namespace

int64_t backward_scratch_floats(const RecurrentShape& shape, const Cell& cell, Storage kept) {
  return Room(shape, cell, kept).floats();
}

void run_backward(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group,
                  const BackwardGroup& data) {
  BackwardPass(shape, cell, isa, group, data).run();
}

}  // namespace linac::kernels
