#pragma once
// A picture of a report.

#include <string>

#include "linac/physics/plot/figure.h"

namespace linac::report {

/// PNG under `name`, shown below `title`.
struct NamedPicture {
  std::string name;  // "longitudinal"
  std::string title, caption;
  plot::Picture picture;
};

/// Narrow pictures and wide ones, so that a page shows two narrow ones or a wide one in a row with letters of the same
/// size.
constexpr double kNarrow = 440, kNarrowHeight = 372, kWide = 900;

}  // namespace linac::report
