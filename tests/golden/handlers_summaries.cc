// Summaries and merging them.
#include "tests/golden/handlers.h"
#include "train/summary/histogram.h"
#include "train/summary/merge.h"
#include "train/summary/scalar.h"

namespace towerflow::golden {

void add_summary_handlers(HandlerTable& table) {
  table["summary_scalar"] = [](Interpreter&, const Args& args) -> Value {
    return summary::scalar(
        args.text("name"), args.operand("tensor"),
        {.collections = args.texts("collections"), .family = args.text("family")});
  };
  table["summary_histogram"] = [](Interpreter&, const Args& args) -> Value {
    return summary::histogram(
        args.text("name"), args.operand("values"),
        {.collections = args.texts("collections"), .family = args.text("family")});
  };
  table["summary_merge"] = [](Interpreter&, const Args& args) -> Value {
    return summary::merge(
        args.tensors("inputs"),
        {.collections = args.texts("collections").value_or(std::vector<std::string>{}),
         .name = args.text("name")});
  };
  table["summary_merge_all"] = [](Interpreter&, const Args& args) -> Value {
    const auto merged = summary::merge_all({.key = args.text("key", GraphKeys::SUMMARIES),
                                            .scope = args.optional_text("scope"),
                                            .name = args.text("name")});
    return merged ? Value(*merged) : Value();
  };
}

}  // namespace towerflow::golden
