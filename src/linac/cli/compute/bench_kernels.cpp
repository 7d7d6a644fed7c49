#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/rng.h"
#include "linac/cli/compute/bench_measure.h"
#include "linac/cli/compute/verbs.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/passes/fold_upsample.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/blocked_image.h"
#include "linac/model/kernels/peak.h"
#include "linac/model/kernels/spectral_conv.h"
#include "linac/model/kernels/upsample_conv.h"
#include "linac/model/models/threedgan/networks.h"

namespace linac::cli {
namespace {

using kernels::BlockedExtent;
using kernels::ConvMethod;

constexpr int64_t kEvents = 16;  // a block

struct KernelBenchOptions {
  int repeat = 5;
  std::string layer;  // only layers whose title holds this
  bool all = false, json = false;
};

/// One layer of the table and the algorithms it can be computed by.
struct Layer {
  std::string name;  // "generator/conv_2 8->6 (4,4,6)"
  BlockedExtent in, out;
  int64_t weights;
  double gflop;  // of a block, by the direct algorithm (folded, where there is an up-sampling)
  struct Kernel {
    std::string method;
    bool chosen;
    std::shared_ptr<const kernels::BlockedConv3d> conv;
  };
  std::vector<Kernel> kernels;
};

std::string title(const graph::Graph& graph, const graph::Node& conv, int64_t in_channels) {
  const auto kernel = graph::extent3(conv, "kernel_size");
  return fmt::format("{}/{} {}->{} ({},{},{})", graph.name, conv.name, in_channels, conv.output[3], kernel[0],
                     kernel[1], kernel[2]);
}

kernels::Extent3 cells_of(const graph::Shape& shape) {
  return {shape[0], shape[1], shape[2]};
}

Layer upsampled(const graph::Graph& graph, const graph::Node& conv, const graph::Shape& in, double gflop) {
  const kernels::UpsampleShape shape{cells_of(in), in[3], graph::extent3(conv, "size"),
                                     graph::extent3(conv, "kernel_size"), conv.output[3]};
  return {title(graph, conv, in[3]),
          {shape.in, in[3]},
          {shape.out(), shape.out_channels},
          kernels::cells(shape.kernel) * in[3] * shape.out_channels,
          gflop,
          {{"folded", true, std::make_shared<kernels::UpsampleConv3d>(shape)}}};
}

Layer plain(const graph::Graph& graph, const graph::Node& conv, const graph::Node& source, double gflop, bool all) {
  const bool padded = source.op == "ZeroPadding3D";
  const graph::Shape& in = padded ? graph.nodes[static_cast<size_t>(source.inputs.at(0))].output : source.output;
  kernels::Conv3dShape shape{};
  shape.in = cells_of(in), shape.in_channels = in[3];
  shape.kernel = graph::extent3(conv, "kernel_size"), shape.out_channels = conv.output[3];
  const auto padding = padded ? graph::zero_padding(source) : graph::own_padding(conv);
  for (size_t i = 0; i < 3; ++i) shape.before[i] = padding[i][0], shape.behind[i] = padding[i][1];
  Layer layer{
      title(graph, conv, in[3]), {shape.in, in[3]}, {shape.out(), shape.out_channels}, shape.weights(), gflop, {}};
  for (const ConvMethod method : {ConvMethod::kDirect, ConvMethod::kSpectral}) {
    const bool chosen = method == kernels::choose_method(shape);
    const bool possible = method == ConvMethod::kDirect || kernels::SpectralConv3d::possible(shape);
    if (possible && (chosen || all)) layer.kernels.push_back({to_string(method), chosen, make_conv3d(shape, method)});
  }
  return layer;
}

std::vector<Layer> layers(const KernelBenchOptions& options) {
  std::vector<Layer> found;
  for (const graph::Graph& graph :
       {graph::fold_upsample(models::threedgan::generator({})), models::threedgan::discriminator({})}) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) {
      const graph::Node& node = graph.nodes[i];
      if (node.op != "Conv3D" && node.op != "UpsampleConv3D") continue;
      const graph::Node& source = graph.nodes[static_cast<size_t>(node.inputs.at(0))];
      const double gflop = 1e-9 * kEvents * graph::forward_flop(graph, static_cast<int>(i));
      Layer layer = node.op == "UpsampleConv3D" ? upsampled(graph, node, source.output, gflop)
                                                : plain(graph, node, source, gflop, options.all);
      if (layer.name.find(options.layer) != std::string::npos) found.push_back(std::move(layer));
    }
  }
  if (found.empty())
    throw CLI::ValidationError("--layer",
                               fmt::format("no convolution of the 3DGAN has a name with '{}' in it", options.layer));
  return found;
}

/// Random images and room for results.
struct Images {
  explicit Images(const Layer& layer)
      : in(static_cast<size_t>(layer.in.floats())),
        out(static_cast<size_t>(layer.out.floats())),
        in_gradient(in.size()),
        out_gradient(out.size()),
        weights(static_cast<size_t>(layer.weights)),
        weight_gradient(weights.size()),
        bias_gradient(static_cast<size_t>(layer.out.channels)) {
    for (auto* values : {&in, &out_gradient}) fill_uniform({.seed = 1, .stream = Stream::kSample}, *values);
    fill_uniform({.seed = 2, .stream = Stream::kSample}, weights);
  }

