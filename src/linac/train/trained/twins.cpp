#include "linac/train/trained/twins.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/model/keras/float_twins.h"

namespace linac::trained {

void warn_of_twins(const graph::Graph& graph, const std::filesystem::path& file) {
  const std::vector<std::string> twins = keras::float_twins(graph);
  if (twins.empty()) return;
  log::warn(
      fmt::format("[keras] {}: has quantized layers, which are computed without rounding: {}; figures are those of the "
                  "float model",
                  file.string(), fmt::join(twins, ", ")));
}

void need_no_twins(const graph::Graph& graph, const std::filesystem::path& file) {
  const std::vector<std::string> twins = keras::float_twins(graph);
  if (twins.empty()) return;
  throw user_error(
      fmt::format("[keras] {}: has quantized layers ({}), and a training without their rounding would train "
                  "another model; train it where it was made, or build it of float layers",
                  file.string(), fmt::join(twins, ", ")));
}

}  // namespace linac::trained
