#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numbers>

#include "linac/base/base/bytes.h"
#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/cli/data/batch_columns.h"
#include "linac/cli/data/data_of_job.h"
#include "linac/cli/data/data_verbs.h"
#include "linac/cli/data/verbs.h"
#include "linac/io/data/column_scaling.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"

namespace linac::cli {
namespace {

constexpr size_t kFingerprintShown = 12;

struct DataOptions {
  std::vector<std::string> files;
  data::Fields fields;
  data::Preprocessing preprocessing;
  bool json = false;
};

struct ScalingOptions {
  std::vector<std::string> files, columns;
  std::string job, out;
  std::optional<float> padding;
};

std::string format_range(double low, double high, const char* unit) {
  return fmt::format("{:.3g}-{:.3g} {}", low, high, unit);
}

double degrees(double rad) {
  return rad * 180 / std::numbers::pi;
}

void print_json(const data::Dataset& set) {
  auto files = nlohmann::ordered_json::array();
  for (const data::FileReport& file : set.files()) {
    files.push_back({{"url", file.url},
                     {"format", file.format},
                     {"events", file.events},
                     {"kept", file.kept},
                     {"shape", {file.shape.x, file.shape.y, file.shape.z}},
                     {"energy_gev", {file.energy_gev_min, file.energy_gev_max}},
                     {"angle_rad", {file.angle_min, file.angle_max}},
                     {"bytes", file.bytes},
                     {"fingerprint", file.fingerprint}});
  }
  fmt::print("{}\n", nlohmann::ordered_json{{"events", set.size()}, {"files", files}}.dump(2));
}

void print_table(const data::Dataset& set) {
  std::vector<std::vector<std::string>> rows{
      {"file", "format", "events", "kept", "shape", "energy", "angle", "size", "xxh3"}};
  int64_t events = 0, bytes = 0;
  for (const data::FileReport& file : set.files()) {
    rows.push_back({file.url, file.format, std::to_string(file.events), std::to_string(file.kept),
                    data::to_string(file.shape), format_range(file.energy_gev_min, file.energy_gev_max, "GeV"),
                    format_range(degrees(file.angle_min), degrees(file.angle_max), "deg"), format_bytes(file.bytes),
                    file.fingerprint.substr(0, kFingerprintShown)});
    events += file.events;
    bytes += file.bytes;
  }
  if (set.files().size() > 1) {
    rows.push_back({fmt::format("{} files", set.files().size()), "", std::to_string(events), std::to_string(set.size()),
                    "", "", "", format_bytes(bytes), ""});
  }
  std::vector<size_t> widths(rows[0].size());
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  const auto is_number = [](size_t column) { return column == 2 || column == 3 || column == 7; };
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += is_number(i) ? fmt::format("{:>{}}  ", row[i], widths[i]) : fmt::format("{:<{}}  ", row[i], widths[i]);
    }
    fmt::print("{}\n", line.substr(0, line.find_last_not_of(' ') + 1));
  }
}

/// A file that holds no showers, and what a user would know of its columns of texts.
struct TableInfo {
  std::string url;
  data::TableContents contents;
  std::string reading;                                         // how
  std::map<std::string, std::vector<data::StoredText>> texts;  // by column
  std::map<std::string, std::string> no_classes;               // why a column's texts are none
};

TableInfo table_info(const std::shared_ptr<const storage::Source>& source, data::TableContents contents) {
  TableInfo info{source->url(), std::move(contents), data::describe_reading(*source), {}, {}};
  if (info.contents.events < 0) info.contents.events = data::count_events(source);
  for (const std::string& column : info.contents.of_texts) {
    try {
      info.texts[column] = data::count_texts(source, column);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      info.no_classes[column] = error.what();
    }
  }
  return info;
}

void print_texts(const TableInfo& info) {
  constexpr size_t kShown = 20;
  for (const auto& [column, texts] : info.texts) {
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min(kShown, texts.size()); ++i)
      shown.push_back(fmt::format("{} {}", data::shown_text(texts[i].text), texts[i].events));
    if (texts.size() > kShown) shown.push_back(fmt::format("and {} others", texts.size() - kShown));
    fmt::print("  classes of {}: {}\n", column, fmt::join(shown, ", "));
  }
  for (const auto& [column, why] : info.no_classes) fmt::print("  no classes in {}: {}\n", column, why);
}

void print_contents(const std::vector<TableInfo>& files, bool as_json) {
  auto list = nlohmann::ordered_json::array();
  for (const TableInfo& info : files) {
    const data::TableContents& contents = info.contents;
    list.push_back({{"url", info.url},
                    {"format", contents.format},
                    {"events", contents.events},
                    {"columns", contents.columns},
                    {"read", info.reading}});
    for (const auto& [column, texts] : info.texts)
      for (const data::StoredText& one : texts) list.back()["texts"][column][one.text] = one.events;
    if (as_json) continue;
    fmt::print("{}: {}, {}{}\n", info.url, contents.format, plural(contents.events, "event"),
               storage::is_remote(info.url) ? ", read " + info.reading : "");
    for (const std::string& column : contents.columns) fmt::print("  {}\n", column);
    print_texts(info);
  }
  if (as_json) fmt::print("{}\n", nlohmann::ordered_json{{"files", list}}.dump(2));
}

