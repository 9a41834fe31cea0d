// Conditionals and loops.
#include "ops/control/map_fn.h"
#include "ops/control/scan.h"
#include "ops/control/while_loop.h"
#include "tests/golden/handlers.h"
#include "tests/golden/structures.h"

namespace towerflow::golden {

const TensorArray* tensor_array_of(const Value& value) {
  const auto* object = value.get_if<Object>();
  return object == nullptr ? nullptr : std::any_cast<TensorArray>(&object->object);
}

List items_of(const Value& value) {
  if (value.list() != nullptr) return *value.list();
  const auto* object = value.get_if<Object>();
  if (object != nullptr && object->type == "tuple") {
    return *std::any_cast<Value>(object->object).list();
  }
  return {value};
}

namespace {

/// Returns a function of the program that takes these arguments.
auto function(Interpreter& in, const Args& args, const char* name) {
  if (args.value(name).get_if<Object>() == nullptr) {
    throw DoesNotCompile(std::string(name) + " is no function");
  }
  return [&in, form = args.object(name)](const List& arguments) {
    return in.run_function(form, arguments);
  };
}

std::function<Value()> branch(Interpreter& in, const Value& value) {
  const auto* form = value.get_if<Object>();
  if (form == nullptr) throw DoesNotCompile("a branch is no function");
  return [&in, form = *form]() -> Value { return in.run_function(form, {}); };
}

Tensor predicate(const Value& value) {
  if (value.get_if<Tensor>() == nullptr && value.get_if<Variable>() == nullptr) {
    throw DoesNotCompile("a predicate that is no tensor");
  }
  return to_tensor(value);
}

Value conditional(Interpreter& in, const Args& args) {
  const std::function<Value()> true_fn = branch(in, args.value("true_fn"));
  const std::function<Value()> false_fn = branch(in, args.value("false_fn"));
  const std::string name = args.text("name");
  return cond(predicate(args.value("pred")), true_fn, false_fn, {.name = name});
}

Value choice(Interpreter& in, const Args& args) {
  CasePairs<Value> pairs;
  for (const Value& pair : args.list("pairs")) {
    pairs.emplace_back(predicate(pair.list()->at(0)), branch(in, pair.list()->at(1)));
  }
  CaseOptions options;
  options.exclusive = args.flag("exclusive");
  options.name = args.text("name");
  if (args.value("default").none()) return case_without_default<Value>(std::move(pairs), options);
  return case_(pairs, branch(in, args.value("default")), options);
}

/// Returns a single loop variable itself, several as a list.
Value without_single_list(const Value& value) {
  const List items = items_of(value);
  return items.size() == 1 ? items[0] : Value(items);
}

Value loop(Interpreter& in, const Args& args) {
  const auto condition = function(in, args, "cond"), body = function(in, args, "body");
  WhileLoopOptions options;
  if (!args.value("shape_invariants").none()) {
    options.shape_invariants.emplace();
    for (const Value& item : args.list("shape_invariants")) {
      options.shape_invariants->push_back(to_shape(item).value_or(Shape::unknown()));
    }
  }
  options.parallel_iterations = static_cast<int>(args.integer("parallel_iterations", 10));
  options.back_prop = args.flag("back_prop", true);
  options.swap_memory = args.flag("swap_memory");
  options.name = args.text("name");
  if (!args.value("maximum_iterations").none()) {
    options.maximum_iterations = ScalarOperand(args.operand("maximum_iterations"));
  }
  const Value variables = without_single_list(args.value("loop_vars"));
  return while_loop([&](const Value& now) { return to_operand(condition(items_of(now))); },
                    [&](const Value& now) { return without_single_list(body(items_of(now))); },
                    variables, options);
}

MapDTypes dtypes_of(const Value& value) {
  std::vector<DType> dtypes;
  if (value.none()) return dtypes;
  for (const Value& item : items_of(value)) dtypes.push_back(to_dtype(*item.get_if<std::string>()));
  return dtypes;
}

Value mapped(Interpreter& in, const Args& args) {
  const auto fn = function(in, args, "fn");
  MapFnOptions options;
  options.dtype = dtypes_of(args.value("dtypes"));
  options.parallel_iterations = static_cast<int>(args.integer("parallel_iterations", 10));
  options.back_prop = args.flag("back_prop", true);
  options.infer_shape = args.flag("infer_shape", true);
  options.name = args.text("name");
  return map_fn([&](const Value& slices) { return fn({slices}); }, args.value("elems"), options);
}

template <class Options>
Options step_options(const Args& args) {
  Options options;
  options.parallel_iterations = static_cast<int>(args.integer("parallel_iterations", 10));
  options.back_prop = args.flag("back_prop", true);
  options.swap_memory = args.flag("swap_memory");
  options.name = args.text("name");
  return options;
}

Value scanned(Interpreter& in, const Args& args) {
  const auto fn = function(in, args, "fn");
  auto options = step_options<ScanOptions>(args);
  options.infer_shape = args.flag("infer_shape", true);
  options.reverse = args.flag("reverse");
  const auto step = [&](const Value& a, const Value& x) { return fn({a, x}); };
  const Value &elems = args.value("elems"), &first = args.value("initializer");
  return first.none() ? scan(step, elems, options) : scan(step, elems, first, options);
}

template <bool kFromRight>
Value folded(Interpreter& in, const Args& args) {
  const auto fn = function(in, args, "fn");
  const auto options = step_options<FoldOptions>(args);
  const auto step = [&](const Value& a, const Value& x) { return fn({a, x}); };
  const Value &elems = args.value("elems"), &first = args.value("initializer");
  if constexpr (kFromRight) {
    return first.none() ? foldr(step, elems, options) : foldr(step, elems, first, options);
  } else {
    return first.none() ? foldl(step, elems, options) : foldl(step, elems, first, options);
  }
}

}  // namespace

void add_control_handlers(HandlerTable& table) {
  table["cond"] = conditional;
  table["case"] = choice;
  table["while_loop"] = loop;
  table["map_fn"] = mapped;
  table["scan"] = scanned;
  table["foldl"] = folded<false>;
  table["foldr"] = folded<true>;
}

}  // namespace towerflow::golden

