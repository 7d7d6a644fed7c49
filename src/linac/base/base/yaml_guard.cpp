#include "linac/base/base/yaml_guard.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/json_keys.h"

namespace linac::config {
namespace {

/// What a node stands for, its aliases written out.
struct Extent {
  size_t nodes = 1, depth = 1;
};

class Guard : public YAML::EventHandler {
 public:
  Guard(const std::string& where, size_t nodes_max) : where_(where), nodes_max_(nodes_max) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(mark, {}, anchor); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor, const std::string& text) override {
    if (!open_.empty() && open_.back().next == Next::kKey) need_new(mark, text);
    add(mark, {}, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) refuse(mark, "an alias stands for what it is a part of");
    add(mark, known->second, YAML::NullAnchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, anchor, Next::kElement);
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, anchor, Next::kKey);
  }
  void OnMapEnd() override { close(); }

 private:
  enum class Next { kElement, kKey, kValue };  // of a list, or of a map

  struct Open {
    Extent extent;
    YAML::anchor_t anchor;
    YAML::Mark mark;
    Next next;
    std::map<std::string, int> lines = {};  // where each key of a map stands
  };

  [[noreturn]] void refuse(const YAML::Mark& mark, const std::string& why) const {
    throw user_error(fmt::format("[yaml] {}:{}: {}; write less", where_, mark.line + 1, why));
  }
  void open(const YAML::Mark& mark, YAML::anchor_t anchor, Next next) {
    if (open_.size() >= kYamlDepthMax) refuse(mark, fmt::format("it is deeper than {}", kYamlDepthMax));
    open_.push_back({{}, anchor, mark, next});
  }
  /// Of two entries with one key some readers take the first, others the last.
  void need_new(const YAML::Mark& mark, const std::string& key) {
    const auto [known, is_new] = open_.back().lines.emplace(key, mark.line + 1);
    if (is_new) return;
    throw user_error(fmt::format("[yaml] {}:{}: {}; leave one of them, or join them", where_, mark.line + 1,
                                 DoubledKey{key, known->second, mark.line + 1}.words()));
  }
  void close() {
    const Open closed = open_.back();
    open_.pop_back();
    add(closed.mark, closed.extent, closed.anchor);
  }
  void add(const YAML::Mark& mark, Extent extent, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = extent;
    if (open_.size() + extent.depth > kYamlDepthMax) refuse(mark, fmt::format("it is deeper than {}", kYamlDepthMax));
    if (open_.empty()) return;
    Next& next = open_.back().next;
    if (next != Next::kElement) next = next == Next::kKey ? Next::kValue : Next::kKey;
    Extent& around = open_.back().extent;
    around.nodes += extent.nodes;
    around.depth = std::max(around.depth, extent.depth + 1);
    if (around.nodes > nodes_max_)
      refuse(mark, fmt::format("it holds more than {} values, those of its aliases counted", nodes_max_));
  }

  const std::string& where_;
  const size_t nodes_max_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, Extent> anchors_;
};

/// Documents after the first, which nobody reads: they are empty.
class NothingMore : public YAML::EventHandler {
 public:
  explicit NothingMore(const std::string& where) : where_(where) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    // yaml-cpp 0.7 finds one document after the other where none of them begins.
    if (mark.pos <= begun_)
      throw user_error(
          fmt::format("[yaml] {}:{}: what stands here is no YAML; put texts into quotes", where_, mark.line + 1));
    begun_ = mark.pos;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t, const std::string&) override {
    refuse(mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse(mark); }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {
    refuse(mark);
  }
  void OnMapEnd() override {}

 private:
  [[noreturn]] void refuse(const YAML::Mark& mark) const {
    throw user_error(
        fmt::format("[yaml] {}:{}: a second document begins, and the first alone is read; leave out the "
                    "line '---' between them, or write it into a file of its own",
                    where_, mark.line + 1));
  }

  const std::string& where_;
  int begun_ = -1;
};

}  // namespace

void need_bounded_yaml(const std::string& text, const std::string& where) {
  if (text.size() > kYamlBytesMax)
    throw user_error(fmt::format("[yaml] {}: it is larger than {} bytes; write less", where, kYamlBytesMax));
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  Guard guard(where, std::clamp(text.size(), kYamlNodesMin, kYamlNodesMax));
  parser.HandleNextDocument(guard);
  NothingMore nothing(where);
  while (parser.HandleNextDocument(nothing)) continue;
}

}  // namespace linac::config
