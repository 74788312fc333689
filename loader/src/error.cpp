// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <algorithm>
#include <probekit/error.hpp>
#include <utility>

namespace probekit {
namespace {

std::string message(const std::string& operation, const std::string& object,
                    int error, const std::string& reason,
                    const std::string& remedy) {
  std::string text = "cannot " + operation;
  if (!object.empty()) text += " " + object;
  if (!reason.empty()) {
    text += ": " + reason;
  } else if (error != 0) {
    text += ": " + std::generic_category().message(error);
  }
  if (!remedy.empty()) text += "; " + remedy;
  // Reasons may quote what others wrote: one line stays one line.
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c >= '\0' && c < ' '; },
      ' ');
  while (text.ends_with(' ')) text.pop_back();
  return text;
}

}  // namespace

Error::Error(std::string operation, std::string object, int error,
             std::string reason, std::string remedy)
    : std::runtime_error(message(operation, object, error, reason, remedy)),
      operation_(std::move(operation)),
      object_(std::move(object)),
      remedy_(std::move(remedy)),
      error_(error) {}

}  // namespace probekit
