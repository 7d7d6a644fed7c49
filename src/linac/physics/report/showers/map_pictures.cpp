#include <fmt/format.h>

#include <numbers>

#include "linac/physics/plot/shower_maps.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

// A row for the reference, the sample and each beside them: their maps, in that order.
plot::Picture draw_rows(const ShowerReport& report, const std::string& title, const std::string& facts,
                        const std::string& colour_label, const std::vector<physics::Projections>& maps) {
  std::vector<plot::MapRow> rows{{report.reference_name, plot::kReferenceColour, plot::shower_maps(maps[0])},
                                 {report.sample_name, plot::kSampleColour, plot::shower_maps(maps[1])}};
  for (size_t i = 0; i < report.beside.size(); ++i)
    rows.push_back({report.beside[i].name, plot::kInk, plot::shower_maps(maps[2 + i])});
  return plot::draw_map_sheet(
      {.title = title,
       .facts = facts,
       .note = "energies in GeV, summed along the third axis · all cells · one logarithmic colour scale for all maps",
       .colour_label = colour_label,
       .rows = std::move(rows)});
}

std::string named(const std::string& name, const physics::Shower& shower) {
  constexpr double kDegrees = 180 / std::numbers::pi;
  return fmt::format("{}: {:.4g} GeV at {:.1f}°, {:.4g} GeV in the image", name, shower.energy_gev,
                     shower.theta * kDegrees, shower.values[physics::kTotal]);
}

}  // namespace

NamedPicture average_picture(const ShowerReport& report) {
  std::vector<physics::Projections> maps{report.reference->maps().mean(), report.sample->maps().mean()};
  for (const ShowerReport::Beside& other : report.beside) maps.push_back(other.sample->maps().mean());
  return {"average", "the average shower",
          "Mean energy of all showers as seen from the front, from above and from the side, in one colour scale.",
          draw_rows(report, "the average shower",
                    fmt::format("mean of {} and {} showers", report.reference->events(), report.sample->events()),
                    "mean energy, GeV", maps)};
}

std::vector<NamedPicture> example_pictures(const ShowerReport& report) {
  std::vector<NamedPicture> pictures;
  const auto &reference = report.reference->examples(), &sample = report.sample->examples();
  for (size_t i = 0; i < std::min(reference.size(), sample.size()); ++i) {
    if (reference[i].maps.events == 0 || sample[i].maps.events == 0) continue;
    const std::string title =
        fmt::format("a single shower near {:.3g} GeV", report.reference->options().wanted[i].energy_gev);
    std::vector<physics::Projections> maps{reference[i].maps, sample[i].maps};
    for (const ShowerReport::Beside& other : report.beside) maps.push_back(other.sample->examples().at(i).maps);
    pictures.push_back({fmt::format("shower-{}", i + 1), title,
                        "Not the same event: one of each sample, the nearest to the same energy and angle.",
                        draw_rows(report, title,
                                  fmt::format("{}   ·   {}", named(report.reference_name, reference[i]),
                                              named(report.sample_name, sample[i])),
                                  "energy, GeV", maps)});
  }
  return pictures;
}

}  // namespace linac::report
