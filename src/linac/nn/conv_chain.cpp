#include "linac/nn/conv_chain.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "linac/base/error.h"
#include "linac/base/thread_pool.h"
#include "linac/graph/layers.h"
#include "linac/graph/passes/chain_convolutions.h"
#include "linac/kernels/blocked_image.h"
#include "linac/kernels/row_kernels.h"
#include "linac/kernels/upsample_conv.h"

namespace linac::nn {
namespace {

using kernels::BlockedExtent;
using kernels::ConvWorkspace;
using kernels::Extent3;
using kernels::KeptRows;
using kernels::Parallel;
using kernels::ReadRows;
using kernels::RowGradient;
using kernels::RowKernels;
using kernels::RowShape;
using kernels::RowSink;
using kernels::RowTransform;
using kernels::Scratch;
using kernels::Storage;
using kernels::thread_scratch;

constexpr int64_t kLanes = kernels::kBlockEvents;
constexpr int64_t kPairOfLanes = 2 * kLanes;  // two sums a channel and event

/// As many threads as LibTorch is set to, those of the calling thread: kept from pass to pass.
Parallel threads() {
  const int count = at::get_num_threads();
  if (count == 1) return kernels::serially;
  thread_local std::unique_ptr<ThreadPool> pool;
  if (pool == nullptr || pool->threads() != count) pool = std::make_unique<ThreadPool>(count);
  return [threads = pool.get()](int64_t tasks, const std::function<void(int64_t)>& task) {
    threads->run(static_cast<int>(tasks), task);
  };
}

Extent3 cells_of(const graph::Shape& image) {
  return {image[0], image[1], image[2]};
}

/// Images of 16 events each, one a block of the batch.
using Blocks = std::vector<AlignedFloats>;

void grow(Blocks& blocks, int64_t count, int64_t floats) {
  if (static_cast<int64_t>(blocks.size()) < count) blocks.resize(static_cast<size_t>(count));
  for (AlignedFloats& block : blocks) kernels::grown(block, floats);
}

}  // namespace

/// A convolution with what is done to its output; the indices are those of its weights in the chain's, -1 for none.
struct ConvChain::Stage {
  std::unique_ptr<const kernels::BlockedConv3d> conv;
  BlockedExtent in, out;
  std::string layers, method;
  double flop = 0;
  int kernel = -1, bias = -1, gamma = -1, beta = -1, moving_mean = -1;  // the moving variance follows the mean
  float slope = 1;                                                      // of the activation below 0
  double epsilon = 0;
  double rate = 0;  // of dropout
  uint32_t lane = 0;

  bool normalized() const { return moving_mean >= 0; }
  bool dropped() const { return rate > 0; }
  float kept() const { return static_cast<float>(1 / (1 - rate)); }
};

namespace {

/// Things that are lent out, one borrower each, and used again: a step allocates nothing once the first is done.
template <class T>
class Lender : public std::enable_shared_from_this<Lender<T>> {
 public:
  std::shared_ptr<T> borrow() {
    std::unique_ptr<T> thing;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        thing = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (thing == nullptr) thing = std::make_unique<T>();
    // The lender lives as long as something is borrowed.
    return {thing.release(), [lender = this->shared_from_this()](T* used) {
              const std::lock_guard lock(lender->mutex_);
              lender->free_.emplace_back(used);
            }};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

/// Memory that a pass works in and nothing keeps: one for each pass that runs at the moment, whatever its chain.
struct WorkingMemory {
  std::array<Blocks, 2> gradients;  // towards a stage's y and the one before it, in turn
  ConvWorkspace workspace;
};

std::shared_ptr<WorkingMemory> borrow_working_memory() {
  static const auto lender = std::make_shared<Lender<WorkingMemory>>();
  return lender->borrow();
}

}  // namespace

/// Everything that a run keeps for its backward pass.
struct ConvChain::Buffers {
  struct Kept {
    Blocks r;                                  // act(conv + bias)
    std::vector<std::vector<uint16_t>> masks;  // [block][x, y, channel, z]: a bit an event
    std::vector<double> mean, variance;        // of batch normalisation
    std::vector<float> mean_f, scale, shift;   // the same as the rows are transformed
    std::vector<std::vector<double>> sums;     // [block][x, channel, 2, lane]
  };
  Blocks input;
  std::vector<Kept> stages;
};

struct ConvChain::Store : Lender<Buffers> {};

/// Puts the stages together, layer by layer.
struct ConvChain::Assembly {
  Assembly(std::vector<Stage>& stages, graph::Shape input) : stages(stages), shape(std::move(input)) {}

