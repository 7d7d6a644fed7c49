#pragma once
// A trained generator as a maker of showers in GeV: what `linac generate` writes and `linac validate` judges.
// Immutable; make() may be called from several threads, each with models::use_threads(1).

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/event_shape.h"
#include "linac/base/job/job.h"
#include "linac/model/primaries/trained_range.h"

namespace linac::trained {

/// Undoes power and scale: images of training units -> GeV.
std::vector<float> to_gev(const job::Job& job, std::span<const float> images);

class ShowerGenerator {
 public:
  /// Showers of one make(). Their noise is keyed by the number of the chunk, so threads change nothing.
  static constexpr int64_t kChunk = 16;

  /// A run's folder, a checkpoint, a .keras or a .chain file. User error if it is none of them.
  explicit ShowerGenerator(const std::filesystem::path& run_or_file);
  ShowerGenerator(ShowerGenerator&&) noexcept;
  ~ShowerGenerator();

  EventShape shape() const;
  const std::string& source() const;
  /// Nothing where the model does not know.
  const std::optional<primaries::TrainedRange>& range() const;

  /// Images [n][x][y][z] in GeV of showers kChunk * chunk, ... with these primaries (n <= kChunk of both).
  std::vector<float> make(std::span<const float> energy_gev, std::span<const float> theta, uint64_t seed,
                          int64_t chunk) const;

  /// What a kind of generator does.
  class Kind;

 private:
  std::unique_ptr<const Kind> kind_;
};

}  // namespace linac::trained
