#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/model/graph/split/part_hub.h"
#include "linac/model/graph/split/split_graph.h"
#include "linac/model/nn/test_network_run.h"

namespace linac::nn {
namespace {

using graph::PartGrid;
using nlohmann::json;

struct Result {
  std::vector<at::Tensor> outputs, predicted;
  at::Tensor input_gradient;
  AlignedFloats gradient;
  std::vector<float> statistics;
};

constexpr int64_t kEvents = 3;
const RngKey kKey{.seed = 11, .stream = Stream::kDropout, .epoch = 1, .step = 2};

graph::Parameters weights_for(const graph::Graph& graph) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  graph::initialize(graph, 7, 0, parameters);
  for (size_t i = 0; i < parameters.trainable.size(); ++i) parameters.trainable[i] += 0.01F * static_cast<float>(i % 7);
  return parameters;
}

/// What one thread computes of a network, or of a part of it.
Result compute(const Executable& network, const graph::Graph& given, graph::PartLink* link) {
  const graph::Parameters parameters = weights_for(given);
  const Weights weights = make_weights(network.graph(), parameters, Gradients::kWanted);
  std::vector<int64_t> sizes = given.nodes[0].output;
  sizes.insert(sizes.begin(), kEvents);
  at::Tensor input = at::empty(sizes);
  fill_normal({.seed = 3}, {input.mutable_data_ptr<float>(), static_cast<size_t>(input.numel())});
  Result result;
  {
    const torch::NoGradGuard no_gradient;
    result.predicted = network.run(weights, {input}, {.mode = Mode::kInference, .part = link});
  }
  input.set_requires_grad(true);
  result.outputs =
      network.run(weights, {input},
                  {.mode = Mode::kTraining, .dropout_key = kKey, .batch_statistics = &result.statistics, .part = link});
  at::Tensor loss = at::zeros({});
  for (const at::Tensor& output : result.outputs)
    loss = loss + (output * at::arange(output.numel(), at::kFloat).reshape(output.sizes()).cos()).sum();
  result.input_gradient = torch::autograd::grad({loss}, {input}, {}, true)[0];
  if (!weights.trainable.empty()) result.gradient = flat_gradient(loss, weights, parameters.trainable_layout);
  return result;
}

/// Two or more hubs in one process: messages by (from, to, call).
class Board {
 public:
  graph::PartHub::Carry carry_of(int rank) {
    return [this, rank](std::span<const graph::PartHub::Outward> out, std::span<const graph::PartHub::Inward> in,
                        int64_t count) {
      {
        const std::lock_guard lock(mutex_);
        for (const auto& one : out) sent_[{rank, one.rank, count}].assign(one.data.begin(), one.data.end());
      }
      came_.notify_all();
      std::unique_lock lock(mutex_);
      for (const auto& one : in) {
        const auto key = std::tuple(one.rank, rank, count);
        came_.wait(lock, [&] { return sent_.contains(key); });
        ASSERT_EQ(sent_[key].size(), one.data.size());
        std::ranges::copy(sent_[key], one.data.begin());
      }
    };
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::map<std::tuple<int, int, int64_t>, std::vector<std::byte>> sent_;
};

/// By threads that have a part each, in so many hubs, which exchange over a board.
Result compute_split(const graph::Graph& given, const PartGrid& grid, Kernels kernels, int hubs = 1) {
  const graph::SplitGraph split = graph::split_graph(given, grid, lanes_of(given, kernels));
  const int parts = grid.count();
  std::vector<int> ranks;
  for (int part = 0; part < parts; ++part) ranks.push_back(part * hubs / parts);
  Board board;
  std::vector<std::unique_ptr<graph::PartHub>> all;
  for (int rank = 0; rank < hubs; ++rank)
    all.push_back(
        std::make_unique<graph::PartHub>(ranks, rank, hubs > 1 ? board.carry_of(rank) : graph::PartHub::Carry{}));
  std::vector<std::future<Result>> results;
  for (int part = 0; part < parts; ++part) {
    results.push_back(std::async(std::launch::async, [&, part] {
      at::set_num_threads(1);  // the parts are threads enough
      graph::PartHub& hub = *all[static_cast<size_t>(ranks[static_cast<size_t>(part)])];
      try {
        const Executable network(split.parts[static_cast<size_t>(part)], kernels);
        return compute(network, given, &hub.link(part));
      } catch (const std::exception& error) {
        hub.give_up(error.what());
        throw;
      }
    }));
  }
  std::vector<Result> of_parts;
  for (auto& result : results) of_parts.push_back(result.get());
  Result sum = of_parts[0];
  const graph::Layout layout = graph::Parameters::of(given).trainable_layout;
  for (size_t part = 1; part < of_parts.size(); ++part) {
    EXPECT_EQ(of_parts[part].statistics, sum.statistics);
    for (size_t i = 0; i < sum.outputs.size(); ++i) {
      EXPECT_TRUE(at::equal(of_parts[part].outputs[i], sum.outputs[i]));
      EXPECT_TRUE(at::equal(of_parts[part].predicted[i], sum.predicted[i]));
    }
    for (size_t slot = 0; slot < layout.slots.size(); ++slot) {
      const auto& place = layout.slots[slot];
      for (int64_t i = place.offset; i < place.offset + place.size; ++i) {
        const auto at = static_cast<size_t>(i);
        if (split.whole_weights[slot])
          EXPECT_EQ(sum.gradient[at], of_parts[part].gradient[at]) << place.name;
        else
          sum.gradient[at] += of_parts[part].gradient[at];
      }
    }
  }
  return sum;
}

/// `scale`: of what the values are sums of, where these cancel out.
void expect_close(const at::Tensor& value, const at::Tensor& wanted, const std::string& what, double within = 3e-5,
                  double scale = 0) {
  ASSERT_EQ(value.sizes(), wanted.sizes()) << what;
  if (wanted.numel() == 0) return;
  const double largest = std::max({1e-6, scale, wanted.abs().max().item<double>()});
  EXPECT_LT((value - wanted).abs().max().item<double>() / largest, within) << what;
}

at::Tensor tensor_of(std::span<const float> values) {
  return at::from_blob(const_cast<float*>(values.data()), {static_cast<int64_t>(values.size())}).clone();
}

/// Divided and undivided, by both kinds of kernels; the same bits with the parts in one process and in several.
void expect_same(const graph::Graph& graph, const PartGrid& grid, const std::string& name) {
  SCOPED_TRACE(name);
  for (const Kernels kernels : {Kernels::kLinac, Kernels::kAten}) {
    const Result whole = compute(Executable(graph, kernels), graph, nullptr);
    const Result parts = compute_split(graph, grid, kernels);
    for (size_t i = 0; i < whole.outputs.size(); ++i) {
      expect_close(parts.outputs[i], whole.outputs[i], "output");
      expect_close(parts.predicted[i], whole.predicted[i], "inference");
    }
    expect_close(parts.input_gradient, whole.input_gradient, "gradient of the input", 2e-4);
    const graph::Layout layout = graph::Parameters::of(graph).trainable_layout;
    const double scale = whole.gradient.empty() ? 0 : 0.1 * tensor_of(whole.gradient).abs().max().item<double>();
    for (const graph::Slot& slot : layout.slots) {
      const auto of = [&](const AlignedFloats& all) {
        return tensor_of(std::span(all).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
      };
      expect_close(of(parts.gradient), of(whole.gradient), slot.name, 2e-4, scale);
    }
    expect_close(tensor_of(parts.statistics), tensor_of(whole.statistics), "statistics");
    if (kernels == Kernels::kAten) continue;  // what goes from part to part is the same
    const Result afar = compute_split(graph, grid, kernels, 2);
    EXPECT_EQ(afar.gradient, parts.gradient);
    EXPECT_EQ(afar.statistics, parts.statistics);
    EXPECT_TRUE(at::equal(afar.input_gradient, parts.input_gradient));
  }
}

const PartGrid kHalves{{2, 1, 1}}, kThirds{{1, 3, 1}}, kQuarters{{2, 1, 2}}, kSquares{{2, 2, 1}};

graph::Graph one_layer(const std::string& op, const json& settings, const graph::Shape& image) {
  graph::Builder b(op);
  return b.finish({b.add(op, "layer", {b.input("x", image)}, settings)});
}

TEST(Split, ConvolutionsOfAnyWindow) {
  const graph::Shape image{11, 9, 7, 2};
  for (const char* padding : {"valid", "same"}) {
    for (const auto& [size, stride, dilation] :
         {std::tuple(3, 1, 1), {2, 1, 1}, {4, 1, 1}, {3, 2, 1}, {2, 3, 1}, {3, 1, 2}, {1, 2, 1}}) {
      const json settings{{"filters", 3},
                          {"kernel_size", {size, size, size}},
                          {"strides", {stride, stride, stride}},
                          {"padding", padding},
                          {"dilation_rate", {dilation, dilation, dilation}},
                          {"activation", "relu"}};
      const std::string name = std::string(padding) + settings.dump();
      expect_same(one_layer("Conv3D", settings, image), dilation == stride ? kQuarters : kHalves, name);
    }
  }
  for (const char* padding : {"valid", "same", "causal"}) {
    expect_same(one_layer("Conv1D", {{"filters", 4}, {"kernel_size", 5}, {"padding", padding}}, {13, 3}), kHalves,
                padding);
  }
  expect_same(one_layer("DepthwiseConv2D", {{"kernel_size", {3, 3}}, {"padding", "same"}}, {10, 11, 16}), kSquares,
              "depthwise");
  expect_same(
      one_layer("SeparableConv2D", {{"filters", 16}, {"kernel_size", {3, 3}}, {"strides", {2, 2}}}, {10, 11, 16}),
      kThirds, "separable");
}

TEST(Split, TransposedConvolutionsAndUpSampling) {
  for (const char* padding : {"valid", "same"}) {
    for (const auto& [size, stride] : {std::pair(3, 2), {2, 2}, {4, 3}, {2, 3}, {5, 1}}) {
      const json settings{
          {"filters", 3}, {"kernel_size", {size, size}}, {"strides", {stride, stride}}, {"padding", padding}};
      for (const PartGrid& grid : {kThirds, kSquares})
        expect_same(one_layer("Conv2DTranspose", settings, {7, 5, 2}), grid, settings.dump());
    }
  }
  expect_same(one_layer("UpSampling3D", {{"size", {2, 3, 1}}}, {3, 3, 4, 2}), kQuarters, "up");
  expect_same(one_layer("UpSampling2D", {{"size", {3, 2}}}, {5, 4, 2}), kThirds, "up");
}

TEST(Split, Pools) {
  for (const char* op : {"MaxPooling3D", "AveragePooling3D"}) {
    for (const char* padding : {"valid", "same"}) {
      for (const auto& [size, stride] : {std::pair(2, 2), {3, 2}, {3, 1}, {2, 3}}) {
        const json settings{
            {"pool_size", {size, size, size}}, {"strides", {stride, stride, stride}}, {"padding", padding}};
        expect_same(one_layer(op, settings, {8, 9, 7, 2}), size == 2 ? kQuarters : kHalves, op + settings.dump());
      }
    }
  }
  for (const char* op : {"GlobalAveragePooling2D", "GlobalMaxPooling2D"}) {
    graph::Builder b(op);
    const int x = b.add("Conv2D", "c", {b.input("x", {9, 7, 2})}, {{"filters", 5}, {"kernel_size", {3, 3}}});
    const int all = b.add(op, "all", {x});
    expect_same(b.finish({b.add("Dense", "d", {all}, {{"units", 3}})}), kSquares, op);
  }
}

TEST(Split, PaddingAndCropping) {
  for (const auto& [first, cells] : {std::pair("ZeroPadding2D", "padding"), {"Cropping2D", "cropping"}}) {
    for (const char* then : {"Conv2D", "MaxPooling2D"}) {
      for (const char* padding : {"valid", "same"}) {
        graph::Builder b(then);
        const int x = b.add("Conv2D", "c", {b.input("x", {12, 11, 2})}, {{"filters", 4}, {"kernel_size", {1, 1}}});
        const int moved = b.add(first, "moved", {x}, {{cells, {{3, 1}, {0, 2}}}});
        const int last = b.add(then, "then", {moved},
                               {{"filters", 3}, {"kernel_size", {3, 3}}, {"pool_size", {3, 3}}, {"padding", padding}});
        expect_same(b.finish({last, moved}), kSquares, std::string(first) + then + padding);
      }
    }
  }
}

// Of ResNet's kind: a shortcut, statistics of the batch, a pool behind a padding, a channel's weight from all cells.
TEST(Split, BlocksWithShortcuts) {
  graph::Builder b("block");
  int x = b.add("ZeroPadding2D", "pad", {b.input("image", {17, 15, 3})}, {{"padding", {{3, 3}, {3, 3}}}});
  x = b.add("Conv2D", "c1", {x}, {{"filters", 16}, {"kernel_size", {7, 7}}, {"strides", {2, 2}}, {"use_bias", false}});
  x = b.add("BatchNormalization", "n1", {x});
  x = b.add("Activation", "a1", {x}, {{"activation", "relu"}});
  x = b.add("MaxPooling2D", "p1", {b.add("ZeroPadding2D", "pad2", {x}, {{"padding", {{1, 1}, {1, 1}}}})},
            {{"pool_size", {3, 3}}, {"strides", {2, 2}}});
  int y = b.add("Conv2D", "c2", {x}, {{"filters", 16}, {"kernel_size", {3, 3}}, {"padding", "same"}});
  y = b.add("BatchNormalization", "n2", {y});
  const int shortcut = b.add("Conv2D", "c3", {x}, {{"filters", 16}, {"kernel_size", {1, 1}}});
  x = b.add("Activation", "a2", {b.add("Add", "sum", {y, shortcut})}, {{"activation", "relu"}});
  const int squeezed = b.add("GlobalAveragePooling2D", "all", {x}, {{"keepdims", true}});
  const int weight = b.add("Dense", "weight", {squeezed}, {{"units", 16}, {"activation", "sigmoid"}});
  x = b.add("Multiply", "scaled", {x, weight});
  x = b.add("Dropout", "drop", {x}, {{"rate", 0.4}});
  x = b.add("GaussianNoise", "noise", {x}, {{"stddev", 0.1}});
  x = b.add("Dense", "scores", {b.add("Flatten", "flat", {x})}, {{"units", 4}, {"activation", "softmax"}});
  const graph::Graph b_graph = b.finish({x});
  for (const PartGrid& grid : {kHalves, kThirds, kSquares}) expect_same(b_graph, grid, "block");
}

// A generator's way: from few numbers to an image; and a U: down and up again, with what was seen on the way.
TEST(Split, ImagesFromNumbersAndBack) {
  graph::Builder b("generator");
  int x = b.add("Dense", "d", {b.input("z", {6})}, {{"units", 36}});
  x = b.add("Reshape", "image", {x}, {{"target_shape", {3, 3, 2, 2}}});
  x = b.add("UpSampling3D", "up", {x}, {{"size", {2, 2, 2}}});
  x = b.add("Conv3D", "c", {x}, {{"filters", 4}, {"kernel_size", {3, 3, 3}}, {"padding", "same"}});
  x = b.add("LeakyReLU", "l", {x}, {{"negative_slope", 0.1}});
  x = b.add("BatchNormalization", "n", {x});
  x = b.add("Dropout", "drop", {x}, {{"rate", 0.3}});
  x = b.add("Conv3D", "out", {x}, {{"filters", 1}, {"kernel_size", {2, 2, 2}}, {"activation", "relu"}});
  const graph::Graph b_graph = b.finish({x});
  for (const PartGrid& grid : {kHalves, kThirds, kQuarters}) expect_same(b_graph, grid, "generator");

  graph::Builder u("u-net");
  const auto conv = [&](const char* name, int from, int filters) {
    const int made =
        u.add("Conv3D", name, {from},
              {{"filters", filters}, {"kernel_size", {3, 3, 3}}, {"padding", "same"}, {"use_bias", false}});
    return u.add("Activation", std::string(name) + "_a",
                 {u.add("BatchNormalization", std::string(name) + "_n", {made})}, {{"activation", "relu"}});
  };
  const int seen = conv("down", u.input("image", {9, 8, 6, 1}), 4);
  int deep = u.add("MaxPooling3D", "pool", {seen}, {{"pool_size", {2, 2, 2}}, {"padding", "same"}});
  deep = conv("deep", deep, 6);
  deep = u.add("Conv3DTranspose", "up", {deep}, {{"filters", 4}, {"kernel_size", {2, 2, 2}}, {"strides", {2, 2, 2}}});
  deep = u.add("Cropping3D", "crop", {deep}, {{"cropping", {{0, 1}, {0, 0}, {0, 0}}}});
  const int both = conv("both", u.add("Concatenate", "join", {seen, deep}), 4);
  const int mask =
      u.add("Conv3D", "mask", {both}, {{"filters", 1}, {"kernel_size", {1, 1, 1}}, {"activation", "sigmoid"}});
  const int sum = u.add("GlobalMaxPooling3D", "sum", {both});
  const graph::Graph u_graph = u.finish({mask, sum});
  for (const PartGrid& grid : {kHalves, kThirds, kQuarters}) expect_same(u_graph, grid, "u-net");
}

// Of the 3DGAN's kind: one chain on each part, whose stages exchange rows; its last one ends at odd cells.
TEST(Split, ChainsExchangeRowsBetweenTheirStages) {
  graph::Builder b("discriminator");
  int x = b.input("image", {13, 12, 7, 1});
  for (const int stage : {0, 1, 2}) {
    const std::string n = std::to_string(stage);
    if (stage > 0) x = b.add("ZeroPadding3D", "pad" + n, {x}, {{"padding", {{2, 1}, {0, 1}, {1, 0}}}});
    x = b.add("Conv3D", "c" + n, {x},
              {{"filters", 3 + stage}, {"kernel_size", {4, 3, 2}}, {"padding", stage == 0 ? "same" : "valid"}});
    x = b.add("LeakyReLU", "l" + n, {x}, {{"negative_slope", 0.2}});
    if (stage > 0) x = b.add("BatchNormalization", "n" + n, {x});
    x = b.add("Dropout", "d" + n, {x}, {{"rate", 0.3}});
  }
  x = b.add("AveragePooling3D", "pool", {x}, {{"pool_size", {2, 2, 2}}});
  const graph::Graph graph = b.finish({b.add("Dense", "energy", {b.add("Flatten", "flat", {x})}, {{"units", 2}})});
  for (const PartGrid& grid : {kHalves, kThirds, kSquares}) {
    const graph::SplitGraph split = graph::split_graph(graph, grid, lanes_of(graph, Kernels::kLinac));
    const graph::Graph part = as_run(split.parts[0], Kernels::kLinac, Device::kCpu);
    int halos = 0;
    for (const graph::Node& node : part.nodes) {
      if (node.op != "ConvolutionChain") continue;
      for (const auto& layer : node.attributes.at("layers")) halos += layer.at("op") == graph::kPartHalo ? 1 : 0;
    }
    EXPECT_EQ(halos, 2);
    expect_same(graph, grid, "discriminator");
  }
  expect_same(graph, {{1, 1, 2}}, "along the rows, outside of chains");
}

// Kernels large enough for transforms.
TEST(Split, SpectralConvolutionsExchangeRows) {
  graph::Builder b("spectral");
  int x = b.input("image", {30, 28, 14, 1});
  x = b.add("Conv3D", "c0", {x}, {{"filters", 16}, {"kernel_size", {5, 5, 5}}, {"padding", "same"}});
  for (const char* name : {"c1", "c2", "c3"}) {
    x = b.add("LeakyReLU", std::string(name) + "l", {x}, {{"negative_slope", 0.2}});
    x = b.add("Conv3D", name, {x}, {{"filters", 8}, {"kernel_size", {5, 5, 5}}, {"padding", "same"}});
  }
  const graph::Graph graph = b.finish({b.add("GlobalAveragePooling3D", "all", {x})});
  for (const PartGrid& grid : {kHalves, kSquares}) expect_same(graph, grid, "spectral");
}

// A layer that is called on images of two sizes, of which one cannot be divided, stays whole.
TEST(Split, SharedLayers) {
  graph::Builder b("shared");
  const int x = b.input("image", {8, 8, 3});
  const int first = b.add("Conv2D", "c", {x}, {{"filters", 3}, {"kernel_size", {3, 3}}, {"padding", "same"}});
  graph::Graph graph = b.finish({first});
  for (const int pool : {2, 8}) {
    graph::Graph shared = graph;
    shared.nodes.push_back({.name = "small",
                            .op = "MaxPooling2D",
                            .attributes = {{"pool_size", {pool, pool}}},
                            .inputs = {first},
                            .output = {},
                            .weights = {}});
    graph::Node again = shared.nodes[static_cast<size_t>(first)];
    again.name = "again";
    again.inputs = {2};
    again.shares = first;
    again.weights.clear();
    shared.nodes.push_back(again);
    shared.outputs = {3, first};
    graph::infer_shapes(shared);
    if (pool == 2) {
      expect_same(shared, kSquares, "both divided");
    } else {
      EXPECT_THROW(graph::split_graph(shared, {{3, 1, 1}}, std::vector<int>(4, -1)), Error);
    }
  }
}

TEST(Split, WhatCannotBeDividedIsTold) {
  try {
    graph::split_graph(one_layer("Dense", {{"units", 3}}, {5}), kHalves, {-1, -1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no layer can be divided into 2 x 1 x 1"), std::string::npos);
  }
}

}  // namespace
}  // namespace linac::nn
