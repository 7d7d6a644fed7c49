#pragma once
// A picture that is drawn on and then encoded as PNG. Two pixels are one unit of length: a Figure of 600 x
// 400 becomes 1200 x 800 pixels. x runs right, y down. A Figure belongs to one thread; different ones are independent.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace linac::plot {

struct Colour {
  double red = 0, green = 0, blue = 0;  // 0 to 1
};

constexpr Colour kInk{0.16, 0.17, 0.20};
constexpr Colour kSoftInk{0.42, 0.44, 0.48};
constexpr Colour kAxisGrey{0.72, 0.73, 0.75};
constexpr Colour kGridGrey{0.92, 0.925, 0.935};
constexpr Colour kPaper{1, 1, 1};
constexpr Colour kReferenceColour{0.33, 0.36, 0.42}, kSampleColour{0.89, 0.34, 0.20};

struct Point {
  double x = 0, y = 0;
};

struct Rect {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

enum class Align { kLeft, kCentre, kRight };
enum class Weight { kNormal, kBold };

struct TextStyle {
  double size = 9.5;
  Colour colour = kInk;
  Align align = Align::kLeft;
  Weight weight = Weight::kNormal;
  double angle = 0;  // rad, clockwise
};

struct Stroke {
  Colour colour = kInk;
  double width = 1;
  double dash = 0;  // length of dashes and gaps; 0: a whole line
};

/// An encoded picture; sizes in pixels.
struct Picture {
  std::string png;
  int64_t width = 0, height = 0;
};

/// Atomically; environment error if that fails.
void write_picture(const std::filesystem::path& path, const Picture& picture);

class Figure {
 public:
  /// A white sheet.
  Figure(double width, double height);
  ~Figure();

  /// `at`: the text's left end, centre or right end (`align`), at half its height.
  void text(Point at, std::string_view utf8, const TextStyle& style = {});
  double text_width(std::string_view utf8, const TextStyle& style = {}) const;
  /// The text, or as much of its beginning as fits into `width` with an ellipsis.
  std::string elided(std::string_view utf8, double width, const TextStyle& style = {}) const;

  void line(Point from, Point to, const Stroke& stroke);
  void polyline(std::span<const Point> points, const Stroke& stroke);
  void polygon(std::span<const Point> points, Colour fill, double opacity);
  void rectangle(const Rect& area, Colour fill);
  void disc(Point centre, double radius, Colour fill);
  /// A grid of evenly filled cells, row by row from the top: colours[row * columns + column].
  void cells(const Rect& area, int64_t columns, int64_t rows, std::span<const Colour> colours);

  /// Drawing between the two stays inside the area.
  void clip(const Rect& area);
  void unclip();

  Picture picture() const;

 private:
  struct Canvas;
  std::unique_ptr<Canvas> canvas_;
};

}  // namespace linac::plot
