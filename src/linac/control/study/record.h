#pragma once
// A study as one JSON document, for its page, and its trials as JSON. Pure, thread-safe.
//
// {"title", "facts": [[name, text]], "objectives": [{"name", "maximize"}], "parameters": [{"name", "low", "high",
// "edge": so far its cells reach beyond, "log", "choices"}], "trials": [{"trial", "state", "reason", "values", "at":
// [number, position among the choices, or null where inactive], "words": [text or null], "curve": [[step, value]],
// "seconds": null or of its time}], "front": [trial, ...], "importance": [[share of each parameter] of each objective],
// "map": null or {"x", "y": parameters, "cells", "values": of the first objective}}. Numbers that are not finite are
// null.

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <utility>
#include <vector>

#include "linac/control/study/ledger.h"

namespace linac::study {

/// `facts`: what is said of it first, e.g. {{"folder", "studies/a"}}.
nlohmann::json record_of(const Ledger& ledger, const std::string& title,
                         std::vector<std::pair<std::string, std::string>> facts);

/// A trial for programs: {"trial", "state", "point", "values", "curve": [[step, value]], "reason"}, with "nan", "inf"
/// and "-inf" as texts.
nlohmann::json trial_json(const Ledger& ledger, const tune::Trial& trial);

}  // namespace linac::study
