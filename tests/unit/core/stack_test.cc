#include "dlo/core/stack.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

namespace dlo {
namespace {

struct Row {
  const char* name;
  std::string stack;
  std::vector<std::string> own;  // innermost first
  bool raised_by_library;
  std::string root_type;
};
void PrintTo(const Row& row, std::ostream* out) {
  *out << row.name;
}
class Stacks : public ::testing::TestWithParam<Row> {};

TEST_P(Stacks, AreReadByTheirShape) {
  const StackReading reading = read_stack(GetParam().stack);
  std::vector<std::string> own;
  for (const StackFrame& frame : reading.frames) {
    if (!frame.library) own.push_back(frame.function);
  }
  EXPECT_EQ(own, GetParam().own);
  ASSERT_FALSE(reading.frames.empty());
  EXPECT_EQ(reading.frames.front().library, GetParam().raised_by_library);
  EXPECT_EQ(reading.root_type, GetParam().root_type);
}

INSTANTIATE_TEST_SUITE_P(
    Languages, Stacks,
    ::testing::ValuesIn<Row>({
        {"JavaTakesTheRootCause",
         "org.springframework.web.util.NestedServletException: Request failed\n"
         "\tat org.springframework.web.servlet.FrameworkServlet.doPost(FrameworkServlet.java:909)\n"
         "\tat com.acme.web.OrderController.post(OrderController.java:31)\n"
         "Caused by: com.acme.pay.CardDeclined: card declined for order 4711\n"
         "\tat com.acme.pay.Gateway.lambda$charge$3(Gateway.java:88)\n"
         "\tat java.base/java.util.stream.ReferencePipeline.forEach(ReferencePipeline.java:762)\n"
         "\tat app//com.acme.pay.Service.pay(Service.java:17)\n"
         "\t... 42 more\n",
         {"com.acme.pay.Gateway.lambda$charge$", "com.acme.pay.Service.pay"},
         false,
         "com.acme.pay.CardDeclined"},
        {"JavaLambdaNumbersGo",
         "\tat com.acme.Foo$$Lambda$114/0x0000000800d1c000.run(Unknown Source)\n",
         {"com.acme.Foo$$Lambda$"},
         false,
         ""},
        {"DotNet",
         "   at System.Text.Json.ThrowHelper.ReThrow(ReadStack& state)\n"
         "   at Acme.Orders.OrderHandler.<HandleAsync>d__4.MoveNext() in /src/OrderHandler.cs:line "
         "42\n"
         "--- End of stack trace from previous location ---\n"
         "   at Acme.Orders.Worker.Run(String id, Int32 n) in C:\\src\\Worker.cs:line 7\n",
         {"Acme.Orders.OrderHandler.HandleAsync", "Acme.Orders.Worker.Run"},
         true,
         ""},
        {"Python",
         "Traceback (most recent call last):\n"
         "  File \"/srv/app-v12/worker/main.py\", line 12, in run\n"
         "    handle(message)\n"
         "  File \"/srv/app-v12/orders/service.py\", line 88, in handle\n"
         "    json.loads(body)\n"
         "  File \"/usr/lib/python3.11/json/decoder.py\", line 337, in decode\n"
         "    obj, end = self.raw_decode(s)\n"
         "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)\n",
         {"orders/service:handle", "worker/main:run"},
         true,
         "json.decoder.JSONDecodeError"},
        {"PythonTakesTheFirstOfAChain",
         "Traceback (most recent call last):\n"
         "  File \"/app/pay/db.py\", line 3, in load\n"
         "    raise KeyError(x)\n"
         "KeyError: 'merchant'\n"
         "\n"
         "During handling of the above exception, another exception occurred:\n"
         "\n"
         "Traceback (most recent call last):\n"
         "  File \"/app/pay/api.py\", line 9, in post\n"
         "    raise RuntimeError('failed')\n"
         "RuntimeError: failed\n",
         {"pay/db:load"},
         false,
         "KeyError"},
        {"Node",
         "TypeError: Cannot read properties of undefined (reading 'id')\n"
         "    at Object.charge (/app/src/pay/gateway.js:10:5)\n"
         "    at async Promise.all (index 0)\n"
         "    at processTicksAndRejections (node:internal/process/task_queues:95:5)\n"
         "    at /app/node_modules/express/lib/router.js:1:2\n"
         "    at file:///app/src/worker/loop.mjs:44:11\n",
         {"pay/gateway:Object.charge", "worker/loop:<anonymous>"},
         false,
         ""},
        {"Go",
         "goroutine 17 [running]:\n"
         "runtime/debug.Stack()\n"
         "\t/usr/local/go/src/runtime/debug/stack.go:24 +0x65\n"
         "panic({0x4a2f40, 0x4d3a10})\n"
         "\t/usr/local/go/src/runtime/panic.go:884 +0x213\n"
         "github.com/acme/pay/gateway.(*Client).Charge(0xc000010250, {0x1, 0x2})\n"
         "\t/build/7/gateway/client.go:88 +0x1d\n"
         "main.main()\n"
         "\t/build/7/main.go:12 +0x3c\n",
         {"github.com/acme/pay/gateway.(*Client).Charge", "main.main"},
         true,
         ""},
        {"Rust",
         "   0: rust_begin_unwind\n"
         "             at /rustc/90c541806/library/std/src/panicking.rs:575:5\n"
         "   1: core::panicking::panic_fmt\n"
         "   2: acme::gateway::charge::h0123456789abcdef\n"
         "             at ./src/gateway.rs:88:9\n"
         "   3: acme::main\n",
         {"acme::gateway::charge", "acme::main"},
         true,
         ""},
        {"CppGdb",
         "#0  0x00007f1f2a in raise () from /lib/x86_64-linux-gnu/libc.so.6\n"
         "#1  0x000055d0aa in acme::Gateway::charge (this=0x7ffe, n=3) at /src/gateway.cc:88\n"
         "#2  main (argc=1, argv=0x7ffe) at /src/main.cc:12\n",
         {"acme::Gateway::charge", "main"},
         true,
         ""},
        {"CppBoost",
         " 0# acme::Gateway::charge(int) at /src/gateway.cc:88\n"
         " 1# std::function<void ()>::operator()() const at /usr/include/c++/12/functional:1\n"
         " 2# acme::run() in ./worker\n",
         {"acme::Gateway::charge", "acme::run"},
         false,
         ""},
        {"CppSymbols",
         "./worker(_ZN4acme7Gateway6chargeEi+0x1a) [0x55d0aa]\n"
         "/lib/x86_64-linux-gnu/libc.so.6(__libc_start_main+0xf3) [0x7f1f2a]\n",
         {"_ZN4acme7Gateway6chargeEi"},
         false,
         ""},
        {"Ruby",
         "/app/lib/pay/gateway.rb:88:in `block in charge': card declined (Pay::Declined)\n"
         "\tfrom /usr/lib/ruby/gems/3.1.0/gems/x/y.rb:3:in `call'\n"
         "\tfrom /app/lib/worker/loop.rb:12:in 'run'\n",
         {"pay/gateway:charge", "worker/loop:run"},
         false,
         ""},
        {"Php",
         "#0 /app/src/Pay/Gateway.php(88): Acme\\Pay\\Gateway->charge(3)\n"
         "#1 /app/vendor/symfony/http/Kernel.php(3): Symfony\\Kernel->handle()\n"
         "#2 {main}\n",
         {"Pay/Gateway:Acme\\Pay\\Gateway->charge", "{main}"},
         false,
         ""},
    }),
    [](const auto& row) { return row.param.name; });

TEST(ReadStack, GivesNothingForTextThatIsNoStack) {
  for (const std::string text :
       {"", "\n\n\n", "it broke", "at", "at ", "#", "#1", "1:", "File \"", "12345",
        "at the end of it", "Caused by: nothing in particular", "error at line 5"}) {
    EXPECT_TRUE(read_stack(text).frames.empty()) << text;
  }
}

TEST(ReadStack, CountsARecursionOnce) {
  std::string stack;
  for (int i = 0; i < 1000; ++i)
    stack += "\tat com.acme.Tree.walk(Tree.java:1" + std::to_string(i) + ")\n";
  stack += "\tat com.acme.Main.main(Main.java:1)\n";
  ASSERT_EQ(read_stack(stack).frames.size(), 2U);
}

TEST(ReadStack, IsTheSameWithEitherLineEnd) {
  const std::string unix_end = "\tat com.acme.A.b(A.java:1)\n\tat com.acme.C.d(C.java:2)\n";
  std::string windows_end;
  for (const char c : unix_end) windows_end += c == '\n' ? std::string("\r\n") : std::string(1, c);
  EXPECT_EQ(read_stack(windows_end).frames, read_stack(unix_end).frames);
}

TEST(ReadStack, IsTotalAndBounded) {
  EXPECT_TRUE(rc::check([] {
    static const std::vector<std::string> pieces = {"at ",
                                                    "File \"",
                                                    "\", line 3, in ",
                                                    "#1 ",
                                                    "1# ",
                                                    "2: ",
                                                    " in ",
                                                    "(",
                                                    ")",
                                                    "): ",
                                                    ":12",
                                                    ":3",
                                                    "\n",
                                                    "\t",
                                                    "Caused by: ",
                                                    "Traceback (most recent call last):\n",
                                                    ".go:1 +0x1",
                                                    "+0x1a) [0x5]",
                                                    "a.b",
                                                    "acme::c",
                                                    "/x/y.rs",
                                                    ".",
                                                    "<",
                                                    ">",
                                                    "::h",
                                                    "0x",
                                                    "\xff",
                                                    std::string(1, '\0'),
                                                    ":in `"};
    std::string text;
    for (const std::size_t pick : *rc::gen::container<std::vector<std::size_t>>(
             rc::gen::inRange<std::size_t>(0, pieces.size()))) {
      text += pieces[pick];
    }
    for (const StackFrame& frame : read_stack(text).frames) {
      RC_ASSERT(!frame.function.empty());
      RC_ASSERT(frame.function.size() <= 256U);
    }
  }));
  std::string huge;
  while (huge.size() < 1'000'000)
    huge += "  File \"/a/b.py\", line 1, in f" + std::to_string(huge.size()) + "x\n";
  EXPECT_LE(read_stack("Traceback (most recent call last):\n" + huge).frames.size(), 64U);
}

}  // namespace
}  // namespace dlo