  AlignedFloats in, out, in_gradient, out_gradient;
  std::vector<float> weights, weight_gradient, bias_gradient;
};

kernels::ReadRows reader(const AlignedFloats& values, const BlockedExtent& extent) {
  return [&values, extent](int64_t x, int64_t y, int64_t, float*) {
    return values.data() + x * extent.plane() + y * extent.row();
  };
}
kernels::RowSink sink(AlignedFloats& values, const BlockedExtent& extent) {
  return {[&values, extent](int64_t x, int64_t y, int64_t) {
            return values.data() + x * extent.plane() + y * extent.row();
          },
          {}};
}

nlohmann::ordered_json measure_kernel(const Layer& layer, const Layer::Kernel& kernel, int repeat, double peak) {
  Images images(layer);
  kernels::ConvWorkspace workspace;
  const kernels::ReadRows in = reader(images.in, layer.in), gradient = reader(images.out_gradient, layer.out);
  const auto run = [&](const std::function<void()>& work, double passes = 1) {
    const auto part = measure(repeat, kEvents, passes * layer.gflop / kEvents, work);
    const double seconds = part["cpu_s"]["min"], speed = passes * layer.gflop / seconds;
    return nlohmann::ordered_json{{"cpu_s", part["cpu_s"]}, {"gflop_per_s", speed}, {"share_of_peak", speed / peak}};
  };
  nlohmann::ordered_json result{
      {"layer", layer.name}, {"method", kernel.method}, {"chosen", kernel.chosen}, {"gflop", layer.gflop}};
  result["forward"] = run([&] {
    kernel.conv->forward(in, images.weights.data(), sink(images.out, layer.out), workspace, kernels::serially);
  });
  result["data"] = run([&] {
    kernel.conv->backward(in, gradient, images.weights.data(), kEvents, {sink(images.in_gradient, layer.in)}, workspace,
                          kernels::serially);
  });
  result["weights"] = run([&] {
    kernel.conv->backward(in, gradient, images.weights.data(), kEvents,
                          {{}, images.weight_gradient.data(), images.bias_gradient.data()}, workspace,
                          kernels::serially);
  });
  result["both"] = run(
      [&] {
        kernel.conv->backward(
            in, gradient, images.weights.data(), kEvents,
            {sink(images.in_gradient, layer.in), images.weight_gradient.data(), images.bias_gradient.data()}, workspace,
            kernels::serially);
      },
      2);
  return result;
}

void run_kernel_bench(const KernelBenchOptions& options) {
  const double peak = kernels::peak_gflops();
  nlohmann::ordered_json result{{"isa", kernels::to_string(kernels::best_isa())},
                                {"peak_gflop_per_s", peak},
                                {"events", kEvents},
                                {"repeat", options.repeat}};
  result["kernels"] = nlohmann::ordered_json::array();
  if (!options.json) {
    fmt::print(
        "{}: {:.0f} GFLOP/s at most on one core. Speeds count the operations of the direct algorithm, in CPU time, "
        "best of {}\n{:<38} {:<9} {:>14} {:>14} {:>14} {:>14}\n",
        kernels::to_string(kernels::best_isa()), peak, options.repeat, "layer, 16 events", "kernel", "forward",
        "to the data", "to the weights", "both at once");
  }
  for (const Layer& layer : layers(options)) {
    for (const Layer::Kernel& kernel : layer.kernels) {
      const auto part = measure_kernel(layer, kernel, options.repeat, peak);
      result["kernels"].push_back(part);
      if (options.json) continue;
      const auto cell = [&](const char* which) {
        return fmt::format("{:.0f} ({:.0f} %)", part[which]["gflop_per_s"].get<double>(),
                           100 * part[which]["share_of_peak"].get<double>());
      };
      fmt::print("{:<38} {:<9} {:>14} {:>14} {:>14} {:>14}\n", layer.name, kernel.method + (kernel.chosen ? "" : " -"),
                 cell("forward"), cell("data"), cell("weights"), cell("both"));
    }
  }
  if (options.json) fmt::print("{}\n", result.dump(2));
}

}  // namespace

void add_kernel_bench(CLI::App& bench) {
  auto options = std::make_shared<KernelBenchOptions>();
  auto* verb = bench.add_subcommand(
      "kernels", "Every convolution of the 3DGAN: forward, each gradient and both gradients at once, one thread");
  verb->add_option("--repeat", options->repeat, "measured runs, after one that is not")->check(CLI::Range(1, 1000));
  verb->add_option("--layer", options->layer, "only layers whose name holds this, e.g. generator/conv_1");
  verb->add_flag("--all", options->all, "also the algorithms that are not chosen (marked -)");
  verb->add_flag("--json", options->json, "as JSON");
  verb->footer("Example: linac bench kernels --all");
  verb->callback([options] { run_kernel_bench(*options); });
}

}  // namespace linac::cli
