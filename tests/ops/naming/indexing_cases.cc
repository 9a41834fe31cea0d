// Indexing, default conversions and checks.
#include "ops/array/indexing.h"
#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

Tensor scalar(DType dtype = int32) { return placeholder(dtype, Shape{}, {.name = "s"}); }

void add_index_cases(Cases& c) {
  using In = const Inputs&;
  c["x[0]"] = [](In t) { t.x[0]; };
  c["x[-1]"] = [](In t) { t.x[-1]; };
  c["x[0][1]"] = [](In t) { t.x[0][1]; };
  c["x[5]"] = [](In t) { t.x[5]; };
  c["x[0, 0, 0]"] = [](In t) { t.x[{0, 0, 0}]; };
  c["x[..., ...]"] = [](In t) { t.x[{tf::ellipsis, tf::ellipsis}]; };
  c["x[()]"] = [](In t) { t.x[{}]; };
  c["x[:, 1:]"] = [](In t) { t.x[{tf::all, {1, None}}]; };
  c["x[::0]"] = [](In t) { t.x[{{None, None, 0}}]; };
  c["x[..., tf.newaxis]"] = [](In t) { t.x[{tf::ellipsis, tf::newaxis}]; };
  c["x[None]"] = [](In t) { t.x[None]; };
  c["u[0]"] = [](In t) { t.u[0]; };
  c["u[1:, 0]"] = [](In t) { t.u[{{1, None}, 0}]; };
  c["u[:, 1]"] = [](In t) { t.u[{tf::all, 1}]; };
  c["q[0]"] = [](In t) { t.q[0]; };
  c["x[2**40:]"] = [](In t) { t.x[{{std::int64_t{1} << 40, None}}]; };
  c["x[s]"] = [](In t) { t.x[scalar()]; };
  c["x[s64]"] = [](In t) { t.x[scalar(int64)]; };
  c["x[0, s64]"] = [](In t) { t.x[{0, scalar(int64)}]; };
  c["x[s:]"] = [](In t) { t.x[{{scalar(), None}}]; };
  c["x[:s64]"] = [](In t) { t.x[{{None, scalar(int64)}}]; };
  c["x[0, :s]"] = [](In t) { t.x[{0, {None, scalar()}}]; };
  c["x[s, s64]"] = [](In t) {
    const Tensor first = scalar();
    t.x[{first, scalar(int64)}];
  };
  c["x[float]"] = [](In t) { t.x[scalar(float32)]; };
  c["x[vector]"] = [](In t) { t.x[t.j]; };
  c["x[mask]"] = [](In t) { t.x[t.p]; };
  c["x[mask,]"] = [](In t) { t.x[{t.p}]; };
  c["shape[0]"] = [](In t) { shape(t.u)[0]; };
  c["shape[:1]"] = [](In t) { shape(t.u)[{{None, 1}}]; };
  c["v[0]"] = [](In) { get_variable("v", {5, 3})[0]; };
  c["reshape shape[0]"] = [](In t) { reshape(t.u, {shape(t.u)[0], 3, 1}); };
  c["two packs"] = [](In t) {
    const auto scope = name_scope("s");
    stack({t.b[0], 1.0});
    stack({t.b[0], 1.0});
  };
  c["packed inner"] = [](In t) { convert_to_tensor({{t.b, t.b}, {t.b, {1.0, 2.0, 3.0}}}); };
  c["packed inner values"] = [](In t) { convert_to_tensor({{1.0, 2.0, 3.0}, t.b}); };
  c["packed dtypes"] = [](In t) { convert_to_tensor({t.j, t.b}); };
  c["strided_slice masks"] = [](In t) {
    strided_slice(t.x, {0, 0, 1}, {0, 0, 2}, {1, 1, 1},
                  {.ellipsis_mask = 1, .new_axis_mask = 2, .name = "k"});
  };
  c["strided_slice shrink new"] = [](In t) {
    strided_slice(t.x, {0, 0}, {1, 1}, {1, 1}, {.new_axis_mask = 1, .shrink_axis_mask = 3});
  };
}

}  // namespace

void add_indexing_cases(Cases& cases) { add_index_cases(cases); }

}  // namespace towerflow::testing
