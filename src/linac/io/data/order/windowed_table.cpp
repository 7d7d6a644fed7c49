#include "linac/io/data/order/windowed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/column_fill.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/formats/zipped_rows.h"
#include "linac/io/data/transform/table.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

/// As a file has settled them; classes must not depend on which file comes first.
std::vector<ColumnRequest> settled(const std::vector<ColumnRequest>& asked, const EventTable& first) {
  std::vector<ColumnRequest> columns = first.columns();
  for (size_t i = 0; i < columns.size(); ++i) {
    if (!columns[i].texts) continue;
    if (asked[i].texts->names.empty())
      throw user_error(
          fmt::format("[data] {}: column '{}' holds texts, and data.shuffle_window reads a few files at a "
                      "time: name all classes in data.classes",
                      first.files().front().url, columns[i].column));
    columns[i].texts->always = true;
  }
  return columns;
}

/// What the footer says of the columns. A file of another host would be fetched for it where the format's library needs
/// one of this host.
std::optional<int64_t> count_in(const std::string& url, const std::vector<ColumnRequest>& columns,
                                const Transform& transform) {
  if (transform.selects()) return std::nullopt;
  const auto source = storage::Source::open(url);
  const Access access = format_of(*source).access;
  if (access == Access::kStream || (access == Access::kFile && source->is_remote())) return std::nullopt;
  std::vector<WantedColumn> wanted;
  for (const ColumnRequest& column : columns) std::ranges::move(wanted_of(column), std::back_inserter(wanted));
  const OpenReader open = [&](const std::vector<WantedColumn>& asked) { return open_table_reader(source, asked); };
  const int64_t events = TransformedTable(url, unzipped(wanted), needed_of(transform, unzipped(wanted)), open).events();
  return events < 0 ? std::nullopt : std::optional(events);
}

std::shared_ptr<const EventTable> first_with_events(const std::vector<FileVersion>& files,
                                                    const std::vector<ColumnRequest>& columns,
                                                    const Transform& transform) {
  for (const FileVersion& file : files)
    if (auto table = EventTable::open_one(file.url, columns, transform); table->size() > 0) return table;
  throw user_error(fmt::format("[data] {}: no event for the training in {}; name others{}", files.front().url,
                               files.size() == 1 ? "this file" : "any of " + plural(files.size(), "file"),
                               transform.selects() ? ", or mend data.filter or data.split" : ""));
}

}  // namespace

std::shared_ptr<WindowedTable> windowed_table(const std::vector<std::string>& urls,
                                              const std::vector<ColumnRequest>& columns, const Transform& transform,
                                              int window, Counts counts) {
  std::vector<FileVersion> files = versions_of(urls);
  const auto first = first_with_events(files, columns, transform);
  const std::vector<ColumnRequest> wanted = settled(columns, *first);
  WindowedTable::Opening opening{
      .open = [wanted, transform](const std::string& url) { return EventTable::open_one(url, wanted, transform); },
      .count = [wanted, transform](const std::string& url) { return count_in(url, wanted, transform); }};
  auto table = std::make_shared<WindowedTable>(std::move(files), window, std::move(opening), first);
  if (counts == Counts::kNone) return table;
  if (const auto silent = table->count_all()) {
    throw user_error(fmt::format(
        "[data] {}: {} how many events it gives before it is read, which data.shuffle_window needs of all files for an "
        "epoch of all events: set train.steps_per_epoch",
        net::without_secrets(*silent),
        transform.selects() ? "data.filter and data.split hide" : "the file's format does not say"));
  }
  if (table->size() > 0) return table;
  throw user_error(fmt::format("[data] {}: no event in any of the files; name others", table->files().front().url));
}

std::vector<std::string> drawn_files(const WindowedTable& table, uint64_t seed, int window) {
  // An epoch that no training reaches.
  const WindowedOrder order(seed, std::numeric_limits<uint32_t>::max(), table.files().size(), window, {});
  std::vector<uint32_t> files = order.files(0);
  std::sort(files.begin(), files.end());
  std::vector<std::string> urls;
  for (const uint32_t file : files) urls.push_back(table.files()[file].url);
  return urls;
}

}  // namespace linac::data
