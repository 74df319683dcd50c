"""Every promise of document 002 (S2-1 to S2-57) stands in a test, or here with the reason why not.

A test names the promise it checks in a comment: `// S2-19`. Run by ctest as scripts.promises.
"""
import pathlib
import re
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
PROMISES = range(1, 58)
ELSEWHERE = {
    30: "advice, not behaviour: looked for in docs/retries.md below",
    52: "the web page: the issue of the user interface",
    57: "incident management: the issue of notifications",
}


def promises_in(text):
    """The numbers a text names: `S2-19`, `S2-9..15`, `S2_45_NotAtExactlyAWeek`."""
    found = set()
    for first, last in re.findall(r"\bS2[-_](\d+)(?:(?:…|\.\.\.?|-)(?:S2-)?(\d+))?", text):
        found |= set(range(int(first), int(last or first) + 1))
    return found


def promises_in_tests():
    found = set()
    for path in TESTS.rglob("*.cc"):
        found |= promises_in(path.read_text(encoding="utf-8"))
    return found


class Promises(unittest.TestCase):
    def test_a_promise_is_found_in_a_comment_and_in_a_name(self):
        self.assertEqual(promises_in('TEST(A, B) {  // S2-4, R2-6\n {"S2_45_ByTheFirst"}'), {4, 45})
        self.assertEqual(promises_in("// S2-9…11, S2-13..14"), {9, 10, 11, 13, 14})

    def test_each_stands_in_a_test_or_is_said_to_be_elsewhere(self):
        told = promises_in_tests() | ELSEWHERE.keys()
        missing = [number for number in PROMISES if number not in told]
        self.assertEqual(missing, [])

    def test_the_advice_which_strategy_to_take_is_given(self):  # S2-30
        advice = {}
        for line in (TESTS.parent / "docs/retries.md").read_text(encoding="utf-8").splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) == 3:
                advice[cells[0].strip("`")] = cells[2]
        self.assertIn("must not be lost", advice["automatic"])
        self.assertIn("mixture", advice["selective"])
        self.assertIn("decides case by case", advice["manual"])
        self.assertIn("tests, and whoever retries by themselves", advice["disabled"])


if __name__ == "__main__":
    unittest.main()
