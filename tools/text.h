#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace towerflow::tools {

/// Returns "784 bytes", "12.3 KiB", "4.56 GiB".
std::string size_text(std::uint64_t bytes);

/// Returns "1 record", "5 records".
std::string count_text(std::uint64_t count, std::string_view one);

/// Returns `bytes` in a form safe for any terminal: one line, with bytes other than printable ASCII
/// as \xNN, at most `limit` bytes and then "...".
std::string printable(std::string_view bytes, std::size_t limit);

/// Formats seconds since 1970 as "2026-01-31 12:34:56", local time.
std::string time_text(double seconds);

/// A table that is printed in aligned columns; the first row is the heading.
class TextTable {
 public:
  /// One letter per column: l for left, r for right.
  explicit TextTable(std::string alignment) : alignment_(std::move(alignment)) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::size_t rows() const { return rows_.size(); }
  /// Each line begins with two spaces; columns that are empty except for the heading are left out.
  std::string text() const;

 private:
  std::string alignment_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace towerflow::tools
