#pragma once
// Where a training could go, as the planner sees it: hosts that tell of themselves, sites of which somebody says what
// they are worth, machines of the price book. Pure, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/base/plan/measured.h"
#include "linac/base/plan/prices.h"
#include "linac/base/plan/worth.h"

namespace linac::plan {

/// A host that tells of itself.
struct HostOf {
  std::string host;  // "gpu03, Intel(R) Xeon(R) ...", or its name alone
  double cores = 1, memory_gib = 0;
};
/// The one that this process runs on.
HostOf this_machine();

/// A place that somebody offers.
struct Offer {
  std::string name;  // "here", "farm", "agent gpu03"
  Worth worth;
  std::optional<HostOf> host;  // nothing: its hosts are not known
  bool waits = true;           // a launch waits there, for a time that `worth` may tell
};
nlohmann::json to_json(const Offer& offer);
/// User error naming `where` for what is no such object.
Offer offer_from(const nlohmann::json& json, const std::string& where);

/// What prices are looked up by, and machines of the book that are tried.
struct BookWishes {
  std::vector<std::string> machines;  // patterns of names
  int hosts_max = 1;                  // of each of them
  std::vector<std::string> regions;   // of prices and carbon dioxide: each such machine is a place in each; none: any
  std::string date;                   // of prices; empty: the newest
  double spot_life_h = 0;             // of these machines; 0: not known
  double spot_gap_h = 0;              // until another one can be had; 0: at once
};

/// User error naming the offer whose machine the book does not have.
Place place_of(const Offer& offer, const Measured& measured, const Book& book, const BookWishes& wishes);
/// User error for a pattern that no machine of the book has.
std::vector<Place> places_of_book(const BookWishes& wishes, const Measured& measured, const Book& book);

/// Of a device of it, or of all its cores; 0: the book does not say.
double peak_tflops(const Machine& machine, const std::string& precision);

/// How much longer `machine` takes for a replica's step than where it was measured, and how sure that is.
Estimate slower_on(const Machine& machine, const Measured& measured, const Book& book);

}  // namespace linac::plan
