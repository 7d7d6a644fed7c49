#include "linac/model/nn/chain_pass.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/lender.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {
namespace {

using kernels::BlockedExtent;
using kernels::Extent3;
using kernels::KeptRows;
using kernels::Parallel;
using kernels::ReadRows;
using kernels::RowGradient;
using kernels::RowShape;
using kernels::RowSink;
using kernels::RowTransform;
using kernels::Scratch;
using kernels::Storage;
using kernels::thread_scratch;

constexpr int64_t kLanes = kernels::kBlockEvents;
constexpr int64_t kPairOfLanes = 2 * kLanes;  // two sums a channel and event

void grow(Blocks& blocks, int64_t count, int64_t floats) {
  if (static_cast<int64_t>(blocks.size()) < count) blocks.resize(static_cast<size_t>(count));
  for (AlignedFloats& block : blocks) kernels::grown(block, floats);
}

std::shared_ptr<WorkingMemory> borrow_working_memory() {
  static const auto lender = std::make_shared<Lender<WorkingMemory>>();
  return lender->borrow();
}

void make_room(const ChainPlan& plan, int64_t events, bool training, ChainBuffers* buffers) {
  const int64_t blocks = (events + kLanes - 1) / kLanes;
  grow(buffers->input, blocks, plan.stages.front().in.floats());
  buffers->stages.resize(plan.stages.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    ChainBuffers::Kept& kept = buffers->stages[s];
    // Without a backward pass two images in turn are enough: those of the first two stages grow to the largest.
    const int64_t floats = plan.storage == Storage::kFloat ? stage.out.floats() : stage.out.floats() / 2;
    grow(training ? kept.r : buffers->stages[std::min<size_t>(s % 2, plan.stages.size() - 1)].r, blocks, floats);
    if (!training) continue;
    kept.sums.resize(static_cast<size_t>(blocks));
    kept.masks.resize(static_cast<size_t>(blocks));
    for (auto& sums : kept.sums)
      sums.resize(static_cast<size_t>(stage.out.cells[0] * stage.out.channels * kPairOfLanes));
    kept.won.resize(static_cast<size_t>(blocks));
    for (auto& won : kept.won) won.resize(static_cast<size_t>(stage.pooled() ? stage.made.floats() / kLanes : 0));
    for (auto& mask : kept.masks) mask.resize(static_cast<size_t>(stage.dropped() ? stage.out.floats() / kLanes : 0));
  }
}

}  // namespace

ChainPass::ChainPass(std::shared_ptr<const ChainPlan> plan, std::shared_ptr<ChainBuffers> buffers,
                     std::vector<at::Tensor> weights, int64_t events, bool training, const RngKey& dropout_key)
    : plan_(std::move(plan)),
      buffers_(std::move(buffers)),
      weights_(std::move(weights)),
      events_(events),
      training_(training),
      dropout_key_(dropout_key),
      rows_(kernels::row_kernels(kernels::best_isa())) {
  make_room(*plan_, events, training, buffers_.get());
}

const float* ChainPass::weight(int index) const {
  return index < 0 ? nullptr : weights_[static_cast<size_t>(index)].const_data_ptr<float>();
}

float ChainPass::weight(int index, size_t channel, float otherwise) const {
  return index < 0 ? otherwise : weight(index)[channel];
}

KeptRows ChainPass::image(size_t s, int64_t block) const {
  const size_t turn = training_ ? s : std::min<size_t>(s % 2, plan_->stages.size() - 1);
  return {kept(turn).r[static_cast<size_t>(block)].data(), 0, plan_->storage};
}

KeptRows ChainPass::gradient(size_t s, int64_t block) const {
  return {working_->gradients[s % 2][static_cast<size_t>(block)].data(), 0, plan_->storage};
}

RowTransform ChainPass::row_transform(size_t s, int64_t block, int64_t x, int64_t y) const {
  RowTransform what;
  const ChainBuffers::Kept& state = kept(s);
  if (stage(s).normalized())
    what.mean = state.mean_f.data(), what.scale = state.scale.data(), what.shift = state.shift.data();
  if (training_ && stage(s).dropped()) {
    what.mask =
        state.masks[static_cast<size_t>(block)].data() + (x * stage(s).out.cells[1] + y) * stage(s).out.row() / kLanes;
    what.kept = stage(s).kept();
  }
  return what;
}

