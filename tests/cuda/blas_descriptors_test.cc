// Gives descriptors of cuBLASLt, right and wrong ones, to the emulation and to the real library,
// and compares what they say. Without a driver the real library makes and judges them all the same.
#include "tests/cuda/verdicts.h"

namespace towerflow::cuda::testing {
namespace {

/// Sets and gets one attribute of an operation with values of each size, and mixes all answers
/// into one number.
int attribute_answers(const Table& table, int name) {
  cublasLtMatmulDesc_t operation = nullptr;
  CHECK(table.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0);
  int answers = 1;
  for (const std::size_t size : {0, 1, 2, 4, 8, 16}) {
    std::uint64_t values[2] = {};
    std::size_t written = 77;
    const auto attribute = static_cast<cublasLtMatmulDescAttributes_t>(name);
    const int got =
        table.cublasLtMatmulDescGetAttribute(operation, attribute, values, size, &written);
    const int set = table.cublasLtMatmulDescSetAttribute(operation, attribute, values, size);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(got), static_cast<std::uint64_t>(set),
          static_cast<std::uint64_t>(written), values[0]}) {
      answers = static_cast<int>((static_cast<std::uint64_t>(answers) * 31 + part) % 1'000'003);
    }
  }
  table.cublasLtMatmulDescDestroy(operation);
  return answers;
}

int layout_answers(const Table& table, int name) {
  cublasLtMatrixLayout_t layout = nullptr;
  CHECK(table.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 3, 4, 5) == 0);
  int answers = 1;
  for (const std::size_t size : {0, 1, 2, 4, 8, 16}) {
    std::uint64_t values[2] = {};
    std::size_t written = 77;
    const auto attribute = static_cast<cublasLtMatrixLayoutAttribute_t>(name);
    const int got =
        table.cublasLtMatrixLayoutGetAttribute(layout, attribute, values, size, &written);
    const int set = table.cublasLtMatrixLayoutSetAttribute(layout, attribute, values, size);
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(got), static_cast<std::uint64_t>(set),
          static_cast<std::uint64_t>(written), values[0]}) {
      answers = static_cast<int>((static_cast<std::uint64_t>(answers) * 31 + part) % 1'000'003);
    }
  }
  table.cublasLtMatrixLayoutDestroy(layout);
  return answers;
}

int preference_answers(const Table& table, int name) {
  cublasLtMatmulPreference_t preference = nullptr;
  CHECK(table.cublasLtMatmulPreferenceCreate(&preference) == 0);
  int answers = 1;
  for (const std::size_t size : {0, 1, 2, 4, 8, 16}) {
    const std::uint64_t values[2] = {};
    answers =
        answers * 8 % 1'000'003 +
        table.cublasLtMatmulPreferenceSetAttribute(
            preference, static_cast<cublasLtMatmulPreferenceAttributes_t>(name), values, size);
  }
  table.cublasLtMatmulPreferenceDestroy(preference);
  return answers;
}

TEST_CASE("cublasLt: attributes have the library's sizes, values and statuses") {
  std::vector<Case> cases;
  for (int name = -1; name < 42; ++name) {
    // 16 is an attribute of the library that its header does not name.
    if (name == 16) continue;
    cases.push_back({"operation " + std::to_string(name),
                     [name](const Table& table) { return attribute_answers(table, name); }});
  }
  for (int name = -1; name < 12; ++name) {
    cases.push_back({"layout " + std::to_string(name),
                     [name](const Table& table) { return layout_answers(table, name); }});
  }
  for (int name = -1; name < 14; ++name) {
    cases.push_back({"preference " + std::to_string(name),
                     [name](const Table& table) { return preference_answers(table, name); }});
  }
  struct Size {
    std::uint64_t rows, cols;
    std::int64_t ld;
  };
  for (const Size& size : {Size{3, 4, 3}, Size{3, 4, 2}, Size{0, 4, 3}, Size{3, 4, -1}}) {
    cases.push_back({"layout of any size", [size](const Table& table) {
                       cublasLtMatrixLayout_t layout = nullptr;
                       const int status = table.cublasLtMatrixLayoutCreate(
                           &layout, CUDA_R_32F, size.rows, size.cols, size.ld);
                       table.cublasLtMatrixLayoutDestroy(layout);
                       return status;
                     }});
  }
  cases.push_back({"no place for an operation", [](const Table& table) {
                     return static_cast<int>(
                         table.cublasLtMatmulDescCreate(nullptr, CUBLAS_COMPUTE_32F, CUDA_R_32F));
                   }});
  cases.push_back({"destroy nothing", [](const Table& table) {
                     return table.cublasLtMatmulDescDestroy(nullptr) +
                            table.cublasLtMatrixLayoutDestroy(nullptr) +
                            table.cublasLtMatmulPreferenceDestroy(nullptr);
                   }});
  compare(cases, real_cublaslt(), "cuBLASLt");
}

}  // namespace
}  // namespace towerflow::cuda::testing
