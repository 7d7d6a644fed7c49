#include "linac/model/graph/layers/image.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

constexpr double kContrastMax = 1e6;

Range bounds_of(const Node& node) {
  return node.op == "RandomContrast" ? Range{0, kContrastMax} : Range{-1, 1};
}

bool are_two_numbers(const json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
}

void check_choice(const Node& node, const std::string& attribute, const std::string& otherwise,
                  const std::vector<std::string>& known) {
  const std::string name = text(node, attribute, otherwise);
  if (std::find(known.begin(), known.end(), name) == known.end())
    refuse(node, fmt::format("{} '{}' is not supported (only {})", attribute, name, fmt::join(known, ", ")));
}

void infer_varied(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 3);
  need_channels_last(node);
  node.output = inputs[0];
}

void infer_flip(Node& node, const std::vector<Shape>& inputs) {
  infer_varied(node, inputs);
  check_choice(node, "mode", "horizontal_and_vertical", {"horizontal", "vertical", "horizontal_and_vertical"});
}

// Translation, rotation and zoom.
void infer_moved(Node& node, const std::vector<Shape>& inputs) {
  infer_varied(node, inputs);
  check_choice(node, "fill_mode", "reflect", {"reflect", "wrap", "constant", "nearest"});
  check_choice(node, "interpolation", "bilinear", {"bilinear", "nearest"});
  number(node, "fill_value", 0);
  const auto check_factor = [&](const char* factor) {
    if (factor_range(node, factor).low <= -1 && node.op == "RandomZoom")
      refuse(node, fmt::format("'{}' must be above -1", factor));
  };
  check_factor(node.op == "RandomRotation" ? "factor" : "height_factor");
  if (node.op == "RandomTranslation" || node.attributes.contains("width_factor")) check_factor("width_factor");
}

void infer_values(Node& node, const std::vector<Shape>& inputs) {
  infer_varied(node, inputs);
  factor_range(node, "factor");
  value_range(node);
}

void infer_fit(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 3);
  need_channels_last(node);
  check_choice(node, "interpolation", "bilinear", {"bilinear", "nearest"});
  number(node, "fill_value", 0);
  const ImageFit fit = image_fit(node, inputs[0]);
  if (const Shape between{fit.cells[0], fit.cells[1], inputs[0][2]}; !is_bounded(between))
    refuse(node, fmt::format("the image {} on its way is too large", to_string(between)));
  node.output = {integer(node, "height"), integer(node, "width"), inputs[0][2]};
}

/// The most of the middle that has the ratio of `to`.
void cut_to_ratio(ImageFit& fit, const std::array<int64_t, 2>& to) {
  const std::array<int64_t, 2> from = fit.cells;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t fitting = from[1 - axis] * to[axis] / to[1 - axis];
    fit.cells[axis] = std::max<int64_t>(std::min(from[axis], fitting), 1);
    const int64_t before = (from[axis] - fit.cells[axis]) / 2;
    fit.margins[axis] = {-before, -(from[axis] - fit.cells[axis] - before)};
  }
}

/// Cells around it, as many on both sides, so that it has the ratio of `to` but for one cell.
void fill_to_ratio(ImageFit& fit, const std::array<int64_t, 2>& to) {
  const std::array<int64_t, 2> from = fit.cells;
  for (size_t axis = 0; axis < 2; ++axis) {
    const int64_t fitting = from[1 - axis] * to[axis] / to[1 - axis];
    const int64_t side = (std::max(from[axis], fitting) - from[axis]) / 2;
    fit.cells[axis] += 2 * side;
    fit.margins[axis] = {side, side};
  }
}

}  // namespace

bool is_image_layer(const std::string& op) {
  const std::vector<LayerKind> kinds = image_layers();
  return std::any_of(kinds.begin(), kinds.end(), [&](const LayerKind& kind) { return kind.op == op; });
}

Range factor_range(const Node& node, const std::string& attribute) {
  const json value = node.attributes.value(attribute, json());
  const Range bounds = bounds_of(node);
  const auto inside = [&](const json& one) { return one >= bounds.low && one <= bounds.high; };
  if (value.is_number() && inside(value) && value <= 1) {
    const double factor = std::abs(value.get<double>());
    return {std::max(-factor, bounds.low), factor};
  }
  if (are_two_numbers(value) && inside(value[0]) && inside(value[1])) {
    const auto a = value[0].get<double>(), b = value[1].get<double>();
    return {std::min(a, b), std::max(a, b)};
  }
  refuse(node, fmt::format("'{}' must be a number or two of them, from {} to 1", attribute, bounds.low));
}