void run_info(const DataOptions& options) {
  const bool is_job = options.files.size() == 1 && names_job(options.files.front());
  if (is_job) return events_of_jobs().print(options.files.front(), options.json);
  std::vector<TableInfo> files;
  for (const std::string& url : storage::expand_all(options.files)) {
    const auto source = storage::Source::open(url);
    data::TableContents contents = data::contents_of_table(source);
    if (!holds_showers(contents, options.fields)) {
      files.push_back(table_info(source, std::move(contents)));
      continue;
    }
    const auto set = data::Dataset::open(options.files, options.fields, options.preprocessing);
    if (options.json) return print_json(*set);
    print_table(*set);
    for (const data::FileReport& file : set->files())
      if (storage::is_remote(file.url)) fmt::print("{}: read from a copy in the cache, event by event\n", file.url);
    return;
  }
  print_contents(files, options.json);
}

// What the columns are called and how lists are named, where one of those asked for is not as the file has it.
std::shared_ptr<const data::EventTable> open_columns(const ScalingOptions& options,
                                                     const std::vector<data::ColumnRequest>& columns) {
  try {
    const data::Transform transform =
        options.job.empty() ? data::Transform{} : events_of_jobs().transform(options.job, /*need_key=*/true);
    return data::EventTable::open(options.files, columns, transform);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kData) throw;
    const std::string what = error.what(), url = storage::expand_all(options.files).front();
    const data::TableContents contents = data::contents_of_table(storage::Source::open(url));
    const std::string columns_there = what.find("(found: ") != std::string::npos
                                          ? ""
                                          : fmt::format("; {} has {}", url, fmt::join(contents.columns, ", "));
    throw data_error(
        fmt::format("{}; --column takes NAME for one number an event, NAME:FEATURES for a list of features, and "
                    "NAME:ROWSxFEATURES for a list of rows, of which the first ROWS count{}",
                    what, columns_there));
  }
}

void run_scaling(const ScalingOptions& options) {
  std::vector<data::ColumnRequest> columns;
  for (const std::string& text : options.columns) {
    const data::ColumnRequest column = column_of(text, "scaling");
    if (std::ranges::find(columns, column.column, &data::ColumnRequest::column) != columns.end())
      throw user_error(fmt::format("[scaling] --column {}: {} is named twice; say it once", text, column.column));
    columns.push_back(column);
  }
  if (!options.job.empty()) events_of_jobs().set_padding(options.job, columns);
  for (data::ColumnRequest& column : columns)
    if (options.padding && column.shape.size() == 2) column.padding = *options.padding;
  storage::need_ending(options.out, {".json"}, "scaling");
  const storage::Output out(options.out);
  const auto table = open_columns(options, columns);
  data::warn_of_cuts(*table);
  data::write_scaling(*table, out.path());
  out.publish();
  fmt::print("{}: {} of {}\n", options.out, plural(static_cast<int64_t>(columns.size()), "column"),
             plural(table->size(), "event"));
}

void add_scaling_verb(CLI::App& verb) {
  auto options = std::make_shared<ScalingOptions>();
  auto* scaling = verb.add_subcommand(
      "scaling", "Mean, standard deviation, least and largest value of each feature, for a job's data.scaling");
  scaling->add_option("files", options->files, "the training events: HDF5, Parquet or TFRecord")->required();
  scaling->add_option("--column", options->columns, "NAME, NAME:FEATURES or NAME:ROWSxFEATURES (may be repeated)")
      ->required()
      ->type_size(1)
      ->allow_extra_args(false);
  scaling->add_option("--job", options->job,
                      "a job whose computed columns, lists and selection of training events count (data.define, lists, "
                      "filter, split)");
  scaling->add_option("--padding", options->padding,
                      "rows of this value in all features are padding and do not count (default: what a Masking of the "
                      "model of --job hides, or 0)");
  scaling->add_option("--out", options->out, "JSON file to write")->required();
  scaling->footer(
      "Example: linac data scaling data/topology-train.parquet --column GRU_input:801x19 --column HLF_input:14 --out "
      "scaling.json");
  scaling->callback([options] { run_scaling(*options); });
}

}  // namespace

void add_data_verb(CLI::App& app) {
  auto* verb = add_handed_verb(app, "data");
  verb->require_subcommand(1);
  verb->footer("Example: linac data info 'data/*.h5'");

  auto options = std::make_shared<DataOptions>();
  auto* info = verb->add_subcommand("info",
                                    "Says what files hold: of showers every event is checked, of tables the columns "
                                    "are listed; of a job, which events "
                                    "it selects");
  info->add_option("files", options->files, "HDF5, Parquet or TFRecord files: paths, globs, URLs; or a job (.yaml)")
      ->required();
  info->add_flag("--json", options->json, "as JSON");
  add_shower_options(*info, options->fields, options->preprocessing);
  info->footer(
      "Examples:\n  linac data info data/showers-train.h5 --json\n  linac data info data/topology-train.parquet\n"
      "  linac data info examples/topology.yaml");
  info->callback([options] { run_info(*options); });

  add_data_convert(*verb);
  add_data_split(*verb);
  add_scaling_verb(*verb);
  add_data_copy(*verb);
  add_data_verify(*verb);
  add_data_stats(*verb);
  add_data_batches(*verb);
}

}  // namespace linac::cli