  std::vector<Stage>& stages;
  graph::Shape pool;
  graph::Shape shape;  // what the next layer reads
  int weight = 0;      // the next of the chain's
  // Of a ZeroPadding3D that waits for its convolution.
  std::array<std::array<int64_t, 2>, 3> padding{};
  std::string padding_name;

  void add(const graph::Node& layer, uint32_t index) {
    if (layer.op == "ZeroPadding3D") {
      padding = graph::zero_padding(layer);
      padding_name = layer.name + " + ";
      return;  // `shape` stays that of the image before the padding
    }
    if (layer.op == "Conv3D") {
      add_conv(layer);
    } else if (layer.op == "UpsampleConv3D") {
      add_upsample(layer);
    } else if (layer.op == "AveragePooling3D") {
      const Extent3 size = graph::extent3(layer, "pool_size");
      pool.assign(size.begin(), size.end());
    } else {
      add_to_stage(layer, index);
    }
    shape = layer.output;
  }

 private:
  void add_conv(const graph::Node& layer) {
    if (padding_name.empty()) padding = graph::own_padding(layer);
    kernels::Conv3dShape conv{};
    conv.in = cells_of(shape), conv.in_channels = shape[3];
    conv.kernel = graph::extent3(layer, "kernel_size"), conv.out_channels = layer.output[3];
    for (size_t i = 0; i < 3; ++i) conv.before[i] = padding[i][0], conv.behind[i] = padding[i][1];
    const kernels::ConvMethod method = kernels::choose_method(conv);
    start_stage(layer, kernels::make_conv3d(conv, method), kernels::to_string(method), conv.flop());
    padding = {};
  }

  void add_upsample(const graph::Node& layer) {
    const kernels::UpsampleShape conv{cells_of(shape), shape[3], graph::extent3(layer, "size"),
                                      graph::extent3(layer, "kernel_size"), layer.output[3]};
    start_stage(layer, std::make_unique<kernels::UpsampleConv3d>(conv), "folded",
                graph::layer_kind(layer).flop(layer, shape));
  }

  void start_stage(const graph::Node& layer, std::unique_ptr<const kernels::BlockedConv3d> conv,
                   const std::string& method, double flop) {
    Stage stage;
    stage.conv = std::move(conv);
    stage.in = {cells_of(shape), shape[3]};
    stage.out = {cells_of(layer.output), layer.output[3]};
    stage.layers = padding_name + layer.name;
    stage.method = method;
    stage.flop = flop;
    stage.kernel = weight++;
    if (layer.weights.size() > 1) stage.bias = weight++;
    if (layer.attributes.value("activation", "linear") == "relu") stage.slope = 0;
    stages.push_back(std::move(stage));
    padding_name.clear();
  }

