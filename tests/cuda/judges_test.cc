// The descriptors that the backend makes for all models are right by the real cuBLASLt and cuDNN.
#include <doctest/doctest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda/judges.h"
#include "tests/cuda/real_libraries.h"
#include "tests/cuda/recording.h"
#include "tests/cuda/small_models.h"
#include "tests/support/cuda_devices.h"
#include "tests/support/skip.h"

using namespace towerflow;
using testing::Judges;

namespace {

/// Returns null where the libraries are not installed.
std::shared_ptr<Judges> judges() {
  const cuda::Table *blas = cuda::testing::real_cublaslt(), *dnn = cuda::testing::real_cudnn();
  return blas == nullptr || dnn == nullptr ? nullptr : std::make_shared<Judges>(blas, dnn);
}

/// A base that takes everything, as a wrong emulation would.
struct Careless {
  Careless() {
    table.cudnnBackendCreateDescriptor = [](cudnnBackendDescriptorType_t,
                                            cudnnBackendDescriptor_t* made) {
      static std::intptr_t last = 0;
      *made = reinterpret_cast<cudnnBackendDescriptor_t>(++last);
      return CUDNN_STATUS_SUCCESS;
    };
    table.cudnnBackendSetAttribute = [](cudnnBackendDescriptor_t, cudnnBackendAttributeName_t,
                                        cudnnBackendAttributeType_t, std::int64_t,
                                        const void*) { return CUDNN_STATUS_SUCCESS; };
    table.cudnnBackendFinalize = [](cudnnBackendDescriptor_t) { return CUDNN_STATUS_SUCCESS; };
    table.cudnnBackendDestroyDescriptor = [](cudnnBackendDescriptor_t) {
      return CUDNN_STATUS_SUCCESS;
    };
  }
  cuda::Table table;
};

}  // namespace

TEST_SUITE("the real libraries judge the backend") {
  TEST_CASE("they refuse none of its descriptors, whatever the model") {
    const std::shared_ptr<Judges> layer = judges();
    if (layer == nullptr) TOWERFLOW_SKIP("cuBLASLt or cuDNN is not installed");
    {
      const testing::ScopedLayer scope(layer);
      for (const testing::SmallModel& small : testing::small_models()) {
        const std::string name = small.model->name;
        CAPTURE(name);
        testing::two_steps(small, 2, testing::cuda_devices(2));
        CHECK(layer->refused() == std::vector<std::string>{});
      }
    }
    const std::map<std::string, int> judged = layer->judged();
    for (const std::string call :
         {"cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate",
          "cublasLtMatrixLayoutSetAttribute", "cublasLtMatmulPreferenceSetAttribute",
          "cudnnBackendSetAttribute", "cudnnBackendFinalize"}) {
      CAPTURE(call);
      CHECK(judged.contains(call));
    }
    CHECK(judged.at("cudnnBackendFinalize") > 100);
  }

  TEST_CASE("they refuse a wrong descriptor that another table takes") {
    const std::shared_ptr<Judges> layer = judges();
    if (layer == nullptr) TOWERFLOW_SKIP("cuBLASLt or cuDNN is not installed");
    const Careless careless;
    const cuda::Table& table = layer->on(careless.table);
    cudnnBackendDescriptor_t tensor = nullptr;
    table.cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &tensor);
    const std::int64_t sizes[] = {2, 4, -7, 5};
    table.cudnnBackendSetAttribute(tensor, CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64, 4,
                                   sizes);
    CHECK(table.cudnnBackendFinalize(tensor) == CUDNN_STATUS_SUCCESS);
    table.cudnnBackendDestroyDescriptor(tensor);
    CHECK(layer->judged().at("cudnnBackendFinalize") == 1);
    CHECK(!layer->refused().empty());
  }
}
