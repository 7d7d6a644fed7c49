#include "linac/base/base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace linac {
namespace {

constexpr int kBarColumnsMax = 30;
constexpr int kBarColumnsMin = 8;
constexpr int kDefaultColumns = 80;
// Work older than this (or than a quarter of the run, whichever is longer) hardly counts for the time left.
constexpr double kPaceMemory_s = 60;
constexpr const char* kErase = "\r\x1b[K";

// One lock for all: they share a terminal.
std::mutex& terminal_mutex() {
  static std::mutex mutex;
  return mutex;
}
std::vector<Progress*>& live() {
  static std::vector<Progress*> instances;
  return instances;
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

bool locale_has_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const auto value = environment(name);
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("utf8") != value.npos || value.find("utf-8") != value.npos;
  }
  return true;  // containers rarely set a locale; their terminals know UTF-8 nevertheless
}

int terminal_columns(std::FILE* out) {
  winsize size{};
  if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(std::string(environment("COLUMNS")).c_str());
  return columns > 0 ? columns : kDefaultColumns;
}

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

int columns_of(std::string_view utf8) {
  return static_cast<int>(std::count_if(utf8.begin(), utf8.end(), starts_character));
}

std::string shortened(std::string_view utf8, int columns, bool unicode) {
  if (columns_of(utf8) <= columns) return std::string(utf8);
  if (columns <= 0) return "";
  const std::string_view dots = unicode ? "…" : ".";
  size_t end = 0;
  for (int kept = 0; end < utf8.size(); ++end)
    if (starts_character(utf8[end]) && ++kept == columns) break;
  return std::string(utf8.substr(0, end)) + std::string(dots);
}

std::string filled_bar(double fraction, int columns, bool unicode) {
  static constexpr std::array<const char*, 8> kEighths{" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = static_cast<int>(fraction * columns * 8), full = eighths / 8;
  std::string bar = unicode ? "▕" : "[";
  for (int i = 0; i < full; ++i) bar += unicode ? "█" : "#";
  if (full < columns) {
    bar += unicode ? kEighths[static_cast<size_t>(eighths % 8)] : " ";
    bar.append(static_cast<size_t>(columns - full - 1), ' ');
  }
  return bar + (unicode ? "▏" : "]");
}

void write(std::FILE* out, std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), out);
  std::fflush(out);
}

}  // namespace

std::string format_duration(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0 || seconds > 1e9) return "?";
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  const int64_t whole = std::llround(seconds), minutes = std::llround(seconds / 60),
                hours = std::llround(seconds / 3600);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  if (minutes < 24 * 60) return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
  return fmt::format("{} d {:02} h", hours / 24, hours % 24);
}

Progress::Progress(std::string label, int64_t total) : Progress(std::move(label), total, Options{}) {}

Progress::Progress(std::string label, int64_t total, Options options)
    : label_(std::move(label)), total_(total), options_(std::move(options)), done_(options_.start) {
  if (!options_.now_s) {
    options_.now_s = [] {
      return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    };
  }
  const bool capable = isatty(fileno(options_.out)) != 0 && environment("TERM") != "dumb";
  bar_ = options_.style == Style::kBar || (options_.style == Style::kAuto && capable);
  colour_ = bar_ && environment("NO_COLOR").empty();
  unicode_ = locale_has_unicode();
  started_s_ = updated_s_ = options_.now_s();
  const std::lock_guard lock(terminal_mutex());
  if (!live().empty()) live().back()->erase();
  live().push_back(this);
}

Progress::~Progress() {
  const std::lock_guard lock(terminal_mutex());
  erase();
  std::erase(live(), this);
}

void Progress::update(int64_t done, std::string_view detail) {
  const std::lock_guard lock(terminal_mutex());
  if (finished_) return;
  const double now = options_.now_s();
  if (done > done_) {
    const double passed = now - updated_s_;
    const double fade = std::exp(-passed / std::max(kPaceMemory_s, (now - started_s_) / 4));
    recent_s_ = recent_s_ * fade + passed;
    recent_done_ = recent_done_ * fade + static_cast<double>(done - done_);
    updated_s_ = now;
  }
  done_ = done;
  detail_ = detail;
  if (now - drawn_s_ >= (bar_ ? kProgressRedraw_s : kProgressPlainLine_s) && is_newest()) draw(now);
}

