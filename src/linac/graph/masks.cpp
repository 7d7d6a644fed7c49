#include "linac/graph/masks.h"

#include <set>

namespace linac::graph {

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
  if (join.contains(op)) return MaskRule::kJoins;
  return hand_on.contains(op) ? MaskRule::kHandsOn : MaskRule::kDrops;
}

}  // namespace linac::graph
