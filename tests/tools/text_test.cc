#include "tools/text.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

namespace towerflow::tools {
namespace {

TEST_CASE("sizes and counts as people read them") {
  CHECK(size_text(0) == "0 bytes");
  CHECK(size_text(1) == "1 byte");
  CHECK(size_text(1023) == "1023 bytes");
  CHECK(size_text(1024) == "1.00 KiB");
  CHECK(size_text(1536 * 10) == "15.0 KiB");
  CHECK(size_text(std::uint64_t{300} << 20) == "300 MiB");
  CHECK(size_text(std::uint64_t{5} << 40) == "5.00 TiB");
  CHECK(size_text(std::uint64_t{5} << 60) == "5242880 TiB");
  CHECK(count_text(1, "record") == "1 record");
  CHECK(count_text(0, "record") == "0 records");
}

TEST_CASE("what comes from a file fits on one line of any terminal") {
  CHECK(printable("a b~", 10) == "a b~");
  CHECK(printable(std::string("\x1b[0m\n\0\xff\\", 8), 20) == "\\x1b[0m\\x0a\\x00\\xff\\\\");
  CHECK(printable("abcdef", 6) == "abcdef");
  CHECK(printable("abcdef", 5) == "abcde...");
  CHECK(time_text(-1) == "?");
  CHECK(time_text(1e300) == "?");
  CHECK(time_text(std::nan("")) == "?");
  CHECK(time_text(86400 * 365.25 * 20).substr(0, 2) == "19");
}

TEST_CASE("a table's columns are as wide as their cells; empty ones are left out") {
  TextTable table("lrll");
  table.add({"name", "n", "none", "note"});
  table.add({"a", "100", "", "x"});
  table.add({"longer", "1", "", ""});
  CHECK(table.text() ==
        "  name      n  note\n"
        "  a       100  x\n"
        "  longer    1\n");
}

}  // namespace
}  // namespace towerflow::tools