Range value_range(const Node& node) {
  const json value = node.attributes.value("value_range", json::array({0, 255}));
  if (!are_two_numbers(value) || value[0] > value[1])
    refuse(node, "'value_range' must be two numbers, the lower one first");
  return {value[0].get<double>(), value[1].get<double>()};
}

ImageFit image_fit(const Node& node, const Shape& image) {
  const std::array<int64_t, 2> to{integer(node, "height"), integer(node, "width")};
  ImageFit fit{.cells = {image[0], image[1]}};
  const bool cut = flag(node, "crop_to_aspect_ratio", false), filled = flag(node, "pad_to_aspect_ratio", false);
  if (cut && filled) refuse(node, "crop_to_aspect_ratio and pad_to_aspect_ratio exclude each other");
  if (node.op == "CenterCrop" && image[0] >= to[0] && image[1] >= to[1]) {
    for (size_t axis = 0; axis < 2; ++axis) {
      const int64_t before = (image[axis] - to[axis]) / 2;
      fit.margins[axis] = {-before, -(image[axis] - to[axis] - before)};
    }
    fit.cells = to;
  } else if (node.op == "CenterCrop" || cut) {
    cut_to_ratio(fit, to);
  } else if (filled) {
    fill_to_ratio(fit, to);
  }
  return fit;
}

// tf.image.resize: the cell in which the middle lies, in single precision.
std::vector<int64_t> nearest_cells(int64_t from, int64_t to) {
  const float scale = static_cast<float>(from) / static_cast<float>(to);
  std::vector<int64_t> cells;
  for (int64_t cell = 0; cell < to; ++cell) {
    const float middle = (static_cast<float>(cell) + 0.5F) * scale;
    cells.push_back(std::min(static_cast<int64_t>(middle), from - 1));
  }
  return cells;
}

std::vector<LayerKind> image_layers() {
  const Setting last{"data_format", kDefaultOnly, "channels_last"}, seed{"seed", kIgnored, nullptr},
      boxes{"bounding_box_format", kIgnored, nullptr};  // of the images alone
  const auto moved = [&](const std::vector<Setting>& factors) {
    std::vector<Setting> all = factors;
    all.insert(all.end(), {{"fill_mode", kKept, "reflect"},
                           {"interpolation", kKept, "bilinear"},
                           {"fill_value", kKept, 0.0},
                           seed,
                           boxes,
                           last});
    return all;
  };
  const std::vector<Setting> values{{"factor", kKept, nullptr}, {"value_range", kKept, {0, 255}}, seed, boxes, last};
  const Setting height{"height", kKept, nullptr}, width{"width", kKept, nullptr};
  return {
      {"RandomFlip", 1, infer_flip, flop_none, {{"mode", kKept, "horizontal_and_vertical"}, seed, boxes, last}},
      {"RandomTranslation", 1, infer_moved, flop_per_element,
       moved({{"height_factor", kKept, nullptr}, {"width_factor", kKept, nullptr}})},
      {"RandomRotation", 1, infer_moved, flop_per_element, moved({{"factor", kKept, nullptr}})},
      {"RandomZoom", 1, infer_moved, flop_per_element,
       moved({{"height_factor", kKept, nullptr}, {"width_factor", kKept, nullptr}})},
      {"RandomContrast", 1, infer_values, flop_per_element, values},
      {"RandomBrightness", 1, infer_values, flop_per_element, values},
      {"CenterCrop", 1, infer_fit, flop_none, {height, width, boxes, last}},
      {"Resizing",
       1,
       infer_fit,
       flop_per_element,
       {height,
        width,
        {"interpolation", kKept, "bilinear"},
        {"crop_to_aspect_ratio", kKept, false},
        {"pad_to_aspect_ratio", kKept, false},
        {"fill_mode", kDefaultOnly, "constant"},
        {"fill_value", kKept, 0.0},
        {"antialias", kDefaultOnly, false},
        boxes,
        last}},
  };
}

}  // namespace linac::graph
