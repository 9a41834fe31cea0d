#include "tests/golden/call.h"

namespace towerflow::golden {

std::vector<int> integers(const Args& args, const char* name) {
  if (args.value(name).list() == nullptr) throw DoesNotCompile("no list of integers");
  std::vector<int> numbers;
  for (const Value& item : args.list(name)) {
    const auto* number = item.get_if<std::int64_t>();
    if (number == nullptr) throw DoesNotCompile("no integer in a list of them");
    numbers.push_back(static_cast<int>(*number));
  }
  return numbers;
}

OperandList operands(const Args& args, const char* name) {
  if (args.value(name).list() == nullptr) return args.tensor(name);
  std::vector<Operand> items;
  for (const Value& item : args.list(name)) items.push_back(to_operand(item));
  return items;
}

}  // namespace towerflow::golden
