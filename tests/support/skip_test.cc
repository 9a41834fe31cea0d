#include "tests/support/skip.h"

#include <cstdlib>
#include <stdexcept>

namespace fs = std::filesystem;
using towerflow::test::real_data;
using towerflow::test::source_root;

namespace {

/// Sets TOWERFLOW_DATA for one test and restores it afterwards.
class DataSetting {
 public:
  explicit DataSetting(const std::string& value) {
    if (const char* old = std::getenv("TOWERFLOW_DATA")) old_ = old;
    ::setenv("TOWERFLOW_DATA", value.c_str(), 1);
  }
  ~DataSetting() {
    if (old_) {
      ::setenv("TOWERFLOW_DATA", old_->c_str(), 1);
    } else {
      ::unsetenv("TOWERFLOW_DATA");
    }
  }
  DataSetting(const DataSetting&) = delete;
  DataSetting& operator=(const DataSetting&) = delete;

 private:
  std::optional<std::string> old_;
};

}  // namespace

TEST_CASE("the source root holds the project") {
  CHECK(fs::exists(source_root() / "meson.build"));
  CHECK(fs::exists(source_root() / "tests/support/data_dir.h"));
}

TEST_CASE("real data is taken from TOWERFLOW_DATA and is absent by name") {
  DataSetting setting((source_root() / "tests").string());
  CHECK(real_data("support").value() == source_root() / "tests/support");
  CHECK_FALSE(real_data("no such data").has_value());
}

TEST_CASE("a TOWERFLOW_DATA that names no folder is an error") {
  DataSetting setting("/no/such/folder");
  CHECK_THROWS_AS(real_data("mnist"), std::runtime_error);
}

TEST_CASE("MNIST is complete where the real data is") {
  TOWERFLOW_NEED_DATA(mnist, "mnist");
  int files = 0;
  for (const auto& entry : fs::directory_iterator(mnist)) {
    files += entry.path().filename().string().find("-ubyte") != std::string::npos ? 1 : 0;
  }
  CHECK(files == 4);
}
