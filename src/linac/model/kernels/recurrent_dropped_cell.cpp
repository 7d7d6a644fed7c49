#include <vector>

#include "linac/model/kernels/recurrent_cell.h"

namespace linac::kernels {
namespace {

constexpr int64_t kNowhere = -1;

/// Of one of Keras's gates: which gate of the slot the product with x is written to and which of the deltas it comes
/// back from, and the same of the product with the state. kNowhere: h of a GRU that resets before, which reads r * s.
struct GatePlaces {
  int64_t x, x_delta, state, state_delta;
};

struct Kind {
  int64_t gates, deltas;  // each so many times the units
  bool state_bias;
  std::vector<int64_t> keras_gates;
  std::vector<GatePlaces> places;
};

const Kind& kind_of(RecurrentCell cell) {
  static const Kind after{4, 4, true, {2, 0, 1, 2}, {{1, 1, 1, 1}, {2, 2, 2, 2}, {0, 0, 3, 3}}};
  static const Kind before{4, 3, false, {2, 0, 1}, {{1, 1, 1, 1}, {2, 2, 2, 2}, {0, 0, kNowhere, kNowhere}}};
  static const Kind lstm{5, 4, false, {0, 1, 2, 3}, {{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}}};
  return cell == RecurrentCell::kLstm ? lstm : cell == RecurrentCell::kGruResetBefore ? before : after;
}

/// The cells of recurrent_cell.cpp, gate by gate: each reads rows of its own.
class DroppedCell final : public Cell {
 public:
  DroppedCell(const RecurrentShape& shape, Isa isa) : Cell(shape, isa), kind_(kind_of(shape.cell)) {}

  bool has_state_bias() const override { return kind_.state_bias && shape_.has_bias; }
  int64_t gate_rows() const override { return kind_.gates * shape_.units; }
  int64_t delta_rows() const override { return kind_.deltas * shape_.units; }
  const std::vector<int64_t>& keras_gates() const override { return kind_.keras_gates; }

  std::vector<CellProduct> products() const override {
    const int64_t units = shape_.units, states = input_rows() - x_rows();
    std::vector<CellProduct> products;
    for (int64_t gate = 0; gate < shape_.gates(); ++gate) {
      const GatePlaces& place = places(gate);
      products.push_back({input_row(gate), x_rows(), place.x_delta * units, units, false});
      if (place.state == kNowhere)
        products.push_back({reset_row(), units, place.x_delta * units, units, true});
      else
        products.push_back({input_row(gate) + x_rows(), states, place.state_delta * units, units, true});
    }
    return products;
  }

  int64_t packed_floats() const override { return to_x(shape_.gates()); }

  void pack(const RecurrentWeights& weights, float* packed) const override {
    const int64_t units = shape_.units, features = shape_.features;
    const float* const state_bias = has_state_bias() ? weights.bias + shape_.gates() * units : nullptr;
    for (int64_t gate = 0; gate < shape_.gates(); ++gate) {
      const MatrixRows parts[] = {part(weights.kernel, features, gate), part(weights.bias, 1, gate),
                                  part(weights.recurrent, units, gate), part(state_bias, 1, gate)};
      if (!apart(gate)) {
        kernels_.pack(parts, 4, units, packed + to_gate(gate));
      } else {
        kernels_.pack(parts, 2, units, packed + to_gate(gate));
        kernels_.pack(parts + 2, 2, units, packed + to_gate(gate) + x_rows() * units);
      }
      const MatrixRows state = transposed(weights.recurrent, gate, 1), x = transposed(weights.kernel, gate, 1);
      kernels_.pack(&state, 1, units, packed + to_state(gate));
      kernels_.pack(&x, 1, features, packed + to_x(gate));
    }
  }

  void forward(const CellStep& step) const override {
    drop(step);
    for (int64_t gate = 0; gate < shape_.gates(); ++gate) {
      const GatePlaces& place = places(gate);
      const LaneRows x{step.slot + input_row(gate) * 16, x_rows(), step.block};
      const LaneRows state{x.at + x_rows() * 16, input_rows() - x_rows(), step.block};
      const float* const matrix = step.weights + to_gate(gate);
      if (place.state == kNowhere) {
        reset(step, gate);
        to_gates(step, x, {step.slot + reset_row() * 16, shape_.units, step.block}, matrix, place.x, 1);
      } else if (apart(gate)) {
        to_gates(step, x, {}, matrix, place.x, 1);
        to_gates(step, state, {}, matrix + x_rows() * shape_.units, place.state, 1);
      } else {
        to_gates(step, x, state, matrix, place.x, 1);
      }
    }
    for (int64_t block = 0; block < step.blocks; ++block) {
      const CellRows now = rows(step, block);
      if (shape_.cell == RecurrentCell::kLstm)
        kernels_.lstm(now);
      else if (shape_.cell == RecurrentCell::kGruResetAfter)
        kernels_.gru_after(now);
      else
        kernels_.gru_before_state(now);
    }
  }