  void add_to_stage(const graph::Node& layer, uint32_t index) {
    Stage& stage = stages.back();
    stage.layers += " + " + layer.name;
    if (layer.op == "LeakyReLU") {
      stage.slope = static_cast<float>(layer.attributes.value("negative_slope", 0.3));
    } else if (layer.op == "Activation") {
      if (layer.attributes.value("activation", "linear") == "relu") stage.slope = 0;
    } else if (layer.op == "BatchNormalization") {
      stage.epsilon = layer.attributes.value("epsilon", 1e-3);
      if (layer.attributes.value("scale", true)) stage.gamma = weight++;
      if (layer.attributes.value("center", true)) stage.beta = weight++;
      stage.moving_mean = weight;
      weight += 2;
    } else if (layer.op == "Dropout") {
      stage.rate = layer.attributes.at("rate").get<double>();
      stage.lane = index;
    } else {
      throw Error(ErrorCode::kInternal, fmt::format("[nn] '{}' cannot be part of a chain", layer.op));
    }
  }
};

ConvChain::ConvChain(const graph::Node& chain, const graph::Shape& input, kernels::Storage storage)
    : input_(input), output_(chain.output), storage_(storage), store_(std::make_shared<Store>()) {
  Assembly assembly(stages_, input);
  const std::vector<graph::Node> layers = graph::chain_layers(chain, input);
  for (size_t i = 0; i < layers.size(); ++i)
    assembly.add(layers[i], chain.attributes.at("layers")[i].at("index").get<uint32_t>());
  pool_ = assembly.pool;
}

ConvChain::~ConvChain() = default;

std::vector<StageReport> ConvChain::report() const {
  std::vector<StageReport> reports;
  for (const Stage& stage : stages_) {
    const Extent3& cells = stage.out.cells;
    reports.push_back({stage.layers, stage.method, stage.flop, {cells[0], cells[1], cells[2], stage.out.channels}});
  }
  return reports;
}

std::shared_ptr<ConvChain::Buffers> ConvChain::borrow(int64_t events, bool training) const {
  std::shared_ptr<Buffers> buffers = store_->borrow();
  const int64_t blocks = (events + kLanes - 1) / kLanes;
  grow(buffers->input, blocks, stages_.front().in.floats());
  buffers->stages.resize(stages_.size());
  for (size_t s = 0; s < stages_.size(); ++s) {
    const Stage& stage = stages_[s];
    Buffers::Kept& kept = buffers->stages[s];
    // Without a backward pass two images in turn are enough: those of the first two stages grow to the largest.
    const int64_t floats = storage_ == Storage::kFloat ? stage.out.floats() : stage.out.floats() / 2;
    grow(training ? kept.r : buffers->stages[std::min<size_t>(s % 2, stages_.size() - 1)].r, blocks, floats);
    if (!training) continue;
    kept.sums.resize(static_cast<size_t>(blocks));
    kept.masks.resize(static_cast<size_t>(blocks));
    for (auto& sums : kept.sums)
      sums.resize(static_cast<size_t>(stage.out.cells[0] * stage.out.channels * kPairOfLanes));
    for (auto& mask : kept.masks) mask.resize(static_cast<size_t>(stage.dropped() ? stage.out.floats() / kLanes : 0));
  }
  return buffers;
}

/// One run of the chain on one batch.
struct ConvChain::Pass {
  const ConvChain& chain;
  std::shared_ptr<Buffers> buffers;
  std::vector<at::Tensor> weights;
  int64_t events;
  bool training;
  RngKey dropout_key;                                        // of node 0
  mutable std::shared_ptr<WorkingMemory> working = nullptr;  // while forward() or backward() runs
  mutable Parallel parallel = {};                            // the same
  const RowKernels& rows = kernels::row_kernels(kernels::best_isa());

  int64_t blocks() const { return (events + kLanes - 1) / kLanes; }
  int64_t events_of(int64_t block) const { return std::min(kLanes, events - block * kLanes); }
  const Stage& stage(size_t s) const { return chain.stages_[s]; }
  Buffers::Kept& kept(size_t s) const { return buffers->stages[s]; }
  const float* weight(int index) const {
    return index < 0 ? nullptr : weights[static_cast<size_t>(index)].const_data_ptr<float>();
  }
  float weight(int index, size_t channel, float otherwise) const {
    return index < 0 ? otherwise : weight(index)[channel];
  }
  /// Where stage s keeps its image; without a backward pass, two take turns.
  KeptRows image(size_t s, int64_t block) const {
    const size_t turn = training ? s : std::min<size_t>(s % 2, chain.stages_.size() - 1);
    return {kept(turn).r[static_cast<size_t>(block)].data(), 0, chain.storage_};
  }
  /// The gradient towards y of stage s.
  KeptRows gradient(size_t s, int64_t block) const {
    return {working->gradients[s % 2][static_cast<size_t>(block)].data(), 0, chain.storage_};
  }

  RowTransform row_transform(size_t s, int64_t block, int64_t x, int64_t y) const {
    RowTransform what;
    const Buffers::Kept& state = kept(s);
    if (stage(s).normalized())
      what.mean = state.mean_f.data(), what.scale = state.scale.data(), what.shift = state.shift.data();
    if (training && stage(s).dropped()) {
      what.mask = state.masks[static_cast<size_t>(block)].data() +
                  (x * stage(s).out.cells[1] + y) * stage(s).out.row() / kLanes;
      what.kept = stage(s).kept();
    }
    return what;
  }

