// Checks docs/ops.md against the registries. TOWERFLOW_WRITE_DOCS=1 rewrites it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/op_def.h"
#include "core/graph/rewrite.h"
#include "core/graph/widening.h"
#include "tests/ops/cases/op_dtypes.h"

namespace towerflow {
namespace {

const std::vector<DType> kNumbers = testing::numbers();
constexpr const char* kPage = "docs/ops.md";

constexpr const char* kHead = R"(# The ops

This page lists all ops with their arguments, dtypes, attributes, gradients and kernels. It is generated from the
registries by `TOWERFLOW_WRITE_DOCS=1 build/tests/test_docs_ops_page`, run in the root of the project; without the
variable the same test checks that the page is up to date. [add-an-op.md](add-an-op.md) shows how to add one.

Arguments, results and attributes have TensorFlow's names. `T` and similar names are dtypes or numbers, inferred from
the arguments. `x: N * T` is a list of tensors of one dtype, `x: list(T)` a list of tensors of several dtypes,
`Ref(T)` a variable. Dtypes are those that the shape rule and a kernel accept; *numbers* are float32, float64, int32,
int64 and uint8, *any* means these, bool and string, *short* float16 and bfloat16, which are computed in
[float32](mixed-precision.md). Attributes without `=` must be given, attributes in parentheses
have only that value here, and names that begin with `_` belong to the library. Kernels are those of the CPU backend,
in order of preference; simulated accelerators share them. Fusions are the [rules](rewrites.md#rules) whose patterns
contain the op. *Chain*: the op can be a step of an `_Elementwise`. *Not in TensorFlow*: a GraphDef has
[nodes of TensorFlow's ops](differences.md#graphs-in-files) instead.

)";

template <class T, class F>
std::string list(const std::vector<T>& items, F text) {
  std::vector<std::string> texts;
  for (const T& item : items) texts.push_back(text(item));
  return fmt::format("{}", fmt::join(texts, ", "));
}

std::string arguments(const std::vector<ArgDef>& all) {
  return list(all, [](const ArgDef& one) { return one.text(); });
}

std::string attribute(const AttrDef& one) {
  std::string text = one.name + ": " + one.type;
  if (one.default_value) text += " = " + attr_text(*one.default_value);
  return one.fixed ? "(" + text + ")" : text;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + text + "`"; }

std::string gradient(const OpDef& op) {
  const auto* none = std::get_if<NoGradient>(&op.gradient);
  return none == nullptr ? "yes" : "none: " + none->reason;
}

std::string kernels(const OpDef& op) {
  const auto& entries = cpu_kernels().entries();
  const auto found = entries.find(op.name);
  if (found == entries.end()) return "";
  return list(found->second, [](const KernelEntry& entry) { return entry.label; });
}

std::string fusions(const OpDef& op) {
  std::vector<std::string> names;
  for (const RewriteRule& rule : rewrite_rules()) {
    for (const auto* ops : {&rule.last, &rule.inner}) {
      if (std::find(ops->begin(), ops->end(), op.name) != ops->end()) names.push_back(rule.name);
    }
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

const char* effect_text(const OpDef& op) {
  switch (op.effect) {
    case Effect::pure:
      if (op.name == "PyFuncStateless") return "";
      if (op.export_form != nullptr) return "not in TensorFlow";
      return op.elementwise != nullptr ? "chain" : "";
    case Effect::variable:
      return "a variable";
    case Effect::writes_variable:
      return "writes variables";
    case Effect::stateful:
      return "stateful";
    case Effect::random:
      return "random";
    case Effect::io:
      return "files";
  }
  return "";
}

/// Returns the dtypes of each attribute, such as "`T`: float32, float64; `Tidx`: int32, int64".
std::string dtypes_text(const OpDef& op, const testing::OpDtypes& dtypes) {
  const auto found = dtypes.find(op.name);
  if (found == dtypes.end()) return "";
  std::vector<std::string> texts;
  for (const auto& [attr, accepted] : found->second) {
    const std::set<DType> numbers(kNumbers.begin(), kNumbers.end());
    std::set<DType> rest = accepted;
    std::vector<std::string> names;
    if (std::includes(rest.begin(), rest.end(), numbers.begin(), numbers.end())) {
      for (const DType number : numbers) rest.erase(number);
      names.push_back("numbers");
    }
    for (const DType dtype : rest) names.push_back(dtype_name(dtype));
    if (accepted.size() == testing::all_dtypes().size()) names = {"any"};
    // The statistics of a batch normalisation, U, are float32.
    if (takes_short_floats(op) && attr != "U" && accepted.contains(DType::float32)) {
      names.push_back("short");
    }
    texts.push_back(fmt::format("`{}`: {}", attr, fmt::join(names, ", ")));
  }
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string table(bool plan_only, const testing::OpDtypes& dtypes) {
  std::string text =
      "| op | arguments | results | dtypes | attributes | gradient | kernels | fusions | "
      "|\n|---|---|---|---|---|---|---|---|---|\n";
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->plan_only != plan_only) continue;
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} | {} |\n", op->name,
                    code(arguments(op->signature.inputs)), code(arguments(op->signature.outputs)),
                    dtypes_text(*op, dtypes), code(list(op->attrs.list(), attribute)),
                    gradient(*op), kernels(*op), fusions(*op), effect_text(*op));
  }
  return text;
}

/// Returns the section on the symbols of census.txt that are absent, with their calls and reasons.
std::string census_text() {
  std::ifstream file("tests/docs/census.txt");
  REQUIRE(file.good());
  std::string rows, line;
  std::int64_t symbols = 0, here = 0, calls = 0, covered = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, kind, reason;
    std::int64_t count = 0, packages = 0;
    words >> name >> count >> packages >> kind;
    std::getline(words >> std::ws, reason);
    ++symbols;
    calls += count;
    if (kind == "absent") {
      rows += fmt::format("| `tf.{}` | {} | {} | {} |\n", name, count, packages, reason);
    } else {
      ++here;
      covered += count;
    }
  }
  REQUIRE(calls > 0);
  return fmt::format(
      "\n## Absent symbols\n\n`tests/docs/census.txt` counts what ten packages for TensorFlow 1.x "
      "call. Of its {} symbols, ops and all others, {} are\nhere; they make up {} of {} calls, "
      "{:.1f} "
      "%. These are not:\n\n| symbol | calls | packages | reason |\n|---|---|---|---|\n{}",
      symbols, here, covered, calls,
      100.0 * static_cast<double>(covered) / static_cast<double>(calls), rows);
}

std::string page_text() {
  const testing::OpDtypes dtypes = testing::op_dtypes();
  return kHead + std::string("## On the tape\n\n") + table(false, dtypes) +
         "\n## What rewrites make\n\nThese ops exist only in plans; see "
         "[rewrites.md](rewrites.md).\n\n" +
         table(true, dtypes) + census_text();
}

TEST_CASE("ops.md is what the registries say") {
  const std::string page = page_text();
  if (std::getenv("TOWERFLOW_WRITE_DOCS") != nullptr) std::ofstream(kPage) << page;
  std::ostringstream text;
  text << std::ifstream(kPage).rdbuf();
  CHECK_MESSAGE(text.str() == page, "TOWERFLOW_WRITE_DOCS=1 build/tests/test_docs_ops_page");
}

}  // namespace
}  // namespace towerflow
