// Gives descriptors of the layers that are no graph, and statuses, to the emulation and to the real
// cuDNN, and compares what they say.
#include "tests/cuda/dnn_builder.h"
#include "tests/cuda/verdicts.h"

namespace towerflow::cuda::testing {
namespace {

const Dims kX{2, 4, 7, 5};

Case layer_case(std::string what, Dims dims, Dims strides) {
  return {"layer tensor: " + what, [dims, strides](const Table& table) {
            const std::vector<int> d(dims.begin(), dims.end()), s(strides.begin(), strides.end());
            cudnnTensorDescriptor_t tensor = nullptr;
            CHECK(table.cudnnCreateTensorDescriptor(&tensor) == CUDNN_STATUS_SUCCESS);
            const int status = table.cudnnSetTensorNdDescriptor(
                tensor, CUDNN_DATA_FLOAT, static_cast<int>(d.size()), d.data(), s.data());
            table.cudnnDestroyTensorDescriptor(tensor);
            return status;
          }};
}

Case lrn_case(unsigned n, double beta, double k) {
  return {"LRN " + std::to_string(n) + " " + std::to_string(beta) + " " + std::to_string(k),
          [=](const Table& table) {
            cudnnLRNDescriptor_t lrn = nullptr;
            CHECK(table.cudnnCreateLRNDescriptor(&lrn) == CUDNN_STATUS_SUCCESS);
            const int status = table.cudnnSetLRNDescriptor(lrn, n, 1e-4, beta, k);
            table.cudnnDestroyLRNDescriptor(lrn);
            return status;
          }};
}

TEST_CASE("cudnn: the library and the emulation judge layers alike") {
  std::vector<Case> cases = {layer_case("right", kX, channels_last(kX)),
                             layer_case("zero dimension", {2, 0, 7, 5}, channels_last(kX)),
                             layer_case("negative dimension", {2, -1, 7, 5}, channels_last(kX)),
                             layer_case("zero stride", kX, {140, 0, 20, 4}),
                             layer_case("negative stride", kX, {-140, 1, 20, 4}),
                             layer_case("one dimension", {2}, {1}),
                             layer_case("two dimensions", {2, 3}, {3, 1}),
                             layer_case("nine dimensions", Dims(9, 1), Dims(9, 1))};
  for (const unsigned n : {0U, 1U, 4U, 16U, 17U}) cases.push_back(lrn_case(n, 0.75, 2));
  for (const double beta : {0.0, 0.009, 0.01, -1.0}) cases.push_back(lrn_case(5, beta, 2));
  for (const double k : {0.0, 1e-6, 1e-5, -1.0}) cases.push_back(lrn_case(5, 0.75, k));
  const int refused = compare(cases, real_cudnn(), "cuDNN");
  if (refused >= 0) CHECK(refused == 13);
}

TEST_CASE("cudnn: errors have the library's names") {
  const Table* const real = real_cudnn();
  if (real == nullptr) std::printf("cuDNN is not installed: its names are not compared\n");
  for (const int status : {0, 1001, 2000, 2002, 2003, 2004, 2008, 2010, 3000, 3001, 3003, 4000,
                           4001, 4004, 5000, 5003, 7}) {
    const std::string name = emulation().cudnnGetErrorString(static_cast<cudnnStatus_t>(status));
    CHECK(name.find("CUDNN_") == 0);
    if (real != nullptr)
      CHECK(name == real->cudnnGetErrorString(static_cast<cudnnStatus_t>(status)));
  }
}

}  // namespace
}  // namespace towerflow::cuda::testing
