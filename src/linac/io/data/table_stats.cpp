#include "linac/io/data/table_stats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::data {
namespace {

using columns::ColumnGatherer;
using columns::Duplicates;
using columns::LeftOutColumn;
using columns::SideStats;
using columns::TableStats;
using SourcePtr = std::shared_ptr<const storage::Source>;

struct Chosen {
  WantedColumn wanted;
  StoredColumn stored;
};

WantedColumn any_form(const std::string& name) {
  return {.name = name, .shape = {}, .texts = true, .any_form = true};
}

/// The columns that are looked at.
class Choice {
 public:
  Choice(const SourcePtr& source, const StatsOptions& options) : source_(source), contents_(contents_of_table(source)) {
    for (const auto* const names : {&options.columns, &options.without})
      for (const std::string& name : *names) need(name);
    std::vector<WantedColumn> wanted;
    for (const std::string& name : contents_.names) {
      const bool named = options.columns.empty() || std::ranges::find(options.columns, name) != options.columns.end();
      if (named && std::ranges::find(options.without, name) == options.without.end()) wanted.push_back(any_form(name));
    }
    // One opening for all, as a rule; where one of them cannot be read, each alone.
    if (!taken(wanted))
      for (const WantedColumn& one : wanted) look_at(one);
    if (chosen.empty()) {
      throw data_error(fmt::format("[stats] {}: no column that can be read ({})", source->url(),
                                   left_out.empty() ? "none is left" : left_out.front().why));
    }
  }

  std::vector<Chosen> chosen;
  std::vector<LeftOutColumn> left_out;

 private:
  void need(const std::string& name) const {
    const auto& names = contents_.names;
    if (std::ranges::find(names, name) != names.end()) return;
    const auto near = nearest(name, names);
    throw user_error(fmt::format("[stats] {}: no column '{}' (found: {}){}", source_->url(), name,
                                 fmt::join(names, ", "), near ? fmt::format("; did you mean '{}'?", *near) : ""));
  }

  bool taken(const std::vector<WantedColumn>& wanted) {
    try {
      const auto reader = open_table_reader(source_, wanted);
      if (reader->events() >= 0 && contents_.events >= 0 && reader->events() != contents_.events) return false;
      for (size_t i = 0; i < wanted.size(); ++i) take(wanted[i], reader->columns()[i]);
      return true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      return false;
    }
  }

  void look_at(const WantedColumn& wanted) {
    try {
      const auto reader = open_table_reader(source_, {wanted});
      const bool same_events = reader->events() < 0 || contents_.events < 0 || reader->events() == contents_.events;
      if (same_events) return take(wanted, reader->columns()[0]);
      left_out.push_back({wanted.name, fmt::format("holds {}, the file {}", plural(reader->events(), "event"),
                                                   plural(contents_.events, "event"))});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      left_out.push_back({wanted.name, error.what()});
    }
  }

  /// Texts that name no classes end a pass: they are counted alone first.
  void take(const WantedColumn& wanted, const StoredColumn& stored) {
    try {
      if (stored.is_text) count_texts(source_, wanted.name);
      chosen.push_back({wanted, stored});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      left_out.push_back({wanted.name, error.what()});
    }
  }

  const SourcePtr source_;
  const TableContents contents_;
};

/// What an event is, as bytes: its numbers as float32 and what that leaves of them, so that a number is the same in
/// every type that holds it.
class EventHash {
 public:
  /// Column i as float32 alone.
  void round(size_t i) { rounded_.insert(i); }

  /// The hashes of a block's events.
  std::vector<uint64_t> of(const std::vector<RaggedColumn>& block, const TableReader& reader) {
    places_.assign(block.size(), 0);
    std::vector<uint64_t> hashes;
    for (size_t event = 0; event < block[0].rows.size(); ++event) {
      bytes_.clear();
      for (size_t i = 0; i < block.size(); ++i) append(block[i], i, event, reader);
      hashes.push_back(storage::checksum(bytes_));
    }
    return hashes;
  }

 private:
  void append(const RaggedColumn& column, size_t i, size_t event, const TableReader& reader) {
    if (reader.columns()[i].is_text) {
      const std::string& text = reader.texts(i).at(static_cast<size_t>(column.values[event])).text;
      append(std::as_bytes(std::span(text)));
      return append(std::as_bytes(std::span("", 1)));
    }
    const uint32_t size = column.sizes[event];
    append(std::as_bytes(std::span(&column.rows[event], 1)));
    append(std::as_bytes(std::span(&size, 1)));
    append(std::as_bytes(std::span(column.values).subspan(places_[i], size)));
    if (!column.rests.empty() && !rounded_.contains(i)) {
      for (uint32_t at = 0; at < size; ++at) {
        const uint64_t place_and_rest[] = {at, column.rests[places_[i] + at]};
        if (place_and_rest[1] != 0) append(std::as_bytes(std::span(place_and_rest)));
      }
    }
    places_[i] += size;
  }
  void append(std::span<const std::byte> bytes) { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }

