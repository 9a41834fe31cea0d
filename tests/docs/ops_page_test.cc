// docs/ops.md is what the registries say. TOWERFLOW_WRITE_DOCS=1 writes it.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "core/device/cpu/cpu_backend.h"
#include "core/graph/op_def.h"
#include "core/graph/rewrite.h"

namespace towerflow {
namespace {

constexpr const char* kPage = "docs/ops.md";

constexpr const char* kHead = R"(# The ops

This page is written by the registries: `TOWERFLOW_WRITE_DOCS=1 build/tests/test_docs_ops_page` from the root of
the project, and the same test without the variable holds that it is up to date. [add-an-op.md](add-an-op.md)
says how an op gets here.

Arguments, results and attributes have TensorFlow's names. `T` and the like are dtypes or numbers that the
arguments tell; `x: N * T` is a list of one dtype, `x: list(T)` one of several, `Ref(T)` a variable. An attribute
without `=` has to be given, one in parentheses has no other value here; those that begin with `_` are the library's
own. Kernels are those of the CPU backend in order of preference, which simulated accelerators share. Fusions are the
[rules](rewrites.md#rules) in whose patterns the op stands. *Chain*: the op may be a step of one `_Elementwise`. *Not
in TensorFlow*: a GraphDef has [nodes of its ops](differences.md#graphs-in-files) in place of one of these.

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

const char* effect(const OpDef& op) {
  switch (op.effect) {
    case Effect::pure:
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

std::string table(bool plan_only) {
  std::string text =
      "| op | arguments | results | attributes | gradient | kernels | fusions | "
      "|\n|---|---|---|---|---|---|---|---|\n";
  for (const OpDef* op : OpRegistry::global().all()) {
    if (op->plan_only != plan_only) continue;
    text +=
        fmt::format("| `{}` | {} | {} | {} | {} | {} | {} | {} |\n", op->name,
                    code(arguments(op->signature.inputs)), code(arguments(op->signature.outputs)),
                    code(list(op->attrs.list(), attribute)), gradient(*op), kernels(*op),
                    fusions(*op), effect(*op));
  }
  return text;
}

std::string page() {
  return kHead + std::string("## On the tape\n\n") + table(false) +
         "\n## What rewrites make\n\nPlans alone hold these; [rewrites.md](rewrites.md) says of "
         "what.\n\n" +
         table(true);
}

TEST_CASE("ops.md is what the registries say") {
  if (std::getenv("TOWERFLOW_WRITE_DOCS") != nullptr) std::ofstream(kPage) << page();
  std::ostringstream text;
  text << std::ifstream(kPage).rdbuf();
  CHECK_MESSAGE(text.str() == page(), "TOWERFLOW_WRITE_DOCS=1 build/tests/test_docs_ops_page");
}

}  // namespace
}  // namespace towerflow