namespace towerflow {

using golden::List;
using golden::Value;

void Nest<Value>::flatten(const Value& value, Site site, std::vector<Operand>& values) {
  if (const TensorArray* array = golden::tensor_array_of(value)) {
    Nest<TensorArray>::flatten(*array, site, values);
  } else if (value.list() != nullptr || value.get_if<golden::Object>() != nullptr) {
    for (const Value& item : golden::items_of(value)) flatten(item, site, values);
  } else {
    values.push_back(golden::to_operand(value).at(site));
  }
}

Value Nest<Value>::pack(const Value& like, PackedTensors& tensors) {
  if (const TensorArray* array = golden::tensor_array_of(like)) {
    return golden::Object{"TensorArray", Nest<TensorArray>::pack(*array, tensors)};
  }
  if (like.list() == nullptr && like.get_if<golden::Object>() == nullptr) return tensors.next();
  List packed;
  for (const Value& item : golden::items_of(like)) packed.push_back(pack(item, tensors));
  return packed;
}

std::vector<Operand> types::BranchResult<Value>::values(const Value& result, const Tensor& pivot,
                                                        Site site) {
  std::vector<Operand> all;
  if (const auto* operation = result.get_if<Operation>()) {
    all.push_back(BranchResult<Operation>::values(*operation, pivot, site).at(0));
  } else if (result.list() != nullptr) {
    for (const Value& item : *result.list()) {
      for (const Operand& one : values(item, pivot, site)) all.push_back(one);
    }
  } else {
    Nest<Value>::flatten(result, site, all);
  }
  return all;
}

}  // namespace towerflow