  /// What stage s + 1 reads: the image of stage s, normalised and with dropout.
  ReadRows output(size_t s, int64_t block) const {
    const KeptRows r = image(s, block);
    const BlockedExtent extent = stage(s).out;
    return [=, this](int64_t x, int64_t y, int64_t count, float* scratch) -> const float* {
      const KeptRows from = r.at(x * extent.plane() + y * extent.row());
      const RowTransform what = row_transform(s, block, x, y);
      if (what.mean == nullptr && what.mask == nullptr && from.storage == Storage::kFloat) return from.floats();
      rows.transform({count, extent.channels, extent.cells[2]}, from, what, scratch);
      return scratch;
    };
  }
  ReadRows input(size_t s, int64_t block) const {
    if (s > 0) return output(s - 1, block);
    const float* const x0 = buffers->input[static_cast<size_t>(block)].data();
    const BlockedExtent extent = stage(0).in;
    return [=](int64_t x, int64_t y, int64_t, float*) { return x0 + x * extent.plane() + y * extent.row(); };
  }

  /// The rows' bits of dropout, drawn in Keras's axes: they do not depend on the layout.
  void draw_mask(size_t s, int64_t block, int64_t x, int64_t y, int64_t count) const {
    const BlockedExtent& extent = stage(s).out;
    RngKey key = dropout_key;
    key.lane += stage(s).lane;
    const PhiloxSequence sequence = philox_sequence(key);
    const int64_t row = extent.channels * extent.cells[2], all = extent.floats() / kLanes;
    std::vector<uint16_t> bits(static_cast<size_t>(row));
    uint16_t* mask = kept(s).masks[static_cast<size_t>(block)].data() + (x * extent.cells[1] + y) * row;
    for (int64_t i = 0; i < count; ++i, mask += row) {
      rows.keep_bits(sequence.key.data(), sequence.counter.data(), static_cast<uint64_t>(block * kLanes),
                     static_cast<uint64_t>((all + 7) / 8), (x * extent.cells[1] + y + i) * row, row,
                     static_cast<uint32_t>(std::lround(stage(s).rate * 65536)), bits.data());
      for (int64_t z = 0; z < extent.cells[2]; ++z) {
        for (int64_t c = 0; c < extent.channels; ++c)
          mask[c * extent.cells[2] + z] = bits[static_cast<size_t>(z * extent.channels + c)];
      }
    }
  }

  double* sums(size_t s, int64_t block, int64_t x) const {
    return kept(s).sums[static_cast<size_t>(block)].data() + x * stage(s).out.channels * kPairOfLanes;
  }
  void clear_sums(size_t s) const {
    for (auto& of_block : kept(s).sums) std::fill(of_block.begin(), of_block.end(), 0.0);
  }
  /// [channel][2]: over blocks, planes and the events' lanes, in this order.
  std::vector<std::array<double, 2>> total(size_t s) const {
    const BlockedExtent& extent = stage(s).out;
    std::vector<std::array<double, 2>> totals(static_cast<size_t>(extent.channels));
    for (int64_t block = 0; block < blocks(); ++block) {
      for (int64_t x = 0; x < extent.cells[0]; ++x) {
        for (int64_t i = 0; i < 2 * extent.channels; ++i) {
          const double* const lanes = sums(s, block, x) + i * kLanes;
          for (int64_t event = 0; event < events_of(block); ++event)
            totals[static_cast<size_t>(i / 2)][static_cast<size_t>(i % 2)] += lanes[event];
        }
      }
    }
    return totals;
  }
  double count(size_t s) const { return static_cast<double>(events * kernels::cells(stage(s).out.cells)); }

  void forward_stage(size_t s) const {
    const BlockedExtent extent = stage(s).out;
    const bool statistics = training && stage(s).normalized();
    if (statistics) clear_sums(s);
    for (int64_t block = 0; block < blocks(); ++block) {
      const KeptRows r = image(s, block);
      const RowSink sink{
          [=](int64_t, int64_t, int64_t count) { return thread_scratch(Scratch::kSink, count * extent.row()); },
          [=, this](int64_t x, int64_t y, int64_t count, float* data) {
            rows.activate({count, extent.channels, extent.cells[2]}, data, weight(stage(s).bias), stage(s).slope,
                          statistics ? sums(s, block, x) : nullptr, r.at(x * extent.plane() + y * extent.row()));
            if (training && stage(s).dropped()) draw_mask(s, block, x, y, count);
          }};
      stage(s).conv->forward(input(s, block), weight(stage(s).kernel), sink, working->workspace, parallel);
    }
    if (stage(s).normalized()) set_moments(s);
  }

