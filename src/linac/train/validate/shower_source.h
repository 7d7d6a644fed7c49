#pragma once
// Where showers come from one after the other: files, or a trained generator. One thread at a time.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/event_shape.h"
#include "linac/base/base/range.h"
#include "linac/io/data/showers.h"

namespace linac::validate {

class ShowerSource {
 public:
  /// The image [x][y][z] in GeV, valid during the call; the primary's energy in GeV and polar angle in rad.
  using Use = std::function<void(std::span<const float> image, double energy_gev, double theta)>;

  virtual ~ShowerSource() = default;
  virtual std::string name() const = 0;
  virtual int64_t events() const = 0;
  virtual EventShape shape() const = 0;
  virtual Range energies_gev() const = 0;
  virtual Range angles() const = 0;
  /// What identifies the source, for the report: pairs of a word and a text.
  virtual std::vector<std::pair<std::string, std::string>> facts() const = 0;
  /// What a reader of the report must know of them.
  virtual std::vector<std::string> remarks() const { return {}; }
  /// Each shower once, in a fixed order.
  virtual void each(const Use& use) const = 0;
};

/// Paths, globs and URLs of HDF5 or TFRecord showers; nothing is dropped. Data error naming file and event for what
/// cannot be read.
std::unique_ptr<const ShowerSource> open_showers(const std::vector<std::string>& urls, const data::Fields& fields);

}  // namespace linac::validate