  std::vector<std::byte> bytes_;
  std::vector<size_t> places_;
  std::set<size_t> rounded_;
};

class Pass {
 public:
  explicit Pass(const StatsOptions& options) : options_(options), pool_(std::max(1, options.threads)) {
    LINAC_CHECK(!options.train.empty());
    for (const auto* const urls : {&options.train, &options.test})
      for (const std::string& url : *urls) all_bytes_ += storage::store_of(url).size(url);
  }

  TableStats run() {
    Choice choice(storage::Source::open(options_.train.front()), options_);
    chosen_ = std::move(choice.chosen);
    TableStats stats;
    stats.left_out = std::move(choice.left_out);
    find_rounded();
    stats.train = side(options_.train, Duplicates::Side::kTrain);
    stats.test = side(options_.test, Duplicates::Side::kTest);
    stats.duplicates = duplicates_.find();
    stats.stopped = stopped();
    return stats;
  }

 private:
  /// Where one file holds float32 and another one float64, float32 is what tells whether they hold the same event.
  void find_rounded() {
    if (options_.train.size() + options_.test.size() == 1) return;
    std::vector<WantedColumn> wanted;
    for (const Chosen& one : chosen_) wanted.push_back(one.wanted);
    std::vector<bool> doubles(chosen_.size(), false), floats(chosen_.size(), false);
    for (const auto* const urls : {&options_.train, &options_.test})
      for (const std::string& url : *urls) {
        const auto reader = open_table_reader(storage::Source::open(url), wanted);
        for (size_t i = 0; i < chosen_.size(); ++i) {
          doubles[i] = doubles[i] || reader->columns()[i].is_double;
          floats[i] = floats[i] || reader->columns()[i].is_float;
          if (doubles[i] && floats[i]) hash_.round(i);
        }
      }
  }

  bool stopped() const { return options_.stop && options_.stop(); }

  SideStats side(const std::vector<std::string>& urls, Duplicates::Side which) {
    SideStats side;
    side.urls = urls;
    std::vector<ColumnGatherer> gatherers;
    for (const Chosen& one : chosen_)
      gatherers.emplace_back(one.wanted.name, one.stored.words, one.stored.is_text,
                             static_cast<uint32_t>(gatherers.size()));
    for (const std::string& url : urls) {
      if (stopped()) break;
      const int64_t before = side.events;
      file(url, which, gatherers, side);
      side.file_events.push_back(side.events - before);
    }
    if (urls.empty()) return side;
    for (ColumnGatherer& gatherer : gatherers) side.columns.push_back(gatherer.finish());
    return side;
  }

  void file(const std::string& url, Duplicates::Side which, std::vector<ColumnGatherer>& gatherers, SideStats& side) {
    const SourcePtr source = storage::Source::open(url);
    std::vector<WantedColumn> wanted;
    for (const Chosen& one : chosen_) wanted.push_back(one.wanted);
    const auto reader = open_table_reader(source, wanted);
    for (size_t i = 0; i < chosen_.size(); ++i)
      if (reader->columns()[i].is_text != chosen_[i].stored.is_text)
        refuse_column(url, wanted[i], reader->columns()[i].words);
    const int64_t begin = done_bytes_, events_before = side.events;
    std::vector<RaggedColumn> block;
    for (reader->next(block); !block[0].rows.empty() && !stopped(); reader->next(block)) {
      pool_.run(static_cast<int>(gatherers.size()), [&](int i) {
        const RaggedColumn& column = block[static_cast<size_t>(i)];
        gatherers[static_cast<size_t>(i)].add({column.values, column.rows, column.sizes, column.nulls});
      });
      for (const uint64_t hash : hash_.of(block, *reader)) duplicates_.add(hash, which, side.events++);
      piece_is_done();
      done_bytes_ = begin + part_done(*source, *reader, side.events - events_before);
      if (options_.progress) options_.progress(done_bytes_, all_bytes_);
    }
    source->need_unchanged();
    for (size_t i = 0; i < gatherers.size(); ++i)
      if (chosen_[i].stored.is_text)
        for (const StoredText& one : reader->texts(i)) gatherers[i].add_text(one.text, one.events);
    side.bytes += source->size();
    done_bytes_ = begin + source->size();
  }

  /// Bytes of a file of which so many events were read.
  static int64_t part_done(const storage::Source& source, const TableReader& reader, int64_t events) {
    if (reader.events() <= 0) return std::min(source.bytes_read(), source.size());
    return static_cast<int64_t>(static_cast<double>(source.size()) * static_cast<double>(events) /
                                static_cast<double>(reader.events()));
  }

  const StatsOptions& options_;
  ThreadPool pool_;
  std::vector<Chosen> chosen_;
  EventHash hash_;
  Duplicates duplicates_;
  int64_t done_bytes_ = 0, all_bytes_ = 0;
};

}  // namespace

TableStats table_stats(const StatsOptions& options) {
  return Pass(options).run();
}

}  // namespace linac::data
