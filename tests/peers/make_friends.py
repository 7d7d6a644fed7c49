#!/usr/bin/env python3
"""Writes fuzz/corpus/root/friends by ROOT itself (pip install --only-binary=:all: root==0.1a12, 250 MB): a tree with friends, as
TTree::AddFriend and TTree::BuildIndex leave them in a file. make_friends.py OUT

  events   x = 0 to 7, run, event; friends: those below
  scores   x = 0 to -7, s = x / 2; a second time as `again`
  lost     an index by run and event, its events the other way round
  short    five events
  away     in elsewhere.root"""

import array
import os
import pathlib
import sys
import tempfile

import ROOT

EVENTS = 8


def tree(name: str, events: int = EVENTS, **columns):
    made, buffers = ROOT.TTree(name, ""), {}
    ROOT.SetOwnership(made, False)
    for column, value in columns.items():
        code = "i" if column in ("run", "event") else "f"
        buffers[column] = array.array(code, [0])
        made.Branch(column, buffers[column], f"{column}/{code.upper()}")
    for event in range(events):
        for column, value in columns.items():
            buffers[column][0] = value(event)
        made.Fill()
    made.ResetBranchAddresses()
    return made


def main() -> None:
    out = pathlib.Path(sys.argv[1]).absolute()
    ids = {"run": lambda i: 1, "event": lambda i: 3 * i % 11}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        away = ROOT.TFile("elsewhere.root", "recreate")
        tree("away", s=lambda i: i).Write()
        away.Close()
        file = ROOT.TFile("friends.root", "recreate", "", 0)  # not compressed: a test alters bytes
        tree("scores", x=lambda i: -i, s=lambda i: i / 2).Write()
        lost = tree("lost", **{name: lambda i, of=of: of(EVENTS - 1 - i) for name, of in ids.items()}, s=lambda i: EVENTS - 1 - i)
        lost.BuildIndex("run", "event")
        lost.Write()
        tree("short", 5, s=lambda i: i).Write()
        events = tree("events", x=lambda i: i, **ids)
        for friend in (("scores",), ("again=scores",), ("lost",), ("short",), ("away", "elsewhere.root")):
            events.AddFriend(*friend)
        events.Write()
        file.Close()
        out.write_bytes(pathlib.Path("friends.root").read_bytes())


if __name__ == "__main__":
    main()
