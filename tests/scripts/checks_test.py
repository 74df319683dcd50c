"""The checks of scripts/ must see what they promise to see, and nothing else.

Each case is a small tree; the check runs on it as it does in CI. Run by ctest as scripts.checks.
"""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


def run(check, files):
    """The lines `check` prints for a tree with these files, without the name of the check."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        done = subprocess.run([SCRIPTS / check, folder], capture_output=True, text=True)
    lines = [line.removeprefix(f"{check}: ") for line in done.stdout.splitlines()]
    assert (done.returncode != 0) == bool(lines), done
    return lines


class Layers(unittest.TestCase):
    def complaints(self, path, include):
        return run("check-layers", {f"src/dlo/{path}": f"#include {include}\n"})

    def test_forbidden_edges_are_found(self):
        for path, include in [
            ("core/decide.cc", '"dlo/store/office.h"'),
            ("core/decide.cc", "<sqlite3.h>"),
            ("core/decide.cc", "<sys/types.h>"),
            ("core/decide.cc", "<immintrin.h>"),
            ("core/decide.h", "<thread>"),
            ("core/decide.h", "<iostream>"),
            ("core/decide.h", '"decide_impl.h"'),
            ("store/office.h", '"dlo/engine/processor.h"'),
            ("store/office.h", '"dlo/store/sqlite/sqlite_office.h"'),
            ("store/memory/memory_office.cc", '"dlo/store/sqlite/sqlite_office.h"'),
            ("store/memory/memory_office.cc", "<sqlite3.h>"),
            ("broker/broker.h", '"dlo/store/office.h"'),
            ("broker/memory/memory_broker.cc", '"dlo/engine/handler.h"'),
            ("engine/processor.cc", '"dlo/store/sqlite/sqlite_office.h"'),
            ("engine/processor.cc", '"dlo/broker/memory/memory_broker.h"'),
            ("engine/processor.cc", "<boost/asio.hpp>"),
            ("engine/processor.cc", "<curl/curl.h>"),
            ("json/record.cc", "<boost/asio.hpp>"),
            ("store/query.cc", "<re2/re2.h>"),
            ("nowhere/new.cc", "<vector>"),
        ]:
            with self.subTest(path=path, include=include):
                self.assertEqual(len(self.complaints(path, include)), 1)

    def test_allowed_edges_are_not(self):
        for path, include in [
            ("core/decide.cc", '"dlo/core/profile.h"'),
            ("core/decide.cc", "<string_view>"),
            ("core/sha256.cc", "<immintrin.h>"),
            ("store/sqlite/sqlite_office.cc", "<sqlite3.h>"),
            ("store/sqlite/sqlite_office.cc", '"dlo/store/office.h"'),
            ("engine/processor.cc", '"dlo/broker/broker.h"'),
            ("engine/processor.cc", "<thread>"),
            ("engine/handlers/http_handler.cc", "<curl/curl.h>"),
            ("json/record.cc", "<boost/json.hpp>"),
            ("server/main.cc", '"dlo/broker/memory/memory_broker.h"'),
        ]:
            with self.subTest(path=path, include=include):
                self.assertEqual(self.complaints(path, include), [])

    def test_the_line_is_named(self):
        lines = run("check-layers", {"src/dlo/core/a.cc": '\n\n#include "dlo/engine/x.h"\n'})
        self.assertTrue(lines[0].startswith("src/dlo/core/a.cc:3: "), lines)


class Coroutines(unittest.TestCase):
    def complaints(self, statement):
        return run("check-coroutines", {"src/a.cc": f"Task f() {{\n  {statement}\n}}\n"})

    def test_the_three_miscompiled_shapes_are_found(self):
        for statement in [
            "co_await f(Agg{});",
            "co_await f({});",
            "co_await f(1, Agg{.x = 1});",
            "auto x = co_await client.send(Request{\"GET\", path}, deadline);",
            "co_return co_await f(ns::Agg{1});",
            "co_await g(f(Agg{}));",
            "co_await (b ? f() : g());",
            "co_await (b\n  ? f()\n  : g());",
            "co_await [x]() -> Task { co_return; }();",
            "co_await [&]() -> Task { co_await f(); }();",
            "co_await ([=]() -> Task { co_return; })();",
            "co_await [x]() -> Task { return other(x); }();",
            "co_spawn(ex, [this]() -> Task { co_await f(); }(), detached);",
        ]:
            with self.subTest(statement=statement):
                self.assertEqual(len(self.complaints(statement)), 1)

    def test_safe_shapes_are_not(self):
        for statement in [
            "Agg agg{.x = 1}; co_await f(std::move(agg));",
            "co_await f(std::string(\"x\"));",
            "if (b) { co_await f(); } else { co_await g(); }",
            "auto n = co_await f() ? 1 : 2;",
            "co_await f(b ? 1 : 2);",
            "auto work = [x]() -> Task { co_return; }; co_await work();",
            "co_await f([x] { return x; });",
            "co_await f([x](int y) mutable -> int { Agg a{}; return y; });",
            "co_await []() -> Task { co_return; }();",
            "// co_await f(Agg{});",
            "/* co_await (b ? f() : g()) */",
            "log(\"co_await f({})\");",
            "Agg a{co_await f()};",
            "auto n = [x] { return x; }();",
            "co_await f(list[0]);",
            "const auto big = 1'000'000; co_await f(big);",
        ]:
            with self.subTest(statement=statement):
                self.assertEqual(self.complaints(statement), [])

    def test_the_line_is_named(self):
        self.assertTrue(self.complaints("g();\n  co_await f({});")[0].startswith("src/a.cc:3: "))


class Style(unittest.TestCase):
    readme = {"src/dlo/core/README.md": "# core\n", "tests/README.md": "# tests\n"}

    def complaints(self, name, text):
        return run("check-style", {**self.readme, name: text})

    def test_what_breaks_a_house_rule_is_found(self):
        mark = "TO" + "DO"
        for name, text in [
            ("src/dlo/core/a.cc", "int a;\n" * 451),
            ("src/dlo/core/a.cc", f"// {mark}: later\n"),
            ("src/dlo/new/a.cc", "int a;\n"),
            ("tests/unit/a_test.cc", "std::this_thread::sleep_for(1s);\n"),
            ("tests/unit/a_test.cc", "  usleep(10);\n"),
            ("tests/unit/a_test.cc", 'open("/t' 'mp/x");\n'),
            ("docs/a.md", "cd /wo" "rk/here\n"),
            ("scripts/a", "curl http://deb.debian" ".org/x\n"),
        ]:
            with self.subTest(name=name, text=text[:40]):
                self.assertEqual(len(self.complaints(name, text)), 1)

    def test_what_keeps_them_is_not(self):
        for name, text in [
            ("src/dlo/core/a.cc", "int a;\n" * 450),
            ("src/dlo/core/a.cc", "std::this_thread::sleep_for(pause);\n"),
            ("tests/unit/a_test.cc", "const auto asleep = sleeper.count();\n"),
            ("docs/a.md", "Messages do not work/wait there.\n"),
            ("tests/a/corpus/x/seed.txt", "/t" "mp/file\n"),
        ]:
            with self.subTest(name=name):
                self.assertEqual(self.complaints(name, text), [])


if __name__ == "__main__":
    unittest.main()
