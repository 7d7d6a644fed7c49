#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/number_matrix.h"
#include "linac/physics/report/run/report.h"
#include "linac/physics/report/run/words.h"

namespace linac::report {
namespace {

constexpr double kNamesMax = 150, kTop = 60, kBelow = 38, kRight = 64;
constexpr size_t kRowsMax = 64;

constexpr plot::TextStyle kNameStyle{.size = 8.5, .align = plot::Align::kRight};

std::vector<std::string> names_of(const RunReport& report) {
  std::vector<std::string> names;
  for (const RunWorker& worker : report.workers) names.push_back(worker_name(report, worker.key));
  return names;
}

// A row a name, these to the left.
struct Sheet {
  std::vector<std::string> names;
  size_t rows, left_out;
  double row;
  plot::Rect area;
  plot::Figure figure;

  explicit Sheet(std::vector<std::string> of)
      : names(std::move(of)),
        rows(std::min(names.size(), kRowsMax)),
        left_out(names.size() - rows),
        row(rows <= 16   ? 22
            : rows <= 32 ? 17
                         : 12),
        area{0, kTop, 0, row * static_cast<double>(rows)},
        figure(kWide, kTop + area.height + kBelow) {
    double width = 0;
    for (size_t i = 0; i < rows; ++i) width = std::max(width, figure.text_width(names[i], kNameStyle));
    area.x = 18 + std::min(width, kNamesMax) + 8;
    area.width = kWide - area.x - kRight;
  }

  plot::Rect bar(size_t i) const { return {area.x, area.y + row * static_cast<double>(i) + 2, area.width, row - 4}; }
  double middle(size_t i) const { return area.y + row * (static_cast<double>(i) + 0.5); }
};

void draw_head(Sheet& sheet, const std::string& title) {
  sheet.figure.text({18, 18}, title, {.size = 12, .weight = plot::Weight::kBold});
  for (size_t i = 0; i < sheet.rows; ++i) {
    sheet.figure.text({sheet.area.x - 8, sheet.middle(i)}, sheet.figure.elided(sheet.names[i], kNamesMax, kNameStyle),
                      kNameStyle);
  }
  if (sheet.left_out > 0)
    sheet.figure.text({18, sheet.area.bottom() + 22}, fmt::format("and {} more", sheet.left_out),
                      {.size = 8, .colour = plot::kSoftInk});
}

void draw_time_axis(Sheet& sheet, double seconds) {
  const TimeUnit unit = unit_for(seconds);
  plot::draw_x_axis(sheet.figure, sheet.area,
                    {.low = 0, .high = seconds / unit.seconds, .label = std::string("time, ") + unit.name});
}

void draw_key(plot::Figure& figure, const std::vector<TimePart>& parts) {
  constexpr double kSwatch = 9;
  double x = 18;
  for (const TimePart& part : parts) {
    if (part.seconds <= 0) continue;
    figure.rectangle({x, 35.5, kSwatch, kSwatch}, part.colour);
    figure.text({x + kSwatch + 5, 40}, part.name, {.size = 8.5});
    x += kSwatch + 5 + figure.text_width(part.name, {.size = 8.5}) + 16;
  }
}

// Stacked in a row; where there is room, with the share of `whole`.
void draw_parts(plot::Figure& figure, plot::Rect bar, const std::vector<TimePart>& parts, double scale, double whole) {
  for (const TimePart& part : parts) {
    bar.width = part.seconds * scale;
    if (!(bar.width > 0)) continue;
    figure.rectangle(bar, part.colour);
    const std::string text = percent(part.seconds / whole);
    const plot::TextStyle style{.size = 8, .colour = plot::kPaper, .align = plot::Align::kCentre};
    if (bar.height > 11 && figure.text_width(text, style) + 8 < bar.width)
      figure.text({bar.x + bar.width / 2, bar.y + bar.height / 2}, text, style);
    bar.x += bar.width;
  }
}

// A row for all workers, one for each network where there are several, one a worker.
NamedPicture step_picture(const RunReport& report) {
  std::vector<std::pair<std::string, job::StepTime>> bars{{"all workers", report.step_time}};
  if (report.step_time.networks.size() > 1) {
    for (const job::NetworkTime& network : report.step_time.networks) {
      job::StepTime of{.steps = report.step_time.steps, .networks = {network}};
      for (const job::NetworkPart& part : job::kNetworkParts) of.wall_s += network.*part.seconds;
      bars.emplace_back(network.network, std::move(of));
    }
  }
  for (const RunWorker& worker : report.workers)
    if (worker.step_time.steps > 0) bars.emplace_back(worker_name(report, worker.key), worker.step_time);
  std::vector<std::string> names;
  double longest = 0;
  for (const auto& [name, time] : bars) {
    names.push_back(name);
    longest = std::max(longest, time.wall_s / static_cast<double>(time.steps));
  }
  Sheet sheet(std::move(names));
  draw_head(sheet, "where a step's time goes");
  draw_key(sheet.figure, step_parts_of(report.step_time));
  for (size_t i = 0; i < sheet.rows; ++i) {
    const job::StepTime& time = bars[i].second;
    const double scale = sheet.area.width / longest / static_cast<double>(time.steps);
    const double of_step = static_cast<double>(time.steps) / static_cast<double>(report.step_time.steps);
    draw_parts(sheet.figure, sheet.bar(i), step_parts_of(time), scale, of_step * report.step_time.wall_s);
  }
  const double unit = longest < 1 ? 1000 : 1;
  plot::draw_x_axis(sheet.figure, sheet.area,
                    {.low = 0, .high = unit * longest, .label = longest < 1 ? "a step, ms" : "a step, s"});
  return {"step", "where a step's time goes",
          "The mean step of all workers, what of it the updates of each network take, and that of each worker.",
          sheet.figure.picture()};
}

NamedPicture time_picture(const RunReport& report) {
  Sheet sheet(names_of(report));
  draw_head(sheet, "the workers' time");
  draw_key(sheet.figure, parts_of(report.time));
  double longest = 0;
  for (const RunWorker& worker : report.workers) longest = std::max(longest, worker.time.seconds);
  for (size_t i = 0; i < sheet.rows; ++i) {
    plot::Rect bar = sheet.bar(i);
    for (const TimePart& part : parts_of(report.workers[i].time)) {
      bar.width = part.seconds / longest * sheet.area.width;
      if (bar.width > 0) sheet.figure.rectangle(bar, part.colour);
      bar.x += std::max(0.0, bar.width);
    }
    sheet.figure.text({bar.x + 8, sheet.middle(i)}, percent(report.workers[i].time.efficiency()),
                      {.size = 8.5, .colour = plot::kSoftInk});
  }
  draw_time_axis(sheet, longest);
  return {"time", "the workers' time",
          "A bar a worker, from its entry on; beside it the share of computing (compute and test).",
          sheet.figure.picture()};
}

// The times of all starts one after another.
class Clock {
 public:
  explicit Clock(const RunRecord& record) {
    for (const RunStart& start : record.starts) {
      begins_.push_back(start.begin());
      offsets_.push_back(length_);
      length_ += std::max(0.0, start.end() - start.begin());
    }
  }
  double of(size_t start, double time) const { return std::max(0.0, time - begins_[start]) + offsets_[start]; }
  double offset(size_t start) const { return offsets_[start]; }
  double length() const { return length_; }