  double inverse_deviation(size_t s, size_t channel) const {
    return 1 / std::sqrt(kept(s).variance[channel] + stage(s).epsilon);
  }

  void set_moments(size_t s) const {
    const auto channels = static_cast<size_t>(stage(s).out.channels);
    Buffers::Kept& state = kept(s);
    state.mean.resize(channels), state.variance.resize(channels);
    state.mean_f.resize(channels), state.scale.resize(channels), state.shift.resize(channels);
    const auto totals = training ? total(s) : std::vector<std::array<double, 2>>(channels);
    for (size_t c = 0; c < channels; ++c) {
      double mean = totals[c][0] / count(s);
      double variance = std::max(0.0, totals[c][1] / count(s) - mean * mean);
      if (!training) {
        mean = weight(stage(s).moving_mean)[c];
        variance = weight(stage(s).moving_mean + 1)[c];
      }
      state.mean[c] = mean;
      state.variance[c] = variance;
      state.mean_f[c] = static_cast<float>(mean);
      state.scale[c] = static_cast<float>(weight(stage(s).gamma, c, 1) * inverse_deviation(s, c));
      state.shift[c] = weight(stage(s).beta, c, 0);
    }
  }

  at::Tensor forward(const at::Tensor& x_NXYZC) const {
    working = borrow_working_memory();
    parallel = threads();
    const BlockedExtent& in = stage(0).in;
    const float* const plain = x_NXYZC.const_data_ptr<float>();
    for (int64_t block = 0; block < blocks(); ++block) {
      kernels::to_blocked(in, plain + block * in.floats(), events_of(block),
                          buffers->input[static_cast<size_t>(block)].data(), parallel);
    }
    for (size_t s = 0; s < chain.stages_.size(); ++s) forward_stage(s);
    const at::Tensor result = plain_output();
    working = nullptr;
    return result;
  }

  BlockedExtent result_extent() const { return {cells_of(chain.output_), chain.output_[3]}; }

  /// The last stage's image, normalised, with dropout and pooled, as Keras keeps it.
  at::Tensor plain_output() const {
    const size_t last = chain.stages_.size() - 1;
    const BlockedExtent from = stage(last).out, to = result_extent();
    const at::Tensor result = at::empty({events, to.cells[0], to.cells[1], to.cells[2], to.channels}, at::kFloat);
    grow(working->gradients[0], 1, to.floats());
    AlignedFloats& blocked = working->gradients[0].front();
    for (int64_t block = 0; block < blocks(); ++block) {
      const ReadRows read = output(last, block);
      parallel(to.cells[0], [&](int64_t x) {
        float* const scratch = thread_scratch(Scratch::kPlane, from.row());
        float* const plane = blocked.data() + x * to.plane();
        if (!chain.pool_.empty()) std::fill_n(plane, to.plane(), 0.0F);
        for_pooled_rows(x, [&](int64_t from_x, int64_t from_y, int64_t y) {
          const float* const row = read(from_x, from_y, 1, scratch);
          const RowShape shape{1, from.channels, from.cells[2]};
          if (chain.pool_.empty())
            std::copy_n(row, from.row(), plane + y * to.row());
          else
            rows.pool(shape, row, chain.pool_[2], pool_factor(), plane + y * to.row());
        });
      });
      kernels::to_plain(to, blocked.data(), events_of(block), result.mutable_data_ptr<float>() + block * to.floats(),
                        parallel);
    }
    return result;
  }

  float pool_factor() const { return 1.0F / static_cast<float>(chain.pool_[0] * chain.pool_[1] * chain.pool_[2]); }

