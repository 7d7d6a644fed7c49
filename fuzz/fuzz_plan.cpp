// What a planner reads: a measurement that another host made, a price book of somebody's own, and what a service tells
// of its places and runs. What is read is written as a text that says the same, and can be planned with.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/base/error.h"
#include "linac/base/base/json_depth.h"
#include "linac/base/plan/forecast.h"
#include "linac/base/plan/past_run.h"
#include "linac/base/plan/places.h"
#include "linac/base/plan/prices.h"

namespace {

using namespace linac::plan;

void need(bool condition) {
  if (!condition) std::abort();
}

void plan_with(const Measured& measured) {
  const std::string written = to_text(measured);
  need(to_text(read_measured(written, "fuzz")) == written);
  Place place;
  place.cores = 4;
  place.hosts_max = 4;
  place.price = 1;
  std::vector<Forecast> found;
  for (const Candidate& one : candidates(measured, {place}, true, {1, 4}))
    found.push_back(forecast(measured, {{static_cast<double>(measured.steps), 0}, ""}, place, one, {}, {}));
  rank(found, Order::kMoney);
  need(pareto(found).size() == found.size());
}

void service_tells(const std::string& text) {
  constexpr int kDeepest = 32;
  const auto json = linac::json_depth(text) > kDeepest ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
  try {
    const PastRun run = past_run_from(json, "fuzz");
    const auto told = to_json(run);
    need(to_json(past_run_from(told, "fuzz")) == told);
    experience_of({run});
  } catch (const linac::Error&) {
  }
  try {
    const Offer offer = offer_from(json, "fuzz");
    const auto told = to_json(offer);
    need(to_json(offer_from(told, "fuzz")) == told);
    Measured measured;
    measured.start_s = {1};
    measured.wave_s = 1;
    measured.steps = measured.epochs = 1;
    Book book;
    place_of(offer, measured, book, {});
  } catch (const linac::Error&) {
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    plan_with(read_measured(text, "fuzz"));
  } catch (const linac::Error&) {
  }
  try {
    for (const Machine& machine : parse_book(text, "fuzz").machines) need(!machine.name.empty());
  } catch (const linac::Error&) {
  }
  service_tells(text);
  return 0;
}
