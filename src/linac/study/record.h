#pragma once
// A study as one JSON document, for the page that `linac-compute` draws of it. Pure, thread-safe.
//
// {"title", "facts": [[name, text]], "objectives": [{"name", "maximize"}], "parameters": [{"name", "low", "high",
// "log", "choices"}], "trials": [{"trial", "state", "reason", "values", "at": [number, position among the choices, or
// null where inactive], "words": [text or null], "curve": [[step, value]], "seconds": null or of its time}], "front":
// [trial, ...], "importance": [[share of each parameter] of each objective], "map": null or {"x", "y": parameters,
// "cells", "values": of the first objective}}. Numbers that are not finite are null.

#include <nlohmann/json_fwd.hpp>

#include "linac/study/journal.h"

namespace linac::study {

nlohmann::json record_of(const Journal& journal);

}  // namespace linac::study
