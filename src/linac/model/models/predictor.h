#pragma once
// Any trained network, of a Keras file or of somebody else's code, evaluated on the CPU. Immutable; run() may be called
// from several threads.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/keras/archive.h"
#include "linac/model/models/foreign_model.h"

namespace linac::models {

class Predictor {
 public:
  explicit Predictor(const keras::KerasModel& model);
  Predictor(const ForeignModel& model, graph::Parameters parameters);
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

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::models
