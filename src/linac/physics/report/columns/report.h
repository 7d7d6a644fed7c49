#pragma once
// What `linac data stats` shows: the columns of event files, and the events that are there more than once, as a page,
// as JSON, as pictures and as lines of text. Presentation only; the numbers come from base/columns/. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/columns/table_stats.h"
#include "linac/physics/report/page/named_picture.h"

namespace linac::report {

struct ColumnsReport {
  std::string title;
  columns::TableStats stats;
  std::vector<std::string> targets;                        // names of columns whose classes a training learns
  std::vector<std::pair<std::string, std::string>> facts;  // files, dates, versions
  std::vector<std::string> remarks;                        // what a reader must know

  bool has_test() const { return !stats.test.urls.empty(); }
  bool is_target(const std::string& column) const;
};

/// What is wrong or worth a look: events in training and test, copies, NaN, columns that say nothing, rare classes.
std::vector<std::string> findings_of(const ColumnsReport& report);

/// Histograms of twelve columns each. Environment error where there is no memory for a picture.
std::vector<NamedPicture> draw(const ColumnsReport& report);

/// One self-contained page (UTF-8) that opens offline, with every text escaped.
std::string to_html(const ColumnsReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"title", "train": SIDE, "test": SIDE|null, "columns": [{"name", "stored", "target", "bin_edges", "train":
/// COLUMN, "test": COLUMN|null}], "duplicates": {"looked_at", "train", "test", "leaked", "pairs": [[PLACE, PLACE]]},
/// "findings", "left_out": [{"name", "why"}], "facts", "remarks"} with SIDE {"files": [{"url", "events"}], "events",
/// "bytes"}, PLACE {"side", "file", "event"} and COLUMN {"events", "values", "nulls", "nan", "infinite", "zeros",
/// "min", "max", "mean", "std", "quantiles": [[share, value]], "exact_quantiles", "constant", "length": {"min", "max",
/// "mean"}|null, "places", "constant_places", "first_constant_places", "classes": [{"name", "events"}], "bin_shares"}.
/// What is not finite is null.
nlohmann::ordered_json to_json(const ColumnsReport& report);

/// The tables for a terminal.
std::string to_text(const ColumnsReport& report);

}  // namespace linac::report
