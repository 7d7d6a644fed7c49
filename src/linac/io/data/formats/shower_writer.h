#pragma once
// Writes showers as HDF5 in the raw layout: ECAL (GeV, gzip with byte shuffle, one shower a chunk), energy (GeV), theta
// (rad), eta = -ln tan(theta/2), ecal_sum (GeV) and columns of the caller. One thread at a time.

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/showers.h"

namespace linac::data {

class ShowerFileWriter {
 public:
  /// Environment error when the file cannot be made. `extra_columns` names further floats an event, e.g. "mtheta".
  ShowerFileWriter(const std::filesystem::path& path, const EventShape& shape,
                   const std::vector<std::string>& extra_columns = {});
  /// Without close() nothing is left of the file.
  ~ShowerFileWriter();
  ShowerFileWriter(const ShowerFileWriter&) = delete;
  ShowerFileWriter& operator=(const ShowerFileWriter&) = delete;

  /// Appends energy_gev.size() showers: cells [events][x][y][z] in GeV, theta in rad, and a list of values for each
  /// extra column, in the constructor's order.
  void append(std::span<const float> ecal_gev, std::span<const float> energy_gev, std::span<const float> theta,
              std::span<const std::vector<float>> extra = {});
  /// A text attribute of the file's root; the last value of a name stays.
  void set_attribute(const std::string& name, const std::string& text);
  int64_t events() const;

  /// Completes the file and puts it in its place, over a former one. Environment error when that fails.
  void close();

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace linac::data
