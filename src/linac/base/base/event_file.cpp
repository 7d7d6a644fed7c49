// Field numbers: Event, SessionLog from TensorFlow's core/util/event.proto; Summary, SummaryMetadata from
// core/framework/summary.proto; TensorProto from core/framework/tensor.proto; the hyper-parameters from TensorBoard's
// plugins/hparams/{plugin_data,api}.proto; Value from protobuf's struct.proto.
#include "linac/base/base/event_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/protowire.h"
#include "linac/base/base/tfrecord_frame.h"

namespace linac {
namespace {

using proto::append_bytes;
using proto::append_double;
using proto::append_float;
using proto::append_varint;

namespace event_field {
constexpr uint32_t kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7;
}
namespace value_field {
constexpr uint32_t kTag = 1, kSimpleValue = 2, kImage = 4, kTensor = 8, kMetadata = 9;
}
constexpr uint64_t kTypeFloat = 1, kTypeString = 7;                              // DataType in tensorflow's types.proto
constexpr uint64_t kClassTensor = 2;                                             // DataClass in summary.proto
constexpr uint64_t kColorspaceRgba = 4;                                          // Summary.Image
constexpr uint64_t kHparamString = 1, kHparamBool = 2, kHparamNumber = 3;        // DataType in hparams' api.proto
constexpr uint32_t kExperiment = 2, kSessionStartInfo = 3, kSessionEndInfo = 4;  // of HParamsPluginData
constexpr std::string_view kFilePrefix = "events.out.tfevents.";

double system_seconds() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// TensorBoard reads the files of a folder in the order of their names, and purges what was read before.
int64_t seconds_for_name(const std::filesystem::path& folder, double now) {
  auto seconds = static_cast<int64_t>(now);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFilePrefix)) continue;
    const int64_t taken = std::strtoll(name.c_str() + kFilePrefix.size(), nullptr, 10);
    if (taken >= seconds && taken < seconds + 86400) seconds = taken + 1;
  }
  return seconds;
}

std::string metadata(std::string_view plugin, std::string_view content) {
  std::string plugin_data, result;
  append_bytes(plugin_data, 1, plugin);
  append_bytes(plugin_data, 2, content);
  append_bytes(result, 1, plugin_data);
  append_varint(result, 4, kClassTensor);
  return result;
}

std::string name_and_type(const std::string& name, const HyperParameter& value) {
  constexpr std::array<uint64_t, 3> kTypes{kHparamNumber, kHparamBool, kHparamString};  // as in the variant
  std::string info;
  append_bytes(info, 1, name);
  append_varint(info, 4, kTypes[value.index()]);
  return info;
}

std::string struct_value(const HyperParameter& value) {
  std::string result;
  if (const auto* number = std::get_if<double>(&value)) append_double(result, 2, *number);
  if (const auto* text = std::get_if<std::string>(&value)) append_bytes(result, 3, *text);
  if (const auto* flag = std::get_if<bool>(&value)) append_varint(result, 4, *flag ? 1 : 0);
  return result;
}

}  // namespace

EventFileWriter::EventFileWriter(const std::filesystem::path& folder, WallTime wall_time)
    : wall_time_(wall_time ? std::move(wall_time) : system_seconds) {
  make_folder(folder);
  path_ = folder /
          fmt::format("{}{:010}.{}.{}.v2", kFilePrefix, seconds_for_name(folder, wall_time_()), host_name(), getpid());
  file_.reset(std::fopen(path_.c_str(), "wb"));
  if (!file_) fail("cannot be created");
  event(0, event_field::kFileVersion, "brain.Event:2");
  flush();
}

EventFileWriter::~EventFileWriter() = default;

void EventFileWriter::session_start(int64_t step) {
  constexpr uint64_t kStart = 1;
  std::string log;
  append_varint(log, 1, kStart);
  event(step, event_field::kSessionLog, log);
}

void EventFileWriter::scalar(std::string_view tag, int64_t step, double number) {
  std::string content;
  append_bytes(content, value_field::kTag, tag);
  append_float(content, value_field::kSimpleValue, static_cast<float>(number));
  value(step, content);
}

