#include "tests/fuzz/scratch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <system_error>

namespace towerflow::fuzz {
namespace {

namespace fs = std::filesystem;

class Folder {
 public:
  Folder() : path_(fs::temp_directory_path() / fmt::format("towerflow-fuzz-{}", ::getpid())) {
    fs::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

}  // namespace

const fs::path& scratch_folder() {
  static const Folder folder;
  return folder.path();
}

fs::path scratch_file(const char* name, std::string_view bytes) {
  fs::path path = scratch_folder() / name;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) throw std::runtime_error("cannot write " + path.string());
  return path;
}

SilentOutput::SilentOutput() {
  std::fflush(stdout);
  kept_ = ::dup(STDOUT_FILENO);
  const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  ::dup2(nowhere, STDOUT_FILENO);
  ::close(nowhere);
}

SilentOutput::~SilentOutput() {
  std::fflush(stdout);
  ::dup2(kept_, STDOUT_FILENO);
  ::close(kept_);
}

}  // namespace towerflow::fuzz
