#!/usr/bin/env python3
"""Prints the twenty slowest tests of a run of cargo-nextest.

    scripts/lib/slowest_tests.py target/nextest/default/junit.xml
"""

import sys
import xml.etree.ElementTree

SHOWN = 20


def main():
    if len(sys.argv) != 2:
        print("usage: scripts/lib/slowest_tests.py JUNIT_FILE", file=sys.stderr)
        return 2
    cases = xml.etree.ElementTree.parse(sys.argv[1]).getroot().iter("testcase")
    times = [(float(case.get("time")), case.get("classname"), case.get("name")) for case in cases]
    if not times:
        print(f"slowest_tests: {sys.argv[1]} has no test", file=sys.stderr)
        return 1
    total = sum(time for time, *_ in times)
    print(f"The {min(SHOWN, len(times))} slowest of {len(times)} tests, {total:.0f} s in all:")
    for time, program, name in sorted(times, reverse=True)[:SHOWN]:
        print(f"{time:7.1f} s  {program} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
