// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_TOOLS_JSON_HPP
#define PROBEKIT_TOOLS_JSON_HPP

#include <probekit/uapi.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace probekit::tools {

using Json = nlohmann::ordered_json;

/// A record of JSON Lines. Bytes that are not UTF-8 are replaced: a strange
/// name must not cost the rest of the results.
std::string json_line(const Json& record);

/// The beginning of every function record.
Json json_function(std::string_view name, std::string_view module,
                   std::uint64_t address);

/// Misses by cause, the same in every record that has them.
Json json_missed(const probekit_stats& stats);

}  // namespace probekit::tools

#endif  // PROBEKIT_TOOLS_JSON_HPP
