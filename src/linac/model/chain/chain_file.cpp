#include "linac/model/chain/chain_file.h"

#include <fmt/format.h>

#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/weights/tensor_file.h"

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
  if (found.size() != size) throw data_error(fmt::format("tensor '{}' has not {} numbers", name, size));
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
  const std::vector<float>& radial = tensor(file, "mean_by_radius");
  const auto depth = notes.at("sensor_depth_cells").get<std::vector<float>>();
  if (depth.empty()) throw data_error("no sensors");
  Surroundings around{.detector = {.cells = {notes.at("cells_x").get<int64_t>(), notes.at("cells_y").get<int64_t>()},
                                   .sensor_depth = depth,
                                   .middle_depth = notes.at("middle_depth_cells").get<float>()},
                      .units = units,
                      .rings = {notes.at("core_cells").get<float>(), notes.at("ring_cells").get<float>()},
                      .memory = notes.at("memory").get<float>(),
                      .halo_cells = notes.at("halo_cells").get<float>(),
                      .mean_by_radius = {static_cast<int64_t>(radial.size() / depth.size()), radial}};
  return {std::move(around),
          HaloBounds(tensor(file, "halo.bounds", HaloBounds::kSize)),
          {dense(file, "layer.in"),
           dense(file, "layer.hidden"),
           dense(file, "layer.out"),
           {tensor(file, "layer.mean", depth.size()), tensor(file, "layer.width", depth.size()), units},
           tensor(file, "layer.empty", depth.size())},
          {dense(file, "cell.cell"), dense(file, "cell.shared"), dense(file, "cell.hidden"), dense(file, "cell.hit"),
           dense(file, "cell.energy_hidden"), dense(file, "cell.energy"), tensor(file, "cell.edges")}};
}

// Tensors and their names, as parts_of() takes them.
class Writer {
 public:
  void put(const std::string& name, std::vector<int64_t> shape, std::vector<float> values) {
    tensors_.push_back({name, std::move(shape), std::move(values)});
  }

  void put(const std::string& name, const Dense& dense) {
    const auto outputs = static_cast<size_t>(dense.outputs());
    std::vector<float> weights;
    for (int64_t input = 0; input < dense.inputs(); ++input) {
      const auto row = dense.weights_of(input).first(outputs);
      weights.insert(weights.end(), row.begin(), row.end());
    }
    const auto bias = dense.bias().first(outputs);
    put(name + ".weight", {dense.inputs(), dense.outputs()}, std::move(weights));
    put(name + ".bias", {dense.outputs()}, {bias.begin(), bias.end()});
  }

  void put(const std::string& name, const std::vector<float>& values) {
    put(name, {static_cast<int64_t>(values.size())}, values);
  }

  std::string encoded(const nlohmann::json& notes) const {
    std::vector<weights::TensorView> views;
    for (const auto& tensor : tensors_) views.push_back({tensor.name, tensor.shape, tensor.values});
    return weights::encode_tensors(views, notes);
  }

 private:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::vector<float> values;
  };
  std::vector<Tensor> tensors_;
};

nlohmann::json notes_of(const ChainParts& parts) {
  return {{"kind", kKind},
          {"version", 1},
          {"cells_x", parts.detector.cells.x},
          {"cells_y", parts.detector.cells.y},
          {"sensor_depth_cells", parts.detector.sensor_depth},
          {"middle_depth_cells", parts.detector.middle_depth},
          {"cell_unit_gev", parts.units.cell_gev},
          {"primary_unit_gev", parts.units.primary_gev},
          {"core_cells", parts.rings.core},
          {"ring_cells", parts.rings.ring},
          {"memory", parts.memory},
          {"halo_cells", parts.halo_cells}};
}

}  // namespace

bool is_chain_file(const std::filesystem::path& path) {
  return path.extension() == ".chain";
}

ChainFile load_chain(const std::filesystem::path& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    throw data_error(fmt::format("[model] {}: is no file", path.string()));
  return decode_chain(read_file(path), path.string());
}

ChainFile decode_chain(std::string_view bytes, const std::string& where) {
  const weights::TensorFile file = weights::decode_tensors(bytes, where);
  try {
    return {parts_of(file), primaries::range_in(file.meta, where)};
  } catch (const nlohmann::json::exception& error) {
    throw data_error(fmt::format("[model] {}: its notes are not those of a cell_chain ({})", where, error.what()));
  } catch (const Error& error) {
    throw data_error(fmt::format("[model] {}: {}", where, error.what()));
  }
}

void save_chain(const ChainFile& model, const std::filesystem::path& path) {
  const ChainParts& parts = model.parts;
  nlohmann::json notes = notes_of(parts);
  primaries::add_range(model.range, notes);
  Writer writer;
  writer.put("cell.cell", parts.network.cell);
  writer.put("cell.shared", parts.network.shared);
  writer.put("cell.hidden", parts.network.hidden);
  writer.put("cell.hit", parts.network.hit);
  writer.put("cell.energy_hidden", parts.network.energy_hidden);
  writer.put("cell.energy", parts.network.energy);
  writer.put("cell.edges", parts.network.edges);
  writer.put("halo.bounds", {HaloBounds::kKinds, HaloBounds::kBins}, parts.halo.chances());
  writer.put("layer.in", parts.layer_energy.in());
  writer.put("layer.hidden", parts.layer_energy.hidden());
  writer.put("layer.out", parts.layer_energy.out());
  writer.put("layer.mean", parts.layer_energy.scale().mean);
  writer.put("layer.width", parts.layer_energy.scale().width);
  writer.put("layer.empty", parts.layer_energy.empty());
  writer.put("mean_by_radius", {static_cast<int64_t>(parts.detector.sensor_depth.size()), parts.mean_by_radius.steps},
             parts.mean_by_radius.values);
  write_file_atomically(path, writer.encoded(notes));
}

}  // namespace linac::chain
