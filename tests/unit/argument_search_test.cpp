// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "detail/argument_search.hpp"

#include <bpf/btf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <probekit/error.hpp>
#include <string>
#include <vector>

namespace probekit {
namespace {

using detail::ArgumentSearch;
using detail::BtfPtr;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Ids are what libbpf returns; a failure to add is a bug in the test.
std::uint32_t id_of(int result) {
  EXPECT_GT(result, 0);
  return static_cast<std::uint32_t>(result);
}

int as_int(std::uint32_t id) { return static_cast<int>(id); }

void add_function(btf* types, const char* name,
                  const std::vector<std::uint32_t>& parameters) {
  const std::uint32_t proto = id_of(btf__add_func_proto(types, 0));
  for (const std::uint32_t parameter : parameters) {
    EXPECT_EQ(btf__add_func_param(types, "p", as_int(parameter)), 0);
  }
  id_of(btf__add_func(types, name, BTF_FUNC_GLOBAL, as_int(proto)));
}

class ArgumentSearchTest : public ::testing::Test {
 protected:
  ArgumentSearchTest() : kernel_(btf__new_empty()) {
    btf* b = kernel_.get();
    number_ = id_of(btf__add_int(b, "int", 4, BTF_INT_SIGNED));
    file_ = id_of(btf__add_struct(b, "file", 8));
    attr_ = id_of(btf__add_union(b, "attr", 8));
    const auto inode = id_of(btf__add_fwd(b, "inode", BTF_FWD_STRUCT));
    const auto alias = id_of(btf__add_typedef(b, "file_t", as_int(file_)));
    file_ptr_ = id_of(btf__add_ptr(b, as_int(file_)));
    const auto constant = id_of(btf__add_const(b, as_int(file_)));
    const auto constant_ptr = id_of(btf__add_ptr(b, as_int(constant)));
    const auto tag = id_of(btf__add_type_tag(b, "user", as_int(file_)));
    const auto tagged_ptr = id_of(btf__add_ptr(b, as_int(tag)));
    const auto alias_ptr = id_of(btf__add_ptr(b, as_int(alias)));
    const auto handle =
        id_of(btf__add_typedef(b, "file_handle_t", as_int(file_ptr_)));
    const auto ptr_ptr = id_of(btf__add_ptr(b, as_int(file_ptr_)));
    const auto attr_ptr = id_of(btf__add_ptr(b, as_int(attr_)));
    const auto inode_ptr = id_of(btf__add_ptr(b, as_int(inode)));
    add_function(b, "takes_file", {number_, file_ptr_});
    add_function(b, "takes_const_file", {constant_ptr});
    add_function(b, "takes_tagged_file", {tagged_ptr});
    add_function(b, "takes_alias", {alias_ptr});
    add_function(b, "takes_handle", {handle});
    add_function(b, "takes_file_ptr_ptr", {ptr_ptr});
    add_function(b, "takes_file_value", {file_});
    add_function(b, "takes_attr", {attr_ptr});
    add_function(b, "takes_inode", {inode_ptr});
    add_function(b, "takes_nothing", {});
    add_function(b, "variadic", {number_, 0});
    add_function(b, "repeated", {file_ptr_});
    add_function(b, "repeated", {file_ptr_, number_});
  }

  std::vector<std::string> taking(std::string_view type) const {
    ArgumentSearch search(type);
    search.search(*kernel_, {});
    if (module_ != nullptr) search.search(*module_, "ext4");
    std::vector<std::string> names;
    for (const FunctionName& function : search.take()) {
      names.push_back((function.module.empty() ? "" : function.module + ":") +
                      function.name);
    }
    return names;
  }

  static std::string error_of(std::string_view type) {
    try {
      const ArgumentSearch search(type);
    } catch (const UsageError& error) {
      return error.what();
    }
    ADD_FAILURE() << "no error for " << type;
    return {};
  }

  BtfPtr kernel_;
  BtfPtr module_;
  std::uint32_t number_, file_, attr_, file_ptr_;
};

TEST_F(ArgumentSearchTest, ThroughQualifiersTagsAndNames) {
  const auto all =
      ElementsAre("repeated", "takes_alias", "takes_const_file", "takes_file",
                  "takes_handle", "takes_tagged_file");
  EXPECT_THAT(taking("file"), all);
  EXPECT_THAT(taking("struct file"), all);
  EXPECT_THAT(taking(" struct  file *"), all);
}

TEST_F(ArgumentSearchTest, Typedefs) {
  EXPECT_THAT(taking("file_t"), ElementsAre("takes_alias"));
}

TEST_F(ArgumentSearchTest, UnionsAndForwardDeclarations) {
  EXPECT_THAT(taking("union attr"), ElementsAre("takes_attr"));
  EXPECT_THAT(taking("attr"), ElementsAre("takes_attr"));
  EXPECT_THAT(taking("struct inode"), ElementsAre("takes_inode"));
}

TEST_F(ArgumentSearchTest, NoFunctionTakesIt) {
  EXPECT_THAT(taking("file_handle_t"), IsEmpty());
}

TEST_F(ArgumentSearchTest, ModulesUseTypesOfTheKernelAndTheirOwn) {
  module_.reset(btf__new_empty_split(kernel_.get()));
  btf* b = module_.get();
  const auto own = id_of(btf__add_struct(b, "ext4_group", 8));
  const auto own_ptr = id_of(btf__add_ptr(b, as_int(own)));
  add_function(b, "ext4_open", {file_ptr_});
  add_function(b, "ext4_group_init", {own_ptr});
  EXPECT_THAT(taking("attr"), ElementsAre("takes_attr"));
  EXPECT_THAT(taking("ext4_group"), ElementsAre("ext4:ext4_group_init"));
  EXPECT_THAT(taking("file_t"), ElementsAre("takes_alias"));
  EXPECT_THAT(taking("file"), ::testing::Contains("ext4:ext4_open"));
}

TEST_F(ArgumentSearchTest, UnknownTypesAreNamed) {
  try {
    taking("struct fiel");
    FAIL() << "no exception";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("'struct fiel'"));
    EXPECT_THAT(error.remedy(), HasSubstr("did you mean file?"));
  }
  EXPECT_THROW(taking("union file"), UsageError);
  EXPECT_THROW(taking("struct attr"), UsageError);
  EXPECT_THROW(taking("takes_file"), UsageError);
}

TEST_F(ArgumentSearchTest, MalformedTypes) {
  for (const char* type : {"", " ", "*", "struct", "struct ", "a b", "\x01"}) {
    EXPECT_THAT(error_of(type), HasSubstr("not the name of a type"));
  }
}

}  // namespace
}  // namespace probekit
