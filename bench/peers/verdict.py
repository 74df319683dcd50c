"""From many measurements to one table: medians, the best peers, our ratios to them, and the goals."""
import statistics

WORKLOADS = ("enq_sync1", "enq_32c", "enq_8x64", "lease_done_pipe", "lease_done_32c", "retry_delay",
             "dead_letter", "redrive_all", "e2e")
LIMITS = ("append_1k", "overwrite_4k", "overwrite_64k")  # of the disk
FLOOR = "paced_4k"  # ... at the pace of e2e, from due to durable
OURS, SERVED, BOUND, DISK = "ours", "ours-http", "ceiling", "disk"
NO_PEERS = (OURS, SERVED, BOUND)
BESIDE_SERVED = ("beanstalkd-f0", "beanstalkd-f50", "redis-always", "nats-js")  # what our server is held to
NOTHING = "–"

# What we want of a workload: (how much, of what). S is the best peer that syncs before it acknowledges,
# A the best of any, SYNC the disk's rate of preallocated syncs, RATE a plain number of messages a second.
GOALS = {
    "enq_sync1": [(0.65, "SYNC")],
    "enq_32c": [(1.6, "S")],
    "enq_8x64": [(4, "S"), (2, "A")],
    "lease_done_pipe": [(5, "S"), (3, "A")],
    "retry_delay": [(6, "S")],
    "redrive_all": [(1_000_000, "RATE")],
}
SERVED_GOALS = {"enq_8x64": 1, "lease_done_pipe": 1}  # of the best of those, whatever it syncs
LATENCY_GOAL = "≤ 2 × sync p99 + 1 ms"


class Results:
    """Every measurement: which peer, which workload, messages a second, p99 in milliseconds."""

    def __init__(self, strict):
        self.strict = strict  # peer -> whether it syncs before it acknowledges; ours and the bound are not peers
        self.measured = {}

    def add(self, name, workload, rate, p99):
        self.measured.setdefault((name, workload), []).append((rate, p99))

    def rate(self, name, workload):
        values = self.measured.get((name, workload))
        return statistics.median(rate for rate, _ in values) if values else None

    def p99(self, name, workload):
        values = self.measured.get((name, workload))
        return statistics.median(p99 for _, p99 in values) if values else None

    def figure(self, name, workload):
        """What counts: the rate, but for e2e the p99."""
        return self.p99(name, workload) if workload == "e2e" else self.rate(name, workload)

    def best(self, workload, strict_only, among=None):
        found = [self.figure(peer, workload) for peer, strict in self.strict.items()
                 if (strict or not strict_only) and (among is None or peer in among)]
        found = [figure for figure in found if figure is not None]
        if not found:
            return None
        return min(found) if workload == "e2e" else max(found)

    def base(self, what, workload):
        if what == "SYNC":
            return self.rate(DISK, "overwrite_4k")
        return 1.0 if what == "RATE" else self.best(workload, what == "S")


def ratio(results, name, workload, strict_only):
    figure, best = results.figure(name, workload), results.best(workload, strict_only)
    return figure / best if figure is not None and best else None


def served(results, workload, strict_only):
    """Our server beside the servers it is held to."""
    figure, best = results.figure(SERVED, workload), results.best(workload, strict_only, BESIDE_SERVED)
    return figure / best if figure is not None and best else None


def served_verdict(results, workload):
    value = served(results, workload, strict_only=False)
    if workload not in SERVED_GOALS or value is None:
        return NOTHING
    return f"≥ {SERVED_GOALS[workload]} A: " + ("met" if value >= SERVED_GOALS[workload] else "NOT met")


def goal_text(workload):
    if workload == "e2e":
        return LATENCY_GOAL
    words = {"S": " S", "A": " A", "SYNC": " syncs", "RATE": "/s"}
    parts = [f"≥ {'1M' if what == 'RATE' else f'{much:g}'}{words[what]}" for much, what in GOALS.get(workload, ())]
    return ", ".join(parts) or NOTHING


