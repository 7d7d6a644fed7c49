#include "linac/base/plan/spot_trace.h"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"

namespace linac::plan {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kWeibullShape = 0.7, kDay_s = 86400, kDaySwing = 0.8;

}  // namespace

SpotTrace parse_spot_trace(const std::string& text, const std::string& name) {
  SpotTrace trace;
  bool begun = false, there = false;
  double last_s = 0;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string when, what, more;
    if (!(words >> when)) continue;
    words >> what;
    const auto need = [&](bool holds, const char* why) {
      if (!holds)
        throw data_error(fmt::format("[spot] {}:{}: '{}' {}; a line is SECONDS available, or SECONDS gone", name,
                                     number, line, why));
    };
    char* end = nullptr;
    const double seconds = std::strtod(when.c_str(), &end);
    need(end != when.c_str() && *end == '\0' && std::isfinite(seconds) && seconds >= 0, "has no number of seconds");
    need(what == "available" || what == "gone", "says neither available nor gone");
    need(!(words >> more), "has more words");
    need(begun || seconds == 0, "is the first line, and not of second 0");
    need(!begun || seconds > last_s, "is not later than the line before");
    if (!begun)
      trace.there = what == "available";
    else if ((what == "available") != there)
      trace.changes_s.push_back(seconds);
    there = what == "available";
    last_s = seconds;
    begun = true;
  }
  if (!begun) throw data_error(fmt::format("[spot] {}: no line; write SECONDS available, or SECONDS gone", name));
  return trace;
}

SpotMarket::SpotMarket(const SpotTrace& trace) : trace_(&trace), there_(trace.there) {
  if (!trace.changes_s.empty()) until_s_ = trace.changes_s[0];
}

SpotMarket::SpotMarket(const SpotRates& rates, uint64_t seed, uint32_t number)
    : rates_(rates), seed_(seed), number_(number) {
  const bool fixed = rates.kind == SpotKind::kNever || rates.kind == SpotKind::kAlways;
  if (fixed || rates.life_s == kForever || rates.life_s <= 0 || rates.gap_s <= 0) {
    there_ = rates.kind == SpotKind::kAlways || (!fixed && rates.life_s > 0);
    if (fixed || rates.life_s == kForever || rates.life_s <= 0) return;
  } else {
    there_ = rates.gap_s < kForever && uniform() * (rates.life_s + rates.gap_s) < rates.life_s;
  }
  until_s_ = drawn_s();
}

void SpotMarket::pass() {
  there_ = !there_;
  if (trace_ != nullptr)
    until_s_ = ++passed_ < trace_->changes_s.size() ? trace_->changes_s[passed_] : kForever;
  else
    until_s_ += drawn_s();
}

double SpotMarket::uniform() {
  if (drawn_ % four_.size() == 0)
    four_ = philox({drawn_ / 4, 0, number_, 0}, {static_cast<uint32_t>(seed_), static_cast<uint32_t>(seed_ >> 32)});
  return (four_[drawn_++ % four_.size()] + 0.5) * 0x1p-32;
}

double SpotMarket::drawn_s() {
  double mean = there_ ? rates_.life_s : rates_.gap_s;
  if (mean <= 0 || mean == kForever) return mean;
  const double unit = -std::log(uniform());
  if (rates_.kind == SpotKind::kWeibull)
    return mean / std::tgamma(1 + 1 / kWeibullShape) * std::pow(unit, 1 / kWeibullShape);
  if (rates_.kind == SpotKind::kDiurnal) {
    const double now_s = std::isfinite(until_s_) ? until_s_ : 0;
    const double swing = kDaySwing * std::cos(2 * std::numbers::pi * now_s / kDay_s);
    mean *= there_ ? 1 + swing : 1 - swing;
  }
  return mean * unit;
}

SpotTrace made_up_trace(const SpotRates& rates, uint64_t seed, uint32_t number, double end_s, double look_s) {
  SpotMarket market(rates, seed, number);
  SpotTrace trace{.there = market.there()};
  bool seen = trace.there;
  for (double look = 1; look * look_s < end_s; ++look) {
    while (market.until_s() <= look * look_s) market.pass();
    if (market.there() == seen) continue;
    seen = market.there();
    trace.changes_s.push_back(look * look_s);
  }
  return trace;
}

}  // namespace linac::plan
