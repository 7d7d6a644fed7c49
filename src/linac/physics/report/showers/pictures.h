#pragma once
// The pictures of a report on showers, one kind a file. Samples may be empty of energy, not of events. Pure,
// thread-safe.

#include <vector>

#include "linac/physics/report/showers/report.h"

namespace linac::report {

/// Mean projections, reference above sample.
NamedPicture average_picture(const ShowerReport& report);
/// The single showers that both samples keep; none if they keep none.
std::vector<NamedPicture> example_pictures(const ShowerReport& report);
/// Longitudinal, x, y and radial.
std::vector<NamedPicture> profile_pictures(const ShowerReport& report);
/// Response, resolution and mean depth in slices of energy.
std::vector<NamedPicture> energy_pictures(const ShowerReport& report);
NamedPicture spectrum_picture(const ShowerReport& report);
/// Histograms of the observables.
NamedPicture distribution_picture(const ShowerReport& report);
/// Correlation matrices; needs two events of each sample.
NamedPicture correlation_picture(const ShowerReport& report);

}  // namespace linac::report
