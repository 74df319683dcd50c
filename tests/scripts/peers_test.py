"""The table of bench/peers must say what was measured: medians, the best peers, ratios, goals.

Run by ctest as scripts.peers.
"""
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "peers"))
import verdict  # noqa: E402


def results(*rows, strict=None):
    """Measurements from (name, workload, rate, p99)."""
    found = verdict.Results(strict if strict is not None else {"safe": True, "slow": True, "loose": False})
    for row in rows:
        found.add(*row)
    return found


class Medians(unittest.TestCase):
    def test_the_middle_of_all_rounds_counts(self):
        found = results(("safe", "enq_32c", 10, 1), ("safe", "enq_32c", 1000, 9), ("safe", "enq_32c", 20, 2))
        self.assertEqual(found.rate("safe", "enq_32c"), 20)
        self.assertEqual(found.p99("safe", "enq_32c"), 2)

    def test_what_was_not_measured_has_none(self):
        self.assertIsNone(results().rate("safe", "enq_32c"))


class Served(unittest.TestCase):
    rows = (("redis-always", "enq_8x64", 20, 1), ("nats-js", "enq_8x64", 50, 1), ("sqlite-FULL", "enq_8x64", 900, 1))
    strict = {"redis-always": True, "nats-js": False, "sqlite-FULL": True}

    def test_our_server_is_compared_with_the_servers_it_is_held_to(self):
        found = results(*self.rows, ("ours-http", "enq_8x64", 60, 1), strict=self.strict)
        self.assertAlmostEqual(verdict.served(found, "enq_8x64", strict_only=True), 3.0)
        self.assertAlmostEqual(verdict.served(found, "enq_8x64", strict_only=False), 1.2)
        self.assertEqual(verdict.served_verdict(found, "enq_8x64"), "≥ 1 A: met")

    def test_slower_than_the_best_of_any_is_not_met(self):
        found = results(*self.rows, ("ours-http", "enq_8x64", 49, 1), strict=self.strict)
        self.assertEqual(verdict.served_verdict(found, "enq_8x64"), "≥ 1 A: NOT met")
        self.assertIn("≥ 1 A: NOT met", verdict.table(found, ("enq_8x64",)))

    def test_it_is_no_peer_of_ours(self):
        self.assertIn("ours-http", verdict.NO_PEERS)


class Best(unittest.TestCase):
    rows = (("safe", "enq_32c", 20, 1), ("slow", "enq_32c", 5, 1), ("loose", "enq_32c", 50, 1),
            ("ours", "enq_32c", 900, 1), ("ceiling", "enq_32c", 999, 1))

    def test_s_is_the_fastest_that_syncs_and_a_the_fastest_of_any(self):
        found = results(*self.rows)
        self.assertEqual(found.best("enq_32c", strict_only=True), 20)
        self.assertEqual(found.best("enq_32c", strict_only=False), 50)

    def test_ours_and_the_bound_are_no_peers(self):
        found = results(*self.rows)
        self.assertEqual(verdict.ratio(found, "ours", "enq_32c", True), 45)
        self.assertEqual(verdict.ratio(found, "ours", "enq_32c", False), 18)

    def test_end_to_end_the_shortest_wait_is_the_best(self):
        found = results(("safe", "e2e", 1000, 4), ("slow", "e2e", 1000, 7), ("loose", "e2e", 1000, 2))
        self.assertEqual(found.best("e2e", strict_only=True), 4)
        self.assertEqual(found.best("e2e", strict_only=False), 2)


class Goals(unittest.TestCase):
    def verdict_on(self, workload, ours, p99=0.0):
        return verdict.met(results(("safe", workload, 100, 3), ("loose", workload, 200, 3),
                                   ("disk", "overwrite_4k", 1000, 2), ("ours", workload, ours, p99)), workload)

    def test_a_goal_is_met_from_its_ratio_on(self):
        for workload, enough, too_little in [
            ("enq_sync1", 650, 649),               # 0.65 of the disk's syncs
            ("enq_32c", 160, 159),                 # 1.6 S
            ("enq_8x64", 400, 399),                # 4 S, 2 A
            ("lease_done_pipe", 600, 599),         # 5 S, 3 A
            ("retry_delay", 600, 599),             # 6 S
            ("redrive_all", 1_000_000, 999_999),
        ]:
            with self.subTest(workload=workload):
                self.assertIs(self.verdict_on(workload, enough), True)
                self.assertIs(self.verdict_on(workload, too_little), False)

    def test_end_to_end_is_judged_by_its_p99_against_two_syncs_and_a_millisecond(self):
        self.assertIs(self.verdict_on("e2e", 1000, 5.0), True)
        self.assertIs(self.verdict_on("e2e", 1000, 5.1), False)

    def test_end_to_end_is_shown_beside_its_goal_and_what_a_bare_sync_takes(self):
        found = results(("disk", "overwrite_4k", 1000, 0.4), ("disk", "paced_4k", 1000, 1.5), ("ours", "e2e", 1000, 3))
        line = verdict.floor_line(found)
        for figure in ("ours 3.00 ms", "goal 1.80 ms", "1.50 ms", "2.00 times"):
            self.assertIn(figure, line)
        self.assertIn("not measured", verdict.floor_line(results(("ours", "e2e", 1000, 3))))

    def test_there_is_no_verdict_without_a_goal_or_without_what_it_compares(self):
        self.assertIsNone(self.verdict_on("dead_letter", 1_000_000))
        self.assertIsNone(verdict.met(results(("safe", "enq_32c", 100, 1)), "enq_32c"))
        self.assertIsNone(verdict.met(results(("ours", "enq_32c", 100, 1)), "enq_32c"))


class Table(unittest.TestCase):
    def row(self, text, name):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
        return next(row for row in rows if row[0] == name)

    def test_every_row_says_what_it_should(self):
        text = verdict.table(results(("safe", "enq_32c", 20_000, 1.25), ("loose", "enq_32c", 50_000, 1),
                                     ("ours", "enq_32c", 64_000, 0.5)), ["enq_32c", "e2e"])
        self.assertEqual(self.row(text, "safe"), ["safe", "yes", "20k (1.2)", "–"])
        self.assertEqual(self.row(text, "loose")[1], "no")
        self.assertEqual(self.row(text, "S: best that syncs first")[2:], ["20k", "–"])
        self.assertEqual(self.row(text, "ours / S")[2:], ["3.20×", "–"])
        self.assertEqual(self.row(text, "ours / A")[2:], ["1.28×", "–"])
        self.assertEqual(self.row(text, "goal")[2], "≥ 1.6 S")
        self.assertEqual(self.row(text, "")[2:], ["enq_32c", "e2e"])  # the heading
        self.assertIn("| met ", text)
        self.assertNotIn("slow", text)

    def test_a_goal_that_is_missed_stands_out(self):
        text = verdict.table(results(("safe", "enq_32c", 100, 1), ("ours", "enq_32c", 100, 1)), ["enq_32c"])
        self.assertIn("NOT met", text)


if __name__ == "__main__":
    unittest.main()
