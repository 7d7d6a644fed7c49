// What goes between the parts of an image (model/graph/split/split_graph.h), forward and back. A value that every part
// computes alike has the same gradient on all of them; of what is cut out of it each part has its own, which add up.
#include <algorithm>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/model/graph/split/part_regions.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

using graph::PartLink;
using graph::Region;
using torch::autograd::variable_list;

PartLink& link_of(const LayerCall& call) {
  LINAC_CHECK(call.options.part != nullptr && call.x().is_cpu() && call.x().scalar_type() == at::kFloat);
  return *call.options.part;
}

/// The cells `region` of x (N, cells..., C), whose cells are `frame`: a view.
at::Tensor cut(const at::Tensor& x, const Region& region, const Region& frame) {
  at::Tensor view = x;
  for (size_t axis = 0; axis < region.size(); ++axis)
    view = view.narrow(static_cast<int64_t>(axis) + 1, region[axis].begin - frame[axis].begin, region[axis].size());
  return view;
}

/// (N, cells..., C) of as many events and channels as x.
at::Tensor empty_of(const at::Tensor& x, const Region& region) {
  std::vector<int64_t> sizes{x.size(0)};
  for (const graph::Cells& cells : region) sizes.push_back(cells.size());
  sizes.push_back(x.size(-1));
  return at::empty(sizes, at::kFloat);
}

/// One call of PartLink::exchange: what goes to each part (undefined: nothing), and the buffers for what comes.
void exchange(PartLink& link, const std::vector<at::Tensor>& to, const std::vector<at::Tensor>& from) {
  std::vector<at::Tensor> packed;
  std::vector<std::span<const float>> sent;
  std::vector<std::span<float>> came;
  for (const at::Tensor& one : to) {
    packed.push_back(one.defined() ? one.contiguous() : at::Tensor());
    sent.emplace_back(one.defined()
                          ? std::span(packed.back().const_data_ptr<float>(), static_cast<size_t>(packed.back().numel()))
                          : std::span<const float>());
  }
  for (const at::Tensor& one : from)
    came.emplace_back(one.defined() ? std::span(one.mutable_data_ptr<float>(), static_cast<size_t>(one.numel()))
                                    : std::span<float>());
  link.exchange(sent, came);
}

/// What each part has, or needs.
using Regions = std::vector<Region>;

/// Every part p holds the cells have[p] of an image and gets the cells want[p] into `result`: of each cell the value of
/// the one who holds it, or all of theirs added to what is there, in the order of the parts.
enum class Together { kCopied, kAdded };
void bring(PartLink& link, const at::Tensor& x, const Regions& have, const Regions& want, Together how,
           at::Tensor& result) {
  const auto me = static_cast<size_t>(link.part());
  const auto parts = static_cast<size_t>(link.parts());
  std::vector<at::Tensor> to(parts), from(parts);
  for (size_t part = 0; part < parts; ++part) {
    if (part == me) continue;
    if (const Region sent = common(have[me], want[part]); !is_empty(sent)) to[part] = cut(x, sent, have[me]);
    if (const Region got = common(have[part], want[me]); !is_empty(got)) from[part] = empty_of(x, got);
  }
  exchange(link, to, from);
  for (size_t part = 0; part < parts; ++part) {
    const Region got = common(have[part], want[me]);
    if (is_empty(got)) continue;
    at::Tensor there = cut(result, got, want[me]);
    const at::Tensor values = part == me ? cut(x, got, have[me]) : from[part];
    if (how == Together::kCopied)
      there.copy_(values);
    else
      there.add_(values);
  }
}

/// A region whose cells beyond the image are filled, the others not yet.
at::Tensor outside_filled(const LayerCall& call, const Region& needed, const Region& image) {
  at::Tensor result = empty_of(call.x(), needed);
  if (!holds(image, needed))
    result.fill_(call.node.attributes.at("lowest").get<bool>() ? -std::numeric_limits<float>::infinity() : 0.0F);
  return result;
}

