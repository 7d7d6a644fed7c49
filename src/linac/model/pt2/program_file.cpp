#include "linac/model/pt2/program_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::pt2 {
namespace {

constexpr uint64_t kMemberBytesMax = uint64_t{8} << 30;
constexpr uint64_t kTextBytesMax = uint64_t{256} << 20;
constexpr size_t kMembersMax = 100'000;
constexpr const char* kWeights = "data/weights/";
constexpr const char* kConstants = "data/constants/";
constexpr const char* kModels = "models/";
constexpr const char* kNotes = "extra/linac.json";
constexpr const char* kWayOut = "save it with torch.export.save(torch.export.export(...), 'net.pt2')";

bool is_text(const std::string& member) {
  return member.ends_with(".json") || member.ends_with("archive_format") || member.ends_with("archive_version");
}

/// Elements that the view reaches over, from the first byte of its file; nothing if that is beyond all bounds.
std::optional<int64_t> reach(const Payload& payload) {
  int64_t last = payload.offset;
  for (size_t i = 0; i < payload.sizes.size(); ++i) {
    int64_t step = 0;
    if (payload.sizes[i] == 0) return 0;
    if (__builtin_mul_overflow(payload.sizes[i] - 1, payload.strides[i], &step) ||
        __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  if (last == std::numeric_limits<int64_t>::max()) return std::nullopt;
  return last + 1;
}

}  // namespace

std::vector<int64_t> places(const Payload& layout) {
  std::vector<int64_t> all{layout.offset};
  for (size_t axis = 0; axis < layout.sizes.size(); ++axis) {
    std::vector<int64_t> next;
    next.reserve(all.size() * static_cast<size_t>(layout.sizes[axis]));
    for (const int64_t place : all)
      for (int64_t i = 0; i < layout.sizes[axis]; ++i) next.push_back(place + i * layout.strides[axis]);
    all = std::move(next);
  }
  return all;
}

bool is_program_file(const std::filesystem::path& path) {
  if (path.extension() == ".pt2") return true;
  std::error_code none;
  if (!std::filesystem::is_regular_file(path, none)) return false;
  try {
    const auto names = archive::ZipReader(path).members();
    return std::any_of(names.begin(), names.end(), [](const std::string& name) {
      return name.ends_with("/archive_format") || name == "serialized_exported_program.json";
    });
  } catch (const Error&) {
    return false;
  }
}

void ProgramFile::fail(const std::string& why) const {
  throw user_error(fmt::format("[pt2] {}: {}", path_, why));
}

const std::string* ProgramFile::find(const std::string& member) const {
  const auto found = index_.find(root_ + member);
  return found == index_.end() ? nullptr : &members_[found->second].content;
}

const std::string& ProgramFile::need(const std::string& member) const {
  const std::string* const content = find(member);
  if (content == nullptr) fail(fmt::format("holds no {}; {}", member, kWayOut));
  return *content;
}

ProgramFile::ProgramFile(const std::filesystem::path& path) : path_(path.string()) {
  archive::ZipReader reader(path);
  const auto names = reader.members();
  if (names.size() > kMembersMax) fail(fmt::format("has {} members (limit {})", names.size(), kMembersMax));
  if (std::find(names.begin(), names.end(), "serialized_exported_program.json") != names.end()) {
    fail(
        fmt::format("was saved by PyTorch 2.7 or older, whose files linac does not read; load it with "
                    "torch.export.load in a newer one and {}",
                    kWayOut));
  }
  if (names.empty() || names[0].find('/') == std::string::npos)
    fail(fmt::format("is no exported program; {}", kWayOut));
  root_ = names[0].substr(0, names[0].find('/') + 1);
  std::vector<std::string> models;
  for (const std::string& name : names) {
    if (name.ends_with('/') || index_.contains(name)) continue;
    auto content = reader.read(name, is_text(name) ? kTextBytesMax : kMemberBytesMax);
    if (!content) fail(fmt::format("member '{}' cannot be found again; is the file complete?", name));
    index_[name] = members_.size();
    members_.push_back({name, std::move(*content)});
    if (name.starts_with(root_ + kModels) && name.ends_with(".json"))
      models.push_back(name.substr(root_.size() + std::string(kModels).size()));
  }
  if (const std::string* const format = find("archive_format"); format == nullptr || *format != "pt2")
    fail(fmt::format("is no exported program; {}", kWayOut));
  if (const std::string* const version = find("archive_version"); version != nullptr && *version != "0")
    fail(fmt::format("is an archive of version '{}', and linac reads version 0", version->substr(0, 20)));
  if (models.size() != 1)
    fail(fmt::format("holds {} programs ({}), and linac takes files with one", models.size(), fmt::join(models, ", ")));
  model_ = models[0].substr(0, models[0].size() - std::string(".json").size());
  try {
    program_ = read_program(need(kModels + models[0]));
    if (find(kWeights + model_ + "_weights_config.json") == nullptr) {
      throw user_error(
          fmt::format("[pt2] keeps its weights as PyTorch {} does, which linac does not read; load it with "
                      "torch.export.load in the PyTorch that docs/guide/training.md names and {}",
                      program_.torch_version, kWayOut));
    }
    weights_ = read_payloads(need(kWeights + model_ + "_weights_config.json"));
    constants_ = read_payloads(need(kConstants + model_ + "_constants_config.json"));
  } catch (const Error& error) {
    fail(std::string(error.what()).substr(std::string("[pt2] ").size()));
  }
}

std::pair<std::string, Payload> ProgramFile::payload(const ProgramInput& input) const {
  const bool is_constant = input.kind == ProgramInput::Kind::kConstant || !input.persistent;
  const auto& payloads = is_constant ? constants_ : weights_;
  const auto found = payloads.find(input.target);
  if (found == payloads.end()) fail(fmt::format("does not hold the values of '{}'", input.target));
  return {is_constant ? kConstants : kWeights, found->second};
}

ProgramFile::Tensor ProgramFile::tensor(const ProgramInput& input) const {
  const auto [folder, payload] = this->payload(input);
  const size_t width = bytes_of(payload.scalar_type);
  if (width == 0)
    fail(fmt::format("'{}' is of PyTorch's type {}, which linac does not know", input.target, payload.scalar_type));
  const std::string& bytes = need(folder + payload.file);
  const auto wanted = reach(payload);
  if (!wanted || *wanted > static_cast<int64_t>(bytes.size() / width)) {
    fail(fmt::format("'{}' of shape ({}) has more values than the {} bytes of {}", input.target,
                     fmt::join(payload.sizes, ", "), bytes.size(), payload.file));
  }
  // Axes of stride 0 would make few bytes many numbers.
  int64_t numbers = 1;
  for (const int64_t size : payload.sizes)
    if (__builtin_mul_overflow(numbers, size, &numbers) || numbers > static_cast<int64_t>(kMemberBytesMax))
      fail(fmt::format("'{}' has too many values", input.target));
  return {payload, bytes, payload.trainable && input.kind == ProgramInput::Kind::kParameter,
          fmt::format("{}{} {} ({}) ({})", folder, payload.file, payload.offset, fmt::join(payload.sizes, ","),
                      fmt::join(payload.strides, ","))};
}

std::string ProgramFile::with(const std::vector<std::pair<const ProgramInput*, std::span<const float>>>& weights,
                              const std::string& notes) const {
  std::vector<archive::ZipMember> members = members_;
  for (const auto& [input, values] : weights) {
    const auto [folder, payload] = this->payload(*input);
    std::string& bytes = members[index_.at(root_ + folder + payload.file)].content;
    const std::vector<int64_t> all = places(payload);
    LINAC_CHECK(payload.scalar_type == kFloat && all.size() == values.size());
    for (size_t i = 0; i < all.size(); ++i)
      std::memcpy(bytes.data() + static_cast<size_t>(all[i]) * sizeof(float), &values[i], sizeof(float));
  }
  std::erase_if(members, [&](const archive::ZipMember& member) {
    // PyTorch's fingerprint of the content, which is another one now.
    return member.name == root_ + kNotes || member.name == root_ + ".data/serialization_id";
  });
  members.push_back({root_ + kNotes, notes});
  return archive::write_zip(members);
}

Numbers ProgramFile::numbers(const ProgramInput& input) const {
  const Tensor found = tensor(input);
  const size_t width = bytes_of(found.layout.scalar_type);
  Numbers numbers{found.layout.scalar_type, found.layout.sizes, ""};
  for (const int64_t place : places(found.layout))
    numbers.bytes += found.bytes.substr(static_cast<size_t>(place) * width, width);
  return numbers;
}

std::string ProgramFile::notes() const {
  const std::string* const notes = find(kNotes);
  return notes == nullptr ? "" : *notes;
}

}  // namespace linac::pt2
