// Ops on diagonals of matrices, and tensors made of vectors and sizes.
#include "tests/ops/cases/families.h"
#include "towerflow/tf.h"

namespace towerflow::testing {
namespace {

void add_diagonal_cases(std::vector<OpCase>& cases) {
  const auto floats_and_indices =
      std::vector{DType::float32, DType::float64, DType::int32, DType::int64};
  const auto add = [&](const char* name, CaseInput x, const char* python,
                       std::function<CaseResults(const Tensor&)> call,
                       std::vector<CaseInput> large = {}) {
    cases.push_back({.name = name,
                     .inputs = {std::move(x)},
                     .call = [call = std::move(call)](In t) { return call(t.x); },
                     .python = python,
                     .dtypes = any_dtype(),
                     .large = std::move(large)});
  };
  using T = const Tensor&;
  const std::vector<CaseInput> vector{random_input({1000})}, matrix{random_input({1000, 1000})};
  add(
      "Diag", random_input({2, 2}, -9, 9), "tf.diag(x)", [](T t) { return tf::diag(t); }, vector);
  cases.back().dtypes = floats_and_indices;
  add(
      "DiagPart", random_input({3, 3}, -9, 9), "tf.diag_part(x)",
      [](T t) { return tf::diag_part(t); }, matrix);
  cases.back().dtypes = floats_and_indices;
  add(
      "MatrixDiagV3", random_input({2, 3}, -9, 9), "tf.matrix_diag(x)",
      [](T t) { return tf::matrix_diag(t); }, vector);
  cases.back().dtypes = numbers();
  add(
      "MatrixDiagPartV3", random_input({2, 3, 4}, -9, 9), "tf.matrix_diag_part(x)",
      [](T t) { return tf::matrix_diag_part(t); }, matrix);
  cases.back().dtypes = numbers();
  add("MatrixDiagPartV3 below", random_input({2, 3, 4}, -9, 9), "tf.matrix_diag_part(x, k=-1)",
      [](T t) { return tf::matrix_diag_part(t, {.k = -1}); });
  cases.back().dtypes = numbers();
  for (const char* align : {"RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"}) {
    const std::string suffix = std::string(", align='") + align + "')";
    cases.push_back({.name = std::string("MatrixDiagV3 of a band, ") + align,
                     .inputs = {random_input({2, 3, 3}, -9, 9)},
                     .call =
                         [align](In t) {
                           return tf::matrix_diag(
                               t.x,
                               {.k = {-1, 1}, .num_cols = 4, .padding_value = 7, .align = align});
                         },
                     .python = "tf.matrix_diag(x, k=(-1, 1), num_cols=4, padding_value=7" + suffix,
                     .dtypes = numbers()});
    cases.push_back(
        {.name = std::string("MatrixDiagPartV3 of a band, ") + align,
         .inputs = {random_input({2, 3, 5}, -9, 9)},
         .call =
             [align](In t) {
               return tf::matrix_diag_part(t.x, {.k = {-2, 3}, .padding_value = 7, .align = align});
             },
         .python = "tf.matrix_diag_part(x, k=(-2, 3), padding_value=7" + suffix,
         .dtypes = numbers()});
    cases.push_back({.name = std::string("MatrixSetDiagV3 of a band, ") + align,
                     .inputs = {random_input({2, 3, 4}, -9, 9), random_input({2, 2, 3}, -9, 9)},
                     .call =
                         [align](In t) {
                           return tf::matrix_set_diag(t.x, t.y, {.k = {-1, 0}, .align = align});
                         },
                     .python = "tf.matrix_set_diag(x, y, k=(-1, 0)" + suffix,
                     .dtypes = any_dtype()});
  }
  cases.push_back({.name = "MatrixSetDiagV3",
                   .inputs = {random_input({2, 3, 4}, -9, 9), random_input({2, 3}, -9, 9)},
                   .call = [](In t) { return tf::matrix_set_diag(t.x, t.y); },
                   .python = "tf.matrix_set_diag(x, y)",
                   .dtypes = any_dtype(),
                   .large = {random_input({1000, 1000}), random_input({1000})}});
  add(
      "MatrixBandPart", random_input({2, 4, 3}, -9, 9), "tf.matrix_band_part(x, 1, -1)",
      [](T t) { return tf::matrix_band_part(t, 1, -1); }, matrix);
  add("MatrixBandPart of two diagonals", random_input({4, 5}, -9, 9),
      "tf.matrix_band_part(x, 0, 1)", [](T t) { return tf::matrix_band_part(t, 0, 1); });
  add(
      "Matrix transpose", random_input({2, 3, 4}, -9, 9), "tf.matrix_transpose(x)",
      [](T t) { return tf::matrix_transpose(t); }, matrix);
  add("Trace", random_input({2, 3, 4}, -9, 9), "tf.trace(x)", [](T t) { return tf::trace(t); });
  cases.back().dtypes = numbers();
  for (const int columns : {3, 2}) {
    const std::string python = "x * tf.eye(3, " + std::to_string(columns) + ", dtype=dtype)";
    cases.push_back(
        {.name = "Eye with columns: " + std::to_string(columns),
         .inputs = {random_input({3, columns}, -9, 9)},
         .call = [columns](In t) { return t.x * tf::eye(3, columns, {.dtype = t.dtype}); },
         .python = python});
  }
  cases.push_back({.name = "Eye of a computed size",
                   .inputs = {random_input({2, 4}), input_of({}, {4}, DType::int32)},
                   .call =
                       [](In t) {
                         const Tensor square = tf::eye(t.y, {.dtype = t.dtype});
                         return tf::matmul(t.x, square);
                       },
                   .python = "tf.matmul(x, tf.eye(y, dtype=dtype))"});
}

void add_grid_cases(std::vector<OpCase>& cases) {
  cases.push_back({.name = "Roll",
                   .inputs = {random_input({3, 4}, -9, 9)},
                   .call =
                       [](In t) {
                         return tf::roll(t.x, {1, -3, 1}, {0, 1, 0});
                       },
                   .python = "tf.roll(x, [1, -3, 1], [0, 1, 0])",
                   .dtypes = any_dtype(),
                   .large = {random_input({1000, 1000})}});
  cases.push_back({.name = "Roll of rows",
                   .inputs = {random_input({3, 2, 2}, -9, 9)},
                   .call = [](In t) { return tf::roll(t.x, 4, -3); },
                   .python = "tf.roll(x, 4, -3)",
                   .dtypes = any_dtype()});
  cases.push_back({.name = "Meshgrid",
                   .inputs = {random_input({2}), random_input({3})},
                   .call =
                       [](In t) {
                         return CaseResults(tf::meshgrid({t.x, t.y}));
                       },
                   .python = "tf.meshgrid(x, y)",
                   .dtypes = numbers(),
                   .large = {random_input({1000}), random_input({1000})}});
  cases.push_back(
      {.name = "Meshgrid of three",
       .inputs = {random_input({2}), random_input({3}), random_input({2})},
       .call =
           [](In t) {
             return CaseResults(tf::meshgrid({t.x, t.y, t.z}, {.indexing = "ij", .name = "grid"}));
           },
       .python = "tf.meshgrid(x, y, z, indexing='ij', name='grid')",
       .dtypes = numbers()});
  for (const int num : {1, 2, 7}) {
    cases.push_back({.name = "Linspace of " + std::to_string(num),
                     .inputs = {random_input({}), random_input({})},
                     .call = [num](In t) { return tf::linspace(t.x, t.y, num); },
                     .python = "tf.linspace(x, y, " + std::to_string(num) + ")",
                     .other_nodes = true});
  }
}

void add_qr_cases(std::vector<OpCase>& cases) {
  const auto add = [&](std::string name, CaseInput x, tf::QrOptions options, std::string python,
                       std::vector<CaseInput> large = {}) {
    cases.push_back({.name = std::move(name),
                     .inputs = {std::move(x)},
                     .call =
                         [options](In t) {
                           const tf::QrFactors found = tf::qr(t.x, options);
                           return CaseResults({found.q, found.r});
                         },
                     .python = std::move(python),
                     .gradients = CaseGradients::none,
                     .large = std::move(large)});
  };
  add("Qr", random_input({4, 3}), {}, "tf.linalg.qr(x)", {random_input({256, 256})});
  add("Qr wide", random_input({2, 4}), {.name = "factors"}, "tf.linalg.qr(x, name='factors')");
  add("Qr full_matrices", random_input({2, 4, 3}), {.full_matrices = true},
      "tf.linalg.qr(x, full_matrices=True)");
  add("Qr of a column", random_input({3, 1}), {}, "tf.linalg.qr(x)");
}

}  // namespace

void add_matrices_cases(std::vector<OpCase>& cases) {
  add_diagonal_cases(cases);
  add_grid_cases(cases);
  add_qr_cases(cases);
}

}  // namespace towerflow::testing