 private:
  std::vector<double> begins_, offsets_;
  double length_ = 0;
};

void draw_span(plot::Figure& figure, const plot::Rect& box, int replicas, int most) {
  const double fraction = 0.25 + 0.6 * replicas / std::max(1, most);
  figure.rectangle(box, plot::share_colour(fraction));
  const std::string text = fmt::format("{}", replicas);
  const plot::TextStyle style{
      .size = 8, .colour = fraction > 0.5 ? plot::kPaper : plot::kInk, .align = plot::Align::kCentre};
  if (box.height > 11 && figure.text_width(text, style) + 4 < box.width)
    figure.text({box.x + box.width / 2, box.y + box.height / 2}, text, style);
}

void draw_loss(plot::Figure& figure, plot::Point at, double right, const std::string& reason) {
  constexpr double kArm = 3.5;
  const plot::Stroke stroke{.colour = plot::kSampleColour, .width = 1.8};
  figure.line({at.x - kArm, at.y - kArm}, {at.x + kArm, at.y + kArm}, stroke);
  figure.line({at.x - kArm, at.y + kArm}, {at.x + kArm, at.y - kArm}, stroke);
  const plot::TextStyle style{.size = 7.5, .colour = plot::kSoftInk};
  if (right - at.x > 60) figure.text({at.x + 9, at.y}, figure.elided(reason, right - at.x - 12, style), style);
}

NamedPicture views_picture(const RunReport& report) {
  Sheet sheet(names_of(report));
  draw_head(sheet, "who was there when");
  sheet.figure.text({18, 40}, "numbers and shades: replicas carried · ✗ lost", {.size = 8.5, .colour = plot::kSoftInk});
  const Clock clock(report.record);
  const auto x = [&](double run_time) { return sheet.area.x + run_time / clock.length() * sheet.area.width; };
  int most = 1;
  for (const RunWorker& worker : report.workers)
    for (const RunSpan& span : worker.spans) most = std::max(most, span.replicas);
  for (size_t i = 0; i < sheet.rows; ++i) {
    const RunWorker& worker = report.workers[i];
    for (size_t s = 0; s < worker.spans.size(); ++s) {
      RunSpan span = worker.spans[s];
      while (s + 1 < worker.spans.size() && worker.spans[s + 1].replicas == span.replicas &&
             worker.spans[s + 1].begin <= span.end)
        span.end = worker.spans[++s].end;
      plot::Rect box = sheet.bar(i);
      box.x = x(clock.of(worker.start, span.begin));
      box.width = std::max(1.0, x(clock.of(worker.start, span.end)) - box.x);
      draw_span(sheet.figure, box, span.replicas, most);
    }
    if (worker.departure == Departure::kLost)
      draw_loss(sheet.figure, {x(clock.of(worker.start, worker.left())) + 5, sheet.middle(i)}, kWide - 8,
                worker.reason);
  }
  for (size_t i = 1; i < report.record.starts.size(); ++i) {
    const double at = x(clock.offset(i));
    sheet.figure.line({at, sheet.area.y - 6}, {at, sheet.area.bottom()}, {.colour = plot::kInk, .dash = 3});
    sheet.figure.text({at + 3, sheet.area.y - 8}, fmt::format("start {}", i + 1), {.size = 7.5});
  }
  draw_time_axis(sheet, clock.length());
  return {"workers", "who was there when",
          "A row a worker; time between several starts of the run is left out. A change of shade is a change of the "
          "replicas it carried.",
          sheet.figure.picture()};
}

}  // namespace

std::vector<NamedPicture> draw(const RunReport& report) {
  if (report.workers.empty() || !(report.wall_s > 0) || !(report.time.seconds > 0)) return {};
  std::vector<NamedPicture> pictures{time_picture(report)};
  if (report.step_time.steps > 0) pictures.push_back(step_picture(report));
  pictures.push_back(views_picture(report));
  return pictures;
}

}  // namespace linac::report
