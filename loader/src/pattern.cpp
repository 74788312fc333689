// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <fnmatch.h>
#include <regex.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <probekit/error.hpp>
#include <probekit/pattern.hpp>
#include <utility>

#include "detail/files.hpp"

namespace probekit {

struct Pattern::Regex {
  regex_t compiled{};

  Regex() = default;
  Regex(const Regex&) = delete;
  Regex& operator=(const Regex&) = delete;
  // Only made where regcomp() has succeeded.
  ~Regex() { ::regfree(&compiled); }
};

namespace {

// The name of the kernel itself where the name of a module is wanted.
constexpr std::string_view kernel_name = "vmlinux";
constexpr std::string_view glob_characters = "*?[\\";

[[noreturn]] void malformed(const std::string& text, const std::string& reason,
                            const std::string& remedy) {
  throw UsageError("use the pattern", "'" + text + "'", 0, reason, remedy);
}

bool is_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

bool is_name_character(char c) {
  return is_alnum(c) || c == '_' || c == '.' || c == '$';
}

bool is_module_character(char c) {
  return is_alnum(c) || c == '_' || c == '-' || c == '*' || c == '?';
}

// A whole number, decimal or with 0x.
bool parse_number(std::string_view text, std::uint64_t& number) {
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) {
    text.remove_prefix(2);
    base = 16;
  }
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  return error == std::errc() && stop == end;
}

// fnmatch() and regexec() want zero-terminated strings, names are views.
class Terminated {
 public:
  explicit Terminated(std::string_view text) {
    if (text.size() < buffer_.size()) {
      std::memcpy(buffer_.data(), text.data(), text.size());
      buffer_[text.size()] = '\0';
      text_ = buffer_.data();
    } else {
      long_ = text;
      text_ = long_.c_str();
    }
  }
  Terminated(const Terminated&) = delete;
  Terminated& operator=(const Terminated&) = delete;

  const char* c_str() const { return text_; }

 private:
  std::array<char, 256> buffer_;
  std::string long_;
  const char* text_;
};

bool glob_matches(const std::string& glob, std::string_view text) {
  return ::fnmatch(glob.c_str(), Terminated(text).c_str(), 0) == 0;
}

// How often the innermost part of an expression may repeat by its {m,n}. The
// C library unrolls these, and would take all memory for a few of them nested.
std::uint64_t repetitions(std::string_view regex) {
  std::uint64_t product = 1;
  for (std::size_t i = regex.find('{'); i != std::string_view::npos;
       i = regex.find('{', i + 1)) {
    const std::string_view bounds = regex.substr(i + 1);
    const std::string_view inside = bounds.substr(0, bounds.find('}'));
    const std::size_t comma = inside.rfind(',');
    std::uint64_t most = 0;
    const bool has_upper = comma != std::string_view::npos &&
                           parse_number(inside.substr(comma + 1), most);
    if (!has_upper && !parse_number(inside.substr(0, comma), most)) continue;
    product *= std::clamp<std::uint64_t>(most, 1, 1U << 16);
    product = std::min<std::uint64_t>(product, 1U << 30);
  }
  return product;
}

// Index of the ] that closes the [ at `open`, or npos.
std::size_t end_of_bracket(std::string_view glob, std::size_t open) {
  std::size_t i = open + 1;
  if (i < glob.size() && (glob[i] == '!' || glob[i] == '^')) ++i;
  if (i < glob.size() && glob[i] == ']') ++i;  // the first one is literal
  while (i < glob.size() && glob[i] != ']') {
    if (glob[i] == '[' && i + 1 < glob.size() &&
        std::string_view(":.=").find(glob[i + 1]) != std::string_view::npos) {
      const std::string close = {glob[i + 1], ']'};
      const std::size_t end = glob.find(close, i + 2);
      if (end == std::string_view::npos) return end;
      i = end + 1;
    }
    ++i;
  }
  return i < glob.size() ? i : std::string_view::npos;
}

std::string_view trimmed(std::string_view line) {
  constexpr std::string_view blanks = " \t\r\f\v";
  const std::size_t first = line.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return line.substr(first, line.find_last_not_of(blanks) - first + 1);
}

void append_file(const std::string& argument, std::vector<Pattern>& patterns) {
  const std::string path = argument.substr(1);
  if (path.empty()) {
    malformed(argument, "it names no file", "write @FILE");
  }
  // All names of a kernel, and then some; not a device that never ends.
  constexpr std::size_t most = std::size_t{16} << 20;
  const detail::FileContent content =
      path == "-" ? detail::read_descriptor(STDIN_FILENO, 0, most)
                  : detail::read_file(path, 0, most);
  if (content.error != 0) {
    throw Error("read the patterns in", path, content.error);
  }
  std::string_view rest = content.text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::size_t length = std::min(rest.find('\n'), rest.size());
    const std::string_view line = trimmed(rest.substr(0, length));
    rest.remove_prefix(std::min(length + 1, rest.size()));
    if (line.empty() || line.front() == '#') continue;
    try {
      patterns.emplace_back(line);
    } catch (const UsageError& error) {
      throw UsageError("use line " + std::to_string(number) + " of", path, 0,
                       error.what());
    }
  }
}

}  // namespace