void EventFileWriter::image_png(std::string_view tag, int64_t step, std::string_view png, int64_t width,
                                int64_t height) {
  std::string image, content;
  append_varint(image, 1, static_cast<uint64_t>(height));
  append_varint(image, 2, static_cast<uint64_t>(width));
  append_varint(image, 3, kColorspaceRgba);
  append_bytes(image, 4, png);
  append_bytes(content, value_field::kTag, tag);
  append_bytes(content, value_field::kImage, image);
  value(step, content);
}

void EventFileWriter::text(std::string_view tag, int64_t step, std::string_view markdown) {
  std::string tensor, content;
  append_varint(tensor, 1, kTypeString);
  append_bytes(tensor, 2, "");  // a scalar's shape
  append_bytes(tensor, 8, markdown);
  append_bytes(content, value_field::kTag, tag);
  append_bytes(content, value_field::kMetadata, metadata("text", ""));
  append_bytes(content, value_field::kTensor, tensor);
  value(step, content);
}

void EventFileWriter::hparams_columns(const std::map<std::string, HyperParameter>& settings,
                                      const std::vector<std::string>& metric_tags) {
  std::string experiment;
  append_double(experiment, 3, wall_time_());
  for (const auto& [name, parameter] : settings) append_bytes(experiment, 4, name_and_type(name, parameter));
  for (const std::string& tag : metric_tags) {
    std::string metric_name, metric;
    append_bytes(metric_name, 2, tag);
    append_bytes(metric, 1, metric_name);
    append_bytes(experiment, 5, metric);
  }
  plugin_data("_hparams_/experiment", kExperiment, experiment);
}

void EventFileWriter::hparams(const std::map<std::string, HyperParameter>& values) {
  std::string start;
  for (const auto& [name, parameter] : values) {
    std::string map_entry;
    append_bytes(map_entry, 1, name);
    append_bytes(map_entry, 2, struct_value(parameter));
    append_bytes(start, 1, map_entry);
  }
  append_double(start, 5, wall_time_());
  plugin_data("_hparams_/session_start_info", kSessionStartInfo, start);
}

void EventFileWriter::session_end(Outcome outcome) {
  std::string end;
  append_varint(end, 1, static_cast<uint64_t>(outcome));
  append_double(end, 2, wall_time_());
  plugin_data("_hparams_/session_end_info", kSessionEndInfo, end);
}

void EventFileWriter::plugin_data(std::string_view tag, uint32_t field, std::string_view content) {
  std::string data, tensor, dimension, shape, summary_value;
  append_bytes(data, field, content);
  // The plugin takes its data from the metadata; the value beside it is one empty float, as TensorBoard writes it.
  append_varint(dimension, 1, 1);
  append_bytes(shape, 2, dimension);
  append_varint(tensor, 1, kTypeFloat);
  append_bytes(tensor, 2, shape);
  append_float(tensor, 5, 0);
  append_bytes(summary_value, value_field::kTag, tag);
  append_bytes(summary_value, value_field::kMetadata, metadata("hparams", data));
  append_bytes(summary_value, value_field::kTensor, tensor);
  value(0, summary_value);
}

void EventFileWriter::value(int64_t step, std::string_view summary_value) {
  std::string summary;
  append_bytes(summary, 1, summary_value);
  event(step, event_field::kSummary, summary);
}

void EventFileWriter::event(int64_t step, uint32_t field, std::string_view content) {
  std::string record;
  append_double(record, event_field::kWallTime, wall_time_());
  append_varint(record, event_field::kStep, static_cast<uint64_t>(step));
  append_bytes(record, field, content);
  const std::string framed = tfrecord_frame(record);
  if (std::fwrite(framed.data(), 1, framed.size(), file_.get()) != framed.size()) fail("cannot be written");
}

void EventFileWriter::flush() {
  if (std::fflush(file_.get()) != 0) fail("cannot be written");
}

void EventFileWriter::fail(const char* what) const {
  throw environment_error(fmt::format("[tensorboard] {} {} ({}); free the disk or choose another folder",
                                      path_.string(), what, std::strerror(errno)));
}

}  // namespace linac
