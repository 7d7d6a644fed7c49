#include "linac/chain/chain_file.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/weights/tensor_file.h"

namespace linac::chain {
namespace {

constexpr const char* kKind = "cell_chain";

const std::vector<float>& tensor(const weights::TensorFile& file, const std::string& name) {
  const auto found = file.tensors.find(name);
  if (found == file.tensors.end()) throw data_error(fmt::format("no tensor '{}'", name));
  return found->second;
}

const std::vector<float>& tensor(const weights::TensorFile& file, const std::string& name, size_t size) {
  const std::vector<float>& found = tensor(file, name);
  if (found.size() != size) throw data_error(fmt::format("tensor '{}' is not one number a layer", name));
  return found;
}

// [inputs][outputs] and [outputs].
Dense dense(const weights::TensorFile& file, const std::string& name) {
  const std::vector<float>&weights = tensor(file, name + ".weight"), &bias = tensor(file, name + ".bias");
  if (bias.empty() || weights.empty() || weights.size() % bias.size() != 0)
    throw data_error(fmt::format("the weights of '{}' are no matrix beside its bias", name));
  const auto outputs = static_cast<int64_t>(bias.size());
  return {static_cast<int64_t>(weights.size()) / outputs, outputs, weights, bias};
}

ChainParts parts_of(const weights::TensorFile& file) {
  const nlohmann::json& notes = file.meta;
  if (notes.at("kind").get<std::string>() != kKind) throw data_error("not a model of kind cell_chain");
  const Units units{notes.at("cell_unit_gev").get<float>(), notes.at("primary_unit_gev").get<float>()};
  std::vector<Halo::Zone> zones;
  for (const auto& zone : notes.at("halo").at("zones")) {
    const auto& ends = zone.at("ends_cells");
    zones.push_back(
        {ends.is_null() ? std::numeric_limits<float>::infinity() : ends.get<float>(), zone.at("part").get<float>()});
  }
  const std::vector<float>& radial = tensor(file, "mean_by_radius");
  const auto depth = notes.at("sensor_depth_cells").get<std::vector<float>>();
  if (depth.empty()) throw data_error("no sensors");
  return {.detector = {.cells = {notes.at("cells_x").get<int64_t>(), notes.at("cells_y").get<int64_t>()},
                       .sensor_depth = depth,
                       .middle_depth = notes.at("middle_depth_cells").get<float>()},
          .units = units,
          .rings = {notes.at("core_cells").get<float>(), notes.at("ring_cells").get<float>()},
          .halo = {notes.at("halo").at("begins_cells").get<float>(), std::move(zones)},
          .memory = notes.at("memory").get<float>(),
          .mean_by_radius = {static_cast<int64_t>(radial.size() / depth.size()), radial},
          .layer_energy = {dense(file, "layer.in"), dense(file, "layer.hidden"), dense(file, "layer.out"),
                           tensor(file, "layer.mean", depth.size()), tensor(file, "layer.width", depth.size()),
                           tensor(file, "layer.empty", depth.size()), units},
          .network = {dense(file, "cell.cell"), dense(file, "cell.shared"), dense(file, "cell.hidden"),
                      dense(file, "cell.hit"), dense(file, "cell.energy_hidden"), dense(file, "cell.energy"),
                      tensor(file, "cell.edges")}};
}

}  // namespace

bool is_chain_file(const std::filesystem::path& path) {
  return path.extension() == ".chain";
}

ChainFile load_chain(const std::filesystem::path& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw data_error(fmt::format("[model] {}: is no file", path.string()));
  const weights::TensorFile file = weights::decode_tensors(read_file(path), path.string());
  try {
    return {parts_of(file), weights::range_in(file.meta, path.string())};
  } catch (const nlohmann::json::exception& error) {
    throw data_error(
        fmt::format("[model] {}: its notes are not those of a cell_chain ({})", path.string(), error.what()));
  } catch (const Error& error) {
    throw data_error(fmt::format("[model] {}: {}", path.string(), error.what()));
  }
}

}  // namespace linac::chain
