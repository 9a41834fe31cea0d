#include "cuda/table/table.h"

#include <dlfcn.h>
#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>

#include "cuda/host/runtime.h"
#include "cuda/table/load.h"
#include "cuda/table/status.h"
#include "tests/cuda/emulation.h"

using towerflow::cuda::describe;
using towerflow::cuda::Emulation;
using towerflow::cuda::Failure;
using towerflow::cuda::Group;
using towerflow::cuda::is_success;
using towerflow::cuda::kGroups;
using towerflow::cuda::load_table;
using towerflow::cuda::Loader;
using towerflow::cuda::SourceOrReason;
using towerflow::cuda::Table;

namespace {

int init_status = 0;
int init(unsigned) { return init_status; }

/// A loader with a driver and libraries that contain functions which are never called, but for
/// those of versions.
struct Pretended {
  Loader loader() {
    return {.open = [this](const char* name) -> void* {
              opened.insert(name);
              return absent.contains(name) ? nullptr : this;
            },
            .symbol = [this](void*, const char* name) -> void* {
              if (absent.contains(name)) return nullptr;
              const auto known = functions.find(name);
              return known != functions.end() ? known->second : reinterpret_cast<void*>(&init);
            },
            .path = [](void*) { return std::string("/lib/pretended"); }};
  }

  std::set<std::string> absent{}, opened{};
  std::map<std::string, void*> functions = {
      {"cuInit", reinterpret_cast<void*>(&init)},
      {"cudaRuntimeGetVersion", reinterpret_cast<void*>(+[](int* version) {
         *version = 13010;
         return cudaSuccess;
       })},
      {"cublasLtGetVersion", reinterpret_cast<void*>(+[]() { return std::size_t{130101}; })},
      {"cudnnGetVersion", reinterpret_cast<void*>(+[]() { return std::size_t{91900}; })},
      {"ncclGetVersion", reinterpret_cast<void*>(+[](int* version) {
         *version = 22809;
         return ncclSuccess;
       })},
      {"nvrtcVersion", reinterpret_cast<void*>(+[](int* major, int* minor) {
         *major = 13;
         *minor = 1;
         return NVRTC_SUCCESS;
       })},
  };
};

std::string missing_without(const std::string& name, int status = 0) {
  Pretended pretended;
  pretended.absent.insert(name);
  init_status = status;
  const SourceOrReason result = load_table(pretended.loader());
  init_status = 0;
  CHECK((result.source == nullptr) == !result.missing.empty());
  return result.missing;
}

}  // namespace

