#include "linac/kernels/recurrent.h"

#include <algorithm>

#include "linac/base/error.h"
#include "linac/kernels/recurrent_cell.h"
#include "linac/kernels/row_kernels.h"

namespace linac::kernels {
namespace {

// Steps times blocks whose deltas are turned and then met with the rows of x and of the state: a tile's share of them
// fits L1.
constexpr int64_t kChunkBlocks = 6;
constexpr int64_t kSlack = 8;  // buffers grow by an eighth more than is asked for: the next batch may be a bit longer

/// At least `floats` floats; what was there is lost when it grows. New values are zero.
float* room(AlignedFloats& buffer, int64_t floats) {
  if (static_cast<int64_t>(buffer.size()) < floats) {
    buffer.clear();
    buffer.resize(static_cast<size_t>(floats + floats / kSlack));
  }
  return buffer.data();
}

int64_t whole_vectors(int64_t floats) {
  return (floats + 15) / 16 * 16;
}

class FlushedSubnormals {
 public:
  explicit FlushedSubnormals(const RecurrentKernels& kernels) : kernels_(kernels), state_(kernels.flush_subnormals()) {}
  ~FlushedSubnormals() { kernels_.restore_subnormals(state_); }
  FlushedSubnormals(const FlushedSubnormals&) = delete;
  FlushedSubnormals& operator=(const FlushedSubnormals&) = delete;

 private:
  const RecurrentKernels& kernels_;
  const unsigned state_;
};

/// One step after the other of a group, forward or backward: what both passes need to know.
class GroupPass {
 public:
  GroupPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots)
      : shape_(shape),
        cell_(cell),
        rows_(row_kernels(isa)),
        kernels_(recurrent_kernels(isa)),
        subnormals_(kernels_),
        group_(group),
        slots_(slots),
        block_(cell.slot_rows() * 16),
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
  const LaneVisit& visit(int64_t lane) const { return *visits_[static_cast<size_t>(lane)]; }
  bool busy(int64_t step, int64_t lane) const { return group_.rows_of(step)[lane] >= 0; }

  const RecurrentShape& shape_;
  const Cell& cell_;
  const RowKernels& rows_;
  const RecurrentKernels& kernels_;
  const FlushedSubnormals subnormals_;
  const LaneGroup& group_;
  float* const slots_;
  const int64_t block_;
  std::vector<const LaneVisit*> visits_;  // by lane
};

class ForwardPass : public GroupPass {
 public:
  struct Data {
    const float *x, *weights;
    float* out;
    float* scratch;
    int64_t slots;  // all steps' and one more, or two that take turns
  };
  /// Zeros for the lanes that idle, and a block's state.
  static int64_t scratch_floats(const RecurrentShape& shape) {
    return whole_vectors(shape.features) + kLaneBlock * shape.units;
  }

  ForwardPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots,
              const Data& data)
      : GroupPass(shape, cell, isa, group, slots), data_(data) {}

  void run() {
    prepare();
    auto begin = group_.by_begin.begin();
    for (int64_t step = 0; step < group_.steps; ++step) {
      float *const now = slot(step), *const next = slot(step + 1);
      for (; begin != group_.by_begin.end() && begin->begin == step; ++begin) enter(*begin, now);
      read_x(step, now);
      cell_.forward({group_.blocks, block_, now, next, data_.weights});
      if (shape_.return_sequences)
        write_sequence(step, next);
      else
        write_last(step, next);
    }
  }

 private:
  float* slot(int64_t step) const { return slots_ + step % data_.slots * group_.blocks * block_; }

  /// The rows of ones, and zeros for lanes that no event ever enters.
  void prepare() {
    std::fill_n(data_.scratch, shape_.features, 0.0F);
    for (int64_t i = 0; i < std::min(data_.slots, group_.steps + 1); ++i) {
      for (int64_t block = 0; block < group_.blocks; ++block) {
        float* const rows = slot(i) + block * block_;
        if (i == 0) std::fill_n(rows + cell_.x_rows() * 16, cell_.zeroed_rows() * 16, 0.0F);
        if (shape_.has_bias) std::fill_n(rows + shape_.features * 16, 16, 1.0F);
        if (cell_.has_state_bias()) std::fill_n(rows + (cell_.gates_row() - 1) * 16, 16, 1.0F);
      }
    }
  }

