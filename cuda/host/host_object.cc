#include "cuda/host/host_object.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace towerflow::cuda::host {
namespace {

// An image: this text, the number of bytes, the shared object.
constexpr std::string_view kMagic = "kernels of the host";

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string HostObject::image_of(std::string_view object) {
  const std::uint64_t bytes = object.size();
  std::string image(kMagic);
  image.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  return image.append(object);
}

/// Reads no further than the bytes are those of an image.
bool HostObject::is_image(const void* code) {
  return std::strncmp(static_cast<const char*>(code), kMagic.data(), kMagic.size()) == 0;
}

std::shared_ptr<const HostObject> HostObject::load(const void* image) {
  const char* const at = static_cast<const char*>(image) + kMagic.size();
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, at, sizeof bytes);
  const std::shared_ptr<HostObject> made(new HostObject);
  // The file stays open while the library is loaded, since dlopen knows libraries by their paths.
  made->file_ = ::memfd_create("kernels", MFD_CLOEXEC);
  if (made->file_ < 0 || !write_all(made->file_, {at + sizeof bytes, bytes})) return nullptr;
  const std::string path = "/proc/self/fd/" + std::to_string(made->file_);
  const CollectKernels collect(made->kernels_);
  made->library_ = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  return made->library_ != nullptr ? made : nullptr;
}

HostObject::~HostObject() {
  if (library_ != nullptr) ::dlclose(library_);
  if (file_ >= 0) ::close(file_);
}

const HostKernel* HostObject::find(std::string_view name) const {
  const auto at = std::find_if(kernels_.begin(), kernels_.end(),
                               [&](const HostKernel& kernel) { return kernel.name == name; });
  return at != kernels_.end() ? &*at : nullptr;
}

}  // namespace towerflow::cuda::host
