#pragma once
// Where a training could go: this host, sites of sites.yaml, machines of the price book, as the planner sees them.

#include <string>
#include <vector>

#include "linac/base/plan/forecast.h"
#include "linac/base/plan/measured.h"
#include "linac/base/plan/prices.h"

namespace linac::cli {

struct PlaceWishes {
  std::vector<std::string> sites;     // names; "all"
  std::vector<std::string> machines;  // patterns of names in the book
  int hosts_max = 1;                  // of machines of the book
  bool here = true;
  std::vector<std::string>
      regions;             // of prices and carbon dioxide: a machine of the book is a place in each; none: any
  std::string date;        // of prices; empty: the newest
  double spot_life_h = 0;  // of machines of the book; 0: not known
  double spot_gap_h = 0;   // until another one can be had; 0: at once
};

/// User error naming the site or machine that is not there.
std::vector<plan::Place> places_for(const PlaceWishes& wishes, const plan::Measured& measured, const plan::Book& book);

/// Of a device of it, or of all its cores; 0: the book does not say.
double peak_tflops(const plan::Machine& machine, const std::string& precision);

/// How much longer `machine` takes for a replica's step than where it was measured, and how sure that is.
plan::Estimate slower_on(const plan::Machine& machine, const plan::Measured& measured, const plan::Book& book);

}  // namespace linac::cli
