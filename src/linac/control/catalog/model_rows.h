#pragma once
// What models.cpp and model_versions.cpp share. Private to the module.

#include <string>

#include "linac/control/catalog/models.h"
#include "linac/control/catalog/records.h"

namespace linac::catalog {

/// kNotFound.
int64_t model_number(Database& database, const std::string& name);
/// kNotFound; the model's number.
int64_t number_with_version(Database& database, const std::string& name, int64_t version);
void touch_model(Database& database, int64_t number);

/// The versions that the rows name, with tags and aliases.
std::vector<ModelVersion> versions_of_rows(Database& database, const std::vector<Row>& rows);
/// What such a row has to select, from model_versions `v` and models `m`.
extern const char* const kVersionColumns;

}  // namespace linac::catalog
