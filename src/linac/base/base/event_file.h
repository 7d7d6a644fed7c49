#pragma once
// Writes the event file that TensorBoard reads: framed protobuf records, appended as the run goes on. One writer for
// one folder and process; not thread-safe. A writer that is made later sorts behind the files already there, so a
// resumed run continues the same curves.

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace linac {

using HyperParameter = std::variant<double, bool, std::string>;

class EventFileWriter {
 public:
  /// Seconds since 1970.
  using WallTime = std::function<double()>;
  enum class Outcome : int { kSuccess = 1, kFailure = 2 };

  /// Makes the folder if needed and starts a file in it. Environment error if that fails; so do all functions below
  /// when the disk is full.
  explicit EventFileWriter(const std::filesystem::path& folder, WallTime wall_time = {});
  ~EventFileWriter();
  EventFileWriter(const EventFileWriter&) = delete;
  EventFileWriter& operator=(const EventFileWriter&) = delete;

  /// A run starts or resumes here: what earlier files of the folder say about `step` and later steps counts no more.
  void session_start(int64_t step);
  void scalar(std::string_view tag, int64_t step, double value);
  /// `png`: an encoded RGB(A) picture of width x height pixels.
  void image_png(std::string_view tag, int64_t step, std::string_view png, int64_t width, int64_t height);
  void text(std::string_view tag, int64_t step, std::string_view markdown);

  /// What the columns of the HPARAMS tab are: settings, of each any value tells the type, and the scalars that measure
  /// a run. The tab takes them from one of the files that it finds.
  void hparams_columns(const std::map<std::string, HyperParameter>& settings,
                       const std::vector<std::string>& metric_tags);
  /// A line of that tab: the settings of the run whose file this is.
  void hparams(const std::map<std::string, HyperParameter>& values);
  /// How it ended; without this the tab shows it as running.
  void session_end(Outcome outcome);

  /// Hands everything to the operating system; also done by the destructor.
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  void event(int64_t step, uint32_t field, std::string_view content);
  void value(int64_t step, std::string_view summary_value);
  void plugin_data(std::string_view tag, uint32_t field, std::string_view content);
  [[noreturn]] void fail(const char* what) const;

  WallTime wall_time_;
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace linac
