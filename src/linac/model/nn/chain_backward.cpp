// The way back through a ChainPass.
#include <algorithm>

#include "linac/model/nn/chain_pass.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {
namespace {

using kernels::BlockedExtent;
using kernels::Extent3;
using kernels::KeptRows;
using kernels::ReadRows;
using kernels::RowGradient;
using kernels::Scratch;
using kernels::Storage;
using kernels::thread_scratch;

}  // namespace

void ChainPass::finish_gradient_rows(size_t s, int64_t block, int64_t x, int64_t y, int64_t count,
                                     const float* data) const {
  const BlockedExtent& extent = stage(s).out;
  const int64_t at = stage(s).in_frame(x, y);
  const Rows own = stage(s).halo ? stage(s).halo->own : Rows{};
  rows_.through_dropout({count, extent.channels, extent.cells[2]}, data,
                        row_transform(s, block, own.x[0] + x, own.y[0] + y), image(s, block).at(at),
                        stage(s).by_batch() ? sums(s, block, x) : nullptr, gradient(s, block).at(at));
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

float* ChainPass::frame(size_t s, int64_t block) const {
  Blocks& blocks = plan_->storage == Storage::kFloat ? working_->gradients[s % 2] : working_->frame;
  return blocks[static_cast<size_t>(block)].data();
}

// What comes through dropout is kept where it lay.
void ChainPass::finish_frame(size_t s) const {
  const ChainHalo& halo = *stage(s).halo;
  const BlockedExtent& out = stage(s).out;
  const int64_t row = halo.frame.row();
  const auto row_at = [&](int64_t block, int64_t x, int64_t y) {
    return frame(s, block) + x * halo.frame.plane() + y * row;
  };
  give_back_rows(*parts_, halo, blocks(), row, row_at);
  for (int64_t block = 0; block < blocks(); ++block) {
    parallel_(out.cells[0], [&](int64_t x) {
      float* const copy = thread_scratch(Scratch::kSink, out.cells[1] * row);
      std::copy_n(row_at(block, halo.own.x[0] + x, halo.own.y[0]), out.cells[1] * row, copy);
      finish_gradient_rows(s, block, x, 0, out.cells[1], copy);
    });
  }
}

std::vector<at::Tensor> ChainPass::backward(const at::Tensor& gradient_NXYZC, bool image_wanted,
                                            const std::vector<bool>& weights_wanted, const WeightReady& ready) {
  std::vector<at::Tensor> results(weights_.size() + 1);
  const auto wanted = [&](int index) { return index >= 0 && weights_wanted[static_cast<size_t>(index)]; };
  working_ = WorkingMemory::borrow();
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
    const bool of_others = s > 0 && stage(s - 1).halo;
    if (data_wanted) grow(working_->gradients[(s + 1) % 2], blocks(), here.in.floats());
    if (of_others && plan_->storage != Storage::kFloat) grow(working_->frame, blocks(), here.in.floats());
    if (s > 0 && stage(s - 1).by_batch()) clear_sums(s - 1);
    for (int64_t block = 0; block < blocks(); ++block)
      backward_block(s, block, factors, data_wanted, kernel_gradient, bias_gradient);
    if (of_others) finish_frame(s - 1);
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
  const auto own = total(s);
  double cells = 0;
  const auto totals = total_of_all(s, own, cells);
  factors.gamma = at::empty({stage(s).out.channels}, at::kFloat);
  factors.beta = at::empty({stage(s).out.channels}, at::kFloat);
  for (size_t c = 0; c < totals.size(); ++c) {
    const double inverse = inverse_deviation(s, c), scale = weight(stage(s).gamma, c, 1) * inverse;
    factors.of_y.push_back(static_cast<float>(scale));
    factors.of_r.push_back(static_cast<float>(-scale * inverse * inverse * totals[c][1] / cells));
    factors.offset.push_back(static_cast<float>(-scale * totals[c][0] / cells));
    factors.gamma.mutable_data_ptr<float>()[c] = static_cast<float>(own[c][1] * inverse);
    factors.beta.mutable_data_ptr<float>()[c] = static_cast<float>(own[c][0]);
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
    const int64_t at = stage(s).in_frame(x, y);
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
    if (s > 0 && stage(s - 1).halo) {
      float* const all = frame(s - 1, block);
      gradients.in.place = [=](int64_t x, int64_t y, int64_t) { return all + x * before.plane() + y * before.row(); };
    } else if (s > 0) {
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