def met(results, workload):
    """True or False; None if there is no goal, or something it compares is missing."""
    ours = results.figure(OURS, workload)
    if ours is None:
        return None
    if workload == "e2e":
        sync = results.p99(DISK, "overwrite_4k")
        return None if sync is None else ours <= 2 * sync + 1
    verdicts = []
    for much, what in GOALS.get(workload, ()):
        base = results.base(what, workload)
        verdicts.append(None if base is None else ours >= much * base)
    return None if not verdicts or None in verdicts else all(verdicts)


def number(value):
    if value >= 1e6:
        return f"{value / 1e6:.3g}M"
    return f"{value / 1000:.3g}k" if value >= 1000 else f"{value:.0f}"


def cell(results, name, workload):
    rate, p99 = results.rate(name, workload), results.p99(name, workload)
    if rate is None:
        return NOTHING
    return f"{p99:.1f} ms" if workload == "e2e" else f"{number(rate)} ({p99:.1f})"


def best_cell(results, workload, strict_only):
    best = results.best(workload, strict_only)
    if best is None:
        return NOTHING
    return f"{best:.1f} ms" if workload == "e2e" else number(best)


def table(results, workloads=WORKLOADS):
    """Markdown: a row a peer with `rate (p99 ms)`, then the best, our ratios, the goals, the verdict."""
    def ratios(name, strict_only):
        values = [ratio(results, name, workload, strict_only) for workload in workloads]
        return [NOTHING if value is None else f"{value:.2f}×" for value in values]

    rows = [["", "syncs first", *workloads]]
    for name, strict in [(OURS, True), (SERVED, True), (BOUND, True), *results.strict.items()]:
        if any(results.rate(name, workload) is not None for workload in workloads):
            rows.append([name, "yes" if strict else "no", *(cell(results, name, w) for w in workloads)])
    rows.append(["S: best that syncs first", "", *(best_cell(results, w, True) for w in workloads)])
    rows.append(["A: best of any", "", *(best_cell(results, w, False) for w in workloads)])
    for name in (BOUND, OURS):
        rows.append([f"{name} / S", "", *ratios(name, True)])
        rows.append([f"{name} / A", "", *ratios(name, False)])
    rows.append(["goal", "", *(goal_text(w) for w in workloads)])
    words = {True: "met", False: "NOT met", None: NOTHING}
    rows.append(["", "", *(words[met(results, w)] for w in workloads)])
    if any(results.rate(SERVED, workload) is not None for workload in workloads):
        for letter, strict_only in (("S", True), ("A", False)):
            values = [served(results, workload, strict_only) for workload in workloads]
            rows.append([f"{SERVED} / {letter} of servers", "",
                         *(NOTHING if value is None else f"{value:.2f}×" for value in values)])
        rows.append(["", "", *(served_verdict(results, w) for w in workloads)])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["| " + " | ".join(text.ljust(width) for text, width in zip(row, widths)) + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def floor_line(results):
    """The goal of e2e in milliseconds, and what a bare sync takes at the same pace: nobody can be below."""
    ours, sync, floor = (results.p99(OURS, "e2e"), results.p99(DISK, "overwrite_4k"), results.p99(DISK, FLOOR))
    if None in (ours, sync, floor):
        return "e2e: not measured beside the disk"
    return (f"e2e p99: ours {ours:.2f} ms, goal {2 * sync + 1:.2f} ms; a bare sync due every millisecond: "
            f"{floor:.2f} ms, ours is {ours / floor:.2f} times that")


def disk_line(results):
    parts = [f"{limit} {number(results.rate(DISK, limit))}/s ({results.p99(DISK, limit):.1f} ms)"
             for limit in (*LIMITS, FLOOR) if results.rate(DISK, limit) is not None]
    return "disk, write + fdatasync: " + ", ".join(parts) if parts else "disk: not measured"