Pattern::Pattern(std::string_view text) : text_(text) {
  if (text.empty()) {
    malformed(text_, "it is empty", "name a function, or * for all");
  }
  if (text.front() == '@') {
    malformed(text_, "a file of patterns cannot stand here",
              "name it on the command line");
  }
  if (text.front() == ':') {
    malformed(text_, "the module has no name",
              "write vmlinux:GLOB for functions of the kernel itself");
  }
  std::string_view rest = text;
  if (!rest.starts_with("re:")) {
    const auto end =
        std::find_if_not(rest.begin(), rest.end(), is_module_character);
    if (end != rest.end() && *end == ':') {
      module_.assign(rest.begin(), end);
      // The kernel spells modules with _, files and people with - too.
      std::replace(module_.begin(), module_.end(), '-', '_');
      rest.remove_prefix(module_.size() + 1);
    }
  }
  parse(rest);
}

void Pattern::parse(std::string_view rest) {
  name_ = rest;
  if (rest.starts_with("re:")) {
    name_.erase(0, 3);
    compile_regex();
  } else if (rest.empty()) {
    malformed(text_, "no function is named",
              "write MODULE:* for all functions of a module");
  } else if (rest.starts_with("0x") || rest.starts_with("0X")) {
    parse_address();
  } else if (!parse_offset(rest)) {
    check_glob();
    const std::size_t special = name_.find_first_of(glob_characters);
    kind_ = special == std::string::npos ? Kind::name : Kind::glob;
    head_ = name_.substr(0, special);
    const std::size_t last = name_.find_last_of("*?");
    if (name_.find_first_of("[\\") == std::string::npos &&
        last != std::string::npos) {
      tail_ = name_.substr(last + 1);
    }
  }
}

void Pattern::parse_address() {
  kind_ = Kind::address;
  if (!module_.empty()) {
    malformed(text_, "an address is of one module anyway",
              "leave the module out");
  }
  if (!parse_number(name_, number_)) {
    malformed(text_, "it is not a hexadecimal number of at most 64 bits",
              "take the address from /proc/kallsyms");
  }
}

bool Pattern::parse_offset(std::string_view rest) {
  const std::size_t plus = rest.find('+');
  if (plus == std::string_view::npos ||
      rest.substr(0, plus).find('[') != std::string_view::npos) {
    return false;
  }
  kind_ = Kind::offset;
  name_ = rest.substr(0, plus);
  if (name_.empty() ||
      !std::all_of(name_.begin(), name_.end(), is_name_character)) {
    malformed(text_, "an offset is of one function, named in full",
              "write FUNCTION+OFFSET");
  }
  if (!parse_number(rest.substr(plus + 1), number_)) {
    malformed(text_, "the offset is not a number",
              "write bytes, as in vfs_read+8 or vfs_read+0x8");
  }
  return true;
}

void Pattern::compile_regex() {
  kind_ = Kind::regex;
  if (name_.empty()) {
    malformed(text_, "the expression is empty", "write re:. for all functions");
  }
  if (name_.find('\0') != std::string::npos) {
    malformed(text_, "it contains a zero byte", "leave it out");
  }
  constexpr std::size_t longest = 2048;
  constexpr std::uint64_t most_repetitions = 10000;
  if (name_.size() > longest || repetitions(name_) > most_repetitions) {
    malformed(text_, "the expression is too large",
              "give several smaller ones");
  }
  regex_t compiled;
  const int error =
      ::regcomp(&compiled, name_.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error != 0) {
    std::array<char, 128> reason{};
    ::regerror(error, &compiled, reason.data(), reason.size());
    malformed(text_, reason.data(),
              "write an extended regular expression, as for grep -E");
  }
  const auto regex = std::make_shared<Regex>();
  regex->compiled = compiled;
  regex_ = regex;
}

// fnmatch() takes a malformed glob for a literal one: say it instead.
void Pattern::check_glob() const {
  for (std::size_t i = 0; i < name_.size(); ++i) {
    const char c = name_[i];
    if (c == '\\' && ++i == name_.size()) {
      malformed(text_, "nothing follows the last \\", "write \\\\");
    } else if (c == '[') {
      i = end_of_bracket(name_, i);
      if (i == std::string::npos) {
        malformed(text_, "the [ is never closed", "close it, or write \\[");
      }
    } else if (c != '\\' && c != '*' && c != '?' && !is_name_character(c)) {
      const bool printable = c > ' ' && c < '\x7f';
      malformed(text_,
                printable ? std::string("no function name has a ") + c
                          : "no function name has such characters",
                "write a name, a glob, MODULE:GLOB, re:REGEX or 0xADDRESS");
    }
  }
}

bool Pattern::matches_module(std::string_view module) const {
  if (module.empty()) module = kernel_name;
  return module_ == module ||
         (module_.find_first_of(glob_characters) != std::string::npos &&
          glob_matches(module_, module));
}

bool Pattern::matches_name(std::string_view name) const {
  switch (kind_) {
    case Kind::name:
    case Kind::offset:
      return name == name_;
    case Kind::glob:
      // Decides most of what a pattern of thousands meets.
      if (!name.starts_with(head_) || !name.ends_with(tail_)) return false;
      if (name_.size() == head_.size() + 1 && name_.back() == '*') return true;
      return glob_matches(name_, name);
    case Kind::regex:
      return ::regexec(&regex_->compiled, Terminated(name).c_str(), 0, nullptr,
                       0) == 0;
    case Kind::address:
      break;
  }
  return false;
}

bool Pattern::matches(const Function& function) const {
  if (kind_ == Kind::address) {
    return number_ != 0 &&
           (number_ == function.address || number_ == function.location);
  }
  return (module_.empty() || matches_module(function.module)) &&
         matches_name(function.name);
}

std::vector<Pattern> parse_patterns(std::span<const std::string> texts) {
  std::vector<Pattern> patterns;
  for (const std::string& text : texts) {
    if (text.starts_with('@')) {
      append_file(text, patterns);
    } else {
      patterns.emplace_back(text);
    }
  }
  return patterns;
}

}  // namespace probekit
