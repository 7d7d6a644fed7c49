#include "linac/io/data/rewrite/plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/formats/batches/batch_transform.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

using nlohmann::json;

constexpr int64_t kShardsMax = 99'999;  // five digits in the name

std::string last_part(const std::string& name) {
  const std::string plain = storage::is_remote(name) ? net::without_secrets(name) : name;
  const std::string path = plain.substr(0, storage::is_remote(name) ? plain.find('?') : std::string::npos);
  return path.substr(path.rfind('/') + 1);
}

/// "a" of "a.root" and "a.tfrecord.gz".
std::string without_ending(const std::string& name) {
  if (const auto known = written_ending_of(name); known && known->ending.size() < name.size())
    return name.substr(0, name.size() - known->ending.size());
  const size_t point = name.rfind('.');
  return point == std::string::npos || point == 0 ? name : name.substr(0, point);
}

/// What tells this input from the same name with another content.
json identity_of(const storage::Source& source) {
  json out{{"name", last_part(source.url())}, {"size", source.size()}};
  if (source.is_ranged())
    out["version"] = source.version();
  else if (source.is_remote())
    out["content"] = storage::fingerprint(*source.path()).content;  // the copy in the cache has a date of its own
  else
    out["state"] = source.state().state();
  return out;
}

class Planner {
 public:
  Planner(const std::vector<std::string>& urls, std::string destination, const RewriteOptions& options)
      : urls_(urls), destination_(std::move(destination)), options_(options) {}

  RewritePlan run() {
    find_place();
    open_inputs();
    plan_.settings = settings();
    if (options_.shards > 0 || options_.events_per_file > 0)
      shards();
    else if (is_file_)
      one_file();
    else
      by_input();
    return std::move(plan_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw user_error(fmt::format("[{}] {}", options_.where, what));
  }

  void find_place() {
    const auto named = written_ending_of(destination_);
    is_file_ = named && named->format == options_.format;
    ending_ = is_file_ ? named->ending : ending_of(options_.format);
    while (!is_file_ && destination_.size() > 1 && destination_.ends_with('/')) destination_.pop_back();
    if (is_file_ && options_.part_folders)
      refuse(fmt::format("{}: the parts of a split are folders; name the folder that they lie in", destination_));
    if (options_.shards > 0 && options_.events_per_file > 0)
      refuse("--shards and --events-per-file exclude each other; give one of them");
    if (options_.shards > kShardsMax)
      refuse(fmt::format("{} shards are wanted; give at most {}", options_.shards, kShardsMax));
    if (!is_file_) {
      plan_.folder = destination_;
      plan_.note = destination_ + "/_linac-convert.json";
      return;
    }
    const size_t slash = destination_.rfind('/');
    plan_.folder = slash == std::string::npos ? "" : destination_.substr(0, slash);
    stem_ = without_ending(destination_.substr(slash + 1));
    if (options_.shards > 0 || options_.events_per_file > 0)
      plan_.note = plan_.name_of(
          fmt::format("_{}{}.linac-convert.json", stem_, options_.format == WrittenFormat::kParquet ? "" : ending_));
  }

  void open_inputs() {
    plan_.inputs.resize(urls_.size());
    std::vector<std::shared_ptr<arrow::Schema>> schemas(urls_.size());
    BatchColumns read{.names = columns_to_read(options_.transform, options_.columns),
                      .without = options_.without,
                      .lists = options_.lists};
    need_names();
    const bool count = options_.shards > 0 || options_.events_per_file > 0;
    ThreadPool pool(std::min<int>(options_.jobs, static_cast<int>(urls_.size())));
    pool.run(static_cast<int>(urls_.size()), [&](int i) {
      if (options_.stop && options_.stop()) return;
      RewriteInput& input = plan_.inputs[static_cast<size_t>(i)];
      input.source = storage::Source::open(urls_[static_cast<size_t>(i)]);
      if (count && format_of(*input.source).access == Access::kStream)
        input.marks = std::make_shared<RecordMarks>(input.source);
      const auto reader = open_batches(input.source, read, {0, 0}, input.marks.get());
      schemas[static_cast<size_t>(i)] = reader->schema();
      if (i == 0) plan_.left_out = reader->left_out();
      input.events = input.marks ? input.marks->events() : reader->events();
      input.identity = identity_of(*input.source);
    });
    if (std::ranges::any_of(schemas, [](const auto& schema) { return schema == nullptr; }))
      throw Error(ErrorCode::kPreempted,
                  fmt::format("[{}] stopped by a signal before anything was written; the same command begins anew",
                              options_.where));
    read.names = schemas.front()->field_names();
    if (std::set(read.names.begin(), read.names.end()).size() != read.names.size())
      refuse(
          fmt::format("{}: two columns have the same name; name those that are written, by --columns", urls_.front()));
    for (size_t i = 1; i < schemas.size(); ++i) need_same(*schemas.front(), *schemas[i], i);
    plan_.read = std::move(read);
    const std::string& first = plan_.inputs.front().source->url();
    const BatchTransform transform(first, schemas.front(), options_.transform, options_.columns, options_.float32,
                                   options_.parts, 0);
    need_forms(options_.format, *transform.schema(), fmt::format("[{}] {}", options_.where, first));
  }

  /// Of what is not read by its name.
  void need_names() const {
    if (options_.without.empty() && options_.lists.empty()) return;
    if (!options_.without.empty() && !options_.columns.empty())
      refuse("--columns and --without exclude each other; give one of them");
    const std::vector<std::string> names = contents_of_table(storage::Source::open(urls_.front())).names;
    for (const auto* wanted : {&options_.without, &options_.lists})
      for (const std::string& name : *wanted)
        if (std::ranges::none_of(names, [&](const auto& one) { return one == name || one.starts_with(name + "."); }))
          refuse_missing(urls_.front(), name, names, options_.where.c_str());
  }

  void need_same(const arrow::Schema& first, const arrow::Schema& other, size_t i) const {
    const auto fail = [&](const std::string& what) {
      throw data_error(
          fmt::format("[{}] {}: {}; convert files of one kind at a time, or name common columns "
                      "(--columns)",
                      options_.where, plan_.inputs[i].source->url(), what));
    };
    for (const auto& field : first.fields()) {
      const auto found = other.GetFieldByName(field->name());
      if (!found) fail(fmt::format("no column '{}', which {} has", field->name(), urls_.front()));
      if (!found->type()->Equals(*field->type()))
        fail(fmt::format("column '{}' is {}, and {} in {}", field->name(), found->type()->ToString(),
                         field->type()->ToString(), urls_.front()));
    }
    for (const auto& field : other.fields())
      if (!first.GetFieldByName(field->name()))
        fail(fmt::format("column '{}' is not in {}", field->name(), urls_.front()));
  }

  json settings() const {
    json out = to_json(options_.transform);
    if (out.contains("split")) out["split"].erase("part");
    out["columns"] = options_.columns;
    out["list"] = options_.lists;
    out["shards"] = options_.shards;
    out["events_per_file"] = options_.events_per_file;
    // Without them a note is as it was before there was a choice.
    if (options_.format != WrittenFormat::kParquet) out["format"] = to_string(options_.format);
    if (!options_.float32.empty()) out["float32"] = options_.float32;
    if (!options_.without.empty()) out["without"] = options_.without;
    out["parts"] = json::array();
    for (const Part part : options_.parts) out["parts"].push_back(to_string(part));
    return out;
  }

  void add(std::vector<RewritePiece> pieces, const std::string& file) {
    RewriteTask task{.pieces = std::move(pieces), .files = {}, .key = {}};
    if (!options_.part_folders) task.files.push_back(file);
    if (options_.part_folders)
      for (const Part part : options_.parts) task.files.push_back(fmt::format("{}/{}", to_string(part), file));
    const auto& split = options_.transform.split;
    for (int fold = 1; options_.part_folders && split && split->deals_folds() && fold <= split->folds; ++fold)
      task.files.push_back(fmt::format("fold-{}/{}", fold, file));
    json made_of = json::array();
    for (const RewritePiece& piece : task.pieces)
      made_of.push_back({plan_.inputs[piece.input].identity, piece.range.first, piece.range.count});
    task.key =
        storage::content_hash(json{plan_.settings, made_of}.dump(-1, ' ', false, json::error_handler_t::replace));
    plan_.tasks.push_back(std::move(task));
  }

  void one_file() {
    std::vector<RewritePiece> pieces;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) pieces.push_back({i, {}});
    add(std::move(pieces), stem_ + ending_);
  }

