#include "linac/physics/plot/figure.h"

#include <cairo.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/physics/plot/png.h"

namespace linac::plot {
namespace {

constexpr double kPixelsPerPoint = 2;
constexpr const char* kFont = "DejaVu Sans";  // fontconfig takes another sans-serif font where it is missing
constexpr double kHalfCapital = 0.36;         // of the font's size: half the height of a capital letter

void need(cairo_status_t status, const char* what) {
  if (status != CAIRO_STATUS_SUCCESS)
    throw environment_error(fmt::format("[plot] {} ({})", what, cairo_status_to_string(status)));
}

uint32_t argb(Colour colour) {
  const auto channel = [](double value) {
    return static_cast<uint32_t>(std::lround(std::clamp(value, 0.0, 1.0) * 255));
  };
  return 0xFF000000U | channel(colour.red) << 16 | channel(colour.green) << 8 | channel(colour.blue);
}

void set_source(cairo_t* cairo, Colour colour, double opacity = 1) {
  cairo_set_source_rgba(cairo, colour.red, colour.green, colour.blue, opacity);
}

void set_font(cairo_t* cairo, const TextStyle& style) {
  cairo_select_font_face(cairo, kFont, CAIRO_FONT_SLANT_NORMAL,
                         style.weight == Weight::kBold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
  cairo_set_font_size(cairo, style.size);
}

void trace(cairo_t* cairo, std::span<const Point> points) {
  cairo_new_path(cairo);
  for (const Point& point : points) cairo_line_to(cairo, point.x, point.y);
}

struct DestroySurface {
  void operator()(cairo_surface_t* surface) const { cairo_surface_destroy(surface); }
};
struct DestroyContext {
  void operator()(cairo_t* cairo) const { cairo_destroy(cairo); }
};
using Surface = std::unique_ptr<cairo_surface_t, DestroySurface>;
using Context = std::unique_ptr<cairo_t, DestroyContext>;

}  // namespace

struct Figure::Canvas {
  Surface surface;
  Context context;
  cairo_t* cairo() const { return context.get(); }
};

void write_picture(const std::filesystem::path& path, const Picture& picture) {
  write_file_atomically(path, std::string_view(picture.png));
}

Figure::Figure(double width, double height) : canvas_(std::make_unique<Canvas>()) {
  canvas_->surface.reset(cairo_image_surface_create(CAIRO_FORMAT_RGB24,
                                                    static_cast<int>(std::lround(width * kPixelsPerPoint)),
                                                    static_cast<int>(std::lround(height * kPixelsPerPoint))));
  need(cairo_surface_status(canvas_->surface.get()), "no memory for a picture");
  canvas_->context.reset(cairo_create(canvas_->surface.get()));
  cairo_scale(canvas_->cairo(), kPixelsPerPoint, kPixelsPerPoint);
  set_source(canvas_->cairo(), kPaper);
  cairo_paint(canvas_->cairo());
}

Figure::~Figure() = default;

double Figure::text_width(std::string_view utf8, const TextStyle& style) const {
  set_font(canvas_->cairo(), style);
  cairo_text_extents_t extents;
  cairo_text_extents(canvas_->cairo(), std::string(utf8).c_str(), &extents);
  return extents.x_advance;
}

std::string Figure::elided(std::string_view utf8, double width, const TextStyle& style) const {
  std::string text(utf8);
  if (text_width(text, style) <= width) return text;
  const auto continues = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; };
  while (!text.empty() && text_width(text + "…", style) > width) {
    while (text.size() > 1 && continues(text.back())) text.pop_back();
    text.pop_back();
  }
  return text + "…";
}

void Figure::text(Point at, std::string_view utf8, const TextStyle& style) {
  cairo_t* cairo = canvas_->cairo();
  const double width = text_width(utf8, style);
  const double before = style.align == Align::kLeft ? 0 : style.align == Align::kCentre ? width / 2 : width;
  cairo_save(cairo);
  set_source(cairo, style.colour);
  cairo_translate(cairo, at.x, at.y);
  cairo_rotate(cairo, style.angle);
  cairo_move_to(cairo, -before, kHalfCapital * style.size);
  cairo_show_text(cairo, std::string(utf8).c_str());
  cairo_restore(cairo);
}

void Figure::line(Point from, Point to, const Stroke& stroke) {
  polyline(std::array<Point, 2>{from, to}, stroke);
}

void Figure::polyline(std::span<const Point> points, const Stroke& stroke) {
  cairo_t* cairo = canvas_->cairo();
  trace(cairo, points);
  set_source(cairo, stroke.colour);
  cairo_set_line_width(cairo, stroke.width);
  cairo_set_line_join(cairo, CAIRO_LINE_JOIN_ROUND);
  cairo_set_dash(cairo, &stroke.dash, stroke.dash > 0 ? 1 : 0, 0);
  cairo_stroke(cairo);
}

void Figure::polygon(std::span<const Point> points, Colour fill, double opacity) {
  trace(canvas_->cairo(), points);
  set_source(canvas_->cairo(), fill, opacity);
  cairo_fill(canvas_->cairo());
}

void Figure::rectangle(const Rect& area, Colour fill) {
  cairo_rectangle(canvas_->cairo(), area.x, area.y, area.width, area.height);
  set_source(canvas_->cairo(), fill);
  cairo_fill(canvas_->cairo());
}

void Figure::disc(Point centre, double radius, Colour fill) {
  constexpr double kWhole = 6.283185307179586;
  cairo_new_path(canvas_->cairo());
  cairo_arc(canvas_->cairo(), centre.x, centre.y, radius, 0, kWhole);
  set_source(canvas_->cairo(), fill);
  cairo_fill(canvas_->cairo());
}

void Figure::cells(const Rect& area, int64_t columns, int64_t rows, std::span<const Colour> colours) {
  LINAC_CHECK(columns > 0 && rows > 0 && static_cast<int64_t>(colours.size()) == columns * rows);
  const int stride = cairo_format_stride_for_width(CAIRO_FORMAT_RGB24, static_cast<int>(columns));
  std::vector<uint32_t> pixels(static_cast<size_t>(stride) / sizeof(uint32_t) * static_cast<size_t>(rows));
  for (size_t i = 0; i < colours.size(); ++i) {
    const size_t row = i / static_cast<size_t>(columns), column = i % static_cast<size_t>(columns);
    pixels[row * static_cast<size_t>(stride) / sizeof(uint32_t) + column] = argb(colours[i]);
  }
  const Surface image(cairo_image_surface_create_for_data(reinterpret_cast<unsigned char*>(pixels.data()),
                                                          CAIRO_FORMAT_RGB24, static_cast<int>(columns),
                                                          static_cast<int>(rows), stride));
  need(cairo_surface_status(image.get()), "no memory for a picture");
  cairo_t* cairo = canvas_->cairo();
  cairo_save(cairo);
  cairo_translate(cairo, area.x, area.y);
  cairo_scale(cairo, area.width / static_cast<double>(columns), area.height / static_cast<double>(rows));
  cairo_set_source_surface(cairo, image.get(), 0, 0);
  cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
  cairo_pattern_set_extend(cairo_get_source(cairo), CAIRO_EXTEND_PAD);
  cairo_rectangle(cairo, 0, 0, static_cast<double>(columns), static_cast<double>(rows));
  cairo_fill(cairo);
  cairo_restore(cairo);
}

void Figure::clip(const Rect& area) {
  cairo_save(canvas_->cairo());
  cairo_rectangle(canvas_->cairo(), area.x, area.y, area.width, area.height);
  cairo_clip(canvas_->cairo());
}

void Figure::unclip() {
  cairo_restore(canvas_->cairo());
}

Picture Figure::picture() const {
  need(cairo_status(canvas_->cairo()), "a picture could not be drawn");
  cairo_surface_flush(canvas_->surface.get());
  cairo_surface_t* const surface = canvas_->surface.get();
  const int width = cairo_image_surface_get_width(surface), height = cairo_image_surface_get_height(surface);
  return {.png = to_png(cairo_image_surface_get_data(surface), width, height, cairo_image_surface_get_stride(surface)),
          .width = width,
          .height = height};
}

}  // namespace linac::plot
