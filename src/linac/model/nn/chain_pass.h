#pragma once
// One run of a ChainPlan on one batch, forward and back (model/nn/conv_chain.h says how the work is cut). A pass may be
// used by one thread at a time; several passes of a plan run side by side. Uses the number of threads LibTorch is set
// to, and no bit depends on it.

#include <ATen/ATen.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/rng.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/nn/chain_plan.h"

namespace linac::nn {

/// Images of 16 events each, one a block of the batch.
using Blocks = std::vector<AlignedFloats>;
/// At least so many blocks, each of at least so many floats.
void grow(Blocks& blocks, int64_t count, int64_t floats);

/// Memory that a pass works in and nothing keeps: one for each pass that runs at the moment, whatever its chain.
struct WorkingMemory {
  static std::shared_ptr<WorkingMemory> borrow();

  std::array<Blocks, 2> gradients;  // towards a stage's y and the one before it, in turn
  Blocks frame;                     // ChainPass::frame(), where the former are kept in another form
  AlignedFloats largest;            // of a block's windows, plane by plane
  kernels::ConvWorkspace workspace;
};

/// Everything that a run keeps for its backward pass.
struct ChainBuffers {
  struct Kept {
    Blocks r;                                  // act(conv + bias), the largest of each window
    std::vector<std::vector<uint16_t>> masks;  // [block][x, y, channel, z]: a bit an event
    std::vector<std::vector<uint16_t>> won;    // the same of `made`: the largest cell of each window
    std::vector<double> mean, variance;        // of batch normalisation
    std::vector<float> mean_f, scale, shift;   // the same as the rows are transformed
    std::vector<std::vector<double>> sums;     // [block][x, channel, 2, lane]
  };
  Blocks input;
  std::vector<Kept> stages;
};

class ChainPass {
 public:
  /// `buffers` are nobody else's. `weights`: the chain's, dense. `dropout_key`: of node 0. `parts`: of a divided image,
  /// whose passes are collective.
  ChainPass(std::shared_ptr<const ChainPlan> plan, std::shared_ptr<ChainBuffers> buffers,
            std::vector<at::Tensor> weights, int64_t events, bool training, const RngKey& dropout_key,
            graph::PartLink* parts = nullptr);

  /// Images with Keras's axes, in and out.
  at::Tensor forward(const at::Tensor& x_NXYZC);
  /// Told of a weight's gradient when it is final, stage by stage from the last one.
  using WeightReady = std::function<void(size_t weight, const at::Tensor& gradient)>;
  /// Gradients of the image and of all weights, undefined for those that are not wanted. After forward() in training.
  std::vector<at::Tensor> backward(const at::Tensor& gradient_NXYZC, bool image_wanted,
                                   const std::vector<bool>& weights_wanted, const WeightReady& ready);

  /// After forward(): what stage s keeps, and its dropout mask as a tensor of multipliers, for tests.
  ChainBuffers::Kept& kept(size_t s) const { return buffers_->stages[s]; }
  at::Tensor mask_tensor(size_t s) const;

 private:
  int64_t blocks() const { return (events_ + kernels::kBlockEvents - 1) / kernels::kBlockEvents; }
  int64_t events_of(int64_t block) const {
    return std::min(kernels::kBlockEvents, events_ - block * kernels::kBlockEvents);
  }
  const Stage& stage(size_t s) const { return plan_->stages[s]; }
  const float* weight(int index) const;
  float weight(int index, size_t channel, float otherwise) const;
  /// Where stage s keeps its image; without a backward pass, two take turns.
  kernels::KeptRows image(size_t s, int64_t block) const;
  /// The gradient towards y of stage s.
  kernels::KeptRows gradient(size_t s, int64_t block) const;

  kernels::RowTransform row_transform(size_t s, int64_t block, int64_t x, int64_t y) const;

