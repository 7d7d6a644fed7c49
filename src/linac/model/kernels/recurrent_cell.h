#pragma once
// What a kind of recurrent cell computes in one step of a group of lanes, put together from recurrent_kernels.h: the
// layout of what it keeps, the matrices it packs, and the products that its weights' gradients consist of. Immutable,
// thread-safe. Used by recurrent.cpp alone.
//
// A step's memory is a slot: for each block of lanes the rows [x of the step, 1 for the bias], [state before the step,
// 1 for the bias if the reset is after], [gates], each row [16]. A step writes its state into the next slot. Where
// gates drop, [x, 1, state, 1 as above] times the multipliers of each gate follow, in Keras's order.

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "linac/model/kernels/recurrent.h"
#include "linac/model/kernels/recurrent_kernels.h"

namespace linac::kernels {

/// Rows of one step of a group: blocks of lanes `block` floats apart.
struct CellStep {
  int64_t blocks, block;
  float *slot, *next_slot;
  const float* weights;      // as packed
  const float* multipliers;  // of the lanes' events, [block][gate][features + units][16]; null where nothing drops
};

struct CellGradientStep {
  int64_t blocks, block;
  const float *slot, *next_slot;  // the next one to come: the step before
  const float* weights;
  float *carry, *deltas, *spare;  // carry_rows, delta_rows, spare_rows of 16 a block, a block directly after the other
  float* x_gradient;              // features rows; null: not wanted
  const float* multipliers;       // as above
};

/// Weights that meet the same rows: `rows` rows of the slot from `first_row` on, times columns of the deltas. The
/// products go to the kernel or the recurrent kernel, that of a last row of ones to a row of the bias.
struct CellProduct {
  int64_t first_row, rows, first_column, columns;
  bool recurrent;
};

class Cell {
 public:
  Cell(const RecurrentShape& shape, Isa isa);
  virtual ~Cell() = default;

  int64_t x_rows() const { return shape_.features + (shape_.has_bias ? 1 : 0); }
  int64_t gates_row() const { return x_rows() + state_rows(); }  // the first
  /// Rows [x, 1, state, 1] of what a gate reads where it drops, and the first of a gate's.
  int64_t input_rows() const { return x_rows() + shape_.units + (has_state_bias() ? 1 : 0); }
  int64_t input_row(int64_t gate) const { return gates_row() + gate_rows() + gate * input_rows(); }
  int64_t slot_rows() const { return input_row(shape_.drops ? shape_.gates() : 0); }
  int64_t spare_rows() const { return shape_.drops ? std::max(shape_.units, shape_.features) : shape_.units; }
  /// Of the state, and of the gradient to it.
  int64_t carry_rows() const { return shape_.state_floats(); }
  virtual bool has_state_bias() const { return false; }
  virtual int64_t gate_rows() const { return 4 * shape_.units; }
  virtual int64_t delta_rows() const = 0;
  /// Keras's gate of each gate among the deltas.
  virtual const std::vector<int64_t>& keras_gates() const = 0;
  virtual std::vector<CellProduct> products() const = 0;

  virtual int64_t packed_floats() const = 0;
  virtual void pack(const RecurrentWeights& weights, float* packed) const = 0;
  virtual void forward(const CellStep& step) const = 0;
  /// The carry comes as the gradient to the state after the step and leaves as that to the one before it.
  virtual void backward(const CellGradientStep& step) const = 0;

 protected:
  int64_t state_rows() const { return carry_rows() + (has_state_bias() ? 1 : 0); }
  LaneRows x(const CellStep& step) const { return {step.slot, x_rows(), step.block}; }
  LaneRows state(const CellStep& step, int64_t rows) const { return {step.slot + x_rows() * 16, rows, step.block}; }
  CellRows rows(const CellStep& step, int64_t block) const;
  CellGradientRows rows(const CellGradientStep& step, int64_t block) const;
  /// Columns of a matrix [rows][gates * units] (null: no rows), and its columns as rows.
  MatrixRows part(const float* matrix, int64_t rows, int64_t first_gate) const;
  MatrixRows transposed(const float* matrix, int64_t first_gate, int64_t gates) const;
  /// out rows of the gates = in[0] and in[1] times a packed matrix.
  void to_gates(const CellStep& step, const LaneRows& first, const LaneRows& second, const float* matrix, int64_t gate,
                int64_t gates) const;
  /// out [columns][16] (+)= deltas of the gates times a packed matrix.
  void from_deltas(const CellGradientStep& step, int64_t gate, int64_t gates, const float* matrix, float* out,
                   int64_t out_rows, int64_t columns, bool added) const;

  const RecurrentShape shape_;
  const RecurrentKernels& kernels_;
};

std::unique_ptr<const Cell> make_cell(const RecurrentShape& shape, Isa isa);
/// Of a shape that drops.
std::unique_ptr<const Cell> make_dropped_cell(const RecurrentShape& shape, Isa isa);

}  // namespace linac::kernels
