#pragma once
// What the tables of records have in common: keys, tags, lists of numbers. Private to the module.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/experiments.h"

namespace linac::catalog {

constexpr size_t kNameMax = 500;    // of experiments, runs and models: bytes
constexpr size_t kTagKeyMax = 250;  // also of parameters
constexpr size_t kTagValueMax = 65536;

/// kInvalid for a key that is empty or too long, or a value that is too long; `what` is "tag" or "parameter".
void check_key(const std::string& what, const std::string& key);
void check_tag(const std::string& what, const std::string& key, const std::string& value);
void check_name(const std::string& what, const std::string& name);

/// The rows of a run in `table`.
int64_t count_of_run(Database& database, const char* table, int64_t number);
/// kInvalid where a run has come to more than `most` of them; of an old one that had more none are added.
void check_count(const char* what, int64_t now, int64_t most, int64_t before = 0);

/// A run's number in the tables; kNotFound, and kState if it is deleted and `writable` is asked for.
int64_t run_number(Database& database, const std::string& id, bool writable = false);

/// Calls `each` with the rows of `sql` for all `numbers`, among which a column is where it has "IN ({numbers})"; in
/// a few statements of few different texts.
void for_numbers(Database& database, const std::string& sql, std::span<const int64_t> numbers,
                 const std::function<void(const Row&)>& each);

}  // namespace linac::catalog