ReadRows ChainPass::output(size_t s, int64_t block) const {
  const KeptRows r = image(s, block);
  const BlockedExtent extent = stage(s).out;
  return [=, this](int64_t x, int64_t y, int64_t count, float* scratch) -> const float* {
    const KeptRows from = r.at(x * extent.plane() + y * extent.row());
    const RowTransform what = row_transform(s, block, x, y);
    if (what.mean == nullptr && what.mask == nullptr && from.storage == Storage::kFloat) return from.floats();
    rows_.transform({count, extent.channels, extent.cells[2]}, from, what, scratch);
    return scratch;
  };
}

ReadRows ChainPass::input(size_t s, int64_t block) const {
  if (s > 0) return output(s - 1, block);
  const float* const x0 = buffers_->input[static_cast<size_t>(block)].data();
  const BlockedExtent extent = stage(0).in;
  return [=](int64_t x, int64_t y, int64_t, float*) { return x0 + x * extent.plane() + y * extent.row(); };
}

void ChainPass::draw_mask(size_t s, int64_t block, int64_t x, int64_t y, int64_t count) const {
  const BlockedExtent& extent = stage(s).out;
  RngKey key = dropout_key_;
  key.lane += stage(s).lane;
  const PhiloxSequence sequence = philox_sequence(key);
  const int64_t row = extent.channels * extent.cells[2], all = extent.floats() / kLanes;
  std::vector<uint16_t> bits(static_cast<size_t>(row));
  uint16_t* mask = kept(s).masks[static_cast<size_t>(block)].data() + (x * extent.cells[1] + y) * row;
  for (int64_t i = 0; i < count; ++i, mask += row) {
    rows_.keep_bits(sequence.key.data(), sequence.counter.data(), static_cast<uint64_t>(block * kLanes),
                    static_cast<uint64_t>((all + 7) / 8), (x * extent.cells[1] + y + i) * row, row,
                    static_cast<uint32_t>(std::lround(stage(s).rate * 65536)), bits.data());
    for (int64_t z = 0; z < extent.cells[2]; ++z) {
      for (int64_t c = 0; c < extent.channels; ++c)
        mask[c * extent.cells[2] + z] = bits[static_cast<size_t>(z * extent.channels + c)];
    }
  }
}

double* ChainPass::sums(size_t s, int64_t block, int64_t x) const {
  return kept(s).sums[static_cast<size_t>(block)].data() + x * stage(s).out.channels * kPairOfLanes;
}

void ChainPass::clear_sums(size_t s) const {
  for (auto& of_block : kept(s).sums) std::fill(of_block.begin(), of_block.end(), 0.0);
}

