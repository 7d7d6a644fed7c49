#include "linac/model/keras/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/python_json.h"
#include "linac/io/archive/zip_archive.h"
#include "linac/model/keras/compile.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/h5.h"
#include "linac/model/keras/hdf5_image.h"
#include "linac/model/keras/weight_store.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr uint64_t kJsonBytesMax = uint64_t{64} << 20;
constexpr uint64_t kWeightBytesMax = uint64_t{8} << 30;
// The version whose file format this is; without a date, so that equal models are equal files.
constexpr const char* kMetadata = R"({"keras_version": "3.3.3"})";

// Where each node's first weight is in WeightValues.
std::vector<size_t> first_weights(const graph::Graph& graph) {
  std::vector<size_t> first{0};
  for (const graph::Node& node : graph.nodes) first.push_back(first.back() + node.weights.size());
  return first;
}

std::string version_in(archive::ZipReader& archive) {
  const auto text = archive.read("metadata.json", kJsonBytesMax);
  const json metadata = json::parse(text.value_or(""), nullptr, false);
  const json version = metadata.is_object() ? metadata.value("keras_version", json()) : json();
  return version.is_string() ? version.get<std::string>() : "";
}

bool is_keras2(const std::string& version) {
  return version.starts_with("2.");
}

std::string weights_in(archive::ZipReader& archive) {
  auto stored = archive.read("model.weights.h5", kWeightBytesMax);
  if (!stored)
    throw user_error("[keras] no model.weights.h5 inside; save the whole model with model.save('name.keras')");
  return std::move(*stored);
}

KerasModel read_members(archive::ZipReader& archive) {
  const auto config_text = archive.read("config.json", kJsonBytesMax);
  if (!config_text) {
    throw user_error(
        "[keras] no config.json inside: not a .keras file of Keras 3; save it with model.save('name.keras')");
  }
  const std::string version = version_in(archive);
  KerasConfig config = read_keras_config(*config_text, version);
  KerasModel model;
  model.weights = WeightStore(weights_in(archive)).read_all(config);
  model.order = weight_order(config);
  if (const auto extra = archive.read("linac.json", kJsonBytesMax)) {
    model.extra = json::parse(*extra, nullptr, false);
    if (model.extra.is_discarded()) throw user_error("[keras] linac.json inside is not JSON; is the file complete?");
  }
  model.graph = std::move(config.graph);
  model.compile = json::parse(plain_json(*config_text, kAnyDepth)).value("compile_config", json());
  if (is_keras2(version)) model.compile = modern_compile_config(std::move(model.compile), model.graph);
  return model;
}

/// Of "model.json+weights.h5"; nothing if the path is of another form.
std::optional<std::pair<std::filesystem::path, std::filesystem::path>> split_parts(const std::filesystem::path& path) {
  const std::string text = path.string(), mark = ".json+";
  const size_t found = text.find(mark);
  if (found == std::string::npos) return std::nullopt;
  return std::pair{text.substr(0, found + mark.size() - 1), text.substr(found + mark.size())};
}

bool looks_like_hdf5(const std::filesystem::path& path) {
  const auto extension = path.extension();
  if (extension == ".h5" || extension == ".hdf5") return true;
  std::array<char, 8> start{};
  std::ifstream(path, std::ios::binary).read(start.data(), start.size());
  return is_hdf5({start.data(), start.size()});
}

std::string read_whole(const std::filesystem::path& path, uint64_t bytes_max) {
  std::error_code failure;
  const uint64_t bytes = std::filesystem::file_size(path, failure);
  if (failure) throw user_error(fmt::format("cannot be read ({})", failure.message()));
  if (bytes > bytes_max) throw user_error(fmt::format("is too large ({} bytes, limit {})", bytes, bytes_max));
  return read_file(path);
}

