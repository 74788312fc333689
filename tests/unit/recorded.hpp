// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
//
// A small kernel in the format of the real one's files, see data/.
#ifndef PROBEKIT_TESTS_RECORDED_HPP
#define PROBEKIT_TESTS_RECORDED_HPP

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <probekit/symbols.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace probekit::test {

inline std::string data_path(const std::string& name) {
  return std::string(PROBEKIT_TEST_DATA) + "/" + name;
}

inline std::string recorded(const std::string& name) {
  std::ifstream file(data_path(name), std::ios::binary);
  EXPECT_TRUE(file) << data_path(name);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline SymbolTable recorded_table() {
  return SymbolTable(recorded("kallsyms.txt"), recorded("filter_functions.txt"),
                     recorded("blacklist.txt"));
}

inline std::vector<std::string> names(std::span<const Function> functions) {
  std::vector<std::string> result;
  for (const Function& function : functions) {
    result.push_back(function.module.empty()
                         ? std::string(function.name)
                         : std::string(function.module) + ":" +
                               std::string(function.name));
  }
  return result;
}

}  // namespace probekit::test

#endif  // PROBEKIT_TESTS_RECORDED_HPP
