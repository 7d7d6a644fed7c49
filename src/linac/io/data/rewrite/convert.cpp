#include "linac/io/data/rewrite/convert.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <memory>
#include <system_error>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/io/data/dataset.h"
#include "linac/io/data/formats/shower_writer.h"
#include "linac/io/data/formats/tfrecord_showers.h"
#include "linac/io/storage/output.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

namespace fs = std::filesystem;

constexpr int kShardsMax = 99'999;  // five digits in the name

/// Takes events of one kind of units and writes one file.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void append(const ShowerBlock& block) = 0;
  virtual void close() = 0;
};

class Hdf5Sink : public Sink {
 public:
  Hdf5Sink(const fs::path& path, const EventShape& shape) : writer_(path, shape) {}
  void append(const ShowerBlock& block) override { writer_.append(block.image, block.energy, block.angle); }
  void close() override { writer_.close(); }

 private:
  ShowerFileWriter writer_;
};

class TfrecordSink : public Sink {
 public:
  explicit TfrecordSink(const fs::path& path)
      : path_(path),
        part_(path.string() + fmt::format(".tmp.{}", ::getpid())),
        file_(std::fopen(part_.c_str(), "wb"), &std::fclose) {
    need(file_ != nullptr);
  }
  ~TfrecordSink() override {
    file_.reset();
    if (!in_place_) ::unlink(part_.c_str());
  }

  void append(const ShowerBlock& block) override {
    for (int64_t event = 0; event < block.events(); ++event) {
      const std::string record = encode_tfrecord_shower(block, event);
      need(std::fwrite(record.data(), 1, record.size(), file_.get()) == record.size());
    }
  }

  void close() override {
    need(std::fflush(file_.get()) == 0 && ::fsync(::fileno(file_.get())) == 0);
    need(std::fclose(file_.release()) == 0);
    in_place_ = std::rename(part_.c_str(), path_.c_str()) == 0;
    need(in_place_);
  }

 private:
  void need(bool holds) const {
    if (holds) return;
    throw environment_error(fmt::format("[tfrecord] {}: cannot be written ({}); check folder, permissions and space",
                                        path_.string(), std::generic_category().message(errno)));
  }

  fs::path path_, part_;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
  bool in_place_ = false;
};

Units units_of(const fs::path& output) {
  const std::string ending = output.extension().string();
  if (ending == ".h5" || ending == ".hdf5") return Units::kRaw;
  if (ending == ".tfrecord" || ending == ".tfrecords") return Units::kSamples;
  throw user_error(
      fmt::format("[convert] {}: the ending does not say the format; use .h5 for raw showers, .tfrecord "
                  "for samples; .parquet, a folder or --format take their columns as they are",
                  output.string()));
}

std::vector<fs::path> shard_names(const fs::path& output, int shards) {
  if (shards < 1 || shards > kShardsMax) {
    throw user_error(fmt::format("[convert] {} shards are wanted; give 1 to {}", shards, kShardsMax));
  }
  if (shards == 1) return {output};
  std::vector<fs::path> names;
  for (int shard = 0; shard < shards; ++shard) {
    const std::string name =
        fmt::format("{}-{:05}-of-{:05}{}", output.stem().string(), shard, shards, output.extension().string());
    names.push_back(output.parent_path() / name);
  }
  return names;
}

void check_outputs(const std::vector<fs::path>& outputs, const std::vector<FileReport>& inputs, bool overwrite) {
  std::vector<std::string> input_files;
  for (const FileReport& input : inputs) input_files.push_back(input.url);
  for (const fs::path& output : outputs) {
    if (!storage::exists(output.string())) continue;
    storage::need_another_file(output, input_files, "convert");
    if (!overwrite) {
      throw user_error(fmt::format("[convert] {}: exists already; remove it or pass --overwrite", output.string()));
    }
  }
}

}  // namespace

ConvertReport convert(const std::vector<std::string>& inputs, const fs::path& output, const ConvertOptions& options) {
  const Units units = units_of(output);
  ConvertReport report;
  report.files = shard_names(output, options.shards);
  Preprocessing selection = options.preprocessing;
  // Raw showers are kept whole: what training drops is for training to say.
  if (units == Units::kRaw) selection.min_sum = -std::numeric_limits<double>::max();
  const auto set = Dataset::open(inputs, options.fields, selection);
  check_outputs(report.files, set->files(), options.overwrite);
  for (const FileReport& file : set->files()) report.events_read += file.events;
  if (set->size() < options.shards) {
    throw user_error(
        fmt::format("[convert] {} events do not fill {} shards; lower --shards", set->size(), options.shards));
  }
  std::vector<storage::Output> places;
  for (const fs::path& file : report.files) places.emplace_back(file.string());
  if (const fs::path first = places.front().path(); first.has_parent_path()) make_folder(first.parent_path());

  ShowerBlock block;
  int64_t done = 0;
  for (size_t shard = 0; shard < report.files.size(); ++shard) {
    const int64_t end = set->size() * static_cast<int64_t>(shard + 1) / options.shards;
    std::unique_ptr<Sink> sink;
    if (units == Units::kRaw) {
      sink = std::make_unique<Hdf5Sink>(places[shard].path(), set->shape());
    } else {
      sink = std::make_unique<TfrecordSink>(places[shard].path());
    }
    for (; done < end; ++done) {
      set->read_stored(done, block);
      convert_units(options.preprocessing, block, units);
      sink->append(block);
      if (options.progress) options.progress(done + 1, set->size());
    }
    sink->close();
    places[shard].publish();
  }
  report.events_written = done;
  return report;
}

}  // namespace linac::data
