#pragma once
// What a job's slots cost.

#include <string>

#include "linac/control/catalog/queue.h"

namespace linac::execution {

/// As a file of prices has them; all of an hour.
struct Prices {
  double core = 0, gpu = 0;
  double memory_gb = 0;  // of what a job asked for
  std::string currency = "EUR";

  template <class Visitor>
  void fields(Visitor& v) {
    v("core", core, "a core for an hour");
    v("gpu", gpu, "a GPU for an hour");
    v("memory_gb", memory_gb, "1 GB of the memory that a job asked for, for an hour");
    v("currency", currency, "in which the prices are");
  }

  /// "0.02" (of a core), or the name of a YAML file with some of the fields. User error for anything else, and for a
  /// price that is negative.
  static Prices of_text(const std::string& text);

  bool known() const { return core > 0 || gpu > 0 || memory_gb > 0; }
  double of(const catalog::Resources& resources, double seconds) const;
};

}  // namespace linac::execution
