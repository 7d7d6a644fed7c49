#include "linac/data/windowed_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "linac/base/error.h"
#include "linac/base/thread_pool.h"
#include "linac/data/file_format.h"
#include "linac/data/table_reader.h"
#include "linac/net/http_client.h"
#include "linac/storage/source.h"
#include "linac/storage/storage.h"

namespace linac::data {
namespace {

constexpr int kLooksAtOnce = 8;     // requests for the heads of files
constexpr size_t kWindowsKept = 3;  // the one before, whose batches may be read still, this one and the next
constexpr int64_t kSampledBytes = 64 << 10;

/// What tells the file from another one under its name.
std::string version_of(const storage::Source& source) {
  if (source.is_ranged()) return source.version_hash();
  return fmt::format("{}:{}", source.state().size, source.state().mtime_ns);
}

/// The same on all hosts. A file of this host is not read for it but at its two ends.
std::string fingerprint_of(const storage::Source& source) {
  if (source.is_ranged()) return source.version_hash();
  storage::ContentHash hash;
  std::vector<std::byte> room(static_cast<size_t>(std::min(kSampledBytes, source.size())));
  for (const int64_t offset : {int64_t{0}, source.size() - static_cast<int64_t>(room.size())}) {
    source.read(offset, room);
    hash.add(room);
  }
  return storage::content_hash(fmt::format("{} bytes, ends {}", source.size(), hash.text()));
}

struct Looked {
  TableFile file;
  std::string version;
};

Looked look(const std::string& url) {
  const auto source = storage::Source::open(url);
  const std::string name = net::without_secrets(url);
  if (format_of(*source) == FileFormat::kHdf5 && storage::is_remote(url))
    throw user_error(
        fmt::format("[data] {}: HDF5 files of other hosts are fetched whole, which data.shuffle_window is "
                    "to spare: write Parquet files, or leave the setting out",
                    name));
  const TableContents contents = contents_of_table(source);
  if (contents.events < 0)
    throw user_error(
        fmt::format("[data] {}: a {} file does not say how many events it has, which data.shuffle_window "
                    "must know: write Parquet files, or leave the setting out",
                    name, contents.format));
  Looked looked{.file = {.url = url,
                         .format = contents.format,
                         .events = contents.events,
                         .bytes = source->size(),
                         .fingerprint = fingerprint_of(*source),
                         .stored = contents.events,
                         .passed = contents.events},
                .version = version_of(*source)};
  return looked;
}

/// As the first file has settled them; classes must not depend on which file comes first.
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

}  // namespace

std::shared_ptr<WindowedTable> WindowedTable::open(const std::vector<std::string>& urls,
                                                   const std::vector<ColumnRequest>& columns, int window) {
  const std::vector<std::string> names = storage::expand_all(urls);
  std::vector<Looked> looked(names.size());
  ThreadPool pool(std::min<int>(kLooksAtOnce, static_cast<int>(names.size())));
  pool.run(static_cast<int>(names.size()),
           [&](int i) { looked[static_cast<size_t>(i)] = look(names[static_cast<size_t>(i)]); });
  const std::shared_ptr<WindowedTable> table(new WindowedTable);
  table->window_ = window;
  for (Looked& one : looked) {
    if (one.file.events == 0) continue;
    table->ends_.push_back((table->ends_.empty() ? 0 : table->ends_.back()) + one.file.events);
    table->versions_.push_back(std::move(one.version));
    table->files_.push_back(std::move(one.file));
  }
  if (table->files_.empty())
    throw user_error(fmt::format("[data] {}: no event in any of the files; name others", names.front()));
  table->first_ = EventTable::open({table->files_.front().url}, columns);
  table->columns_ = settled(columns, *table->first_);
  table->thread_ = std::thread([raw = table.get()] { raw->open_ahead(); });
  return table;
}

WindowedTable::~WindowedTable() {
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  wanted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::shared_ptr<const WindowedOrder> WindowedTable::order(uint64_t seed, uint32_t epoch) const {
  std::vector<int64_t> sizes;
  for (const TableFile& file : files_) sizes.push_back(file.events);
  return std::make_shared<WindowedOrder>(seed, epoch, sizes, window_);
}

std::shared_ptr<const EventTable> WindowedTable::open_file(uint32_t file) const {
  const TableFile& known = files_[file];
  const auto changed = [&] {
    return data_error(
        fmt::format("[data] {}: the file has changed since the training began; leave the files alone "
                    "while they are used, then start again",
                    net::without_secrets(known.url)));
  };
  if (version_of(*storage::Source::open(known.url)) != versions_[file]) throw changed();
  auto table = EventTable::open({known.url}, columns_);
  if (table->size() != known.events) throw changed();
  if (check_) check_(*table);
  return table;
}

WindowedTable::Opened WindowedTable::opened(uint32_t file) const {
  std::promise<std::shared_ptr<const EventTable>> promise;
  Opened future;
  {
    const std::scoped_lock lock(mutex_);
    const auto [at, is_new] = open_.try_emplace(file);
    if (!is_new) return at->second;
    future = at->second = promise.get_future().share();
  }
  try {
    promise.set_value(open_file(file));
  } catch (...) {
    promise.set_exception(std::current_exception());
  }
  return future;
}

void WindowedTable::open_ahead() const {
  for (;;) {
    uint32_t file = 0;
    {
      std::unique_lock lock(mutex_);
      wanted_.wait(lock, [this] { return stop_ || !ahead_.empty(); });
      if (stop_) return;
      file = ahead_.front();
      ahead_.pop_front();
    }
    opened(file);
  }
}

void WindowedTable::want(const std::vector<uint32_t>& files) const {
  std::vector<Opened> let_go;  // outside of the lock
  {
    const std::scoped_lock lock(mutex_);
    const auto kept = std::find(recent_.begin(), recent_.end(), files);
    if (kept != recent_.end()) return;
    recent_.push_back(files);
    if (recent_.size() > kWindowsKept) recent_.pop_front();
    for (const uint32_t file : files)
      if (!open_.contains(file)) ahead_.push_back(file);
    std::erase_if(open_, [&](auto& one) {
      const bool stays = std::any_of(recent_.begin(), recent_.end(), [&](const std::vector<uint32_t>& window) {
        return std::find(window.begin(), window.end(), one.first) != window.end();
      });
      if (!stays) let_go.push_back(std::move(one.second));
      return !stays;
    });
  }
  wanted_.notify_all();
}

bool WindowedTable::coming(const WindowedOrder& order, int64_t place) const {
  const size_t window = order.window_of(place);
  want(order.files().at(window));
  if (window + 1 == order.files().size()) return true;
  want(order.files()[window + 1]);
  return false;
}

void WindowedTable::coming_next(const WindowedOrder& next) const {
  want(next.files().front());
}

void WindowedTable::read(std::span<const int64_t> events, TableBatch& out) const {
  std::map<uint32_t, std::pair<std::vector<int64_t>, std::vector<size_t>>> of_files;  // its events, and their slots
  for (size_t slot = 0; slot < events.size(); ++slot) {
    LINAC_CHECK(events[slot] >= 0 && events[slot] < size());
    const auto file = static_cast<uint32_t>(std::upper_bound(ends_.begin(), ends_.end(), events[slot]) - ends_.begin());
    auto& [numbers, slots] = of_files[file];
    numbers.push_back(events[slot] - (file == 0 ? 0 : ends_[file - 1]));
    slots.push_back(slot);
  }
  out.events = static_cast<int64_t>(events.size());
  for (auto& [file, of_file] : of_files) {
    const std::shared_ptr<const EventTable> table = opened(file).get();
    table->read_into(of_file.first, of_file.second, out);
  }
}

}  // namespace linac::data
