#pragma once
// Values out of JSON that strangers wrote: each function takes the member `name` of the object, or refuses with what it
// is and what it should be (kInvalid). `otherwise` stands for one that is missing or null; without it, the member is
// required. Integers and booleans may come as text, numbers as "NaN", "Infinity", "-Infinity" (protobuf's JSON).

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

std::string text_of(const nlohmann::json& object, const char* name,
                    std::optional<std::string> otherwise = std::nullopt);
int64_t integer_of(const nlohmann::json& object, const char* name, std::optional<int64_t> otherwise = std::nullopt);
double number_of(const nlohmann::json& object, const char* name, std::optional<double> otherwise = std::nullopt);
bool flag_of(const nlohmann::json& object, const char* name, std::optional<bool> otherwise = std::nullopt);
/// The same of a value that stands in a list; `name` is for the refusal.
int64_t integer_from(const nlohmann::json& value, const char* name);
double number_from(const nlohmann::json& value, const char* name);

/// A number as JSON: NaN and infinities, which JSON lacks, as text.
nlohmann::json number_json(double value);

/// The object that a JSON body holds. kInvalid for what is no JSON object, is nested more than kDepthMax deep, or has a
/// NUL in a text.
std::shared_ptr<nlohmann::json> parse_object(std::string_view body);
constexpr int kDepthMax = 32;

/// Puts each value that `rules` name into the type they say, in place; kInvalid if that cannot be, or one required is
/// missing.
void check_fields(nlohmann::json& object, const std::vector<FieldRule>& rules);
/// The same from a query, with lists where a rule says so; parameters without a rule are passed over.
std::shared_ptr<nlohmann::json> fields_of_query(const std::vector<std::pair<std::string, std::string>>& query,
                                                const std::vector<FieldRule>& rules);

}  // namespace linac::http
