#include "linac/io/data/rewrite/rewrite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <mutex>
#include <set>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/sole_lock.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/data/formats/batches/batch_transform.h"
#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/rewrite/plan.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/store.h"

namespace linac::data {
namespace {

namespace fs = std::filesystem;

struct Stop {};

/// The turn to write into a folder of this host.
class FolderTurn {
 public:
  FolderTurn(const std::string& folder, const std::string& where) {
    if (!folder.empty() && storage::is_remote(folder)) return;
    const fs::path path = folder.empty() ? "." : folder;
    make_folder(path);
    folder_ = Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder_ && !try_lock_alone(folder_.get()) && errno == EWOULDBLOCK)
      throw user_error(fmt::format("[{}] {}: another conversion writes there; wait for its end", where, path.string()));
  }

 private:
  Descriptor folder_;
};

class Rewriting {
 public:
  Rewriting(RewritePlan plan, const RewriteOptions& options) : plan_(std::move(plan)), options_(options) {}

  RewriteReport run() {
    find_done();
    for (const RewriteInput& input : plan_.inputs) bytes_ += input.source->size();
    ThreadPool pool(std::clamp(options_.jobs, 1, std::max(1, static_cast<int>(plan_.tasks.size()))));
    pool.run(static_cast<int>(plan_.tasks.size()), [&](int i) { guarded(plan_.tasks[static_cast<size_t>(i)]); });
    if (failure_) std::rethrow_exception(failure_);
    RewriteReport report{.files = {}, .stopped = stopped_};
    report.left_out = plan_.left_out;
    for (const RewriteTask& task : plan_.tasks) {
      for (const std::string& file : task.files) {
        const NotedFile& entry = note_.files.at(file);
        report.files.push_back({plan_.name_of(file), entry.events, entry.bytes, kept_.contains(file)});
      }
    }
    return report;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw user_error(fmt::format("[{}] {}; give another folder, or --overwrite", options_.where, what));
  }

  void find_done() {
    const auto before = plan_.note.empty() ? std::nullopt : noted();
    std::vector<std::string> files, urls;
    for (const RewriteTask& task : plan_.tasks)
      for (const std::string& file : task.files) files.push_back(plan_.name_of(file));
    for (const RewriteInput& input : plan_.inputs) urls.push_back(input.source->url());
    for (const std::string& file : files)
      if (storage::exists(file)) storage::need_another_file(file, urls, options_.where);
    note_.settings = plan_.settings;
    for (const RewriteTask& task : plan_.tasks)
      for (const std::string& file : task.files) note_.files[file] = {task.key};
    if (options_.overwrite) {
      if (before) remove_others(*before);
    } else {
      compare(before);
    }
    if (!plan_.note.empty()) write_note(plan_.note, note_);
    remove_left_over();
  }

  std::optional<RewriteNote> noted() const {
    try {
      return read_note(plan_.note, options_.where);
    } catch (const Error& error) {
      if (options_.overwrite && error.code() == ErrorCode::kUser) return std::nullopt;
      throw;
    }
  }

  void compare(std::optional<RewriteNote> before) {
    // Settings with which nothing was finished bind nobody.
    if (before && std::ranges::none_of(before->files, [](const auto& file) { return file.second.events >= 0; }))
      if (before->settings != plan_.settings) before.reset();
    if (before && before->settings != plan_.settings)
      refuse(fmt::format("{}: what is there was made with other settings ({})", plan_.note,
                         differing(before->settings, plan_.settings)));
    for (auto& [file, entry] : note_.files) {
      const std::string name = plan_.name_of(file);
      const bool known = before && before->files.contains(file);
      if (!known) {
        if (storage::exists(name)) refuse(fmt::format("{}: exists already, and was not made by this command", name));
        continue;
      }
      const NotedFile& old = before->files.at(file);
      if (old.key != entry.key) refuse(fmt::format("{}: was made of other inputs, or they have changed", name));
      if (old.events < 0 || !storage::exists(name) || storage::store_of(name).size(name) != old.bytes) continue;
      entry = old;
      kept_.insert(file);
      need_same_rows(name, entry.rows);
    }
    if (!before) return;
    for (const auto& [file, entry] : before->files) {
      if (note_.files.contains(file)) continue;
      if (!plan_.by_input) refuse(fmt::format("{}: was made of other inputs", plan_.name_of(file)));
      note_.files[file] = entry;  // of inputs that were converted before
    }
  }

  void remove_others(const RewriteNote& before) const {
    for (const auto& [file, entry] : before.files) {
      if (note_.files.contains(file) || file.find("..") != std::string::npos) continue;
      const std::string name = plan_.name_of(file);
      storage::store_of(name).remove(name);
    }
  }

  /// What killed processes left.
  void remove_left_over() const {
    if (!plan_.folder.empty() && storage::is_remote(plan_.folder)) return;
    std::set<fs::path> folders;
    std::set<std::string> names;
    for (const auto& [file, entry] : note_.files) {
      const fs::path path = plan_.name_of(file);
      folders.insert(path.has_parent_path() ? path.parent_path() : ".");
      names.insert(fmt::format(".{}.", path.filename().string()));
    }
    std::error_code none;
    for (const fs::path& folder : folders) {
      for (const auto& entry : fs::directory_iterator(folder, none)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with('.') || !name.ends_with(".tmp")) continue;
        const size_t point = name.rfind('.', name.size() - 5);
        if (point != std::string::npos && names.contains(name.substr(0, point + 1))) fs::remove(entry.path(), none);
      }
    }
  }

