#!/usr/bin/env python3
"""A line that delays, loses and stalls packets, for kernels without netem. hosts.py starts it in the router's namespace.

    packet_relay.py SEED

It makes the network device `relay`; an IPv4 packet routed into it comes out of it again when it is due, unchanged, and is routed on. So a
connection is still the two hosts' own: addresses, refusals, resets and TCP's answer to a loss are the kernel's. TCP comes in trains of up to
64 KiB (segmentation offload), which makes Python fast enough; while any link is lossy the kernel takes them apart, so that packets are lost singly.

Each line on stdin is a JSON object and is answered by one on stdout. {"from": address, "to": address, "delay_ms": ..., ...} sets one direction
between two hosts (the settings of Link), {} changes nothing; the answer tells what has been done so far, or an "error". Ends when stdin does.
"""

import fcntl
import gc
import heapq
import json
import os
import random
import select
import socket
import struct
import sys
import time

# linux/if_tun.h
TUNSETIFF, TUNSETOFFLOAD = 0x400454CA, 0x400454D0
IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x0001, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO_ECN = 0x01, 0x02, 0x08

PREFIX_BYTES = 10  # struct virtio_net_hdr, before each packet
ADDRESSES = slice(PREFIX_BYTES + 12, PREFIX_BYTES + 20)  # source and destination in the IPv4 header
PACKET_BYTES_MAX = PREFIX_BYTES + 65536
READS_MAX = 64  # before what is due is written again
HELD_BYTES_MAX = 256 << 20  # 10 Gb/s for 200 ms; what comes on top is lost


class Link:
    """One direction between two hosts. Packets keep their order."""

    def __init__(self, dice: random.Random):
        self.dice = dice
        self.last_due_s = 0.0
        self.redraw_s = 0.0
        self.offset_s = 0.0

    def set(self, delay_ms: float = 0, jitter_ms: float = 0, loss: float = 0, stall_per_mb: float = 0, stall_ms: float = 0) -> None:
        """delay_ms, give or take jitter_ms; the probability that a packet is lost; that of a stall for each 10^6 bytes, and its length."""
        if min(delay_ms, jitter_ms, loss, stall_per_mb, stall_ms) < 0 or loss > 1 or jitter_ms > delay_ms:
            raise ValueError("a link's settings are not negative, its loss at most 1, its jitter at most its delay")
        self.delay_s, self.jitter_s, self.stall_s = delay_ms / 1e3, jitter_ms / 1e3, stall_ms / 1e3
        self.loss, self.stall_per_byte = loss, stall_per_mb / 1e6

    def lost(self) -> bool:
        return self.loss > 0 and self.dice.random() < self.loss

    def stalls(self, size: int) -> bool:
        return self.stall_per_byte > 0 and self.dice.random() < self.stall_per_byte * size

    def due_s(self, now_s: float, stalls: bool) -> float:
        # Drawn anew only so often, or the slowest of many packets in order would decide for all.
        if self.jitter_s and now_s >= self.redraw_s:
            self.offset_s = self.dice.uniform(-self.jitter_s, self.jitter_s)
            self.redraw_s = now_s + 2 * self.jitter_s
        offset_s = self.offset_s if self.jitter_s else 0.0
        self.last_due_s = max(self.last_due_s, now_s + self.delay_s + offset_s + (self.stall_s if stalls else 0.0))
        return self.last_due_s


class Relay:
    def __init__(self, seed: str):
        self.seed = seed
        self.links: dict[bytes, Link] = {}
        self.held: list[tuple[float, int, bytes]] = []  # a heap: due, number, packet
        self.held_bytes = 0
        self.counts = {"packets": 0, "bytes": 0, "lost": 0, "stalls": 0}
        self.device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.device, TUNSETIFF, struct.pack("16sH22x", b"relay", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
        self.offload()

    def offload(self) -> None:
        trains = 0 if any(link.loss for link in self.links.values()) else TUN_F_TSO4 | TUN_F_TSO_ECN
        fcntl.ioctl(self.device, TUNSETOFFLOAD, TUN_F_CSUM | trains)

    def read(self) -> None:
        now_s = time.monotonic()
        for _ in range(READS_MAX):
            try:
                packet = os.read(self.device, PACKET_BYTES_MAX)
            except BlockingIOError:
                return
            link = self.links.get(packet[ADDRESSES])
            if link is None:
                continue  # the kernel's own greetings to the new device
            size = len(packet) - PREFIX_BYTES
            self.counts["packets"] += 1
            self.counts["bytes"] += size
            if link.lost() or self.held_bytes + size > HELD_BYTES_MAX:
                self.counts["lost"] += 1
                continue
            stalls = link.stalls(size)
            self.counts["stalls"] += stalls
            self.held_bytes += size
            heapq.heappush(self.held, (link.due_s(now_s, stalls), self.counts["packets"], packet))

    def write(self) -> None:
        now_s = time.monotonic()
        while self.held and self.held[0][0] <= now_s:
            packet = heapq.heappop(self.held)[2]
            self.held_bytes -= len(packet) - PREFIX_BYTES
            try:
                os.write(self.device, packet)
            except OSError:
                self.counts["lost"] += 1

    def answer(self, line: bytes) -> dict:
        try:
            settings = json.loads(line)
            if settings:
                key = socket.inet_aton(settings.pop("from")) + socket.inet_aton(settings.pop("to"))
                link = self.links.get(key) or Link(random.Random(self.seed.encode() + key))
                link.set(**settings)
                self.links[key] = link
                self.offload()
        except (ValueError, KeyError, TypeError, OSError) as error:
            return {"error": f"{type(error).__name__}: {error}"}
        return {**self.counts, "cpu_s": time.process_time()}

    def run(self) -> None:
        print("{}", flush=True)
        commands = b""
        while True:
            wait_s = max(0.0, self.held[0][0] - time.monotonic()) if self.held else None
            ready, _, _ = select.select([self.device, sys.stdin.fileno()], [], [], wait_s)
            if self.device in ready:
                self.read()
            self.write()
            if sys.stdin.fileno() in ready:
                text = os.read(sys.stdin.fileno(), 65536)
                if not text:
                    return
                *lines, commands = (commands + text).split(b"\n")
                for line in lines:
                    print(json.dumps(self.answer(line)), flush=True)


gc.disable()  # nothing here is cyclic, and a pause would be a delay
Relay(sys.argv[1]).run()
