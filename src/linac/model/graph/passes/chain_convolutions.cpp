#include "linac/model/graph/passes/chain_convolutions.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/window.h"
#include "linac/model/graph/passes/rewrite.h"
#include "linac/model/graph/split/split_graph.h"

namespace linac::graph {
namespace {

bool is_convolution(const Node& node) {
  return node.op == "Conv3D" || node.op == "UpsampleConv3D";
}

bool normalizes_channels(const Node& node) {
  const auto axis = node.attributes.find("axis");
  return node.op == "BatchNormalization" && (axis == node.attributes.end() || *axis == -1 || *axis == 4);
}

bool is_plain_pooling(const Node& node, const char* op) {
  if (node.op != op || node.attributes.value("padding", "valid") != "valid" || node.attributes.contains(kOutside))
    return false;
  const Window window = pool_window(node, 3);
  return window.strides == window.size;
}

/// Whether no part has cells of the same row: nn exchanges whole ones.
bool is_halo_of_rows(const Node& node) {
  return node.op == kPartHalo && !node.attributes.at("lowest").get<bool>() && node.attributes.at("grid").at(2) == 1;
}

bool draws_whole_rows(const Node& node) {
  const auto region = node.attributes.find(kRegion);
  if (region == node.attributes.end()) return true;
  const Region cells = region_from(*region);
  return cells[2].size() == node.attributes.at(kImage).at(2).get<int64_t>();
}

bool is_cheap_activation(const Node& node) {
  const std::string name = node.attributes.value("activation", "linear");
  return name == "linear" || name == "relu";
}

bool is_narrow(const Graph& graph, const Node& node) {
  const Shape& in = graph.nodes[static_cast<size_t>(node.inputs.at(0))].output;
  return in.size() == 4 && in[3] <= kChainChannelsMax && node.output[3] <= kChainChannelsMax;
}

/// Walks along nodes that follow each other directly: node i + 1 reads node i, and nobody else does.
class Walk {
 public:
  /// `shared`: nodes whose layer is called more than once, which stay what they are.
  Walk(const Graph& graph, const std::vector<bool>& shared, size_t first)
      : graph_(graph), shared_(shared), next_(first) {}

  /// Takes the next node if it continues the walk and pleases.
  template <class Wanted>
  bool take(const Wanted& wanted) {
    if (next_ >= graph_.nodes.size()) return false;
    const Node& node = graph_.nodes[next_];
    if (!taken_.empty() && (node.inputs != std::vector<int>{static_cast<int>(taken_.back())} ||
                            readers(graph_, static_cast<int>(taken_.back())) != 1)) {
      return false;
    }
    if (!wanted(node) || shared_[next_] || node.mask >= 0) return false;
    if (is_frozen(node) && node.op != "BatchNormalization") return false;  // whose weights would want no gradient
    if (always_predicts(node) && (node.op == "BatchNormalization" || node.op == "Dropout")) return false;
    taken_.push_back(next_++);
    return true;
  }

  bool take_op(const char* op) {
    return take([op](const Node& node) { return node.op == op; });
  }

  /// A whole stage, or nothing.
  bool take_stage() {
    const Walk before = *this;
    const bool padded = (!taken_.empty() && take(is_halo_of_rows)) || take_op("ZeroPadding3D");
    const auto fits = [&](const Node& node) {
      const bool valid = node.op == "Conv3D" && node.attributes.value("padding", "valid") == "valid";
      return is_convolution(node) && is_dense_conv3d(node) && (!padded || valid) && is_narrow(graph_, node) &&
             is_cheap_activation(node);
    };
    if (!take(fits)) {
      *this = before;
      return false;
    }
    if (graph_.nodes[taken_.back()].attributes.value("activation", "linear") == "linear") {
      take([](const Node& node) {
        return node.op == "LeakyReLU" || (node.op == "Activation" && is_cheap_activation(node));
      });
    }
    take([](const Node& node) { return is_plain_pooling(node, "MaxPooling3D"); });
    take(normalizes_channels);
    take([](const Node& node) { return node.op == "Dropout" && draws_whole_rows(node); });
    return true;
  }

  const std::vector<size_t>& taken() const { return taken_; }

  Walk& operator=(const Walk& other) {  // of the same graph
    next_ = other.next_;
    taken_ = other.taken_;
    return *this;
  }
  Walk(const Walk&) = default;

 private:
  const Graph& graph_;
  const std::vector<bool>& shared_;
  size_t next_;
  std::vector<size_t> taken_;
};

std::vector<size_t> chain_from(const Graph& graph, const std::vector<bool>& shared, size_t first) {
  Walk walk(graph, shared, first);
  while (walk.take_stage()) {
  }
  if (!walk.taken().empty()) walk.take([](const Node& node) { return is_plain_pooling(node, "AveragePooling3D"); });
  return walk.taken();
}

std::vector<bool> shared_nodes(const Graph& graph) {
  std::vector<bool> shared(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].shares < 0) continue;
    shared[i] = shared[static_cast<size_t>(graph.nodes[i].shares)] = true;
  }
  return shared;
}

Node joined(const Graph& graph, const std::vector<size_t>& members) {
  Node chain;
  chain.name = graph.nodes[members.front()].name + "..." + graph.nodes[members.back()].name;
  chain.op = "ConvolutionChain";
  chain.inputs = graph.nodes[members.front()].inputs;
  chain.attributes["layers"] = nlohmann::json::array();
  for (const size_t member : members) {
    const Node& node = graph.nodes[member];
    chain.attributes["layers"].push_back(
        {{"op", node.op}, {"name", node.name}, {"attributes", node.attributes}, {"index", member}});
  }
  return chain;
}

}  // namespace

std::vector<Node> chain_layers(const Node& chain, const Shape& input) {
  std::vector<Node> layers;
  Shape shape = input;
  for (const auto& layer : chain.attributes.at("layers")) {
    Node node;
    node.name = layer.at("name");
    node.op = layer.at("op");
    node.attributes = layer.at("attributes");
    infer_layer(node, {shape});
    shape = node.output;
    layers.push_back(std::move(node));
  }
  return layers;
}

Graph chain_convolutions(const Graph& graph) {
  Graph result = graph;
  const std::vector<bool> shared = shared_nodes(graph);
  std::vector<bool> gone(graph.nodes.size(), false);
  std::vector<int> replaced(graph.nodes.size());
  std::iota(replaced.begin(), replaced.end(), 0);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const std::vector<size_t> members = chain_from(graph, shared, i);
    if (members.empty()) continue;
    // The chain stands where its last layer stood.
    for (const size_t member : members) {
      gone[member] = true;
      replaced[member] = static_cast<int>(members.back());
    }
    gone[members.back()] = false;
    result.nodes[members.back()] = joined(graph, members);
    i = members.back();
  }
  return without(result, gone, replaced);
}

}  // namespace linac::graph
