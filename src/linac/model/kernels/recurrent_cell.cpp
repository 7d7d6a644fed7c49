#include "linac/model/kernels/recurrent_cell.h"

namespace linac::kernels {

Cell::Cell(const RecurrentShape& shape, Isa isa) : shape_(shape), kernels_(recurrent_kernels(isa)) {}

CellRows Cell::rows(const CellStep& step, int64_t block) const {
  float* const slot = step.slot + block * step.block;
  return {shape_.units, slot + gates_row() * 16, slot + x_rows() * 16,
          step.next_slot + block * step.block + x_rows() * 16, shape_.activations};
}

CellGradientRows Cell::rows(const CellGradientStep& step, int64_t block) const {
  const float* const slot = step.slot + block * step.block;
  return {shape_.units,
          slot + gates_row() * 16,
          slot + x_rows() * 16,
          step.carry + block * carry_rows() * 16,
          step.deltas + block * delta_rows() * 16,
          shape_.activations};
}

MatrixRows Cell::part(const float* matrix, int64_t rows, int64_t first_gate) const {
  if (matrix == nullptr) return {};
  return {matrix + first_gate * shape_.units, rows, shape_.gates() * shape_.units, 1};
}

MatrixRows Cell::transposed(const float* matrix, int64_t first_gate, int64_t gates) const {
  return {matrix + first_gate * shape_.units, gates * shape_.units, 1, shape_.gates() * shape_.units};
}

void Cell::to_gates(const CellStep& step, const LaneRows& first, const LaneRows& second, const float* matrix,
                    int64_t gate, int64_t gates) const {
  kernels_.project({{first, second},
                    matrix,
                    step.slot + (gates_row() + gate * shape_.units) * 16,
                    step.block,
                    gates * shape_.units,
                    step.blocks,
                    false,
                    step.next_slot});
}

void Cell::from_deltas(const CellGradientStep& step, int64_t gate, int64_t gates, const float* matrix, float* out,
                       int64_t out_rows, int64_t columns, bool added) const {
  const LaneRows deltas{step.deltas + gate * shape_.units * 16, gates * shape_.units, delta_rows() * 16};
  kernels_.project({{deltas, {}}, matrix, out, out_rows * 16, columns, step.blocks, added, step.next_slot});
}

namespace {

/// Keras's gates z r h. Gates and deltas lie in the order h z r and, among the deltas, the gradient to s Uh + b' last:
/// so what meets x is the first three of the deltas and what meets the state the last three, in Keras's order.
class GruResetAfter final : public Cell {
 public:
  using Cell::Cell;

  bool has_state_bias() const override { return shape_.has_bias; }
  int64_t delta_rows() const override { return 4 * shape_.units; }
  const std::vector<int64_t>& keras_gates() const override {
    static const std::vector<int64_t> gates{2, 0, 1, 2};
    return gates;
  }
  std::vector<CellProduct> products() const override {
    const int64_t units = shape_.units;
    return {{0, x_rows(), 0, 3 * units, false}, {x_rows(), state_rows(), units, 3 * units, true}};
  }

  int64_t packed_floats() const override { return to_state() + 3 * shape_.units * (shape_.units + shape_.features); }

  void pack(const RecurrentWeights& weights, float* packed) const override {
    const int64_t units = shape_.units, features = shape_.features;
    const float* const state_bias = shape_.has_bias ? weights.bias + 3 * units : nullptr;
    const MatrixRows zr[] = {part(weights.kernel, features, 0), part(weights.bias, 1, 0),
                             part(weights.recurrent, units, 0), part(state_bias, 1, 0)};
    kernels_.pack(zr, 4, 2 * units, packed);
    const MatrixRows h[] = {part(weights.kernel, features, 2), part(weights.bias, 1, 2)};
    kernels_.pack(h, 2, units, packed + to_h());
    const MatrixRows reset[] = {part(weights.recurrent, units, 2), part(state_bias, 1, 2)};
    kernels_.pack(reset, 2, units, packed + to_reset());
    const MatrixRows state = transposed(weights.recurrent, 0, 3);
    kernels_.pack(&state, 1, units, packed + to_state());
    const MatrixRows x[] = {transposed(weights.kernel, 2, 1), transposed(weights.kernel, 0, 2)};
    kernels_.pack(x, 2, features, packed + to_state() + 3 * units * units);
  }

  void forward(const CellStep& step) const override {
    const LaneRows in = x(step), before = state(step, state_rows());
    to_gates(step, in, before, step.weights, 1, 2);
    to_gates(step, in, {}, step.weights + to_h(), 0, 1);
    to_gates(step, before, {}, step.weights + to_reset(), 3, 1);
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.gru_after(rows(step, block));
  }

  void backward(const CellGradientStep& step) const override {
    const int64_t units = shape_.units;
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.gru_after_gradient(rows(step, block));
    const float* const matrix = step.weights + to_state();
    from_deltas(step, 1, 3, matrix, step.carry, units, units, true);
    if (step.x_gradient == nullptr) return;
    from_deltas(step, 0, 3, matrix + 3 * units * units, step.x_gradient, shape_.features, shape_.features, false);
  }

 private:
  // Where the packed matrices begin.
  int64_t to_h() const { return 2 * shape_.units * (x_rows() + state_rows()); }
  int64_t to_reset() const { return to_h() + shape_.units * x_rows(); }
  int64_t to_state() const { return to_reset() + shape_.units * state_rows(); }
};

/// Gates h z r and r * s; deltas h z r.
class GruResetBefore final : public Cell {
 public:
  using Cell::Cell;

