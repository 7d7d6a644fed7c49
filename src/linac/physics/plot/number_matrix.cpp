#include "linac/physics/plot/number_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"

namespace linac::plot {
namespace {

constexpr double kNames = 76, kLabel = 16;             // left of the cells
constexpr double kLevelNames = 18, kTurnedNames = 62;  // below them
constexpr double kNumberWidth = 30, kNoteHeight = 34;  // of a cell that shows a number, a note
constexpr double kDark = 0.55;                         // a share from here on has white numbers

void draw_cell(Figure& figure, const Rect& cell, double share, const std::string& note) {
  if (!std::isfinite(share) || cell.width < kNumberWidth * 0.6 || cell.height < 12) return;
  const Colour ink = share > kDark ? kPaper : kInk;
  const bool wide = cell.width >= kNumberWidth, with_note = !note.empty() && wide && cell.height >= kNoteHeight;
  const Point centre{cell.x + cell.width / 2, cell.y + cell.height / 2};
  figure.text({centre.x, centre.y - (with_note ? 6 : 0)}, fmt::format("{:.{}f}", share, wide ? 3 : 2),
              {.size = wide ? 10.0 : 7.5, .colour = ink, .align = Align::kCentre});
  if (with_note)
    figure.text({centre.x, centre.y + 8}, note,
                {.size = 8, .colour = share > kDark ? kPaper : kSoftInk, .align = Align::kCentre});
}

void draw_names(Figure& figure, const Rect& area, const NumberMatrix& matrix, bool turned) {
  const double side = area.width / static_cast<double>(matrix.size),
               rise = area.height / static_cast<double>(matrix.size);
  for (size_t i = 0; i < matrix.size; ++i) {
    const double middle = static_cast<double>(i) + 0.5;
    TextStyle style{.size = 8.5, .align = Align::kRight};
    figure.text({area.x - 6, area.y + middle * rise}, figure.elided(matrix.names[i], kNames - 10, style), style);
    if (turned) {
      style.angle = -std::numbers::pi / 2;
      figure.text({area.x + middle * side, area.bottom() + 6}, figure.elided(matrix.names[i], kTurnedNames - 10, style),
                  style);
    } else {
      style.align = Align::kCentre;
      figure.text({area.x + middle * side, area.bottom() + 9}, figure.elided(matrix.names[i], side - 4, style), style);
    }
  }
}

}  // namespace

Colour share_colour(double fraction) {
  constexpr Colour kMiddle{0.42, 0.66, 0.82}, kDeep{0.03, 0.25, 0.45}, kLight{0.97, 0.975, 0.98};
  const double at = 2 * std::clamp(fraction, 0.0, 1.0);
  const Colour& from = at < 1 ? kLight : kMiddle;
  const Colour& to = at < 1 ? kMiddle : kDeep;
  const double part = at < 1 ? at : at - 1;
  return {std::lerp(from.red, to.red, part), std::lerp(from.green, to.green, part),
          std::lerp(from.blue, to.blue, part)};
}

void draw_number_matrix(Figure& figure, const Rect& outer, const NumberMatrix& matrix) {
  LINAC_CHECK(matrix.size > 0 && matrix.names.size() == matrix.size &&
              matrix.shares.size() == matrix.size * matrix.size);
  const double width = outer.width - kNames - kLabel - 6, side = width / static_cast<double>(matrix.size);
  const bool turned = std::any_of(matrix.names.begin(), matrix.names.end(), [&](const std::string& name) {
    return figure.text_width(name, {.size = 8.5}) > side - 4;
  });
  const double below = (turned ? kTurnedNames : kLevelNames) + kLabel;
  const Rect area{outer.x + kNames + kLabel, outer.y, width, outer.height - below};
  std::vector<Colour> colours;
  for (const double share : matrix.shares) colours.push_back(std::isfinite(share) ? share_colour(share) : kGridGrey);
  const auto n = static_cast<int64_t>(matrix.size);
  figure.cells(area, n, n, colours);
  const double rise = area.height / static_cast<double>(n);
  for (size_t i = 0; i < matrix.shares.size(); ++i) {
    const auto row = static_cast<double>(i / matrix.size), column = static_cast<double>(i % matrix.size);
    draw_cell(figure, {area.x + column * side, area.y + row * rise, side, rise}, matrix.shares[i],
              matrix.notes.empty() ? "" : matrix.notes[i]);
  }
  draw_names(figure, area, matrix, turned);
  TextStyle label{.size = 8.5, .colour = kSoftInk, .align = Align::kCentre};
  figure.text({area.x + area.width / 2, outer.bottom() - kLabel / 2}, matrix.column_label, label);
  label.angle = -std::numbers::pi / 2;
  figure.text({outer.x + kLabel / 2, area.y + area.height / 2}, matrix.row_label, label);
}

}  // namespace linac::plot
