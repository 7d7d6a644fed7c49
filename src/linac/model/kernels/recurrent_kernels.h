#pragma once
// The inner loops of recurrent layers, on rows [row][16]: 16 lanes, each with an event of its own. One table of
// functions an instruction set; kAvx2 and kAvx512 give the same bits. Pure functions, thread-safe. See recurrent.h.

#include <cstdint>

#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/recurrent_activation.h"

namespace linac::kernels {

/// Rows of one or two blocks of lanes: [count][16] at `at` and, `block` floats further on, those of the next block.
struct LaneRows {
  const float* at = nullptr;
  int64_t count = 0, block = 0;
};

/// Rows of a matrix in memory: element (r, c) is at[r * row_step + c * column_step].
struct MatrixRows {
  const float* at = nullptr;
  int64_t rows = 0, row_step = 0, column_step = 0;
};

/// out[c] = sum over the rows r of in[0], then of in[1], of in[r] * matrix[r][c]; or added to what is there.
struct Projection {
  LaneRows in[2];
  const float* matrix = nullptr;  // packed
  float* out = nullptr;           // [columns][16] a block
  int64_t out_block = 0, columns = 0, blocks = 0;
  bool added = false;
  const float* ahead = nullptr;  // memory that will be read soon: some of it is called into the caches on the way
};

/// sums[r][c] += the sum over steps, blocks and lanes of rows[r] * deltas[c]; the sum of a call is added as a whole.
struct OuterProduct {
  LaneRows rows;
  int64_t rows_step = 0;          // floats from a step to the next, of the rows
  const float* deltas = nullptr;  // [step][block][lane][stride]; readable up to a multiple of 16 columns
  int64_t deltas_stride = 0, columns = 0;
  float* sums = nullptr;  // [row][stride], the stride a multiple of 16 that holds the columns
  int64_t sums_stride = 0;
  int64_t steps = 0, blocks = 0;
};

/// One block's rows at one step. For GRUs the gates' rows are hh, z, r, each [units][16], and a fourth: s Uh + b'
/// (reset after) or r * s (reset before). For LSTMs i, f, c, o (after their activations) and tanh(c'); the state is s,
/// c.
struct CellRows {
  int64_t units;
  float* gates;
  const float* state;
  float* next_state;
  RecurrentActivations activations;
};

/// The same backward: `carry` [units][16] (LSTM: of s, then of c) is the gradient to the state after the step and
/// becomes the part of the one before it that does not pass through a matrix (LSTM: that of c alone). `deltas`:
/// gradients to what goes into the gates' activations, in the gates' order; with the reset after, the fourth is the one
/// to s Uh + b'.
struct CellGradientRows {
  int64_t units;
  const float *gates, *state;
  float *carry, *deltas;
  RecurrentActivations activations;
};

struct RecurrentKernels {
  /// blocked[i][r] = rows[r][i], i < count, for 16 rows.
  void (*gather)(const float* const* rows, int64_t count, float* blocked);
  /// The rows of `parts`, one part after the other, as project() reads them.
  void (*pack)(const MatrixRows* parts, int64_t part_count, int64_t columns, float* packed);
  void (*project)(const Projection& what);
  void (*add_outer)(const OuterProduct& what);

  void (*gru_after)(const CellRows& rows);         // from the sums before the activations to the new state
  void (*gru_before_gates)(const CellRows& rows);  // z, r and r * s
  void (*gru_before_state)(const CellRows& rows);  // hh and the new state
  void (*lstm)(const CellRows& rows);
  void (*gru_after_gradient)(const CellGradientRows& rows);
  void (*gru_before_state_gradient)(const CellGradientRows& rows);
  /// `reset_gradient` [units][16]: the gradient to r * s.
  void (*gru_before_reset_gradient)(const CellGradientRows& rows, const float* reset_gradient);
  void (*lstm_gradient)(const CellGradientRows& rows);

  /// out = a * b, or that added to it; `count` a multiple of 16. `out` may be `a`.
  void (*multiply)(const float* a, const float* b, int64_t count, float* out, bool added);

  /// Floats rounded to bfloat16 (to nearest, ties to even; written past the caches, to a multiple of 32 bytes) and
  /// back, `count` a multiple of 16.
  void (*narrow)(const float* floats, int64_t count, uint16_t* halves);
  void (*widen)(const uint16_t* halves, int64_t count, float* floats);

  /// y = sigmoid(x), y = tanh(x), `count` a multiple of 16. Largest absolute errors: 1e-7 and 2e-7.
  void (*sigmoid)(const float* x, int64_t count, float* y);
  void (*tanh)(const float* x, int64_t count, float* y);
};

const RecurrentKernels& recurrent_kernels(Isa isa);

}  // namespace linac::kernels