  void enter(const LaneVisit& visit, float* slot) {
    visits_[static_cast<size_t>(visit.lane)] = &visit;
    float* const rows = state(slot, visit.lane);
    for (int64_t i = 0; i < cell_.zeroed_rows(); ++i) rows[i * 16] = 0;
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

  void write_last(int64_t step, float* next) {
    for (auto end = ends_; end != group_.by_end.rend() && end->end == step + 1; ends_ = ++end) {
      const float* const rows = state(next, end->lane);
      float* const out = data_.out + end->event * shape_.units;
      for (int64_t i = 0; i < shape_.units; ++i) out[i] = rows[i * 16];
    }
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

  const Data data_;
  std::vector<LaneVisit>::const_reverse_iterator ends_ = group_.by_end.rbegin();
};

class BackwardPass : public GroupPass {
 public:
  struct Data {
    const float *out_gradient, *weights;
    float* x_gradient;  // null: not wanted
    float *scratch, *sums;
  };

  /// Floats of the pieces of scratch memory, for two blocks.
  struct Room {
    int64_t carry, deltas, spare, x_gradient, stride, turned, rows;
    Room(const RecurrentShape& shape, const Cell& cell)
        : carry(cell.carry_rows() * kGroupLanes),
          deltas(cell.delta_rows() * kGroupLanes),
          spare(shape.units * kGroupLanes),
          x_gradient(shape.features * kGroupLanes),
          // A product that begins in the middle reads whole vectors.
          stride(whole_vectors(cell.delta_rows() + 15)),
          turned(kChunkBlocks * kLaneBlock * stride),
          rows(16 * std::max(shape.features, shape.units)) {}
    int64_t floats() const { return carry + deltas + spare + x_gradient + turned + rows; }
  };

  BackwardPass(const RecurrentShape& shape, const Cell& cell, Isa isa, const LaneGroup& group, float* slots,
               const Data& data)
      : GroupPass(shape, cell, isa, group, slots),
        data_(data),
        room_(shape, cell),
        carry_(data.scratch),
        deltas_(carry_ + room_.carry),
        spare_(deltas_ + room_.deltas),
        x_gradient_(spare_ + room_.spare),
        turned_(x_gradient_ + room_.x_gradient),
        row_(turned_ + room_.turned),
        products_(cell.products()) {}

  void run() {
    std::fill_n(carry_, room_.carry, 0.0F);
    auto end = group_.by_end.begin();
    auto begin = group_.by_begin.rbegin();
    for (int64_t step = group_.steps - 1; step >= 0; --step) {
      for (; end != group_.by_end.end() && end->end == step + 1; ++end) enter(*end);
      if (shape_.return_sequences) add_sequence(step);
      cell_.backward({group_.blocks, block_, slot(step), slot(step > 0 ? step - 1 : 0), data_.weights, carry_, deltas_,
                      spare_, data_.x_gradient == nullptr ? nullptr : x_gradient_});
      if (data_.x_gradient != nullptr) write_x(step);
      for (; begin != group_.by_begin.rend() && begin->begin == step; ++begin) cut(begin->lane);
      turn(step);
    }
  }

 private:
  const float* slot(int64_t step) const { return slots_ + step * group_.blocks * block_; }
  float* carry(int64_t lane) const { return carry_ + lane / kLaneBlock * cell_.carry_rows() * 16 + lane % kLaneBlock; }

  void enter(const LaneVisit& visit) {
    visits_[static_cast<size_t>(visit.lane)] = &visit;
    if (shape_.return_sequences) return;
    const float* const gradient = data_.out_gradient + visit.event * shape_.units;
    float* const rows = carry(visit.lane);
    for (int64_t i = 0; i < shape_.units; ++i) rows[i * 16] = gradient[i];
  }

  /// Nothing flows from an event to the one before it in its lane.
  void cut(int64_t lane) {
    float* const rows = carry(lane);
    for (int64_t i = 0; i < cell_.carry_rows(); ++i) rows[i * 16] = 0;
  }

  void add_sequence(int64_t step) {
    for (int64_t lane = 0; lane < group_.lanes(); ++lane) {
      if (!busy(step, lane)) continue;
      const float* const gradient = data_.out_gradient + visit(lane).event * shape_.out_floats();
      float* const rows = carry(lane);
      const int64_t last = last_place(step, lane);
      for (int64_t at = place(step, lane); at < last; ++at) {
        for (int64_t i = 0; i < shape_.units; ++i) rows[i * 16] += gradient[at * shape_.units + i];
      }
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
      const float* const top = slot(step + turned_steps_ - 1) + product.first_row * 16;
      kernels_.add_outer({{top, product.rows, block_},
                          -group_.blocks * block_,
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

  const Data data_;
  const Room room_;
  float *const carry_, *const deltas_, *const spare_, *const x_gradient_, *const turned_, *const row_;
  const std::vector<CellProduct> products_;
  int64_t turned_steps_ = 0;
};

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
  plan_lanes(events, shape_.steps, mask, shape_.go_backwards ? TimeOrder::kBackwards : TimeOrder::kForwards, plan);
  for (const int64_t event : plan.empty_events)
    std::fill_n(out + event * shape_.out_floats(), shape_.out_floats(), 0.0F);
  const int64_t groups = static_cast<int64_t>(plan.groups.size());
  if (groups == 0) return;
  float* const packed = room(workspace.weights, cell_->packed_floats());
  cell_->pack(weights, packed);
  const int64_t slots = keep == Keep::kNothing ? 2 : plan.longest_group() + 1;
  const int64_t group_floats = slots * cell_->slot_rows() * kGroupLanes;
  const int64_t scratch_floats = whole_vectors(ForwardPass::scratch_floats(shape_));
  float* const kept = room(workspace.kept, groups * group_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  parallel(groups, [&](int64_t i) {
    ForwardPass(shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)], kept + i * group_floats,
                {x, packed, out, scratch + i * scratch_floats, slots})
        .run();
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
  LINAC_CHECK(static_cast<int64_t>(workspace.kept.size()) >= groups * group_floats);
  const int64_t sums_floats = sum_floats(*cell_), scratch_floats = BackwardPass::Room(shape_, *cell_).floats();
  float* const sums = room(workspace.sums, groups * sums_floats);
  float* const scratch = room(workspace.scratch, groups * scratch_floats);
  std::fill_n(sums, groups * sums_floats, 0.0F);
  parallel(groups, [&](int64_t i) {
    BackwardPass(
        shape_, *cell_, isa_, plan.groups[static_cast<size_t>(i)], workspace.kept.data() + i * group_floats,
        {out_gradient, workspace.weights.data(), gradients.x, scratch + i * scratch_floats, sums + i * sums_floats})
        .run();
  });
  deliver(shape_, *cell_, sums, groups, gradients);
}

}  // namespace linac::kernels
