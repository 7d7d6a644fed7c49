#include "linac/models/inclusive_classifier/networks.h"

#include "linac/base/error.h"

namespace linac::models::inclusive_classifier {
namespace {

using nlohmann::json;

constexpr double kDropout = 0.2;

int dense(graph::Builder& b, const std::string& name, int x, int64_t units, const char* activation) {
  return b.add("Dense", name, {x}, {{"units", units}, {"activation", activation}});
}

// What a list of particles becomes: 50 numbers by a recurrent layer.
int recurrent(graph::Builder& b, const std::string& op, int x) {
  constexpr int64_t kUnits = 50;
  x = b.add("Masking", "masking", {x}, {{"mask_value", 0.0}});
  x = b.add(op, op == "GRU" ? "gru" : "lstm", {x}, {{"units", kUnits}});
  return b.add("Dropout", "dropout", {x}, {{"rate", kDropout}});
}

// One block of "Attention is all you need" (arXiv:1706.03762) over the particles, which have no order, and their mean.
int transformer(graph::Builder& b, int x) {
  constexpr int64_t kWidth = 32, kHeads = 4, kInner = 64;
  const auto joined = [&](const std::string& number, int old, int change) {
    const int sum = b.add("Add", "add_" + number, {old, change});
    return b.add("LayerNormalization", "norm_" + number, {sum}, {{"epsilon", 1e-3}});
  };
  x = b.add("Masking", "masking", {x}, {{"mask_value", 0.0}});
  x = dense(b, "embedding", x, kWidth, "relu");
  const int attended =
      b.add("MultiHeadAttention", "attention", {x, x}, {{"num_heads", kHeads}, {"key_dim", kWidth / kHeads}});
  x = joined("1", x, attended);
  x = joined("2", x, dense(b, "inner_2", dense(b, "inner_1", x, kInner, "relu"), kWidth, "linear"));
  x = b.add("GlobalAveragePooling1D", "mean", {x});
  return b.add("Dropout", "dropout", {x}, {{"rate", kDropout}});
}

}  // namespace

graph::Graph network(const std::string& variant, int64_t particles) {
  graph::Builder b("inclusive_classifier_" + variant);
  const auto list = [&] { return b.input("GRU_input", {particles, kParticleFeatures}); };
  const auto event = [&] { return b.input("HLF_input", {kEventFeatures}); };
  const auto classes = [&](int x) { return b.finish({dense(b, "label", x, kClasses, "softmax")}); };
  if (variant == "hlf") {
    int x = event();
    x = dense(b, "dense_1", x, 50, "relu");
    x = dense(b, "dense_2", x, 20, "relu");
    return classes(dense(b, "dense_3", x, 10, "relu"));
  }
  if (variant == "particles") return classes(dense(b, "dense", recurrent(b, "GRU", list()), 25, "relu"));
  if (variant == "transformer") return classes(dense(b, "dense", transformer(b, list()), 25, "relu"));
  LINAC_CHECK(variant == "gru" || variant == "lstm");
  const int particle_input = list(), event_input = event();
  const int read = recurrent(b, variant == "gru" ? "GRU" : "LSTM", particle_input);
  const int all = b.add("Concatenate", "concatenate", {read, event_input}, {{"axis", -1}});
  return classes(dense(b, "dense", all, 25, "relu"));
}

}  // namespace linac::models::inclusive_classifier
