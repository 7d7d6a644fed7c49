#pragma once
// Progress of a long task on standard error: one redrawn line on a terminal, a plain line now and then in a file or
// a pipe (and where TERM=dumb). A Progress belongs to whoever runs the task; all functions are safe from any thread.
// Of several live ones only the newest draws. Text that goes to the same terminal passes through write_above(), which
// keeps it and the line apart.

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace linac {

/// "12.3 s", "3 min 05 s", "1 h 02 min", "2 d 03 h"; "?" for what is negative or not finite.
std::string format_duration(double seconds);

constexpr double kProgressRedraw_s = 0.1;
constexpr double kProgressPlainLine_s = 10;

class Progress {
 public:
  enum class Style { kAuto, kBar, kPlain };
  struct Options {
    int64_t start = 0;  // what was done before this process took over: after a resume
    Style style = Style::kAuto;
    std::FILE* out = stderr;
    int columns = 0;                     // 0: the terminal's width
    std::function<double()> now_s = {};  // a steady clock by default
  };

  /// `total` in the same unit as update()'s `done`; 0 where it is not known.
  Progress(std::string label, int64_t total);
  Progress(std::string label, int64_t total, Options options);
  /// Takes the line away if finish() was not called.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Cheap enough for every step: draws at most every kProgressRedraw_s (plain: the first, then every
  /// kProgressPlainLine_s).
  void update(int64_t done, std::string_view detail);
  /// Replaces the line by "label: message (time taken)" for good, by nothing if the message is empty. Later calls do
  /// nothing.
  void finish(std::string_view message);

  /// Takes the line off the terminal until the next update.
  static void clear_line();
  /// Writes `text` (with its own line ends) where the line is, then draws the line again below it; without a live
  /// Progress, simply writes to standard error.
  static void write_above(std::string_view text);

  /// The line as it would be drawn at `columns`, without colour: pure but for the clock. For tests.
  std::string line(int columns) const;

 private:
  void draw(double now);
  void erase();
  std::string compose(int columns, double now) const;
  std::string times(double now) const;
  double seconds_left() const;
  bool is_newest() const;

  const std::string label_;
  const int64_t total_;
  Options options_;
  bool bar_ = false, colour_ = false, unicode_ = true;

  double started_s_ = 0, updated_s_ = 0, drawn_s_ = -1e300;
  int64_t done_ = 0;
  std::string detail_;
  // Recent time and work, old ones fading: their ratio is the smoothed pace.
  double recent_s_ = 0, recent_done_ = 0;
  bool visible_ = false, finished_ = false;
};

}  // namespace linac
