#include "linac/model/nn/chain_pass.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/lender.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/nn/part_numbers.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {

void grow(Blocks& blocks, int64_t count, int64_t floats) {
  if (static_cast<int64_t>(blocks.size()) < count) blocks.resize(static_cast<size_t>(count));
  for (AlignedFloats& block : blocks) kernels::grown(block, floats);
}

std::shared_ptr<WorkingMemory> WorkingMemory::borrow() {
  static const auto lender = std::make_shared<Lender<WorkingMemory>>();
  return lender->borrow();
}

namespace {

using kernels::BlockedExtent;
using kernels::Extent3;
using kernels::KeptRows;
using kernels::Parallel;
using kernels::ReadRows;
using kernels::RowShape;
using kernels::RowSink;
using kernels::RowTransform;
using kernels::Scratch;
using kernels::Storage;
using kernels::thread_scratch;

constexpr int64_t kLanes = kernels::kBlockEvents;
constexpr int64_t kPairOfLanes = 2 * kLanes;  // two sums a channel and event

void make_room(const ChainPlan& plan, int64_t events, bool training, ChainBuffers* buffers) {
  const int64_t blocks = (events + kLanes - 1) / kLanes;
  grow(buffers->input, blocks, plan.stages.front().in.floats());
  buffers->stages.resize(plan.stages.size());
  for (size_t s = 0; s < plan.stages.size(); ++s) {
    const Stage& stage = plan.stages[s];
    ChainBuffers::Kept& kept = buffers->stages[s];
    // Without a backward pass two images in turn are enough: those of the first two stages grow to the largest.
    const int64_t floats = plan.storage == Storage::kFloat ? stage.frame().floats() : stage.frame().floats() / 2;
    grow(training ? kept.r : buffers->stages[std::min<size_t>(s % 2, plan.stages.size() - 1)].r, blocks, floats);
    if (!training) continue;
    kept.sums.resize(static_cast<size_t>(blocks));
    kept.masks.resize(static_cast<size_t>(blocks));
    for (auto& sums : kept.sums)
      sums.resize(static_cast<size_t>(stage.out.cells[0] * stage.out.channels * kPairOfLanes));
    kept.won.resize(static_cast<size_t>(blocks));
    for (auto& won : kept.won) won.resize(static_cast<size_t>(stage.pooled() ? stage.made.floats() / kLanes : 0));
    for (auto& mask : kept.masks)
      mask.resize(static_cast<size_t>(stage.dropped() ? stage.frame().floats() / kLanes : 0));
  }
}

}  // namespace

ChainPass::ChainPass(std::shared_ptr<const ChainPlan> plan, std::shared_ptr<ChainBuffers> buffers,
                     std::vector<at::Tensor> weights, int64_t events, bool training, const RngKey& dropout_key,
                     graph::PartLink* parts)
    : plan_(std::move(plan)),
      buffers_(std::move(buffers)),
      weights_(std::move(weights)),
      events_(events),
      training_(training),
      dropout_key_(dropout_key),
      parts_(parts),
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
    const BlockedExtent& frame = stage(s).frame();
    what.mask = state.masks[static_cast<size_t>(block)].data() + (x * frame.cells[1] + y) * frame.row() / kLanes;
    what.kept = stage(s).kept();
  }
  return what;
}

ReadRows ChainPass::output(size_t s, int64_t block) const {
  const KeptRows r = image(s, block);
  const BlockedExtent extent = stage(s).frame();
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
  const BlockedExtent& extent = stage(s).frame();
  const Extent3& whole = stage(s).drawn_for;  // of which the frame is a part
  const int64_t first_x = stage(s).drawn_at[0] - (stage(s).halo ? stage(s).halo->own.x[0] : 0),
                first_y = stage(s).drawn_at[1] - (stage(s).halo ? stage(s).halo->own.y[0] : 0);
  RngKey key = dropout_key_;
  key.lane += stage(s).lane;
  const PhiloxSequence sequence = philox_sequence(key);
  const int64_t row = extent.channels * extent.cells[2], all = whole[0] * whole[1] * row;
  std::vector<uint16_t> bits(static_cast<size_t>(row));
  uint16_t* mask = kept(s).masks[static_cast<size_t>(block)].data() + (x * extent.cells[1] + y) * row;
  for (int64_t i = 0; i < count; ++i, mask += row) {
    rows_.keep_bits(sequence.key.data(), sequence.counter.data(), static_cast<uint64_t>(block * kLanes),
                    static_cast<uint64_t>((all + 7) / 8), ((first_x + x) * whole[1] + first_y + y + i) * row, row,
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

std::vector<std::array<double, 2>> ChainPass::total_of_all(size_t s, const std::vector<std::array<double, 2>>& own,
                                                           double& cells) const {
  cells = static_cast<double>(events_ * kernels::cells(stage(s).out.cells));
  if (!stage(s).all_parts) return own;
  std::vector<double> mine{cells};
  for (const auto& [first, second] : own) mine.insert(mine.end(), {first, second});
  std::vector<double> sum(mine.size(), 0.0);
  for (const std::vector<double>& of_part : doubles_of_parts(*parts_, mine))
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += of_part[i];
  cells = sum[0];
  std::vector<std::array<double, 2>> totals(own.size());
  for (size_t i = 0; i + 1 < sum.size(); ++i) totals[i / 2][i % 2] = sum[i + 1];
  return totals;
}

void ChainPass::finish_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count, const float* data) const {
  const BlockedExtent& extent = stage(s).out;
  rows_.activate({count, extent.channels, extent.cells[2]}, data, weight(stage(s).bias), stage(s).slope,
                 training_ && stage(s).by_batch() ? sums(s, block, x) : nullptr,
                 image(s, block).at(stage(s).in_frame(x, y)));
  if (training_ && stage(s).dropped() && !stage(s).halo) draw_mask(s, block, x, y, count);
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
  if (!stage(s).halo) return;
  const ChainHalo& halo = *stage(s).halo;
  const bool halves = plan_->storage == Storage::kBfloat16;
  const int64_t row = halo.frame.row() / (halves ? 2 : 1);
  fetch_rows(*parts_, halo, blocks(), row, [&](int64_t block, int64_t x, int64_t y) {
    return static_cast<float*>(image(s, block).image) + (x * halo.frame.cells[1] + y) * row;
  });
  if (!training_ || !stage(s).dropped()) return;
  for (int64_t block = 0; block < blocks(); ++block)
    parallel_(halo.frame.cells[0], [&](int64_t x) { draw_mask(s, block, x, 0, halo.frame.cells[1]); });
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
  double cells = 0;
  const auto totals = by_batch ? total_of_all(s, total(s), cells) : std::vector<std::array<double, 2>>(channels);
  for (size_t c = 0; c < channels; ++c) {
    double mean = totals[c][0] / cells;
    double variance = std::max(0.0, totals[c][1] / cells - mean * mean);
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
  working_ = WorkingMemory::borrow();
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

}  // namespace linac::nn
