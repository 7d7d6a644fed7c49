#pragma once
// Any trained network, of a Keras file or of somebody else's code, evaluated on the CPU. Immutable; run() may be called
// from several threads.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/output_units.h"
#include "linac/model/keras/archive.h"
#include "linac/model/models/foreign_model.h"
#include "linac/model/models/not_finite.h"

namespace linac::models {

class Predictor {
 public:
  explicit Predictor(const keras::KerasModel& model);
  /// `units`: of each output, which are brought to those of the files; empty: they are.
  Predictor(const ForeignModel& model, graph::Parameters parameters, std::vector<graph::OutputUnits> units = {});
  Predictor(Predictor&&) noexcept;
  ~Predictor();

  /// The InputLayer nodes and the nodes of the outputs, in the model's order.
  const std::vector<graph::Node>& inputs() const;
  const std::vector<graph::Node>& outputs() const;

  /// `values`: one buffer an input, (events, shape...) in Keras's axes. Returns one an output. In inference.
  /// `masks`, if given: of each output which of its steps count, (events, steps...) of 0 and 1; empty where no mask
  /// says it.
  std::vector<std::vector<float>> run(const std::vector<std::vector<float>>& values, int64_t events,
                                      std::vector<std::vector<uint8_t>>* masks = nullptr) const;
  /// Of such a batch (not_finite.h).
  std::optional<NotFinite> find_not_finite(const std::vector<std::vector<float>>& values, int64_t events) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::models