  /// The rows of the last stage that plane x of the result is made of, in their order: use(x, y, y of the result).
  template <class Use>
  void for_pooled_rows(int64_t x, const Use& use) const {
    const Extent3 size =
        chain.pool_.empty() ? Extent3{1, 1, 1} : Extent3{chain.pool_[0], chain.pool_[1], chain.pool_[2]};
    const BlockedExtent to = result_extent();
    for (int64_t dx = 0; dx < size[0]; ++dx) {
      for (int64_t y = 0; y < to.cells[1] * size[1]; ++y) use(x * size[0] + dx, y, y / size[1]);
    }
  }

  /// Masks as tensors of multipliers, for tests.
  at::Tensor mask_tensor(size_t s) const {
    const BlockedExtent& extent = stage(s).out;
    const at::Tensor mask =
        at::empty({events, extent.cells[0], extent.cells[1], extent.cells[2], extent.channels}, at::kFloat);
    float* value = mask.mutable_data_ptr<float>();
    for (int64_t event = 0; event < events; ++event) {
      const auto& bits = kept(s).masks[static_cast<size_t>(event / kLanes)];
      for (int64_t xy = 0; xy < extent.cells[0] * extent.cells[1]; ++xy) {
        for (int64_t z = 0; z < extent.cells[2]; ++z) {
          for (int64_t c = 0; c < extent.channels; ++c) {
            const auto cell = static_cast<size_t>((xy * extent.channels + c) * extent.cells[2] + z);
            *value++ = (bits[cell] >> (event % kLanes) & 1) != 0 ? stage(s).kept() : 0.0F;
          }
        }
      }
    }
    return mask;
  }

  // The way back. gradients[s % 2] holds the gradient towards the y of stage s (after normalisation and dropout, which
  // it has then passed), together with the sums that the normalisation's own gradient needs.

  /// What is done with rows of the gradient towards y of stage s when they are complete.
  void finish_gradient_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const {
    const BlockedExtent& extent = stage(s).out;
    const int64_t at = x * extent.plane() + y * extent.row();
    rows.through_dropout({count, extent.channels, extent.cells[2]}, data, row_transform(s, block, x, y),
                         image(s, block).at(at), stage(s).normalized() ? sums(s, block, x) : nullptr,
                         gradient(s, block).at(at));
  }

  void start_backward(const at::Tensor& gradient_NXYZC) const {
    const size_t last = chain.stages_.size() - 1;
    const BlockedExtent to = stage(last).out, from = result_extent();
    Blocks& targets = working->gradients[last % 2];
    grow(targets, blocks(), to.floats());
    clear_sums(last);
    grow(working->gradients[(last + 1) % 2], 1, from.floats());
    AlignedFloats& blocked = working->gradients[(last + 1) % 2].front();
    for (int64_t block = 0; block < blocks(); ++block) {
      kernels::to_blocked(from, gradient_NXYZC.const_data_ptr<float>() + block * from.floats(), events_of(block),
                          blocked.data(), parallel);
      if (!chain.pool_.empty()) {  // cells that no pool covers
        AlignedFloats& target = targets[static_cast<size_t>(block)];
        std::fill_n(target.begin(), to.floats(), 0.0F);
      }
      parallel(from.cells[0], [&](int64_t x) {
        const float* const plane = blocked.data() + x * from.plane();
        for_pooled_rows(x, [&](int64_t to_x, int64_t to_y, int64_t y) {
          const float* row = plane + y * from.row();
          if (!chain.pool_.empty()) {
            float* const spread = thread_scratch(Scratch::kSink, to.row());
            rows.unpool({1, to.channels, to.cells[2]}, row, chain.pool_[2], pool_factor(), spread);
            row = spread;
          }
          finish_gradient_rows(last, block, to_x, to_y, 1, row);
        });
      });
    }
  }

