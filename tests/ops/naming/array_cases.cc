#include "ops/control/tuple.h"
#include "tests/ops/naming/cases.h"

namespace towerflow::testing {
namespace {

using In = const Inputs&;

std::vector<Operation> no_ops(std::initializer_list<const char*> devices) {
  std::vector<Operation> made;
  for (const char* name : devices) {
    if (name[0] == '\0') {
      made.push_back(no_op({.name = "z"}));
      continue;
    }
    const auto on = device(name);
    made.push_back(no_op({.name = "z"}));
  }
  return made;
}

void add_constant_cases(Cases& c) {
  c["constant"] = [](In) { constant(1.0); };
  c["constant shape"] = [](In) {
    constant(2, {.dtype = float32, .shape = Shape{2, 2}, .name = "k"});
  };
  c["constant fewer"] = [](In) { constant({1, 2}, {.shape = Shape{2, 2}}); };
  c["constant more"] = [](In) { constant({1, 2, 3}, {.shape = Shape{2}}); };
  c["constant wrong dtype"] = [](In) { constant(1.5, {.dtype = int32}); };
  c["constant tensor"] = [](In t) { constant(t.x); };
  c["constant empty"] = [](In) { constant(std::vector<float>{}); };
  c["constant int64"] = [](In) { constant(3000000000); };
  c["constant bool as float"] = [](In) { constant(true, {.dtype = float32}); };
  c["constant int as bool"] = [](In) { constant(1, {.dtype = bool_}); };
  c["zeros"] = [](In) { zeros({2, 3}); };
  c["zeros 1000"] = [](In) { zeros({1000}); };
  c["zeros of shape"] = [](In t) { zeros(shape(t.x)); };
  c["zeros bool"] = [](In) { zeros({2}, {.dtype = bool_}); };
  c["zeros string"] = [](In) { zeros({2}, {.dtype = string}); };
  c["ones"] = [](In) { ones({2}, {.dtype = int32, .name = "k"}); };
  c["ones 1000"] = [](In) { ones({10, 100}); };
  c["fill"] = [](In) { fill({2, 3}, 7.0); };
  c["fill scalar"] = [](In) { fill(std::vector<int>{}, 2.0); };
  c["fill negative"] = [](In) { fill({-2}, 7); };
  c["fill vector"] = [](In) { fill({2}, {1, 2}); };
  c["zeros_like"] = [](In t) { zeros_like(t.x); };
  c["zeros_like unknown"] = [](In t) { zeros_like(t.u); };
  c["zeros_like dtype"] = [](In t) { zeros_like(t.i, {.dtype = float32}); };
  c["zeros_like unknown dtype"] = [](In t) { zeros_like(t.u, {.dtype = int32}); };
  c["zeros_like value"] = [](In) { zeros_like({1.0, 2.0}); };
  c["ones_like"] = [](In t) { ones_like(t.x); };
  c["ones_like unknown"] = [](In t) { ones_like(t.u, {.dtype = int32}); };
  c["ones_like value"] = [](In) { ones_like({1.0, 2.0}); };
  c["placeholder"] = [](In) { placeholder(float32); };
  c["placeholder named"] = [](In) { placeholder(int64, {.shape = {None, 3}, .name = "k"}); };
}

void add_joining_cases(Cases& c) {
  c["concat"] = [](In t) { concat({t.x, t.y}, 0); };
  c["concat one"] = [](In t) { concat({t.x}, 0); };
  c["concat one twice"] = [](In t) {
    concat({t.x}, 0);
    concat(t.x, 0);
  };
  c["concat one named"] = [](In t) { concat({t.x}, 0, {.name = "k"}); };
  c["concat one in scope"] = [](In t) {
    const auto scope = name_scope("t");
    concat({t.x}, 0, {.name = "a/b"});
  };
  c["concat unknown"] = [](In t) { concat({t.x, t.u}, 0); };
  c["concat unknown 1"] = [](In t) { concat({t.x, t.u}, 1); };
  c["concat no rank"] = [](In t) { concat({t.x, t.q}, -1); };
  c["concat ranks"] = [](In t) { concat({t.x, t.b}, 0); };
  c["concat axis"] = [](In t) { concat({t.x, t.y}, 2); };
  c["concat value"] = [](In t) { concat({t.x, Operand({{1, 2, 3}})}, 0); };
  c["concat value first"] = [](In t) { concat({Operand({1, 2}), t.b}, 0); };
  c["concat dtypes"] = [](In t) { concat({t.x, t.i}, 0); };
  c["concat none"] = [](In) { concat(std::vector<Tensor>{}, 0); };
  c["concat scalars"] = [](In) { concat({1.0, 2.0}, 0); };
  c["stack"] = [](In t) { stack({t.x, t.y}); };
  c["stack last"] = [](In t) { stack({t.x, t.u}, -1); };
  c["stack ranks"] = [](In t) { stack({t.x, t.b}); };
  c["stack axis"] = [](In t) { stack({t.x, t.y}, 5); };
  c["stack values"] = [](In) { stack({1, 2}); };
  c["stack dtypes"] = [](In t) { stack({t.x, t.i}); };
  c["stack one"] = [](In t) { stack({t.x}, {.name = "k"}); };
  c["parallel_stack"] = [](In t) { parallel_stack({t.x, t.x}); };
  c["parallel_stack values"] = [](In) { parallel_stack({1, 2}, {.name = "k"}); };
  c["parallel_stack unknown"] = [](In t) { parallel_stack({t.u, t.u}); };
  c["parallel_stack shapes"] = [](In t) { parallel_stack({t.x, t.b}); };
  c["parallel_stack dtypes"] = [](In t) {
    parallel_stack({t.x, zeros(t.x.shape(), {.dtype = int32})});
  };
  c["unstack"] = [](In t) { unstack(t.x); };
  c["unstack 1"] = [](In t) { unstack(t.x, std::nullopt, {.axis = 1}); };
  c["unstack value"] = [](In) { unstack({1.0, 2.0}); };
  c["unstack unknown"] = [](In t) { unstack(t.u); };
  c["unstack given"] = [](In t) { unstack(t.u, 2); };
  c["tile"] = [](In t) { tile(t.x, {2, 1}); };
  c["tile unknown"] = [](In t) { tile(t.u, {2, 2}); };
  c["tile rank"] = [](In t) { tile(t.x, {2}); };
  c["gather"] = [](In t) { gather(t.x, {0, 1}); };
  c["gather axis"] = [](In t) { gather(t.x, {{0, 1}}, {.axis = 1}); };
  c["gather scalar"] = [](In t) { gather(t.x, 1, {.name = "k"}); };
  c["gather matrix"] = [](In t) { gather(t.u, t.i); };
  c["gather wrong axis"] = [](In t) { gather(t.x, {0}, {.axis = 3}); };
  c["gather wrong dtype"] = [](In t) { gather(t.x, {0.5}); };
}

void add_shaping_cases(Cases& c) {
  c["cast"] = [](In t) { cast(t.x, int32); };
  c["cast same"] = [](In t) { cast(t.x, float32, {.name = "k"}); };
  c["cast value"] = [](In) { cast(1, float32); };
  c["cast value same"] = [](In) { cast(1.0, float32); };
  c["shape"] = [](In t) { shape(t.x); };
  c["shape unknown"] = [](In t) { shape(t.u, {.out_type = int64}); };
  c["shape value"] = [](In) { shape({1.0, 2.0}); };
  c["shape packed"] = [](In t) { shape({t.x, t.y}); };
  c["shape packed unknown"] = [](In t) { shape({t.u, t.u}, {.name = "k"}); };
  c["convert packed"] = [](In t) { convert_to_tensor({t.b, t.b}); };
  c["rank"] = [](In t) { rank(t.x); };
  c["rank unknown"] = [](In t) { rank(t.q); };
  c["size"] = [](In t) { size(t.x); };
  c["size unknown"] = [](In t) { size(t.u, {.out_type = int64}); };
  c["slice"] = [](In t) { slice(t.x, {0, 1}, {1, -1}); };
  c["slice unknown"] = [](In t) { slice(t.u, {1, 1}, {-1, 2}); };
  c["slice rank"] = [](In t) { slice(t.x, {0}, {1}); };
  c["slice computed"] = [](In t) { slice(t.x, t.j, {1, 1}); };
  c["strided_slice"] = [](In t) { strided_slice(t.x, {0, 0}, {2, 3}, {1, 2}); };
  c["strided_slice of step 1"] = [](In t) { strided_slice(t.x, {0, 0}, {2, 3}); };
  c["strided_slice named"] = [](In t) {
    strided_slice(t.x, {0, 0}, {2, 3}, {.end_mask = 2, .name = "k"});
  };
  c["take_index"] = [](In t) { take_index(t.x, 1); };
  c["take_index wrong"] = [](In t) { take_index(t.x, 2); };
  c["transpose"] = [](In t) { transpose(t.x); };
  c["transpose perm"] = [](In t) { transpose(t.u, {1, 0}, {.name = "k"}); };
  c["transpose no rank"] = [](In t) { transpose(t.q); };
  c["transpose length"] = [](In t) { transpose(t.x, std::vector<int>{0}); };
  c["where"] = [](In t) { where(t.p, t.x, t.y); };
  c["where_v2"] = [](In t) { where_v2(t.p, t.x, 0.0); };
  c["where shapes"] = [](In t) { where(t.p, t.x, t.b); };
  c["broadcast_to"] = [](In t) { broadcast_to(t.b, {2, 3}); };
  c["broadcast_to wrong"] = [](In t) { broadcast_to(t.b, {2, 4}); };
  c["reshape"] = [](In t) { reshape(t.x, {3, -1}); };
  c["reshape two open"] = [](In t) { reshape(t.x, {-1, -1}); };
  c["reshape none"] = [](In t) { reshape(t.x, {0, -1}); };
  c["reshape negative"] = [](In t) { reshape(t.x, {-2, 3}); };
  c["reshape scalar"] = [](In t) { reshape(t.u, std::vector<int>{}); };
  c["convert_to_tensor"] = [](In) { convert_to_tensor({1.0, 2.0}); };
  c["convert_to_tensor named"] = [](In) { convert_to_tensor(1, {.dtype = float32, .name = "k"}); };
  c["convert_to_tensor tensor"] = [](In t) { convert_to_tensor(t.x, {.name = "k"}); };
  c["convert_to_tensor list"] = [](In t) { convert_to_tensor(Operand({t.x, t.y})); };
  c["convert_to_tensor wrong"] = [](In t) { convert_to_tensor(t.x, {.dtype = int32}); };
  c["no_op"] = [](In) { no_op(); };
  c["group"] = [](In t) { group({t.x, t.y.op()}, {.name = "k"}); };
  c["group none"] = [](In) { group(std::vector<Operation>{}); };
  c["group devices"] = [](In) { group(no_ops({"/gpu:1", "/gpu:0", "", "/cpu:0"})); };
  c["group one device"] = [](In) { group(no_ops({"/gpu:1", "/gpu:1"})); };
  c["tuple"] = [](In t) {
    tuple(std::vector<std::optional<Tensor>>{t.x, std::nullopt, t.y},
          {.control_inputs = {t.b.op()}, .name = "k"});
  };
  c["tuple none"] = [](In) { tuple(std::vector<std::optional<Tensor>>{std::nullopt}); };
}

}  // namespace

void add_array_cases(Cases& cases) {
  add_constant_cases(cases);
  add_joining_cases(cases);
  add_shaping_cases(cases);
}

}  // namespace towerflow::testing
