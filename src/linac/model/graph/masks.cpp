#include "linac/model/graph/masks.h"

#include <algorithm>
#include <set>
#include <vector>

namespace linac::graph {

bool masks_steps(const Node& recurrent) {
  return recurrent.inputs.size() == 1 || recurrent.mask >= 0 || recurrent.attributes.value("mask_with_states", false);
}

MaskRule mask_rule(const Node& node) {
  static const std::set<std::string> hand_on{"Activation",
                                             "ReLU",
                                             "LeakyReLU",
                                             "PReLU",
                                             "ELU",
                                             "Softmax",
                                             "Dense",
                                             "Dropout",
                                             "GaussianDropout",
                                             "AlphaDropout",
                                             "GaussianNoise",
                                             "SpatialDropout1D",
                                             "SpatialDropout2D",
                                             "SpatialDropout3D",
                                             "Rescaling",
                                             "ActivityRegularization",
                                             "BatchNormalization",
                                             "LayerNormalization",
                                             "GroupNormalization",
                                             "UnitNormalization",
                                             "Normalization",
                                             "TimeDistributed",
                                             "MultiHeadAttention"};
  static const std::set<std::string> join{"Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"};
  const std::string& op = node.op;
  const auto of_steps = [](const nlohmann::json& settings) {
    return settings.value("return_sequences", false) ? MaskRule::kHandsOn : MaskRule::kDrops;
  };
  if (op == "Masking") return MaskRule::kMakes;
  if (op == "Embedding") return node.attributes.value("mask_zero", false) ? MaskRule::kMakes : MaskRule::kDrops;
  if (op == "GRU" || op == "LSTM" || op == "SimpleRNN") return of_steps(node.attributes);
  if (op == "Bidirectional") return of_steps(node.attributes.at("layer").at("attributes"));
  if (op == "Concatenate") return MaskRule::kConcatenates;
  // The second sequence of a Bidirectional that does not merge; no other output but the first has a mask.
  if (op == kPart) return node.attributes.value("masked", false) ? MaskRule::kHandsOn : MaskRule::kDrops;
  if (join.contains(op)) return MaskRule::kJoins;
  return hand_on.contains(op) ? MaskRule::kHandsOn : MaskRule::kDrops;
}

bool has_mask(const Graph& graph, int node) {
  std::vector<size_t> axes(graph.nodes.size());  // of the mask, the batch counted; 0: none
  for (size_t i = 0; i <= static_cast<size_t>(node); ++i) {
    const Node& reader = graph.nodes[i];
    std::vector<size_t> read;
    for (const int input : reader.inputs) read.push_back(axes[static_cast<size_t>(input)]);
    if (reader.mask >= 0) read.at(0) = graph.nodes[static_cast<size_t>(reader.mask)].output.size() + 1;
    switch (mask_rule(reader)) {
      case MaskRule::kDrops:
        break;
      case MaskRule::kMakes:
        axes[i] = reader.output.size();
        break;
      case MaskRule::kHandsOn:
        axes[i] = read[0] <= reader.output.size() + 1 ? read[0] : 0;
        break;
      case MaskRule::kJoins:
        axes[i] = *std::min_element(read.begin(), read.end()) > 0 ? read[0] : 0;
        break;
      case MaskRule::kConcatenates:
        axes[i] = *std::max_element(read.begin(), read.end()) > 0 ? reader.output.size() : 0;
        break;
    }
  }
  return axes[static_cast<size_t>(node)] > 0;
}

}  // namespace linac::graph