  /// Gradients of all weights that are wanted, and of the image if it is.
  std::vector<at::Tensor> backward(const at::Tensor& gradient_NXYZC, bool image_wanted,
                                   const std::vector<bool>& weights_wanted) const {
    std::vector<at::Tensor> results(weights.size() + 1);
    const auto wanted = [&](int index) { return index >= 0 && weights_wanted[static_cast<size_t>(index)]; };
    working = borrow_working_memory();
    parallel = threads();
    start_backward(gradient_NXYZC);
    for (size_t s = chain.stages_.size(); s-- > 0;) {
      const Stage& here = stage(s);
      StageFactors factors = normalization_factors(s);
      if (wanted(here.gamma)) results[static_cast<size_t>(here.gamma) + 1] = factors.gamma;
      if (wanted(here.beta)) results[static_cast<size_t>(here.beta) + 1] = factors.beta;
      const bool data_wanted = s > 0 || image_wanted;
      at::Tensor kernel_gradient, bias_gradient;
      if (wanted(here.kernel)) kernel_gradient = at::zeros_like(weights[static_cast<size_t>(here.kernel)]);
      if (wanted(here.bias)) bias_gradient = at::zeros_like(weights[static_cast<size_t>(here.bias)]);
      if (data_wanted) grow(working->gradients[(s + 1) % 2], blocks(), here.in.floats());
      if (s > 0 && stage(s - 1).normalized()) clear_sums(s - 1);
      for (int64_t block = 0; block < blocks(); ++block)
        backward_block(s, block, factors, data_wanted, kernel_gradient, bias_gradient);
      if (here.kernel >= 0) results[static_cast<size_t>(here.kernel) + 1] = kernel_gradient;
      if (here.bias >= 0) results[static_cast<size_t>(here.bias) + 1] = bias_gradient;
    }
    if (image_wanted) results[0] = plain_input_gradient();
    working = nullptr;
    return results;
  }

  struct StageFactors {
    std::vector<float> of_y, of_r, offset;
    at::Tensor gamma, beta;
  };

  /// Through batch normalisation, with the sums S of dy and T of dy (r - mean) over M cells:
  /// dr = gamma / deviation * (dy - S / M - (r - mean) / deviation^2 * T / M).
  StageFactors normalization_factors(size_t s) const {
    StageFactors factors;
    if (!stage(s).normalized()) return factors;
    const auto totals = total(s);
    factors.gamma = at::empty({stage(s).out.channels}, at::kFloat);
    factors.beta = at::empty({stage(s).out.channels}, at::kFloat);
    for (size_t c = 0; c < totals.size(); ++c) {
      const double inverse = inverse_deviation(s, c), scale = weight(stage(s).gamma, c, 1) * inverse;
      factors.of_y.push_back(static_cast<float>(scale));
      factors.of_r.push_back(static_cast<float>(-scale * inverse * inverse * totals[c][1] / count(s)));
      factors.offset.push_back(static_cast<float>(-scale * totals[c][0] / count(s)));
      factors.gamma.mutable_data_ptr<float>()[c] = static_cast<float>(totals[c][1] * inverse);
      factors.beta.mutable_data_ptr<float>()[c] = static_cast<float>(totals[c][0]);
    }
    return factors;
  }

  void backward_block(size_t s, int64_t block, const StageFactors& factors, bool data_wanted,
                      const at::Tensor& kernel_gradient, const at::Tensor& bias_gradient) const {
    const BlockedExtent extent = stage(s).out, before = stage(s).in;
    const KeptRows r = image(s, block), dy = gradient(s, block);
    RowGradient what;
    what.slope = stage(s).slope;
    if (stage(s).normalized()) {
      what.y_factor = factors.of_y.data(), what.r_factor = factors.of_r.data();
      what.offset = factors.offset.data(), what.mean = kept(s).mean_f.data();
    }
    const ReadRows out_gradient = [=, this](int64_t x, int64_t y, int64_t count, float* scratch) -> const float* {
      const int64_t at = x * extent.plane() + y * extent.row();
      if (what.mean == nullptr && what.slope == 1 && dy.storage == Storage::kFloat) return dy.at(at).floats();
      rows.gradient({count, extent.channels, extent.cells[2]}, r.at(at), dy.at(at), what, scratch);
      return scratch;
    };
    kernels::ConvGradients gradients;
    if (data_wanted) {
      float* const target = working->gradients[(s + 1) % 2][static_cast<size_t>(block)].data();
      gradients.in.place = [=](int64_t x, int64_t y, int64_t) {
        return target + x * before.plane() + y * before.row();
      };
      if (s > 0) {
        gradients.in.place = [=](int64_t, int64_t, int64_t count) {
          return thread_scratch(Scratch::kSink, count * before.row());
        };
        gradients.in.finish = [=, this](int64_t x, int64_t y, int64_t count, float* data) {
          finish_gradient_rows(s - 1, block, x, y, count, data);
        };
      }
    }
    const bool weights_wanted = kernel_gradient.defined() || bias_gradient.defined();
    const at::Tensor kernel =
        weights_wanted ? at::empty_like(weights[static_cast<size_t>(stage(s).kernel)]) : at::Tensor();
    const at::Tensor bias = weights_wanted ? at::empty({extent.channels}, at::kFloat) : at::Tensor();
    if (weights_wanted) {
      gradients.weights = kernel.mutable_data_ptr<float>();
      gradients.bias = bias.mutable_data_ptr<float>();
    }
    if (!weights_wanted && !data_wanted) return;
    stage(s).conv->backward(input(s, block), out_gradient, weight(stage(s).kernel), events_of(block), gradients,
                            working->workspace, parallel);
    if (kernel_gradient.defined()) kernel_gradient.add_(kernel);
    if (bias_gradient.defined()) bias_gradient.add_(bias);
  }

