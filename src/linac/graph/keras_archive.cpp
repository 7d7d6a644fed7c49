#include "linac/graph/keras_archive.h"

#include <fmt/format.h>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/graph/keras_config.h"
#include "linac/graph/weight_store.h"
#include "linac/graph/zip_archive.h"

namespace linac::graph {
namespace {

constexpr uint64_t kJsonBytesMax = uint64_t{64} << 20;
constexpr uint64_t kWeightBytesMax = uint64_t{8} << 30;
// The version whose file format this is; without a date, so that equal models are equal files.
constexpr const char* kMetadata = R"({"keras_version": "3.3.3"})";

// Where each node's first weight is in WeightValues.
std::vector<size_t> first_weights(const Graph& graph) {
  std::vector<size_t> first{0};
  for (const Node& node : graph.nodes) first.push_back(first.back() + node.weights.size());
  return first;
}

KerasModel read_members(ZipReader& archive) {
  const auto config_text = archive.read("config.json", kJsonBytesMax);
  if (!config_text) {
    throw user_error(
        "[keras] no config.json inside: not a .keras file of Keras 3; save it with model.save('name.keras')");
  }
  KerasConfig config = read_keras_config(*config_text);
  const auto stored = archive.read("model.weights.h5", kWeightBytesMax);
  if (!stored)
    throw user_error("[keras] no model.weights.h5 inside; save the whole model with model.save('name.keras')");
  KerasModel model;
  WeightStore store(*stored);
  for (size_t i = 0; i < config.graph.nodes.size(); ++i) {  // another call of a layer has none of its own
    for (auto& values : store.read(config.groups[i], config.graph.nodes[i])) {
      model.weights.values.push_back(std::move(values));
    }
  }
  if (const auto extra = archive.read("linac.json", kJsonBytesMax)) {
    model.extra = nlohmann::json::parse(*extra, nullptr, false);
    if (model.extra.is_discarded()) throw user_error("[keras] linac.json inside is not JSON; is the file complete?");
  }
  model.graph = std::move(config.graph);
  return model;
}

}  // namespace

void write_keras(const Graph& graph, const WeightValues& weights, const std::filesystem::path& path,
                 const nlohmann::json& extra) {
  const std::vector<size_t> first = first_weights(graph);
  LINAC_CHECK(weights.values.size() == first.back());
  const WrittenKerasConfig written = write_keras_config(graph);
  std::vector<StoredLayer> layers;
  for (size_t i = 0; i < written.order.size(); ++i) {
    const auto node = static_cast<size_t>(written.order[i]);
    layers.push_back({written.groups[i], &graph.nodes[node], weights.values.data() + first[node]});
  }
  std::vector<ZipMember> members{{"metadata.json", kMetadata},
                                 {"config.json", written.config.dump()},
                                 {"model.weights.h5", write_weight_store(layers)}};
  if (!extra.is_null()) members.push_back({"linac.json", extra.dump(2)});
  write_file_atomically(path, write_zip(members));
}

KerasModel read_keras(const std::filesystem::path& path) {
  ZipReader archive(path);
  try {
    return read_members(archive);
  } catch (const Error& error) {
    // What reads a part of the file does not know its name.
    const std::string message = error.what();
    if (message.find(path.string()) != std::string::npos) throw;
    const size_t tag_end = message.find("] ");
    throw user_error(fmt::format("[keras] {}: {}", path.string(),
                                 tag_end == std::string::npos ? message : message.substr(tag_end + 2)));
  }
}

}  // namespace linac::graph
