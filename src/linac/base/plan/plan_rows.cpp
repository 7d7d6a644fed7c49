#include "linac/base/plan/plan_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/plan/work.h"

namespace linac::plan {
namespace {

const std::vector<std::pair<std::string, Order>>& orders() {
  static const std::vector<std::pair<std::string, Order>> kOrders{
      {"money", Order::kMoney}, {"time", Order::kTime}, {"energy", Order::kEnergy}, {"carbon", Order::kCarbon}};
  return kOrders;
}

// That of the host itself, if there is one.
const Measured& measured_for(const Offer& offer, const std::vector<Measured>& measured) {
  const auto own = std::ranges::find_if(
      measured, [&](const Measured& one) { return offer.host && is_host(one.host, offer.host->host); });
  return own == measured.end() ? measured.front() : *own;
}

// The same work has the same messages: a measurement that lacks them has those of another, in its own time.
std::vector<Measured> with_messages(std::vector<Measured> measured) {
  const auto told = std::ranges::find_if(measured, [](const Measured& one) { return !one.updates.empty(); });
  if (told == measured.end()) return measured;
  for (Measured& one : measured) {
    if (!one.updates.empty()) continue;
    one.updates = told->updates;
    if (one.flop == 0) one.flop = told->flop;
    const double scale = one.step_s() / told->step_s();
    for (Update& update : one.updates) {
      update.beside_s *= scale;
      for (Bucket& bucket : update.buckets) bucket.left_s *= scale;
    }
  }
  return measured;
}

struct MeasuredPlaces {
  std::vector<Place> places;
  std::vector<const Measured*> measured;  // of each
};

MeasuredPlaces places_for(const std::vector<Measured>& measured, const Question& question, const Book& book) {
  MeasuredPlaces found;
  for (const Offer& offer : question.offers) {
    const Measured& own = measured_for(offer, measured);
    found.places.push_back(place_of(offer, own, book, question.book));
    found.measured.push_back(&own);
  }
  for (Place& place : places_of_book(question.book, measured.front(), book)) {
    found.places.push_back(std::move(place));
    found.measured.push_back(&measured.front());
  }
  return found;
}

}  // namespace

std::optional<Order> order_named(const std::string& name) {
  const auto found = std::ranges::find(orders(), name, &std::pair<std::string, Order>::first);
  return found == orders().end() ? std::nullopt : std::optional(found->second);
}

const std::vector<std::string>& order_names() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, order] : orders()) names.push_back(name);
    return names;
  }();
  return kNames;
}

std::string plan_name(const Place& place, const Candidate& candidate) {
  std::string name = place.name + ", ";
  if (candidate.hosts > 1)
    name += fmt::format("{} hosts of {}", candidate.hosts, plural(candidate.workers_a_host, "worker"));
  else
    name += plural(candidate.workers_a_host, "worker");
  return candidate.market == Market::kSpot ? name + ", spot" : name;
}

void rank_places(std::vector<Work> works, const Question& question, const std::vector<PastRun>& past, const Book& book,
                 Ranking& ranking) {
  ranking.goal = works.front().goal;
  ranking.experience = experience_of(past);
  std::vector<MeasuredPlaces> there;  // of each work
  std::vector<Candidate> all;
  bool left_out = false;
  for (Work& work : works) {
    work.measured = with_messages(std::move(work.measured));
    const MeasuredPlaces& found = there.emplace_back(places_for(work.measured, question, book));
    for (Candidate one : candidates(work.measured.front(), found.places, question.spot, question.workers)) {
      one.work = there.size() - 1;
      const bool known = one.workers() == 1 || !found.measured[one.place]->updates.empty();
      left_out = left_out || !known;
      if (known) all.push_back(one);
    }
  }
  if (question.candidates_max > 0 && all.size() > question.candidates_max)
    throw user_error(
        fmt::format("[plan] {} ways to run it are asked for, {} are the most; name fewer machines, regions or hosts",
                    all.size(), question.candidates_max));
  if (left_out)
    ranking.remarks.emplace_back(
        "what several workers would exchange is not known, as an older linac made the run that was measured: one "
        "worker at each place alone is planned");
  std::vector<Experience> experiences;  // of each place, whatever the work
  for (const Place& place : there.front().places) experiences.push_back(experience_of(past, place.name));
  const auto planned = [&](const Candidate& one, SpotBy by) {
    const Work& work = works[one.work];
    const MeasuredPlaces& found = there[one.work];
    Forecast made = forecast(*found.measured[one.place], work.goal, found.places[one.place], one, ranking.wishes,
                             experiences[one.place], by);
    made.remarks.insert(made.remarks.end(), work.remarks.begin(), work.remarks.end());
    return made;
  };
  std::vector<Forecast> found;
  for (const Candidate& one : all) found.push_back(planned(one, SpotBy::kMeans));
  rank(found, question.order, [&](const Forecast& one) { return planned(one.candidate, SpotBy::kCarryingOut); });
  const std::vector<bool> front = pareto(found);
  for (size_t i = 0; i < found.size(); ++i) {
    const Candidate candidate = found[i].candidate;
    const Place& place = there[candidate.work].places[candidate.place];
    const Measured& of = works[candidate.work].measured.front();
    ranking.rows.push_back({plan_name(place, candidate) + works[candidate.work].name, place.name,
                            candidate.market == Market::kSpot ? place.spot_price : place.price, std::move(found[i]),
                            front[i], of.replicas_of_job, of.batch, of.precision});
  }
}

}  // namespace linac::plan
