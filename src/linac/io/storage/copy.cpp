#include "linac/io/storage/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"
#include "linac/io/net/http_client.h"
#include "linac/io/storage/fetched_file.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/rucio/did.h"
#include "linac/io/storage/source.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"

namespace linac::storage {
namespace {

namespace fs = std::filesystem;

std::string shown(const std::string& url) {
  return net::without_secrets(url);
}

/// "file:///a" as "/a": paths are compared and opened.
std::string plain(const std::string& url) {
  return scheme_of(url) == "file" ? store_of(url).glob(url).front() : url;
}

bool is_folder(const std::string& url) {
  std::error_code none;
  return url.ends_with('/') || (!is_remote(url) && fs::is_directory(url, none));
}

std::string name_of(const std::string& url) {
  const std::string scheme = scheme_of(url).value_or("");
  const std::string path = scheme == "rucio"                       ? rucio::parse_did(url).name
                           : scheme == "http" || scheme == "https" ? url.substr(0, url.find_first_of("?#"))
                                                                   : url;
  const std::string name = path.substr(path.find_last_of('/') + 1);
  const bool harmless = !name.empty() && name != "." && name != ".." &&
                        std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (!harmless)
    throw user_error(fmt::format("[copy] {}: its last part is no file's name; name the target file", shown(url)));
  return name;
}

std::vector<std::string> files_of(const std::string& from) {
  if (!is_folder(from)) return expand(from);
  std::vector<std::string> files;
  for (const Listed& file : store_of(from).list(from)) files.push_back(file.url);
  if (files.empty()) throw data_error(fmt::format("[copy] {}: no file lies directly in this folder", shown(from)));
  return files;
}

/// What tells the content of a source from any other under its name; empty: nothing does.
std::string version_of(const Source& source) {
  if (source.is_ranged()) return source.version();
  return is_remote(source.url()) ? "" : source.state().state();
}

/// The same of a copy that this program has put there.
std::string state_of(const Source& source) {
  if (source.is_ranged()) return source.version();
  return is_remote(source.url()) ? "" : state_of_file(*source.path());
}

/// What is known of a former copy, in the cache of this user.
class Note {
 public:
  explicit Note(const CopyItem& item)
      : base_(cache_folder() / "copies" / content_hash(item.from + "\n" + item.to).substr(0, 24)) {}
  /// Where a file waits that is sent to another host.
  fs::path part() const { return base_.string() + ".part"; }
  bool says(const std::string& from, const std::string& to) const {
    if (from.empty() || to.empty()) return false;
    try {
      const auto note = nlohmann::json::parse(read_file(path()));
      return note.at("from") == from && note.at("to") == to;
    } catch (const std::exception&) {
      return false;  // none, or damaged: the contents are compared
    }
  }
  void keep(const std::string& from, const std::string& to) const {
    try {
      make_folder(base_.parent_path());
      write_file_atomically(path(), nlohmann::json{{"from", from}, {"to", to}}.dump());
    } catch (const Error&) {
      // A cache that cannot be written costs a comparison.
    }
  }

 private:
  fs::path path() const { return base_.string() + ".json"; }
  fs::path base_;
};

bool same_bytes(const std::shared_ptr<const Source>& a, const std::shared_ptr<const Source>& b) {
  if (a->size() != b->size()) return false;
  const auto one = Source::stream(a), other = Source::stream(b);
  std::vector<std::byte> left(1 << 20), right(1 << 20);
  for (int64_t done = 0; done < a->size();) {
    const size_t got = one->read(left);
    for (size_t there = 0; there < got;) {
      const size_t more = other->read(std::span(right).subspan(there, got - there));
      if (more == 0) return false;
      there += more;
    }
    if (got == 0 || !std::equal(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(got), right.begin()))
      return false;
    done += static_cast<int64_t>(got);
  }
  return true;
}

/// One file on its way.
class Copy {
 public:
  Copy(const CopyItem& item, const CopyOptions& options) : item_(item), options_(options), note_(item) {}

  /// Opens the source, and finds out whether there is anything to do.
  void look() {
    source_ = Source::open(item_.from);
    done_.bytes = source_->size();
    from_state_ = version_of(*source_);
    if (!exists(item_.to)) return;
    const auto there = Source::open(item_.to);
    if (!note_.says(from_state_, state_of(*there))) {
      const bool same = same_bytes(source_, there);
      if (!same && !options_.overwrite) {
        throw user_error(fmt::format("[copy] {}: is there with another content than {}; --overwrite replaces it",
                                     shown(item_.to), shown(item_.from)));
      }
      if (!same) return;
      if (!options_.dry_run) note_.keep(from_state_, state_of(*there));
    }
    done_.result = CopyResult::kWasThere;
  }

  bool needs_work() const { return done_.result == CopyResult::kStopped; }
  int64_t bytes() const { return done_.bytes; }
  int64_t segments() const { return is_sent() ? 1 : FetchedFile::segments_of(done_.bytes); }

  /// Returns the bytes that are there with it. The one that comes last finishes the file.
  int64_t segment(int64_t number) {
    if (is_sent()) {
      send(source_);
      sent_ = done_.bytes;
      done_.result = CopyResult::kCopied;
      return done_.bytes;
    }
    FetchedFile& file = this->file();
    sent_ += file.fetch(number);
    if (++finished_ == segments()) finish(file);
    return std::min(FetchedFile::kSegmentBytes, done_.bytes - number * FetchedFile::kSegmentBytes);
  }

