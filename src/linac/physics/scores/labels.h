#pragma once
// What a classifier said about events, and what they are, checked once: everything else in this module may rely on
// probabilities and class numbers. Immutable, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace linac::scores {

/// Values [events][width], as they come from a file. Borrows them.
struct Table {
  std::span<const float> values;
  size_t width = 1;
  std::string name;                             // for messages
  std::span<const uint32_t> event_of_row = {};  // of steps of sequences, each of which counts as an event here
  size_t events() const { return values.size() / width; }
  /// The number of the event whose step a row is: for messages.
  size_t event(size_t row) const { return event_of_row.empty() ? row : event_of_row[row]; }
};

/// The true class of each event.
class Labels {
 public:
  /// Targets one-hot (width = number of classes) or as class numbers (width 1). `classes`: their names, or empty: they
  /// are counted and numbered; a model with `columns` outputs has max(2, columns) of them. Data error for targets that
  /// are neither or know other classes, user error for another number of names or events of fewer than two classes.
  Labels(const Table& targets, size_t columns, std::vector<std::string> classes);
  /// One of several labels that an event may have, column `label` of targets of 0 and 1: class 1 are the events that
  /// have it, be there any or not. Data error naming the event for another value.
  static Labels of_label(const Table& targets, size_t label);

  size_t events() const { return truth_.size(); }
  size_t classes() const { return names_.size(); }
  const std::vector<std::string>& names() const { return names_; }
  size_t truth(size_t event) const { return truth_[event]; }
  int64_t support(size_t label) const { return support_[label]; }
  std::vector<uint8_t> is(size_t label) const;

 private:
  Labels() = default;

  std::vector<std::string> names_;
  std::vector<uint32_t> truth_;
  std::vector<int64_t> support_;
};

/// The probability of each class: as many columns as classes (softmax), or one, that of class 1 of two (sigmoid).
class Predictions {
 public:
  /// Data error for another number of events than the labels have, for values outside [0, 1] or not finite, for rows
  /// that do not add up to 1, each naming the event.
  Predictions(const Table& values, const Labels& labels);

  size_t events() const { return table_.events(); }
  bool binary() const { return table_.width == 1; }
  double probability(size_t event, size_t label) const {
    if (binary()) return label == 1 ? table_.values[event] : 1 - static_cast<double>(table_.values[event]);
    return table_.values[event * table_.width + label];
  }
  /// The most probable class, the first of equal ones; class 1 of two from 0.5 on.
  size_t decision(size_t event) const;
  /// How many classes are more probable than this one, or equally and come first.
  size_t rank(size_t event, size_t label) const;
  /// Numbers that order the events as the class's probability does.
  std::vector<float> scores(size_t label) const;

 private:
  Table table_;
};

}  // namespace linac::scores
