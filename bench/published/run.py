#!/usr/bin/env python3
"""All of bench/published: a round of each study, then the next, so that what is stopped early has all variants.

  bench/published/run.py [STUDY...]     goes on where it stopped; wants versitygw (tests/servers/get.sh) and build/peers (tests/peers/setup.sh)"""

import argparse

import batch_size
import first_epoch
import layout
import learning_rate
import own_loop
import reading
import records
import replicas

STUDIES = (batch_size.STUDY, layout.STUDY, own_loop.STUDY, reading.STUDY, replicas.OF_WORKERS, replicas.OF_REPLICAS, learning_rate.STUDY, first_epoch.STUDY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=", ".join(study.name for study in STUDIES))
    names = parser.parse_args().studies
    if unknown := set(names) - {study.name for study in STUDIES}:
        parser.error(f"no such study: {', '.join(sorted(unknown))}")
    chosen = [study for study in STUDIES if not names or study.name in names]
    with reading.servers:
        for number in range(max(study.rounds for study in chosen)):
            for study in chosen:
                records.carry_out(study, number + 1)


if __name__ == "__main__":
    main()