  void fail(const std::string& what, int code) {
    const std::scoped_lock lock(mutex_);
    if (failed_.exchange(true) || code == static_cast<int>(ErrorCode::kPreempted)) return;  // kStopped, as it began
    done_.result = CopyResult::kFailed;
    done_.error = what;
    done_.error_code = code;
  }
  bool failed() const { return failed_; }
  CopiedFile told() const {
    CopiedFile row = done_;
    row.item = item_;
    row.sent = sent_;
    return row;
  }
  void would_be_done() {
    if (needs_work()) done_.result = CopyResult::kCopied;
  }

 private:
  /// A file of this host goes to another one as it lies.
  bool is_sent() const { return !is_remote(item_.from) && is_remote(item_.to); }
  /// A file of this host to another one, from which it reads back as it was sent.
  void send(const std::shared_ptr<const Source>& file) {
    store_of(item_.to).need_writable(item_.to);
    store_of(item_.to).put(item_.to, *file->path());
    file->need_unchanged();
    const auto there = Source::open(item_.to);
    if (options_.verify && !same_bytes(file, there)) {
      throw data_error(fmt::format("[copy] {}: has another content than what was sent; copy again with --overwrite",
                                   shown(item_.to)));
    }
    note_.keep(from_state_, state_of(*there));
  }

  fs::path part() const {
    if (is_remote(item_.to)) return note_.part();
    const fs::path target = item_.to;
    return target.parent_path() / ("." + target.filename().string() + ".linac-part");
  }

  FetchedFile& file() {
    const std::scoped_lock lock(mutex_);
    if (!file_) {
      if (is_remote(item_.to)) store_of(item_.to).need_writable(item_.to);
      const fs::path place = part();
      if (place.has_parent_path()) make_folder(place.parent_path());
      file_ = std::make_unique<FetchedFile>(source_, place);
    }
    return *file_;
  }

  void finish(FetchedFile& file) {
    file.check();
    if (is_remote(item_.to)) {
      send(Source::of_file(part(), item_.from));
      file.remove();
    } else {
      note_.keep(from_state_, file.state());
      file.rename_to(item_.to);
    }
    file_.reset();
    done_.result = CopyResult::kCopied;
  }

  const CopyItem item_;
  const CopyOptions& options_;
  const Note note_;
  std::shared_ptr<const Source> source_;
  std::string from_state_;
  std::mutex mutex_;
  std::unique_ptr<FetchedFile> file_;
  std::atomic<int64_t> finished_ = 0;
  std::atomic<bool> failed_ = false;
  std::atomic<int64_t> sent_ = 0;
  CopiedFile done_;
};

/// What `work` throws becomes the file's end.
template <class Work>
void guarded(Copy& copy, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    copy.fail(error.what(), static_cast<int>(error.code()));
  } catch (const std::exception& error) {
    copy.fail(error.what(), static_cast<int>(ErrorCode::kInternal));
  }
}

}  // namespace

const char* to_string(CopyResult result) {
  switch (result) {
    case CopyResult::kCopied:
      return "copied";
    case CopyResult::kWasThere:
      return "was there";
    case CopyResult::kFailed:
      return "failed";
    case CopyResult::kStopped:
      return "stopped";
  }
  return "";
}

std::vector<CopyItem> plan_copy(const std::vector<std::string>& from, const std::string& to) {
  std::vector<std::string> sources;
  for (const std::string& one : from)
    for (std::string& file : files_of(plain(one))) sources.push_back(std::move(file));
  const std::string target = plain(to);
  const bool folder = sources.size() > 1 || is_folder(target);
  std::vector<CopyItem> items;
  std::vector<std::string> targets;
  std::map<std::string, std::string> known;
  for (const std::string& source : sources) {
    CopyItem item{source, target};
    if (folder) item.to = target + (target.ends_with('/') ? "" : "/") + name_of(source);
    const auto [other, is_new] = known.try_emplace(item.to, source);
    if (!is_new) {
      throw user_error(fmt::format("[copy] {} and {}: both would become {}; copy them into two folders",
                                   shown(other->second), shown(source), shown(item.to)));
    }
    targets.push_back(item.to);
    items.push_back(std::move(item));
  }
  need_other_files(targets, sources, "copy");  // it would be read and written at once
  return items;
}

std::vector<CopiedFile> copy_files(const std::vector<CopyItem>& items, const CopyOptions& options) {
  const auto stopped = [&] { return options.stop && options.stop(); };
  std::vector<std::unique_ptr<Copy>> copies;
  for (const CopyItem& item : items) copies.push_back(std::make_unique<Copy>(item, options));
  ThreadPool pool(std::max(1, options.jobs));
  pool.run(static_cast<int>(copies.size()), [&](int i) {
    Copy& copy = *copies[static_cast<size_t>(i)];
    if (!stopped()) guarded(copy, [&] { copy.look(); });
  });

  struct Work {
    Copy* copy;
    int64_t segment;
  };
  std::vector<Work> work;
  int64_t all = 0;
  for (const auto& copy : copies) {
    if (copy->failed() || !copy->needs_work()) continue;
    if (options.dry_run) {
      copy->would_be_done();
      continue;
    }
    all += copy->bytes();
    for (int64_t i = 0; i < copy->segments(); ++i) work.push_back({copy.get(), i});
  }
  std::atomic<int64_t> done = 0;
  if (!work.empty() && !stopped()) {
    pool.run(static_cast<int>(work.size()), [&](int i) {
      const auto [copy, segment] = work[static_cast<size_t>(i)];
      if (copy->failed() || stopped()) return;
      guarded(*copy, [&, copy = copy, segment = segment] { done += copy->segment(segment); });
      if (options.progress) options.progress(done, all);
    });
  }
  std::vector<CopiedFile> rows;
  for (const auto& copy : copies) rows.push_back(copy->told());
  return rows;
}

}  // namespace linac::storage