/// One way back, by a function.
struct PartBackward : public torch::autograd::Node {
  std::function<at::Tensor(const at::Tensor& gradient)> back;

  variable_list apply(variable_list&& gradients) override {
    LINAC_CHECK(back != nullptr);  // autograd asks no more once it has released the node
    const at::NoGradGuard no_gradient;
    return {back(gradients[0])};
  }
  void release_variables() override { back = nullptr; }
};

at::Tensor with_way_back(const at::Tensor& x, at::Tensor result,
                         std::function<at::Tensor(const at::Tensor& gradient)> back) {
  if (!wants_gradient({x})) return result;
  const auto node = std::make_shared<PartBackward>();
  node->back = std::move(back);
  attach(node, {x}, result);
  return result;
}

at::Tensor halo(const LayerCall& call) {
  PartLink& link = link_of(call);
  const auto [image, own, needed] = graph::regions_of(call.node);
  const auto me = static_cast<size_t>(link.part());
  const at::Tensor x = call.x().detach();
  at::Tensor result = outside_filled(call, needed[me], image);
  bring(link, x, own, needed, Together::kCopied, result);
  return with_way_back(call.x(), result, [&link, own = own, needed = needed, me](const at::Tensor& gradient) {
    at::Tensor sum = empty_of(gradient, own[me]).zero_();
    bring(link, gradient, needed, own, Together::kAdded, sum);
    return sum;
  });
}

at::Tensor slice(const LayerCall& call) {
  PartLink& link = link_of(call);
  const Regions needed = graph::needed_regions(call.node);
  const auto me = static_cast<size_t>(link.part());
  std::vector<int64_t> sizes(call.x().sizes().begin() + 1, call.x().sizes().end());
  const Region image = graph::all_cells(sizes), inside = common(needed[me], image);
  at::Tensor result = outside_filled(call, needed[me], image);
  if (!is_empty(inside)) cut(result, inside, needed[me]).copy_(cut(call.x().detach(), inside, image));
  return with_way_back(call.x(), result, [&link, needed, image](const at::Tensor& gradient) {
    at::Tensor sum = empty_of(gradient, image).zero_();
    bring(link, gradient, needed, Regions(needed.size(), image), Together::kAdded, sum);
    return sum;
  });
}

at::Tensor gather(const LayerCall& call) {
  PartLink& link = link_of(call);
  const auto [image, own, needed] = graph::regions_of(call.node);
  at::Tensor result = empty_of(call.x(), image);
  bring(link, call.x().detach(), own, needed, Together::kCopied, result);
  return with_way_back(call.x(), result,
                       [mine = own[static_cast<size_t>(link.part())], image = image](const at::Tensor& gradient) {
                         return cut(gradient, mine, image).contiguous();
                       });
}

at::Tensor join(const LayerCall& call) {
  PartLink& link = link_of(call);
  const at::Tensor x = call.x().detach().contiguous();
  std::vector<at::Tensor> all(static_cast<size_t>(link.parts()));
  for (at::Tensor& one : all) one = at::empty_like(x);
  exchange(link, std::vector<at::Tensor>(all.size(), x), all);
  all[static_cast<size_t>(link.part())] = x;
  if (call.node.attributes.at("how") == "sum") {
    at::Tensor sum = all[0].clone();
    for (size_t part = 1; part < all.size(); ++part) sum.add_(all[part]);
    return with_way_back(call.x(), sum, [](const at::Tensor& gradient) { return gradient; });
  }
  const at::Tensor each = at::stack(all), largest = at::amax(each, {0});
  const at::Tensor won = (each == largest).to(at::kFloat);
  const at::Tensor share = won[link.part()] / won.sum(0);
  return with_way_back(call.x(), largest, [share](const at::Tensor& gradient) { return gradient * share; });
}

}  // namespace

std::vector<NamedLayer> part_layers() {
  return {{graph::kPartHalo, halo}, {graph::kPartSlice, slice}, {graph::kPartGather, gather}, {graph::kPartJoin, join}};
}

}  // namespace linac::nn
