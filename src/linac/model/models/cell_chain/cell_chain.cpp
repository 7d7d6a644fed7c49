#include "linac/model/models/cell_chain/cell_chain.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/model/nn/executable.h"
#include "linac/model/nn/gradient.h"
#include "linac/model/nn/tensor_view.h"
#include "linac/model/nn/turned_values.h"

namespace linac::models::cell_chain {
namespace {

using nlohmann::json;

constexpr uint32_t kInitLane = 0;

int dense(graph::Builder& b, const char* name, int x, int64_t units, bool relu) {
  json attributes{{"units", units}, {"kernel_initializer", relu ? "he_uniform" : "glorot_uniform"}};
  if (relu) attributes["activation"] = "relu";
  return b.add("Dense", name, {x}, std::move(attributes));
}

graph::Graph networks(const job::CellChainSettings& settings, int64_t layers) {
  graph::Builder b("cell_chain");
  const int cell = b.input("cell_input", {chain::kCellFeatures + chain::shared_features(layers)});
  const int seen = dense(b, "cell_hidden", dense(b, "cell", cell, settings.hidden, true), settings.hidden, true);
  const int hit = dense(b, "hit", seen, 1, false);
  const int energy =
      dense(b, "energy", dense(b, "energy_hidden", seen, settings.hidden, true), settings.classes, false);
  const int history = b.input("layer_input", {chain::layer_inputs(layers)});
  const int layer =
      dense(b, "layer_hidden", dense(b, "layer", history, settings.layer_hidden, true), settings.layer_hidden, true);
  return b.finish({hit, energy, dense(b, "layer_energy", layer, 1 + 3 * settings.components, false)});
}

at::Tensor matrix(std::span<const float> values, int64_t rows) {
  return nn::tensor_view(values, {rows, rows == 0 ? 0 : static_cast<int64_t>(values.size()) / rows});
}

at::Tensor column(std::span<const float> values) {
  return nn::tensor_view(values, {static_cast<int64_t>(values.size())});
}

}  // namespace

struct CellChain::Network {
  graph::Graph graph;
  int64_t components;

  // The losses in the order of kLossNames, sums over all rows.
  std::vector<at::Tensor> losses(const graph::Parameters& parameters, nn::Gradients gradients, const Tables& tables,
                                 chain::TrainingRows& rows, nn::Weights& weights) const {
    weights = nn::make_weights(graph, parameters, gradients);
    const auto [hits, energies] = cells(weights, tables, rows);
    const at::Tensor layers = layer_energies(weights, rows);
    return {hits + energies + layers, hits, energies, layers};
  }

 private:
  at::Tensor apply(const nn::Weights& weights, const char* layer, const at::Tensor& x) const {
    const std::vector<at::Tensor>& values = weights.nodes[static_cast<size_t>(graph.find(layer))];
    return at::addmm(values[1], x, values[0]);
  }

  // Energies of cells that are not hit are not computed.
  std::pair<at::Tensor, at::Tensor> cells(const nn::Weights& weights, const Tables& tables,
                                          chain::TrainingRows& rows) const {
    const auto count = static_cast<int64_t>(rows.cells());
    at::Tensor x = matrix(rows.features, count);
    x.sub_(column(tables.feature_mean)).div_(column(tables.feature_width));
    x = at::relu(apply(weights, "cell_hidden", at::relu(apply(weights, "cell", x))));
    nn::TurnedValues(1).see(0, x);
    std::vector<float> is_hit(rows.cells());  // autograd needs copies, which outlive these
    std::vector<int64_t> hits, classes;
    double octaves = 0;  // ln of the width of the hits' classes
    for (size_t i = 0; i < rows.cells(); ++i) {
      const int32_t outcome = rows.classes[i];
      if (outcome == chain::kNoHit) continue;
      is_hit[i] = 1;
      hits.push_back(static_cast<int64_t>(i));
      classes.push_back(outcome);
      const auto k = static_cast<size_t>(outcome);
      octaves += std::log(static_cast<double>(tables.edges[k + 1]) - static_cast<double>(tables.edges[k]));
    }
    const at::Tensor hit = at::binary_cross_entropy_with_logits(
        apply(weights, "hit", x).squeeze(1), column(is_hit).clone(), column(rows.weights), {}, at::Reduction::Sum);
    const auto number = static_cast<int64_t>(hits.size());
    const at::Tensor of_hits = x.index_select(0, at::from_blob(hits.data(), {number}, at::kLong).clone());
    const at::Tensor logits = apply(weights, "energy", at::relu(apply(weights, "energy_hidden", of_hits)));
    const at::Tensor chosen =
        at::log_softmax(logits, 1).gather(1, at::from_blob(classes.data(), {number, 1}, at::kLong).clone());
    return {hit, octaves - chosen.sum()};
  }

