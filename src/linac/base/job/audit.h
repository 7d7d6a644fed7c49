#pragma once
// Whether workers compute what others did a second time: job keys train.audit. Plain values.

#include <cstdint>
#include <string>

#include "linac/base/job/fault_places.h"

namespace linac::job {

/// A fault made on purpose, to see an audit find it.
struct AuditFault {
  std::string in = "none";
  int worker = 1;
  int64_t step = 0;

  bool any() const { return in != "none"; }
  template <class V>
  void fields(V& v) {
    v("in", in, fault_places_help());
    v("worker", worker, "whose: its rank at the start of the run, or the number in which it came later");
    v("step", step, "behind so many steps of the training");
  }
};

/// Replicas that are computed a second time elsewhere.
struct Audit {
  double rate = 0;
  AuditFault fault;

  template <class V>
  void fields(V& v) {
    v("rate", rate,
      "share of the steps in which each replica is computed a second time, by another worker, and compared bit by bit: "
      "who computes wrongly is named and shut out (docs/guide/audit.md); 0: none. Changes nothing in the result");
    v("fault", fault, "");
  }
};

}  // namespace linac::job
