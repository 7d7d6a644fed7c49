#include "linac/model/models/inclusive_classifier/networks.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"

namespace linac::models::inclusive_classifier {
namespace {

using job::InclusiveClassifierSettings;

int dense(graph::Builder& b, const std::string& name, int x, int64_t units, const char* activation) {
  return b.add("Dense", name, {x}, {{"units", units}, {"activation", activation}});
}

int dropout(graph::Builder& b, const InclusiveClassifierSettings& settings, int x) {
  return b.add("Dropout", "dropout", {x}, {{"rate", settings.dropout}});
}

// What a list of particles becomes: some numbers by a recurrent layer.
int recurrent(graph::Builder& b, const InclusiveClassifierSettings& settings, const std::string& op, int x) {
  x = b.add("Masking", "masking", {x}, {{"mask_value", 0.0}});
  x = b.add(op, op == "GRU" ? "gru" : "lstm", {x}, {{"units", settings.units}});
  return dropout(b, settings, x);
}

// One block of "Attention is all you need" (arXiv:1706.03762) over the particles, which have no order, and their mean.
int transformer(graph::Builder& b, const InclusiveClassifierSettings& settings, int x) {
  const auto& [width, heads, inner] = settings.transformer;
  const auto joined = [&](const std::string& number, int old, int change) {
    const int sum = b.add("Add", "add_" + number, {old, change});
    return b.add("LayerNormalization", "norm_" + number, {sum}, {{"epsilon", 1e-3}});
  };
  x = b.add("Masking", "masking", {x}, {{"mask_value", 0.0}});
  x = dense(b, "embedding", x, width, "relu");
  const int attended =
      b.add("MultiHeadAttention", "attention", {x, x}, {{"num_heads", heads}, {"key_dim", width / heads}});
  x = joined("1", x, attended);
  x = joined("2", x, dense(b, "inner_2", dense(b, "inner_1", x, inner, "relu"), width, "linear"));
  x = b.add("GlobalAveragePooling1D", "mean", {x});
  return dropout(b, settings, x);
}

// "dense", "dense_2", "dense_3", ...
int dense_layers(graph::Builder& b, const InclusiveClassifierSettings& settings, int x) {
  for (size_t i = 0; i < settings.dense_units.size(); ++i)
    x = dense(b, i == 0 ? "dense" : fmt::format("dense_{}", i + 1), x, settings.dense_units[i], "relu");
  return x;
}

}  // namespace

graph::Graph network(const InclusiveClassifierSettings& settings) {
  const std::string& variant = settings.variant;
  graph::Builder b("inclusive_classifier_" + variant);
  const auto list = [&] { return b.input("GRU_input", {settings.particles, kParticleFeatures}); };
  const auto event = [&] { return b.input("HLF_input", {kEventFeatures}); };
  const auto classes = [&](int x) { return b.finish({dense(b, "label", x, kClasses, "softmax")}); };
  if (variant == "hlf") {
    int x = event();
    for (size_t i = 0; i < settings.hlf_units.size(); ++i)
      x = dense(b, fmt::format("dense_{}", i + 1), x, settings.hlf_units[i], "relu");
    return classes(x);
  }
  if (variant == "particles") return classes(dense_layers(b, settings, recurrent(b, settings, "GRU", list())));
  if (variant == "transformer") return classes(dense_layers(b, settings, transformer(b, settings, list())));
  LINAC_CHECK(variant == "gru" || variant == "lstm");
  const int particle_input = list(), event_input = event();
  const int read = recurrent(b, settings, variant == "gru" ? "GRU" : "LSTM", particle_input);
  const int all = b.add("Concatenate", "concatenate", {read, event_input}, {{"axis", -1}});
  return classes(dense_layers(b, settings, all));
}

}  // namespace linac::models::inclusive_classifier