  at::Tensor plain_input_gradient() const {
    const BlockedExtent& in = stage(0).in;
    const at::Tensor result = at::empty({events, in.cells[0], in.cells[1], in.cells[2], in.channels}, at::kFloat);
    for (int64_t block = 0; block < blocks(); ++block) {
      kernels::to_plain(in, working->gradients[1][static_cast<size_t>(block)].data(), events_of(block),
                        result.mutable_data_ptr<float>() + block * in.floats(), parallel);
    }
    return result;
  }
};

/// The chain as one node of autograd: inputs are the image and the weights.
struct ChainBackward : public torch::autograd::Node {
  std::shared_ptr<ConvChain::Pass> pass;

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    LINAC_CHECK(pass != nullptr);  // autograd asks no more once it has released the node
    const at::NoGradGuard no_gradient;
    std::vector<bool> wanted;
    for (size_t i = 0; i < pass->weights.size(); ++i) wanted.push_back(task_should_compute_output(i + 1));
    auto results =
        pass->backward(gradients[0].permute({0, 2, 3, 4, 1}).contiguous(), task_should_compute_output(0), wanted);
    if (results[0].defined()) results[0] = results[0].permute({0, 4, 1, 2, 3});
    return results;
  }

  /// Autograd's word that this was the last time: the buffers are free again.
  void release_variables() override { pass = nullptr; }
};

at::Tensor ConvChain::run(const LayerCall& call) const {
  const at::Tensor& x = call.inputs[0];
  LINAC_CHECK(x.scalar_type() == at::kFloat && x.device().is_cpu() && x.size(1) == input_[3]);
  const bool training = call.options.mode == Mode::kTraining;
  RngKey key = call.options.dropout_key;
  std::vector<at::Tensor> weights;
  for (const at::Tensor& weight : call.weights) weights.push_back(weight.detach().contiguous());
  const auto pass =
      std::make_shared<Pass>(Pass{*this, borrow(x.size(0), training), std::move(weights), x.size(0), training, key});
  at::Tensor result;
  {
    const at::NoGradGuard no_gradient;
    result = pass->forward(x.permute({0, 2, 3, 4, 1}).contiguous()).permute({0, 4, 1, 2, 3});
  }
  if (!training) return result;
  size_t next = 0;
  for (size_t s = 0; s < stages_.size(); ++s) {
    if (stages_[s].normalized() && !call.statistics.empty()) {
      const auto& state = pass->kept(s);
      std::copy(state.mean.begin(), state.mean.end(), call.statistics[next].begin());
      std::copy(state.variance.begin(), state.variance.end(), call.statistics[next + 1].begin());
      next += 2;
    }
    if (stages_[s].dropped() && call.options.dropout_masks != nullptr)
      call.options.dropout_masks->push_back(pass->mask_tensor(s));
  }
  torch::autograd::variable_list inputs{x};
  inputs.insert(inputs.end(), call.weights.begin(), call.weights.end());
  if (at::GradMode::is_enabled() && torch::autograd::any_variable_requires_grad(inputs)) {
    const auto node = std::make_shared<ChainBackward>();
    node->pass = pass;
    node->set_next_edges(torch::autograd::collect_next_edges(inputs));
    torch::autograd::set_history(result, node);
  }
  return result;
}

}  // namespace linac::nn