std::vector<std::array<double, 2>> ChainPass::total(size_t s) const {
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

void ChainPass::finish_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const {
  const BlockedExtent& extent = stage(s).out;
  rows_.activate({count, extent.channels, extent.cells[2]}, data, weight(stage(s).bias), stage(s).slope,
                 training_ && stage(s).by_batch() ? sums(s, block, x) : nullptr,
                 image(s, block).at(x * extent.plane() + y * extent.row()));
  if (training_ && stage(s).dropped()) draw_mask(s, block, x, y, count);
}

uint16_t* ChainPass::won(size_t s, int64_t block, int64_t x, int64_t y) const {
  if (!training_) return nullptr;
  const BlockedExtent& made = stage(s).made;
  return kept(s).won[static_cast<size_t>(block)].data() + (x * made.cells[1] + y) * made.row() / kLanes;
}

// A pool is taken before bias and activation: neither changes the order of two cells.
void ChainPass::pool_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const {
  const BlockedExtent &made = stage(s).made, &out = stage(s).out;
  const Extent3& size = stage(s).window;
  if (x >= out.cells[0] * size[0]) return;
  for (int64_t end = std::min(y + count, out.cells[1] * size[1]); y < end; ++y, data += made.row()) {
    rows_.max_pool({1, made.channels, made.cells[2]}, data, size[2], y % size[1],
                   working_->largest.data() + (x * out.cells[1] + y / size[1]) * out.row(), won(s, block, x, y));
  }
}

void ChainPass::pool_planes(size_t s, int64_t block) const {
  const BlockedExtent &made = stage(s).made, &out = stage(s).out;
  const Extent3& size = stage(s).window;
  const RowShape plane{out.cells[1], out.channels, out.cells[2]};
  parallel_(out.cells[0], [&](int64_t x) {
    float* const best = working_->largest.data() + x * size[0] * out.plane();
    for (int64_t dx = 1; dx < size[0]; ++dx) {
      rows_.max_planes(plane, {size[1], size[2], made.cells[2], made.plane() / kLanes}, dx, best,
                       best + dx * out.plane(), won(s, block, x * size[0] + dx, 0));
    }
    finish_rows(s, block, x, 0, out.cells[1], best);
  });
}

void ChainPass::forward_stage(size_t s) const {
  const BlockedExtent& made = stage(s).made;
  const bool pooled = stage(s).pooled();
  if (training_ && stage(s).by_batch()) clear_sums(s);
  if (pooled) kernels::grown(working_->largest, made.cells[0] * stage(s).out.plane());
  for (int64_t block = 0; block < blocks(); ++block) {
    const RowSink sink{
        [=](int64_t, int64_t, int64_t count) { return thread_scratch(Scratch::kSink, count * made.row()); },
        [=, this](int64_t x, int64_t y, int64_t count, float* data) {
          if (pooled)
            pool_rows(s, block, x, y, count, data);
          else
            finish_rows(s, block, x, y, count, data);
        }};
    stage(s).conv->forward(input(s, block), weight(stage(s).kernel), sink, working_->workspace, parallel_);
    if (pooled) pool_planes(s, block);
  }
  if (stage(s).normalized()) set_moments(s);
}

double ChainPass::inverse_deviation(size_t s, size_t channel) const {
  return 1 / std::sqrt(kept(s).variance[channel] + stage(s).epsilon);
}

void ChainPass::set_moments(size_t s) const {
  const auto channels = static_cast<size_t>(stage(s).out.channels);
  ChainBuffers::Kept& state = kept(s);
  state.mean.resize(channels), state.variance.resize(channels);
  state.mean_f.resize(channels), state.scale.resize(channels), state.shift.resize(channels);
  const bool by_batch = training_ && stage(s).by_batch();
  const auto totals = by_batch ? total(s) : std::vector<std::array<double, 2>>(channels);
  for (size_t c = 0; c < channels; ++c) {
    double mean = totals[c][0] / count(s);
    double variance = std::max(0.0, totals[c][1] / count(s) - mean * mean);
    if (!by_batch) {
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

at::Tensor ChainPass::forward(const at::Tensor& x_NXYZC) {
  working_ = borrow_working_memory();
  parallel_ = threads();
  const BlockedExtent& in = stage(0).in;
  const float* const plain = x_NXYZC.const_data_ptr<float>();
  for (int64_t block = 0; block < blocks(); ++block) {
    kernels::to_blocked(in, plain + block * in.floats(), events_of(block),
                        buffers_->input[static_cast<size_t>(block)].data(), parallel_);
  }
  for (size_t s = 0; s < plan_->stages.size(); ++s) forward_stage(s);
  const at::Tensor result = plain_output();
  working_ = nullptr;
  return result;
}

at::Tensor ChainPass::plain_output() const {
  const size_t last = plan_->stages.size() - 1;
  const BlockedExtent from = stage(last).out, to = plan_->output;
  const at::Tensor result = at::empty({events_, to.cells[0], to.cells[1], to.cells[2], to.channels}, at::kFloat);
  grow(working_->gradients[0], 1, to.floats());
  AlignedFloats& blocked = working_->gradients[0].front();
  for (int64_t block = 0; block < blocks(); ++block) {
    const ReadRows read = output(last, block);
    parallel_(to.cells[0], [&](int64_t x) {
      float* const scratch = thread_scratch(Scratch::kPlane, from.row());
      float* const plane = blocked.data() + x * to.plane();
      if (plan_->pooled()) std::fill_n(plane, to.plane(), 0.0F);
      for_pooled_rows(x, [&](int64_t from_x, int64_t from_y, int64_t y) {
        const float* const row = read(from_x, from_y, 1, scratch);
        const RowShape shape{1, from.channels, from.cells[2]};
        if (!plan_->pooled())
          std::copy_n(row, from.row(), plane + y * to.row());
        else
          rows_.pool(shape, row, plan_->pool[2], pool_factor(), plane + y * to.row());
      });
    });
    kernels::to_plain(to, blocked.data(), events_of(block), result.mutable_data_ptr<float>() + block * to.floats(),
                      parallel_);
  }
  return result;
}

at::Tensor ChainPass::mask_tensor(size_t s) const {
  const BlockedExtent& extent = stage(s).out;
  const at::Tensor mask =
      at::empty({events_, extent.cells[0], extent.cells[1], extent.cells[2], extent.channels}, at::kFloat);
  float* value = mask.mutable_data_ptr<float>();
  for (int64_t event = 0; event < events_; ++event) {
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

void ChainPass::finish_gradient_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count,
                                     const float* data) const {
  const BlockedExtent& extent = stage(s).out;
  const int64_t at = x * extent.plane() + y * extent.row();
  rows_.through_dropout({count, extent.channels, extent.cells[2]}, data, row_transform(s, block, x, y),
                        image(s, block).at(at), stage(s).by_batch() ? sums(s, block, x) : nullptr,
                        gradient(s, block).at(at));
}

void ChainPass::start_backward(const at::Tensor& gradient_NXYZC) const {
  const size_t last = plan_->stages.size() - 1;
  const BlockedExtent to = stage(last).out, from = plan_->output;
  Blocks& targets = working_->gradients[last % 2];
  grow(targets, blocks(), to.floats());
  clear_sums(last);
  grow(working_->gradients[(last + 1) % 2], 1, from.floats());
  AlignedFloats& blocked = working_->gradients[(last + 1) % 2].front();
  for (int64_t block = 0; block < blocks(); ++block) {
    kernels::to_blocked(from, gradient_NXYZC.const_data_ptr<float>() + block * from.floats(), events_of(block),
                        blocked.data(), parallel_);
    if (plan_->pooled()) {  // cells that no pool covers
      AlignedFloats& target = targets[static_cast<size_t>(block)];
      std::fill_n(target.begin(), to.floats(), 0.0F);
    }
    parallel_(from.cells[0], [&](int64_t x) {
      const float* const plane = blocked.data() + x * from.plane();
      for_pooled_rows(x, [&](int64_t to_x, int64_t to_y, int64_t y) {
        const float* row = plane + y * from.row();
        if (plan_->pooled()) {
          float* const spread = thread_scratch(Scratch::kSink, to.row());
          rows_.unpool({1, to.channels, to.cells[2]}, row, plan_->pool[2], pool_factor(), spread);
          row = spread;
        }
        finish_gradient_rows(last, block, to_x, to_y, 1, row);
      });
    });
  }
}

std::vector<at::Tensor> ChainPass::backward(const at::Tensor& gradient_NXYZC, bool image_wanted,
                                            const std::vector<bool>& weights_wanted, const WeightReady& ready) {
  std::vector<at::Tensor> results(weights_.size() + 1);
  const auto wanted = [&](int index) { return index >= 0 && weights_wanted[static_cast<size_t>(index)]; };
  working_ = borrow_working_memory();
  parallel_ = threads();
  start_backward(gradient_NXYZC);
  for (size_t s = plan_->stages.size(); s-- > 0;) {
    const Stage& here = stage(s);
    StageFactors factors = normalization_factors(s);
    if (wanted(here.gamma)) results[static_cast<size_t>(here.gamma) + 1] = factors.gamma;
    if (wanted(here.beta)) results[static_cast<size_t>(here.beta) + 1] = factors.beta;
    const bool data_wanted = s > 0 || image_wanted;
    at::Tensor kernel_gradient, bias_gradient;
    if (wanted(here.kernel)) kernel_gradient = at::zeros_like(weights_[static_cast<size_t>(here.kernel)]);
    if (wanted(here.bias)) bias_gradient = at::zeros_like(weights_[static_cast<size_t>(here.bias)]);
    if (data_wanted) grow(working_->gradients[(s + 1) % 2], blocks(), here.in.floats());
    if (s > 0 && stage(s - 1).by_batch()) clear_sums(s - 1);
    for (int64_t block = 0; block < blocks(); ++block)
      backward_block(s, block, factors, data_wanted, kernel_gradient, bias_gradient);
    if (here.kernel >= 0) results[static_cast<size_t>(here.kernel) + 1] = kernel_gradient;
    if (here.bias >= 0) results[static_cast<size_t>(here.bias) + 1] = bias_gradient;
    for (const int index : {here.bias, here.kernel, here.beta, here.gamma}) {
      if (wanted(index)) ready(static_cast<size_t>(index), results[static_cast<size_t>(index) + 1]);
    }
  }
  if (image_wanted) results[0] = plain_input_gradient();
  working_ = nullptr;
  return results;
}

ChainPass::StageFactors ChainPass::normalization_factors(size_t s) const {
  StageFactors factors;
  if (!stage(s).normalized()) return factors;
  if (stage(s).frozen) {
    factors.of_y = kept(s).scale;
    factors.of_r.assign(factors.of_y.size(), 0.0F);
    factors.offset = factors.of_r;
    return factors;
  }
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

ReadRows ChainPass::conv_gradient(size_t s, int64_t block, const StageFactors& factors) const {
  const BlockedExtent extent = stage(s).out, made = stage(s).made;
  const Extent3 size = stage(s).window;
  const KeptRows r = image(s, block), dy = gradient(s, block);
  RowGradient what;
  what.slope = stage(s).slope;
  if (stage(s).normalized()) {
    what.y_factor = factors.of_y.data(), what.r_factor = factors.of_r.data();
    what.offset = factors.offset.data(), what.mean = kept(s).mean_f.data();
  }
  const bool as_it_is = what.mean == nullptr && what.slope == 1 && dy.storage == Storage::kFloat;
  const ReadRows of_rows = [=, this](int64_t x, int64_t y, int64_t count, float* scratch) -> const float* {
    const int64_t at = x * extent.plane() + y * extent.row();
    if (as_it_is) return dy.at(at).floats();
    rows_.gradient({count, extent.channels, extent.cells[2]}, r.at(at), dy.at(at), what, scratch);
    return scratch;
  };
  if (!stage(s).pooled()) return of_rows;
  return [=, this](int64_t x, int64_t y, int64_t count, float* scratch) -> const float* {
    float* const pooled = thread_scratch(Scratch::kPooled, extent.row());
    float* to = scratch;
    for (const int64_t end = y + count; y < end; ++y, to += made.row()) {
      if (x / size[0] >= extent.cells[0] || y / size[1] >= extent.cells[1]) {
        std::fill_n(to, made.row(), 0.0F);
        continue;
      }
      rows_.max_unpool({1, made.channels, made.cells[2]}, of_rows(x / size[0], y / size[1], 1, pooled), size[2],
                       won(s, block, x, y), to);
    }
    return scratch;
  };
}

void ChainPass::backward_block(size_t s, int64_t block, const StageFactors& factors, bool data_wanted,
                               const at::Tensor& kernel_gradient, const at::Tensor& bias_gradient) const {
  const BlockedExtent before = stage(s).in;
  kernels::ConvGradients gradients;
  if (data_wanted) {
    float* const target = working_->gradients[(s + 1) % 2][static_cast<size_t>(block)].data();
    gradients.in.place = [=](int64_t x, int64_t y, int64_t) { return target + x * before.plane() + y * before.row(); };
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
      weights_wanted ? at::empty_like(weights_[static_cast<size_t>(stage(s).kernel)]) : at::Tensor();
  const at::Tensor bias = weights_wanted ? at::empty({stage(s).out.channels}, at::kFloat) : at::Tensor();
  if (weights_wanted) {
    gradients.weights = kernel.mutable_data_ptr<float>();
    gradients.bias = bias.mutable_data_ptr<float>();
  }
  if (!weights_wanted && !data_wanted) return;
  stage(s).conv->backward(input(s, block), conv_gradient(s, block, factors), weight(stage(s).kernel), events_of(block),
                          gradients, working_->workspace, parallel_);
  if (kernel_gradient.defined()) kernel_gradient.add_(kernel);
  if (bias_gradient.defined()) bias_gradient.add_(bias);
}

at::Tensor ChainPass::plain_input_gradient() const {
  const BlockedExtent& in = stage(0).in;
  const at::Tensor result = at::empty({events_, in.cells[0], in.cells[1], in.cells[2], in.channels}, at::kFloat);
  for (int64_t block = 0; block < blocks(); ++block) {
    kernels::to_plain(in, working_->gradients[1][static_cast<size_t>(block)].data(), events_of(block),
                      result.mutable_data_ptr<float>() + block * in.floats(), parallel_);
  }
  return result;
}

}  // namespace linac::nn
