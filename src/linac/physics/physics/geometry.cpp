#include "linac/physics/physics/geometry.h"

#include <fmt/format.h>

#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"

namespace linac::physics {
namespace {

constexpr int64_t kLayersMax = 1000;
constexpr int64_t kCellsAcrossMax = 4096;
constexpr int64_t kImageCellsMax = int64_t{1} << 28;  // as for shower files

class Validator {
 public:
  Validator(const Geometry& geometry, const std::string& where) : geometry_(geometry), where_(where) {}

  void check() const {
    need(!geometry_.materials.empty(), "materials is empty", "list {name, z, a, density_g_cm3}");
    for (size_t i = 0; i < geometry_.materials.size(); ++i) check_material(i);
    need(!geometry_.layers.empty(), "layers is empty", "list {count, slices}");
    int64_t depth = 0;
    for (size_t i = 0; i < geometry_.layers.size(); ++i) {
      check_layer(fmt::format("layers[{}]", i), geometry_.layers[i]);
      depth += geometry_.layers[i].count;
      need(depth <= kLayersMax, fmt::format("layers: more than {} in all", kLayersMax), "lower a count");
    }
    const Cells& cells = geometry_.cells;
    for (const auto& [name, value] : {std::pair{"x", cells.x}, std::pair{"y", cells.y}}) {
      need(value >= 1 && value <= kCellsAcrossMax, fmt::format("cells.{} = {}", name, value),
           fmt::format("give 1 to {}", kCellsAcrossMax));
    }
    need_positive("cells.pitch_mm", cells.pitch_mm);
    need(cells.x * cells.y * depth <= kImageCellsMax,
         fmt::format("an image of {}x{}x{} cells", cells.x, cells.y, depth),
         fmt::format("at most {} cells in all", kImageCellsMax));
  }

 private:
  void check_material(size_t index) const {
    const Material& material = geometry_.materials[index];
    const std::string field = fmt::format("materials[{}]", index);
    need(!material.name.empty(), field + ".name is empty", "slices refer to it");
    for (size_t i = 0; i < index; ++i) {
      need(geometry_.materials[i].name != material.name, fmt::format("{}.name '{}' is taken", field, material.name),
           "names must differ");
    }
    need_positive(field + ".z", material.z);
    need_positive(field + ".a", material.a);
    need_positive(field + ".density_g_cm3", material.density_g_cm3);
    for (const auto& [name, value] :
         {std::pair{".x0_mm", material.x0_mm}, std::pair{".critical_energy_mev", material.critical_energy_mev}}) {
      need(value >= 0 && std::isfinite(value), fmt::format("{}{} = {}", field, name, value),
           "give a positive number, or 0 to derive it");
    }
  }

  void check_layer(const std::string& field, const LayerGroup& group) const {
    need(group.count >= 1 && group.count <= kLayersMax, fmt::format("{}.count = {}", field, group.count),
         fmt::format("give 1 to {}", kLayersMax));
    int sensors = 0;
    for (size_t i = 0; i < group.slices.size(); ++i) {
      const Slice& slice = group.slices[i];
      const std::string slice_field = fmt::format("{}.slices[{}]", field, i);
      check_name(slice_field + ".material", slice.material);
      need_positive(slice_field + ".thickness_mm", slice.thickness_mm);
      sensors += slice.sensor ? 1 : 0;
    }
    need(sensors == 1, fmt::format("{}.slices: {} of {} are sensors", field, sensors, group.slices.size()),
         "mark one slice of each layer with sensor: true");
  }

  void check_name(const std::string& field, const std::string& name) const {
    std::vector<std::string> known;
    for (const Material& material : geometry_.materials) known.push_back(material.name);
    for (const std::string& candidate : known)
      if (candidate == name) return;
    const auto near = nearest(name, known);
    need(false, fmt::format("{} '{}' is not among the materials", field, name),
         near ? fmt::format("did you mean '{}'?", *near) : "list it under materials");
  }

  void need_positive(const std::string& field, double value) const {
    need(value > 0 && std::isfinite(value), fmt::format("{} = {}", field, value), "give a positive number");
  }

  void need(bool holds, const std::string& what, const std::string& way_out) const {
    if (!holds) throw user_error(fmt::format("[geometry] {}: {}; {}", where_, what, way_out));
  }

  const Geometry& geometry_;
  const std::string& where_;
};

}  // namespace

int64_t Geometry::depth() const {
  int64_t layers_in_all = 0;
  for (const LayerGroup& group : layers) layers_in_all += group.count;
  return layers_in_all;
}

// Source: CLIC/compact/CLIC_o2_v04 of lcgeo (data/README.md). The mixtures' z and a are means of their composition by
// mass; ground-or-HV is a tenth of a millimetre of copper-loaded resin, its density an estimate.
Geometry clic_ecal() {
  const auto layer = [](int64_t count, double tungsten_mm) {
    return LayerGroup{count,
                      {{"tungsten-alloy", tungsten_mm},
                       {"air", 0.25},
                       {"ground-or-hv", 0.10},
                       {"silicon", 0.50, true},
                       {"air", 0.10},
                       {"silicon-pcb", 0.80},
                       {"air", 0.25}}};
  };
  return {"clic-ecal",
          {{"tungsten-alloy", 70.76, 173.6, 17.8, 3.93},
           {"silicon", 14, 28.086, 2.329, 93.7},
           {"air", 7.36, 14.73, 0.0012, 303900},
           {"ground-or-hv", 26.1, 55.5, 6.9, 19.5},
           {"silicon-pcb", 25.4, 54.5, 5.05, 28.9}},
          {layer(17, 2.4), layer(8, 4.8)},
          {51, 51, 5.1}};
}

Geometry parse_geometry(const std::string& yaml, const std::string& where) {
  Geometry geometry;
  config::read(config::parse_text(yaml, where), geometry, where);
  validate(geometry, where);
  return geometry;
}

Geometry load_geometry(const std::filesystem::path& path) {
  return parse_geometry(read_file(path), path.string());
}

void validate(const Geometry& geometry, const std::string& where) {
  Validator(geometry, where).check();
}

double radiation_length_mm(const Material& material) {
  if (material.x0_mm > 0) return material.x0_mm;
  const double g_cm2 = 716.4 * material.a / (material.z * (material.z + 1) * std::log(287 / std::sqrt(material.z)));
  return 10 * g_cm2 / material.density_g_cm3;
}

double critical_energy_mev(const Material& material) {
  if (material.critical_energy_mev > 0) return material.critical_energy_mev;
  const double x0_g_cm2 = radiation_length_mm(material) / 10 * material.density_g_cm3;
  return 2.66 * std::pow(x0_g_cm2 * material.z / material.a, 1.1);
}

}  // namespace linac::physics