  void by_input() {
    plan_.by_input = true;
    std::set<std::string> names;
    for (size_t i = 0; i < plan_.inputs.size(); ++i) {
      const std::string name = without_ending(last_part(urls_[i])) + ending_;
      if (!names.insert(name).second)
        refuse(
            fmt::format("{}: another input becomes {} as well; say --shards or --events-per-file, or convert them "
                        "into folders of their own",
                        urls_[i], name));
      add({{i, {}}}, name);
    }
  }

  void shards() {
    int64_t all = 0;
    for (const RewriteInput& input : plan_.inputs) all += input.events;
    const int64_t each = options_.events_per_file;
    const int64_t count = each > 0 ? std::max<int64_t>(1, (all + each - 1) / each) : options_.shards;
    if (count > kShardsMax) refuse(fmt::format("{} files would be written; say larger --events-per-file", count));
    if (each == 0 && all < count)
      refuse(fmt::format("{} do not fill {} shards; lower --shards", plural(all, "event"), count));
    size_t input = 0;
    int64_t begin = 0;  // of the input, among all events
    for (int64_t shard = 0; shard < count; ++shard) {
      const int64_t first = each > 0 ? shard * each : all * shard / count;
      const int64_t end = each > 0 ? std::min(all, first + each) : all * (shard + 1) / count;
      std::vector<RewritePiece> pieces;
      for (int64_t at = first; at < end;) {
        while (at >= begin + plan_.inputs[input].events) begin += plan_.inputs[input++].events;
        const int64_t now = std::min(end, begin + plan_.inputs[input].events) - at;
        pieces.push_back({input, {at - begin, now}});
        at += now;
      }
      if (pieces.empty()) pieces.push_back({0, {0, 0}});
      add(std::move(pieces), fmt::format("{}-{:05}-of-{:05}{}", is_file_ ? stem_ : "part", shard, count, ending_));
    }
  }

  const std::vector<std::string>& urls_;
  std::string destination_, stem_, ending_;
  const RewriteOptions& options_;
  RewritePlan plan_;
  bool is_file_ = false;
};

}  // namespace

RewritePlan plan_rewrite(const std::vector<std::string>& inputs, const std::string& destination,
                         const RewriteOptions& options) {
  return Planner(inputs, destination, options).run();
}

}  // namespace linac::data
