// Products of the emulated cuBLASLt against loops in double, and descriptors that are wrong.
#include "tests/cuda/blas_product.h"

namespace towerflow::cuda::testing {
namespace {

TEST_CASE("cublasLt: values [each layout, transposition, scale and batch count]") {
  int cases = 0;
  for (int bits = 0; bits < 32; ++bits) {
    for (const int batches : {1, 3}) {
      for (const auto& [alpha, beta] : {std::pair{1.0, 0.0}, std::pair{-0.75, 0.5}}) {
        Product p;
        p.transpose_a = (bits & 1) != 0;
        p.transpose_b = (bits & 2) != 0;
        p.a_by_row = (bits & 4) != 0;
        p.b_by_row = (bits & 8) != 0;
        p.d_by_row = (bits & 16) != 0;
        p.batches = batches;
        p.alpha = alpha;
        p.beta = beta;
        CAPTURE(bits);
        check_right(run<float>(p), 1e-6);
        p.compute = CUBLAS_COMPUTE_64F;
        check_right(run<double>(p), 1e-14);
        ++cases;
      }
    }
  }
  CHECK(cases == 128);
}

TEST_CASE("cublasLt: values [16-bit storage, sizes over the blocks]") {
  Product p;
  p.m = 37, p.n = 530, p.k = 67, p.transpose_b = true, p.workspace_limit = 1 << 20;
  check_right(run<float>(p), 1e-6);
  check_right(run<__half>(p), 1e-3);
  check_right(run<__nv_bfloat16>(p), 8e-3);
  check_right(run<__half, float>(p), 1e-6);
  check_right(run<__nv_bfloat16, float>(p), 1e-6);
}

TEST_CASE("cublasLt: epilogues [where a card has them, and where it does not]") {
  struct Row {
    cublasLtEpilogue_t epilogue;
    const char* where;
  };
  const Row rows[] = {
      {CUBLASLT_EPILOGUE_RELU, "NN NT TN"},      {CUBLASLT_EPILOGUE_BIAS, "NN NT TN"},
      {CUBLASLT_EPILOGUE_RELU_BIAS, "NN NT TN"}, {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, "NN NT TN"},
      {CUBLASLT_EPILOGUE_DRELU, "NN NT TN"},     {CUBLASLT_EPILOGUE_DRELU_BGRAD, "NN NT TN"},
      {CUBLASLT_EPILOGUE_GELU_BIAS, "NN NT TN"}, {CUBLASLT_EPILOGUE_GELU, "NN NT TN"},
      {CUBLASLT_EPILOGUE_RELU_AUX, "NN NT TN"},  {CUBLASLT_EPILOGUE_BGRADA, "NN NT"},
      {CUBLASLT_EPILOGUE_BGRADB, "NT"}};
  for (const Row& row : rows) {
    for (const char* const kind : {"NN", "NT", "TN", "TT"}) {
      Product p;
      p.epilogue = row.epilogue;
      p.transpose_a = kind[0] == 'T';
      p.transpose_b = kind[1] == 'T';
      p.alpha = 1.25;
      CAPTURE(row.epilogue);
      CAPTURE(kind);
      const Outcome outcome = run<float>(p);
      if (std::string(row.where).find(kind) != std::string::npos) {
        check_right(outcome, 1e-6);
        check_right(run<__nv_bfloat16>(p), 1e-2);
      } else {
        CHECK(outcome.heuristic == CUBLAS_STATUS_NOT_SUPPORTED);
        CHECK(outcome.status == CUBLAS_STATUS_NOT_SUPPORTED);
      }
    }
  }
}

TEST_CASE("cublasLt: a mask that was written is the mask that is read") {
  const Table& cuda = emulation();
  const Handle handle;
  const TestStream stream;
  constexpr int kRows = 9, kCols = 3;
  DeviceArray<float> one(std::vector<float>{1}), zero(std::vector<float>(kRows, 0));
  std::vector<float> values;
  for (int i = 0; i < kRows * kCols; ++i) values.push_back(i % 3 == 0 ? -1.0F : 2.0F);
  DeviceArray<float> x(values), y(values.size()), dx(values.size());
  DeviceArray<std::uint8_t> mask(16 * kCols);
  DeviceArray<float> ones(std::vector<float>(kCols, 1)), dy(std::vector<float>(kRows, 1));
  const float alpha = 1, no = 0, yes = 1;
  const auto multiply = [&](cublasLtEpilogue_t epilogue, const DeviceArray<float>& c,
                            const DeviceArray<float>& d) {
    cublasLtMatmulDesc_t operation = nullptr;
    cuda.cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE, std::uint32_t{epilogue});
    set<void*>(operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER, zero.get());
    set<void*>(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, mask.get());
    set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, std::int64_t{128});
    const auto a = make_layout({kRows, 1, kRows}, CUDA_R_32F, 1);
    const auto b = make_layout({1, kCols, 1}, CUDA_R_32F, 1);
    const auto result = make_layout({kRows, kCols, kRows}, CUDA_R_32F, 1);
    // The product is 0 or 1 everywhere: c alone decides.
    CHECK(cuda.cublasLtMatmul(handle, operation, epilogue == CUBLASLT_EPILOGUE_DRELU ? &yes : &no,
                              dy.get(), a, ones.get(), b,
                              epilogue == CUBLASLT_EPILOGUE_DRELU ? &no : &alpha, c.get(), result,
                              d.get(), result, nullptr, nullptr, 0, stream) == 0);
    for (const auto layout : {a, b, result}) cuda.cublasLtMatrixLayoutDestroy(layout);
    cuda.cublasLtMatmulDescDestroy(operation);
  };
  multiply(CUBLASLT_EPILOGUE_RELU_AUX_BIAS, x, y);
  multiply(CUBLASLT_EPILOGUE_DRELU, x, dx);
  REQUIRE(stream.wait() == cudaSuccess);
  const auto forward = y.read(), backward = dx.read();
  for (std::size_t i = 0; i < values.size(); ++i) {
    CHECK(forward[i] == std::max(values[i], 0.0F));
    CHECK(backward[i] == (values[i] > 0 ? 1.0F : 0.0F));
  }
}

