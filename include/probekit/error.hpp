// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#ifndef PROBEKIT_ERROR_HPP
#define PROBEKIT_ERROR_HPP

#include <stdexcept>
#include <string>
#include <system_error>

namespace probekit {

/// What the library throws: what was tried, on what, why it failed, and what
/// the user can do about it. `what()` is one line made of all four.
class Error : public std::runtime_error {
 public:
  /// `operation` is a verb phrase ("load the module"), `object` names the
  /// thing it was tried on, `error` is a positive errno or zero, `reason`
  /// replaces the text of the errno when it is not empty, and `remedy` is a
  /// sentence that says what to do, or empty.
  Error(std::string operation, std::string object, int error,
        std::string reason = {}, std::string remedy = {});

  const std::string& operation() const noexcept { return operation_; }
  const std::string& object() const noexcept { return object_; }
  const std::string& remedy() const noexcept { return remedy_; }
  /// The errno, zero when no system call failed.
  std::error_code code() const noexcept {
    return {error_, std::generic_category()};
  }

 private:
  std::string operation_;
  std::string object_;
  std::string remedy_;
  int error_;
};

/// The caller asked for something malformed: a bad pattern, a bad option.
class UsageError : public Error {
 public:
  using Error::Error;
};

/// This machine cannot do it: no rights, no module, no BTF, lockdown, or an
/// engine of another version. The remedy is never empty.
class UnsupportedError : public Error {
 public:
  using Error::Error;
};

}  // namespace probekit

#endif  // PROBEKIT_ERROR_HPP
