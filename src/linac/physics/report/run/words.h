#pragma once
// The words and colours of a report on a run. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/run/report.h"

namespace linac::report {

/// A part of workers' time, as all forms of the report show it.
struct TimePart {
  const char* name;
  const char* meaning;  // a sentence
  plot::Colour colour;
  double seconds = 0;
};

/// The phases, computing first, then "waiting" and "unknown": together the whole time.
std::vector<TimePart> parts_of(const TimeSplit& time);

/// The parts of steps in the order in which they come: together the whole of time.wall_s.
std::vector<TimePart> step_parts_of(const job::StepTime& time);

/// "12.3 kB"
std::string bytes_text(double bytes);

/// "0.12 s", "4 min 10 s"
std::string seconds_text(double seconds);

/// "12.3 ms", "4.51 s"; "–" for 0
std::string pace_text(double pace_s);

/// "12.30 EUR", more digits for less
std::string euros(double amount);

/// "the first epoch waited 12.3 s for its input, 11 s of that before its first step; later ones 0.4 s each: the first
/// one 31 times as long".
std::string in_words(const InputWaits& input);

/// "1.2 GB came from stores and 3.4 GB from other workers", and the ranges that others did not give.
std::string in_words(const job::ToldReading& reading);

/// Seconds, minutes or hours, whichever suits a time as long.
struct TimeUnit {
  double seconds;
  const char* name;
};
TimeUnit unit_for(double seconds);

/// "lost: 4711; joined: 4720", "replicas moved"
std::string in_words(const RunReport& report, const RunChange& change);

/// "3 min 2 s on 3 workers, 2 of them lost, 2 joined".
std::string summary(const RunReport& report);

}  // namespace linac::report