  void backward(const CellGradientStep& step) const override {
    const int64_t units = shape_.units;
    for (int64_t block = 0; block < step.blocks; ++block) start_backward(rows(step, block));
    if (shape_.cell == RecurrentCell::kGruResetBefore) backward_reset(step);
    for (int64_t gate = 0; gate < shape_.gates(); ++gate) {
      const GatePlaces& place = places(gate);
      if (place.state == kNowhere) continue;
      const bool added = shape_.cell != RecurrentCell::kLstm || gate > 0;  // an LSTM's carry of s begins anew
      from_gate(step, gate, place.state_delta, to_state(gate), shape_.features, units, step.carry, carry_rows(), added);
    }
    for (int64_t gate = 0; step.x_gradient != nullptr && gate < shape_.gates(); ++gate) {
      const int64_t features = shape_.features;
      from_gate(step, gate, places(gate).x_delta, to_x(gate), 0, features, step.x_gradient, features, gate > 0);
    }
  }

 private:
  const GatePlaces& places(int64_t gate) const { return kind_.places[static_cast<size_t>(gate)]; }
  /// Whether the gate's products with x and with the state go to different rows.
  bool apart(int64_t gate) const { return places(gate).state != kNowhere && places(gate).state != places(gate).x; }
  int64_t reset_row() const { return gates_row() + 3 * shape_.units; }

  // Where the packed matrices begin.
  int64_t to_gate(int64_t gate) const { return gate * shape_.units * input_rows(); }
  int64_t to_state(int64_t gate) const { return to_gate(shape_.gates()) + gate * shape_.units * shape_.units; }
  int64_t to_x(int64_t gate) const { return to_state(shape_.gates()) + gate * shape_.units * shape_.features; }

  /// Of a gate of a block: to x, and `features` rows further on to the state.
  const float* multipliers(const float* all, int64_t block, int64_t gate) const {
    return all + (block * shape_.multipliers() + gate * (shape_.features + shape_.units)) * 16;
  }

  void drop(const CellStep& step) const {
    for (int64_t block = 0; block < step.blocks; ++block) {
      float* const slot = step.slot + block * step.block;
      for (int64_t gate = 0; gate < shape_.gates(); ++gate) {
        const float* const kept = multipliers(step.multipliers, block, gate);
        float* const to = slot + input_row(gate) * 16;
        kernels_.multiply(slot, kept, shape_.features * 16, to, false);
        kernels_.multiply(slot + x_rows() * 16, kept + shape_.features * 16, shape_.units * 16, to + x_rows() * 16,
                          false);
      }
    }
  }

  /// r * s times the multipliers of the gate.
  void reset(const CellStep& step, int64_t gate) const {
    for (int64_t block = 0; block < step.blocks; ++block) {
      kernels_.gru_before_gates(rows(step, block));
      float* const product = step.slot + block * step.block + reset_row() * 16;
      kernels_.multiply(product, multipliers(step.multipliers, block, gate) + shape_.features * 16, shape_.units * 16,
                        product, false);
    }
  }

  void start_backward(const CellGradientRows& now) const {
    if (shape_.cell == RecurrentCell::kLstm) return kernels_.lstm_gradient(now);
    if (shape_.cell == RecurrentCell::kGruResetAfter) return kernels_.gru_after_gradient(now);
    kernels_.gru_before_state_gradient(now);
  }

  /// From the deltas of h to those of r, and to the state through r * s.
  void backward_reset(const CellGradientStep& step) const {
    constexpr int64_t kGate = 2;
    const int64_t units = shape_.units;
    from_gate(step, kGate, 0, to_state(kGate), shape_.features, units, step.spare, units, false);
    for (int64_t block = 0; block < step.blocks; ++block)
      kernels_.gru_before_reset_gradient(rows(step, block), step.spare + block * units * 16);
  }

  /// out [columns][16] (+)= (deltas times a packed matrix) times the gate's multipliers from `first` on.
  void from_gate(const CellGradientStep& step, int64_t gate, int64_t delta, int64_t matrix, int64_t first,
                 int64_t columns, float* out, int64_t out_rows, bool added) const {
    from_deltas(step, delta, 1, step.weights + matrix, step.spare, columns, columns, false);
    for (int64_t block = 0; block < step.blocks; ++block) {
      kernels_.multiply(step.spare + block * columns * 16, multipliers(step.multipliers, block, gate) + first * 16,
                        columns * 16, out + block * out_rows * 16, added);
    }
  }

  const Kind& kind_;
};

}  // namespace

std::unique_ptr<const Cell> make_dropped_cell(const RecurrentShape& shape, Isa isa) {
  return std::make_unique<DroppedCell>(shape, isa);
}

}  // namespace linac::kernels
