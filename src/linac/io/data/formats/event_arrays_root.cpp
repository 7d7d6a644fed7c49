#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/event_arrays_file.h"
#include "linac/io/data/formats/root_file.h"
#include "linac/io/root/objects.h"
#include "linac/io/root/tree_writer.h"

namespace linac::data {
namespace {

constexpr size_t kNameBytesMax = 255;
constexpr int64_t kNumbersAtATime = int64_t{1} << 16;

/// A name that formulas and RDataFrame take.
std::string identifier(std::string name) {
  std::ranges::replace_if(
      name, [](unsigned char c) { return c >= 128 || (std::isalnum(c) == 0 && c != '_'); }, '_');
  return name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ? "_" + name : name;
}

class RootArrays : public EventArraysFile {
 public:
  RootArrays(std::filesystem::path path, const std::vector<EventArrayShape>& arrays, int64_t events)
      : path_(std::move(path)), events_(events), file_(path_), tree_(file_, "scores") {
    for (const EventArrayShape& array : arrays) {  // array i is branch i
      int64_t event_bytes = sizeof(float);
      for (const int64_t extent : array.shape) {
        if (extent < 1 || event_bytes > root::kEventBytesMax / extent)
          refuse(fmt::format("the output '{}' has events of a size that no branch takes", array.name));
        event_bytes *= extent;
      }
      const bool is_number = array.shape == std::vector<int64_t>{1};
      add_branch(array.name, root::TreeWriter::Number::kFloat, is_number ? std::vector<int64_t>{} : array.shape);
    }
  }

  void set_attribute(const std::string& name, const std::string& text) override {
    root::Record record({"TObjString", name, ""});
    record.part(1, [&] {
      record.object();
      record.put_text(text);
    });
    file_.add(record);
  }

  void set_attribute(size_t i, const std::string& name, const std::vector<std::string>& texts) override {
    about_arrays_[name][branches_.at(i)] = texts;
  }

  std::string name(size_t i) const override { return branches_.at(i); }

  void number_events(std::span<const int64_t> events) override {
    const size_t files = add_branch("file", root::TreeWriter::Number::kInt32, {});
    const size_t rows = add_branch("row", root::TreeWriter::Number::kInt64, {});
    std::vector<int32_t> places;
    std::vector<int64_t> numbers;
    for (size_t place = 0; place < events.size(); ++place) {
      for (int64_t first = 0; first < events[place]; first += kNumbersAtATime) {
        numbers.resize(static_cast<size_t>(std::min(kNumbersAtATime, events[place] - first)));
        std::iota(numbers.begin(), numbers.end(), first);
        places.assign(numbers.size(), static_cast<int32_t>(place));
        tree_.append(rows, numbers);
        tree_.append(files, places);
      }
    }
  }

  void write(size_t i, int64_t first, std::span<const float> values) override {
    LINAC_CHECK(first == tree_.events(i));
    tree_.append(i, values);
  }

  void close() override {
    for (const auto& [name, texts] : about_arrays_) set_attribute(name, nlohmann::json(texts).dump());
    tree_.finish(events_);
    file_.close();
  }

 private:
  size_t add_branch(const std::string& name, root::TreeWriter::Number type, const std::vector<int64_t>& extents) {
    const std::string branch = identifier(name);
    if (branch.size() > kNameBytesMax) refuse(fmt::format("the output '{}' has too long a name for a branch", name));
    if (std::ranges::find(branches_, branch) != branches_.end())
      refuse(fmt::format("two branches would be called '{}'", branch));
    branches_.push_back(branch);
    return tree_.add_branch(branch, type, extents);
  }

  [[noreturn]] void refuse(const std::string& why) const {
    throw user_error(fmt::format("[root] {}: {}; write an HDF5 file, NAME.h5", path_.string(), why));
  }

  const std::filesystem::path path_;
  const int64_t events_;
  root::FileWriter file_;
  root::TreeWriter tree_;
  std::vector<std::string> branches_;
  std::map<std::string, std::map<std::string, std::vector<std::string>>> about_arrays_;  // by attribute and branch
};

}  // namespace

std::vector<std::string> root_array_texts(const std::filesystem::path& path, const std::string& array,
                                          const std::string& attribute) {
  const auto file = open_root_file(storage::Source::open(path.string()));
  for (const root::Key& key : file->keys()) {
    if (key.name != attribute || key.class_name != "TObjString") continue;
    const std::vector<std::byte> content = file->content(key);
    root::Objects objects(root::Cursor(content, file->say(attribute)), key.head);
    objects.begin();
    objects.object();
    const auto arrays = nlohmann::json::parse(root::read_string(objects.cursor()), nullptr, false);
    return arrays.is_object() && arrays.contains(array) ? texts_in(arrays[array].dump()) : std::vector<std::string>{};
  }
  return {};
}

std::unique_ptr<EventArraysFile> open_root_arrays(const std::filesystem::path& path,
                                                  const std::vector<EventArrayShape>& arrays, int64_t events) {
  return std::make_unique<RootArrays>(path, arrays, events);
}

}  // namespace linac::data
