// Random ops and their seeds.
#include "ops/random/random_ops.h"
#include "tests/golden/handlers.h"

namespace towerflow::golden {
namespace {

Value uniform(Interpreter&, const Args& args) {
  RandomUniformOptions options{.dtype = args.dtype("dtype"),
                               .seed = args.optional_integer("seed"),
                               .name = args.text("name")};
  if (args.has("minval")) options.minval = args.operand("minval");
  if (!args.value("maxval").none()) options.maxval = args.operand("maxval");
  return random_uniform(args.operand("shape"), options);
}

RandomNormalOptions normal_options(const Args& args) {
  RandomNormalOptions options{.dtype = args.dtype("dtype"),
                              .seed = args.optional_integer("seed"),
                              .name = args.text("name")};
  if (args.has("mean")) options.mean = args.operand("mean");
  if (args.has("stddev")) options.stddev = args.operand("stddev");
  return options;
}

}  // namespace

void add_random_handlers(HandlerTable& table) {
  table["set_random_seed"] = [](Interpreter&, const Args& args) -> Value {
    set_random_seed(args.optional_integer("seed"));
    return {};
  };
  table["random_uniform"] = uniform;
  table["random_normal"] = [](Interpreter&, const Args& args) -> Value {
    return random_normal(args.operand("shape"), normal_options(args));
  };
  table["truncated_normal"] = [](Interpreter&, const Args& args) -> Value {
    return truncated_normal(args.operand("shape"), normal_options(args));
  };
  table["random_shuffle"] = [](Interpreter&, const Args& args) -> Value {
    return random_shuffle(args.operand("value"),
                          {.seed = args.optional_integer("seed"), .name = args.text("name")});
  };
}

}  // namespace towerflow::golden