/// What reads a part of the file does not know its name.
template <typename Read>
auto naming(const std::filesystem::path& path, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    const std::string message = error.what();
    if (message.find(path.string()) != std::string::npos) throw;
    const size_t tag_end = message.starts_with('[') ? message.find("] ") : std::string::npos;
    throw user_error(fmt::format("[keras] {}: {}", path.string(),
                                 tag_end == std::string::npos ? message : message.substr(tag_end + 2)));
  }
}

/// User error with what the file seems to be, unless it begins as a zip archive does or cannot be looked at.
void need_archive(const std::filesystem::path& path) {
  static const std::map<std::string, const char*> others{
      {".onnx", "linac writes ONNX and does not compute it: give the run or the model that it was written from"},
      {".json", "a .json file is an architecture without weights: give both, model.json+weights.h5"},
      {".pb", "a SavedModel is not read: save the model as model.keras"},
      {".yaml", "is it a job? Give the model's file, or the folder of the run"}};
  std::ifstream file(path, std::ios::binary);
  std::array<char, 2> start{};
  if (!file.read(start.data(), start.size()) || (start[0] == 'P' && start[1] == 'K')) return;
  const auto found = others.find(path.extension().string());
  throw user_error(fmt::format("[keras] {}: not a model's file; {}", path.string(),
                               found != others.end()
                                   ? found->second
                                   : "give what model.save(\"model.keras\") wrote, whole, or the folder of a run"));
}

}  // namespace

std::vector<std::filesystem::path> files_of(const std::filesystem::path& model) {
  if (const auto parts = split_parts(model)) return {parts->first, parts->second};
  return {model};
}

void write_keras(const graph::Graph& graph, const graph::WeightValues& weights, const std::filesystem::path& path,
                 const nlohmann::json& extra, const Training& training) {
  const std::vector<size_t> first = first_weights(graph);
  LINAC_CHECK(weights.values.size() == first.back());
  WrittenKerasConfig written = write_keras_config(graph);
  if (!training.compile.is_null()) written.config["compile_config"] = training.compile;
  std::vector<StoredLayer> layers;
  for (size_t i = 0; i < written.order.size(); ++i) {
    const auto node = static_cast<size_t>(written.order[i]);
    layers.push_back({written.groups[i], &graph.nodes[node], weights.values.data() + first[node]});
  }
  std::vector<archive::ZipMember> members{{"metadata.json", kMetadata},
                                          {"config.json", written.config.dump()},
                                          {"model.weights.h5", write_weight_store(layers, training.optimizer)}};
  if (!extra.is_null()) members.push_back({"linac.json", extra.dump(2)});
  write_file_atomically(path, archive::write_zip(members));
}

KerasModel read_keras(const std::filesystem::path& path) {
  if (const auto parts = split_parts(path)) return read_keras_parts(parts->first, parts->second);
  return naming(path, [&] {
    if (looks_like_hdf5(path)) return read_keras_h5(read_whole(path, kWeightBytesMax));
    need_archive(path);
    archive::ZipReader archive(path);
    return read_members(archive);
  });
}

std::vector<int> written_order(const graph::Graph& graph) {
  std::vector<int> order = write_keras_config(graph).order;
  std::erase_if(order, [&](int node) { return graph.nodes[static_cast<size_t>(node)].weights.empty(); });
  return order;
}

bool read_keras_optimizer(const std::filesystem::path& path, std::vector<OptimizerVariable>& variables) {
  return naming(path, [&] {
    if (split_parts(path)) return false;
    if (looks_like_hdf5(path)) return read_h5_optimizer(read_whole(path, kWeightBytesMax), variables);
    archive::ZipReader archive(path);
    return read_archive_optimizer(weights_in(archive), is_keras2(version_in(archive)), variables);
  });
}

KerasModel read_keras_parts(const std::filesystem::path& architecture, const std::filesystem::path& weights) {
  KerasConfig config = naming(architecture, [&] { return read_keras_config(read_whole(architecture, kJsonBytesMax)); });
  KerasModel model;
  model.weights = naming(weights, [&] { return read_keras_weights(read_whole(weights, kWeightBytesMax), config); });
  model.graph = std::move(config.graph);
  return model;
}

}  // namespace linac::keras