  // The mixture of normal distributions that chain::LayerEnergy draws from.
  at::Tensor layer_energies(const nn::Weights& weights, const chain::TrainingRows& rows) const {
    const auto count = static_cast<int64_t>(rows.layers());
    at::Tensor x = matrix(rows.layer_inputs, count);
    x = at::relu(apply(weights, "layer_hidden", at::relu(apply(weights, "layer", x))));
    const at::Tensor out = apply(weights, "layer_energy", x);
    const at::Tensor empty = column(rows.layer_empty);
    const at::Tensor mean =
        chain::kMeanScale * out.slice(1, 1 + components, 1 + 2 * components) + column(rows.layer_from).unsqueeze(1);
    const at::Tensor log_width = out.slice(1, 1 + 2 * components).clamp(chain::kWidthLnMin, chain::kWidthLnMax);
    const at::Tensor widths = (column(rows.layer_widths).unsqueeze(1) - mean) / log_width.exp();
    const at::Tensor log_weight = at::log_softmax(out.slice(1, 1, 1 + components), 1);
    const double half_log_circle = 0.5 * std::log(2 * std::numbers::pi);
    const at::Tensor log_density = at::logsumexp(log_weight - 0.5 * widths * widths - log_width - half_log_circle, 1);
    const at::Tensor is_empty =
        at::binary_cross_entropy_with_logits(out.select(1, 0), empty, {}, {}, at::Reduction::Sum);
    return is_empty - (log_density * (1 - empty)).sum();
  }
};

CellChain::CellChain(const job::CellChainSettings& settings, int64_t layers)
    : network_(new Network{networks(settings, layers), settings.components}) {}

CellChain::~CellChain() = default;

const graph::Graph& CellChain::graph() const {
  return network_->graph;
}

graph::Parameters CellChain::initial(uint64_t seed) const {
  graph::Parameters parameters = graph::Parameters::of(graph());
  graph::initialize(graph(), seed, kInitLane, parameters);
  return parameters;
}

Contribution CellChain::step(const graph::Parameters& parameters, const Tables& tables, chain::TrainingRows rows,
                             double shower_weight, const graph::GradientReady& ready) const {
  nn::Weights weights;
  const auto losses = network_->losses(parameters, nn::Gradients::kWanted, tables, rows, weights);
  Contribution contribution;
  for (const at::Tensor& loss : losses) contribution.losses.push_back((loss * shower_weight).item<float>());
  contribution.gradient = nn::flat_gradient(losses[0] * shower_weight, weights, parameters.trainable_layout, ready);
  contribution.judge();
  return contribution;
}

std::vector<float> CellChain::test(const graph::Parameters& parameters, const Tables& tables, chain::TrainingRows rows,
                                   double shower_weight) const {
  const at::NoGradGuard no_gradient;
  nn::Weights weights;
  std::vector<float> values;
  for (const at::Tensor& loss : network_->losses(parameters, nn::Gradients::kNone, tables, rows, weights))
    values.push_back((loss * shower_weight).item<float>());
  return values;
}

chain::ChainParts parts_of(const graph::Parameters& parameters, const Tables& tables) {
  const auto values = [&](const std::string& name) { return parameters.values(name); };
  const auto layer = [&](const std::string& name) {
    const std::span<const float> kernel = values(name + "/kernel"), bias = values(name + "/bias");
    const auto outputs = static_cast<int64_t>(bias.size());
    return chain::Dense(static_cast<int64_t>(kernel.size()) / outputs, outputs, kernel, bias);
  };
  // The first layer takes features as they are.
  const std::span<const float> kernel = values("cell/kernel"), bias = values("cell/bias");
  std::vector<float> scaled(kernel.begin(), kernel.end()), shifted(bias.begin(), bias.end());
  const size_t outputs = bias.size();
  for (size_t input = 0; input < tables.feature_mean.size(); ++input) {
    for (size_t k = 0; k < outputs; ++k) {
      float& weight = scaled[input * outputs + k];
      weight /= tables.feature_width[input];
      shifted[k] -= weight * tables.feature_mean[input];
    }
  }
  const auto of_cell = static_cast<size_t>(chain::kCellFeatures) * outputs;
  const auto width = static_cast<int64_t>(outputs), inputs = static_cast<int64_t>(tables.feature_mean.size());
  const std::span<const float> all = scaled;
  chain::ChainParts parts{tables.around,
                          {},
                          {layer("layer"), layer("layer_hidden"), layer("layer_energy"), tables.scale, tables.empty},
                          {chain::Dense(chain::kCellFeatures, width, all.first(of_cell), std::vector<float>(outputs)),
                           chain::Dense(inputs - chain::kCellFeatures, width, all.subspan(of_cell), shifted),
                           layer("cell_hidden"), layer("hit"), layer("energy_hidden"), layer("energy"), tables.edges}};
  parts.halo = chain::measured_bounds(parts);
  return parts;
}

graph::Parameters parameters_of(const graph::Graph& graph, const chain::ChainParts& parts, const Tables& tables) {
  graph::Parameters parameters = graph::Parameters::of(graph);
  const auto put_kernel = [](const chain::Dense& dense, std::span<float> to) {
    const auto outputs = static_cast<size_t>(dense.outputs());
    LINAC_CHECK(to.size() == static_cast<size_t>(dense.inputs()) * outputs);
    for (size_t input = 0; input * outputs < to.size(); ++input)
      std::ranges::copy(dense.weights_of(static_cast<int64_t>(input)).first(outputs),
                        to.subspan(input * outputs).begin());
  };
  const auto put = [&](const std::string& name, const chain::Dense& dense) {
    put_kernel(dense, parameters.values(name + "/kernel"));
    const std::span<float> bias = parameters.values(name + "/bias");
    LINAC_CHECK(static_cast<int64_t>(bias.size()) == dense.outputs());
    std::ranges::copy(dense.bias().first(bias.size()), bias.begin());
  };
  const chain::CellNetwork& network = parts.network;
  put("cell_hidden", network.hidden);
  put("hit", network.hit);
  put("energy_hidden", network.energy_hidden);
  put("energy", network.energy);
  put("layer", parts.layer_energy.in());
  put("layer_hidden", parts.layer_energy.hidden());
  put("layer_energy", parts.layer_energy.out());
  // The first layer takes features as they are, and here in the tables' scales.
  const std::span<float> kernel = parameters.values("cell/kernel"), bias = parameters.values("cell/bias");
  const size_t outputs = bias.size(), of_cell = static_cast<size_t>(chain::kCellFeatures) * outputs;
  put_kernel(network.cell, kernel.first(of_cell));
  put_kernel(network.shared, kernel.subspan(of_cell));
  for (size_t k = 0; k < outputs; ++k) {
    double sum = static_cast<double>(network.cell.bias()[k]) + static_cast<double>(network.shared.bias()[k]);
    for (size_t input = 0; input < tables.feature_mean.size(); ++input) {
      float& weight = kernel[input * outputs + k];
      sum += static_cast<double>(weight) * static_cast<double>(tables.feature_mean[input]);
      weight *= tables.feature_width[input];
    }
    bias[k] = static_cast<float>(sum);
  }
  return parameters;
}

}  // namespace linac::models::cell_chain