TEST_CASE("cublasLt: TF32 rounds the factors, float32 does not") {
  Product p;
  p.compute = CUBLAS_COMPUTE_32F_FAST_TF32;
  const double error = run<float>(p).error;
  CHECK(error > 1e-5);
  CHECK(error < 2e-3);
}

TEST_CASE("cublasLt: an algorithm keeps to the workspace that it may use") {
  Product p;
  CHECK(run<float>(p).workspace == 0);
  p.workspace_limit = 1 << 20;
  const Outcome outcome = run<float>(p);
  check_right(outcome, 1e-6);
  CHECK(outcome.workspace > 0);
  CHECK(outcome.workspace <= p.workspace_limit);
}

TEST_CASE("cublasLt: a pointer that is not aligned ends in a fault of the stream") {
  Product p;
  p.offset = 2;
  Outcome outcome = run<float>(p);
  CHECK(outcome.status == CUBLAS_STATUS_SUCCESS);
  CHECK(outcome.fault == cudaErrorMisalignedAddress);
  // The heuristics were promised 256 bytes, so their algorithm loads 16 at once.
  p.offset = 4;
  CHECK(run<float>(p).fault == cudaErrorMisalignedAddress);
}

TEST_CASE("cublasLt: each wrong descriptor is noticed") {
  using Layouts = cublasLtMatrixLayout_t(&)[4];
  struct Mutant {
    const char* what;
    std::function<void(cublasLtMatmulDesc_t, Layouts)> change;
  };
  std::vector<Mutant> mutants;
  for (int i = 0; i < 4; ++i) {
    const auto change_layout = [&](const char* what, cublasLtMatrixLayoutAttribute_t name,
                                   auto value) {
      mutants.push_back({what, [i, name, value](cublasLtMatmulDesc_t, Layouts layouts) {
                           set(layouts[i], name, value);
                         }});
    };
    // Products below have leading dimensions of 7, 5 and 7, and batches 22, 36 and 50 apart.
    const std::int64_t ld = i == 1 ? 5 : 7;
    change_layout("ld + 1", CUBLASLT_MATRIX_LAYOUT_LD, ld + 1);
    change_layout("ld - 1", CUBLASLT_MATRIX_LAYOUT_LD, ld - 1);
    change_layout("ld too small", CUBLASLT_MATRIX_LAYOUT_LD, std::int64_t{2});
    change_layout("rows", CUBLASLT_MATRIX_LAYOUT_ROWS, std::uint64_t{4});
    change_layout("cols", CUBLASLT_MATRIX_LAYOUT_COLS, std::uint64_t{2});
    change_layout("type", CUBLASLT_MATRIX_LAYOUT_TYPE, std::int32_t{CUDA_R_16F});
    change_layout("order", CUBLASLT_MATRIX_LAYOUT_ORDER, std::int32_t{CUBLASLT_ORDER_ROW});
    change_layout("batches", CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, std::int32_t{2});
    change_layout("batch stride", CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, std::int64_t{51});
  }
  const auto change_operation = [&](const char* what, cublasLtMatmulDescAttributes_t name,
                                    auto value) {
    mutants.push_back({what, [name, value](cublasLtMatmulDesc_t operation, Layouts) {
                         set(operation, name, value);
                       }});
  };
  change_operation("transa", CUBLASLT_MATMUL_DESC_TRANSA, std::int32_t{1});
  change_operation("transb", CUBLASLT_MATMUL_DESC_TRANSB, std::int32_t{1});
  change_operation("transc", CUBLASLT_MATMUL_DESC_TRANSC, std::int32_t{1});
  change_operation("transposition that does not exist", CUBLASLT_MATMUL_DESC_TRANSA,
                   std::int32_t{7});
  change_operation("scale type", CUBLASLT_MATMUL_DESC_SCALE_TYPE, std::int32_t{CUDA_R_64F});
  change_operation("compute type", CUBLASLT_MATMUL_DESC_COMPUTE_TYPE,
                   std::int32_t{CUBLAS_COMPUTE_16F});
  change_operation("pointer mode", CUBLASLT_MATMUL_DESC_POINTER_MODE, std::int32_t{1});
  change_operation("epilogue", CUBLASLT_MATMUL_DESC_EPILOGUE,
                   std::uint32_t{CUBLASLT_EPILOGUE_RELU});
  change_operation("epilogue that does not exist", CUBLASLT_MATMUL_DESC_EPILOGUE,
                   std::uint32_t{77});
  for (const Mutant& mutant : mutants) {
    Product p;
    p.batches = 3;
    p.beta = 0.5;
    p.change = mutant.change;
    CAPTURE(mutant.what);
    CHECK(is_noticed(run<float>(p)));
  }
  for (const std::int64_t ld : {0, 64, 127, 256}) {
    Product p;
    p.epilogue = CUBLASLT_EPILOGUE_DRELU;
    p.change = [ld](cublasLtMatmulDesc_t operation, Layouts) {
      set(operation, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, ld);
    };
    CAPTURE(ld);
    CHECK(is_noticed(run<float>(p)));
  }
  for (const auto name :
       {CUBLASLT_MATMUL_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER}) {
    Product p;
    p.epilogue = CUBLASLT_EPILOGUE_RELU_AUX_BIAS;
    p.change = [name](cublasLtMatmulDesc_t operation, Layouts) {
      set<void*>(operation, name, nullptr);
    };
    CHECK(run<float>(p).status == CUBLAS_STATUS_INVALID_VALUE);
  }
}

TEST_CASE("cublasLt: handles that were destroyed or never made are refused") {
  const Table& cuda = emulation();
  cublasLtHandle_t handle = nullptr;
  CHECK(cuda.cublasLtCreate(&handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(cuda.cublasLtDestroy(handle) == CUBLAS_STATUS_SUCCESS);
  CHECK(cuda.cublasLtDestroy(handle) == CUBLAS_STATUS_NOT_INITIALIZED);
  cublasLtMatrixLayout_t layout = nullptr;
  CHECK(cuda.cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 2, 2, 2) == CUBLAS_STATUS_SUCCESS);
  CHECK(cuda.cublasLtMatrixLayoutDestroy(layout) == CUBLAS_STATUS_SUCCESS);
  const std::int64_t ld = 3;
  CHECK(cuda.cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_LD, &ld, 8) ==
        CUBLAS_STATUS_INVALID_VALUE);
  CHECK(std::string(cuda.cublasLtGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED)) ==
        "CUBLAS_STATUS_NOT_SUPPORTED");
}

}  // namespace
}  // namespace towerflow::cuda::testing
