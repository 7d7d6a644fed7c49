#include <algorithm>

#include "linac/model/kernels/recurrent_passes.h"

namespace linac::kernels {
namespace {

class ForwardPass : public GroupPass {
 public:
  ForwardPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots,
              const ForwardGroup& data)
      : GroupPass(shape, cell, isa, group),
        slots_(slots),
        data_(data),
        multipliers_(data.scratch + whole_vectors(shape.features) + kLaneBlock * shape.units) {}

  void run() {
    prepare();
    auto begin = group_.by_begin.begin();
    for (int64_t step = 0; step < group_.steps; ++step) {
      float *const now = slot(step), *const next = slot(step + 1);
      for (; begin != group_.by_begin.end() && begin->begin == step; ++begin) enter(*begin, now);
      read_x(step, now);
      cell_.forward({group_.blocks, block_, now, next, data_.weights, shape_.drops ? multipliers_ : nullptr});
      if (data_.kept != nullptr) kernels_.narrow(now, slot_floats_, data_.kept + step * slot_floats_);
      if (shape_.return_sequences) write_sequence(step, next);
      for (auto end = ends_; end != group_.by_end.rend() && end->end == step + 1; ends_ = ++end) leave(*end, next);
    }
  }

 private:
  float* slot(int64_t step) const { return slots_ + step % data_.slots * slot_floats_; }

  /// The rows of ones, and zeros for lanes that no event ever enters.
  void prepare() {
    std::fill_n(data_.scratch, shape_.features, 0.0F);
    std::fill_n(multipliers_, multiplier_floats(shape_), 0.0F);
    for (int64_t i = 0; i < std::min(data_.slots, group_.steps + 1); ++i) {
      for (int64_t block = 0; block < group_.blocks; ++block) {
        float* const rows = slot(i) + block * block_;
        if (i == 0) std::fill_n(rows + cell_.x_rows() * 16, cell_.carry_rows() * 16, 0.0F);
        if (shape_.has_bias) std::fill_n(rows + shape_.features * 16, 16, 1.0F);
        if (cell_.has_state_bias()) std::fill_n(rows + (cell_.gates_row() - 1) * 16, 16, 1.0F);
        for (int64_t gate = 0; shape_.drops && gate < shape_.gates(); ++gate) {
          float* const input = rows + cell_.input_row(gate) * 16;
          if (shape_.has_bias) std::fill_n(input + shape_.features * 16, 16, 1.0F);
          if (cell_.has_state_bias()) std::fill_n(input + (cell_.input_rows() - 1) * 16, 16, 1.0F);
        }
      }
    }
  }

  void enter(const LaneVisit& visit, float* slot) {
    visits_[static_cast<size_t>(visit.lane)] = &visit;
    float* const rows = state(slot, visit.lane);
    take_multipliers(visit, data_.multipliers, multipliers_);
    const float* const begin = data_.states.begin == nullptr ? nullptr : data_.states.begin + visit.event * states_;
    for (int64_t i = 0; i < states_; ++i) rows[i * 16] = begin == nullptr ? 0 : begin[i];
    if (shape_.return_sequences)
      std::fill_n(data_.out + visit.event * shape_.out_floats(), place(visit.begin, visit.lane) * shape_.units, 0.0F);
  }

  void read_x(int64_t step, float* slot) const {
    const int64_t features = shape_.features;
    for (int64_t first = 0; first < group_.lanes(); first += kLaneBlock) {
      const float* from[kLaneBlock];
      for (int64_t lane = 0; lane < kLaneBlock; ++lane) {
        const int64_t row = group_.rows_of(step)[first + lane];
        from[lane] = row < 0 ? data_.scratch : data_.x + row * features;
        prefetch_x(step + 1, first + lane);
      }
      kernels_.gather(from, features, slot + first / kLaneBlock * block_);
    }
  }

  void prefetch_x(int64_t step, int64_t lane) const {
    if (step == group_.steps || !busy(step, lane)) return;
    const float* const row = data_.x + group_.rows_of(step)[lane] * shape_.features;
    for (int64_t i = 0; i < shape_.features; i += 16) __builtin_prefetch(row + i);
    __builtin_prefetch(row + shape_.features - 1);
  }

  void leave(const LaneVisit& visit, float* slot) {
    const float* const rows = state(slot, visit.lane);
    const auto write = [&](float* all, int64_t floats) {
      for (int64_t i = 0; i < floats; ++i) all[visit.event * floats + i] = rows[i * 16];
    };
    if (!shape_.return_sequences) write(data_.out, shape_.units);
    if (data_.states.end != nullptr) write(data_.states.end, states_);
  }

  void write_sequence(int64_t step, float* next) {
    const int64_t units = shape_.units;
    float* const states = data_.scratch + whole_vectors(shape_.features);
    for (int64_t first = 0; first < group_.lanes(); first += kLaneBlock) {
      rows_.unblock(state(next, first), units, kLaneBlock, units, states);
      for (int64_t lane = first; lane < first + kLaneBlock; ++lane) {
        if (!busy(step, lane)) continue;
        float* const out = data_.out + visit(lane).event * shape_.out_floats();
        const float* const values = states + (lane - first) * units;
        for (int64_t i = place(step, lane); i < last_place(step, lane); ++i)
          std::copy_n(values, units, out + i * units);
      }
    }
  }

  float* const slots_;
  const ForwardGroup data_;
  float* const multipliers_;
  const int64_t states_ = shape_.state_floats();
  std::vector<LaneVisit>::const_reverse_iterator ends_ = group_.by_end.rbegin();
};

}  // namespace

// Zeros for the lanes that idle, a block's state, and multipliers.
int64_t forward_scratch_floats(const RecurrentShape& shape) {
  return whole_vectors(shape.features) + kLaneBlock * shape.units + multiplier_floats(shape);
}

void run_forward(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots,
                 const ForwardGroup& data) {
  ForwardPass(shape, cell, isa, group, slots, data).run();
}

}  // namespace linac::kernels