  void guarded(const RewriteTask& task) {
    try {
      run(task);
    } catch (const Stop&) {
      stopped_ = true;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPreempted) return keep_failure();
      stopped_ = true;  // a request to a store was broken off
    } catch (...) {
      keep_failure();
    }
  }

  /// Of what is being handled.
  void keep_failure() {
    const std::scoped_lock lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }

  void look_out() {
    const bool stop = options_.stop && options_.stop();
    const std::scoped_lock lock(mutex_);
    if (stop || failure_) throw Stop{};
  }

  void run(const RewriteTask& task) {
    if (std::ranges::all_of(task.files, [&](const std::string& file) { return kept_.contains(file); })) {
      for (const RewritePiece& piece : task.pieces) done(piece, 1);
      return;
    }
    std::vector<storage::Output> places;
    std::vector<std::unique_ptr<BatchWriter>> writers;
    look_out();
    for (const std::string& file : task.files) {
      const storage::Output& place = places.emplace_back(plan_.name_of(file));
      if (const fs::path path = place.path(); path.has_parent_path()) make_folder(path.parent_path());
    }
    for (const RewritePiece& piece : task.pieces) read(piece, places, writers);
    for (size_t i = 0; i < writers.size(); ++i) {
      need_same_rows(plan_.name_of(task.files[i]), writers[i]->row_sizes());
      writers[i]->close();
      const auto bytes = static_cast<int64_t>(fs::file_size(places[i].path()));
      places[i].publish();
      const std::scoped_lock lock(mutex_);
      NotedFile& entry = note_.files.at(task.files[i]);
      entry.events = writers[i]->events();
      entry.bytes = bytes;
      entry.rows = writers[i]->row_sizes();
    }
    const std::scoped_lock lock(mutex_);
    if (!plan_.note.empty()) write_note(plan_.note, note_);
  }

  void read(const RewritePiece& piece, const std::vector<storage::Output>& places,
            std::vector<std::unique_ptr<BatchWriter>>& writers) {
    const RewriteInput& input = plan_.inputs[piece.input];
    const std::string from = fmt::format("[{}] {}", options_.where, input.source->url());
    const auto reader = open_batches(input.source, plan_.read, piece.range, input.marks.get());
    BatchTransform transform(input.source->url(), reader->schema(), options_.transform, options_.columns,
                             options_.float32, options_.parts, piece.range.first);
    if (writers.empty())
      for (const storage::Output& place : places)
        writers.push_back(open_batch_writer(options_.format, place.path(), transform.schema()));
    int64_t events = 0;
    const int64_t all = piece.range.count >= 0 ? piece.range.count : input.events;
    double told = 0;
    for (auto batch = reader->next(); batch; batch = reader->next()) {
      look_out();
      const auto batches = transform.run(batch);
      for (size_t i = 0; i < writers.size(); ++i) writers[i]->append(batches[i], from);
      events += batch->num_rows();
      piece_is_done();
      if (all <= 0) continue;
      const double share = static_cast<double>(events) / static_cast<double>(all);
      done(piece, share - told);
      told = share;
    }
    input.source->need_unchanged();
    done(piece, 1 - told);
  }

  /// Whoever reads a format that does not keep them gives one shape for all files.
  void need_same_rows(const std::string& file, const RowSizes& rows) {
    const std::scoped_lock lock(mutex_);
    for (const auto& [column, extents] : rows) {
      const auto [known, is_first] = rows_.try_emplace(column, extents);
      if (is_first || known->second == extents) continue;
      throw data_error(
          fmt::format("[{}] {}: rows of column '{}' hold [{}] values, and [{}] in other files, which {} does not tell "
                      "apart; convert files of one kind at a time, or write Parquet",
                      options_.where, file, column, fmt::join(extents, ", "), fmt::join(known->second, ", "),
                      words_of(options_.format)));
    }
  }

  /// A share of the piece.
  void done(const RewritePiece& piece, double share) {
    const RewriteInput& input = plan_.inputs[piece.input];
    double bytes = static_cast<double>(input.source->size()) * share;
    if (piece.range.count >= 0 && input.events > 0)
      bytes *= static_cast<double>(piece.range.count) / static_cast<double>(input.events);
    const std::scoped_lock lock(mutex_);
    done_ += bytes;
    if (options_.progress) options_.progress(std::min(bytes_, static_cast<int64_t>(done_ + 0.5)), bytes_);
  }

  const RewritePlan plan_;
  const RewriteOptions& options_;
  std::mutex mutex_;  // of what follows, while files are written
  RewriteNote note_;
  std::set<std::string> kept_;
  RowSizes rows_;  // of all files
  std::exception_ptr failure_;
  double done_ = 0;
  int64_t bytes_ = 0;
  std::atomic<bool> stopped_ = false;
};

}  // namespace

RewriteReport rewrite_tables(const std::vector<std::string>& inputs, const std::string& destination,
                             const RewriteOptions& options) {
  LINAC_CHECK(!inputs.empty() && options.jobs > 0);
  RewritePlan plan = plan_rewrite(inputs, destination, options);
  const FolderTurn turn(plan.folder, options.where);
  return Rewriting(std::move(plan), options).run();
}

}  // namespace linac::data