  int64_t delta_rows() const override { return 3 * shape_.units; }
  const std::vector<int64_t>& keras_gates() const override {
    static const std::vector<int64_t> gates{2, 0, 1};
    return gates;
  }
  std::vector<CellProduct> products() const override {
    const int64_t units = shape_.units;
    return {{0, x_rows(), 0, 3 * units, false},
            {x_rows(), units, units, 2 * units, true},
            {gates_row() + 3 * units, units, 0, units, true}};
  }

  int64_t packed_floats() const override { return to_state() + 3 * shape_.units * (shape_.units + shape_.features); }

  void pack(const RecurrentWeights& weights, float* packed) const override {
    const int64_t units = shape_.units, features = shape_.features;
    const MatrixRows zr[] = {part(weights.kernel, features, 0), part(weights.bias, 1, 0),
                             part(weights.recurrent, units, 0)};
    kernels_.pack(zr, 3, 2 * units, packed);
    const MatrixRows h[] = {part(weights.kernel, features, 2), part(weights.bias, 1, 2),
                            part(weights.recurrent, units, 2)};
    kernels_.pack(h, 3, units, packed + to_h());
    const MatrixRows reset = transposed(weights.recurrent, 2, 1), state = transposed(weights.recurrent, 0, 2);
    kernels_.pack(&state, 1, units, packed + to_state());
    kernels_.pack(&reset, 1, units, packed + to_state() + 2 * units * units);
    const MatrixRows x[] = {transposed(weights.kernel, 2, 1), transposed(weights.kernel, 0, 2)};
    kernels_.pack(x, 2, features, packed + to_state() + 3 * units * units);
  }

  void forward(const CellStep& step) const override {
    const LaneRows in = x(step);
    to_gates(step, in, state(step, shape_.units), step.weights, 1, 2);
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.gru_before_gates(rows(step, block));
    const LaneRows reset{step.slot + (gates_row() + 3 * shape_.units) * 16, shape_.units, step.block};
    to_gates(step, in, reset, step.weights + to_h(), 0, 1);
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.gru_before_state(rows(step, block));
  }

  void backward(const CellGradientStep& step) const override {
    const int64_t units = shape_.units;
    const float* const matrix = step.weights + to_state();
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.gru_before_state_gradient(rows(step, block));
    from_deltas(step, 0, 1, matrix + 2 * units * units, step.spare, units, units, false);
    for (int64_t block = 0; block < step.blocks; ++block)
      kernels_.gru_before_reset_gradient(rows(step, block), step.spare + block * units * 16);
    from_deltas(step, 1, 2, matrix, step.carry, units, units, true);
    if (step.x_gradient == nullptr) return;
    from_deltas(step, 0, 3, matrix + 3 * units * units, step.x_gradient, shape_.features, shape_.features, false);
  }

 private:
  int64_t to_h() const { return 2 * shape_.units * (x_rows() + shape_.units); }
  int64_t to_state() const { return 3 * shape_.units * (x_rows() + shape_.units); }
};

/// Gates i f c o and tanh(c'); the state is s, then c.
class Lstm final : public Cell {
 public:
  using Cell::Cell;

  int64_t gate_rows() const override { return 5 * shape_.units; }
  int64_t delta_rows() const override { return 4 * shape_.units; }
  const std::vector<int64_t>& keras_gates() const override {
    static const std::vector<int64_t> gates{0, 1, 2, 3};
    return gates;
  }
  std::vector<CellProduct> products() const override {
    const int64_t units = shape_.units;
    return {{0, x_rows(), 0, 4 * units, false}, {x_rows(), units, 0, 4 * units, true}};
  }

  int64_t packed_floats() const override { return to_state() + 4 * shape_.units * (shape_.units + shape_.features); }

  void pack(const RecurrentWeights& weights, float* packed) const override {
    const int64_t units = shape_.units, features = shape_.features;
    const MatrixRows gates[] = {part(weights.kernel, features, 0), part(weights.bias, 1, 0),
                                part(weights.recurrent, units, 0)};
    kernels_.pack(gates, 3, 4 * units, packed);
    const MatrixRows state = transposed(weights.recurrent, 0, 4), x = transposed(weights.kernel, 0, 4);
    kernels_.pack(&state, 1, units, packed + to_state());
    kernels_.pack(&x, 1, features, packed + to_state() + 4 * units * units);
  }

  void forward(const CellStep& step) const override {
    to_gates(step, x(step), state(step, shape_.units), step.weights, 0, 4);
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.lstm(rows(step, block));
  }

  void backward(const CellGradientStep& step) const override {
    const int64_t units = shape_.units;
    for (int64_t block = 0; block < step.blocks; ++block) kernels_.lstm_gradient(rows(step, block));
    const float* const matrix = step.weights + to_state();
    from_deltas(step, 0, 4, matrix, step.carry, 2 * units, units, false);
    if (step.x_gradient == nullptr) return;
    from_deltas(step, 0, 4, matrix + 4 * units * units, step.x_gradient, shape_.features, shape_.features, false);
  }

 private:
  int64_t to_state() const { return 4 * shape_.units * (x_rows() + shape_.units); }
};

}  // namespace

std::unique_ptr<const Cell> make_cell(const RecurrentShape& shape, Isa isa) {
  if (shape.drops) return make_dropped_cell(shape, isa);
  switch (shape.cell) {
    case RecurrentCell::kGruResetBefore:
      return std::make_unique<GruResetBefore>(shape, isa);
    case RecurrentCell::kLstm:
      return std::make_unique<Lstm>(shape, isa);
    case RecurrentCell::kGruResetAfter:
      break;
  }
  return std::make_unique<GruResetAfter>(shape, isa);
}

}  // namespace linac::kernels
