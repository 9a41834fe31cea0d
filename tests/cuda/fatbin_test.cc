// The kernels that the plug-in carries for cards. There is none here, so only their frame is read.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>

#include "cuda/device/fatbins.h"

namespace {

/// How a fatbin begins.
struct Header {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t bytes;  // after the header
};

}  // namespace

TEST_SUITE("cuda fatbins") {
  TEST_CASE("the plug-in carries one fatbin for each file of kernels, and opens without a driver") {
    void* library = dlopen(TOWERFLOW_CUDA_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE(library != nullptr, std::string(dlerror()));
    const auto fatbins = reinterpret_cast<decltype(&towerflow_cuda_fatbins)>(
        dlsym(library, "towerflow_cuda_fatbins"));
    const bool exported = fatbins != nullptr;
    REQUIRE(exported);
    std::size_t count = 0, files = 0;
    const towerflow::cuda::Fatbin* found = fatbins(&count);
    for (const auto& entry : std::filesystem::directory_iterator("cuda/device")) {
      files += entry.path().extension() == ".cu";
    }
    CHECK(count == files);
    for (std::size_t i = 0; i < count; ++i) {
      Header header;
      std::memcpy(&header, found[i].begin, sizeof header);
      CHECK(header.magic == 0xba55ed50);
      CHECK(reinterpret_cast<std::uintptr_t>(found[i].begin) % 64 == 0);
      const auto bytes = static_cast<std::size_t>(found[i].end - found[i].begin);
      CHECK(header.header_bytes + header.bytes == bytes);
    }
    dlclose(library);
  }
}