  /// What stage s + 1 reads: the image of stage s, normalised and with dropout.
  kernels::ReadRows output(size_t s, int64_t block) const;
  kernels::ReadRows input(size_t s, int64_t block) const;

  /// The rows' bits of dropout, drawn in Keras's axes: they do not depend on the layout.
  void draw_mask(size_t s, int64_t block, int64_t x, int64_t y, int64_t count) const;

  double* sums(size_t s, int64_t block, int64_t x) const;
  void clear_sums(size_t s) const;
  /// [channel][2]: over blocks, planes and the events' lanes, in this order.
  std::vector<std::array<double, 2>> total(size_t s) const;
  /// total() of all parts of the image, and of how many cells.
  std::vector<std::array<double, 2>> total_of_all(size_t s, const std::vector<std::array<double, 2>>& own,
                                                  double& cells) const;

  void forward_stage(size_t s) const;
  /// Bias, activation and what is kept of rows that a convolution has written and a pool has joined.
  void finish_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const;
  /// The largest of each window that rows of a convolution's plane belong to, in `largest`.
  void pool_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const;
  /// The same of the planes, when all are there; then finish_rows.
  void pool_planes(size_t s, int64_t block) const;
  /// Null in inference.
  uint16_t* won(size_t s, int64_t block, int64_t x, int64_t y) const;

  double inverse_deviation(size_t s, size_t channel) const;

  void set_moments(size_t s) const;

  /// The last stage's image, normalised, with dropout and pooled, as Keras keeps it.
  at::Tensor plain_output() const;

  float pool_factor() const { return 1.0F / static_cast<float>(kernels::cells(plan_->pool)); }

  /// The rows of the last stage that plane x of the result is made of, in their order: use(x, y, y of the result).
  template <class Use>
  void for_pooled_rows(int64_t x, const Use& use) const {
    const kernels::Extent3& size = plan_->pool;
    const kernels::BlockedExtent to = plan_->output;
    for (int64_t dx = 0; dx < size[0]; ++dx) {
      for (int64_t y = 0; y < to.cells[1] * size[1]; ++y) use(x * size[0] + dx, y, y / size[1]);
    }
  }

  // The way back. gradients[s % 2] holds the gradient towards the y of stage s (after normalisation and dropout, which
  // it has then passed), together with the sums that the normalisation's own gradient needs.

  /// What is done with rows of the gradient towards y of stage s when they are complete.
  void finish_gradient_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const;

  void start_backward(const at::Tensor& gradient_NXYZC) const;
  /// The gradient towards the y of stage s with the rows of others, as a convolution has written it.
  float* frame(size_t s, int64_t block) const;
  /// When all rows are there: those of others go to them, and theirs come.
  void finish_frame(size_t s) const;

  struct StageFactors {
    std::vector<float> of_y, of_r, offset;
    at::Tensor gamma, beta;
  };

  /// Through batch normalisation, with the sums S of dy and T of dy (r - mean) over M cells:
  /// dr = gamma / deviation * (dy - S / M - (r - mean) / deviation^2 * T / M). Of a frozen one the first term alone.
  StageFactors normalization_factors(size_t s) const;

  /// The gradient towards what the convolution wrote.
  kernels::ReadRows conv_gradient(size_t s, int64_t block, const StageFactors& factors) const;

  void backward_block(size_t s, int64_t block, const StageFactors& factors, bool data_wanted,
                      const at::Tensor& kernel_gradient, const at::Tensor& bias_gradient) const;

  at::Tensor plain_input_gradient() const;

  std::shared_ptr<const ChainPlan> plan_;
  std::shared_ptr<ChainBuffers> buffers_;
  std::vector<at::Tensor> weights_;
  int64_t events_;
  bool training_;
  RngKey dropout_key_;
  std::shared_ptr<WorkingMemory> working_;  // while forward() or backward() runs
  kernels::Parallel parallel_;              // the same
  graph::PartLink* parts_;
  const kernels::RowKernels& rows_;
};

}  // namespace linac::nn