void Progress::finish(std::string_view message) {
  const std::lock_guard lock(terminal_mutex());
  if (finished_) return;
  erase();
  finished_ = true;
  std::erase(live(), this);
  if (message.empty()) return;
  write(options_.out, fmt::format("{}: {} ({})\n", label_, message, format_duration(options_.now_s() - started_s_)));
}

void Progress::clear_line() {
  const std::lock_guard lock(terminal_mutex());
  if (!live().empty()) live().back()->erase();
}

void Progress::write_above(std::string_view text) {
  const std::lock_guard lock(terminal_mutex());
  if (live().empty()) {
    write(stderr, text);
    return;
  }
  Progress& newest = *live().back();
  const bool was_visible = newest.visible_;
  newest.erase();
  write(newest.options_.out, text);
  if (was_visible) newest.draw(newest.options_.now_s());
}

std::string Progress::line(int columns) const {
  const std::lock_guard lock(terminal_mutex());
  return compose(columns, options_.now_s());
}

void Progress::draw(double now) {
  drawn_s_ = now;
  if (!bar_) {
    const std::string share =
        total_ > 0 ? fmt::format(" {:3.0f} %", 100.0 * static_cast<double>(done_) / static_cast<double>(total_)) : "";
    write(options_.out, fmt::format("{}{}  {}  {}\n", label_, share, detail_, times(now)));
    return;
  }
  // One column stays free: a full last column makes some terminals wrap.
  const int columns = (options_.columns > 0 ? options_.columns : terminal_columns(options_.out)) - 1;
  std::string text = compose(columns, now);
  if (const size_t bar = text.find("▕"); colour_ && bar != text.npos) {
    const size_t end = text.rfind("▏") + std::string_view("▏").size();
    text.insert(end, "\x1b[0m");
    text.insert(bar, "\x1b[36m");
  }
  write(options_.out, kErase + text);
  visible_ = true;
}

void Progress::erase() {
  if (!visible_) return;
  write(options_.out, kErase);
  visible_ = false;
}

// label ▕████▌    ▏ 43 %  detail  3 min 05 s, 4 min 10 s left. What does not fit: first the bar shrinks, then the
// detail.
std::string Progress::compose(int columns, double now) const {
  const std::string tail = times(now);
  if (total_ <= 0) {
    const int room = columns - columns_of(label_) - columns_of(tail) - 4;
    return shortened(fmt::format("{}  {}  {}", label_, shortened(detail_, room, unicode_), tail), columns, unicode_);
  }
  const double fraction = std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
  // Rounded down: 100 % means done.
  const std::string percent = fmt::format("{:3} %", static_cast<int>(fraction * 100 + 1e-9));
  const int fixed = columns_of(label_) + columns_of(percent) + columns_of(tail) + 8;
  const int bar = std::clamp(columns - fixed - columns_of(detail_), kBarColumnsMin, kBarColumnsMax);
  const std::string detail = shortened(detail_, columns - fixed - bar, unicode_);
  const std::string text = fmt::format("{} {} {}  {}{}{}", label_, filled_bar(fraction, bar, unicode_), percent, detail,
                                       detail.empty() ? "" : "  ", tail);
  return shortened(text, columns, unicode_);
}

std::string Progress::times(double now) const {
  const double left = seconds_left();
  const std::string elapsed = format_duration(now - started_s_);
  if (left < 0) return elapsed;
  // Since the last update some of it has passed already.
  return fmt::format("{}, {} left", elapsed, format_duration(std::max(0.0, left - (now - updated_s_))));
}

double Progress::seconds_left() const {
  if (total_ <= 0 || recent_done_ <= 0 || done_ >= total_) return -1;
  return recent_s_ / recent_done_ * static_cast<double>(total_ - done_);
}

bool Progress::is_newest() const {
  return !live().empty() && live().back() == this;
}

}  // namespace linac