TEST_SUITE("cuda table") {
  TEST_CASE("a new table is empty, and names its entries") {
    const Table table;
    std::size_t entries = 0;
    for (const Group group : kGroups) {
      const auto empty = empty_entries(table, group);
      CHECK(empty.size() >= 10);
      entries += empty.size();
    }
    CHECK(entries == sizeof(Table) / sizeof(void*));
    CHECK(empty_entries(table, Group::cublaslt).front() == "cublasLtGetVersion");
  }

  TEST_CASE("the emulation fills all of the runtime's entries and no other") {
    Table table;
    towerflow::cuda::host::add_runtime(table);
    CHECK(empty_entries(table, Group::runtime).empty());
    table.cudaMalloc = nullptr;
    CHECK(empty_entries(table, Group::runtime) == std::vector<std::string_view>{"cudaMalloc"});
    CHECK(empty_entries(table, Group::nccl).size() == empty_entries(Table{}, Group::nccl).size());
  }

  TEST_CASE("what is missing is said in one sentence") {
    CHECK(missing_without("libcuda.so.1") == "no NVIDIA driver was found (libcuda.so.1)");
    CHECK(missing_without("cuInit") == "the NVIDIA driver has no cuInit (libcuda.so.1)");
    CHECK(missing_without("", 100) == "the NVIDIA driver found no GPU (libcuda.so.1)");
    CHECK(missing_without("", 803) ==
          "the NVIDIA driver does not start: cuInit returned 803 (libcuda.so.1)");
    CHECK(missing_without("libcudart.so.13") == "CUDA was not found (libcudart.so.13)");
    CHECK(missing_without("cudaLaunchKernelExC") ==
          "CUDA is of another version: libcudart.so.13 has no cudaLaunchKernelExC");
    CHECK(missing_without("libnccl.so.2") == "");
  }

  TEST_CASE("libraries are opened when they are needed") {
    Pretended pretended;
    pretended.absent = {"libnccl.so.2"};
    const SourceOrReason result = load_table(pretended.loader());
    REQUIRE(result.source != nullptr);
    CHECK(pretended.opened == std::set<std::string>{"libcuda.so.1", "libcudart.so.13"});
    const Table& table = result.source->table();
    CHECK(empty_entries(table, Group::runtime).empty());
    CHECK((table.cublasLtCreate == nullptr));
    CHECK(result.source->open(Group::cublaslt) == "");
    CHECK(empty_entries(table, Group::cublaslt).empty());
    CHECK(pretended.opened.size() == 3);
    CHECK(result.source->open(Group::nccl) == "NCCL was not found (libnccl.so.2)");
    CHECK(result.source->open(Group::cudnn) == "");
    CHECK(result.source->open(Group::nvrtc) == "");
    CHECK(result.source->open(Group::nvrtc) == "");
    const auto opened = result.source->opened();
    REQUIRE(opened.size() == 4);
    CHECK(opened[0].version == "13.1");
    CHECK(opened[1].version == "13.1.1");
    CHECK(opened[2].version == "9.19.0");
    CHECK(opened[3].version == "13.1");
    CHECK(opened[3].group == Group::nvrtc);
    CHECK(opened[3].path == "/lib/pretended");
    pretended.absent.clear();
    CHECK(result.source->open(Group::nccl) == "");
    CHECK(result.source->opened()[3].version == "2.28.9");
  }

  TEST_CASE("on this machine there is a table or a reason") {
    const SourceOrReason result = load_table();
    CHECK((result.source == nullptr) == !result.missing.empty());
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (driver == nullptr) CHECK(result.missing == "no NVIDIA driver was found (libcuda.so.1)");
    if (result.source != nullptr) {
      CHECK(empty_entries(result.source->table(), Group::runtime).empty());
    }
  }

  TEST_CASE("the toolkit's libraries have all entries, where there is one") {
    Loader loader = towerflow::cuda::system_loader();
    // The driver alone is pretended: the libraries open without it.
    const auto open = loader.open;
    const auto symbol = loader.symbol;
    loader.open = [&](const char* name) {
      return name == std::string("libcuda.so.1") ? &init_status : open(name);
    };
    loader.symbol = [&](void* library, const char* name) {
      return library == &init_status ? reinterpret_cast<void*>(&init) : symbol(library, name);
    };
    const SourceOrReason result = load_table(loader);
    if (result.source == nullptr) {
      CHECK(result.missing == "CUDA was not found (libcudart.so.13)");
      return;
    }
    for (const Group group : kGroups) {
      if (group == Group::cublaslt) continue;  // 150 MB
      const std::string missing = result.source->open(group);
      CHECK((missing.empty() || missing.find("was not found") != std::string::npos));
    }
    for (const auto& library : result.source->opened()) {
      CHECK(library.path.find(".so") != std::string::npos);
      CHECK(library.version.find('.') != std::string::npos);
    }
  }

  TEST_CASE("a failed call says what its library says") {
    const Emulation cuda;
    std::vector<Failure> failures;
    const auto note = [&](const Failure& failure) { failures.push_back(failure); };
    TOWERFLOW_CUDA_CHECK(cuda, cuda.cudaSetDevice(0), note);
    CHECK(failures.empty());
    TOWERFLOW_CUDA_CHECK(cuda, cuda.cudaSetDevice(7), note);
    REQUIRE(failures.size() == 1);
    CHECK(failures[0].group == Group::runtime);
    CHECK(failures[0].status == 101);
    CHECK(failures[0].name == "cudaErrorInvalidDevice");
    CHECK(failures[0].text == cuda.cudaGetErrorString(cudaErrorInvalidDevice));
    CHECK(failures[0].expression == "cuda.cudaSetDevice(7)");
    CHECK(failures[0].message() == "CUDA returned 101 (cudaErrorInvalidDevice: " +
                                       failures[0].text + ") from cuda.cudaSetDevice(7)");
  }

  TEST_CASE("statuses of all libraries") {
    Table table;
    table.cublasLtGetStatusName = [](cublasStatus_t) { return "CUBLAS_STATUS_NOT_SUPPORTED"; };
    table.cublasLtGetStatusString = [](cublasStatus_t) { return "not supported"; };
    table.cudnnGetErrorString = [](cudnnStatus_t) { return "CUDNN_STATUS_BAD_PARAM"; };
    table.cudnnGetLastErrorString = [](char* text, std::size_t) {
      std::string("a dimension is 0").copy(text, 20);
    };
    table.ncclGetErrorString = [](ncclResult_t) { return "invalid usage"; };
    table.ncclGetLastError = [](ncclComm_t) { return "two ranks"; };
    table.nvrtcGetErrorString = [](nvrtcResult) { return "NVRTC_ERROR_COMPILATION"; };
    CHECK(describe(table, CUBLAS_STATUS_NOT_SUPPORTED, "f()").message() ==
          "cuBLASLt returned 15 (CUBLAS_STATUS_NOT_SUPPORTED: not supported) from f()");
    CHECK(describe(table, CUDNN_STATUS_BAD_PARAM, "f()").message() ==
          "cuDNN returned 2000 (CUDNN_STATUS_BAD_PARAM: a dimension is 0) from f()");
    CHECK(describe(table, ncclInvalidUsage, "f()").message() ==
          "NCCL returned 5 (ncclInvalidUsage: invalid usage; two ranks) from f()");
    CHECK(describe(table, NVRTC_ERROR_COMPILATION, "f()").message() ==
          "NVRTC returned 6 (NVRTC_ERROR_COMPILATION) from f()");
    CHECK(is_success(CUDNN_STATUS_SUCCESS));
    CHECK_FALSE(is_success(ncclInProgress));
  }
}
