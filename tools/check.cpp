// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <probekit/engine.hpp>
#include <probekit/error.hpp>

#include "checks.hpp"
#include "commands.hpp"
#include "json.hpp"
#include "output.hpp"
#include "values.hpp"

namespace probekit::tools {
namespace {

// Whether the parts fit together only trying tells. That loads the module, as
// every other command would; not if something is missing that is known.
CheckResult check_engine() {
  try {
    const probekit_info info = Engine::open().info();
    return {"engine",
            true,
            fmt::format("interface {}.{}, {} live", info.abi_major,
                        info.abi_minor, counted(info.probes, "probe")),
            {}};
  } catch (const Error& error) {
    std::string detail = error.what();
    if (detail.ends_with("; " + error.remedy())) {
      detail.resize(detail.size() - error.remedy().size() - 2);
    }
    return {"engine", false, detail, error.remedy()};
  }
}

bool all_ok(const std::vector<CheckResult>& results) {
  return std::all_of(results.begin(), results.end(),
                     [](const CheckResult& result) { return result.ok; });
}

// A module that is named, not installed, is found only by trying.
std::vector<CheckResult> check_all() {
  auto results = check_machine("/");
  if (const char* file = std::getenv("PROBEKIT_MODULE"); file && *file) {
    std::erase_if(results, [](const CheckResult& result) {
      return result.what == "module" && !result.ok;
    });
  }
  if (all_ok(results)) results.push_back(check_engine());
  return results;
}

std::string text_of(const std::vector<CheckResult>& results) {
  std::string text;
  for (const CheckResult& result : results) {
    text += fmt::format("{:<4}  {:<8}  {}\n", result.ok ? "ok" : "FAIL",
                        result.what, printable(result.detail));
    if (!result.ok && !result.remedy.empty()) {
      text += fmt::format("{:16}{}\n", "", result.remedy);
    }
  }
  return text;
}

std::string json_of(const std::vector<CheckResult>& results) {
  std::string text;
  std::size_t failed = 0;
  for (const CheckResult& result : results) {
    if (!result.ok) ++failed;
    text +=
        json_line({{"type", "check"},
                   {"check", result.what},
                   {"ok", result.ok},
                   {"detail", result.detail},
                   {"remedy", result.remedy.empty() ? Json(nullptr)
                                                    : Json(result.remedy)}});
  }
  return text + json_line({{"type", "summary"},
                           {"checks", results.size()},
                           {"failed", failed}});
}

}  // namespace

int run_check(const Options& options) {
  Output output(options.output);
  const auto results = check_all();
  output.write(options.json ? json_of(results) : text_of(results));
  output.close();
  if (output.failed()) return kFailed;
  return all_ok(results) ? kDone : kUnsupported;
}

}  // namespace probekit::tools
