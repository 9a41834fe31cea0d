#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/handlers.h"

namespace towerflow::golden {

/// Returns a list of integers; an argument of another kind does not compile in C++.
std::vector<int> integers(const Args& args, const char* name);
/// Returns a list of tensors and values; a single tensor is passed as such.
OperandList operands(const Args& args, const char* name);

/// Returns a given argument as the type of an option.
template <class T>
T read(const Args& args, const char* name) {
  if constexpr (std::same_as<T, bool>) {
    return args.flag(name);
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(args.integer(name));
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(args.number(name));
  } else if constexpr (std::same_as<T, std::string>) {
    return args.text(name);
  } else if constexpr (std::same_as<T, DType>) {
    return args.dtype(name);
  } else if constexpr (std::same_as<T, Axis>) {
    return args.axis(name);
  } else if constexpr (std::same_as<T, std::vector<int>>) {
    return integers(args, name);
  } else if constexpr (std::same_as<T, std::vector<std::int64_t>>) {
    const std::vector<int> numbers = integers(args, name);
    return T(numbers.begin(), numbers.end());
  } else {
    return T(args.operand(name));
  }
}
template <class T>
void read_into(T& option, const Args& args, const char* name) {
  option = read<T>(args, name);
}
template <class T>
void read_into(std::optional<T>& option, const Args& args, const char* name) {
  option = read<T>(args, name);
}

template <class Options>
void set_options(Options&, const Args&) {}
template <class Options, class T, class... Rest>
void set_options(Options& options, const Args& args, const char* key, T Options::*member,
                 const Rest&... rest) {
  if (!args.value(key).none()) read_into(options.*member, args, key);
  set_options(options, args, rest...);
}

/// Returns options with the name and the members that are given:
/// `with<SortOptions>(args, "axis", &SortOptions::axis)`.
template <class Options, class... Members>
Options with(const Args& args, const Members&... members) {
  Options options;
  if constexpr (requires { options.name; }) set_options(options, args, "name", &Options::name);
  set_options(options, args, members...);
  return options;
}

inline Value result_of(Value value) { return value; }
inline Value result_of(const std::vector<Tensor>& parts) {
  return List(parts.begin(), parts.end());
}

/// Adds the handler of an op, which returns a tensor, an operation, tensors or a List.
template <class Call>
void add_call(HandlerTable& table, const char* op, Call call) {
  table[op] = [call](Interpreter&, const Args& args) -> Value { return result_of(call(args)); };
}

// Each of these adds the plain calls of one area; the words of `sweep --kind calls`.
void add_array_calls(HandlerTable& table);
void add_indexing_calls(HandlerTable& table);
void add_math_calls(HandlerTable& table);
void add_nn_calls(HandlerTable& table);
void add_convolution_calls(HandlerTable& table);
void add_image_calls(HandlerTable& table);

}  // namespace towerflow::golden
